// Control groups, version 2: the kernel keeps the processes of a group together, whatever they do
// to their session, parents or environment, and kills all of them at once. That needs no
// controller; those of memory, processors and processes keep the group to a part of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ductile {

/// The group of this process as a folder, if it may make groups below it and kill them
/// (Linux 5.14).
std::optional<std::string> own_cgroup();

/// Makes it, or leaves it as it is. False if it cannot be made.
bool make_cgroup(const std::string& group);
/// This process, and what it will start, goes there. Needs no memory: it is called after a fork.
bool enter_cgroup(const char* processes_file);
/// The file of a group that `enter_cgroup` wants.
std::string processes_of_cgroup(const std::string& group);
/// Is no process in it or below? True also if it is not there.
bool is_empty_cgroup(const std::string& group);
/// Kills all that is in it and below.
void kill_cgroup(const std::string& group);
/// Removes an empty one, and the empty ones below it.
void remove_cgroup(const std::string& group);

/// The kernel's controllers of these names that groups below this one have from now on, as far as
/// there are such and nobody is in the way: if this process is in the group itself it goes to one
/// below it, `own`.
std::set<std::string> enable_controllers(const std::string& group,
                                         const std::set<std::string>& names,
                                         const std::string& own);

/// What the processes of a group may have together, as far as its controllers are enabled.
struct GroupLimits {
  std::string cpus{};           // as "0-3,7"; empty: all
  std::uint64_t memory = 0;     // bytes; 0: all
  std::uint64_t processes = 0;  // and threads; 0: any number
  bool operator==(const GroupLimits&) const = default;
};
/// False if one of these could not be set.
bool limit_cgroup(const std::string& group, const GroupLimits& limits,
                  const std::set<std::string>& controllers);

/// A group for the processes of one generation, below that of this process.
class Cgroup {
 public:
  /// A new one. Nothing where there is no such thing, or where this user may not make one. Empty
  /// ones of managers that are gone are removed.
  static std::optional<Cgroup> make(const std::string& name);

  Cgroup(Cgroup&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Cgroup& operator=(Cgroup&& other) noexcept {
    std::swap(folder_, other.folder_);
    return *this;
  }
  ~Cgroup();

  /// Where a process begins that is to be in it (begin_session()), with those it starts.
  const std::string& folder() const { return folder_; }

  /// Kills all that are in it or below, and those they start meanwhile; returns how many there were
  /// first.
  /// After about 5 s it does not wait any longer for those that do not die.
  std::size_t kill_all() const;

 private:
  explicit Cgroup(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace ductile
