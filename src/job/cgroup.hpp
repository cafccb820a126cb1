// A control group of the kernel, version 2, for the processes of one generation: none of them
// leaves it, whatever it does to its session, its parents or its environment.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace ductile {

class Cgroup {
 public:
  /// A new one below that of this process. Nothing where there is no such thing, or where this user
  /// may not make one. Empty ones of managers that are gone are removed.
  static std::optional<Cgroup> make(const std::string& name);

  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  /// A process that writes "0" to this file is in the group, as are those it starts.
  std::string procs() const { return folder_ + "/cgroup.procs"; }

  /// Kills all that are in it, and those they start meanwhile; returns how many there were.
  std::size_t kill_all() const;

 private:
  explicit Cgroup(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace ductile
