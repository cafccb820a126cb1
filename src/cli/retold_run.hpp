// The files of a run that is told again from its log.
#pragma once

#include <filesystem>
#include <istream>
#include <string>

#include "metrics/summary.hpp"
#include "simulation/replay.hpp"

namespace ductile {

struct RetoldRun {
  Replayed replayed;
  Summary summary;
};

/// Writes the files of a run into `folder`, as if it had been simulated with --out. `name` is the
/// file of the log, which may be the journal of a controller, also of one that goes on with it.
/// Throws InputError, as `replay` does.
RetoldRun write_retold_run(std::istream& log, const std::string& name,
                           const std::filesystem::path& folder, const PolicyMaker& make);

}  // namespace ductile
