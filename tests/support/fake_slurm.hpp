// A Slurm for tests of the world that drives one: no daemon runs in it. It takes its time, refuses,
// does not answer, and does not always say whether it has done what it was asked for; nodes fail,
// and people do what they like behind the controller's back. It keeps to what was measured of the
// real one, and complains when it is asked for what must never be asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/time.hpp"
#include "live/schedule_clock.hpp"
#include "slurm/slurm.hpp"

namespace ductile::testing {

class FakeSlurm final : public Slurm {
 public:
  /// Nodes n0, n1, ... of one partition, "adaptive", and jobs of another one on some of them.
  FakeSlurm(std::uint64_t seed, Nodes nodes, const MachineClocks& clocks);

  SlurmFacts facts() override;
  std::vector<SlurmNode> nodes() override;
  std::optional<std::vector<SlurmJob>> jobs() override;
  void start(const SlurmStart& what) override;
  void hold(std::uint64_t number, Nodes least, Nodes most, const std::vector<std::string>& required,
            const std::string& comment) override;
  void release(std::uint64_t number) override;
  void keep(std::uint64_t number, const std::vector<std::string>& nodes) override;
  void grow(const SlurmJob& job, const std::vector<std::string>& nodes, std::uint64_t id) override;
  void end(std::uint64_t number, bool requeue) override;
  void set_limit(std::uint64_t number, Duration limit) override;
  void split(std::uint64_t array, std::uint32_t task) override;

  // ---- What the test does with it
  SlurmFacts is{};
  /// Nothing goes wrong any more, and nobody interferes.
  void be_kind();
  bool is_kind() const { return is_kind_; }
  /// Does not answer until it is told to.
  void go_away() { is_away_ = true; }
  void come_back() { is_away_ = false; }
  bool is_away() const { return is_away_; }
  /// Somebody new asks, who has to be told all of it.
  void forget_who_asks() { has_changed_ = true; }
  /// A job of this partition that runs so long; its number.
  std::uint64_t submit(const std::string& admin_comment, Nodes nodes, Duration runs);
  /// Time has passed: jobs start and end.
  void live();
  /// Something happens that nobody has asked for.
  void act();

  struct Its {
    SlurmJob job{};
    Duration runs{};               // so long, from its start
    Time starts_at = kNever;       // it was released
    Time over_at = kNever;         // it runs, or is completing
    std::set<std::string> used{};  // nodes where its program has processes
    int starts = 0;
  };
  std::map<std::uint64_t, Its>& all() { return jobs_; }
  /// What it was asked for and must not be; empty: nothing.
  const std::vector<std::string>& complaints() const { return complaints_; }

  struct Figures {
    std::uint64_t started = 0, shrunk = 0, grown = 0, refused = 0, unheard = 0, unanswered = 0,
                  requeued = 0, failed = 0, behind = 0, strangers = 0;
  };
  const Figures& figures() const { return figures_; }

 private:
  void hear(bool may_refuse = true);
  void answer();
  Its& find(std::uint64_t number);
  void finish(Its& its, EndState end);
  void complain(const std::string& what) { complaints_.push_back(what); }
  bool is_free(const std::string& node) const;
  Time now() const { return clocks_.wall(); }

  Draws draws_;
  const MachineClocks& clocks_;
  std::map<std::string, SlurmNode> nodes_{};
  std::map<std::uint64_t, Its> jobs_{};
  std::vector<std::string> complaints_{};
  Figures figures_{};
  std::uint64_t next_ = 1;
  bool is_kind_ = false, is_away_ = false, has_changed_ = true;
};

}  // namespace ductile::testing
