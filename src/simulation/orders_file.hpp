// What operators order jobs in a simulation, from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "simulation/simulation.hpp"
#include "workload/workload.hpp"

namespace ductile {

/// An order for the job of this number, of whatever workload.
struct FileOrder {
  std::uint64_t job = 0;
  Place where{};          // for errors
  OperatorOrder order{};  // of no job yet
};

/// Lines "TIME_S suspend JOB", "TIME_S resume JOB", "TIME_S resize JOB NODES" and
/// "TIME_S migrate JOB [off NODES]" by time, '#' begins a comment, for a machine of so many nodes.
/// Throws `InputError` with line and field. Format: docs/formats/orders.md.
std::vector<FileOrder> read_orders(const std::string& path, Nodes nodes);

/// The same for the jobs of this workload. Throws `InputError` if one is not there.
std::vector<OperatorOrder> orders_of(const std::vector<FileOrder>& orders,
                                     const Workload& workload);

}  // namespace ductile
