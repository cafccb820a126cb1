// Classes of jobs, by size and by run time, for tables and figures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "report/jobs_csv.hpp"

namespace ductile {

/// Classes of values: each but the last ends at a bound, which is in it.
struct Classes {
  std::vector<double> bounds;
  std::vector<std::string> names;  // one more than bounds

  std::size_t size() const { return names.size(); }
  std::size_t of(double value) const;
};

/// Of sizes on a machine of so many nodes: one node, and some five more by a factor that follows
/// the machine.
Classes size_classes(Nodes machine);

/// Of run times: round bounds, of which each class has one job in fifty at least.
Classes runtime_classes(std::vector<Duration> runtimes);

/// By both. A job is in the same class whatever the policy: by its static run time; where it is not
/// known, by that under the baseline.
struct JobClasses {
  Classes sizes, runtimes;
};
JobClasses classes_of(std::span<const JobsCsvRow> jobs, Nodes machine);

/// Of a job that ran.
Duration class_runtime(const JobsCsvRow& job);

}  // namespace ductile
