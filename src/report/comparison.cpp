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

// One job in two runs.
struct JobPair {
  Time submit{};
  std::uint64_t job = 0;
  std::int64_t user = 0;
  std::size_t size_class = 0, runtime_class = 0;
  double wait[2]{}, turnaround[2]{}, slowdown[2]{};  // with the baseline, and else
};

struct JobPairs {
  std::vector<JobPair> pairs{};  // by submission
  std::uint64_t left_out = 0;    // ran in one of the runs only
  std::uint64_t others = 0;      // of the pairs: have the same number, and are not the same job
};

JobPairs pair_jobs(const std::vector<JobsCsvRow>& baseline, const std::vector<JobsCsvRow>& others,
                   const JobClasses& classes) {
  JobPairs found;
  auto at = others.begin();
  for (const JobsCsvRow& row : baseline) {
    at = std::ranges::lower_bound(at, others.end(), row.job, {}, &JobsCsvRow::job);
    if (at == others.end() || at->job != row.job) continue;
    if (at->size != row.size || at->walltime != row.walltime || at->user != row.user) {
      ++found.others;
    }
    JobPair& pair = found.pairs.emplace_back();
    pair.submit = row.submit;
    pair.job = row.job;
    pair.user = row.user;
    pair.size_class = classes.sizes.of(static_cast<double>(row.size));
    pair.runtime_class = classes.runtimes.of(to_seconds(class_runtime(row)));
    for (const auto& [place, its] : {std::pair{0, &row}, std::pair{1, &*at}}) {
      pair.wait[place] = to_seconds(its->waited);
      pair.turnaround[place] = to_seconds(its->turnaround);
      pair.slowdown[place] =
          bounded_slowdown(its->turnaround, its->static_runtime.value_or(*its->end - *its->start));
    }
  }
  found.left_out = baseline.size() + others.size() - 2 * found.pairs.size();
  std::ranges::sort(found.pairs, {},
                    [](const JobPair& pair) { return std::tuple(pair.submit, pair.job); });
  return found;
}

// Both sides of one figure, a value for each seed or for each job.
struct Sides {
  std::vector<double> of[2]{};
  void add(const double (&values)[2]) {
    of[0].push_back(values[0]);
    of[1].push_back(values[1]);
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
      wait.add(pair->wait);
      turnaround.add(pair->turnaround);
    }
  }
};

template <class Key>
using PartsOfJobs = std::map<Key, PartOfJobs>;

template <class Key, class KeyOf>
void add_parts(PartsOfJobs<Key>& parts, const JobPairs& jobs, bool is_one_log, KeyOf key_of) {
  std::map<Key, std::vector<const JobPair*>> found;
  for (const JobPair& pair : jobs.pairs) found[key_of(pair)].push_back(&pair);
  for (const auto& [key, pairs] : found) {
    PartOfJobs& part = parts[key];
    part.jobs += pairs.size();
    for (const JobPair* pair : pairs) part.total_s += pair->turnaround[1] - pair->turnaround[0];
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
  Comparer(std::span<const RunPage> runs, std::size_t baseline, bool by_parts, JobsFiles files)
      : by_parts_(by_parts), files_(std::move(files)) {
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

  Comparison compare() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i != result_.baseline) compare(i);
    }
    std::vector<double> p;
    for (const Difference& row : result_.rows) p.push_back(row.pairs.p);
    const std::vector<double> corrected = holm(p);
    for (std::size_t i = 0; i < corrected.size(); ++i) {
      Difference& row = result_.rows[i];
      row.p = corrected[i];
      if (std::isnan(row.p)) continue;
      ++result_.made;
      if (row.p >= kSure) continue;
      const bool is_less = row.pairs.difference < 0;
      row.verdict = is_less == (row.column.better == Better::less) ? Difference::Verdict::better
                                                                   : Difference::Verdict::worse;
    }
    say_method();
    return std::move(result_);
  }

 private:
  struct Group {
    std::string policy{};
    std::map<std::uint64_t, const RunPage*> runs{};
  };

  void note(const std::string& text) { result_.notes.push_back(text); }

  std::vector<SeedPair> seeds_of(const Group& other) {
    const Group& baseline = groups_[result_.baseline];
    std::vector<SeedPair> pairs;
    std::string alone;
    std::size_t count = 0;
    const auto leave_out = [&](std::uint64_t seed) {
      if (++count <= 10) alone += fmt::format("{}{}", alone.empty() ? "" : ", ", seed);
    };
    for (const auto& [seed, run] : baseline.runs) {
      const auto at = other.runs.find(seed);
      if (at == other.runs.end()) {
        leave_out(seed);
      } else {
        pairs.push_back({seed, {run, at->second}});
      }
    }
    for (const auto& [seed, run] : other.runs) {
      if (!baseline.runs.contains(seed)) leave_out(seed);
    }
    if (count > 0) {
      note(fmt::format("Of {} and {} only one has the seed{} {}{}: left out.", other.policy,
                       baseline.policy, count == 1 ? "" : "s", alone,
                       count > 10 ? fmt::format(" and {} more", count - 10) : ""));
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
    const Group& other = groups_[group];
    std::vector<SeedPair> pairs = seeds_of(other);
    const auto stopped = std::erase_if(pairs, [](const SeedPair& pair) {
      return pair.of[0]->summary.stopped || pair.of[1]->summary.stopped;
    });
    if (stopped > 0) {
      note(fmt::format(
          "{} against {}: {} stopped before the end, and left out.", other.policy,
          groups_[result_.baseline].policy,
          stopped == 1 ? "one pair of runs was" : fmt::format("{} pairs of runs were", stopped)));
      if (pairs.empty()) return;
    }
    if (pairs.empty()) {
      note(fmt::format("{} and {} have no seed in common.", other.policy,
                       groups_[result_.baseline].policy));
      return;
    }
    if (pairs.size() > 1 && are_alike(pairs)) {
      note(fmt::format("All {} seeds of {} gave the same: they count as one.", pairs.size(),
                       other.policy));
      pairs.resize(1);
    }
    const bool is_one_log = pairs.size() == 1;
    const bool has_files = std::ranges::all_of(
        pairs, [](const SeedPair& pair) { return has_jobs(*pair.of[0]) && has_jobs(*pair.of[1]); });
    std::map<std::string_view, Sides> of_jobs;
    if (has_files && (is_one_log || by_parts_)) {
      add_jobs(group, pairs, of_jobs);
    } else if (!has_files) {
      note(
          fmt::format("Not all runs of {} and the baseline have a jobs.csv: jobs are not compared.",
                      other.policy));
    }
    if (!is_one_log) most_seeds_ = std::max(most_seeds_, pairs.size());

    for (const Column& column : columns_) {
      if (column.better == Better::neither) continue;
      Sides sides;
      for (const SeedPair& pair : pairs) {
        const double values[2]{value(column, *pair.of[0]), value(column, *pair.of[1])};
        if (std::isfinite(values[0]) && std::isfinite(values[1])) sides.add(values);
      }
      if (sides.of[0].empty()) continue;
      Difference& row = result_.rows.emplace_back();
      row.group = group;
      row.column = column;
      row.pairs = compare_pairs(sides.of[0], sides.of[1]);
      const auto jobs = of_jobs.find(column.key);
      if (!is_one_log || jobs == of_jobs.end()) continue;
      row.pairs = compare_series(jobs->second.of[0], jobs->second.of[1]);
      most_jobs_ = std::max(most_jobs_, row.pairs.pairs);
      if (row.pairs.block == 0) continue;
      shortest_ = std::min(shortest_, row.pairs.block);
      longest_ = std::max(longest_, row.pairs.block);
      replicates_ = row.pairs.replicates;
    }
  }

  std::vector<JobsCsvRow> jobs_of(const RunPage& run) {
    return measured_jobs(*files_.of(run.path / "jobs.csv"), run.summary);
  }

  void add_jobs(std::size_t group, const std::vector<SeedPair>& pairs,
                std::map<std::string_view, Sides>& of_jobs) {
    const bool is_one_log = pairs.size() == 1;
    PartsOfJobs<std::pair<std::size_t, std::size_t>> classes;
    PartsOfJobs<std::int64_t> users;
    std::uint64_t left_out = 0;
    for (const SeedPair& seed : pairs) {
      const std::vector<JobsCsvRow> baseline = jobs_of(*seed.of[0]), others = jobs_of(*seed.of[1]);
      JobClasses& its_classes = result_.job_classes;
      if (its_classes.sizes.names.empty()) {
        its_classes = classes_of(baseline, seed.of[0]->summary.nodes);
      }
      const JobPairs jobs = pair_jobs(baseline, others, its_classes);
      if (jobs.others > jobs.pairs.size() / 100) {
        note(fmt::format("{} had other jobs than {}: they are not compared one by one.",
                         groups_[group].policy, groups_[result_.baseline].policy));
        return;
      }
      left_out += jobs.left_out;
      if (is_one_log && !jobs.pairs.empty()) {
        for (const JobPair& pair : jobs.pairs) {
          of_jobs["mean_wait_s"].add(pair.wait);
          of_jobs["mean_turnaround_s"].add(pair.turnaround);
          of_jobs["mean_bounded_slowdown"].add(pair.slowdown);
        }
      }
      if (!by_parts_) continue;
      add_parts(classes, jobs, is_one_log,
                [](const JobPair& pair) { return std::pair(pair.size_class, pair.runtime_class); });
      add_parts(users, jobs, is_one_log, [](const JobPair& pair) { return pair.user; });
    }
    if (left_out > 0) {
      note(fmt::format("{} job{} ran under only one of {} and {}: no pair{} of {}.", left_out,
                       left_out == 1 ? "" : "s", groups_[group].policy,
                       groups_[result_.baseline].policy, left_out == 1 ? "" : "s",
                       left_out == 1 ? "it" : "them"));
    }
    const JobClasses& names = result_.job_classes;
    add_effects(result_.classes, group, classes, is_one_log, [&](const auto& key) {
      const std::string& size = names.sizes.names[key.first];
      return PartEffect{.part = fmt::format("{} node{}, {}", size, size == "1" ? "" : "s",
                                            names.runtimes.names[key.second]),
                        .size_class = key.first,
                        .runtime_class = key.second};
    });
    const std::size_t first = result_.users.size();
    add_effects(result_.users, group, users, is_one_log,
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
      text += fmt::format("{}One seed: jobs paired by number (up to {})", text.empty() ? "" : " ",
                          most_jobs_);
      text += longest_ == 0
                  ? ", too few for intervals."
                  : fmt::format(
                        "; 95 % intervals by a studentized bootstrap of blocks of {} jobs, "
                        "{} draws. Other figures have none.",
                        shortest_ == longest_ ? fmt::format("{}", longest_)
                                              : fmt::format("{} to {}", shortest_, longest_),
                        replicates_);
    }
    if (text.empty()) text = "One run each: nothing says how much of a difference is chance.";
    if (result_.made > 1) {
      text += fmt::format(" p is corrected for {} comparisons (Holm).", result_.made);
    }
  }

  bool by_parts_;
  JobsFiles files_;
  std::vector<Column> columns_{};
  std::vector<Group> groups_{};
  Comparison result_{};
  // For the sentence about the method.
  std::size_t most_seeds_ = 0, most_jobs_ = 0, replicates_ = 0, longest_ = 0;
  std::size_t shortest_ = std::numeric_limits<std::size_t>::max();
};

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

std::string_view effect_word(const PairedComparison& its) {
  if (its.difference_95.high < 0) return "gains";
  if (its.difference_95.low > 0) return "loses";
  return "open";
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
                                                 : "open";
}

Comparison compare(std::span<const RunPage> runs, std::size_t baseline, bool by_parts,
                   JobsFiles files) {
  return Comparer(runs, baseline, by_parts, std::move(files)).compare();
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
    text += "\nBy size asked for and run time with the baseline:\n" + aligned_text(rows, 2);
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
      more += fmt::format("{}: {} users gain, {} lose ({} and {} clearly); {} not shown.\n",
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
