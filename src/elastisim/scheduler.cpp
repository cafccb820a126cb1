#include "elastisim/scheduler.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"
#include "scheduling/core.hpp"
#include "scheduling/pass.hpp"

namespace ductile {
namespace {

constexpr Duration kTolerance = Duration{1000};  // of the shortest time between two questions

// As a number that is no whole one for those who read it.
std::string real(std::string text) {
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}
std::string real(Time time) { return real(seconds_text(time)); }
std::string real(Duration time) { return real(seconds_text(time)); }

NodeSet set_of(const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> sorted = nodes;
  std::ranges::sort(sorted);
  NodeSet set;
  for (const std::uint32_t node : sorted) {
    if (!set.parts.empty() && set.parts.back().last + 1 == node) {
      set.parts.back().last = node;
    } else {
      set.parts.push_back({node, node});
    }
  }
  return set;
}

template <class List, class Write>
void write_list(std::string& text, const List& list, Write write) {
  text += '[';
  bool is_first = true;
  for (const auto& each : list) {
    if (!std::exchange(is_first, false)) text += ',';
    write(each);
  }
  text += ']';
}

}  // namespace

// ---- Beginning and end --------------------------------------------------------------------------

void ElastisimScheduler::prepare() {
  if (!study_) fail("there is no study of ElastiSim", "give one with --elastisim");
  const std::vector<WorkloadJob>& jobs = workload().jobs;
  bool is_its = jobs.size() == study_->jobs.size();
  for (std::size_t i = 0; is_its && i < jobs.size(); ++i) {
    const bool is_rigid = jobs[i].adaptive == WorkloadJob::kRigid;
    const JobType type = is_rigid ? JobType::rigid : workload().adaptive[jobs[i].adaptive].type;
    is_its = jobs[i].name == i && type == study_->jobs[i].type;
  }
  if (!is_its) {
    fail("the jobs are not those of the study, which the scheduler was made for",
         "leave away the options that change them");
  }
}

void ElastisimScheduler::greet(const Core& core) {
  jobs_.resize(study_->jobs.size());
  nodes_.resize(core.state().platform.nodes);
  for (Number node = 0; node < nodes_.size(); ++node) changed_nodes_.push_back(node);
}

void ElastisimScheduler::part(Time) { tell(elastisim_farewell()); }

// ---- What happens -------------------------------------------------------------------------------

void ElastisimScheduler::on_event(Time, const Event& event, bool taken, const Core&) {
  if (!taken || !std::holds_alternative<event::Submitted>(event)) return;
  news_.push_back({ElastisimCall::job_submit, submitted_++});
}

void ElastisimScheduler::on_end(Time, JobId id, const WorkloadJob&, EndState state, bool,
                                const Core&) {
  if (state == EndState::cancelled) return;  // the scheduler wanted that
  news_.push_back(
      {state == EndState::completed ? ElastisimCall::job_completed : ElastisimCall::job_killed,
       index(id)});
}

void ElastisimScheduler::on_point(Time, JobId id, std::uint64_t iterations, Nodes wanted,
                                  const Core&) {
  const std::uint64_t first = study_->jobs[index(id)].first;
  jobs_[index(id)].iterations = iterations - std::min(iterations, first);
  news_.push_back({wanted > 0 ? ElastisimCall::evolving_request : ElastisimCall::scheduling_point,
                   index(id), wanted});
}

void ElastisimScheduler::note(Number job) {
  if (!std::exchange(jobs_[job].is_news, true)) changed_jobs_.push_back(job);
}

ElastisimScheduler::Node& ElastisimScheduler::changed(Number node) {
  Node& its = nodes_[node];
  if (!std::exchange(its.is_news, true)) changed_nodes_.push_back(node);
  return its;
}

void ElastisimScheduler::expect(Time now, Number node, Number job) {
  Node& its = changed(node);
  if (its.runs != kNobody && its.runs != job) {
    refuse(now, job, fmt::format("on node {}, which job {} has", node, its.runs),
           "let it take nodes that are free");
  }
  if (its.awaits != kNobody && its.awaits != job) {
    refuse(now, job, fmt::format("on node {}, which is reserved for job {}", node, its.awaits),
           "let it take nodes that are free");
  }
  its.awaits = job;
  if (its.state == Node::State::free) its.state = Node::State::reserved;
}

void ElastisimScheduler::forget(Number node, Number job) {
  if (nodes_[node].awaits != job) return;
  Node& its = changed(node);
  its.awaits = kNobody;
  if (its.state == Node::State::reserved) its.state = Node::State::free;
}

void ElastisimScheduler::leave(Number node) {
  Node& its = changed(node);
  its.runs = kNobody;
  its.state = its.awaits == kNobody ? Node::State::free : Node::State::reserved;
}

void ElastisimScheduler::end(Time now, Number number, State state) {
  Known& job = jobs_[number];
  for (const Number node : job.assigned) forget(node, number);
  for (const Number node : job.executing) leave(node);
  job.state = state;
  job.end = now;
  if (state == State::completed) job.iterations = study_->jobs[number].iterations;
  note(number);
}

void ElastisimScheduler::end_reconfigurations(Time now) {
  while (!reconfigurations_.empty() && reconfigurations_.begin()->first <= now) {
    const Number number = reconfigurations_.begin()->second;
    reconfigurations_.erase(reconfigurations_.begin());
    if (jobs_[number].state != State::reconfigures) continue;
    jobs_[number].state = State::runs;
    note(number);
  }
}

// ---- What it hears ------------------------------------------------------------------------------

void ElastisimScheduler::write_job(std::string& text, Number number) const {
  const Known& job = jobs_[number];
  const Time submit = workload().jobs[number].submit;
  const bool over = job.is_over();
  const auto out = std::back_inserter(text);
  fmt::format_to(out, R"({{{},"state":{},"submit_time":{})", job.fixed, static_cast<int>(job.state),
                 real(submit));
  const std::string start = job.has_started ? real(job.start) : "-1.0";
  fmt::format_to(out, R"(,"start_time":{},"wait_time":{})", start,
                 job.has_started ? real(job.start - submit) : "-1.0");
  if (over) {
    const Duration span = job.end - (job.has_started ? job.start : Time{whole_seconds(-1)});
    fmt::format_to(out, R"(,"end_time":{},"makespan":{},"turnaround_time":{})", real(job.end),
                   real(span), real(job.end - submit));
  } else {
    text += R"(,"end_time":-1.0,"makespan":-1.0,"turnaround_time":-1.0)";
  }
  text += R"(,"assigned_nodes":)";
  write_list(text, job.assigned, [&](Number node) { fmt::format_to(out, "{}", node); });
  fmt::format_to(out, R"(,"assigned_num_gpus_per_node":{},"completed_phases":{}}})", job.gpus,
                 job.iterations);
}

void ElastisimScheduler::write_node(std::string& text, Number number) const {
  const Node& node = nodes_[number];
  const auto out = std::back_inserter(text);
  fmt::format_to(out, R"({{"id":{},"type":{},"state":{},"assigned_jobs":[)", number,
                 study_->node_type, static_cast<int>(node.state));
  if (node.runs != kNobody) fmt::format_to(out, "{}", node.runs);
  text += R"(],"gpus":[)";
  for (std::uint32_t gpu = 0; gpu < study_->gpus; ++gpu) {
    fmt::format_to(out, R"({}{{"id":{},"state":0}})", gpu == 0 ? "" : ",", gpu);
  }
  text += "]}";
}

std::string ElastisimScheduler::question(Time now, const News& news) {
  std::string text = elastisim_question(real(now), news.call);
  const auto out = std::back_inserter(text);
  if (news.call != ElastisimCall::periodic) fmt::format_to(out, R"(,"job_id":{})", news.job);
  if (news.call == ElastisimCall::evolving_request) {
    fmt::format_to(out, R"(,"evolving_request":{})", news.wanted);
  }
  text += R"(,"jobs":)";
  write_list(text, changed_jobs_, [&](Number job) { write_job(text, job); });
  text += R"(,"nodes":)";
  write_list(text, changed_nodes_, [&](Number node) { write_node(text, node); });
  if (study_->forwards_io) {
    fmt::format_to(out, R"(,"pfs_read_bw":{:.17g},"pfs_write_bw":{:.17g})",
                   study_->read_bytes_per_s, study_->write_bytes_per_s);
  }
  text += '}';
  for (const Number job : changed_jobs_) jobs_[job].is_news = false;
  for (const Number node : changed_nodes_) nodes_[node].is_news = false;
  changed_jobs_.clear();
  changed_nodes_.clear();
  return text;
}

// ---- What it wants ------------------------------------------------------------------------------

void ElastisimScheduler::work(Pass& pass) {
  const Time now = pass.now();
  const Duration interval = study_->interval;
  if (interval > Duration{} && next_period_ == kNever) {
    next_period_ = Time{interval * ((now.time_since_epoch() + interval - kTick) / interval)};
  }
  while (!news_.empty()) {
    const News news = news_.front();
    news_.pop_front();
    if (!handle(pass, news)) continue;
    pass.wake_by(now);  // the world acts, and what is left is told then
    return;
  }
  if (next_period_ <= now) {
    next_period_ = later(now, interval);
    if (ask_about(pass, {})) pass.wake_by(now);
  }
  if (next_period_ != kNever) pass.wake_by(next_period_);
}

bool ElastisimScheduler::handle(Pass& pass, const News& news) {
  const Time now = pass.now();
  Known& job = jobs_[news.job];
  if (job.is_over()) return false;  // it was killed at this very moment
  switch (news.call) {
    case ElastisimCall::job_submit: {
      const ElastisimStudy::Job& its = study_->jobs[news.job];
      const bool is_rigid = its.type == JobType::rigid;
      job.fixed = fmt::format(R"("id":{},"type":{},"walltime":{})", news.job,
                              static_cast<int>(its.type), real(seconds(its.walltime_s)));
      const auto out = std::back_inserter(job.fixed);
      if (is_rigid) {
        fmt::format_to(out, R"(,"num_nodes":{},"num_gpus_per_node":{})", its.nodes.min,
                       its.gpus_max);
      } else {
        fmt::format_to(out, R"(,"num_nodes_min":{},"num_nodes_max":{})", its.nodes.min,
                       its.nodes.max);
        fmt::format_to(out, R"(,"num_gpus_per_node_min":{},"num_gpus_per_node_max":{})",
                       its.gpus_min, its.gpus_max);
      }
      fmt::format_to(out, R"(,"total_phase_count":{})", its.iterations);
      if (!its.arguments.empty()) fmt::format_to(out, R"(,"arguments":{})", its.arguments);
      if (!its.attributes.empty()) fmt::format_to(out, R"(,"attributes":{})", its.attributes);
      note(news.job);
      return study_->on_submit && ask_about(pass, news);
    }
    case ElastisimCall::job_completed:
    case ElastisimCall::job_killed: {
      const bool completed = news.call == ElastisimCall::job_completed;
      end(now, news.job, completed ? State::completed : State::killed);
      return study_->on_finalize && ask_about(pass, news);
    }
    case ElastisimCall::scheduling_point:
      note(news.job);
      end_reconfigurations(now);
      if (study_->on_scheduling_point) return ask_about(pass, news);
      if (job.state != State::to_reconfigure) return false;
      reconfigure(pass, news.job);
      if (study_->on_reconfiguration) {
        news_.push_front({ElastisimCall::reconfiguration, news.job});
      }
      return true;
    case ElastisimCall::evolving_request:
      note(news.job);
      end_reconfigurations(now);
      return ask_about(pass, news);
    case ElastisimCall::reconfiguration:
    case ElastisimCall::periodic:
      return ask_about(pass, news);
  }
  return false;
}

// True: the world has to act.
bool ElastisimScheduler::ask_about(Pass& pass, const News& news) {
  const Time now = pass.now();
  const bool requests = news.call == ElastisimCall::evolving_request;
  const bool waits = requests || news.call == ElastisimCall::scheduling_point;
  const auto deny = [&] {
    for (const Request& request : pass.requests()) {
      if (index(request.job) == news.job) return (void)pass.deny(request.id, {Why::outside});
    }
  };
  const Duration shortest = study_->min_interval;
  if (last_question_ && shortest > Duration{} && now - *last_question_ < shortest - kTolerance) {
    if (requests) deny();
    return false;
  }
  end_reconfigurations(now);
  count_question(now);
  const std::string answer = ask(question(now, news));
  last_question_ = now;
  const auto orders =
      parse_elastisim_reply(answer, name(), submitted_, static_cast<Nodes>(nodes_.size()));
  bool kills_it = false;
  for (const ElastisimOrder& order : orders) {
    if (jobs_[order.job].is_over()) {
      refuse(now, order.job, "which is over", "let it change jobs that wait or run");
    }
    if (!order.kill) assign(now, order);
    kills_it = kills_it || (order.kill && waits && order.job == news.job);
  }
  bool acts = false;
  if (kills_it) {
    acts = kill(pass, news.job);
  } else if (waits && jobs_[news.job].state == State::to_reconfigure) {
    reconfigure(pass, news.job);
    acts = true;
  } else if (requests) {
    deny();
  }
  for (const ElastisimOrder& order : orders) {
    const Known& job = jobs_[order.job];
    if (order.kill) {
      if (!job.is_over()) acts = kill(pass, order.job) || acts;
    } else if (job.state == State::pending && !job.assigned.empty()) {
      start(pass, order.job);
    }
  }
  return acts;
}

void ElastisimScheduler::refuse(Time now, Number job, const std::string& what,
                                const std::string& remedy) const {
  fail(fmt::format("at {} s the scheduler wants job {} {}", seconds_text(now), job, what), remedy);
}

void ElastisimScheduler::check_assignment(Time now, Number number,
                                          const ElastisimOrder& order) const {
  const ElastisimStudy::Job& its = study_->jobs[number];
  const Known& job = jobs_[number];
  const auto n = static_cast<Nodes>(order.nodes.size());
  const bool changes = its.type != JobType::rigid && its.type != JobType::moldable;
  if (job.state != State::pending && !changes) {
    refuse(now, number, "on other nodes while it runs",
           "let it change malleable, evolving and adaptive jobs");
  }
  if (!its.nodes.contains(n)) {
    const std::string sizes = its.nodes.min == its.nodes.max
                                  ? std::to_string(its.nodes.min)
                                  : fmt::format("{} to {}", its.nodes.min, its.nodes.max);
    refuse(now, number, fmt::format("on {} nodes, and it may have {}", n, sizes),
           "let it assign as many as the job may have");
  }
  if (its.type != JobType::rigid && order.gpus.value_or(its.gpus_max) != its.gpus_max) {
    refuse(now, number,
           fmt::format("with {} GPUs of each node; here it has num_gpus_per_node_max: {}",
                       *order.gpus, its.gpus_max),
           "let it assign as many, by assign_num_gpus_per_node");
  }
}

void ElastisimScheduler::assign(Time now, const ElastisimOrder& order) {
  const Number number = order.job;
  Known& job = jobs_[number];
  check_assignment(now, number, order);
  for (const Number node : job.assigned) forget(node, number);
  job.assigned = order.nodes;
  job.gpus = study_->jobs[number].type == JobType::rigid ? 0 : order.gpus.value_or(0);
  if (job.state == State::pending) return;
  for (const Number node : job.assigned) expect(now, node, number);
  const bool is_same = set_of(job.assigned) == set_of(job.executing);
  if (job.state == State::runs && !is_same) {
    job.state = State::to_reconfigure;
    note(number);
  } else if (job.state == State::to_reconfigure && is_same) {
    job.state = State::runs;
    note(number);
  }
}

void ElastisimScheduler::start(Pass& pass, Number number) {
  Known& job = jobs_[number];
  const Time now = pass.now();
  for (const Number node : job.assigned) {
    const Node& its = nodes_[node];
    const Number other = its.runs != kNobody ? its.runs : its.awaits;
    if (other == kNobody) continue;
    refuse(now, number,
           fmt::format("on node {}, which {} job {}", node,
                       its.runs != kNobody ? "is held by" : "is reserved for", other),
           "let it take nodes that are free");
  }
  const NodeSet nodes = set_of(job.assigned);
  if (!pass.start(JobId{number}, exactly(nodes.count()), {Why::outside}, {.on = &nodes})) {
    refuse(now, number, fmt::format("on nodes {}, which is not possible", to_string(nodes)),
           "let it take nodes that are free");
  }
  job.state = State::runs;
  job.has_started = true;
  job.start = now;
  job.executing = job.assigned;
  for (const Number node : job.executing) {
    Node& its = changed(node);
    its.runs = number;
    its.state = Node::State::allocated;
  }
  note(number);
}

// Where it is now.
void ElastisimScheduler::reconfigure(Pass& pass, Number number) {
  Known& job = jobs_[number];
  const JobId id{number};
  const Time now = pass.now();
  const NodeSet nodes = set_of(job.assigned);
  const Sources sources{.on = &nodes};
  const auto requests = pass.requests();
  const auto its = std::ranges::find(requests, id, &Request::job);
  const bool is_done = its != requests.end()
                           ? pass.grant(its->id, {Why::outside}, sources)
                           : pass.resize(id, exactly(nodes.count()), {Why::outside}, sources);
  if (!is_done) {
    refuse(now, number, fmt::format("on nodes {}, which is not possible", to_string(nodes)),
           "let it take nodes that are free");
  }
  const std::vector<Number> before = std::exchange(job.executing, job.assigned);
  for (const Number node : job.executing) {
    forget(node, number);
    Node& taken = changed(node);
    taken.runs = number;
    taken.state = Node::State::allocated;
  }
  for (const Number node : before) {
    if (!nodes.contains(node)) leave(node);
  }
  job.state = State::reconfigures;
  reconfigurations_.emplace(
      later(now, seconds(study_->jobs[number].reconfiguration_s(nodes.count()))), number);
  note(number);
}

bool ElastisimScheduler::kill(Pass& pass, Number number) {
  const JobId id{number};
  const bool waits = jobs_[number].state == State::pending;
  const bool is_over = !pass.knows(id);  // at this very moment
  if (waits ? !pass.reject(id, {Why::outside})
            : !is_over && !pass.stop(id, Stop::cancel, {Why::outside})) {
    refuse(pass.now(), number, "killed, which is not possible now", "let it wait a moment");
  }
  end(pass.now(), number, State::killed);
  return !waits && !is_over;
}

// ---- The policy ---------------------------------------------------------------------------------

ElastisimPolicy::ElastisimPolicy(const Parameters& parameters)
    : OutsidePolicy(parameters, "a scheduler for ElastiSim",
                    std::make_unique<ElastisimScheduler>()),
      remote_(parameters.choice("remote") == "yes") {
  wants.points = true;
}

PolicyInfo elastisim_scheduler_policy() {
  PolicyInfo info{
      .name = "elastisim-scheduler",
      .summary = "a scheduler made for ElastiSim, in a process of its own",
      .source = "ElastiSim's protocol, of its version 26c03fb",
      .parameters = outside_parameters("study",
                                       "where it connects to, as ZeroMQ writes it; study: "
                                       "zmq_url of its configuration"),
      .make = make_policy<ElastisimPolicy>};
  info.parameters.push_back({.name = "remote",
                             .type = ParameterType::choice,
                             .fallback = "no",
                             .choices = {"no", "yes"},
                             .summary = "may a scheduler on another machine connect"});
  return info;
}

}  // namespace ductile
