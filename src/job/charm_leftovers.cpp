#include "job/charm_leftovers.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/text.hpp"
#include "job/proc.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return next_part(line, ' ');
}

/// The inodes of its sockets.
std::set<unsigned long> sockets_of(pid_t pid) {
  constexpr std::string_view kBegin = "socket:[";
  std::set<unsigned long> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(proc_folder(pid) + "fd", ignored)) {
    const std::string target = fs::read_symlink(entry.path(), ignored);
    if (!target.starts_with(kBegin)) continue;
    const auto inode = parse_number<unsigned long>(
        std::string_view(target).substr(kBegin.size(), target.size() - kBegin.size() - 1));
    if (inode) found.insert(*inode);
  }
  return found;
}

/// Of a process of this network: the sockets whose other ends are here, too, and accepted.
std::set<unsigned long> heard_sockets(pid_t pid) {
  const std::string text = content_of(proc_folder(pid) + "net/tcp");
  const auto connections = parse_tcp_table(text);
  std::map<std::pair<std::string_view, std::string_view>, unsigned long> by_ends;
  for (const auto& its : connections) by_ends[{its.local, its.remote}] = its.inode;
  std::set<unsigned long> heard;
  for (const auto& its : connections) {
    const auto other = by_ends.find({its.remote, its.local});
    if (other != by_ends.end() && other->second != 0) heard.insert(its.inode);
  }
  return heard;
}

}  // namespace

std::vector<TcpConnection> parse_tcp_table(std::string_view text) {
  std::vector<TcpConnection> connections;
  next_part(text, '\n');  // the heads of its columns
  while (!text.empty()) {
    std::string_view line = next_part(text, '\n');
    next_word(line);
    TcpConnection its;
    its.local = next_word(line);
    its.remote = next_word(line);
    // State, queues, timer, retransmissions, user, timeout.
    for (int column = 0; column < 6; ++column) next_word(line);
    const auto inode = parse_number<unsigned long>(next_word(line));
    if (!inode) continue;
    its.inode = *inode;
    connections.push_back(its);
  }
  return connections;
}

std::size_t end_unheard_children(pid_t program, std::string_view word) {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : all_pids()) {
    const Stat stat = stat_of(pid);
    if (!stat.has_ended()) children[stat.parent].push_back(pid);
  }
  const std::set<unsigned long> heard = heard_sockets(program);
  const auto is_heard = [&](pid_t pid) {
    return std::ranges::any_of(sockets_of(pid),
                               [&](unsigned long inode) { return heard.contains(inode); });
  };
  const auto is_of_program = [&](pid_t pid) {
    return content_of(proc_folder(pid) + "cmdline").find(word) != std::string::npos;
  };
  std::size_t count = 0;
  for (const pid_t child : children[getpid()]) {
    if (child == program) continue;
    std::vector<pid_t> all = {child};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& next = children[all[i]];
      all.insert(all.end(), next.begin(), next.end());
    }
    if (std::ranges::none_of(all, is_of_program) || std::ranges::any_of(all, is_heard)) continue;
    // Those that wait for others first, so that they tell nothing of it.
    for (const pid_t pid : all) kill(pid, SIGKILL);
    count += all.size();
  }
  return count;
}

}  // namespace ductile
