#include "slurm/slurm_world.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/json_line.hpp"
#include "job/protocol.hpp"
#include "live/manager_words.hpp"
#include "slurm/submitted.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// Slurm's settings change seldom.
constexpr Duration kLookAtFacts = whole_seconds(30);
/// Of a lost Slurm.
constexpr Duration kLookAgain = whole_seconds(1);
/// What Slurm has not done is asked for again.
constexpr Duration kAgain = whole_seconds(10);
/// A program that came before its job was heard to run is kept so long.
constexpr Duration kEarly = whole_seconds(30);
constexpr std::ptrdiff_t kMostEarly = 16;  // of a user

}  // namespace

/// A job that is not over, as the core knows it.
struct SlurmWorld::Its {
  /// What an order waits for.
  enum class Stage : std::uint8_t {
    none,
    start,    // that Slurm says that it runs
    program,  // that its program connects
    growth,   // Slurm
    answer,   // of the program
    leaving   // Slurm
  };

  JobId id = JobId::none;
  std::uint64_t number = 0;
  Owner owner{};
  Submission shape{};      // as its user asked, without script and environment
  Fingerprint print{};     // what Slurm said of it while it waited
  bool runs = false;       // as far as the core knows
  bool has_ended = false;  // this life was told to be over
  Holding held{};          // without the order that is open
  NodeSet on{};            // what Slurm says that it has
  NodeSet keeps{};         // while Slurm takes the others
  std::string batch_host{};
  Duration limit{};  // that Slurm has
  std::optional<Decision> order{};
  Stage stage = Stage::none;
  int away = 0;  // calls about it that have not come back
  Time give_up_at = kNever;
  bool was_sent = false;      // to a program, which may have carried it out unheard
  bool is_withdrawn = false;  // the program was told to leave it
  bool is_silent = false;     // the last order was withdrawn
  Time ordered_at{};
  Duration longest{};  // that a resize took
  Duration paused{};
  std::optional<EndState> end{};  // somebody ends it
  bool requeue = false;
  Time end_again_at = kNever;
  Time hold_again_at{};
  std::optional<LineSocket> program{};
  std::uint64_t program_pid = 0;
  Time others_until{};  // another program of it has come, and may be there
  std::optional<std::vector<std::string>> at_hosts{};  // where it says that it computes
  bool is_lost = false;    // who was to hear its answer is no more: its report will tell
  Time not_back_before{};  // it is ordered back to its nodes no sooner
  std::optional<Request> request{};
  std::uint32_t per_node = 0;  // processes, if it was said; else by cores

  void say(const Json& json) {
    if (program) program->send(json.dump());
  }
  NodeSet joins() const { return difference(order->after.nodes, on); }
  NodeSet leaves() const { return difference(on, order->after.nodes); }
};

SlurmWorld::SlurmWorld(Slurm& slurm, Settings settings, Errands::How how,
                       const MachineClocks& clocks)
    : slurm_(slurm),
      settings_(std::move(settings)),
      names_(settings_.names),
      clocks_(clocks),
      errands_(how) {
  Found first;
  try {
    first.facts = slurm_.facts();
    first.nodes = slurm_.nodes();
    first.jobs = slurm_.jobs();
  } catch (const SlurmError& error) {
    if (!error.is_lost) {
      throw InputError({.field = "--partition"}, error.what(), "name one of this Slurm");
    }
    spdlog::warn("{}", error.what());
    return;
  }
  if (!first.facts->is_exclusive) {
    throw InputError(
        {.field = "--partition"},
        fmt::format(
            "partition '{}' packs jobs by cores, and nodes that are not a job's alone cannot "
            "be given and taken",
            settings_.partition),
        "set OverSubscribe=EXCLUSIVE for it in slurm.conf");
  }
  learn_machine(first);
  for (SlurmJob& job : *first.jobs) there_.emplace(job.number, std::move(job));
  heard_ = clocks_.since_boot();
  facts_at_ = heard_ + kLookAtFacts;
  reach_ = Reach::here;
}

SlurmWorld::~SlurmWorld() = default;

std::vector<std::string> SlurmWorld::remarks() const {
  std::vector<std::string> remarks{fmt::format("Slurm {} of cluster '{}', partition '{}'",
                                               facts_.version, facts_.cluster,
                                               settings_.partition)};
  const auto say = [&](bool is_so, const char* words) {
    if (is_so) remarks.emplace_back(words);
  };
  say(!facts_.keeps_accounts,
      "this Slurm keeps no accounts (AccountingStorageType): it lets each job be resized once, and "
      "so each is; with slurmdbd there is no such limit");
  say(!facts_.permits_expansion,
      "SchedulerParameters has no permit_job_expansion: jobs can shrink and not grow");
  say(facts_.has_prolog,
      "there is a PrologSlurmctld, which Slurm also runs for each growth: jobs are not grown");
  say(!facts_.holds_submissions,
      "JobSubmitPlugins has no lua: what is submitted is not held until the controller has seen "
      "it, "
      "and Slurm may start it before; see docs/guide/slurm.md");
  return remarks;
}

// ---- The machine --------------------------------------------------------------------------------

std::uint32_t SlurmWorld::cpus(std::uint32_t node) const {
  const auto found = machine_.find(names_.name(node));
  return found == machine_.end() ? 1 : std::max<std::uint32_t>(found->second.cpus, 1);
}

World::Description SlurmWorld::describe() const {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  Platform platform;
  platform.nodes = static_cast<Nodes>(names_.count());
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t>, NodeSet> alike;
  for (std::uint32_t node = 0; node < platform.nodes; ++node) {
    const auto found = machine_.find(names_.name(node));
    const SlurmNode its = found != machine_.end() ? found->second : SlurmNode{.cpus = 1};
    alike[{its.weight, its.cpus, its.memory_mb, its.sockets}].insert(node, node);
  }
  for (const auto& [key, nodes] : alike) {
    const auto& [weight, cores, memory_mb, sockets] = key;
    NodeClass each;
    each.name = fmt::format("class{}", platform.classes.size() + 1);
    each.nodes = nodes;
    each.has.cores = static_cast<std::uint16_t>(std::clamp(cores, 1U, kMost));
    each.has.memory_mb = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(memory_mb, std::numeric_limits<std::uint32_t>::max()));
    each.sockets = static_cast<std::uint16_t>(std::clamp(sockets, 1U, kMost));
    each.weight = weight;
    platform.classes.push_back(std::move(each));
  }
  if (!platform.classes.empty()) {
    platform.cores_per_node = platform.classes.front().has.cores;
    platform.sockets_per_node = platform.classes.front().sockets;
  }
  NodeSet all;
  if (platform.nodes > 0) all.insert(0, platform.nodes - 1);
  platform.partitions.push_back(
      {.name = settings_.partition, .nodes = all, .max_walltime = facts_.max_time});
  Capabilities can;
  can.instant_start = false;
  can.moves = facts_.permits_expansion && !facts_.has_prolog && facts_.keeps_accounts;
  if (!facts_.keeps_accounts) can.resizes_per_job = 1;
  return {.platform = std::move(platform), .capabilities = can, .kind = "slurm"};
}

void SlurmWorld::learn_machine(const Found& found) {
  if (found.facts) {
    facts_ = *found.facts;
    names_.add(facts_.nodes);
  }
  if (!found.nodes) return;
  machine_.clear();
  const std::set<std::string> ours(facts_.nodes.begin(), facts_.nodes.end());
  for (const SlurmNode& node : *found.nodes) {
    if (ours.contains(node.name)) machine_.emplace(node.name, node);
  }
}

/// What is another way than it was told.
void SlurmWorld::tell_health() {
  NodeSet down, draining, up;
  for (std::uint32_t node = 0; node < names_.count(); ++node) {
    const auto found = machine_.find(names_.name(node));
    const Health health = found == machine_.end() ? Health::down : found->second.health;
    (health == Health::up ? up : health == Health::draining ? draining : down).insert(node, node);
  }
  const NodeSet again = difference(up, difference(up, united(down_, draining_)));
  const std::pair<NodeSet, Health> changes[] = {{difference(down, down_), Health::down},
                                                {difference(draining, draining_), Health::draining},
                                                {again, Health::up}};
  for (const auto& [nodes, health] : changes) {
    if (!nodes.empty()) happen(event::NodesChanged{nodes, health});
  }
  down_ = std::move(down);
  draining_ = std::move(draining);
}

bool SlurmWorld::is_ours(const SlurmJob& job) const { return job.partition == settings_.partition; }

/// Jobs of other partitions on nodes of this one.
void SlurmWorld::tell_strangers() {
  std::map<std::string, Stranger> now;
  for (const auto& [number, job] : there_) {
    if (is_ours(job) || !job.has_nodes()) continue;
    Stranger stranger{.name = fmt::format("slurm {}", number),
                      .nodes = names_.nodes(job.nodes),
                      .what = fmt::format("job {} of user {} in partition {}", number,
                                          job.owner.user, printable(job.partition))};
    if (!stranger.nodes.empty()) now.emplace(stranger.name, std::move(stranger));
  }
  for (auto& [name, stranger] : strangers_) {
    if (now.contains(name)) continue;
    stranger.is_there = false;
    events_.emplace_back(stranger);
  }
  for (const auto& [name, stranger] : now) {
    const auto before = strangers_.find(name);
    if (before == strangers_.end() || !(before->second.nodes == stranger.nodes)) {
      events_.emplace_back(stranger);
    }
  }
  strangers_ = std::move(now);
}

// ---- Asking Slurm -------------------------------------------------------------------------------

void SlurmWorld::poll() {
  is_asked_ = true;
  must_ask_ = false;
  const bool is_lost = reach_ != Reach::here;
  const bool with_facts = is_lost || clocks_.since_boot() >= facts_at_;
  errands_.give([this, with_facts]() -> Errands::Return {
    try {
      Found found;
      if (with_facts) found.facts = slurm_.facts();
      found.nodes = slurm_.nodes();
      found.jobs = slurm_.jobs();  // last: what has changed is told once
      return [this, found = std::move(found)] { this->found(found); };
    } catch (const SlurmError& error) {
      return [this, error] { not_found(error); };
    }
  });
}

void SlurmWorld::not_found(const SlurmError& error) {
  is_asked_ = false;
  poll_at_ = clocks_.since_boot() + kLookAgain;
  if (reach_ != Reach::here || clocks_.since_boot() - heard_ < settings_.lost_after) return;
  spdlog::warn("{}", error.what());
  reach_ = Reach::lost;
}

void SlurmWorld::found(Found found) {
  is_asked_ = false;
  heard_ = clocks_.since_boot();
  poll_at_ = heard_ + settings_.poll;
  if (found.facts) facts_at_ = heard_ + kLookAtFacts;
  const Description before = describe();
  learn_machine(found);
  if (found.jobs) {
    there_.clear();
    for (SlurmJob& job : *found.jobs) there_.emplace(job.number, std::move(job));
    std::erase_if(past_, [&](std::uint64_t number) { return !there_.contains(number); });
  }
  if (reach_ == Reach::lost) reach_ = Reach::back;
  if (reach_ != Reach::here || clock_ == nullptr) return;
  const Description after = describe();
  const bool is_same =
      before.platform == after.platform && before.capabilities == after.capabilities;
  if (!is_same) events_.emplace_back(Changed{});
  tell_health();
  tell_strangers();
  compare();
}

const SlurmJob* SlurmWorld::there(std::uint64_t number) const {
  const auto found = there_.find(number);
  return found == there_.end() ? nullptr : &found->second;
}

SlurmWorld::Its* SlurmWorld::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.get();
}

SlurmWorld::Its* SlurmWorld::find_number(std::uint64_t number) const {
  const auto found = ids_.find(number);
  return found == ids_.end() ? nullptr : find(found->second);
}

/// Has it nodes there that it does not have as far as the core knows?
bool SlurmWorld::takes_nodes(const Its& its, const SlurmJob* job) const {
  return job != nullptr && job->has_nodes() && !its.on.contains(names_.nodes(job->nodes));
}

/// Has somebody these nodes as far as the core knows? Slurm has them back from a job of which this
/// has not heard yet, or which is still being cleaned up: that is told first, at another look.
bool SlurmWorld::are_held_elsewhere(const Its& whom, const NodeSet& nodes) const {
  return std::ranges::any_of(jobs_, [&](const auto& entry) {
    const Its& its = *entry.second;
    return &its != &whom && its.runs && its.held.nodes.intersects(nodes);
  });
}

/// Others were to have these nodes and can no longer: Slurm has given them away.
void SlurmWorld::make_way(const Its& whom, const NodeSet& nodes) {
  for (const auto& [id, owned] : jobs_) {
    Its& its = *owned;
    if (&its == &whom || !its.order || !its.joins().intersects(nodes)) continue;
    if (its.stage == Its::Stage::start) {
      not_started(its, "its nodes are another job's");
      hold(its);
    } else if (its.stage == Its::Stage::program || its.stage == Its::Stage::growth) {
      settle(its, {its.on.count(), its.on}, false);
    }
  }
}

/// For the controller, until they are for Slurm.
void SlurmWorld::end_those_that_are_over() {
  for (auto at = ending_.begin(); at != ending_.end();) {
    auto& [number, again_at] = *at;
    const SlurmJob* const job = there(number);
    const bool is_over = job == nullptr || job->state == SlurmJob::State::over;
    if (!is_over && job->state != SlurmJob::State::completing && now() >= again_at) {
      again_at = now() + kAgain;
      errands_.give([&slurm = slurm_, id = number]() -> Errands::Return {
        try {
          slurm.end(id, false);
        } catch (const SlurmError& error) {
          spdlog::warn("{}", error.what());
        }
        return {};
      });
    }
    at = is_over ? ending_.erase(at) : std::next(at);
  }
}

/// Each job that is known with what there is: those first that have ended. Then what is new.
void SlurmWorld::compare() {
  const auto rank = [&](const Its* its) {  // what comes free is told first
    const SlurmJob* const job = there(its->number);
    return job == nullptr || !job->has_nodes() ? 0 : its->runs ? 1 : 2;
  };
  std::vector<Its*> all;
  for (const auto& [id, its] : jobs_) all.push_back(its.get());
  std::stable_sort(all.begin(), all.end(),
                   [&](const Its* one, const Its* other) { return rank(one) < rank(other); });
  for (const bool takes : {false, true}) {
    for (Its* const its : all) {
      if (its->away > 0 || its->has_ended) continue;
      const SlurmJob* const job = there(its->number);
      if (takes == takes_nodes(*its, job)) compare(*its, job);
    }
  }
  end_those_that_are_over();
  std::vector<const SlurmJob*> fresh;
  for (const auto& [number, job] : there_) {
    const bool is_new = is_ours(job) && job.state != SlurmJob::State::over &&
                        !ids_.contains(number) && !past_.contains(number) && !is_helper(job) &&
                        !split(job);
    if (is_new) fresh.push_back(&job);
  }
  std::ranges::sort(fresh, {},
                    [](const SlurmJob* job) { return std::pair(job->submitted, job->number); });
  for (const SlurmJob* job : fresh) arrive(*job);
  std::vector<Early> early = std::exchange(early_, {});
  for (Early& each : early) {
    Its* const its = find_number(each.number);
    if (its != nullptr && !may_speak_for(*its, each.peer)) continue;
    if (its != nullptr && its->runs && !its->has_ended) {
      connect(*its, std::move(each.connection), *each.first);
    } else if (now() < each.until) {
      early_.push_back(std::move(each));
    }
  }
}

/// Tasks of an array that wait are one record in Slurm. Each becomes a job of its own, with its
/// number, before it is told; the last one is what is left of the record. True if there is anything
/// to do.
bool SlurmWorld::split(const SlurmJob& job) {
  if (job.state != SlurmJob::State::pending || job.tasks.empty()) return false;
  TaskArray array;
  try {
    array = parse_array(job.tasks);
  } catch (const InputError&) {
    return false;  // it arrives as what cannot run
  }
  if (array.count() < 2) return false;
  const auto under_way = splitting_.find(job.number);
  if (under_way != splitting_.end() && now() < under_way->second) return true;
  splitting_[job.number] = now() + kAgain;
  std::vector<std::uint32_t> each;
  for (const Interval& part : array.tasks.parts) {
    for (std::uint32_t task = part.first; task <= part.last; ++task) each.push_back(task);
  }
  each.pop_back();
  errands_.give([this, id = job.array, number = job.number, each]() -> Errands::Return {
    try {
      for (const std::uint32_t task : each) slurm_.split(id, task);
    } catch (const SlurmError& error) {
      spdlog::warn("{}", error.what());
      return {};  // it is tried again later
    }
    return [this, number] {
      splitting_.erase(number);
      must_ask_ = true;
    };
  });
  return true;
}

void SlurmWorld::compare(Its& its, const SlurmJob* job) {
  if (job == nullptr) {
    return over(its, its.end.value_or(EndState::failed), false, nullptr,
                "how it ended is not known: Slurm has forgotten it");
  }
  if (job->state == SlurmJob::State::over) {
    return over(its, its.end.value_or(job->end), false, job);
  }
  if (its.runs) {
    compare_running(its, *job);
  } else {
    compare_waiting(its, *job);
  }
}

void SlurmWorld::compare_waiting(Its& its, const SlurmJob& job) {
  if (job.state == SlurmJob::State::running || job.state == SlurmJob::State::suspended)
    return started(its, job);
  if (job.state != SlurmJob::State::pending)
    return;  // it is being set up, or was before it waited again
  if (its.stage == Its::Stage::start) {
    if (job.is_held) {
      // The release did not come, or it was taken back.
      return not_started(its, "Slurm holds it");
    }
    if (now() >= its.give_up_at) {
      spdlog::info("job {} does not start within {} s ({}); it is held again", its.number,
                   to_seconds(settings_.start_limit), printable(job.reason));
      its.give_up_at = now() + kAgain;
      hold(its);
    }
    return;
  }
  if (!job.is_held) {
    if (now() < its.hold_again_at) return;
    return hold(its);
  }
  const Fingerprint print = fingerprint_of(job);
  if (print == its.print) return;
  its.print = print;
  tell_changed(its, job);
}

void SlurmWorld::tell_changed(Its& its, const SlurmJob& job) {
  its.shape = submission_of(job);
  events_.emplace_back(Arrived{.number = its.number,
                               .owner = its.owner,
                               .what = its.shape,
                               .submitted = clock_->from_wall(job.submitted),
                               .was = its.id});
}

void SlurmWorld::compare_running(Its& its, const SlurmJob& job) {
  if (job.state == SlurmJob::State::pending) {
    // Slurm lets it wait again, also where it was to be over: then it is ended there.
    return over(its, its.end.value_or(EndState::node_fail), !its.end || its.requeue, &job);
  }
  if (its.end && now() >= its.end_again_at) order_end(its);
  if (job.state == SlurmJob::State::completing || job.state == SlurmJob::State::configuring) return;
  its.limit = job.limit;
  const NodeSet on = names_.nodes(job.nodes);
  if (on.empty() || are_held_elsewhere(its, difference(on, its.held.nodes))) return;
  const NodeSet was = std::exchange(its.on, on);
  // Slurm did not say whether it did what it was asked for.
  if (its.order && its.stage == Its::Stage::growth) {
    if (!its.joins().empty()) return settle(its, {on.count(), on}, false);
    make_way(its, on);
    return order_program(its);
  }
  if (its.order && its.stage == Its::Stage::leaving) {
    return settle(its, {on.count(), on}, on == its.order->after.nodes);
  }
  if (on == was) return;
  // Somebody else has done it, or a node was lost.
  spdlog::info("job {} has the nodes {} now, and had {}", its.number, to_string(on),
               to_string(was));
  make_way(its, on);
  const Holding held{on.count(), on};
  if (its.order) return settle(its, held, on == its.order->after.nodes);
  its.held = held;
  happen(event::Resized{its.id, DecisionId::none, its.held, now()});
}

Submission SlurmWorld::submission_of(const SlurmJob& job) const {
  return ductile::submission_of(job, {.names = names_, .machine = machine_, .facts = facts_});
}

void SlurmWorld::arrive(const SlurmJob& job) {
  auto its = std::make_unique<Its>();
  its->id = next_;
  its->number = job.number;
  its->owner = job.owner;
  its->print = fingerprint_of(job);
  its->shape = submission_of(job);
  events_.emplace_back(Arrived{.number = job.number,
                               .owner = job.owner,
                               .what = its->shape,
                               .submitted = clock_->from_wall(job.submitted)});
  next_ = JobId{index(next_) + 1};
  Its& job_of_ours = *its;
  ids_[job.number] = its->id;
  jobs_[its->id] = std::move(its);
  compare_waiting(job_of_ours, job);
}

// ---- What is told -------------------------------------------------------------------------------

void SlurmWorld::started(Its& its, const SlurmJob& job) {
  const NodeSet on = names_.nodes(job.nodes);
  if (on.count() != job.nodes.size()) {  // some are new in the partition
    facts_at_ = Duration{};
    return;
  }
  if (are_held_elsewhere(its, on)) return;
  DecisionId answers = DecisionId::none;
  if (its.stage == Its::Stage::start) answers = its.order->id;
  its.order.reset();
  its.stage = Its::Stage::none;
  its.give_up_at = kNever;
  its.runs = true;
  its.on = on;
  its.held = {its.on.count(), its.on};
  its.batch_host = job.batch_host;
  its.limit = job.limit;
  make_way(its, its.on);
  happen(event::Started{its.id, answers, its.held, names_.find(job.batch_host)});
  if (its.end) order_end(its);
}

void SlurmWorld::not_started(Its& its, const std::string& why) {
  spdlog::info("job {} was not started: {}", its.number, why);
  const DecisionId order = its.order->id;
  its.order.reset();
  its.stage = Its::Stage::none;
  its.give_up_at = kNever;
  happen(event::StartFailed{its.id, order, now() + set_.retry});
}

void SlurmWorld::over(Its& its, EndState state, bool requeue, const SlurmJob* job,
                      std::string note) {
  Told told{.event = event::Ended{its.id, state, requeue}};
  told.note = std::move(note);
  if (job != nullptr && !requeue) {
    told.exit_code = job->signal != 0 ? 128 + job->signal : job->exit_code;
    told.was_killed = job->signal != 0;
    if (job->started != Time{} && job->ended >= job->started) told.ran = job->ended - job->started;
  }
  its.has_ended = true;
  its.runs = false;
  its.order.reset();
  its.stage = Its::Stage::none;
  its.program.reset();
  its.request.reset();
  its.held = {};
  its.on = {};
  its.end.reset();
  its.requeue = false;
  its.give_up_at = its.end_again_at = kNever;
  events_.emplace_back(std::move(told));
}

/// The answer to the order.
void SlurmWorld::settle(Its& its, const Holding& held, bool is_done) {
  const Decision order = std::move(*std::exchange(its.order, std::nullopt));
  its.stage = Its::Stage::none;
  its.give_up_at = kNever;
  if (!its.is_withdrawn) its.longest = std::max(its.longest, now() - its.ordered_at);
  its.is_silent = its.is_withdrawn;
  its.is_withdrawn = false;
  its.held = held;
  if (is_done && its.request) {
    happen(event::EvolvingWithdrawn{std::exchange(its.request, std::nullopt)->id});
  }
  happen(event::Resized{its.id, order.id, its.held, is_done ? now() : now() + set_.retry,
                        std::exchange(its.paused, Duration{})});
}

// ---- Orders -------------------------------------------------------------------------------------

/// What comes of it the next look at Slurm tells.
template <class Call>
void SlurmWorld::ask(Its& its, Call call) {
  ask(its, std::move(call), [](Its&, const std::optional<SlurmError>&) {});
}

template <class Call, class Then>
void SlurmWorld::ask(Its& its, Call call, Then then) {
  ++its.away;
  errands_.give([this, id = its.id, life = life_, call = std::move(call),
                 then = std::move(then)]() -> Errands::Return {
    std::optional<SlurmError> error;
    try {
      call();
    } catch (const SlurmError& refused) {
      error = refused;
    }
    return [this, id, life, then, error = std::move(error)] {
      Its* const found = life == life_ ? find(id) : nullptr;
      if (found == nullptr) return;
      --found->away;
      must_ask_ = must_ask_ || !error;
      if (error) spdlog::info("{}", error->what());
      then(*found, error);
    };
  });
}

/// Whoever released it without asking the script in slurmctld has lifted its user's hold.
void SlurmWorld::hold(Its& its) {
  its.hold_again_at = now() + kAgain;
  const Nodes least = std::max<Nodes>(its.shape.min != 0 ? its.shape.min : its.shape.nodes, 1);
  const Nodes most = std::max(its.shape.max != 0 ? its.shape.max : its.shape.nodes, least);
  const std::vector<std::string> required = its.print.required;
  const SlurmJob* const job = there(its.number);
  const bool was_released = job != nullptr && !job->is_held && its.stage != Its::Stage::start;
  const std::string comment = was_released ? released(*job) : "";
  ask(its, [&slurm = slurm_, number = its.number, least, most, required, comment] {
    slurm.hold(number, least, most, required, comment);
  });
}

void SlurmWorld::order_end(Its& its) {
  its.end_again_at = now() + kAgain;
  ask(its, [&slurm = slurm_, number = its.number, requeue = its.requeue] {
    slurm.end(number, requeue);
  });
}

/// Slurm counts minutes, and ends a job some time after its limit: the controller is to be first.
void SlurmWorld::set_limit(JobId id, Time when) {
  Its* const its = find(id);
  const SlurmJob* const job = its != nullptr && its->runs ? there(its->number) : nullptr;
  if (job == nullptr || job->started == Time{} || when == kNever) return;
  // Without accounts Slurm changes nothing any more of a job that was resized.
  if (!facts_.keeps_accounts) return;
  const Duration limit = clock_->wall(when) - job->started;
  if (limit <= its->limit) return;
  its->limit = limit;
  ask(*its, [&slurm = slurm_, number = its->number, limit] { slurm.set_limit(number, limit); });
}

void SlurmWorld::carry_out(const Decision& decision, const JobFacts& job) {
  Its* const its = find(decision.job);
  if (its == nullptr || its->has_ended) {
    if (decision.kind == Decision::Kind::start) {
      happen(event::StartFailed{decision.job, decision.id, now()});
    }
    return;
  }
  if (its->order) return;  // this one, given twice
  if (decision.kind == Decision::Kind::start) {
    if (its->runs) return;
    if (job.end) return happen(event::StartFailed{decision.job, decision.id, now()});
    its->order = decision;
    its->stage = Its::Stage::start;
    its->give_up_at = now() + settings_.start_limit;
    SlurmStart start{.number = its->number, .nodes = names_.names(decision.after.nodes)};
    const bool is_sized = its->shape.type != JobType::rigid;
    if (is_sized) start.processes = processes(*its, decision.after.nodes);
    Duration limit = decision.limit - now();
    // It cannot be changed later then: as it would be at the fewest nodes.
    if (!facts_.keeps_accounts && is_sized)
      limit = limit * decision.after.count / std::max<Nodes>(its->shape.min, 1);
    if (decision.limit != kNever && limit > its->shape.walltime) start.limit = limit;
    return ask(*its, [&slurm = slurm_, start] { slurm.start(start); });
  }
  if (!its->runs) return;
  if (decision.stops()) {
    // It cannot suspend: the job has what it had.
    return happen(event::Resized{its->id, decision.id, its->held, now() + set_.retry, Duration{}});
  }
  its->order = decision;
  its->was_sent = false;
  its->ordered_at = now();
  its->is_withdrawn = false;
  its->give_up_at = now() + settings_.program_limit;
  if (its->program) {
    begin_resize(*its);
  } else {
    its->stage = Its::Stage::program;
  }
}

/// The program is there. First Slurm gives the nodes that join.
void SlurmWorld::begin_resize(Its& its) {
  if (now() < its.others_until) return settle(its, {its.on.count(), its.on}, false);
  const NodeSet joins = its.joins();
  if (joins.empty()) return order_program(its);
  const SlurmJob* const known = there(its.number);
  const bool may_grow = facts_.permits_expansion && !facts_.has_prolog;
  if (known == nullptr || !may_grow) return settle(its, {its.on.count(), its.on}, false);
  its.stage = Its::Stage::growth;
  its.give_up_at = kNever;  // a call has an end of its own
  ask(
      its,
      [&slurm = slurm_, job = *known, nodes = names_.names(joins), id = index(its.order->id)] {
        slurm.grow(job, nodes, id);
      },
      [this, joins, order = its.order->id](Its& mine, const std::optional<SlurmError>& error) {
        if (!mine.order || mine.order->id != order || mine.stage != Its::Stage::growth) return;
        if (error && error->is_lost) return;  // the next look at Slurm tells
        if (error) return settle(mine, {mine.on.count(), mine.on}, false);
        mine.on.insert(joins);
        order_program(mine);
      });
}

std::uint32_t SlurmWorld::processes(const Its& its, const NodeSet& nodes) const {
  std::uint32_t sum = 0;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      sum += its.shape.processes_on(cpus(node));
    }
  }
  return sum;
}

/// As `--hosts` has it. The batch host is the first one: rank 0 stays where the script runs.
std::string SlurmWorld::hosts(const Its& its, const NodeSet& nodes) const {
  std::vector<std::string> words;
  for (const std::string& name : names_.names(nodes)) {
    const std::uint32_t count = its.shape.processes_on(cpus(*names_.find(name)));
    std::string word = fmt::format("{}:{}", name, count);
    words.insert(name == its.batch_host ? words.begin() : words.end(), std::move(word));
  }
  return fmt::format("{}", fmt::join(words, ","));
}

void SlurmWorld::order_program(Its& its) {
  const Decision& order = *its.order;
  if (!its.program) {
    its.stage = Its::Stage::program;
    its.give_up_at = now() + settings_.program_limit;
    return;
  }
  its.stage = Its::Stage::answer;
  its.is_lost = false;
  its.was_sent = true;
  expect_answer(its);
  const bool is_grant =
      order.request != RequestId::none && its.request && its.request->id == order.request;
  if (is_grant) its.request.reset();
  its.say({{"do", is_grant ? "answer" : "resize"},
           {"id", index(order.id)},
           {"size", processes(its, order.after.nodes)},
           {"hosts", hosts(its, order.after.nodes)},
           {"move", order.after.count == its.held.count}});
}

void SlurmWorld::expect_answer(Its& its) const {
  its.give_up_at = now() + (set_.resize_deadline > Duration{} ? set_.resize_deadline
                                                              : patience_with(its.longest));
}

void SlurmWorld::program_answered(Its& its, bool is_done, const std::string& why) {
  if (!is_done) {
    spdlog::info("job {} was not resized: {}", its.number,
                 why.empty() ? "it did not say why" : why);
  }
  leave_nodes(its, is_done ? its.order->after : its.held, is_done);
}

/// Slurm takes the nodes that the program has left, or to which it did not go.
void SlurmWorld::leave_nodes(Its& its, const Holding& held, bool is_done) {
  const NodeSet leaves = difference(its.on, held.nodes);
  if (leaves.empty()) return settle(its, {its.on.count(), its.on}, is_done);
  its.stage = Its::Stage::leaving;
  its.keeps = held.nodes;
  its.give_up_at = kNever;
  ask(
      its,
      [&slurm = slurm_, number = its.number, nodes = names_.names(held.nodes)] {
        slurm.keep(number, nodes);
      },
      [this, held, is_done, order = its.order->id](Its& mine,
                                                   const std::optional<SlurmError>& error) {
        if (!mine.order || mine.order->id != order || mine.stage != Its::Stage::leaving) return;
        if (error && error->is_lost) return;
        if (!error) mine.on = held.nodes;
        settle(mine, {mine.on.count(), mine.on}, is_done && !error);
      });
}

/// Nobody has answered in time.
void SlurmWorld::give_up(Its& its) {
  its.give_up_at = kNever;
  switch (its.stage) {
    case Its::Stage::program:
      spdlog::info("job {} was not resized: no `ductile run` of it has come", its.number);
      // Where its processes are nobody knows: it has all of these nodes.
      if (its.was_sent) return settle(its, {its.on.count(), its.on}, false);
      return leave_nodes(its, its.held, false);
    case Its::Stage::answer:
      if (!its.is_withdrawn && its.program) {
        its.is_withdrawn = true;
        events_.emplace_back(Withdrawn{});
        spdlog::warn("job {} does not answer; the order to resize it is withdrawn", its.number);
        its.say({{"do", "withdraw"}, {"id", index(its.order->id)}});
        its.give_up_at = now() + std::max(set_.patience, whole_seconds(1)) + whole_seconds(10);
        return;
      }
      return settle(its, {its.on.count(), its.on}, false);
    default:
      return;
  }
}

void SlurmWorld::end(JobId id, EndState state, bool requeue) {
  Its* const its = find(id);
  if (its == nullptr || its->has_ended) return;
  if (!its->runs) return;  // `forget` tells whether it is over
  if (its->end) {
    if (its->requeue && !requeue) {
      its->end = state;
      its->requeue = false;
    }
    return;
  }
  its->end = state;
  its->requeue = requeue;
  order_end(*its);
}

void SlurmWorld::deny(RequestId id) {
  for (const auto& [job, its] : jobs_) {
    if (!its->request || its->request->id != id) continue;
    its->request.reset();
    return its->say({{"do", "answer"}, {"size", 0}});
  }
}

void SlurmWorld::forget(std::uint64_t number, bool waits_again) {
  Its* const its = find_number(number);
  if (its == nullptr) return;
  const SlurmJob* const job = there(number);
  if (waits_again) {
    its->has_ended = false;
    return;
  }
  // It waited and was cancelled, or waits again although it is over.
  if (job != nullptr && job->state != SlurmJob::State::over) ending_[number] = Time{};
  past_.insert(number);
  must_ask_ = true;
  jobs_.erase(its->id);
  ids_.erase(number);
}

bool SlurmWorld::submit(const Owner&, Submission, const std::string&) { return false; }

void SlurmWorld::change(std::uint64_t number, const Submission& what) {
  Its* const its = find_number(number);
  if (its == nullptr) return;
  its->shape = what;
  order_change(*its);
}

/// What can be changed in Slurm is: the limit, and of a job that waits the sizes.
void SlurmWorld::order_change(Its& its) {
  const SlurmJob* const job = there(its.number);
  if (job == nullptr) return;
  const Duration limit = its.shape.walltime;
  if (limit > Duration{} && limit != job->limit) {
    its.print.limit = limit;
    ask(its, [&slurm = slurm_, number = its.number, limit] { slurm.set_limit(number, limit); });
  }
  if (!its.runs && !its.order) hold(its);
}

// ---- After a restart ----------------------------------------------------------------------------

void SlurmWorld::take_up(const ScheduleClock& clock, const Past& past) {
  clock_ = &clock;
  ++life_;
  reach_ = Reach::here;
  const std::string& file = settings_.hands_over;
  if (!file.empty() && unlink(file.c_str()) == 0) {
    spdlog::info("the partition is taken back from Slurm's own scheduler");
  }
  events_.clear();
  jobs_.clear();
  ids_.clear();
  past_.clear();
  splitting_.clear();
  ending_.clear();
  early_.clear();
  next_ = past.next;
  next_request_ = past.requests;
  down_ = past.down;
  draining_ = past.draining;
  strangers_.clear();
  for (const Stranger& each : past.strangers) strangers_.emplace(each.name, each);
  std::vector<Its*> changed;  // while nobody looked
  for (const Known& known : past.jobs) {
    auto its = std::make_unique<Its>();
    its->id = known.id;
    its->number = known.facts.number;
    its->owner = known.facts.owner;
    its->shape = *known.facts.what;
    its->held = known.held;
    its->on = known.held.nodes;
    its->end = known.facts.end;
    its->requeue = known.facts.requeue;
    const bool starts = known.open && known.open->kind == Decision::Kind::start;
    bool never_came = false;
    its->runs = known.runs && !starts;
    its->request = known.request;
    const SlurmJob* const job = there(its->number);
    if (job != nullptr) {
      its->batch_host = job->batch_host;
      its->print = fingerprint_of(*job);
      if (job->has_nodes() && its->runs) its->on = names_.nodes(job->nodes);
      const bool waits = job->state == SlurmJob::State::pending && !known.runs;
      if (waits && !known.is_changed && !are_alike(submission_of(*job), its->shape)) {
        changed.push_back(its.get());
      }
    }
    if (starts) {
      its->held = {};
      its->on = {};
      never_came = job != nullptr && job->state == SlurmJob::State::pending && job->is_held;
      if (!never_came) {
        its->order = known.open;
        its->stage = Its::Stage::start;
        its->give_up_at = now() + settings_.start_limit;
      }
    } else if (known.open) {
      its->order = known.open;
      its->was_sent = true;  // for all that is known
      its->ordered_at = now();
      its->stage = Its::Stage::program;
      its->give_up_at = now() + settings_.program_limit;
    }
    ids_[its->number] = its->id;
    jobs_[its->id] = std::move(its);
    if (never_came) carry_out(*known.open, known.facts);
  }
  for (const auto& [number, job] : there_) {
    if (!is_ours(job) || ids_.contains(number) || !past.knows(number)) continue;
    past_.insert(number);
    // It was cancelled while Slurm was out of reach.
    if (job.state != SlurmJob::State::over) ending_[number] = Time{};
  }
  for (const auto& [number, job] : there_) {
    // Of a growth that was under way when the controller ended.
    if (!is_ours(job) || !is_helper(job) || job.state == SlurmJob::State::over) continue;
    ending_[number] = Time{};
  }
  tell_health();
  tell_strangers();
  for (Its* const its : changed) tell_changed(*its, *there(its->number));
  for (const Known& known : past.jobs) {
    if (known.is_changed) order_change(*jobs_.at(known.id));
  }
  compare();
}

// ---- Programs -----------------------------------------------------------------------------------

void SlurmWorld::refuse(LineSocket& connection, const char* why) {
  LineSocket its = std::move(connection);
  its.send(Json{{"ok", false}, {"error", why}}.dump());
}

/// A program of its user's, or of root's.
bool SlurmWorld::may_speak_for(const Its& its, const Owner& peer) {
  return peer.user == its.owner.user || peer.user == 0;
}

bool SlurmWorld::adopt(LineSocket& connection, const Owner& peer, const Json& first) {
  const auto at = first.find("job");
  if (at == first.end() || !at->is_number_unsigned()) return false;
  const auto number = at->get<std::uint64_t>();
  Its* const its = find_number(number);
  const SlurmJob* const job = there(number);
  const bool is_anothers = (its != nullptr && !may_speak_for(*its, peer)) ||
                           (job != nullptr && peer.user != 0 && job->owner.user != peer.user);
  if (is_anothers) {
    refuse(connection, "this job is another user's");
    return true;
  }
  if (its != nullptr && its->runs && !its->has_ended) {
    connect(*its, std::move(connection), first);
    return true;
  }
  // Slurm may have started it a moment ago.
  const auto of_user =
      std::ranges::count_if(early_, [&](const Early& each) { return each.peer.user == peer.user; });
  if (past_.contains(number) || of_user >= kMostEarly) {
    refuse(connection, past_.contains(number)
                           ? "this job is over"
                           : "too many programs of this user wait for their jobs");
    return true;
  }
  early_.push_back({.connection = std::move(connection),
                    .number = number,
                    .peer = peer,
                    .first = std::make_unique<Json>(first),
                    .until = clock_ == nullptr ? kNever : now() + kEarly});
  must_ask_ = true;
  return true;
}

void SlurmWorld::connect(Its& its, LineSocket connection, const Json& first) {
  const std::uint64_t pid = first.contains("pid") && first.at("pid").is_number_unsigned()
                                ? first.at("pid").get<std::uint64_t>()
                                : 0;
  if (its.program && its.program_pid != pid) its.program->work();  // has it gone?
  if (its.program && !its.program->is_closed() && its.program_pid != pid) {
    // Two at a time share its nodes, and neither knows of the other: they stay as they are.
    its.others_until = now() + kAgain;
    return refuse(connection, "another program of this job has its nodes; one at a time");
  }
  its.program_pid = pid;
  its.program.emplace(std::move(connection));
  its.at_hosts.reset();
  its.is_lost = false;
  const NodeSet& nodes = its.stage == Its::Stage::leaving ? its.keeps : its.held.nodes;
  its.say({{"ok", true},
           {"hosts", hosts(its, nodes)},
           {"size", processes(its, nodes)},
           {"max", wire::kMaxProcesses},
           {"cores", its.shape.cores_per_process}});
  const bool goes_on = first.contains("phase");  // it was connected before
  if (goes_on) note_hosts(its, first);
  if (!goes_on) its.was_sent = false;  // it is another one
  if (its.order && its.stage == Its::Stage::answer) its.stage = Its::Stage::program;
  if (!its.order || its.stage != Its::Stage::program) return;
  const auto is_this = [&](const char* field) {
    const auto at = first.find(field);
    return at != first.end() && *at == index(its.order->id);
  };
  if (!goes_on || !is_this("heard")) return begin_resize(its);
  // It had the order before the connection was lost.
  if (is_this("done")) return program_answered(its, true, {});
  if (text_in(first, "phase") == "running") return program_answered(its, false, "it was given up");
  its.stage = Its::Stage::answer;
  its.is_lost = true;
  expect_answer(its);
}

/// Where it computes, if it says so.
void SlurmWorld::note_hosts(Its& its, const Json& json) {
  const auto at = json.find("hosts");
  if (at == json.end()) return;
  std::vector<std::string> names;
  if (at->is_object()) {  // in its report: how many where
    for (const auto& [name, count] : at->items()) names.push_back(name);
  } else {
    const std::string text = text_in(json, "hosts");
    for (std::string_view rest = text; !rest.empty();) {
      std::string_view one = next_part(rest, ',');
      names.emplace_back(next_part(one, ':'));
    }
  }
  std::ranges::sort(names);
  its.at_hosts = std::move(names);
}

bool SlurmWorld::is_at(const Its& its, const NodeSet& nodes) const {
  std::vector<std::string> wanted = names_.names(nodes);
  std::ranges::sort(wanted);
  return its.at_hosts && *its.at_hosts == wanted;
}

/// It is not where it is to be, and no order is under way: one of before was given up, or came
/// late.
void SlurmWorld::order_back(Its& its) {
  if (!its.program || its.order || !its.at_hosts || its.at_hosts->empty()) return;
  if (is_at(its, its.held.nodes) || now() < its.not_back_before) return;
  spdlog::info("job {} is ordered back to its nodes", its.number);
  its.not_back_before = now() + set_.retry;
  its.say({{"do", "resize"},
           {"size", processes(its, its.held.nodes)},
           {"hosts", hosts(its, its.held.nodes)},
           {"move", true}});
}

void SlurmWorld::read(Its& its) {
  if (!its.program) return;
  its.program->work();
  while (its.program) {
    const auto line = its.program->next();
    if (!line) break;
    on_line(its, *line);
  }
  if (!its.program || !its.program->is_closed()) return;
  its.program.reset();
  if (its.request) {
    happen(event::EvolvingWithdrawn{std::exchange(its.request, std::nullopt)->id});
  }
  // Another program of its script may come, or this one again.
  if (its.stage == Its::Stage::answer) {
    its.stage = Its::Stage::program;
    its.give_up_at = now() + settings_.program_limit;
  }
}

void SlurmWorld::on_line(Its& its, const std::string& line) {
  const Json json = parse_json_line<Json>(line);
  if (!json.is_object()) return;
  const std::string event = text_in(json, "event");
  if (event == "requested") {
    on_request(its, count_in(json, "at_least"), count_in(json, "preferred"));
  } else if (event == "resized" || event == "aborted") {
    constexpr double kLongest_s = 1e6;
    const double pause_s = measure_in(json, "pause_s", kLongest_s);
    if (pause_s > 0) events_.emplace_back(Paused{pause_s});
    if (its.order) its.paused += seconds(pause_s);
    note_hosts(its, json);
    if (its.order && its.is_lost && its.stage == Its::Stage::answer) {
      const bool is_done = event == "resized";
      // It may be of an order before this one.
      if (is_done && !is_at(its, its.order->after.nodes)) return;
      program_answered(its, is_done, words_in(json, "error"));
    }
  } else if (event == "measured") {
    const Observed seen = seen_in(json);
    const bool is_alone = !its.order && count_in(json, "size") == processes(its, its.held.nodes);
    if (is_alone && (seen.iterations > 0 || seen.looks > 0)) {
      events_.emplace_back(Measured{.job = its.id, .nodes = its.held.count, .seen = seen});
    }
  } else if (const auto id = json.find("id");
             id != json.end() && its.order && its.stage == Its::Stage::answer && !its.is_lost) {
    if (*id != index(its.order->id) || !json.contains("ok")) return;
    program_answered(its, json.at("ok") == true, words_in(json, "error"));
  }
}

/// In processes; a new request replaces an open one.
void SlurmWorld::on_request(Its& its, std::uint32_t at_least, std::uint32_t preferred) {
  const std::uint32_t now_has = processes(its, its.held.nodes);
  const std::uint32_t each = std::max(its.held.count == 0 ? 1 : now_has / its.held.count, 1U);
  const auto nodes = [&](std::uint32_t count) { return (count + each - 1) / each; };
  const Nodes has = its.held.count, wanted = nodes(preferred), least = nodes(at_least);
  const auto delta = static_cast<std::int32_t>(std::int64_t{wanted} - has);
  const Nodes needed = least > has ? least - has : 1;
  if (its.request) {
    if (its.request->delta == delta && its.request->at_least == needed) return;
    happen(event::EvolvingWithdrawn{std::exchange(its.request, std::nullopt)->id});
  }
  if (its.shape.type != JobType::evolving || wanted == has || wanted == 0) {
    return its.say({{"do", "answer"}, {"size", 0}});
  }
  its.request = Request{RequestId{next_request_++}, its.id, delta, needed};
  happen(event::EvolvingRequested{its.request->id, its.id, delta, needed});
}

// ---- The loop -----------------------------------------------------------------------------------

void SlurmWorld::add_to(Poller& poller) {
  poller.add(errands_.descriptor(), POLLIN, [] {});
  for (const auto& [id, owned] : jobs_) {
    Its* const its = owned.get();
    if (!its->program) continue;
    poller.add(its->program->descriptor(), its->program->events(), [this, id = its->id] {
      if (Its* const found = find(id)) read(*found);
    });
  }
}

void SlurmWorld::look_at(Its& its) {
  if (its.program && its.program->is_closed()) read(its);
  if (its.order && its.stage != Its::Stage::start && now() >= its.give_up_at) give_up(its);
  if (its.runs && !its.has_ended && its.away == 0) order_back(its);
}

void SlurmWorld::look() {
  errands_.take();
  if (clock_ != nullptr && reach_ == Reach::here) {
    for (const auto& [id, its] : jobs_) look_at(*its);
    std::erase_if(early_, [&](Early& each) {
      each.connection.work();
      return now() >= each.until || each.connection.is_closed();
    });
  }
  const bool is_due = clocks_.since_boot() >= poll_at_ || (must_ask_ && reach_ == Reach::here);
  if (!is_asked_ && is_due) {
    poll();
    errands_.take();
  }
}

Time SlurmWorld::next() const {
  if (clock_ == nullptr) return kNever;
  Time next = kNever;
  if (!is_asked_) {
    if (must_ask_ && reach_ == Reach::here) return Time{};
    next = now() + std::max(poll_at_ - clocks_.since_boot(), Duration{});
  }
  for (const auto& [id, its] : jobs_) {
    if (its->program && its->program->is_closed()) return Time{};
    if (its->stage != Its::Stage::start) next = std::min(next, its->give_up_at);
  }
  return next;
}

World::Signs SlurmWorld::signs(JobId id) const {
  const Its* const its = find(id);
  return {.is_silent = its != nullptr && its->is_silent};
}

}  // namespace ductile
