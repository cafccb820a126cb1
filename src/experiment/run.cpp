#include "experiment/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/error.hpp"
#include "experiment/run_process.hpp"
#include "report/output_file.hpp"
#include "report/run_folder.hpp"
#include "report/text.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;
using Stopwatch = std::chrono::steady_clock;

double seconds_since(Stopwatch::time_point begin) {
  return std::chrono::duration<double>(Stopwatch::now() - begin).count();
}

// More digits than a clock has only hide the others.
double to_microseconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // it counts KiB
}

// The input of one seed: there from the first run that needs it to the last.
struct SharedInput {
  std::once_flag once;
  std::optional<Input> input;
  std::size_t runs_left = 0;  // under the lock of the matrix
};

// What measures the machine.
struct Measured {
  double load_seconds = 0, simulate_seconds = 0, look_ahead_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;

  static Measured of(const Summary& s) {
    return {s.load_seconds, s.simulate_seconds, s.look_ahead_seconds, s.peak_rss_bytes};
  }
  void write(Summary& s) const {
    s.load_seconds = load_seconds;
    s.simulate_seconds = simulate_seconds;
    s.look_ahead_seconds = look_ahead_seconds;
    s.peak_rss_bytes = peak_rss_bytes;
  }
};

// Of a run that is over, until all before it are.
struct Result {
  Measured measured;
  // What is not kept: all of it, if there is no file of results or the run was stopped.
  std::optional<Summary> summary{};
};

constexpr std::size_t kShownRunning = 3;

// How many runs the page of a comparison says what they were (report/page.hpp).
constexpr std::size_t kShownIdentities = 16;

class MatrixRun {
 public:
  MatrixRun(const Matrix& matrix, const std::function<void(const Summary&)>& done)
      : matrix_(matrix),
        done_(done),
        planned_(matrix),
        runs_(planned_.size()),
        inputs_(matrix.seeds.size()),
        is_there_(runs_),
        jobs_over_(runs_, 0) {
    for (SharedInput& input : inputs_) input.runs_left = matrix.policies.size();
    progress_.runs = runs_;
    for (std::size_t i = 0; matrix.results && i < runs_; ++i) {
      if (!matrix.results->is_over(planned_.folder(i))) continue;
      is_there_[i] = true;
      --inputs_[i / matrix.policies.size()].runs_left;
      ++progress_.runs_there;
    }
    progress_.runs_over = progress_.runs_there;
  }

  void run() {
    {
      const std::scoped_lock lock(mutex_);
      deliver_ready();
    }
    {
      const std::size_t threads =
          std::min<std::size_t>(matrix_.threads, runs_ - progress_.runs_there);
      std::deque<RunProcess> processes;  // before there are threads
      for (std::size_t i = 0; matrix_.fork != nullptr && threads > 1 && i < threads; ++i) {
        processes.emplace_back(*matrix_.fork,
                               [this](std::size_t number, const auto& tell, const auto& stop) {
                                 release_inputs_before(number);
                                 Summary summary = simulated(number, tell, &stop);
                                 summary.run.clear();  // known here, too
                                 return summary;
                               });
      }
      const auto process_of = [&](std::size_t worker) {
        return processes.empty() ? nullptr : &processes[worker];
      };
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < threads; ++i) {
        workers.emplace_back([this, process = process_of(i)] { work(process); });
      }
      work(process_of(0));
    }
    if (error_) std::rethrow_exception(error_);
    for (; delivered_ < runs_; ++delivered_) deliver_ready();  // without what did not begin
    if (!pages_.empty() && !matrix_.claims) {
      write_comparison(matrix_.out, pages_, [&](std::size_t i) { return identity(places_[i]); });
    }
  }

 private:
  bool has_files() const { return !matrix_.out.empty() && !matrix_.only_results; }

  // What a worker does: the next run, until there is none.
  void work(RunProcess* process) {
    while (const auto number = next()) {
      try {
        one(*number, process);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!error_ || *number < failed_) {
          error_ = std::current_exception();
          failed_ = *number;
        }
      }
    }
  }

  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    const auto* stop = matrix_.settings.stop;
    if (error_ || (stop && stop->load(std::memory_order_relaxed))) return std::nullopt;
    while (next_ < runs_ && (is_there_[next_] || !is_ours(next_))) ++next_;
    if (next_ == runs_) return std::nullopt;
    running_.insert(next_);
    return next_++;
  }

  // Under the lock. What is not is the business of others.
  bool is_ours(std::size_t number) {
    if (!matrix_.claims || matrix_.claims->take(planned_[number])) return true;
    release_input(number);
    return false;
  }

  // Under the lock: one run less needs its workload.
  void release_input(std::size_t number) {
    SharedInput& shared = inputs_[number / matrix_.policies.size()];
    if (--shared.runs_left == 0) shared.input.reset();
  }

  // In a process that does some of the runs, in their order.
  void release_inputs_before(std::size_t number) {
    for (std::size_t row = 0; row < number / matrix_.policies.size(); ++row) {
      inputs_[row].input.reset();
    }
  }

  void one(std::size_t number, RunProcess* process) {
    const std::atomic<bool>* const stop = matrix_.settings.stop;
    const auto tell_here = [&](std::uint64_t jobs_over, std::uint64_t jobs, Time now) {
      tell(number, jobs_over, jobs, now);
    };
    Summary summary =
        process ? process->run(number, tell_here, stop) : simulated(number, tell_here, stop);
    if (process) summary.run = identity(number);
    deliver(number, kept(number, std::move(summary)));
  }

  // Runs it and writes its files.
  Summary simulated(std::size_t number, const RunProcess::Tell& tell,
                    const std::atomic<bool>* stop) {
    const std::size_t row = number / matrix_.policies.size();
    SharedInput& shared = inputs_[row];
    std::call_once(shared.once, [&] { shared.input = matrix_.input(matrix_.seeds[row]); });
    // Jobs that wait for others come in an order of their own in each run.
    std::optional<Workload> ordered;
    if (!shared.input->workload->precedences.empty()) ordered = *shared.input->workload;
    const Workload& workload = ordered ? *ordered : *shared.input->workload;

    SimulationSettings settings = matrix_.settings;
    settings.stop = stop;
    settings.policy = matrix_.policies[number % matrix_.policies.size()];
    settings.rules.seed = matrix_.seeds[row];
    settings.node_events = shared.input->node_events;
    settings.orders = shared.input->orders;
    settings.progress = [&](std::uint64_t jobs_over, Time now) {
      tell(jobs_over, workload.jobs.size(), now);
    };

    const auto begin = Stopwatch::now();
    SummaryObserver figures(workload, {settings.corridor, settings.violation_grace},
                            matrix_.measured);
    std::vector<Observer*> observers{&figures};
    if (runs_ == 1) std::ranges::copy(matrix_.observers, std::back_inserter(observers));
    std::optional<RunFolder> folder;
    if (has_files()) {
      folder.emplace(matrix_.out / name_of(number), workload, settings.corridor);
      folder->add_observers(observers);
    }
    const SimulationCounts counts = ordered ? simulate_in_order(*ordered, settings, observers)
                                            : simulate(workload, settings, observers);
    Summary summary = figures.summary(workload, settings, counts);
    summary.variant = matrix_.variant;
    summary.run = identity(number);
    if (folder) folder->finish(summary);
    summary.load_seconds = to_microseconds(shared.input->load_seconds);
    summary.simulate_seconds = to_microseconds(seconds_since(begin));
    summary.look_ahead_seconds = to_microseconds(counts.look_ahead_seconds);
    summary.peak_rss_bytes = peak_rss_bytes();
    if (folder) folder->write_summary(summary);
    tell(counts.jobs_over, workload.jobs.size(), counts.last_end);
    return summary;
  }

  // Keeps what a run came to; what is left of it to be held.
  Result kept(std::size_t number, Summary summary) {
    Result result{.measured = Measured::of(summary)};
    if (!matrix_.results || summary.stopped) {
      result.summary = std::move(summary);
      return result;
    }
    const PlannedRun run = planned_[number];
    const std::scoped_lock lock(results_mutex_);
    matrix_.results->add(run, summary);
    if (matrix_.claims) matrix_.claims->over(run);
    return result;
  }

  void tell(std::size_t number, std::uint64_t jobs_over, std::uint64_t jobs, Time now) {
    if (!matrix_.progress) return;
    const std::scoped_lock lock(mutex_);
    progress_.jobs_over += jobs_over - std::exchange(jobs_over_[number], jobs_over);
    progress_.jobs = jobs * (runs_ - progress_.runs_there);
    progress_.now = now;
    progress_.running.clear();
    for (const std::size_t each : running_) {
      if (progress_.running.size() == kShownRunning) break;
      progress_.running.push_back(name_of(each));
    }
    matrix_.progress(progress_);
  }

  void deliver(std::size_t number, Result result) {
    const std::scoped_lock lock(mutex_);
    ++progress_.runs_over;
    running_.erase(number);
    release_input(number);
    results_.emplace(number, std::move(result));
    deliver_ready();
  }

  // Those that come next, under the lock. What is kept is read back, whoever has run it.
  void deliver_ready() {
    for (; delivered_ < runs_; ++delivered_) {
      const auto at = results_.find(delivered_);
      if (at == results_.end() && !is_there_[delivered_]) return;
      Result ready = at == results_.end() ? Result{.measured = measured_in_folder(delivered_)}
                                          : std::move(at->second);
      if (at != results_.end()) results_.erase(at);
      if (!ready.summary) {
        const std::scoped_lock lock(results_mutex_);
        const std::string folder = planned_.folder(delivered_);
        ready.summary = matrix_.results->summary(folder);
        ready.summary->run = identity(delivered_);
        ready.measured.write(*ready.summary);
      }
      done_(*ready.summary);
      if (!has_files() || runs_ == 1) continue;
      RunPage& page = pages_.emplace_back(RunPage{.folder = name_of(delivered_),
                                                  .path = matrix_.out / name_of(delivered_),
                                                  .summary = std::move(*ready.summary)});
      if (pages_.size() > kShownIdentities) std::string().swap(page.summary.run);
      places_.push_back(delivered_);
    }
  }

  // Of a run that was there.
  Measured measured_in_folder(std::size_t number) const {
    try {
      const auto file = matrix_.out / name_of(number) / "summary.json";
      return Measured::of(read_summaries(file.string()).at(0).summary);
    } catch (const InputError&) {
      return {};  // it has gone since
    }
  }

  // Its folder within that of the matrix.
  std::string name_of(std::size_t number) const { return planned_.name_within(number); }
  std::string identity(std::size_t number) const {
    if (!matrix_.identity) return "";
    return matrix_.identity(*matrix_.policies[number % matrix_.policies.size()],
                            matrix_.seeds[number / matrix_.policies.size()]);
  }

  const Matrix& matrix_;
  const std::function<void(const Summary&)>& done_;
  const PlannedRuns planned_;
  const std::size_t runs_;
  std::vector<SharedInput> inputs_;  // one for each seed
  std::vector<bool> is_there_;       // before any is run

  std::mutex results_mutex_;  // of the file; within the other one

  std::mutex mutex_;  // of all that follows
  std::size_t next_ = 0, delivered_ = 0;
  std::set<std::size_t> running_;
  std::map<std::size_t, Result> results_;  // that wait for those before them
  std::vector<RunPage> pages_;             // of what was delivered
  std::vector<std::size_t> places_;        // of these in the matrix
  std::vector<std::uint64_t> jobs_over_;
  Progress progress_;
  std::exception_ptr error_;
  std::size_t failed_ = 0;
};

}  // namespace

PlannedRuns::PlannedRuns(const Matrix& matrix) : matrix_(matrix), folders_(folder_names(matrix)) {
  if (folders_.size() == 1) folders_.front().clear();
  if (!matrix.results) return;
  name_ = fs::absolute(matrix.out / "")
              .lexically_normal()
              .lexically_relative(fs::absolute(matrix.results->folder() / "").lexically_normal())
              .string();
  while (name_.ends_with('/')) name_.pop_back();
  if (name_ == ".") name_.clear();
}

std::string PlannedRuns::folder(std::size_t number) const {
  const std::string& within = folders_[number];
  return name_.empty() ? within : within.empty() ? name_ : name_ + "/" + within;
}

PlannedRun PlannedRuns::operator[](std::size_t number) const {
  const Policy& policy = *matrix_.policies[number % matrix_.policies.size()];
  const std::uint64_t seed = matrix_.seeds[number / matrix_.policies.size()];
  return {.folder = folder(number),
          .matrix = name_,
          .number = number,
          .variant = matrix_.variant,
          .policy = policy.traits.settings,
          .seed = seed,
          .identity = matrix_.identity ? matrix_.identity(policy, seed) : ""};
}

void run_matrix(const Matrix& matrix, const std::function<void(const Summary&)>& done) {
  MatrixRun(matrix, done).run();
}

std::vector<std::string> folder_names(const Matrix& matrix) {
  std::vector<std::string> names;
  for (const std::uint64_t seed : matrix.seeds) {
    for (const auto& policy : matrix.policies) {
      names.push_back(fmt::format("{}-s{}", policy->traits.settings, seed));
    }
  }
  return folder_names(names);
}

}  // namespace ductile
