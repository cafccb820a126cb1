#include "cli/submit_to_slurm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "cli/sbatch.hpp"

namespace ductile {
namespace {

/// A batch script, which Slurm starts once on the first node; all else `ductile run` starts, or the
/// shell.
bool is_batch_script(const Submission& job) {
  return !job.script.empty() && job.kind == JobKind::mpi && job.mpi == Mpi::none;
}

/// For job_submit.lua.
std::string comment_of(const Submission& job, const WrittenJob& written) {
  std::string text = fmt::format("ductile: --type={} --nodes={}", word(job.type), job.nodes);
  if (job.min != 0) text += fmt::format(" --min-nodes={}", job.min);
  if (job.max != 0) text += fmt::format(" --max-nodes={}", job.max);
  if (const std::string sizes = to_text(job.sizes); sizes != "any") text += " --sizes=" + sizes;
  if (!written.model.empty()) text += " --model=" + to_text(job.model);
  if (!written.watts.empty()) text += " --watts=" + written.watts;
  return text;
}

/// What the job's shell executes.
std::string command_of(const Submission& job, const WrittenJob& written,
                       const std::vector<std::string>& program, const std::string& file,
                       const std::string& ductile) {
  std::vector<std::string> words{"exec"};
  const auto add = [&](const char* name, const auto& value) {
    if (value) words.push_back(fmt::format("{}={}", name, *value));
  };
  if (job.kind != JobKind::mpi || job.mpi != Mpi::none) {
    words.insert(words.end(), {ductile, "run"});
    const auto kind = static_cast<std::size_t>(job.kind), mpi = static_cast<std::size_t>(job.mpi);
    words.push_back(job.kind != JobKind::mpi ? fmt::format("--kind={}", kJobKindWords[kind])
                                             : fmt::format("--mpi={}", kMpiWords[mpi]));
    add("--signal", written.told.signal);
    add("--ack-timeout", written.told.ack_timeout);
    add("--checkpoint", written.told.checkpoint);
    add("--checkpoint-timeout", written.told.checkpoint_timeout);
    add("--checkpoint-exit", written.told.checkpoint_exit);
    add("--restart", written.told.restart);
    add("--settle", written.told.settle);
    words.emplace_back("--");
  }
  words.push_back(file);
  words.insert(words.end(), program.begin() + 1, program.end());
  return shell_line(words);
}

/// A file without a name that processes of this one can open, too. Its path.
std::string unnamed_file(const std::string& text) {
  const int file = memfd_create("script", 0);
  std::string_view rest = text;
  while (file >= 0 && !rest.empty()) {
    const ssize_t wrote = write(file, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (!rest.empty()) throw RunError(std::string("a copy of the script: ") + std::strerror(errno));
  return fmt::format("/proc/self/fd/{}", file);
}

[[noreturn]] void become(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  throw RunError(fmt::format("{} cannot be started: {}; call it where Slurm is", words.front(),
                             std::strerror(errno)));
}

}  // namespace

std::string script_for_sbatch(const std::string& script) {
  constexpr std::string_view kOurs = "#DUCTILE";
  std::string text;
  std::string_view rest = script;
  bool is_begun = false;  // a command has come
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    is_begun |=
        !line.starts_with('#') && line.find_first_not_of(" \t\r\n") != std::string_view::npos;
    if (!is_begun && line.starts_with(kOurs)) text += '#';
    text += line;
  }
  return text;
}

std::vector<std::string> sbatch_words(const Submission& job, const WrittenJob& written,
                                      const std::vector<std::string>& program,
                                      const std::string& partition, const std::string& file,
                                      const std::string& ductile) {
  if (!written.partition.empty() && written.partition != partition) {
    throw InputError({.field = "--partition"},
                     fmt::format("this controller has jobs of '{}', and not of '{}'", partition,
                                 written.partition),
                     "leave it out, or call sbatch for another one");
  }
  if (!written.key.empty()) {
    throw InputError({.field = "--key"}, "Slurm keeps no keys of submissions", "leave it out");
  }
  std::vector<std::string> words{"sbatch", "--partition=" + partition,
                                 "--comment=" + comment_of(job, written)};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
  };
  const auto number = [&](const char* name, auto value) {
    if (value != 0) words.push_back(fmt::format("{}={}", name, value));
  };
  number("--nodes", job.nodes);
  add("--time", written.time);
  add("--job-name", job.name);
  add("--chdir", job.folder);
  add("--output", job.output);
  add("--error", job.error);
  add("--input", job.input);
  number("--ntasks-per-node", job.tasks_per_node);
  number("--cpus-per-task", job.cores_per_process);
  add("--mem", written.memory);
  add("--mem-per-cpu", written.memory_per_core);
  add("--constraint", written.features);
  add("--qos", written.qos);
  add("--gres", written.things);
  add("--nodelist", written.only);
  add("--exclude", written.never);
  add("--reservation", written.reservation);
  number("--priority", written.priority);
  add("--account", written.account);
  add("--dependency", written.dependency);
  add("--array", written.array);
  add("--begin", written.begin);
  if (job.is_requeued) words.emplace_back("--requeue");
  if (job.is_held) words.emplace_back("--hold");
  words.emplace_back(written.waits ? "--wait" : "--parsable");
  if (is_batch_script(job)) {
    words.push_back(file);
    words.insert(words.end(), program.begin() + 1, program.end());
  } else {
    words.push_back("--wrap=" + command_of(job, written, program, file, ductile));
  }
  return words;
}

void submit_to_slurm(const Submission& job, const WrittenJob& written,
                     const std::vector<std::string>& program, const std::string& partition,
                     bool json) {
  const std::string file =
      is_batch_script(job) ? unnamed_file(script_for_sbatch(job.script)) : written.file;
  std::error_code error;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", error).string();
  std::vector<std::string> words = sbatch_words(job, written, program, partition, file, own);
  if (written.waits) {
    if (json) {
      throw InputError({.field = "--wait"}, "sbatch waits, and writes no JSON",
                       "leave --json out, or ask `ductile queue --json`");
    }
    become(std::move(words));
  }
  const std::uint64_t number = call_sbatch(std::move(words));
  std::cout << (json ? fmt::format("{{\"ok\":true,\"job\":{}}}", number)
                     : fmt::format("submitted job {}", number))
            << std::endl;
}

}  // namespace ductile
