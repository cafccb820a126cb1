#include "support/fake_slurm.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "slurm/submitted.hpp"

namespace ductile::testing {
namespace {

constexpr double kUnheard = 0.03;     // a call that does not come
constexpr double kUnanswered = 0.03;  // one that is done, and nobody hears of it
constexpr double kRefused = 0.05;
constexpr Duration kRemembered = whole_seconds(60);  // a job that is over

}  // namespace

FakeSlurm::FakeSlurm(std::uint64_t seed, Nodes nodes, const MachineClocks& clocks)
    : draws_(seed, Stream::test, 100), clocks_(clocks) {
  is = {.version = "22.05.8",
        .cluster = "fake",
        .keeps_accounts = draws_.chance(0.8),
        .permits_expansion = true,
        .is_exclusive = true,
        .holds_submissions = true,
        .default_time = whole_seconds(3600)};
  for (Nodes i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    is.nodes.push_back(name);
    nodes_[name] = {.name = name, .cpus = 4, .memory_mb = 4000};
  }
}

/// A call comes in.
void FakeSlurm::hear(bool may_refuse) {
  live();
  if (is_away_) throw SlurmError("it is away", true);
  if (is_kind_) return;
  if (draws_.chance(kUnheard)) {
    ++figures_.unheard;
    throw SlurmError("nobody has heard it", true);
  }
  if (may_refuse && draws_.chance(kRefused)) {
    ++figures_.refused;
    throw SlurmError("it is refused", false);
  }
}

/// It is done.
void FakeSlurm::answer() {
  has_changed_ = true;
  if (is_kind_ || !draws_.chance(kUnanswered)) return;
  ++figures_.unanswered;
  throw SlurmError("the answer is lost", true);
}

SlurmFacts FakeSlurm::facts() {
  hear(false);
  return is;
}

std::vector<SlurmNode> FakeSlurm::nodes() {
  hear(false);
  std::vector<SlurmNode> nodes;
  for (const auto& [name, node] : nodes_) nodes.push_back(node);
  return nodes;
}

std::optional<std::vector<SlurmJob>> FakeSlurm::jobs() {
  hear(false);
  if (!has_changed_) return std::nullopt;
  has_changed_ = false;
  std::vector<SlurmJob> jobs;
  for (const auto& [number, its] : jobs_) jobs.push_back(its.job);
  return jobs;
}

bool FakeSlurm::is_free(const std::string& node) const {
  return nodes_.at(node).health == Health::up &&
         std::ranges::none_of(jobs_, [&](const auto& entry) {
           const auto& has = entry.second.job.nodes;
           return std::ranges::find(has, node) != has.end();
         });
}

FakeSlurm::Its& FakeSlurm::find(std::uint64_t number) {
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) throw SlurmError("there is no such job", false);
  return found->second;
}

void FakeSlurm::start(const SlurmStart& what) {
  hear();
  Its& its = find(what.number);
  if (its.job.state != SlurmJob::State::pending) {
    if (its.job.has_nodes()) throw SlurmError("it runs", false);
    throw SlurmError("it is over", false);
  }
  if (what.nodes.empty()) complain(fmt::format("job {} is to start on no nodes", what.number));
  its.job.required = what.nodes;
  its.job.least = its.job.most = static_cast<Nodes>(what.nodes.size());
  if (what.limit > Duration{}) its.job.limit = what.limit;
  its.job.is_held = false;
  its.starts_at = now() + seconds(draws_.uniform(0, 1));
  answer();
}

void FakeSlurm::hold(std::uint64_t number, Nodes least, Nodes most,
                     const std::vector<std::string>& required, const std::string& comment) {
  hear();
  Its& its = find(number);
  if (its.job.state != SlurmJob::State::pending) throw SlurmError("it does not wait", false);
  its.job.is_held = true;
  its.job.least = least;
  its.job.most = most;
  its.job.required = required;
  if (!comment.empty()) its.job.comment = comment;
  its.job.reason = "JobHeldUser";
  its.starts_at = kNever;
  answer();
}

void FakeSlurm::release(std::uint64_t number) {
  hear();
  Its& its = find(number);
  if (its.job.state != SlurmJob::State::pending) throw SlurmError("it does not wait", false);
  its.job.is_held = false;
  its.starts_at = now();
  answer();
}

void FakeSlurm::keep(std::uint64_t number, const std::vector<std::string>& nodes) {
  hear();
  Its& its = find(number);
  if (its.job.state != SlurmJob::State::running) throw SlurmError("it does not run", false);
  const std::set<std::string> kept(nodes.begin(), nodes.end());
  if (!kept.contains(its.job.batch_host)) throw SlurmError("its batch host cannot go", false);
  for (const std::string& node : nodes) {
    if (std::ranges::find(its.job.nodes, node) == its.job.nodes.end()) {
      throw SlurmError("it does not have these nodes", false);
    }
  }
  for (const std::string& node : its.used) {
    if (!kept.contains(node)) {
      complain(fmt::format("processes of job {} on {} are killed", number, node));
    }
  }
  its.job.nodes.assign(kept.begin(), kept.end());
  ++figures_.shrunk;
  answer();
}

void FakeSlurm::grow(const SlurmJob& job, const std::vector<std::string>& nodes, std::uint64_t) {
  hear();
  Its& its = find(job.number);
  if (its.job.state != SlurmJob::State::running) throw SlurmError("it does not run", false);
  for (const std::string& node : nodes) {
    if (!is_free(node)) throw SlurmError("its nodes are busy", false);
  }
  its.job.nodes.insert(its.job.nodes.end(), nodes.begin(), nodes.end());
  std::ranges::sort(its.job.nodes);
  ++figures_.grown;
  answer();
}

void FakeSlurm::end(std::uint64_t number, bool requeue) {
  hear();
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return;
  Its& its = found->second;
  if (its.job.state == SlurmJob::State::pending) {
    if (!requeue) finish(its, EndState::cancelled);
  } else if (its.job.state == SlurmJob::State::running && requeue) {
    its.job.state = SlurmJob::State::pending;
    its.job.nodes.clear();
    its.used.clear();
    its.over_at = kNever;
    its.starts_at = now() + whole_seconds(120);
    ++figures_.requeued;
  } else if (its.job.state == SlurmJob::State::running) {
    its.job.end = EndState::cancelled;
    its.job.state = SlurmJob::State::completing;
    its.over_at = now() + seconds(draws_.uniform(0, 2));
  }
  answer();
}

void FakeSlurm::set_limit(std::uint64_t number, Duration limit) {
  hear();
  find(number).job.limit = limit;
  answer();
}

void FakeSlurm::split(std::uint64_t, std::uint32_t) { hear(); }

void FakeSlurm::be_kind() {
  is_kind_ = true;
  is_away_ = false;
  for (auto& [name, node] : nodes_) node.health = Health::up;
  for (auto& [number, its] : jobs_) {
    const bool is_over = its.job.state == SlurmJob::State::over;
    if (its.job.partition != "adaptive" && !is_over) finish(its, EndState::completed);
    if (const std::string comment = released(its.job); !comment.empty()) its.job.comment = comment;
    if (its.job.reason == kHeldByOperator) its.job.reason = "JobHeldUser";
  }
  has_changed_ = true;
}

std::uint64_t FakeSlurm::submit(const std::string& admin_comment, Nodes nodes, Duration runs) {
  Its its;
  its.job.number = next_;
  next_ += 1 + draws_.below(3);
  its.job.name = "job";
  its.job.partition = "adaptive";
  its.job.folder = "/";
  its.job.admin_comment = admin_comment;
  its.job.least = its.job.most = nodes;
  its.job.is_held = true;
  its.job.is_requeued = draws_.chance(0.5);
  its.job.limit = whole_seconds(600);
  its.job.submitted = now();
  its.runs = runs;
  const std::uint64_t number = its.job.number;
  jobs_.emplace(number, std::move(its));
  has_changed_ = true;
  return number;
}

void FakeSlurm::finish(Its& its, EndState end) {
  its.job.state = SlurmJob::State::over;
  its.job.end = end;
  its.job.nodes.clear();
  its.job.ended = now();
  its.used.clear();
  its.starts_at = its.over_at = kNever;
  has_changed_ = true;
}

void FakeSlurm::live() {
  using State = SlurmJob::State;
  const auto is_forgotten = [&](const auto& entry) {
    return entry.second.job.state == State::over && now() - entry.second.job.ended > kRemembered;
  };
  if (std::erase_if(jobs_, is_forgotten) > 0) has_changed_ = true;
  for (auto& [number, its] : jobs_) {
    if (its.job.state == State::completing && now() >= its.over_at) finish(its, its.job.end);
    if (its.job.state == State::running && now() >= its.over_at) {
      its.job.end = EndState::completed;
      its.job.state = State::completing;
      its.used.clear();
      its.over_at = now() + seconds(draws_.uniform(0, 1));
      has_changed_ = true;
    }
  }
  for (auto& [number, its] : jobs_) {
    if (its.job.state != State::pending || its.job.is_held || now() < its.starts_at) continue;
    std::vector<std::string> on = its.job.required;
    if (on.empty()) {  // its own scheduler chooses
      for (const auto& [name, node] : nodes_) {
        if (is_free(name) && on.size() < its.job.least) on.push_back(name);
      }
    }
    const bool can = on.size() >= its.job.least &&
                     std::ranges::all_of(on, [&](const auto& node) { return is_free(node); });
    if (!can) continue;
    its.job.state = State::running;
    its.job.nodes = std::move(on);
    its.job.batch_host = its.job.nodes.front();
    its.job.started = now();
    its.over_at = now() + its.runs;
    its.starts_at = kNever;
    ++its.starts;
    ++figures_.started;
    has_changed_ = true;
  }
}

void FakeSlurm::act() {
  if (is_kind_) return;
  has_changed_ = true;
  std::vector<Its*> all;
  for (auto& [number, its] : jobs_) {
    if (its.job.state != SlurmJob::State::over && its.job.partition == "adaptive") {
      all.push_back(&its);
    }
  }
  const auto kind = draws_.below(6);
  if (kind == 0) {  // a node fails, drains or comes back
    auto at = nodes_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(draws_.below(nodes_.size())));
    constexpr Health kHealths[] = {Health::up, Health::up, Health::draining, Health::down};
    at->second.health = kHealths[draws_.below(4)];
    if (at->second.health != Health::down) return;
    for (auto& [number, its] : jobs_) {
      const auto& has = its.job.nodes;
      if (std::ranges::find(has, at->first) == has.end()) continue;
      ++figures_.failed;
      if (its.job.is_requeued && its.job.state == SlurmJob::State::running) {
        its.job.state = SlurmJob::State::pending;
        its.job.is_held = draws_.chance(0.5);
        its.job.nodes.clear();
        its.used.clear();
        its.over_at = kNever;
        its.starts_at = now();
      } else {
        finish(its, EndState::node_fail);
      }
    }
  } else if (kind == 1) {  // a job of another partition, for a while
    for (auto& [name, node] : nodes_) {
      if (!is_free(name)) continue;
      const std::uint64_t number = submit("", 1, seconds(draws_.uniform(1, 60)));
      Its& its = jobs_.at(number);
      its.job.partition = "other";
      its.job.is_held = false;
      its.job.required = {name};
      its.starts_at = now();
      live();
      ++figures_.strangers;
      return;
    }
  } else if (!all.empty()) {
    Its& its = *all[draws_.below(all.size())];
    ++figures_.behind;
    if (kind == 2) {  // scancel
      if (its.job.state == SlurmJob::State::pending) {
        finish(its, EndState::cancelled);
      } else if (its.job.state == SlurmJob::State::running) {
        its.job.end = EndState::cancelled;
        its.job.state = SlurmJob::State::completing;
        its.used.clear();
        its.over_at = now() + seconds(draws_.uniform(0, 2));
      }
    } else if (kind == 3 && its.job.state == SlurmJob::State::pending) {  // scontrol hold, release
      const bool is_held = is_held_by_others(its.job);
      if (!is_held && draws_.chance(0.2)) {  // an operator does
        its.job.is_held = true;
        its.job.reason = kHeldByOperator;
        its.starts_at = kNever;
      } else if (!is_held) {
        its.job.comment = line_of(its.job) + " hold=user";
        if (draws_.chance(0.5)) its.job.comment += " ; my words";
      } else if (draws_.chance(0.5) && !released(its.job).empty()) {
        its.job.comment = released(its.job);
      } else {  // root's release goes by the script
        its.job.is_held = false;
        its.job.reason = "Priority";
        its.starts_at = now() + seconds(draws_.uniform(0, 3));
      }
    } else if (kind == 4 && its.job.state == SlurmJob::State::pending) {  // scontrol update
      its.job.limit = whole_seconds(600 + 60 * static_cast<std::int64_t>(draws_.below(10)));
    } else if (kind == 5 && its.job.state == SlurmJob::State::pending && its.job.is_held) {
      // Somebody with the right to do so starts it.
      its.job.required.clear();
      for (const auto& [name, node] : nodes_) {
        if (is_free(name) && its.job.required.size() < its.job.least) {
          its.job.required.push_back(name);
        }
      }
      if (its.job.required.size() < its.job.least) return its.job.required.clear();
      its.job.is_held = false;
      its.starts_at = now() + seconds(draws_.uniform(0, 3));
    }
  }
}

}  // namespace ductile::testing
