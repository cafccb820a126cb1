#include "experiment/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "report/run_folder.hpp"
#include "simulation/summary_observer.hpp"

namespace ductile {
namespace {

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

struct Result {
  Summary summary;
  RunPage page;
};

class MatrixRun {
 public:
  MatrixRun(const Matrix& matrix, const std::function<void(const Summary&)>& done)
      : matrix_(matrix),
        done_(done),
        runs_(matrix.policies.size() * matrix.seeds.size()),
        folders_(folder_names(matrix)),
        inputs_(matrix.seeds.size()),
        results_(runs_),
        jobs_over_(runs_, 0) {
    for (SharedInput& input : inputs_) input.runs_left = matrix.policies.size();
    progress_.runs = runs_;
  }

  void run() {
    {
      const std::size_t threads = std::min<std::size_t>(matrix_.threads, runs_);
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < threads; ++i) workers.emplace_back([this] { work(); });
      work();
    }
    if (error_) std::rethrow_exception(error_);
    if (runs_ > 1 && !matrix_.out.empty() && !pages_.empty()) {
      write_comparison(matrix_.out, pages_);
    }
  }

 private:
  // What a worker does: the next run, until there is none.
  void work() {
    while (const auto number = next()) {
      try {
        one(*number);
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
    if (next_ == runs_ || error_ || (stop && stop->load(std::memory_order_relaxed))) {
      return std::nullopt;
    }
    return next_++;
  }

  void one(std::size_t number) {
    const std::size_t row = number / matrix_.policies.size();
    SharedInput& shared = inputs_[row];
    std::call_once(shared.once, [&] { shared.input = matrix_.input(matrix_.seeds[row]); });
    // Jobs that wait for others come in an order of their own in each run.
    std::optional<Workload> ordered;
    if (!shared.input->workload->precedences.empty()) ordered = *shared.input->workload;
    const Workload& workload = ordered ? *ordered : *shared.input->workload;

    SimulationSettings settings = matrix_.settings;
    settings.policy = matrix_.policies[number % matrix_.policies.size()];
    settings.rules.seed = matrix_.seeds[row];
    settings.node_events = shared.input->node_events;
    settings.orders = shared.input->orders;
    settings.progress = [&](std::uint64_t jobs_over, Time now) {
      tell(number, jobs_over, workload.jobs.size(), now);
    };

    const auto begin = Stopwatch::now();
    SummaryObserver figures(workload, {settings.corridor, settings.violation_grace},
                            matrix_.measured);
    std::vector<Observer*> observers{&figures};
    if (matrix_.observer && runs_ == 1) observers.push_back(matrix_.observer);
    std::optional<RunFolder> folder;
    if (!matrix_.out.empty()) {
      folder.emplace(runs_ == 1 ? matrix_.out : matrix_.out / folders_[number], workload,
                     settings.corridor);
      folder->add_observers(observers);
    }
    const SimulationCounts counts = ordered ? simulate_in_order(*ordered, settings, observers)
                                            : simulate(workload, settings, observers);
    Result result{figures.summary(workload, settings, counts), {}};
    Summary& summary = result.summary;
    summary.variant = matrix_.variant;
    if (matrix_.identity) summary.run = matrix_.identity(*settings.policy, settings.rules.seed);
    if (folder) result.page = folder->finish(summary, runs_ == 1 ? "" : folders_[number]);
    summary.load_seconds = to_microseconds(shared.input->load_seconds);
    summary.simulate_seconds = to_microseconds(seconds_since(begin));
    summary.look_ahead_seconds = to_microseconds(counts.look_ahead_seconds);
    summary.peak_rss_bytes = peak_rss_bytes();
    if (folder) folder->write_summary(summary);
    tell(number, counts.jobs_over, workload.jobs.size(), counts.last_end);
    deliver(number, std::move(result));
  }

  void tell(std::size_t number, std::uint64_t jobs_over, std::uint64_t jobs, Time now) {
    if (!matrix_.progress) return;
    const std::scoped_lock lock(mutex_);
    progress_.jobs_over += jobs_over - std::exchange(jobs_over_[number], jobs_over);
    progress_.jobs = jobs * runs_;
    progress_.runs_over = runs_over_;
    progress_.now = now;
    matrix_.progress(progress_);
  }

  void deliver(std::size_t number, Result result) {
    const std::scoped_lock lock(mutex_);
    ++runs_over_;
    SharedInput& shared = inputs_[number / matrix_.policies.size()];
    if (--shared.runs_left == 0) shared.input.reset();
    results_[number] = std::move(result);
    for (; delivered_ < runs_ && results_[delivered_]; ++delivered_) {
      Result& ready = *results_[delivered_];
      done_(ready.summary);
      ready.page.summary = std::move(ready.summary);
      if (delivered_ >= matrix_.policies.size()) {  // charts are of the first seed
        ready.page.held = ready.page.pending = {};
        ready.page.gantt = {};
        ready.page.choices = {};
      }
      if (!matrix_.out.empty()) pages_.push_back(std::move(ready.page));
      results_[delivered_].emplace();
    }
  }

  const Matrix& matrix_;
  const std::function<void(const Summary&)>& done_;
  const std::size_t runs_;
  const std::vector<std::string> folders_;
  std::vector<SharedInput> inputs_;  // one for each seed

  std::mutex mutex_;  // of all that follows
  std::size_t next_ = 0, delivered_ = 0, runs_over_ = 0;
  std::vector<std::optional<Result>> results_;
  std::vector<RunPage> pages_;
  std::vector<std::uint64_t> jobs_over_;
  Progress progress_;
  std::exception_ptr error_;
  std::size_t failed_ = 0;
};

}  // namespace

void run_matrix(const Matrix& matrix, const std::function<void(const Summary&)>& done) {
  MatrixRun(matrix, done).run();
}

std::vector<std::string> folder_names(const std::vector<std::string>& names) {
  constexpr std::string_view kept = "+-.=_";
  const auto is_between = [](char c, char low, char high) { return low <= c && c <= high; };
  std::vector<std::string> folders;
  std::set<std::string> taken;  // in lower case
  for (std::string name : names) {
    for (char& c : name) {
      const bool plain = is_between(c, '0', '9') || is_between(c, 'a', 'z') ||
                         is_between(c, 'A', 'Z') || kept.find(c) != std::string_view::npos ||
                         static_cast<unsigned char>(c) >= 0x80;
      if (!plain) c = '_';
    }
    if (name.empty() || name.front() == '.') name.insert(0, "_");  // neither hidden nor "."
    const auto take = [&](std::string folder) {
      for (char& c : folder) {
        if (is_between(c, 'A', 'Z')) c = static_cast<char>(c - 'A' + 'a');
      }
      return taken.insert(folder).second;
    };
    std::string folder = name;
    for (int i = 2; !take(folder); ++i) folder = fmt::format("{}-{}", name, i);
    folders.push_back(std::move(folder));
  }
  return folders;
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
