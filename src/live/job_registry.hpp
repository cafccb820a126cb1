// The jobs that are not over, as their users know them, and which of them the policy may see: those
// that nothing keeps back. What keeps a job back is the core's hold; why it does is decided here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "live/job_numbers.hpp"
#include "live/journal.hpp"
#include "live/submission.hpp"
#include "scheduling/job.hpp"

namespace ductile {

/// Why the policy does not see a job; the words are Slurm's, where it has one.
enum class Wait : std::uint8_t {
  no,
  user,
  admin,
  dependency,
  never,
  begin,
  array,
  jobs_of_user,
  nodes_of_user,
  changing,
  impossible,
  unknown  // not looked at yet
};
constexpr std::array<std::string_view, 12> kWaitWords{"",
                                                      "JobHeldUser",
                                                      "JobHeldAdmin",
                                                      "Dependency",
                                                      "DependencyNeverSatisfied",
                                                      "BeginTime",
                                                      "JobArrayTaskLimit",
                                                      "QOSMaxJobsPerUserLimit",
                                                      "QOSMaxNodePerUserLimit",
                                                      "BeingChanged",
                                                      "BadConstraints",
                                                      "None"};

/// What was submitted at once: a job, or the tasks of an array.
struct Batch {
  std::uint64_t number = 0;  // of its first job
  /// Without script, program and environment, which may be long: the journal has them.
  Submission what{};
  std::vector<std::uint32_t> tasks{};   // of an array, in the order of their jobs' numbers
  std::uint64_t application = 0;        // hash of what is run
  std::vector<Dependency> open{};       // not fulfilled yet
  bool is_never = false;                // one of them cannot be any more
  bool is_changing = false;             // its waiting jobs are, and none is shown
  std::uint32_t left = 0;               // jobs that are not over
  std::uint32_t unstarted = 0;          // that have never begun, of these
  std::uint32_t active = 0;             // that the policy sees, of these
  std::uint32_t failed = 0;             // jobs that are over, and did not complete
  std::optional<std::uint32_t> user{};  // whose it is, once it has a job
};

/// A job that is not over.
struct LiveJob {
  JobRow row{};
  std::shared_ptr<Batch> batch{};
  Nodes most = 0;  // nodes that it may have
  std::int32_t priority = 0;
  Nodes held = 0;          // nodes, as the journal has it
  Time asked_until{};      // running, by the model that its user declared: it has what it asked for
  Wait wait = Wait::no;    // as of the last `judge`
  bool is_active = false;  // the policy sees it, or has started it

  /// In this life or in one before.
  bool has_begun() const { return row.started || row.restarts > 0; }

  const Submission& what() const { return batch->what; }
  JobNames names() const {
    return {.number = row.number, .name = row.name, .array = row.array, .task = row.task};
  }
};

/// What of a user's jobs the policy may see at once.
struct UserLimits {
  std::uint64_t jobs = ~std::uint64_t{0};
  std::uint64_t nodes = ~std::uint64_t{0};
};

/// Knows all living jobs, and when one of them may be seen. The core hears of it from the caller.
class JobRegistry {
 public:
  /// How a job that is over ended, if one of this number, or of an array of this number, did not
  /// complete; nothing if there was none.
  using Ended = std::function<std::optional<bool>(std::uint64_t number)>;
  explicit JobRegistry(Ended has_failed) : has_failed_(std::move(has_failed)) {}

  const std::map<JobId, LiveJob>& all() const { return jobs_; }
  bool empty() const { return jobs_.empty(); }
  bool contains(JobId id) const { return jobs_.contains(id); }
  /// Null if it is over.
  const LiveJob* find(JobId id) const {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
  }
  LiveJob& at(JobId id) { return jobs_.at(id); }
  const LiveJob& at(JobId id) const { return jobs_.at(id); }
  /// Of all these, and of those that are about to be added.
  const JobNumbers& numbers() const { return numbers_; }
  std::size_t count_of(std::uint32_t user) const;
  /// How many different lists of nodes the jobs of this user have, with these and, if it is not
  /// null, without those of a batch.
  std::size_t lists_with(std::uint32_t user, const NodeLists& more, const Batch* without) const;
  /// How many jobs and arrays wait for another one, each counted once for each of these.
  std::size_t dependencies() const { return dependents_.size(); }
  /// The batch of this number, if a job of it lives.
  const Batch* batch(std::uint64_t number) const { return shared_batch(number).get(); }
  std::shared_ptr<Batch> shared_batch(std::uint64_t number) const;
  /// Those that cannot run here.
  const std::set<std::uint64_t>& impossible() const { return impossible_; }
  /// The living jobs of an array.
  std::vector<JobId> tasks(std::uint64_t array) const;
  /// The job of a task of an array of which one lives; none if there is no such task.
  JobId task(std::uint64_t array, std::uint32_t task) const;

  /// A batch that is new, or was found in the journal. Dependencies are looked up.
  std::shared_ptr<Batch> add_batch(std::uint64_t number, Submission what);
  /// More of its jobs will be added: it is not over, and has not begun as a whole; and now all are.
  void expect_more(Batch& batch);
  void is_whole(Batch& batch);
  /// Must the core hold such jobs until `judge` shows them?
  static bool is_conditional(const Submission& what, const UserLimits& limits);
  /// What will be added now is called so, in whatever is told about it before.
  void expect(JobId id, std::uint64_t number) { numbers_.add(id, number); }
  /// A job of a batch, as the core knows it.
  LiveJob& add(JobRow row, std::shared_ptr<Batch> batch, const Job& job);
  /// Somebody holds it, or nobody does any more.
  void hold(JobId id, Hold by);
  void release(JobId id);
  /// From now on, and until the opposite is said, `judge` shows no job of it.
  void set_changing(Batch& batch, bool is_changing);
  /// It is being changed, and the core has held a job that the policy saw; `judge` may show it
  /// again.
  void hide(JobId id);
  /// What was submitted is another thing now; and a job of it, which the policy does not see.
  void alter(Batch& batch, Submission what);
  void alter(JobId id, const JobSpec& spec);
  /// It has begun; it waits again, in another life; it is over, as its row says, and this is its
  /// batch.
  void started(JobId id, Time now);
  void requeued(JobId id);
  std::shared_ptr<Batch> over(JobId id);

  /// Calls `show` for all jobs that nothing keeps back any more, in order of priority and arrival,
  /// until it says that this is enough: the next call goes on.
  void judge(Time now, const UserLimits& limits, const std::function<bool(JobId)>& show);
  /// When `judge` has something to do without anything having happened.
  Time next() const { return must_judge_ ? Time{} : next_begin_; }
  /// The limits are others.
  void must_judge() { must_judge_ = true; }

 private:
  struct Usage {
    std::size_t jobs = 0;  // not over
    std::uint64_t active_jobs = 0, active_nodes = 0;
    std::map<NodeLists, std::size_t> lists{};  // and how many batches have them
  };

  Dependency::Stage stage_of(std::uint64_t number) const;
  void set(Batch& batch, Submission what);
  void look_at_dependencies(Batch& batch, std::uint64_t on = 0);
  void add_dependencies(const std::shared_ptr<Batch>& batch);
  void drop_dependencies(const Batch& batch);
  void tell_dependents(const LiveJob& job);
  void tell_dependents(std::uint64_t number);
  void count_begun(const LiveJob& job);
  void count_lists(const Batch& batch, int sign);
  Wait reason(const LiveJob& job, Time now, const UserLimits& limits);
  void activate(LiveJob& job);
  void deactivate(LiveJob& job);
  static std::pair<std::int64_t, JobId> place_of(const LiveJob& job) {
    return {-std::int64_t{job.priority}, job.row.id};
  }

  Ended has_failed_;
  std::set<std::uint64_t> impossible_{};  // batches
  std::map<JobId, LiveJob> jobs_{};
  JobNumbers numbers_{};
  std::map<std::uint64_t, std::shared_ptr<Batch>> batches_{};
  // By what they depend on, and their number.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<Batch>> dependents_{};
  std::map<std::uint32_t, Usage> users_{};
  std::set<std::pair<std::int64_t, JobId>> kept_{};  // held in the core, and by no user
  Time next_begin_ = kNever;
  bool must_judge_ = false;
};

}  // namespace ductile
