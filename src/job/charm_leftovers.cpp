#include "job/charm_leftovers.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "job/proc.hpp"

namespace ductile {
namespace {

/// A socket takes the place of stdout when charmrun has told a process whom it computes with.
bool sends_output(pid_t pid) {
  std::error_code ignored;
  const std::string output =
      std::filesystem::read_symlink(proc_folder(pid) + "fd/1", ignored).native();
  return output.starts_with("socket:");
}

}  // namespace

std::optional<std::size_t> end_left_behind(pid_t program, std::uint32_t size,
                                           std::string_view word) {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : all_pids()) {
    const Stat stat = stat_of(pid);
    if (!stat.has_ended()) children[stat.parent].push_back(pid);
  }
  const auto is_of_program = [&](pid_t pid) {
    const std::string words = content_of(proc_folder(pid) + "cmdline");
    return words.find(word) != std::string::npos;
  };
  std::size_t taken = 0;
  std::vector<pid_t> left;
  for (const pid_t child : children[getpid()]) {
    std::vector<pid_t> all = {child};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::vector<pid_t> next = children[all[i]];
      all.insert(all.end(), next.begin(), next.end());
    }
    const auto count = static_cast<std::size_t>(std::ranges::count_if(all, sends_output));
    taken += count;
    const bool is_left = child != program && count == 0 && std::ranges::any_of(all, is_of_program);
    if (is_left) left.insert(left.end(), all.begin(), all.end());
  }
  if (taken != size) return std::nullopt;
  // Who waits for others first, so that it tells nothing of them.
  for (const pid_t pid : left) kill(pid, SIGKILL);
  return left.size();
}

}  // namespace ductile
