#include "slurm/submitted.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr std::string_view kBegin = "ductile:1 ";
constexpr std::string_view kHold = " hold=user";
constexpr std::string_view kEnd = " ; ";  // of it, in a comment that has more
/// Of a job that has no limit.
constexpr Duration kVeryLong = whole_seconds(366LL * 24 * 3600);
/// What stands for the script, which Slurm has.
constexpr const char* kSlurmHasIt = "# Slurm has the script of this job\n";

using Words = std::map<std::string, std::string, std::less<>>;

/// Is what it asks for all in the comment? Then its sizes are what it was started with, if it was.
bool says_more(const SlurmJob& job) { return !line_of(job).empty(); }

InputError bad_word(std::string_view name, std::string_view what) {
  return {{.field = std::string(name)},
          fmt::format("'{}' cannot be read in the job's comment", printable(what)),
          "see docs/formats/slurm-comment.md"};
}

/// "ductile:1 type=malleable nodes=4". Nothing: there are none.
Words words_of(std::string_view text) {
  Words words;
  if (!text.starts_with(kBegin)) return words;
  text.remove_prefix(kBegin.size());
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t is = word.find('=');
    if (is == std::string_view::npos) throw bad_word(word, word);
    words.emplace(word.substr(0, is), word.substr(is + 1));
  }
  return words;
}

std::vector<std::string> parts_of(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (!text.empty()) parts.emplace_back(next_part(text, between));
  return parts;
}

/// Those nodes that have all of these, or all of others: "a&b|c".
NodeSet with_features(const std::string& features, const SlurmMachine& machine) {
  NodeSet nodes;
  for (const std::string& one : parts_of(features, '|')) {
    const std::vector<std::string> wanted = parts_of(one, '&');
    for (const auto& [name, node] : machine.machine) {
      const std::vector<std::string> has = parts_of(node.features, ',');
      const bool has_all = std::ranges::all_of(wanted, [&](const std::string& each) {
        return std::ranges::find(has, each) != has.end();
      });
      const auto number = machine.names.find(name);
      if (has_all && number) nodes.insert(*number, *number);
    }
  }
  return nodes;
}

std::uint32_t least_cpus(const SlurmMachine& machine) {
  std::uint32_t least = 0;
  for (const auto& [name, node] : machine.machine) {
    if (least == 0 || node.cpus < least) least = node.cpus;
  }
  return std::max(least, 1U);
}

/// The nodes on which alone it may run.
void set_place(Submission& s, const SlurmJob& job, const SlurmMachine& machine) {
  NodeSet only, never = machine.names.nodes(job.excluded);
  if (!job.features.empty()) {
    if (job.features.find_first_of("[]*()") != std::string::npos) {
      s.unkept = "of --constraint only features with & and | between them can be kept";
    } else {
      only = with_features(job.features, machine);
      if (only.empty()) s.unkept = "no node has the features that it asks for";
    }
  }
  // Where more is said no list of nodes is taken; these are then where it was started before.
  if (!says_more(job) && !job.required.empty() && s.unkept.empty()) {
    const NodeSet required = machine.names.nodes(job.required);
    if (required.count() < std::max(s.nodes, s.max)) {
      s.unkept = "of --nodelist only a list of all the nodes can be kept";
    }
    only = only.empty() ? required : intersection(only, required);
  }
  s.only = to_string(only);
  s.never = to_string(never);
}

/// As Slurm was asked, for those that came before there was a script that says more.
void set_sizes_of_slurm(Submission& s, const SlurmJob& job, const SlurmMachine& machine) {
  const std::uint64_t tasks = job.processes;
  const std::uint64_t cpus =
      std::max<std::uint64_t>(job.cpus, tasks * std::max(job.cpus_per_task, 1U));
  const std::uint32_t each = least_cpus(machine);
  constexpr std::uint64_t kMost = 1U << 24U;
  s.nodes = std::max(job.least, static_cast<Nodes>(std::min((cpus + each - 1) / each, kMost)));
  if (job.most > s.nodes) {
    s.type = JobType::moldable;
    s.min = s.nodes;
    s.max = job.most;
  }
}

void set_sizes(Submission& s, const Words& words) {
  const auto word_of = [&](std::string_view name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string() : found->second;
  };
  const auto nodes_of = [&](std::string_view name) -> Nodes {
    const std::string word = word_of(name);
    return word.empty() ? 0 : parse_nodes(word).first;
  };
  const std::string type = word_of("type");
  const auto known = from_word<JobType>(kJobTypeWords, type);
  if (!known) throw bad_word("type", type);
  s.type = *known;
  s.nodes = std::max<Nodes>(nodes_of("nodes"), 1);
  s.min = nodes_of("min");
  s.max = nodes_of("max");
  if (const std::string sizes = word_of("sizes"); !sizes.empty()) {
    s.sizes = parse_constraint(sizes, {.field = "sizes"});
  }
  if (const std::string model = word_of("model"); !model.empty()) {
    s.model = parse_speedup(model, {.field = "model"});
  }
  if (const std::string watts = word_of("watts"); !watts.empty()) {
    const WattRange range = parse_watts(watts);
    s.watts = range.most;
    s.least_watts = range.least;
  }
}

}  // namespace

Submission submission_of(const SlurmJob& job, const SlurmMachine& machine) {
  Submission s;
  // Not cut within a character, nor longer than a name may be.
  constexpr std::size_t kLongest = 240, kEscaped = 4;
  s.name = is_printable(job.name) && job.name.size() <= kLongest
               ? job.name
               : printable(job.name.substr(0, kLongest / kEscaped));
  if (job.task) s.name = fmt::format("{}_{}", s.name, *job.task);
  s.program = {job.name.empty() ? "job" : printable(job.name)};
  s.script = kSlurmHasIt;
  s.folder = job.folder.empty() || job.folder.front() != '/' ? "/" : job.folder;
  s.walltime = job.limit > Duration{}                    ? job.limit
               : machine.facts.default_time > Duration{} ? machine.facts.default_time
                                                         : kVeryLong;
  s.tasks_per_node = job.tasks_per_node;
  s.cores_per_process = job.cpus_per_task > 1 ? job.cpus_per_task : 0;
  s.memory = job.memory_mb << 20;
  s.is_requeued = job.is_requeued;
  if (!job.account.empty()) s.account = printable(job.account);
  try {
    if (const Words words = words_of(line_of(job)); words.empty()) {
      set_sizes_of_slurm(s, job, machine);
    } else {
      set_sizes(s, words);
    }
    // A program asks for its sizes itself, with any MPI; a script may run several.
    if (s.type == JobType::evolving || s.type == JobType::adaptive) s.mpi = Mpi::mpich;
    set_place(s, job, machine);
  } catch (const InputError& error) {
    s.type = JobType::rigid;
    s.min = s.max = 0;
    s.unkept = error.what();
  }
  const auto cannot = [&](bool is_so, const std::string& why) {
    if (is_so && s.unkept.empty()) s.unkept = why;
  };
  const bool is_one = job.tasks.find_first_of(",-.") == std::string::npos;
  cannot(!is_one, "its array has too many tasks: submit several");
  cannot(!job.reservation.empty(), "it asks for a reservation of Slurm");
  cannot(!job.licenses.empty(), "it asks for licences of Slurm");
  cannot(!job.gres.empty(), "it asks for generic resources of Slurm");
  // Slurm knows when: it waits there.
  s.is_held = is_held_by_others(job) || !job.dependency.empty();
  if (job.eligible > job.submitted) s.begin = job.eligible;
  return s;
}

bool is_helper(const SlurmJob& job) {
  // What users submit has a line, whatever they call it.
  const std::string begin = std::string(kHelperName) + "-";
  return job.name.starts_with(begin) &&
         parse_number<std::uint64_t>(job.name.substr(begin.size())) && !job.is_batch &&
         line_of(job).empty();
}

std::string line_of(const SlurmJob& job) {
  // What its user has changed of it since is in front of his own words.
  if (job.comment.starts_with(kBegin)) return job.comment.substr(0, job.comment.find(kEnd));
  return job.admin_comment.starts_with(kBegin) ? job.admin_comment : "";
}

std::string sizes_line(const Submission& s) {
  if (s.type == JobType::rigid) return {};
  std::string line = fmt::format("{}type={} nodes={}", kBegin, word(s.type), s.nodes);
  if (s.min != 0) line += fmt::format(" min={}", s.min);
  if (s.max != 0) line += fmt::format(" max={}", s.max);
  if (s.sizes != SizeConstraint{}) line += " sizes=" + to_text(s.sizes);
  if (s.model != Speedup{}) line += " model=" + to_text(s.model);
  return line;
}

Submission sizes_said(const std::string& line) {
  Submission s;
  set_sizes(s, words_of(line));
  return s;
}

bool is_held_by_others(const SlurmJob& job) {
  return line_of(job).find(kHold) != std::string::npos || job.reason == kHeldByOperator;
}

std::string released(const SlurmJob& job) {
  std::string line = line_of(job);
  const std::size_t at = line.find(kHold);
  if (at == std::string::npos) return {};
  line.erase(at, kHold.size());
  if (!job.comment.starts_with(kBegin)) {
    return job.comment.empty() ? line : line.append(kEnd).append(job.comment);
  }
  const std::size_t rest = job.comment.find(kEnd);
  return rest == std::string::npos ? line : line.append(job.comment.substr(rest));
}

bool are_alike(const Submission& a, const Submission& b) {
  const auto of_slurm = [](const Submission& s) {
    Submission its;
    its.name = s.name;
    its.type = s.type;
    its.nodes = s.nodes;
    its.min = s.min;
    its.max = s.max;
    its.walltime = s.walltime;
    its.tasks_per_node = s.tasks_per_node;
    its.cores_per_process = s.cores_per_process;
    its.memory = s.memory;
    its.only = s.only;
    its.never = s.never;
    its.account = s.account;
    its.model = s.model;
    its.sizes = s.sizes;
    its.watts = s.watts;
    its.least_watts = s.least_watts;
    its.is_held = s.is_held;
    its.begin = s.begin;
    return to_json(its);
  };
  return of_slurm(a) == of_slurm(b);
}

Fingerprint fingerprint_of(const SlurmJob& job) {
  Fingerprint its = {.name = job.name,
                     .line = line_of(job),
                     .account = job.account,
                     .licenses = job.licenses,
                     .dependency = job.dependency,
                     .features = job.features,
                     .gres = job.gres,
                     .reservation = job.reservation,
                     .is_held = is_held_by_others(job),
                     .least = job.least,
                     .most = job.most,
                     .tasks_per_node = job.tasks_per_node,
                     .cpus_per_task = job.cpus_per_task,
                     .memory_mb = job.memory_mb,
                     .limit = job.limit,
                     .eligible = job.eligible,
                     .required = job.required,
                     .excluded = job.excluded};
  if (!says_more(job)) return its;
  its.least = its.most = 0;
  its.required.clear();
  return its;
}

}  // namespace ductile
