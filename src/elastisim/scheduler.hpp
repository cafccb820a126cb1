// A scheduler made for ElastiSim, in a process of its own, decides in a simulation:
// docs/guide/elastisim.md.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "elastisim/protocol.hpp"
#include "outside/scheduler.hpp"
#include "workload/elastisim.hpp"

namespace ductile {

/// Is ElastiSim for a scheduler. All that happens is told one after the other, each as if nothing
/// that comes after it had happened: so the scheduler sees jobs and nodes as they are kept here,
/// which may be behind what the core knows.
class ElastisimScheduler final : public OutsideScheduler {
 public:
  /// What the study says; before `begin`.
  void follow(std::shared_ptr<const ElastisimStudy> study) { study_ = std::move(study); }

  void on_event(Time now, const Event& event, bool taken, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_point(Time now, JobId id, std::uint64_t iterations, Nodes wanted,
                const Core& core) override;

 private:
  using Number = std::uint32_t;  // of a job or node
  static constexpr Number kNobody = ~0u;

  enum class State : std::uint8_t {  // the numbers are those of the protocol
    pending = 1,
    runs = 4,
    to_reconfigure = 5,
    reconfigures = 6,
    completed = 7,
    killed = 8,
  };
  struct Known {
    State state = State::pending;
    std::vector<Number> assigned{}, executing{};  // nodes, in the scheduler's order
    Time start{}, end{};
    std::uint64_t iterations = 0;  // over, as far as it has said
    std::uint32_t gpus = 0;
    bool has_started = false;
    bool is_news = false;  // since the last question
    std::string fixed{};   // what never changes, as members of an object
    bool is_over() const { return state == State::completed || state == State::killed; }
  };
  struct Node {
    enum class State : std::uint8_t { free = 0, allocated = 1, reserved = 2 };
    State state = State::free;
    Number runs = kNobody, awaits = kNobody;  // jobs
    bool is_news = true;
  };
  struct News {
    ElastisimCall call = ElastisimCall::periodic;
    Number job = kNobody;
    Nodes wanted = 0;
  };

  void prepare() override;
  void greet(const Core& core) override;
  void work(Pass& pass) override;
  void part(Time now) override;

  /// What comes next is told; true: the world has to act before anything else is.
  bool handle(Pass& pass, const News& news);
  bool ask_about(Pass& pass, const News& news);
  std::string question(Time now, const News& news);
  void write_job(std::string& text, Number number) const;
  void write_node(std::string& text, Number number) const;
  void end_reconfigurations(Time now);

  void assign(Time now, const ElastisimOrder& order);
  void check_assignment(Time now, Number number, const ElastisimOrder& order) const;
  void start(Pass& pass, Number number);
  void reconfigure(Pass& pass, Number number);
  /// True: the world stops it.
  bool kill(Pass& pass, Number number);
  void end(Time now, Number number, State state);
  [[noreturn]] void refuse(Time now, Number job, const std::string& what,
                           const std::string& remedy) const;

  void note(Number job);
  Node& changed(Number node);
  void expect(Time now, Number node, Number job);
  void forget(Number node, Number job);
  void leave(Number node);

  std::shared_ptr<const ElastisimStudy> study_;
  std::vector<Known> jobs_;
  std::vector<Node> nodes_;
  std::vector<Number> changed_jobs_, changed_nodes_;
  std::deque<News> news_;
  std::set<std::pair<Time, Number>> reconfigurations_;  // when they are over
  Number submitted_ = 0;
  std::optional<Time> last_question_;
  Time next_period_ = kNever;
};

/// The policy `elastisim-scheduler`: such a scheduler.
class ElastisimPolicy final : public OutsidePolicy {
 public:
  explicit ElastisimPolicy(const Parameters& parameters);
  /// May somebody who is not on this machine connect?
  bool remote() const { return remote_; }

 private:
  bool remote_;
};

/// Its row in the table of policies.
PolicyInfo elastisim_scheduler_policy();

}  // namespace ductile
