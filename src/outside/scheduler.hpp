// A scheduler in a process of its own decides in a simulation: what is common to all kinds of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "outside/channel.hpp"
#include "policies/registry.hpp"
#include "scheduling/policy.hpp"
#include "simulation/observer.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// Is the simulator for which such a scheduler was made: observes a run, tells what happens, and
/// writes what it wants.
///
/// What goes wrong ends the run as Ctrl-C does, so that its files are whole, and is thrown by
/// `rethrow` afterwards.
class OutsideScheduler : public Observer {
 public:
  /// How to ask; made when a run begins.
  using Open = std::function<std::unique_ptr<OutsideChannel>()>;

  /// `name` is what errors call it; `stop`: asked for by the user.
  void begin(std::string name, Open open, std::shared_ptr<const Workload> workload,
             const std::atomic<bool>& stop);
  /// For `SimulationSettings::stop`: the user has, or something went wrong.
  const std::atomic<bool>& stop() const { return stop_; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }
  /// How many questions it was asked, how long it took to answer all (s), and what was left out.
  std::uint64_t questions() const { return questions_; }
  double seconds_asked() const { return seconds_asked_; }
  const std::map<std::string, std::uint64_t>& skipped() const { return skipped_; }

  void schedule(Pass& pass);

  bool wants_events() const override { return true; }
  void on_begin(const Core& core) final;
  void on_finish(Time now, const Core& core) final;

 protected:
  /// A scheduler that wants to be asked again at the same time, as often as that, never stops.
  static constexpr std::uint32_t kMostQuestionsAtOnce = 100'000;

  /// The workload is there, and may be refused.
  virtual void prepare() {}
  /// The run begins: nothing has happened yet.
  virtual void greet(const Core& core) = 0;
  virtual void work(Pass& pass) = 0;
  /// The run is over, and nothing went wrong.
  virtual void part(Time now) = 0;

  std::string ask(const std::string& text);
  /// Says what is not answered.
  void tell(const std::string& text) { channel_->tell(text); }
  /// Another question at this time.
  void count_question(Time now);
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const;

  const std::string& name() const { return name_; }
  const Workload& workload() const { return *workload_; }
  std::map<std::string, std::uint64_t> skipped_;

 private:
  /// Calls what may go wrong.
  template <class Do>
  void guarded(Do act);

  std::string name_;
  Open open_;
  std::unique_ptr<OutsideChannel> channel_;
  std::shared_ptr<const Workload> workload_;
  const std::atomic<bool>* asked_to_stop_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::exception_ptr error_;

  Time last_asked_{};
  std::uint32_t asked_now_ = 0;  // questions at this time
  std::uint64_t questions_ = 0;
  double seconds_asked_ = 0;
};

/// Such a scheduler as a policy: one run at a time.
class OutsidePolicy : public Policy {
 public:
  void schedule(Pass& pass) const override { scheduler_->schedule(pass); }
  OutsideScheduler& scheduler() const { return *scheduler_; }
  /// For whom it was made, as errors call it: "a scheduler for Batsim".
  std::string_view kind() const { return kind_; }
  const std::string& endpoint() const { return endpoint_; }
  Duration timeout() const { return timeout_; }

 protected:
  OutsidePolicy(const Parameters& parameters, std::string_view kind,
                std::unique_ptr<OutsideScheduler> scheduler);

 private:
  std::string_view kind_;
  std::string endpoint_;
  Duration timeout_;
  std::unique_ptr<OutsideScheduler> scheduler_;  // it remembers
};

/// Its parameters: where they meet, as ZeroMQ writes it, and how long an answer is waited for.
std::vector<ParameterInfo> outside_parameters(std::string endpoint, std::string summary);

}  // namespace ductile
