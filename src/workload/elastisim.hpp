// ElastiSim's workloads: a configuration that names a file of jobs, the application models these
// name, and a SimGrid platform. docs/formats/elastisim.md is the reference of what is read and how.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_list.hpp"
#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "workload/simgrid.hpp"
#include "workload/workload.hpp"

namespace ductile {

struct ElastisimRules {
  bool extend_walltime = true;  // a walltime is at least the run time at the size asked for
  std::uint64_t max_jobs = 0;   // stop after so many; 0: all
  bool share_links = false;     // jobs slow each other down on links; else each has all of them
  bool for_scheduler = false;   // the study's own scheduler decides: it hears what is said for it
  /// What is in the first folder as the files name it, is in the second one here.
  std::vector<std::pair<std::string, std::string>> folders{};
  /// The content of a file, or an InputError. For tests; the default reads files, plain or
  /// compressed.
  std::function<std::string(const std::string& path)> load{};
};

/// What a study says of its scheduler, a program of its own, and for it.
struct ElastisimStudy {
  struct Job {
    JobType type = JobType::rigid;
    double walltime_s = 0;  // as ElastiSim reads it; 0: none
    SizeRange nodes;        // also those that the machine does not have
    std::uint32_t gpus_min = 0, gpus_max = 0;
    std::uint64_t iterations = 0, first = 0;  // of its phases; what goes before them
    /// JSON objects of texts; empty: there are none.
    std::string arguments{}, attributes{};
    double reconfiguration_s(Nodes size) const {
      const auto rows = after_s.rows();
      return rows.empty() ? 0 : rows[std::min<std::size_t>(size - nodes.min, rows.size() - 1)];
    }
    SharedList<double> after_s{};  // what `on_reconfiguration` takes, by size from the smallest on
  };

  std::string endpoint;  // where the scheduler connects to
  Duration interval{}, min_interval{};
  bool on_submit = false, on_finalize = false, on_scheduling_point = false;
  bool on_reconfiguration = false;
  bool forwards_io = false;
  double read_bytes_per_s = 0, write_bytes_per_s = 0;  // of the file system's links
  int node_type = 0;                                   // burst buffers: none, its own, striped
  std::uint32_t gpus = 0;                              // of a node
  std::vector<Job> jobs;                               // as in the workload
};

struct ElastisimInput {
  Workload workload;
  ElastisimStudy study;
  SimgridMachine machine;
  std::vector<std::string> files;    // that were read: the configuration and what it names
  std::vector<std::string> remarks;  // what is not modelled or not taken as it is, a line each
};

/// Reads a workload from its configuration file. Throws InputError.
ElastisimInput read_elastisim(const std::string& configuration, const ElastisimRules& rules);

}  // namespace ductile
