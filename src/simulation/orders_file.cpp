#include "simulation/orders_file.hpp"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/node_set.hpp"
#include "base/text.hpp"
#include "simulation/timed_lines.hpp"

namespace ductile {
namespace {

// What comes after "resize JOB".
OperatorOrder::Resize resize_of(const TimedLines& line, Nodes nodes) {
  const auto to = parse_number<Nodes>(line.word(2));
  if (!to) line.refuse("nodes", line.word(2), "write how many nodes the job shall have");
  if (*to <= nodes) return {*to};
  line.fail("nodes", "the machine has " + std::to_string(nodes) + " nodes", "write no more");
}

// What comes after "migrate JOB".
OperatorOrder::Leave leave_of(const TimedLines& line, Nodes nodes) {
  if (line.size() == 2) return {};
  if (line.word(2) != "off") line.refuse("line", line.word(2), "write off and nodes, or nothing");
  auto off = parse_node_set(line.rest(3));
  if (!off || off->empty()) {
    line.refuse("nodes", line.rest(3), "write node numbers such as 0-3,7");
  }
  if (off->parts.back().last >= nodes) {
    throw InputError(line.place("nodes"),
                     "the machine has no node " + std::to_string(off->parts.back().last),
                     "its nodes are 0 to " + std::to_string(nodes - 1));
  }
  return {*std::move(off)};
}

}  // namespace

std::vector<FileOrder> read_orders(const std::string& path, Nodes nodes) {
  TimedLines line(path, "the file of orders cannot be read",
                  "check the name and that you may read the file");
  std::vector<FileOrder> orders;
  while (line.next()) {
    FileOrder its{.where = line.place("job"), .order = {.at = line.time()}};
    if (!orders.empty() && line.time() < orders.back().order.at) {
      line.fail("time", "is before that of the line before", "write the lines by time");
    }
    const std::string_view verb = line.word(0);
    const bool known =
        verb == "suspend" || verb == "resume" || verb == "resize" || verb == "migrate";
    if (!known) line.refuse("order", verb, "write suspend, resume, resize or migrate");
    const auto job = parse_number<std::uint64_t>(line.word(1));
    if (!job) line.refuse("job", line.word(1), "write the number of a job of the workload");
    its.job = *job;
    std::size_t words = 2;
    if (verb == "suspend") {
      its.order.what = Stop::suspend;
    } else if (verb == "resume") {
      its.order.what = OperatorOrder::Resume{};
    } else if (verb == "resize") {
      its.order.what = resize_of(line, nodes);
      words = 3;
    } else {
      its.order.what = leave_of(line, nodes);
      words = line.size();
    }
    if (line.size() > words) line.refuse("line", line.word(words), "leave it away");
    orders.push_back(std::move(its));
  }
  return orders;
}

std::vector<OperatorOrder> orders_of(const std::vector<FileOrder>& orders,
                                     const Workload& workload) {
  std::unordered_map<std::uint64_t, JobId> jobs;  // those of which something is ordered
  for (const FileOrder& each : orders) jobs.emplace(each.job, JobId::none);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const auto at = jobs.find(workload.jobs[i].name);
    if (at == jobs.end()) continue;
    if (at->second != JobId::none) {
      throw InputError("the workload has job " + std::to_string(at->first) + " more than once",
                       "number its jobs, so that orders say which one they are for");
    }
    at->second = JobId{static_cast<std::uint32_t>(i)};
  }
  std::vector<OperatorOrder> all;
  for (const FileOrder& each : orders) {
    all.push_back(each.order);
    all.back().job = jobs.at(each.job);
    if (all.back().job != JobId::none) continue;
    throw InputError(each.where, "there is no job " + std::to_string(each.job) + " in the workload",
                     "name jobs by their numbers there");
  }
  return all;
}

}  // namespace ductile
