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

/// Of run times, as the workload has them: round bounds, so that each class has one job in fifty at
/// least. What is compared has the classes of the baseline, over all its seeds.
Classes runtime_classes(std::vector<Duration> runtimes);

/// By both. A job is in the same class whatever the policy: by its static run time; where it is not
/// known, by that under the baseline.
struct JobClasses {
  Classes sizes, runtimes;

  /// "2–4 nodes, 1 min – 1 h"
  std::string name(std::size_t size, std::size_t runtime) const;
};
JobClasses classes_of(std::span<const JobsCsvRow> jobs, Nodes machine);

/// Of a job that ran: as the workload says; where nobody does, as it did.
Duration class_runtime(const JobsCsvRow& job);

}  // namespace ductile
