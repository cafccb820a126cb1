#include "workload/adaptive.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <ostream>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/fairness.hpp"
#include "workload/compressed_file.hpp"
#include "workload/line_reader.hpp"

namespace ductile {
namespace {

constexpr std::string_view kFirstLine = "ductile-adaptive 1";
constexpr std::size_t kLongestLine = 256 << 10;
constexpr std::size_t kAdaptiveEnough = 64 << 10;  // bytes to write at once
constexpr const char* kAdaptiveAdvice = "a job is one line, see docs/formats/adaptive.md";
constexpr std::int32_t kMostDelta = 0x7fffffff;
constexpr std::string_view kAgain = "again", kSaves = "saves=";
constexpr std::array<std::string_view, 2> kNoYes{"no", "yes"};
constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

// ---- Reading ------------------------------------------------------------------------------------

// One line: what is wrong with it is said with its place.
class Line {
 public:
  Line(const std::string& file, std::uint64_t number, std::string_view text)
      : file_(file), number_(number), rest_(text) {}

  Place place(std::string_view field = {}) const { return {file_, number_, std::string(field)}; }
  [[noreturn]] void fail(std::string_view field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError(place(field), what, remedy);
  }

  // The next word; empty at the end.
  std::string_view word() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    std::size_t length = 0;
    while (length < rest_.size() && !is_blank(rest_[length])) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  template <class Number>
  Number number(std::string_view field, std::string_view text, Number min, Number max) const {
    const auto value = parse_number<Number>(text);
    if (!value || !(min <= *value && *value <= max)) {
      fail(field,
           fmt::format("'{}' is no {}number from {} to {}", text,
                       std::is_integral_v<Number> ? "whole " : "", min, max),
           "correct it");
    }
    return *value;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  const std::string& file_;
  std::uint64_t number_;
  std::string_view rest_;
};

// "2..16"
SizeRange size_range(const Line& line, std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    line.fail("size", fmt::format("'{}' is no range", text), "write SMALLEST..LARGEST");
  }
  constexpr Nodes kMost = Nodes{1} << 31;
  return {line.number<Nodes>("size", text.substr(0, dots), 1, kMost),
          line.number<Nodes>("size", text.substr(dots + 2), 1, kMost)};
}

// "0.01:0.02:0.03:0:1"; with the time to send the data, "0.01:0.02:0.03:0:1:0.8"
ReconfigurationCost cost_of(const Line& line, std::string_view field, std::string_view text) {
  constexpr double kMost = 1e6;
  constexpr const char* kRemedy = "write ALPHA:BETA:B:FIXED:SCALE or ...:SCALE:TRANSFER";
  ReconfigurationCost cost;
  for (double* value : {&cost.alpha_s, &cost.beta_s, &cost.b_s, &cost.fixed_s, &cost.scale}) {
    if (text.empty()) line.fail(field, "has fewer than 5 numbers", kRemedy);
    *value = line.number<double>(field, next_part(text, ':'), 0, kMost);
  }
  if (!text.empty()) cost.transfer_s = line.number<double>(field, next_part(text, ':'), 0, kMost);
  if (!text.empty()) line.fail(field, "has more than 6 numbers", kRemedy);
  return cost;
}

// "0.25:+4", "0.25:-2:1" or "0.25:+4:1:again:saves=0.1"
EvolvingStep step_of(const Line& line, std::string_view text) {
  EvolvingStep step;
  step.progress = line.number<double>("request", next_part(text, ':'), 0, 1);
  std::string_view delta = next_part(text, ':');
  if (delta.starts_with('+')) delta.remove_prefix(1);
  step.delta = line.number<std::int32_t>("request", delta, -kMostDelta, kMostDelta);
  if (step.delta == 0) line.fail("request", "is for no change", "write +N or -N nodes");
  std::string_view part = next_part(text, ':');
  if (!part.empty() && part != kAgain && !part.starts_with(kSaves)) {
    step.at_least = line.number<Nodes>("request", part, 0, kMostDelta);
    part = next_part(text, ':');
  }
  if (part == kAgain) {
    step.if_denied = true;
    part = next_part(text, ':');
  }
  if (part.starts_with(kSaves)) {
    part.remove_prefix(kSaves.size());
    step.saves = line.number<double>("request", part, -step.progress, 1);
    part = next_part(text, ':');
  }
  if (!part.empty() || !text.empty()) {
    line.fail("request", fmt::format("'{}' is not understood", part),
              "after DONE:+N come a number, again, saves=SHARE, in this order");
  }
  return step;
}

// "0.5:10:yes:amdahl:0.1"; the model may be left away.
Phase phase_of(const Line& line, std::string_view text) {
  Phase phase;
  phase.until = line.number<double>("phase", next_part(text, ':'), 0, 1);
  phase.iterations = line.number<std::uint32_t>("phase", next_part(text, ':'), 1, 0x7fffffff);
  const auto points = from_word<std::size_t>(kNoYes, next_part(text, ':'));
  if (!points) line.fail("phase", "does not say if it has scheduling points", "write yes or no");
  phase.scheduling_points = *points != 0;
  if (!text.empty()) phase.speedup = parse_speedup(text, line.place("phase"));
  return phase;
}

// Where it may run; what of it is wrong whatever the platform is said here. False: it is another
// key.
bool read_where(const Line& line, std::string_view key, std::string_view word, AskedWhere& asked) {
  const auto text = [&](std::string& field) {
    if (word.empty()) line.fail(key, "is empty", "leave it away");
    field = word;
  };
  if (key == "partition") {
    text(asked.partitions);
  } else if (key == "memory" || key == "memory_per_core") {
    std::uint64_t bytes = 0;
    try {
      bytes = parse_memory(word);
    } catch (const InputError&) {
    }
    if (bytes == 0) {
      line.fail(key, fmt::format("'{}' is no memory", word), "write megabytes, or as in 4G");
    }
    (key == "memory" ? asked.memory_mb : asked.memory_per_core_mb) =
        (bytes + kMegabyte - 1) / kMegabyte;
  } else if (key == "features") {
    text(asked.features);
  } else if (key == "qos") {
    text(asked.qos);
  } else if (key == "cores") {
    asked.cores = line.number<std::uint32_t>(key, word, 1, 1u << 16);
  } else if (key == "gres") {
    text(asked.things);
    parse_things(word, line.place(key));
  } else if (key == "nodelist" || key == "exclude") {
    std::string& nodes = key == "nodelist" ? asked.only : asked.never;
    text(nodes);
    parse_named_nodes(word, line.place(key));
  } else {
    return false;
  }
  return true;
}

// What a line says besides.
struct Besides {
  AskedWhere asked{};
  Bound bound = Bound::mixed;
  std::vector<Dependency> dependencies{};
};

// What comes after "job NAME": "key=value" in any order, each once but for requests and
// phases.
AdaptiveJob adaptive_of(Line& line, Accounts& accounts, Besides& besides, bool may_ask) {
  constexpr double kLongest_s = 1e9;
  constexpr std::int32_t kMostPriority = 1'000'000'000;
  AdaptiveJob more;
  std::optional<JobType> type;
  std::optional<Speedup> believed_model;
  std::optional<ReconfigurationCost> believed_cost;
  std::vector<std::string_view> seen;
  for (std::string_view word = line.word(); !word.empty(); word = line.word()) {
    const std::string_view key = next_part(word, '=');
    if (key != "request" && key != "phase") {
      if (std::ranges::count(seen, key) > 0) line.fail(key, "is given twice", "give it once");
      seen.push_back(key);
    }
    if (key == "type") {
      type = from_word<JobType>(kJobTypeWords, word);
      if (!type)
        line.fail(key, fmt::format("there is no '{}'", word), "use " + listed(kJobTypeWords));
    } else if (key == "size") {
      more.size = size_range(line, word);
    } else if (key == "priority") {
      more.priority = line.number<std::int32_t>(key, word, -kMostPriority, kMostPriority);
    } else if (key == "account") {
      more.account = accounts.number(account_name(word, line.place(key)));
    } else if (key == "barrier") {
      const auto yes = from_word<std::size_t>(kNoYes, word);
      if (!yes)
        line.fail(key, fmt::format("'{}' is neither yes nor no", word), "write one of them");
      more.barrier = *yes != 0;
    } else if (key == "bound") {
      const auto its = from_word<Bound>(kBoundWords, word);
      if (!its) line.fail(key, fmt::format("there is no '{}'", word), "use " + listed(kBoundWords));
      besides.bound = *its;
    } else if (key == "dependency") {
      besides.dependencies = parse_dependencies(word, line.place(key));
    } else if (key == "model") {
      more.speedup = parse_speedup(word, line.place(key));
    } else if (key == "believed_model") {
      believed_model = parse_speedup(word, line.place(key));
    } else if (key == "constraint") {
      more.believed.constraint = parse_constraint(word, line.place(key));
    } else if (key == "cost") {
      more.cost = cost_of(line, key, word);
    } else if (key == "believed_cost") {
      believed_cost = cost_of(line, key, word);
    } else if (key == "walltime") {
      const auto holds_for = from_word<WalltimeFor>(kWalltimeForWords, word);
      if (!holds_for) {
        line.fail(key, fmt::format("there is no '{}'", word), "use " + listed(kWalltimeForWords));
      }
      more.believed.walltime_for = *holds_for;
    } else if (key == "delay") {
      more.believed.resize_delay = seconds(line.number<double>(key, word, 0, kLongest_s));
    } else if (key == "watts") {
      read_watts(word, line.place(key), more);
    } else if (key == "request") {
      const EvolvingStep step = step_of(line, word);
      if (!more.steps.empty() && more.steps.back().progress > step.progress) {
        line.fail(key, "comes before the last one", "write requests in order of progress");
      }
      more.steps.push_back(step);
    } else if (key == "phase") {
      const Phase phase = phase_of(line, word);
      if (!more.phases.empty() && more.phases.back().until > phase.until) {
        line.fail(key, "ends before the last one", "write phases in their order");
      }
      more.phases.push_back(phase);
    } else if (read_where(line, key, word, besides.asked)) {
      if (!may_ask) {
        line.fail(key, "says where the job may run on a platform", "give --platform FILE");
      }
    } else {
      line.fail({}, fmt::format("there is no '{}'", key),
                "there are type, size, priority, account, barrier, bound, dependency, model, "
                "believed_model, constraint, cost, believed_cost, walltime, delay, watts, request, "
                "phase, partition, memory, memory_per_core, cores, gres, features, "
                "nodelist, exclude, qos");
    }
  }
  if (!type) line.fail("type", "is missing", "write type=malleable, or another one");
  if (more.size.min == 0) line.fail("size", "is missing", "write size=SMALLEST..LARGEST");
  more.type = *type;
  more.believed.speedup = believed_model.value_or(more.speedup);
  more.believed.cost = believed_cost.value_or(more.cost);
  return more;
}

// The jobs of a workload by their names.
class Names {
 public:
  static constexpr std::uint32_t kTwice = ~0u;

  explicit Names(const Workload& workload) {
    places_.reserve(workload.jobs.size());
    for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
      const auto [at, added] = places_.try_emplace(workload.jobs[i].name, i);
      if (!added) at->second = kTwice;
    }
  }
  std::optional<std::uint32_t> find(std::uint64_t name) const {
    const auto at = places_.find(name);
    return at == places_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> places_;
};

// Calls `take(line, cores per node, number, job, besides)` for each job of the file.
template <class Take>
void for_each_job(CompressedFile file, const std::string& name, bool may_ask, Accounts& accounts,
                  const Take& take) {
  LineReader lines(file, name, kAdaptiveAdvice, nullptr, kLongestLine);
  std::uint32_t cores_per_node = 1;
  bool begun = false;
  std::string_view text;
  while (lines.next(text)) {
    Line line(name, lines.number(), text);
    const std::string_view head = line.word();
    if (!begun) {
      begun = text == kFirstLine || text == std::string(kFirstLine) + "\r";
      if (!begun) {
        line.fail({}, "this is no file of adaptive jobs, or of another version",
                  fmt::format("the first line is '{}'", kFirstLine));
      }
      continue;
    }
    if (head.empty() || head.front() == '#') continue;
    if (head == "cores_per_node") {
      cores_per_node = line.number<std::uint32_t>(head, line.word(), 1, 1u << 16);
      if (!line.word().empty()) line.fail(head, "is followed by something", "write one number");
    } else if (head == "job") {
      const auto job = line.number<std::uint64_t>("job", line.word(), 0, 999'999'999'999'999'999);
      Besides besides;
      AdaptiveJob more = adaptive_of(line, accounts, besides, may_ask);
      take(line, cores_per_node, job, std::move(more), std::move(besides));
    } else {
      line.fail({}, fmt::format("'{}' is not understood", head), "lines begin with job or #");
    }
  }
  if (!begun) {
    throw InputError({.file = name}, "is empty", fmt::format("the first line is '{}'", kFirstLine));
  }
}

// The place of a demand among others, each of which is there once.
class Demands {
 public:
  explicit Demands(std::vector<AskedWhere>& all) : all_(all) {}

  std::size_t place(AskedWhere asked) {
    const auto key =
        std::tie(asked.partitions, asked.memory_mb, asked.cores, asked.things, asked.only,
                 asked.never, asked.features, asked.memory_per_core_mb, asked.qos);
    const auto [at, is_new] = places_.try_emplace(Key(key), all_.size());
    if (is_new) all_.push_back(std::move(asked));
    return at->second;
  }

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint32_t, std::string, std::string,
                         std::string, std::string, std::uint64_t, std::string>;
  std::vector<AskedWhere>& all_;
  std::map<Key, std::size_t> places_;
};

std::uint64_t read(CompressedFile file, const std::string& name, Workload& workload,
                   const AdaptiveRules& rules) {
  const Names names(workload);
  std::vector<AdaptiveJob> adaptive;
  std::vector<AskedWhere> asked;
  Demands demands(asked);
  Accounts accounts{Fairness{}};
  std::vector<std::uint32_t> rows(workload.jobs.size(), WorkloadJob::kRigid);
  std::vector<Bound> bounds(workload.jobs.size(), Bound::mixed);
  std::vector<Precedence> precedences;
  std::uint64_t unknown = 0, lost = 0;
  for_each_job(
      std::move(file), name, rules.may_ask, accounts,
      [&](const Line& line, std::uint32_t cores_of_file, std::uint64_t job_name, AdaptiveJob more,
          Besides besides) {
        if (cores_of_file != rules.cores_per_node) {
          line.fail("cores_per_node",
                    fmt::format("sizes are in nodes of {}, those of the log in nodes of {}",
                                cores_of_file, rules.cores_per_node),
                    fmt::format("give --cores-per-node {}", cores_of_file));
        }
        const auto place = names.find(job_name);
        if (!place) {
          ++unknown;
          return;
        }
        if (*place == Names::kTwice) {
          line.fail("job", fmt::format("the log has {} more than once", job_name),
                    "number the jobs of the log");
        }
        const WorkloadJob& job = workload.jobs[*place];
        if (rows[*place] != WorkloadJob::kRigid) {
          line.fail("job", fmt::format("a second line of {}", job_name), "say it in one line");
        }
        if (!more.size.contains(job.nodes)) {
          line.fail("size", fmt::format("the job asks for {} nodes, which is outside", job.nodes),
                    "is this the file of this log, read with the same --cores-per-node and without "
                    "--clip?");
        }
        if (besides.asked != AskedWhere{}) {
          more.asked = static_cast<std::uint32_t>(demands.place(std::move(besides.asked)) + 1);
        }
        for (const Dependency& each : besides.dependencies) {
          const auto on = names.find(each.job);
          if (on == Names::kTwice) {
            line.fail("dependency", fmt::format("the log has {} more than once", each.job),
                      "number the jobs of the log");
          }
          if (!on) {
            ++lost;
            continue;
          }
          precedences.push_back({.job = *place,
                                 .on = *on,
                                 .kind = each.kind,
                                 .from = Precedence::From::beside,
                                 .line = line.place().line});
        }
        bounds[*place] = besides.bound;
        rows[*place] = static_cast<std::uint32_t>(adaptive.size());
        adaptive.push_back(std::move(more));
      });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    workload.jobs[i].adaptive = rows[i];
    workload.jobs[i].bound = bounds[i];
  }
  workload.adaptive = std::move(adaptive);
  workload.asked = std::move(asked);
  workload.accounts = accounts.names();
  workload.precedences.insert(workload.precedences.end(), precedences.begin(), precedences.end());
  std::ranges::stable_sort(workload.precedences, {}, &Precedence::job);
  workload.precedences_lost += lost;
  return unknown;
}

// Are there nodes for it, in whatever partition if the line names none?
void check_asked(const Line& line, const AdaptiveJob& more, AskedWhere asked,
                 const Platform& platform) {
  if (asked.partitions.empty()) asked.partitions = partition_names(~std::uint64_t{0}, platform);
  const Place at = line.place();
  const AskedAs as{.file = at.file,
                   .line = at.line,
                   .partitions = "partition",
                   .memory = "memory",
                   .cores = "cores",
                   .things = "gres",
                   .only = "nodelist",
                   .never = "exclude",
                   .features = "features",
                   .memory_per_core = "memory_per_core",
                   .qos = "qos",
                   .nodes = "size"};
  const Nodes most = nodes_of(where_of(asked, {}, platform, as), platform).count();
  if (more.size.min <= most) return;
  line.fail("size",
            fmt::format("the job needs {} nodes, and {} {} what it asks for", more.size.min, most,
                        most == 1 ? "has" : "have"),
            "let it ask for less, or for more partitions");
}

AskedByJobs read_asked(CompressedFile file, const std::string& name, const Platform& platform) {
  AskedByJobs all;
  Demands demands(all.asked);
  Accounts accounts{Fairness{}};
  for_each_job(std::move(file), name, true, accounts,
               [&](const Line& line, std::uint32_t, std::uint64_t job, const AdaptiveJob& more,
                   Besides besides) {
                 if (besides.asked == AskedWhere{}) return;
                 check_asked(line, more, besides.asked, platform);
                 all.of.emplace(job, demands.place(std::move(besides.asked)));
               });
  return all;
}

// ---- Writing ------------------------------------------------------------------------------------

void append_watts(std::string& text, const AdaptiveJob& more) {
  const AdaptiveSpec& its = more.believed;
  if (its.watts_per_node == 0) return;
  text += " watts=";
  if (its.least_watts_per_node > 0 || more.watts > 0) {
    const double least = its.least_watts_per_node;
    append_number(text, least > 0 ? least : its.watts_per_node);
    text += "..";
  }
  append_number(text, its.watts_per_node);
  if (more.watts > 0) append_number(text += ":", more.watts);
}

void append_cost(std::string& text, const ReconfigurationCost& cost) {
  const char* separator = "";
  for (const double value : {cost.alpha_s, cost.beta_s, cost.b_s, cost.fixed_s, cost.scale}) {
    text += separator;
    append_number(text, value);
    separator = ":";
  }
  if (cost.transfer_s != 0) append_number(text += ":", cost.transfer_s);
}

void append_step(std::string& text, const EvolvingStep& step) {
  append_number(text, step.progress);
  text += step.delta > 0 ? ":+" : ":";
  append_number(text, step.delta);
  if (step.at_least != 0) append_number(text += ':', step.at_least);
  if (step.if_denied) text.append(":").append(kAgain);
  if (step.saves != 0) append_number(text.append(":").append(kSaves), step.saves);
}

void append_phase(std::string& text, const Phase& phase) {
  append_number(text, phase.until);
  fmt::format_to(std::back_inserter(text), ":{}:{}", phase.iterations,
                 kNoYes[phase.scheduling_points ? 1 : 0]);
  if (phase.speedup != Speedup{}) text += ":" + to_text(phase.speedup);
}

void append_where(std::string& text, const AskedWhere& asked) {
  if (!asked.partitions.empty()) text += " partition=" + asked.partitions;
  if (asked.memory_per_core_mb != 0) {
    text += " memory_per_core=" + memory_text(asked.memory_per_core_mb * kMegabyte);
  }
  if (!asked.features.empty()) text += " features=" + asked.features;
  if (!asked.qos.empty()) text += " qos=" + asked.qos;
  if (asked.memory_mb != 0) text += " memory=" + memory_text(asked.memory_mb * kMegabyte);
  if (asked.cores != 0) append_number(text += " cores=", asked.cores);
  if (!asked.things.empty()) text += " gres=" + asked.things;
  if (!asked.only.empty()) text += " nodelist=" + asked.only;
  if (!asked.never.empty()) text += " exclude=" + asked.never;
}

void append_job(std::string& text, const AdaptiveJob& more, Bound bound, const Workload& workload) {
  const AdaptiveSpec& believed = more.believed;
  fmt::format_to(std::back_inserter(text), " type={} size={}..{}", word(more.type), more.size.min,
                 more.size.max);
  if (more.priority != 0) append_number(text += " priority=", more.priority);
  if (more.account != 0) text += " account=" + workload.accounts.at(more.account - 1);
  if (more.barrier) text += " barrier=yes";
  if (bound != Bound::mixed) {
    text.append(" bound=").append(kBoundWords[static_cast<std::size_t>(bound)]);
  }
  if (more.speedup != Speedup{}) text += " model=" + to_text(more.speedup);
  if (believed.speedup != more.speedup) text += " believed_model=" + to_text(believed.speedup);
  if (believed.constraint != SizeConstraint{}) {
    text += " constraint=" + to_text(believed.constraint);
  }
  if (more.cost != ReconfigurationCost{}) append_cost(text += " cost=", more.cost);
  if (believed.cost != more.cost) append_cost(text += " believed_cost=", believed.cost);
  if (believed.walltime_for != WalltimeFor{}) {
    text.append(" walltime=")
        .append(kWalltimeForWords[static_cast<std::size_t>(believed.walltime_for)]);
  }
  if (believed.resize_delay != Duration{}) append_seconds(text += " delay=", believed.resize_delay);
  append_watts(text, more);
  for (const EvolvingStep& step : more.steps) append_step(text += " request=", step);
  for (const Phase& phase : more.phases) append_phase(text += " phase=", phase);
  if (more.asked != 0) append_where(text, workload.asked.at(more.asked - 1));
}

// What the line of the job at this place says; `row` goes on to those of the next one.
std::vector<Dependency> dependencies_of(const Workload& workload, std::uint32_t job,
                                        std::vector<Precedence>::const_iterator& row) {
  std::vector<Dependency> all;
  for (; row != workload.precedences.end() && row->job == job; ++row) {
    if (row->from != Precedence::From::beside) continue;
    all.push_back({row->kind, workload.jobs[row->on].name});
  }
  return all;
}

}  // namespace

void read_watts(std::string_view text, const Place& place, AdaptiveJob& job) {
  constexpr double kMost = 1e6;
  constexpr const char* kRemedy = "write watts up to 1e6, or LEAST..MOST:DRAWN from above 0 on";
  const auto watts = [&](std::string_view word) {
    const auto value = parse_number<double>(word);
    if (value && *value >= 0 && *value <= kMost) return *value;
    throw InputError(place, fmt::format("'{}' is no number of watts", word), kRemedy);
  };
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    job.believed.watts_per_node = watts(text);
    return;
  }
  std::string_view rest = text.substr(dots + 2);
  const bool is_drawn = rest.find(':') != std::string_view::npos;
  const double least = watts(text.substr(0, dots)), most = watts(next_part(rest, ':'));
  const double drawn = is_drawn ? watts(rest) : most;
  if (!(least > 0 && least <= drawn && drawn <= most)) {
    throw InputError(place, fmt::format("'{}' is no range with what is drawn in it", text),
                     kRemedy);
  }
  job.believed.watts_per_node = most;
  if (least < most) job.believed.least_watts_per_node = least;
  if (drawn < most) job.watts = drawn;
}

std::uint64_t read_adaptive(const std::string& path, Workload& workload,
                            const AdaptiveRules& rules) {
  return read(CompressedFile::open(path), path, workload, rules);
}

std::uint64_t parse_adaptive(std::string_view bytes, const std::string& name, Workload& workload,
                             const AdaptiveRules& rules) {
  return read(CompressedFile::in_memory(bytes, name), name, workload, rules);
}

AskedByJobs read_asked(const std::string& path, const Platform& platform) {
  return read_asked(CompressedFile::open(path), path, platform);
}

AskedByJobs parse_asked(std::string_view bytes, const std::string& name, const Platform& platform) {
  return read_asked(CompressedFile::in_memory(bytes, name), name, platform);
}

void write_adaptive(std::ostream& out, const Workload& workload, std::uint32_t cores_per_node) {
  std::string text(kFirstLine);
  fmt::format_to(std::back_inserter(text), "\ncores_per_node {}\n", cores_per_node);
  const Names names(workload);
  const auto flush = [&] {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  };
  auto row = workload.precedences.begin();
  for (std::uint32_t i = 0; i < workload.jobs.size(); ++i) {
    const WorkloadJob& job = workload.jobs[i];
    const std::vector<Dependency> dependencies = dependencies_of(workload, i, row);
    const bool is_rigid = job.adaptive == WorkloadJob::kRigid;
    if (is_rigid && job.bound == Bound::mixed && dependencies.empty()) continue;
    if (names.find(job.name) == Names::kTwice) {
      throw InputError(fmt::format("job {} is there more than once", job.name),
                       "number the jobs of the log: what adapts is told by its number");
    }
    const std::size_t begin = text.size();
    fmt::format_to(std::back_inserter(text), "job {}", job.name);
    const AdaptiveJob rigid{.type = JobType::rigid, .size = exactly(job.nodes)};
    append_job(text, is_rigid ? rigid : workload.adaptive[job.adaptive], job.bound, workload);
    if (!dependencies.empty()) text += " dependency=" + to_text(dependencies);
    if (text.size() - begin > kLongestLine) {
      throw InputError(fmt::format("job {} has more to say than a line can hold", job.name),
                       "give it fewer requests or phases, or a shorter table");
    }
    text += '\n';
    if (text.size() >= kAdaptiveEnough) flush();
  }
  flush();
}

std::string say_in_words(AdaptiveJob& job) {
  for (const EvolvingStep& step : job.steps) {
    if (!step.wanted.rows().empty() || step.iterations > 0) {
      return "evolving requests that depend on iterations and on the size at that time";
    }
  }
  for (const double growth_s : job.costs.growth_s.rows()) {
    if (growth_s != 0) return "a cost of new nodes that was measured (on_expansion)";
  }
  const std::span<const double> after = job.costs.after_s.rows();
  for (const double after_s : after) {
    if (after_s != after.front()) {
      return "a cost of resizes that depends on the new size (on_reconfiguration)";
    }
  }
  if (!after.empty()) job.cost.fixed_s += after.front();
  job.costs = {};
  for (Phase& phase : job.phases) {
    phase.speedup = phase.model(job.size.min);
    phase.times_s = {};
  }
  return "";
}

std::string adaptive_path(const std::string& log) {
  std::string_view stem = log;
  for (const std::string_view ending : {".gz", ".xz", ".zst", ".swf"}) {
    if (stem.ends_with(ending)) stem.remove_suffix(ending.size());
  }
  return std::string(stem) + ".adaptive";
}

std::optional<std::string> adaptive_beside(const std::string& log) {
  const std::string plain = adaptive_path(log);
  for (const char* ending : {"", ".gz", ".xz", ".zst"}) {
    std::error_code error;
    if (std::string path = plain + ending; std::filesystem::is_regular_file(path, error)) {
      return path;
    }
  }
  return std::nullopt;
}

}  // namespace ductile
