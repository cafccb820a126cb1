// A set of processors that the processes of a job cannot leave, whatever they do to their affinity:
// a control group of version 2 with the controller of cpusets, or one of version 1.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/node_set.hpp"
#include "job/cgroup.hpp"

namespace ductile {

class Cpuset {
 public:
  /// That of `group`, if it has one, or a new one of version 1 below that of this process. Nothing
  /// where this user may not have any. Those of managers that are gone are removed.
  static std::optional<Cpuset> make(const std::optional<Cgroup>& group);

  Cpuset(Cpuset&& other) noexcept
      : folder_(std::exchange(other.folder_, {})), is_own_(other.is_own_) {}
  Cpuset& operator=(Cpuset&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(is_own_, other.is_own_);
    return *this;
  }
  /// No process may be in it any more.
  ~Cpuset();

  /// Keeps to these processors all that is in it. False if that cannot be.
  bool keep_to(const NodeSet& cpus) const;
  /// This process, and those that it starts from now on, are in it.
  bool take(pid_t pid) const;

 private:
  Cpuset(std::string folder, bool is_own) : folder_(std::move(folder)), is_own_(is_own) {}

  std::string folder_;
  bool is_own_;  // of version 1: made here
};

}  // namespace ductile
