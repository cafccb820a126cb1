// The resource limits of a program, as its user has set them (`ulimit`): kept as text, and set anew
// where the program is started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

namespace ductile {

struct ResourceLimit {
  int resource = 0;  // RLIMIT_...
  rlimit values{};
};
using ResourceLimits = std::vector<ResourceLimit>;

/// Those of this process.
ResourceLimits own_limits();

/// "core=0:unlimited,nofile=1024:4096": soft and hard ones. InputError.
ResourceLimits parse_limits(std::string_view text);
std::string to_text(const ResourceLimits& limits);

/// Sets them for this process, as far as it may: no hard limit is raised. Needs no memory: it is
/// called after a fork.
void set_limits(const ResourceLimits& limits);

}  // namespace ductile
