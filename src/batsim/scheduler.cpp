#include "batsim/scheduler.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"
#include "scheduling/core.hpp"
#include "scheduling/pass.hpp"

namespace ductile {
namespace {

// All of the workload's jobs are of one of Batsim's workloads, of this name.
constexpr std::string_view kBatsimWorkload = "w0";

std::string_view job_state(EndState state) {
  switch (state) {
    case EndState::completed:
      return "COMPLETED_SUCCESSFULLY";
    case EndState::timeout:
      return "COMPLETED_WALLTIME_REACHED";
    case EndState::cancelled:
      return "COMPLETED_KILLED";
    case EndState::failed:
    case EndState::node_fail:
      break;
  }
  return "COMPLETED_FAILED";
}

// What SIMULATION_BEGINS says of a machine, and of what of Batsim there is.
std::string beginning(Nodes nodes, const std::string& workload) {
  std::string machines;
  for (Nodes i = 0; i < nodes; ++i) {
    fmt::format_to(std::back_inserter(machines),
                   R"({}{{"id":{},"name":"node{}","state":"idle","properties":{{"role":""}},)"
                   R"("zone_properties":{{}}}})",
                   i > 0 ? "," : "", i, i);
  }
  return fmt::format(
      R"({{"nb_resources":{0},"nb_compute_resources":{0},"nb_storage_resources":0,)"
      R"("allow_compute_sharing":false,"allow_storage_sharing":false,)"
      R"("config":{{"redis-enabled":false,"redis-hostname":"","redis-port":0,"redis-prefix":"",)"
      R"("profiles-forwarded-on-submission":true,"dynamic-jobs-enabled":false,)"
      R"("dynamic-jobs-acknowledged":false,"profile-reuse-enabled":false,"sched-config":"",)"
      R"("forward-unknown-events":false}},"compute_resources":[{1}],"storage_resources":[],)"
      R"("workloads":{{"{2}":{3}}},"profiles":{{"{2}":{{}}}}}})",
      nodes, machines, kBatsimWorkload, nlohmann::json(printable(workload)).dump());
}

}  // namespace

// ---- Beginning and end --------------------------------------------------------------------------

void BatsimScheduler::prepare() {
  const bool any_barrier =
      std::ranges::any_of(workload().adaptive, [](const AdaptiveJob& job) { return job.barrier; });
  if (any_barrier) {
    fail("a scheduler for Batsim cannot be told of barriers", "leave barrier away from the jobs");
  }
  for (const WorkloadJob& job : workload().jobs) {
    if (runtimes_.emplace(job.name, job.runtime).second) continue;
    fail(fmt::format("two jobs are called {}", job.name),
         "Batsim knows jobs by their numbers: give each its own");
  }
}

void BatsimScheduler::greet(const Core& core) {
  nodes_ = core.state().platform.nodes;
  says_power_ = core.state().platform.says_what_jobs_draw();
  known_.resize(workload().jobs.size());
  news_.add(Time{}, "SIMULATION_BEGINS", beginning(nodes_, workload().name));
  exchange(Time{});
}

void BatsimScheduler::part(Time now) {
  const auto at = [&] { return std::max(now, ready_); };
  if (!news_.empty()) exchange(at());
  news_.add(at(), "SIMULATION_ENDS", "{}");
  exchange(at());
}

void BatsimScheduler::exchange(Time now) {
  BatsimReply reply = parse_batsim_reply(ask(news_.take(now)), name(), now, nodes_);
  // None of them is before one of those that wait: it is asked when all are done.
  std::ranges::move(reply.orders, std::back_inserter(orders_));
  ready_ = reply.now;
  for (const auto& [what, count] : reply.skipped) skipped_[what] += count;
}

// ---- What happens -------------------------------------------------------------------------------

std::string BatsimScheduler::id_of(JobId id, const JobSpec& job) const {
  const std::uint32_t lives = known_[index(id)].lives;
  std::string text = fmt::format("{}!{}", kBatsimWorkload, job.name);
  if (lives > 0) fmt::format_to(std::back_inserter(text), "#{}", lives);
  return text;
}

void BatsimScheduler::submit(Time now, JobId id, const Core& core) {
  const JobSpec& job = core.job(id).spec;
  const std::string name = id_of(id, job);
  ids_.emplace(name, id);
  known_[index(id)].where = Known::Where::waits;
  const std::string runtime = seconds_text(runtimes_.at(job.name));
  std::string more;
  if (job.walltime > Duration{}) more += ",\"walltime\":" + seconds_text(job.walltime);
  if (job.user != 0) more += fmt::format(",\"user\":{}", job.user);
  news_.add(now, "JOB_SUBMITTED",
            fmt::format(R"({{"job_id":"{0}","job":{{"id":"{0}","subtime":{1},"res":{2},)"
                        R"("profile":"{3}"{4}}},"profile":{{"type":"delay","delay":{3}}}}})",
                        name, seconds_text(now), job.preferred, runtime, more));
}

void BatsimScheduler::on_event(Time now, const Event& event, bool taken, const Core& core) {
  if (!taken) return;
  if (std::holds_alternative<event::Submitted>(event)) {
    const JobId id{came_++};
    if (core.state().jobs.contains(id)) submit(now, id, core);  // else it is rejected
    if (came_ == workload().jobs.size()) {
      news_.add(now, "NOTIFY", R"({"type":"no_more_static_job_to_submit"})");
    }
  } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
    if (!ended->requeue) return;
    Known& known = known_[index(ended->job)];
    ++known.lives;
    submit(now, ended->job, core);
  } else if (const auto* changed = std::get_if<event::NodesChanged>(&event)) {
    news_.add(now, "NOTIFY",
              fmt::format(R"({{"type":"event_machine_{}","resources":"{}"}})",
                          changed->health == Health::up ? "available" : "unavailable",
                          to_string(changed->nodes)));
  }
}

void BatsimScheduler::on_end(Time now, JobId id, const WorkloadJob& job, EndState state,
                             bool /*requeued*/, const Core& core) {
  Known& known = known_[index(id)];
  if (std::exchange(known.where, Known::Where::over) != Known::Where::runs) return;
  const Job& its = core.job(id);
  const std::string name = id_of(id, its.spec);
  news_.add(now, "JOB_COMPLETED",
            fmt::format(R"({{"job_id":"{}","job_state":"{}","return_code":{},"alloc":"{}"}})", name,
                        job_state(state), state == EndState::completed ? 0 : -1,
                        to_string(its.holding.nodes)));
  for (Killing& killing : killings_) {
    if (killing.open.erase(id) == 0) continue;
    if (state == EndState::cancelled) {
      const double progress =
          to_seconds(now - its.started) / std::max(to_seconds(job.runtime), 1e-6);
      fmt::format_to(std::back_inserter(killing.progress),
                     R"({}"{}":{{"profile":"{}","progress":{:.6f}}})",
                     killing.progress.empty() ? "" : ",", name, seconds_text(job.runtime),
                     std::clamp(progress, 0.0, 1.0));
    }
    if (killing.open.empty()) tell_killed(now, killing);
  }
  std::erase_if(killings_, [](const Killing& killing) { return killing.open.empty(); });
}

void BatsimScheduler::tell_killed(Time now, const Killing& killing) {
  news_.add(now, "JOB_KILLED",
            fmt::format(R"({{"job_ids":{},"job_progress":{{{}}}}})",
                        nlohmann::json(killing.jobs).dump(), killing.progress));
}

void BatsimScheduler::on_close(Time now, const Core& core) {
  joules_ += watts_ * to_seconds(now - std::exchange(joules_at_, now));
  watts_ = static_cast<double>(core.state().power_mw()) / 1000;
}

// ---- What it wants ------------------------------------------------------------------------------

void BatsimScheduler::work(Pass& pass) {
  const Time now = pass.now();
  // Batsim knows nothing of them.
  for (const Request& request : pass.requests()) pass.deny(request.id, {Why::outside});
  while (true) {
    while (!orders_.empty() && orders_.front().at <= now) {
      const BatsimOrder order = std::move(orders_.front());
      orders_.pop_front();
      carry_out(pass, order);
    }
    if (now < ready_) break;
    for (; !calls_.empty() && calls_.top() <= now; calls_.pop()) {
      news_.add(now, "REQUESTED_CALL", "{}");
    }
    if (news_.empty()) break;
    count_question(now);
    exchange(now);
  }
  if (const Time wake = next(); wake != kNever) pass.wake_by(wake);
}

Time BatsimScheduler::next() const {
  Time next = orders_.empty() ? kNever : orders_.front().at;
  if (!news_.empty()) next = std::min(next, ready_);
  if (!calls_.empty()) next = std::min(next, std::max(calls_.top(), ready_));
  return next;
}

JobId BatsimScheduler::find(const std::string& id) const {
  const auto at = ids_.find(id);
  if (at == ids_.end()) {
    fail(fmt::format("the scheduler names a job '{}', and none of that name was submitted",
                     printable(id)),
         "let it name jobs as they were submitted");
  }
  return at->second;
}

void BatsimScheduler::carry_out(Pass& pass, const BatsimOrder& order) {
  switch (order.kind) {
    case BatsimOrder::Kind::execute:
      return execute(pass, order);
    case BatsimOrder::Kind::reject: {
      const JobId id = find(order.jobs.front());
      if (!pass.knows(id) || !pass.reject(id, {Why::outside})) {
        fail(fmt::format("at {} s the scheduler rejects job {}, which does not wait",
                         seconds_text(pass.now()), order.jobs.front()),
             "let it reject jobs that wait");
      }
      known_[index(id)].where = Known::Where::over;
      return;
    }
    case BatsimOrder::Kind::kill:
      return kill(pass, order);
    case BatsimOrder::Kind::call:
      calls_.push(order.call);
      return;
    case BatsimOrder::Kind::energy: {
      if (!says_power_) {
        fail("the scheduler asks how much energy was used, and nobody says what nodes draw",
             "give --node-power, or a platform with idle_w and busy_w");
      }
      const double joules = joules_ + watts_ * to_seconds(pass.now() - joules_at_);
      news_.add(pass.now(), "ANSWER", fmt::format(R"({{"consumed_energy":{:.6f}}})", joules));
      return;
    }
  }
}

void BatsimScheduler::execute(Pass& pass, const BatsimOrder& order) {
  const std::string& name = order.jobs.front();
  const JobId id = find(name);
  Known& known = known_[index(id)];
  if (known.where != Known::Where::waits || id_of(id, pass.job(id).spec) != name) {
    fail(fmt::format("at {} s the scheduler starts job {}, which does not wait: it {}",
                     seconds_text(pass.now()), name,
                     known.where == Known::Where::runs ? "runs" : "is over"),
         "let it start each job once");
  }
  if (const Time at = pass.job(id).not_before; at > pass.now()) {
    // It waits again since a moment ago.
    BatsimOrder later = order;
    later.at = at;
    orders_.insert(std::ranges::upper_bound(orders_, at, {}, &BatsimOrder::at), std::move(later));
    return;
  }
  // Of evolving jobs it knows one size.
  const JobSpec& spec = pass.job(id).spec;
  const Nodes n = order.nodes.count();
  const bool fits = sizes_at_start(spec.type) || n == spec.preferred;
  if (!fits || !pass.start(id, exactly(n), {Why::outside}, {.on = &order.nodes})) {
    fail(
        fmt::format("at {} s the scheduler starts job {} on nodes {}: {}", seconds_text(pass.now()),
                    name, to_string(order.nodes), why_not(pass, id, order.nodes)),
        "let it start jobs on nodes that are idle, of as many as they ask for");
  }
  known.where = Known::Where::runs;
}

std::string BatsimScheduler::why_not(const Pass& pass, JobId id, const NodeSet& nodes) const {
  const JobSpec& spec = pass.job(id).spec;
  const Nodes n = nodes.count();
  if (!sizes_at_start(spec.type) && n != spec.preferred) {
    return fmt::format("it asks for {} nodes, and these are {}", spec.preferred, n);
  }
  if (!spec.size.contains(n)) {
    return fmt::format("it may have {} to {} nodes, and these are {}", spec.size.min, spec.size.max,
                       n);
  }
  for (const JobId other : pass.running()) {
    const NodeSet held = intersection(pass.job(other).holding.nodes, nodes);
    if (held.empty()) continue;
    return fmt::format("{} {} held by job {}", to_string(held), held.count() == 1 ? "is" : "are",
                       id_of(other, pass.job(other).spec));
  }
  return "they are not all up and not all for this job";
}

void BatsimScheduler::kill(Pass& pass, const BatsimOrder& order) {
  Killing killing{.jobs = order.jobs, .open = {}, .progress = {}};
  for (const std::string& name : order.jobs) {
    const JobId id = find(name);
    const Known& known = known_[index(id)];
    if (known.where == Known::Where::waits && id_of(id, pass.job(id).spec) == name) {
      fail(fmt::format("at {} s the scheduler kills job {}, which waits", seconds_text(pass.now()),
                       name),
           "let it reject that job");
    }
    const bool runs = known.where == Known::Where::runs && id_of(id, pass.job(id).spec) == name;
    if (runs) killing.open.insert(id);
  }
  for (const JobId id : killing.open) {
    const bool is_killed = std::ranges::any_of(
        killings_, [&](const Killing& other) { return other.open.contains(id); });
    if (is_killed || pass.stop(id, Stop::cancel, {Why::outside})) continue;
    fail(fmt::format("at {} s the scheduler kills job {}, which cannot be killed now",
                     seconds_text(pass.now()), id_of(id, pass.job(id).spec)),
         "let it wait a moment");
  }
  if (killing.open.empty()) return tell_killed(pass.now(), killing);
  killings_.push_back(std::move(killing));
}

// ---- The policy ---------------------------------------------------------------------------------

BatsimPolicy::BatsimPolicy(const Parameters& parameters)
    : OutsidePolicy(parameters, "a scheduler for Batsim", std::make_unique<BatsimScheduler>()) {}

PolicyInfo batsim_policy() {
  return {.name = "batsim",
          .summary = "a scheduler made for Batsim, in a process of its own",
          .source = "Batsim's protocol, of its versions 3 and 4",
          .parameters =
              outside_parameters("tcp://127.0.0.1:28000", "where it listens, as ZeroMQ writes it"),
          .make = make_policy<BatsimPolicy>};
}

}  // namespace ductile
