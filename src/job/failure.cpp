#include "job/failure.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/text.hpp"
#include "job/cgroup.hpp"
#include "job/process.hpp"

namespace ductile {
namespace {

/// What MPIs and their launchers write, how much of it is a sentence, and what it means.
struct Words {
  std::string_view begin;
  int lines;
  std::string_view reason;
};
constexpr Words kWords[] = {
    {"application called MPI_Abort(", 1, "MPIAbort"},                // MPICH
    {"MPI_ABORT was invoked on rank", 2, "MPIAbort"},                // Open MPI
    {"execvp error on file", 1, "JobLaunchFailure"},                 // MPICH
    {"mpirun was unable to launch", 2, "JobLaunchFailure"},          // Open MPI
    {"mpiexec was unable to launch", 2, "JobLaunchFailure"},         // Open MPI
    {"Open MPI tried to fork a new process", 3, "JobLaunchFailure"}  // Open MPI
};

/// The sentence that begins at `at`, on one line.
std::string sentence(std::string_view text, std::size_t at, int lines) {
  constexpr std::size_t kLongest = 300;
  std::string result;
  text.remove_prefix(at);
  for (; lines > 0 && !text.empty(); --lines) {
    const std::string_view line = next_part(text, '\n');
    if (line.empty()) break;
    result.append(result.empty() ? "" : " ").append(line);
  }
  return result.substr(0, kLongest);
}

/// By which signal Open MPI's launcher says that a process has ended.
std::optional<int> signal_told_by_openmpi(std::string_view text) {
  constexpr std::string_view kNoticed = " noticed that process rank ";
  constexpr std::string_view kSignal = " exited on signal ";
  const std::size_t noticed = text.rfind(kNoticed);
  if (noticed == std::string_view::npos) return std::nullopt;
  text.remove_prefix(noticed);
  std::string_view line = next_part(text, '\n');
  const std::size_t at = line.find(kSignal);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + kSignal.size());
  return parse_number<int>(line.substr(0, line.find_first_not_of("0123456789")));
}

/// By which signal MPICH's launcher says that a process has ended.
std::optional<int> signal_told_by_mpich(std::string_view text) {
  const std::size_t at = text.rfind("\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: ");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 1);
  std::string_view line = next_part(text, '\n');
  constexpr std::string_view kSignal = " (signal ";
  const std::size_t begin = line.rfind(kSignal);
  if (begin == std::string_view::npos || !line.ends_with(")")) return std::nullopt;
  line.remove_prefix(begin + kSignal.size());
  return parse_number<int>(line.substr(0, line.size() - 1));
}

/// The number behind `name` in a file of lines "name number".
std::optional<std::uint64_t> counted(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t number = 0;
  while (file >> word >> number) {
    if (word == name) return number;
  }
  return std::nullopt;
}

}  // namespace

bool is_reason(std::string_view word) {
  constexpr std::string_view kPlain[] = {"NonZeroExitCode", "MPIAbort", "OutOfMemory",
                                         "JobLaunchFailure"};
  if (std::ranges::find(kPlain, word) != std::end(kPlain)) return true;
  constexpr std::string_view kSignal = "RaisedSignal:SIG";
  return word.starts_with(kSignal) && word.size() < kSignal.size() + 16 &&
         std::ranges::all_of(word.substr(kSignal.size()), [](char c) {
           return ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '+';
         });
}

std::optional<std::string> signal_name(int signal) {
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
    return signal == SIGRTMIN ? "SIGRTMIN" : fmt::format("SIGRTMIN+{}", signal - SIGRTMIN);
  }
  const char* const name = sigabbrev_np(signal);
  if (name == nullptr || signal <= 0) return std::nullopt;
  return std::string("SIG") + name;
}

Failure failure_of(int status, std::string_view last_words, bool is_starved) {
  const int code = exit_code(status);
  if (code == 0) return {};
  for (const Words& words : kWords) {
    const std::size_t at = last_words.rfind(words.begin);
    if (at != std::string_view::npos) {
      return {std::string(words.reason), sentence(last_words, at, words.lines)};
    }
  }
  // Launchers say it; shells tell of a signal by such a code.
  auto told = signal_told_by_mpich(last_words);
  if (!told) told = signal_told_by_openmpi(last_words);
  const int signal = told.value_or(code - 128);
  const auto name = signal_name(signal);
  if (!name) return {"NonZeroExitCode", fmt::format("exit code {}", code)};
  if (is_starved && signal == SIGKILL) {
    return {"OutOfMemory", "killed by SIGKILL, as the system did for want of memory"};
  }
  const std::string by = "killed by " + *name;
  const bool was_killed = told || WIFSIGNALED(status);
  return {"RaisedSignal:" + *name,
          was_killed ? by : fmt::format("exit code {}, as of a process that was {}", code, by),
          was_killed};
}

std::uint64_t processes_killed_for_memory() {
  if (const auto group = own_cgroup()) {
    if (const auto count = counted(*group + "/memory.events", "oom_kill")) return *count;
  }
  return counted("/proc/vmstat", "oom_kill").value_or(0);
}

}  // namespace ductile
