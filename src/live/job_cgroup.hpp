// Control groups, version 2: the kernel keeps the processes of a group together, whatever they do,
// and kills all of them at once. Only that is used here; no controller has to be enabled.
#pragma once

#include <optional>
#include <string>

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
/// Has it no process? True also if it is not there.
bool is_empty_cgroup(const std::string& group);
/// Kills all that is in it and below.
void kill_cgroup(const std::string& group);
/// Removes an empty one, and empty ones below it.
void remove_cgroup(const std::string& group);

}  // namespace ductile
