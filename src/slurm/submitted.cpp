#include "slurm/submitted.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr std::string_view kBegin = "ductile:1";
/// Of a job that has no limit.
constexpr Duration kVeryLong = whole_seconds(366LL * 24 * 3600);
/// What stands for the script, which Slurm has.
constexpr const char* kSlurmHasIt = "# Slurm has the script of this job\n";

using Words = std::map<std::string, std::string, std::less<>>;

/// "ductile:1 type=malleable preferred=4". Nothing: there are none.
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
    if (is == std::string_view::npos) {
      throw InputError({.field = "admin_comment"}, fmt::format("'{}' has no '='", printable(word)),
                       "see docs/formats/slurm-comment.md");
    }
    words.emplace(word.substr(0, is), word.substr(is + 1));
  }
  return words;
}

std::vector<std::string> parts_of(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (!text.empty()) parts.emplace_back(next_part(text, between));
  return parts;
}

/// Those nodes that have all of these: "a&b".
NodeSet with_features(const std::string& features, const SlurmMachine& machine) {
  const std::vector<std::string> wanted = parts_of(features, '&');
  NodeSet nodes;
  for (const auto& [name, node] : machine.machine) {
    const std::vector<std::string> has = parts_of(node.features, ',');
    const bool has_all = std::ranges::all_of(wanted, [&](const std::string& each) {
      return std::ranges::find(has, each) != has.end();
    });
    const auto number = machine.names.find(name);
    if (has_all && number) nodes.insert(*number, *number);
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
    if (job.features.find_first_of("|[]*()") != std::string::npos) {
      s.impossible = fmt::format("of --constraint only features with & between them can be kept");
    }
    only = with_features(job.features, machine);
    if (only.empty()) s.impossible = "no node has the features that it asks for";
  }
  if (!job.required.empty() && s.impossible.empty()) {
    const NodeSet required = machine.names.nodes(job.required);
    if (required.count() < std::max(s.nodes, s.max)) {
      s.impossible = "of --nodelist only a list of all the nodes can be kept";
    }
    only = only.empty() ? required : intersection(only, required);
  }
  s.only = to_string(only);
  s.never = to_string(never);
}

void set_sizes(Submission& s, const SlurmJob& job, const Words& words, const SlurmMachine& machine) {
  const auto word_of = [&](std::string_view name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string() : found->second;
  };
  const std::uint32_t cpus =
      std::max(job.cpus, job.processes * std::max(job.cpus_per_task, 1U));
  Nodes least = std::max<Nodes>({job.least, (cpus + least_cpus(machine) - 1) / least_cpus(machine)});
  Nodes most = std::max(job.most, least);
  if (const std::string nodes = word_of("nodes"); !nodes.empty()) {
    const NodeRange range = parse_nodes(nodes);
    least = range.first;
    most = range.last;
  }
  s.type = least < most ? JobType::moldable : JobType::rigid;
  if (const std::string type = word_of("type"); !type.empty()) {
    const auto known = from_word<JobType>(kJobTypeWords, type);
    if (!known) {
      throw InputError({.field = "type"}, fmt::format("'{}' is none", printable(type)),
                       "say rigid, moldable, malleable or evolving");
    }
    s.type = *known;
  }
  s.nodes = least;
  if (const std::string preferred = word_of("preferred"); !preferred.empty()) {
    const NodeRange one = parse_nodes(preferred);
    s.nodes = std::clamp(one.first, least, most);
  }
  if (s.type != JobType::rigid) {
    s.min = least;
    s.max = most;
  }
  // A program asks for its sizes itself, with any MPI; a script may run several.
  if (s.type == JobType::evolving) s.mpi = Mpi::mpich;
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
  s.is_held = word_of("hold") == "yes";
}

}  // namespace

Submission submission_of(const SlurmJob& job, const SlurmMachine& machine) {
  Submission s;
  s.name = printable(job.name).substr(0, 255);
  s.program = {job.name.empty() ? "job" : printable(job.name)};
  s.script = kSlurmHasIt;
  s.folder = job.folder.empty() || job.folder.front() != '/' ? "/" : job.folder;
  s.walltime = job.limit > Duration{} ? job.limit
               : machine.facts.default_time > Duration{} ? machine.facts.default_time
                                                         : kVeryLong;
  s.tasks_per_node = job.tasks_per_node;
  s.cores_per_process = job.cpus_per_task > 1 ? job.cpus_per_task : 0;
  s.memory = job.memory_mb << 20;
  s.is_requeued = job.is_requeued;
  if (!job.account.empty()) s.account = printable(job.account);
  try {
    set_sizes(s, job, words_of(job.admin_comment), machine);
    set_place(s, job, machine);
  } catch (const InputError& error) {
    s.type = JobType::rigid;
    s.min = s.max = 0;
    s.impossible = error.what();
  }
  const auto cannot = [&](bool is_so, const std::string& why) {
    if (is_so && s.impossible.empty()) s.impossible = why;
  };
  cannot(!job.tasks.empty(), "it is an array, which is not kept yet: submit its tasks one by one");
  cannot(!job.reservation.empty(), "it asks for a reservation of Slurm");
  cannot(!job.licenses.empty(), "it asks for licences of Slurm");
  cannot(!job.gres.empty(), "it asks for generic resources of Slurm");
  cannot(!job.is_batch, "it has no script, and who waits for its nodes cannot be told of others");
  // Slurm knows when: it waits there.
  if (!job.dependency.empty()) s.is_held = true;
  if (job.eligible > job.submitted) s.begin = job.eligible;
  return s;
}

Fingerprint fingerprint_of(const SlurmJob& job) {
  return {.name = job.name,
          .admin_comment = job.admin_comment,
          .comment = job.comment,
          .dependency = job.dependency,
          .features = job.features,
          .gres = job.gres,
          .reservation = job.reservation,
          .least = job.least,
          .most = job.most,
          .limit = job.limit,
          .eligible = job.eligible,
          .required = job.required,
          .excluded = job.excluded};
}

}  // namespace ductile
