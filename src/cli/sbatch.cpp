#include "cli/sbatch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr const char* kSqueueFormat = "%i|%T|%V|%S|%e|%D";

// Up to its end, which is then closed.
std::string rest_of(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(file);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// What a command prints; an error is what it says on its other output. Ctrl-C is not for it.
std::string said_by(std::vector<std::string> words) {
  const int warnings = memfd_create("stderr", MFD_CLOEXEC);
  std::array<int, 2> ends{};
  if (warnings < 0 || pipe2(ends.data(), O_CLOEXEC) != 0) {
    const int why = errno;
    if (warnings >= 0) close(warnings);
    throw RunError(std::strerror(why));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, warnings, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // Times as whole seconds, whatever the user has.
  std::string format = "SLURM_TIME_FORMAT=%s";
  std::vector<char*> environment{format.data()};
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("SLURM_TIME_FORMAT=")) environment.push_back(*each);
  }
  environment.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words.front().c_str(), &actions, &attributes,
                                 arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  std::string said = rest_of(ends[0]);
  int status = 0;
  while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  lseek(warnings, 0, SEEK_SET);
  const std::string warned = rest_of(warnings);
  if (error != 0) {
    throw RunError(fmt::format("{} cannot be started: {}; call it where Slurm is", words.front(),
                               std::strerror(error)));
  }
  if (status != 0) {
    if (said.empty() && warned.empty()) {
      said = WIFEXITED(status) ? fmt::format("ended with exit code {}", WEXITSTATUS(status))
                               : fmt::format("was ended by signal {}", WTERMSIG(status));
    }
    throw RunError(fmt::format("{}: {}", words.front(), warned.empty() ? said : warned));
  }
  return said;
}

constexpr Duration kMinute = whole_seconds(60);

double slurm_time(std::string_view text) { return parse_number<double>(text).value_or(0); }

}  // namespace

bool SbatchJob::is_over() const {
  constexpr std::array<std::string_view, 10> kOver{
      "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
      "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
  return std::ranges::find(kOver, state) != kOver.end();
}

Duration whole_minutes(Duration time) {
  return kMinute * std::max<std::int64_t>((time + kMinute - kTick) / kMinute, 1);
}

std::vector<std::string> sbatch_call(const Submission& s, const std::string& partition) {
  if (s.type != JobType::rigid && s.type != JobType::moldable) {
    throw InputError(fmt::format("is {}, and Slurm itself resizes no job", word(s.type)),
                     "leave such jobs away (--adaptive none), or play them to a controller");
  }
  if (!s.script.empty()) {
    throw InputError("runs a script, which is not handed to sbatch",
                     "write a command that starts a program, as sh SCRIPT");
  }
  std::vector<std::string> words{"sbatch", "--parsable", "--exclusive"};
  if (!partition.empty()) words.push_back("--partition=" + partition);
  words.push_back("--job-name=" + s.name);
  words.push_back(s.type == JobType::moldable && s.min != s.max
                      ? fmt::format("--nodes={}-{}", s.min, s.max)
                      : fmt::format("--nodes={}", s.nodes));
  words.push_back(fmt::format("--time={}", whole_minutes(s.walltime) / kMinute));
  words.push_back("--output=" + s.output);
  std::string variables = "ALL";
  for (const std::string& each : s.environment) {
    if (each.starts_with("PLAY_")) variables += "," + each;
  }
  words.push_back("--export=" + variables);
  words.push_back("--wrap=DUCTILE_JOB_NUM_NODES=$SLURM_JOB_NUM_NODES exec " +
                  shell_line(s.program));
  return words;
}

std::string sbatch_line(const Submission& submission, const std::string& partition) {
  return shell_line(sbatch_call(submission, partition));
}

std::uint64_t call_sbatch(std::vector<std::string> words) {
  const std::string said = said_by(std::move(words));
  // "7" or "7;cluster".
  const std::string_view last = std::string_view(said).substr(said.rfind('\n') + 1);
  const auto number = parse_number<std::uint64_t>(last.substr(0, last.find(';')));
  if (!number) throw RunError(fmt::format("sbatch says no number of a job: {}", said));
  return *number;
}

std::pair<std::uint64_t, SbatchJob> parse_squeue_line(const std::string& line) {
  std::string_view rest = line;
  const auto number = parse_number<std::uint64_t>(next_part(rest, '|'));
  SbatchJob job;
  job.state = next_part(rest, '|');
  job.submit_s = slurm_time(next_part(rest, '|'));
  job.start_s = slurm_time(next_part(rest, '|'));
  job.end_s = slurm_time(next_part(rest, '|'));
  const auto nodes = parse_number<Nodes>(rest);
  if (!number || !nodes) throw RunError(fmt::format("squeue says '{}'", line));
  job.nodes = *nodes;
  return {*number, job};
}

std::map<std::uint64_t, SbatchJob> call_squeue() {
  const std::string said = said_by(
      {"squeue", "--me", "--noheader", "--states=all", fmt::format("--format={}", kSqueueFormat)});
  std::map<std::uint64_t, SbatchJob> jobs;
  std::string_view rest = said;
  while (!rest.empty()) {
    const std::string line(next_part(rest, '\n'));
    // Others are parts of what we never submit ("7_[1-3]", "7+0"), or name a cluster.
    if (!parse_number<std::uint64_t>(std::string_view(line).substr(0, line.find('|')))) continue;
    jobs.insert(parse_squeue_line(line));
  }
  return jobs;
}

Nodes call_sinfo(const std::string& partition) {
  std::vector<std::string> words{"sinfo", "--noheader", "--states=idle,allocated,mixed,completing",
                                 "--format=%P|%D"};
  if (!partition.empty()) words.push_back("--partition=" + partition);
  const std::string said = said_by(words);
  Nodes nodes = 0;
  std::string_view rest = said;
  while (!rest.empty()) {
    std::string_view line = next_part(rest, '\n');
    const std::string_view name = next_part(line, '|');
    const auto count = parse_number<Nodes>(line);
    if (!count) throw RunError(fmt::format("sinfo says '{}'", said));
    if (!partition.empty() || name.ends_with('*')) nodes += *count;
  }
  if (nodes == 0) throw RunError("sinfo shows no node that can have jobs");
  return nodes;
}

}  // namespace ductile
