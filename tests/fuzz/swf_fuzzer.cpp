// Any bytes, read as a log by any rules, plain or compressed: they are a workload that holds what
// the reader promises, or an InputError.
//
// Readers: src/workload/swf.cpp src/workload/line_reader.cpp src/workload/compressed_file.cpp
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "workload/swf.hpp"

namespace {

using ductile::Duration;
using ductile::SwfHeader;
using ductile::SwfRules;
using ductile::Time;
using ductile::Workload;
using ductile::WorkloadJob;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

SwfRules rules_of(std::uint8_t first, std::uint8_t second) {
  SwfRules rules;
  if ((first & 1) != 0) rules.nodes = 8;
  if ((first & 2) != 0) rules.cores_per_node = 4;
  if ((first & 4) != 0) rules.size = SwfRules::Size::allocated;
  if ((first & 8) != 0) rules.min_runtime = ductile::whole_seconds(5);
  if ((first & 16) != 0) rules.drop_never_started = true;
  if ((first & 32) != 0) rules.extend_walltime = false;
  if ((first & 64) != 0) rules.clip = true;
  if ((first & 128) != 0) rules.partition = 1;
  if ((second & 1) != 0) rules.max_jobs = 3;
  if ((second & 2) != 0) rules.runtime_as_walltime = false;
  if ((second & 4) != 0) rules.cores_per_node = 0;  // refused
  if ((second & 32) != 0) rules.status = {SwfRules::Status::completed, SwfRules::Status::partial};
  if ((second & 64) != 0) rules.max_size = 6;
  if ((second & 128) != 0) {  // some of the jobs only
    rules.users = {1, 2};
    rules.groups = {1};
    rules.min_size = 2;
    rules.shortest = ductile::whole_seconds(2);
    rules.longest = ductile::whole_seconds(1000);
    rules.from = ductile::LogTime{0, (first & 1) != 0};
    rules.until = ductile::LogTime{1'000'000, (first & 1) != 0};
    rules.last_jobs = 3;
    rules.follows_preceding = true;
    if ((first & 1) != 0) rules.longest_think = ductile::whole_seconds(1200);
  }
  return rules;
}

void check(const Workload& workload, const SwfRules& rules) {
  Time last{};
  for (const WorkloadJob& job : workload.jobs) {
    require(job.submit >= last);
    last = job.submit;
    require(job.nodes > 0);
    require(rules.nodes == 0 || job.nodes <= rules.nodes);
    require(rules.max_size == 0 || job.nodes <= rules.max_size);
    require(job.nodes >= rules.min_size && job.runtime >= rules.shortest);
    require(rules.longest == Duration{} || job.runtime <= rules.longest);
    require(rules.users.empty() || std::ranges::count(rules.users, job.user) > 0);
    require(rules.groups.empty() || std::ranges::count(rules.groups, job.group) > 0);
    require(job.runtime > Duration{});
    require(job.runtime >= rules.min_runtime);
    require(job.walltime >= Duration{});
    require(!rules.runtime_as_walltime || job.walltime > Duration{});
    require(!rules.extend_walltime || !rules.runtime_as_walltime || job.walltime >= job.runtime);
  }
  require(rules.last_jobs == 0 || workload.jobs.size() <= rules.last_jobs);
  require(rules.max_jobs == 0 || workload.jobs.size() <= rules.max_jobs);
  std::uint32_t waits = 0;
  for (const ductile::Precedence& each : workload.precedences) {
    require(each.job >= waits && each.job < workload.jobs.size());
    require(each.on < workload.jobs.size() && each.think >= Duration{});
    waits = each.job;
  }
  require(rules.follows_preceding || rules.longest_think || workload.precedences.empty());
}

// What was read and is written is read again as the same.
void check_round_trip(const Workload& workload, const SwfHeader& header) {
  std::ostringstream out;
  ductile::write_swf(out, workload, header);
  SwfHeader header_again;
  const SwfRules as_it_is{
      .extend_walltime = false, .runtime_as_walltime = false, .follows_preceding = true};
  const Workload again = ductile::parse_swf(out.str(), "again", as_it_is, &header_again);
  require(again.jobs == workload.jobs);
  using ductile::Precedence;
  const auto is_of_log = [](const Precedence& each) { return each.from == Precedence::From::log; };
  auto row = again.precedences.begin();
  for (const Precedence& each : workload.precedences) {
    if (!is_of_log(each)) continue;
    require(row != again.precedences.end() && row->job == each.job && row->on == each.on);
    require(row->sets_submit == each.sets_submit && row->think == each.think);
    ++row;
  }
  require(row == again.precedences.end());
  require(header_again.max_nodes == header.max_nodes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const SwfRules rules = rules_of(data[0], data[1]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  SwfHeader header;
  std::optional<Workload> workload;
  try {
    workload = ductile::parse_swf(bytes, "fuzz", rules, &header);
    check(*workload, rules);
    check_round_trip(*workload, header);
  } catch (const ductile::InputError&) {
    require(!workload);  // what was accepted can be written and read
  }

  if ((data[1] & 8) != 0) {
    const ductile::MemoryFile file(bytes);
    const std::string path = (data[1] & 16) != 0 ? "no/such/file" : file.path();
    std::uint64_t done = 0;
    try {
      const Workload from_file = ductile::read_swf(
          path, rules, nullptr, [&](std::uint64_t now, std::uint64_t) { done = now; });
      require(workload && from_file.jobs == workload->jobs);
      require(done <= bytes.size());
    } catch (const ductile::InputError&) {
      require(!workload || (data[1] & 16) != 0);
    }
    try {
      const SwfHeader alone = ductile::read_swf_header(path);
      require(!workload || alone.notes == header.notes);
      require(alone.nodes(1).value_or(1) > 0);
    } catch (const ductile::InputError&) {
      require(!workload || (data[1] & 16) != 0);
    }
  }
  return 0;
}
