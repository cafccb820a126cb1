#include "report/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/job_classes.hpp"
#include "report/jobs_csv.hpp"
#include "report/output_file.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

constexpr double kSure = 0.05;
constexpr std::size_t kMany = 20;       // comparisons, of which one may be wrong
constexpr std::size_t kShownUsers = 5;  // who gain most, and as many who lose most

// Of effects on parts of the jobs, of which there are many: 95 % intervals need no more.
constexpr std::size_t kReplicates = 999;

// One job in two runs, or in two of each of several seeds.
struct JobPair {
  Time submit{};
  std::uint64_t job = 0;
  std::int64_t user = 0;
  std::uint64_t size = 0;
  Duration run_time{};     // by which it has its class
  std::uint64_t runs = 1;  // of the baseline; the following are sums over them
  double wait[2]{}, turnaround[2]{}, slowdown[2]{};  // with the baseline, and else
};

// The jobs of two runs, by number.
struct JobPairs {
  std::vector<JobPair> pairs{};
  std::uint64_t left_out = 0;    // ran in one of the runs only
  bool are_other = false;        // they have the same numbers, and are not the same jobs
  bool came_otherwise = false;   // they are, but came at other times
  bool asked_otherwise = false;  // or asked for other times
};

// More than so many of a hundred jobs that differ are not those that a run has changed.
constexpr std::size_t kFewOfHundred = 1;
bool is_more_than_few(std::uint64_t some, std::size_t all) {
  return 100 * some > kFewOfHundred * all;
}

// The same job, whatever it asks for: what it does is the same, as far as that is known.
bool is_same_job(const JobsCsvRow& a, const JobsCsvRow& b) {
  if (a.size != b.size || a.user != b.user) return false;
  return a.static_runtime && b.static_runtime ? a.static_runtime == b.static_runtime
                                              : a.walltime == b.walltime;
}

JobPairs pair_jobs(const std::vector<JobsCsvRow>& baseline, const std::vector<JobsCsvRow>& others) {
  JobPairs found;
  std::uint64_t different = 0, moved = 0, asked = 0;
  auto at = others.begin();
  for (const JobsCsvRow& row : baseline) {
    at = std::ranges::lower_bound(at, others.end(), row.job, {}, &JobsCsvRow::job);
    if (at == others.end() || at->job != row.job) continue;
    if (!is_same_job(*at, row)) ++different;
    if (at->walltime != row.walltime) ++asked;
    if (at->submit != row.submit) ++moved;
    JobPair& pair = found.pairs.emplace_back();
    pair.submit = row.submit;
    pair.job = row.job;
    pair.user = row.user;
    pair.size = row.size;
    pair.run_time = class_runtime(row);
    for (const auto& [place, its] : {std::pair{0, &row}, std::pair{1, &*at}}) {
      pair.wait[place] = to_seconds(its->waited);
      pair.turnaround[place] = to_seconds(its->turnaround);
      pair.slowdown[place] = bounded_slowdown(its->turnaround, class_runtime(*its));
    }
  }
  found.left_out = baseline.size() + others.size() - 2 * found.pairs.size();
  // Where only half of them have a partner, it is by chance that these have.
  const std::size_t most = std::max(baseline.size(), others.size());
  found.are_other =
      is_more_than_few(different, found.pairs.size()) || 2 * found.pairs.size() < most;
  found.came_otherwise = is_more_than_few(moved, found.pairs.size());
  found.asked_otherwise = is_more_than_few(asked, found.pairs.size());
  return found;
}

// Adds the jobs of another seed of the same log.
void add_seed(std::vector<JobPair>& pairs, const std::vector<JobPair>& more) {
  std::vector<JobPair> all;
  all.reserve(std::max(pairs.size(), more.size()));
  auto at = more.begin();
  for (JobPair& pair : pairs) {
    for (; at != more.end() && at->job < pair.job; ++at) all.push_back(*at);
    if (at != more.end() && at->job == pair.job) {
      pair.runs += at->runs;
      for (const int side : {0, 1}) {
        pair.wait[side] += at->wait[side];
        pair.turnaround[side] += at->turnaround[side];
        pair.slowdown[side] += at->slowdown[side];
      }
      ++at;
    }
    all.push_back(pair);
  }
  all.insert(all.end(), at, more.end());
  pairs = std::move(all);
}

// What of a job tells logs apart.
struct Arrival {
  std::uint64_t job = 0, size = 0;
  Time submit{};
  std::optional<Duration> runtime{};
  bool operator==(const Arrival&) const = default;
  bool is_same_job(const Arrival& other) const {
    return job == other.job && size == other.size && runtime && runtime == other.runtime;
  }
};

std::vector<Arrival> arrivals_of(const std::vector<JobsCsvRow>& rows) {
  std::vector<Arrival> arrivals;
  for (const JobsCsvRow& row : rows) {
    arrivals.push_back({row.job, row.size, row.submit, row.static_runtime});
  }
  return arrivals;
}

// Most jobs of that number have the same size and run time, and come at the same time. (Not all
// need to: who waits for others, or is killed, may come at another time in another run, or have no
// row.) `at_any_time`: they may come at another time.
bool are_of_one_log(const std::vector<Arrival>& a, const std::vector<Arrival>& b,
                    bool at_any_time) {
  std::size_t same = 0;
  auto at = b.begin();
  for (const Arrival& arrival : a) {
    at = std::ranges::lower_bound(at, b.end(), arrival.job, {}, &Arrival::job);
    if (at == b.end()) break;
    if (at_any_time ? at->is_same_job(arrival) : *at == arrival) ++same;
  }
  return 2 * same > std::max(a.size(), b.size());
}

// Both sides of one figure, a value for each seed or for each job.
struct Sides {
  std::vector<double> of[2]{};
  void add(const double (&values)[2], std::uint64_t runs = 1) {
    for (const std::size_t side : {0, 1})
      of[side].push_back(values[side] / static_cast<double>(runs));
  }
};

// A part of the jobs in all seeds.
struct PartOfJobs {
  std::uint64_t jobs = 0;
  double total_s = 0;
  Sides wait{}, turnaround{};

  // Of one seed.
  void add_means(const std::vector<const JobPair*>& pairs) {
    double waits[2]{}, turnarounds[2]{};
    for (const JobPair* pair : pairs) {
      for (const int side : {0, 1}) {
        waits[side] += pair->wait[side] / static_cast<double>(pairs.size());
        turnarounds[side] += pair->turnaround[side] / static_cast<double>(pairs.size());
      }
    }
    wait.add(waits);
    turnaround.add(turnarounds);
  }
  void add_jobs(const std::vector<const JobPair*>& pairs) {
    for (const JobPair* pair : pairs) {
      wait.add(pair->wait, pair->runs);
      turnaround.add(pair->turnaround, pair->runs);
    }
  }
};

template <class Key>
using PartsOfJobs = std::map<Key, PartOfJobs>;

template <class Key, class KeyOf>
void add_parts(PartsOfJobs<Key>& parts, const std::vector<JobPair>& jobs, bool is_one_log,
               KeyOf key_of) {
  std::map<Key, std::vector<const JobPair*>> found;
  for (const JobPair& pair : jobs) found[key_of(pair)].push_back(&pair);
  for (const auto& [key, pairs] : found) {
    PartOfJobs& part = parts[key];
    for (const JobPair* pair : pairs) {
      part.jobs += pair->runs;
      part.total_s += pair->turnaround[1] - pair->turnaround[0];
    }
    is_one_log ? part.add_jobs(pairs) : part.add_means(pairs);
  }
}

PairedComparison compared(const Sides& sides, bool is_one_log) {
  return is_one_log ? compare_series(sides.of[0], sides.of[1], 1, kReplicates)
                    : compare_pairs(sides.of[0], sides.of[1]);
}

// `part_of`: an effect that says of which part.
template <class Key, class PartOf>
void add_effects(std::vector<PartEffect>& effects, std::size_t group, const PartsOfJobs<Key>& parts,
                 bool is_one_log, PartOf part_of) {
  for (const auto& [key, part] : parts) {
    PartEffect& effect = effects.emplace_back(part_of(key));
    effect.group = group;
    effect.jobs = part.jobs;
    effect.wait = compared(part.wait, is_one_log);
    effect.turnaround = compared(part.turnaround, is_one_log);
    effect.total_s = part.total_s;
  }
}

bool has_jobs(const RunPage& run) { return !run.path.empty() && fs::exists(run.path / "jobs.csv"); }

// The runs of two policies on the same seeds.
struct SeedPair {
  std::uint64_t seed = 0;
  const RunPage* of[2]{};
};

class Comparer {
 public:
  Comparer(std::span<const RunPage> runs, std::size_t baseline, JobsFiles& files) : files_(files) {
    std::vector<Summary> summaries;
    for (const RunPage& run : runs) summaries.push_back(run.summary);
    columns_ = columns_for(summaries);
    for (const PolicyRuns& group : by_policy(summaries)) {
      Group& its = groups_.emplace_back();
      its.policy = group.policy;
      for (const Summary* summary : group.runs) {
        const auto number = static_cast<std::size_t>(summary - summaries.data());
        its.runs.emplace(summary->seed, &runs[number]);
      }
    }
    result_.baseline = baseline;
  }

  // But for what all comparisons of a command have in common.
  Comparison compare() {
    read_baseline();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i != result_.baseline) compare(i);
    }
    for (const Remark& remark : remarks_) result_.notes.push_back(text_of(remark));
    say_method();
    return std::move(result_);
  }

 private:
  struct Group {
    std::string policy{};
    std::map<std::uint64_t, const RunPage*> runs{};
  };
  // What is to be said of some policies.
  struct Remark {
    std::string what{};
    std::vector<std::string> policies{};
  };
  // What a policy and the baseline have in common, and what follows from it.
  struct Pairing {
    std::vector<SeedPair> seeds{};
    bool is_of_jobs = false;      // one log: its jobs are the pairs, not the seeds
    bool are_other_jobs = false;  // seeds pair nothing
    std::vector<JobPair> jobs{};  // of one log
  };

  const Group& baseline() const { return groups_[result_.baseline]; }

  void note(std::size_t group, std::string what) {
    auto at = std::ranges::find(remarks_, what, &Remark::what);
    if (at == remarks_.end()) at = remarks_.insert(at, {.what = std::move(what)});
    at->policies.push_back(groups_[group].policy);
  }

  static std::string text_of(const Remark& remark) {
    constexpr std::size_t kNamed = 5;
    std::string who;
    for (std::size_t i = 0; i < std::min(remark.policies.size(), kNamed); ++i) {
      who += (i == 0 ? "" : ", ") + remark.policies[i];
    }
    if (remark.policies.size() > kNamed) {
      who += fmt::format(" and {} more", remark.policies.size() - kNamed);
    }
    return who + ": " + remark.what;
  }

  // Its classes of jobs, and whether its seeds have logs of their own.
  void read_baseline() {
    std::vector<Duration> run_times;
    std::vector<Arrival> first;
    Nodes nodes = 0;
    bool is_first = true, is_one_log = true, have_same_jobs = true;
    for (const auto& [seed, run] : baseline().runs) {
      nodes = std::max(nodes, run->summary.nodes);
      if (run->summary.stopped || !has_jobs(*run)) continue;
      const std::vector<JobsCsvRow> rows = jobs_of(*run);
      for (const JobsCsvRow& row : rows) run_times.push_back(class_runtime(row));
      std::vector<Arrival> arrivals = arrivals_of(rows);
      if (std::exchange(is_first, false)) {
        first = std::move(arrivals);
      } else {
        is_one_log = is_one_log && are_of_one_log(first, arrivals, false);
        have_same_jobs = have_same_jobs && are_of_one_log(first, arrivals, true);
      }
    }
    have_one_log_ = is_one_log && !first.empty();
    have_same_jobs_ = have_same_jobs && !first.empty();
    result_.job_classes = {size_classes(nodes), runtime_classes(std::move(run_times))};
  }

  std::vector<SeedPair> seeds_of(std::size_t group) {
    const Group& other = groups_[group];
    std::vector<SeedPair> pairs;
    std::string alone;
    std::size_t count = 0;
    const auto leave_out = [&](std::uint64_t seed) {
      if (++count <= 10) alone += fmt::format("{}{}", alone.empty() ? "" : ", ", seed);
    };
    for (const auto& [seed, run] : baseline().runs) {
      const auto at = other.runs.find(seed);
      if (at == other.runs.end()) {
        leave_out(seed);
      } else {
        pairs.push_back({seed, {run, at->second}});
      }
    }
    for (const auto& [seed, run] : other.runs) {
      if (!baseline().runs.contains(seed)) leave_out(seed);
    }
    if (count > 0) {
      note(group, fmt::format("either it or {} only has the seed{} {}{}: left out.",
                              baseline().policy, count == 1 ? "" : "s", alone,
                              count > 10 ? fmt::format(" and {} more", count - 10) : ""));
    }
    const auto stopped = std::erase_if(pairs, [](const SeedPair& pair) {
      return pair.of[0]->summary.stopped || pair.of[1]->summary.stopped;
    });
    if (stopped > 0) {
      note(group, fmt::format("{} stopped before the end, and left out.",
                              stopped == 1 ? "one pair of runs was"
                                           : fmt::format("{} pairs of runs were", stopped)));
    } else if (pairs.empty()) {
      note(group, fmt::format("it has no seed in common with {}.", baseline().policy));
    }
    if (pairs.size() > 1 && are_alike(pairs)) {
      note(group, fmt::format("all {} seeds gave the same: they count as one.", pairs.size()));
      pairs.resize(1);
    }
    return pairs;
  }

  double value(const Column& column, const RunPage& run) const {
    return column.value(run.summary) * base_unit(column).factor;
  }

  // Where seeds change nothing they are no sample.
  bool are_alike(const std::vector<SeedPair>& pairs) const {
    return std::ranges::all_of(pairs, [&](const SeedPair& pair) {
      return std::ranges::all_of(columns_, [&](const Column& column) {
        const auto is_same = [&](int side) {
          const double first = value(column, *pairs.front().of[side]),
                       its = value(column, *pair.of[side]);
          return first == its || (std::isnan(first) && std::isnan(its));
        };
        return is_same(0) && is_same(1);
      });
    });
  }

  void compare(std::size_t group) {
    Pairing pairing{.seeds = seeds_of(group)};
    if (pairing.seeds.empty()) return;
    pairing.is_of_jobs = pairing.seeds.size() == 1;
    const bool has_files = std::ranges::all_of(pairing.seeds, [](const SeedPair& pair) {
      return has_jobs(*pair.of[0]) && has_jobs(*pair.of[1]);
    });
    if (has_files) {
      if (!pairing.is_of_jobs && have_one_log(pairing.seeds.front())) {
        pairing.is_of_jobs = true;
        note(group,
             fmt::format("all {} seeds have the same log, and say nothing of another one: they "
                         "count as one, and what a job has is its mean over them.",
                         pairing.seeds.size()));
      }
      read_jobs(group, pairing);
    } else {
      note(group, fmt::format("not all of its runs and those of {} have a jobs.csv: nobody knows "
                              "whether their jobs are the same, nor how sure a difference is.",
                              baseline().policy));
    }
    std::map<std::string_view, Sides> of_jobs;
    for (const JobPair& pair : pairing.jobs) {
      of_jobs["mean_wait_s"].add(pair.wait, pair.runs);
      of_jobs["mean_turnaround_s"].add(pair.turnaround, pair.runs);
      of_jobs["mean_bounded_slowdown"].add(pair.slowdown, pair.runs);
    }
    const bool is_sample = has_files && !pairing.is_of_jobs && !pairing.are_other_jobs;
    if (is_sample) {
      most_seeds_ = std::max(most_seeds_, pairing.seeds.size());
    }
    const std::size_t first = result_.rows.size();
    for (const Column& column : columns_) {
      if (column.better == Better::neither) continue;
      Sides sides;
      for (const SeedPair& pair : pairing.seeds) {
        const double values[2]{value(column, *pair.of[0]), value(column, *pair.of[1])};
        if (std::isfinite(values[0]) && std::isfinite(values[1])) sides.add(values);
      }
      if (sides.of[0].empty()) continue;
      Difference& row = result_.rows.emplace_back();
      row.group = group;
      row.column = column;
      const auto jobs = of_jobs.find(column.key);
      if (jobs != of_jobs.end()) {
        row.pairs = compare_series(jobs->second.of[0], jobs->second.of[1]);
        tell_blocks(row.pairs);
      } else {
        row.pairs = compare_pairs(sides.of[0], sides.of[1]);
        if (!is_sample) forget_chance(row.pairs);
        if (pairing.are_other_jobs) row.pairs.pairs = row.pairs.agree = 0;
      }
    }
    const std::span its = std::span(result_.rows).subspan(first);
    if (!its.empty() && std::ranges::all_of(its, &PairedComparison::is_same, &Difference::pairs)) {
      note(group,
           fmt::format("its figures are the same as those of {} in all runs.", baseline().policy));
    }
  }

  // Where the times differ between the runs of a pair as well, as when users wait for what they
  // submitted, they do not tell logs apart.
  bool have_one_log(const SeedPair& seed) {
    return have_one_log_ || (have_same_jobs_ &&
                             pair_jobs(jobs_of(*seed.of[0]), jobs_of(*seed.of[1])).came_otherwise);
  }

  std::vector<JobsCsvRow> jobs_of(const RunPage& run) {
    return measured_jobs(*files_.of(run.path / "jobs.csv"), run.summary);
  }

  // Seeds of one log, runs of other jobs and of jobs that nobody knows say nothing of it.
  static void forget_chance(PairedComparison& its) {
    its.difference_95 = its.ratio_95 = {};
    its.p = PairedComparison::kNone;
  }

  // For the sentence about the method.
  void tell_blocks(const PairedComparison& its) {
    most_jobs_ = std::max(most_jobs_, its.pairs);
    have_different_jobs_ = have_different_jobs_ || !its.is_same();
    if (its.block == 0) return;
    shortest_ = std::min(shortest_, its.block);
    longest_ = std::max(longest_, its.block);
    replicates_ = its.replicates;
  }

  // Reads two runs at a time.
  void read_jobs(std::size_t group, Pairing& pairing) {
    PartsOfJobs<std::pair<std::size_t, std::size_t>> classes;
    PartsOfJobs<std::int64_t> users;
    const auto add = [&](const std::vector<JobPair>& jobs) {
      add_parts(classes, jobs, pairing.is_of_jobs, [&](const JobPair& pair) {
        return std::pair(result_.job_classes.sizes.of(static_cast<double>(pair.size)),
                         result_.job_classes.runtimes.of(to_seconds(pair.run_time)));
      });
      add_parts(users, jobs, pairing.is_of_jobs, [](const JobPair& pair) { return pair.user; });
    };
    std::uint64_t left_out = 0;
    bool came_otherwise = false, asked_otherwise = false;
    for (const SeedPair& seed : pairing.seeds) {
      JobPairs found = pair_jobs(jobs_of(*seed.of[0]), jobs_of(*seed.of[1]));
      if (found.are_other) {
        note(group, fmt::format("it had other jobs than {}: nothing pairs them, and what differs "
                                "may be chance, or the jobs.",
                                baseline().policy));
        pairing.are_other_jobs = true;
        pairing.jobs.clear();
        return;
      }
      came_otherwise = came_otherwise || found.came_otherwise;
      asked_otherwise = asked_otherwise || found.asked_otherwise;
      left_out += found.left_out;
      if (pairing.is_of_jobs) {
        add_seed(pairing.jobs, found.pairs);
      } else {
        add(found.pairs);
      }
    }
    std::ranges::sort(pairing.jobs, {},
                      [](const JobPair& pair) { return std::tuple(pair.submit, pair.job); });
    if (came_otherwise) {
      note(group,
           fmt::format("its jobs came at other times than those of {} (another load, or jobs "
                       "that follow others): what differs may not be the policy alone.",
                       baseline().policy));
    }
    if (asked_otherwise) {
      note(group, fmt::format("its jobs asked for other times than those of {}: what differs may "
                              "not be the policy alone.",
                              baseline().policy));
    }
    if (left_out > 0) {
      note(group, fmt::format("{} job{} ran under either it or {} only, and {} compared.", left_out,
                              left_out == 1 ? "" : "s", baseline().policy,
                              left_out == 1 ? "is not" : "are not"));
    }
    if (pairing.is_of_jobs) add(pairing.jobs);
    add_effects(result_.classes, group, classes, pairing.is_of_jobs, [&](const auto& key) {
      return PartEffect{.part = result_.job_classes.name(key.first, key.second),
                        .size_class = key.first,
                        .runtime_class = key.second};
    });
    const std::size_t first = result_.users.size();
    add_effects(result_.users, group, users, pairing.is_of_jobs,
                [](std::int64_t user) { return PartEffect{.part = fmt::format("{}", user)}; });
    std::stable_sort(result_.users.begin() + static_cast<std::ptrdiff_t>(first),
                     result_.users.end(), [](const PartEffect& a, const PartEffect& b) {
                       return std::abs(a.total_s) > std::abs(b.total_s);
                     });
  }

  void say_method() {
    std::string& text = result_.method;
    if (most_seeds_ > 0) {
      text = fmt::format(
          "Paired by seed (up to {}): 95 % intervals by Student's t, of ratios by Fieller's "
          "method.",
          most_seeds_);
    }
    if (most_jobs_ > 0) {
      text += fmt::format("{}One log: jobs paired by number (up to {})", text.empty() ? "" : " ",
                          most_jobs_);
      text += !have_different_jobs_ ? ", which fared the same in all runs."
              : longest_ == 0
                  ? ", too few for intervals."
                  : fmt::format(
                        "; 95 % intervals by a studentized bootstrap of blocks of {} jobs, "
                        "{} draws. Other figures have none.",
                        shortest_ == longest_ ? fmt::format("{}", longest_)
                                              : fmt::format("{} to {}", shortest_, longest_),
                        replicates_);
    }
    if (text.empty()) text = "Nothing is paired: nothing says how much of a difference is chance.";
  }

  JobsFiles& files_;
  std::vector<Column> columns_{};
  std::vector<Group> groups_{};
  std::vector<Remark> remarks_{};
  bool have_one_log_ = false;         // the seeds of the baseline
  bool have_same_jobs_ = false;       // they do, but for the times at which these come
  bool have_different_jobs_ = false;  // jobs that are paired fared otherwise
  Comparison result_{};
  // For the sentence about the method.
  std::size_t most_seeds_ = 0, most_jobs_ = 0, replicates_ = 0, longest_ = 0;
  std::size_t shortest_ = std::numeric_limits<std::size_t>::max();
};

// By Holm's method, over what all of them have compared.
void correct(std::span<Comparison> comparisons) {
  std::vector<double> p;
  for (const Comparison& its : comparisons) {
    for (const Difference& row : its.rows) p.push_back(row.pairs.p);
  }
  const std::vector<double> corrected = holm(p);
  const auto made = static_cast<std::size_t>(
      std::ranges::count_if(p, [](double its) { return !std::isnan(its); }));
  auto next = corrected.begin();
  for (Comparison& its : comparisons) {
    its.made = made;
    if (made > 1) {
      its.method += fmt::format(" p is corrected for {} comparisons (Holm){}.", made,
                                comparisons.size() > 1 ? ", those against all baselines" : "");
    }
    for (Difference& row : its.rows) {
      row.p = *next++;
      if (row.pairs.is_same()) row.verdict = Difference::Verdict::same;
      if (std::isnan(row.p) || row.p >= kSure) continue;
      const bool is_less = row.pairs.difference < 0;
      row.verdict = is_less == (row.column.better == Better::less) ? Difference::Verdict::better
                                                                   : Difference::Verdict::worse;
    }
  }
}

std::string amount(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "-";
}
std::string signed_amount(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:+.{}f}", value, decimals) : "-";
}
std::string interval(const Interval95& its, double scale, int decimals, bool has_sign) {
  if (!std::isfinite(its.low) || !std::isfinite(its.high)) return "-";
  return has_sign ? fmt::format("{:+.{}f} to {:+.{}f}", its.low / scale, decimals, its.high / scale,
                                decimals)
                  : fmt::format("{:.{}f} to {:.{}f}", its.low / scale, decimals, its.high / scale,
                                decimals);
}
std::string p_text(double p) {
  return std::isnan(p) ? "-" : p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", p);
}

void add_effect_row(std::vector<std::vector<std::string>>& rows, const std::string& policy,
                    const PartEffect& effect) {
  rows.push_back({policy, effect.part, fmt::format("{}", effect.jobs),
                  amount(effect.wait.baseline, 1), amount(effect.wait.value, 1),
                  amount(effect.turnaround.baseline, 1), amount(effect.turnaround.value, 1),
                  signed_amount(effect.turnaround.difference, 1),
                  interval(effect.turnaround.difference_95, 1, 1, true),
                  amount(effect.turnaround.ratio, 3), std::string(effect_word(effect.turnaround))});
}

std::vector<std::vector<std::string>> effect_heads(const char* part) {
  return {{"policy", part, "jobs", "wait with", "wait", "turnaround with", "turnaround",
           "difference", "95 % interval", "ratio", "effect"},
          {"", "", "", "baseline (s)", "(s)", "baseline (s)", "(s)", "(s)", "(s)", "", ""}};
}

using OrderedJson = nlohmann::ordered_json;

void add_pairs(OrderedJson& line, const PairedComparison& its) {
  line["baseline"] = number_or_null(its.baseline);
  line["value"] = number_or_null(its.value);
  line["difference"] = number_or_null(its.difference);
  line["low"] = number_or_null(its.difference_95.low);
  line["high"] = number_or_null(its.difference_95.high);
  line["ratio"] = number_or_null(its.ratio);
  line["ratio_low"] = number_or_null(its.ratio_95.low);
  line["ratio_high"] = number_or_null(its.ratio_95.high);
  line["pairs"] = its.pairs;
  line["agree"] = its.agree;
}

// A line for each difference and each effect: what both kinds of file say.
std::vector<OrderedJson> lines_of(const Comparison& comparison,
                                  std::span<const std::string> policies) {
  std::vector<OrderedJson> lines;
  for (const Difference& row : comparison.rows) {
    OrderedJson& line = lines.emplace_back(OrderedJson{{"kind", "figure"},
                                                       {"policy", policies[row.group]},
                                                       {"against", policies[comparison.baseline]},
                                                       {"part", ""},
                                                       {"figure", row.column.key},
                                                       {"unit", base_unit(row.column).name},
                                                       {"jobs", nullptr}});
    add_pairs(line, row.pairs);
    line["p"] = number_or_null(row.pairs.p);
    line["p_corrected"] = number_or_null(row.p);
    line["verdict"] = word(row.verdict);
  }
  const auto add = [&](const char* kind, const PartEffect& effect, const char* figure,
                       const PairedComparison& its) {
    OrderedJson& line = lines.emplace_back(OrderedJson{{"kind", kind},
                                                       {"policy", policies[effect.group]},
                                                       {"against", policies[comparison.baseline]},
                                                       {"part", effect.part},
                                                       {"figure", figure},
                                                       {"unit", "s"},
                                                       {"jobs", effect.jobs}});
    add_pairs(line, its);
    line["p"] = number_or_null(its.p);
    line["p_corrected"] = nullptr;
    line["verdict"] = effect_word(its);
  };
  for (const PartEffect& effect : comparison.classes) {
    add("class", effect, "mean_wait_s", effect.wait);
    add("class", effect, "mean_turnaround_s", effect.turnaround);
  }
  for (const PartEffect& effect : comparison.users) {
    add("user", effect, "mean_wait_s", effect.wait);
    add("user", effect, "mean_turnaround_s", effect.turnaround);
  }
  return lines;
}

}  // namespace

BaseUnit base_unit(const Column& column) {
  if (column.unit == "h") return {"s", 3600};
  if (column.unit == "node h") return {"node s", 3600};
  return {column.unit, 1};
}

std::string_view word(Difference::Verdict verdict) {
  return verdict == Difference::Verdict::better  ? "better"
         : verdict == Difference::Verdict::worse ? "worse"
         : verdict == Difference::Verdict::same  ? "same"
                                                 : "open";
}

std::string_view effect_word(const PairedComparison& its) {
  if (its.is_same()) return "same";
  if (its.difference_95.high < 0) return "gains";
  if (its.difference_95.low > 0) return "loses";
  return "open";
}

std::vector<Comparison> compare(std::span<const Compared> all, JobsFiles files) {
  std::vector<Comparison> comparisons;
  for (const Compared& its : all) {
    comparisons.push_back(Comparer(its.runs, its.baseline, files).compare());
  }
  correct(comparisons);
  return comparisons;
}

Comparison compare(std::span<const RunPage> runs, std::size_t baseline, JobsFiles files) {
  const Compared only{runs, baseline};
  return std::move(compare({&only, 1}, std::move(files)).front());
}

std::optional<std::string_view> main_figure(const Comparison& comparison) {
  for (const std::string_view key :
       {"mean_turnaround_s", "mean_wait_s", "mean_bounded_slowdown", "makespan_s"}) {
    const auto is_it = [&](const Difference& row) { return row.column.key == key; };
    if (std::ranges::any_of(comparison.rows, is_it)) return key;
  }
  return std::nullopt;
}

std::string comparison_text(const Comparison& comparison, std::span<const std::string> policies) {
  std::string text =
      fmt::format("Against {}. {}\n", policies[comparison.baseline], comparison.method);
  for (const std::string& note : comparison.notes) text += note + '\n';
  if (!comparison.rows.empty()) {
    std::vector<std::vector<std::string>> rows{{"policy", "figure", "baseline", "value",
                                                "difference", "95 % interval", "ratio",
                                                "95 % interval", "agree", "p", "verdict"}};
    for (const Difference& row : comparison.rows) {
      const Column& column = row.column;
      const PairedComparison& its = row.pairs;
      const double scale = base_unit(column).factor;
      const int decimals = std::max(column.decimals, 1);
      rows.push_back({policies[row.group],
                      std::string(column.title) +
                          (column.unit.empty() ? "" : fmt::format(" ({})", column.unit)),
                      amount(its.baseline / scale, decimals), amount(its.value / scale, decimals),
                      signed_amount(its.difference / scale, decimals),
                      interval(its.difference_95, scale, decimals, true), amount(its.ratio, 3),
                      interval(its.ratio_95, 1, 3, false),
                      its.pairs > 1 ? fmt::format("{} of {}", its.agree, its.pairs) : "-",
                      p_text(row.p), std::string(word(row.verdict))});
    }
    text += '\n' + aligned_text(rows, 2);
    if (comparison.made > kMany) {
      text += fmt::format(
          "{} comparisons: p is corrected for all of them, the intervals are not; about {:.0f} of "
          "these miss by chance.\n",
          comparison.made, static_cast<double>(comparison.made) * kSure);
    }
  }
  if (!comparison.classes.empty()) {
    auto rows = effect_heads("class");
    for (const PartEffect& effect : comparison.classes) {
      add_effect_row(rows, policies[effect.group], effect);
    }
    text += "\nBy size asked for and run time:\n" + aligned_text(rows, 2);
    if (comparison.classes.size() > kMany) {
      text +=
          fmt::format("{} classes, not corrected: of such intervals one in 20 misses by chance.\n",
                      comparison.classes.size());
    }
  }
  if (!comparison.users.empty()) {
    auto rows = effect_heads("user");
    std::string more;
    for (std::size_t group = 0; group < policies.size(); ++group) {
      std::size_t gain = 0, lose = 0, clear_gain = 0, clear_lose = 0, left = 0;
      for (const PartEffect& effect : comparison.users) {
        if (effect.group != group) continue;
        if (effect_word(effect.turnaround) == "gains") ++clear_gain;
        if (effect_word(effect.turnaround) == "loses") ++clear_lose;
        const bool shown = effect.total_s < 0   ? gain++ < kShownUsers
                           : effect.total_s > 0 ? lose++ < kShownUsers
                                                : false;
        if (shown) {
          add_effect_row(rows, policies[group], effect);
        } else {
          ++left;
        }
      }
      if (gain + lose + left == 0) continue;
      more +=
          fmt::format("{}: users who gain: {}, who lose: {} (clearly: {} and {}); not shown: {}.\n",
                      policies[group], gain, lose, clear_gain, clear_lose, left);
    }
    text += "\nBy user, those first whose jobs gain or lose most time together:\n";
    text += aligned_text(rows, 2) + more;
  }
  return text;
}

std::string comparison_json(const Comparison& comparison, std::span<const std::string> policies) {
  std::string text;
  for (const OrderedJson& line : lines_of(comparison, policies)) {
    text += line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
  }
  OrderedJson last{{"kind", "method"},
                   {"against", policies[comparison.baseline]},
                   {"method", comparison.method},
                   {"comparisons", comparison.made},
                   {"notes", comparison.notes}};
  return text + last.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

std::string_view comparison_csv_header() {
  return "kind,policy,against,part,figure,unit,jobs,baseline,value,difference,low,high,ratio,"
         "ratio_low,ratio_high,pairs,agree,p,p_corrected,verdict\n";
}

std::string comparison_csv(const Comparison& comparison, std::span<const std::string> policies) {
  std::string text;
  for (const OrderedJson& line : lines_of(comparison, policies)) {
    bool is_first = true;
    for (const auto& [name, value] : line.items()) {
      if (!std::exchange(is_first, false)) text += ',';
      if (value.is_string()) {
        append_field(text, value.get<std::string>());
      } else if (!value.is_null()) {
        text += value.dump();
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace ductile
