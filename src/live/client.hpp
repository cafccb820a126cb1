// The other end: how commands find the controller and ask it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace ductile {

/// The controller takes no jobs itself: they come from this partition of Slurm, by sbatch.
class JobsComeBySbatch : public RunError {
 public:
  JobsComeBySbatch(const std::string& what, std::string its)
      : RunError(what), partition(std::move(its)) {}
  std::string partition;
};

/// Where a controller of this user keeps its state unless told otherwise: /var/lib/ductile for
/// root, else ductile in $XDG_STATE_HOME or ~/.local/state.
std::string default_state();

/// The socket to ask: `given`, or $DUCTILE_SOCKET, or that of this user's own controller if it is
/// there, or that of root's.
std::string find_socket(const std::string& given);

/// Asks, and returns the answer. With `waits` a second answer follows, however long it takes, and
/// is returned instead, from the next controller if this one ends meanwhile; `first` is called with
/// the first one. Throws InputError where the request
/// was wrong or nobody listens, RunError where it could not be done, in the controller's words;
/// JobsComeBySbatch is one.
nlohmann::ordered_json ask_controller(
    const std::string& socket, const nlohmann::ordered_json& request, bool waits = false,
    const std::function<void(const nlohmann::ordered_json&)>& first = {});

/// The answer as it came, JSON on one line: some are long.
std::string ask_for_line(const std::string& socket, const nlohmann::ordered_json& request);

}  // namespace ductile
