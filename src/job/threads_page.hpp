// The manager's side of the page by which a program learns which processors it has
// (threads_page.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/node_set.hpp"
#include "job/socket.hpp"

namespace ductile {

/// A file that goes with this object. It is read and written as a file: whatever a program does to
/// it, the manager lives.
class ThreadsPage {
 public:
  /// Makes it, in a folder that no other user may enter. `control`: the path of the socket that
  /// takes orders; empty if there is none. RunError.
  ThreadsPage(std::string path, const std::string& control);
  ThreadsPage(const ThreadsPage&) = delete;
  ThreadsPage& operator=(const ThreadsPage&) = delete;
  ~ThreadsPage();

  const std::string& path() const { return path_; }

  /// From now on the program has so many cores, these processors; returns the sequence number of
  /// that. RunError if it cannot be written.
  std::uint32_t publish(std::uint32_t cores, const NodeSet& cpus);

  /// A process that has attached: which number it has followed, and after how many seconds.
  struct Follower {
    pid_t pid = -1;
    std::uint32_t seen = 0;
    double seen_s = 0;
  };
  /// Those that live; the places of others are free again.
  std::vector<Follower> followers() const;

 private:
  void write_at(std::size_t offset, const void* bytes, std::size_t count) const;

  std::string path_;
  Descriptor file_{};
  std::uint32_t sequence_ = 0;
  std::uint64_t changed_ns_ = 0;
};

}  // namespace ductile
