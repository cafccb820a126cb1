// A scheduler made for Batsim, in a process of its own, decides in a simulation:
// docs/guide/batsim.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "batsim/channel.hpp"
#include "batsim/protocol.hpp"
#include "policies/registry.hpp"
#include "scheduling/policy.hpp"
#include "simulation/observer.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// Is Batsim for a scheduler: observes a run, tells what happens, and writes what it wants. Jobs
/// are called "w0!NUMBER" there, and "w0!NUMBER#N" when they wait again for the Nth time; of jobs
/// that adapt it knows the preferred size.
///
/// What goes wrong ends the run as Ctrl-C does, so that its files are whole, and is thrown by
/// `rethrow` afterwards.
class BatsimScheduler final : public Observer {
 public:
  /// How to ask; made when a run begins.
  using Open = std::function<std::unique_ptr<BatsimChannel>()>;

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
  const Remarks& skipped() const { return skipped_; }

  void schedule(Pass& pass);

  bool wants_events() const override { return true; }
  void on_begin(const Core& core) override;
  void on_event(Time now, const Event& event, bool taken, const Core& core) override;
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override;
  void on_close(Time now, const Core& core) override;
  void on_finish(Time now, const Core& core) override;

 private:
  struct Known {
    enum class Where : std::uint8_t { nowhere, waits, runs, over };
    Where where = Where::nowhere;
    std::uint32_t lives = 0;  // before this one
  };
  /// Jobs that are killed together; they are told of when all are over.
  struct Killing {
    std::vector<std::string> jobs;
    std::set<JobId> open;
    std::string progress;  // of those that really were, as members of an object
  };

  std::string id_of(JobId id, const JobSpec& job) const;
  JobId find(const std::string& id) const;
  void submit(Time now, JobId id, const Core& core);
  void exchange(Time now);
  void work(Pass& pass);
  /// Time of the next order or call; kNever: none.
  Time next() const;
  void carry_out(Pass& pass, const BatsimOrder& order);
  void execute(Pass& pass, const BatsimOrder& order);
  void kill(Pass& pass, const BatsimOrder& order);
  void tell_killed(Time now, const Killing& killing);
  /// Calls what may go wrong.
  template <class Do>
  void guarded(Do act);
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const;
  std::string why_not(const Pass& pass, JobId id, const NodeSet& nodes) const;

  std::string name_;
  Open open_;
  std::unique_ptr<BatsimChannel> channel_;
  std::shared_ptr<const Workload> workload_;
  const std::atomic<bool>* asked_to_stop_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::exception_ptr error_;

  std::unordered_map<std::uint64_t, Duration> runtimes_;  // true ones, by name
  std::unordered_map<std::string, JobId> ids_;
  std::vector<Known> known_;
  std::uint32_t came_ = 0;  // jobs, so far
  Nodes nodes_ = 0;
  bool says_power_ = false;

  BatsimWriter news_;
  std::deque<BatsimOrder> orders_;  // by time
  std::priority_queue<Time, std::vector<Time>, std::greater<>> calls_;
  std::vector<Killing> killings_;
  Time ready_{};  // it can be asked again
  Time last_asked_{};
  std::uint32_t asked_now_ = 0;  // questions at this time
  double joules_ = 0;            // used up to `joules_at_`
  Time joules_at_{};
  double watts_ = 0;  // from then on

  std::uint64_t questions_ = 0;
  double seconds_asked_ = 0;
  Remarks skipped_;
};

/// The policy `batsim`: such a scheduler.
class BatsimPolicy final : public Policy {
 public:
  explicit BatsimPolicy(const Parameters& parameters);
  void schedule(Pass& pass) const override { scheduler_->schedule(pass); }
  BatsimScheduler& scheduler() const { return *scheduler_; }
  const std::string& endpoint() const { return endpoint_; }
  Duration timeout() const { return timeout_; }

 private:
  std::string endpoint_;
  Duration timeout_;
  std::unique_ptr<BatsimScheduler> scheduler_;  // it remembers; one run at a time
};

/// Its row in the table of policies.
PolicyInfo batsim_policy();

}  // namespace ductile
