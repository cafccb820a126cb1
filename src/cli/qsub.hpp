// What users of Torque write: the options of qsub, extended for malleable jobs as in paper 001, as
// those of `ductile submit`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ductile {

/// A list of resources, `nodes=2:ppn=8,walltime=3600`, as options. What means nothing here goes to
/// `ignored`, as it was written. InputError, which names `-l`.
std::vector<std::string> options_of_resources(std::string_view list,
                                              std::vector<std::string>& ignored);

/// The words of a #PBS line.
std::vector<std::string> options_of_qsub(const std::vector<std::string>& words,
                                         std::vector<std::string>& ignored);

}  // namespace ductile
