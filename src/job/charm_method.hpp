// Resizes a program of Charm++ that was built to shrink and expand: charmrun is told by CCS
// (ccs.hpp), and the program starts itself again at its next step of load balancing, from a
// checkpoint in memory.
//
//   starting    it has not answered yet
//   running     nothing is under way
//   asked       it was told another size, and computes on until it comes to that step
//   recalled    that was given up, and it was told its old size
//   restarting  it has come there: it answers again when it has its new size
//
// What was told last counts at that step, so that an order can be recalled; what has begun there
// cannot. CCS listens at a port of TCP. The program gets a network of its own for that, if this
// user may make one; and whoever speaks there needs the key of this run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/ccs.hpp"
#include "job/job_folder.hpp"
#include "job/resize_method.hpp"

namespace ductile {

/// InputError if the program says to charmrun what only the run says.
void refuse_charmrun_words(const std::vector<std::string>& program);

class CharmMethod final : public ResizeMethod {
 public:
  /// std::system_error.
  explicit CharmMethod(const RunSettings& settings);

  // ---- The program -----------------------------------------------------------------------------
  std::optional<Launcher> launcher(const Target& target) override;
  std::function<const char*()> prepare() const override;
  void on_started(Generation& generation) override { program_ = &generation; }
  bool is_ready() const override { return phase_ != Phase::starting; }
  std::string why_not_ready() const override;

  // ---- A resize --------------------------------------------------------------------------------
  std::optional<std::string> objection(const Target& target) const override;
  void begin(const Target& target, Clock::time_point now) override;
  void give_up(const std::string& reason) override;
  std::optional<Outcome> look(Clock::time_point now) override;
  void look_after(Clock::time_point now) override;
  Clock::time_point next() const override;
  void add_to(Poller& poller) override;

  Json status() const override;

 private:
  enum class Phase { starting, running, asked, recalled, restarting };

  Descriptor connect() const;
  void tell(std::uint32_t size);
  void look_after_order(Clock::time_point now);
  void look_after_size(Clock::time_point now);
  std::optional<std::uint32_t> take_size();
  void on_size(std::uint32_t size, Clock::time_point now);
  void sweep(Clock::time_point now);
  void settle(const std::string& error, Clock::time_point now);
  void keep_to(const NodeSet& cpus) const;

  const RunSettings& settings_;
  JobFolder folder_;  // of the key, the list of hosts, and the checkpoint
  CcsKey key_ = new_ccs_key();
  std::uint16_t port_;
  bool is_private_;  // the network
  Generation* program_ = nullptr;

  Phase phase_ = Phase::starting;
  std::uint32_t size_;              // that it has, as it said last
  std::uint32_t wanted_ = size_;    // that it has been told
  Target target_{};                 // of the order
  bool is_awaited_ = false;         // somebody waits for an outcome
  std::optional<CcsCall> order_{};  // told, and not answered yet
  std::optional<CcsCall> query_{};  // of its size
  Clock::time_point query_at_{};    // when to ask, or to ask again
  static constexpr std::chrono::milliseconds kFirstPatience{250};
  std::chrono::milliseconds patience_ = kFirstPatience;  // of the next question
  std::chrono::milliseconds pause_{20};                  // before it, the longer nobody answers
  std::string why_no_answer_{};                          // to the last one
  std::optional<Clock::time_point> lost_at_{};           // the connection of the order
  Clock::time_point begun_{}, told_at_{}, stopped_{};
  Clock::time_point sweep_at_ = Clock::time_point::max();
  std::optional<Outcome> outcome_{};  // to be told
};

}  // namespace ductile
