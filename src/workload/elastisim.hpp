// ElastiSim's workloads: a configuration that names a file of jobs, the application models these
// name, and a SimGrid platform. docs/formats/elastisim.md is the reference of what is read and how.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "workload/simgrid.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct ElastisimRules {
  bool extend_walltime = true;  // a walltime is at least the run time at the size asked for
  std::uint64_t max_jobs = 0;   // stop after so many; 0: all
  /// What is in the first folder as the files name it, is in the second one here.
  std::vector<std::pair<std::string, std::string>> folders{};
  /// The content of a file, or an InputError. For tests; the default reads files, plain or
  /// compressed.
  std::function<std::string(const std::string& path)> load{};
};

struct ElastisimInput {
  Workload workload;
  SimgridMachine machine;
  std::vector<std::string> files;    // that were read: the configuration and what it names
  std::vector<std::string> remarks;  // what is not modelled or not taken as it is, a line each
};

/// Reads a workload from its configuration file. Throws InputError.
ElastisimInput read_elastisim(const std::string& configuration, const ElastisimRules& rules);

}  // namespace ductile
