#include "batsim/server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "scheduling/parts.hpp"

namespace ductile {
namespace {

// What Batsim can do that the core knows of: it starts jobs at once, and kills them.
constexpr Capabilities kOfBatsim{.instant_start = true, .resizes_per_job = 0};

}  // namespace

BatsimServer::BatsimServer(std::shared_ptr<const Policy> policy, std::string from)
    : policy_(std::move(policy)), from_(std::move(from)) {
  const std::string what = policy_->portfolio() ? "that worlds can be looked ahead in"
                                                : lacking(kOfBatsim, policy_->traits.needs);
  if (!what.empty() || policy_->is_outside) {
    throw InputError({.field = "--policy"},
                     fmt::format("{} cannot decide in Batsim: {}", policy_->traits.settings,
                                 what.empty() ? "it is outside itself" : "it lacks " + what),
                     "take one that only starts jobs, as easy");
  }
}

void BatsimServer::need_beginning() const {
  if (core_) return;
  throw InputError({.field = from_}, "something happens before SIMULATION_BEGINS",
                   "start Batsim after its scheduler");
}

void BatsimServer::begin(const NodeSet& machines) {
  machines_.clear();
  for_each_node(machines, [&](std::uint32_t id) { machines_.push_back(id); });
  Platform platform;
  platform.nodes = static_cast<Nodes>(machines_.size());
  Rules rules;
  rules.identities = true;
  core_.emplace(platform, kOfBatsim, rules, policy_->traits);
  names_.clear();
  ids_.clear();
  calls_.clear();
}

// Of those that compute something.
NodeSet BatsimServer::nodes_of(const NodeSet& machines) const {
  NodeSet nodes;
  for (std::uint32_t node = 0; node < machines_.size(); ++node) {
    if (machines.contains(machines_[node])) nodes.insert(node, node);
  }
  return nodes;
}

NodeSet BatsimServer::machines_of(const NodeSet& nodes) const {
  NodeSet machines;
  for_each_node(nodes,
                [&](std::uint32_t node) { machines.insert(machines_[node], machines_[node]); });
  return machines;
}

void BatsimServer::hear(const BatsimNews& news, Time now) {
  using Kind = BatsimNews::Kind;
  if (news.kind == Kind::begins) return begin(news.nodes);
  need_beginning();
  switch (news.kind) {
    case Kind::ends:
      return core_.reset();
    case Kind::submitted: {
      const JobId id{static_cast<std::uint32_t>(names_.size())};
      if (!ids_.emplace(news.job, id).second) {
        throw InputError({.field = from_},
                         fmt::format("job '{}' is submitted twice", printable(news.job)),
                         "let each have its own id");
      }
      names_.push_back(news.job);
      ++jobs_;
      const std::string_view number = std::string_view(news.job).substr(news.job.find('!') + 1);
      core_->apply(
          now, event::Submitted{.job = {.name = parse_number<std::uint64_t>(number).value_or(jobs_),
                                        .user = news.user,
                                        .submitted = now,
                                        .walltime = news.walltime,
                                        .size = exactly(news.size),
                                        .preferred = news.size},
                                .adaptive = std::nullopt});
      return;
    }
    case Kind::completed: {
      const auto at = ids_.find(news.job);
      if (at == ids_.end()) return;  // of another workload than its own
      const EndState state = news.succeeded ? EndState::completed : EndState::failed;
      core_->apply(now, event::Ended{at->second, state, false});
      return;
    }
    case Kind::up:
    case Kind::down: {
      // What runs on a machine that becomes unavailable goes on in Batsim.
      const Health health = news.kind == Kind::up ? Health::up : Health::draining;
      core_->apply(now, event::NodesChanged{nodes_of(news.nodes), health});
      return;
    }
    case Kind::begins:
    case Kind::called:  // the timer sees to it
    case Kind::other:
      return;
  }
}

void BatsimServer::close(const BatsimMessage& message, BatsimWriter& answer) {
  const Time now = message.now;
  const auto write = [&](std::string_view type, const std::string& data) {
    answer.add(message.now_text, type, data);
  };
  calls_.erase(calls_.begin(), calls_.upper_bound(now));
  // What may be tried again at this very time is.
  do {
    if (core_->next_wake() <= now) core_->apply(now, event::TimerFired{});
    for (const Decision& decision : core_->close(now, *policy_)) {
      const std::string name =
          decision.job == JobId::none ? "" : nlohmann::json(names_[index(decision.job)]).dump();
      if (decision.kind == Decision::Kind::start) {
        write("EXECUTE_JOB", fmt::format(R"({{"job_id":{},"alloc":"{}"}})", name,
                                         to_string(machines_of(decision.after.nodes))));
      } else if (decision.kind == Decision::Kind::reject) {
        write("REJECT_JOB", fmt::format(R"({{"job_id":{}}})", name));
      } else if (decision.kind == Decision::Kind::cancel) {
        write("KILL_JOB", fmt::format(R"({{"job_ids":[{}]}})", name));
      }
    }
  } while (core_->next_wake() <= now);
  const Time wake = core_->next_wake();
  if (wake != kNever && calls_.insert(wake).second) {
    write("CALL_ME_LATER", fmt::format(R"({{"timestamp":{}}})", seconds_text(wake)));
  }
}

std::string BatsimServer::answer(std::string_view text) {
  const BatsimMessage message = parse_batsim_message(text, from_);
  if (message.news.empty()) need_beginning();
  for (const BatsimNews& news : message.news) hear(news, message.now);
  BatsimWriter answer;
  if (core_) close(message, answer);
  return answer.take(message.now_text);
}

}  // namespace ductile
