#include "support/hostile_world.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "scheduling/blocks.hpp"
#include "support/fingerprint.hpp"
#include "support/random_policy.hpp"

namespace ductile::testing {
namespace {

/// Decides nothing.
class Idler final : public Policy {
 public:
  void schedule(Pass&) const override {}
};

class Finisher final : public Policy {
 public:
  Finisher() : Policy({.answers_requests = true}) {}
  void schedule(Pass& pass) const override { deny_and_start(pass); }
};

std::shared_ptr<const Policy> random_policy(Draws& draws, std::uint32_t calls,
                                            const Capabilities& can, bool shares) {
  RandomPolicy::Settings settings;
  settings.calls = calls;
  settings.shares = shares;
  settings.names_nodes = can.moves;  // the same of jobs that run
  settings.draw_traits(draws);
  if (draws.chance(0.3)) settings.needed_resizes = std::min(can.resizes_per_job, 2U);
  return std::make_shared<RandomPolicy>(settings);
}

Holding minus(const Holding& a, const Holding& b, bool identities) {
  if (!identities) return {a.count > b.count ? a.count - b.count : 0, {}};
  NodeSet rest = difference(a.nodes, b.nodes);
  const Nodes count = rest.count();
  return {count, std::move(rest)};
}

Holding plus(const Holding& a, const Holding& b) {
  return {a.count + b.count, united(a.nodes, b.nodes)};
}

// With the parts that somebody has of these nodes.
Holding with_parts(Holding now, const Holding& of) {
  now.parts = of.parts;
  erase(now.parts, difference(of.nodes, now.nodes));
  return now;
}

Holding holding_of(NodeSet nodes) {
  const Nodes count = nodes.count();
  return {count, std::move(nodes)};
}

void require(bool holds, const std::string& what) {
  if (!holds) throw Complaint(what);
}

std::string name(JobId id) { return "job " + std::to_string(index(id)); }

// Half of the time nobody loses anything, else each by each other another part, or all the same.
Contention random_contention(Draws& draws) {
  if (draws.chance(0.5)) return {};
  const auto number = [&] { return static_cast<std::uint16_t>(1 + draws.below(kPerMille)); };
  Contention contention = contention_of(number());
  if (draws.chance(0.3)) return contention;
  for (Contention::Row& row : contention.per_mille) {
    for (std::uint16_t& each : row) each = number();
  }
  return contention;
}

}  // namespace

void deny_and_start(Pass& pass) {
  for (const Request& request : pass.requests()) pass.deny(request.id, {Why::fairness});
  for (JobId id = pass.first_pending(); id != JobId::none;) {
    const JobId next = pass.next_pending(id);
    const JobSpec& spec = pass.job(id).spec;
    pass.start(id, sizes_at_start(spec.type) ? spec.size : exactly(spec.preferred),
               {Why::in_order});
    id = next;
  }
}

HostileSettings recorded_settings(std::uint64_t seed) {
  HostileSettings settings = random_settings(seed);
  settings.journal = true;
  settings.rules.record = true;
  return settings;
}

HostileSettings sharing_settings(std::uint64_t seed) {
  HostileSettings settings = random_settings(seed);
  Draws draws(seed, Stream::test, 6);
  settings.shares = settings.capabilities.parts = settings.rules.identities = true;
  settings.platform.nodes = static_cast<Nodes>(4 + draws.below(20));
  settings.platform.cores_per_node = static_cast<std::uint32_t>(2 + draws.below(15));
  settings.rules.share = draws.chance(0.5) ? ShareModel::worst : ShareModel::ideal;
  settings.capabilities.instant_cores = draws.chance(0.5);
  settings.cells = draws.chance(0.4);
  settings.rules.contention = random_contention(draws);
  return settings;
}

HostileSettings random_settings(std::uint64_t seed) {
  Draws draws(seed, Stream::test, 1);
  HostileSettings settings;
  settings.seed = seed;
  settings.platform.nodes = static_cast<Nodes>(8 + draws.below(57));
  settings.platform.cores_per_node = static_cast<std::uint32_t>(2 + draws.below(3));
  settings.platform.idle_w = draws.chance(0.5) ? 100 : 0;
  settings.platform.busy_w = 200;
  settings.platform.boot_time = whole_seconds(static_cast<std::int64_t>(draws.below(20)));

  Capabilities& can = settings.capabilities;
  can.instant_start = draws.chance(0.4);
  const std::uint32_t resizes[] = {0, 1, Capabilities::kUnlimited, Capabilities::kUnlimited,
                                   Capabilities::kUnlimited};
  can.resizes_per_job = resizes[draws.below(5)];
  can.power_control = draws.chance(0.3);

  Rules& rules = settings.rules;
  rules.identities = draws.chance(0.7);
  rules.limit = draws.chance(0.5) ? Rules::Limit::scaled : Rules::Limit::fixed;
  rules.record = draws.chance(0.3);
  rules.check = true;
  rules.seed = seed;
  if (!rules.identities) can.power_control = false;

  Draws frequencies(seed, Stream::test, 7);
  if (frequencies.chance(0.3)) {
    rules.slow_for_power = true;
    settings.platform.steps = {{0.8, 0.6}, {0.5, 0.25}};
    if (frequencies.chance(0.3)) settings.platform.steps.push_back({0.1, 0});
  }

  settings.jobs = static_cast<std::uint32_t>(8 + draws.below(25));
  settings.acts = static_cast<std::uint32_t>(8 + draws.below(30));
  can.moves = rules.identities && draws.chance(0.6);
  can.suspends = static_cast<Suspends>(draws.below(kSuspendsWords.size()));
  return settings;
}

HostileWorld::HostileWorld(const HostileSettings& settings)
    : settings_(settings),
      draws_(settings.seed, Stream::test, 2),
      identities_(settings.seed, Stream::test, 3),
      places_(settings.seed, Stream::test, 5),
      reservations_(settings.seed, Stream::test, 6),
      policy_(some_policy()),
      core_(first_platform(), settings.capabilities, settings.rules, policy_->traits),
      first_(core_) {
  if (identities()) {
    holders_.resize(settings.platform.nodes);
    health_.assign(settings.platform.nodes, Health::up);
  }
  // A coarse grid of times, so that much falls on the same instant.
  for (std::uint32_t i = 0; i < settings.jobs; ++i) {
    at(whole_seconds(static_cast<std::int64_t>(draws_.below(60))), [this] { submit(); });
  }
  for (std::uint32_t i = 0; i < settings.acts; ++i) {
    at(whole_seconds(static_cast<std::int64_t>(draws_.below(100))), [this] { act(); });
  }
  if (settings.has_budget) at(Duration{}, [this] { change_corridor(); });
  for (std::uint64_t n = settings.bookings ? 4 + reservations_.below(12) : 0; n > 0; --n) {
    at(whole_seconds(static_cast<std::int64_t>(reservations_.below(90))),
       [this] { change_bookings(); });
  }
}

HostileWorld::Figures& HostileWorld::Figures::operator+=(const Figures& other) {
  instants += other.instants;
  closes += other.closes;
  decisions += other.decisions;
  events += other.events;
  stale += other.stale;
  claims += other.claims;
  waited += other.waited;
  grants += other.grants;
  vacated += other.vacated;
  machines += other.machines;
  unable += other.unable;
  moves += other.moves;
  stops += other.stops;
  suspended += other.suspended;
  guests += other.guests;
  cuts += other.cuts;
  moves_on += other.moves_on;
  spared += other.spared;
  outlived += other.outlived;
  bookings += other.bookings;
  booked += other.booked;
  ordered_off += other.ordered_off;
  slowed += other.slowed;
  raised += other.raised;
  return *this;
}

HostileWorld::Figures HostileWorld::figures() const {
  Figures figures = figures_;
  figures.claims = core_.state().next_claim;
  figures.stale = core_.state().stale;
  return figures;
}

// --- Time
// --------------------------------------------------------------------------------------------

void HostileWorld::at(Duration delay, std::function<void()> action) {
  ++important_;
  agenda_.emplace(now_ + delay, [this, action = std::move(action)] {
    --important_;
    action();
  });
}

bool HostileWorld::step() {
  if (important_ == 0) return false;
  now_ = agenda_.begin()->first;
  ++figures_.instants;
  touched_ = 0;
  // What lies on this instant; answers that come without delay lead to another close.
  std::uint64_t closes = 0;
  while (!agenda_.empty() && agenda_.begin()->first == now_) {
    while (!agenda_.empty() && agenda_.begin()->first == now_) {
      auto node = agenda_.extract(agenda_.begin());
      node.mapped()();
    }
    close();
    require(++closes <= 2 + std::uint64_t{touched_},
            "more closes of one instant than jobs touched");
  }
  return true;
}

void HostileWorld::schedule_timer() {
  const Time wake = core_.next_wake();
  if (wake == kNever) return;
  require(wake > now_, "a wake-up that has passed");
  if (timer_ > now_ && timer_ <= wake) return;
  timer_ = wake;
  agenda_.emplace(wake, [this] {
    if (core_.next_wake() <= now_) {
      fact("TimerFired", event::TimerFired{});
    } else if (meddles_) {
      fib("TimerFired too early", event::TimerFired{});
    }
  });
}

// --- Telling the core
// --------------------------------------------------------------------------------

bool HostileWorld::tell(const Event& event) {
  ++figures_.events;
  const bool accepted = core_.apply(now_, event);
  if (settings_.journal) {
    journal_.push_back({.time = now_,
                        .event = event,
                        .accepted = accepted,
                        .fingerprint = fingerprint(core_.state())});
  }
  return accepted;
}

void HostileWorld::fact(const char* what, const Event& event) {
  require(tell(event), std::string(what) + " was not taken");
}

void HostileWorld::fib(const char* what, const Event& event) {
  const std::uint64_t before = fingerprint(core_.state(), Scope::facts);
  require(!tell(event), std::string(what) + " was taken");
  require(fingerprint(core_.state(), Scope::facts) == before,
          std::string(what) + " changed something");
}

// --- The books
// ---------------------------------------------------------------------------------------

NodeSet HostileWorld::free_nodes() const {
  NodeSet free;
  for (std::uint32_t node = 0; node < holders_.size(); ++node) {
    if (holders_[node].empty() && health_[node] == Health::up) free.insert(node, node);
  }
  return free;
}

Nodes HostileWorld::free_count() const {
  return identities() ? free_nodes().count() : settings_.platform.nodes - used_;
}

Holding HostileWorld::part(const Holding& of, Nodes n) {
  if (!identities()) return {n, {}};
  NodeSet left = of.nodes, taken;
  for (; n > 0; --n) {
    NodeSet rest = left;
    const auto skip = static_cast<Nodes>(identities_.below(left.count()));
    rest.take_lowest(skip);
    const NodeSet one = rest.take_lowest(1);
    taken.insert(one);
    left.erase(one);
  }
  return holding_of(std::move(taken));
}

Holding HostileWorld::takeable() const {
  if (!settings_.takes_from_claims) {
    return {core_.state().idle.count(), core_.state().idle.nodes()};
  }
  return {free_count(), free_nodes()};
}

Holding HostileWorld::grab(Nodes n) { return part(takeable(), n); }

void HostileWorld::book(JobId id, const Holding& nodes) {
  if (!identities()) {
    used_ += nodes.count;
    require(used_ <= settings_.platform.nodes, "more nodes given than there are, to " + name(id));
    return;
  }
  for (const Interval& part : nodes.nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      holders_[node].push_back(id);
    }
  }
}

void HostileWorld::unbook(JobId id, const Holding& nodes) {
  if (!identities()) {
    used_ -= nodes.count;
    return;
  }
  for (const Interval& part : nodes.nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      std::erase(holders_[node], id);
    }
  }
}

SizeConstraint HostileWorld::constraint_of(const Truth& job) {
  return job.adaptive ? job.adaptive->constraint : SizeConstraint{};
}

Nodes HostileWorld::size_off_draining(const Truth& job) const {
  Nodes draining = 0;
  for (std::uint32_t node = 0; node < health_.size(); ++node) {
    draining += is_to_leave(job, node) && job.keep != node && job.has.nodes.contains(node);
  }
  if (draining == 0) return 0;
  for (Nodes n = job.has.count - draining; n >= std::max<Nodes>(job.spec.size.min, 1); --n) {
    if (n <= job.spec.size.max && constraint_of(job).allows(n)) return n;
  }
  return 0;
}

std::vector<JobId> HostileWorld::with_stage(Stage stage) const {
  std::vector<JobId> ids;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].stage == stage) ids.push_back(JobId{i});
  }
  return ids;
}

std::size_t HostileWorld::open_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [](const Truth& job) { return job.open != DecisionId::none; }));
}

void HostileWorld::check_books() const {
  const State& state = core_.state();
  std::size_t running = 0;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    const Truth& job = jobs_[i];
    if (job.stage != Stage::running) continue;
    ++running;
    const Job& known = core_.job(JobId{i});
    require(known.status == Status::running, name(JobId{i}) + " runs, and the core does not know");
    require(known.holding == job.has, name(JobId{i}) + " has other nodes than the core knows");
    require(known.step == job.step, name(JobId{i}) + " computes at another frequency");
    const bool is_free = state.is_alone(known) && sizes_while_running(job.spec.type) &&
                         job.open == DecisionId::none && job.ordered == 0 &&
                         known.claim == ClaimId::none && now_ >= job.not_before &&
                         job.resizes < settings_.capabilities.resizes_per_job;
    // Whom this pass gave back his nodes to come is looked at in a moment.
    if (is_free && core_.next_wake() > now_ + kTick && size_off_draining(job) > 0) {
      throw Complaint(name(JobId{i}) + " stays on nodes that drain, and could leave them");
    }
    const bool can_move = state.capabilities.moves && state.is_alone(known) &&
                          sizes_while_running(job.spec.type) && job.open == DecisionId::none &&
                          known.claim == ClaimId::none && now_ >= job.not_before &&
                          state.budget_mw == State::kNoBudget;
    if (can_move && core_.next_wake() > now_ + kTick) check_has_moved(JobId{i});
    require(!job.stop || job.open != DecisionId::none || now_ < job.not_before ||
                !can_stop(job, *job.stop),
            name(JobId{i}) + " is ordered to stop, and is not told");
  }
  require(running == state.running.size(), "the core believes that more jobs run");
  if (settings_.shares) check_shared();
  const std::vector<Decision> open = core_.unanswered();
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    const Truth& job = jobs_[i];
    if (job.stage == Stage::over) continue;
    require(core_.job(JobId{i}).goes_on == job.goes_on,
            name(JobId{i}) + " goes on, or begins anew, and the core does not know");
    const Status stage[] = {Status::pending, Status::held, Status::running};
    require(core_.job(JobId{i}).status == stage[static_cast<std::size_t>(job.stage)],
            name(JobId{i}) + " waits, is held or runs, and the core does not know");
  }
  require(open.size() == open_count(), "the core waits for other answers");
  for (const Decision& decision : open) {
    const Truth& job = jobs_[index(decision.job)];
    require(job.open == decision.id && job.decision == decision,
            "an unanswered decision is not the one that was given, for " + name(decision.job));
  }
  require(free_count() == state.idle.count() + state.claimed, "other nodes are free");
  std::size_t requests = 0;
  for (const auto& [id, asked] : requests_) {
    ++requests;
    require(std::ranges::find(state.requests, id, &Request::id) != state.requests.end(),
            "a request is forgotten");
  }
  require(requests == state.requests.size(), "a request is open that is not");
}

Slice HostileWorld::whole(std::uint32_t node) const {
  if (!settings_.platform.classes.empty()) return class_of_node(node).has;
  return {.cores = static_cast<std::uint16_t>(settings_.platform.cores_per_node)};
}

Slice HostileWorld::slice_of(JobId id, std::uint32_t node) const {
  for (const Part& part : jobs_[index(id)].has.parts) {
    if (part.nodes.contains(node)) return part.has;
  }
  return whole(node);
}

void HostileWorld::check_shared() const {
  const State& state = core_.state();
  for (std::uint32_t node = 0; node < holders_.size(); ++node) {
    std::uint64_t cores = 0, memory = 0;
    bool has_part = false, is_settled = core_.next_wake() > now_ + kTick;
    for (const JobId id : holders_[node]) {
      const Truth& job = jobs_[index(id)];
      const Slice slice = slice_of(id, node);
      require(slice.cores > 0, name(id) + " has no core of a node that it is on");
      cores += slice.cores;
      memory += slice.memory_mb;
      has_part |= slice.cores < whole(node).cores;
      is_settled &= job.open == DecisionId::none && now_ >= job.not_before &&
                    core_.job(id).claim == ClaimId::none;
    }
    const std::string where = "node " + std::to_string(node);
    require(cores <= whole(node).cores, where + " has fewer cores than its jobs");
    require(holders_[node].size() < 2 || memory <= whole(node).memory_mb,
            where + " has less memory than its jobs");
    for (const Claim& claim : state.claims) {
      for (const Part& part : claim.inside) {
        if (part.nodes.contains(node)) cores += part.has.cores;
      }
    }
    require(!has_part || !is_settled || !settings_.capabilities.parts || cores >= whole(node).cores,
            where + " has cores for those who are there");
  }
}

// --- What happens
// ------------------------------------------------------------------------------------

AdaptiveSpec HostileWorld::some_adaptive() {
  AdaptiveSpec adaptive;
  const char* const models[] = {"linear",       "powerlaw:0.1",  "powerlaw:0.5",
                                "amdahl:0.1",   "overhead:0.1",  "overhead:0.5",
                                "downey:5:0.5", "downey:20:1.5", "table:1=9:2=5:8=2.5"};
  adaptive.speedup = parse_speedup(models[draws_.below(std::size(models))]);
  adaptive.cost.fixed_s = 0.1;
  adaptive.resize_delay = whole_seconds(static_cast<std::int64_t>(draws_.below(10)));
  adaptive.watts_per_node = draws_.chance(0.3) ? draws_.uniform(50, 400) : 0;
  if (adaptive.watts_per_node > 0 && draws_.chance(0.5)) {
    adaptive.least_watts_per_node = adaptive.watts_per_node * draws_.uniform(0.2, 1);
  }
  if (draws_.chance(0.3)) {
    const char* const constraints[] = {"pof2",  "even",       "odd",
                                       "cubic", "multiple:3", "list:1:3:4:10:12:40"};
    adaptive.constraint = parse_constraint(constraints[draws_.below(std::size(constraints))]);
  }
  return adaptive;
}

const Platform& HostileWorld::first_platform() {
  if (settings_.cells) draw_classes();
  return settings_.platform;
}

void HostileWorld::draw_classes() {
  Platform& platform = settings_.platform;
  const auto some_nodes = [&](double chance) {
    NodeSet set;
    for (std::uint32_t node = 0; node < platform.nodes;) {
      const auto last = std::min<std::uint32_t>(node + static_cast<std::uint32_t>(places_.below(9)),
                                                platform.nodes - 1);
      if (places_.chance(chance)) set.insert(node, last);
      node = last + 1;
    }
    return set;
  };
  const double speeds[] = {1, 1, 0.5, 2};
  platform.classes.clear();
  NodeSet rest;
  rest.insert(0, platform.nodes - 1);
  const std::uint64_t classes = 1 + places_.below(3);
  for (std::uint64_t i = 0; i < classes; ++i) {
    NodeClass its;
    its.name = "class" + std::to_string(i);
    its.nodes = i + 1 < classes ? intersection(rest, some_nodes(0.4)) : rest;
    rest.erase(its.nodes);
    its.has = {.cores = 4, .memory_mb = static_cast<std::uint32_t>(1000 * (1 + places_.below(3)))};
    its.speed = speeds[places_.below(4)];
    its.weight = static_cast<std::uint32_t>(places_.below(3));
    its.idle_w = 50.0 * static_cast<double>(places_.below(3));
    its.busy_w = its.idle_w + 75.0 * static_cast<double>(places_.below(4));
    platform.classes.push_back(std::move(its));
  }
  platform.idle_w = platform.classes[0].idle_w;
  platform.busy_w = platform.classes[0].busy_w;
  platform.partitions.clear();
  for (std::uint64_t n = places_.below(4); n > 0; --n) {
    platform.partitions.push_back({"part" + std::to_string(n), some_nodes(0.6)});
    platform.partitions.back().priority = static_cast<std::uint32_t>(n);
  }
}

Where HostileWorld::some_where() {
  Where where;
  if (!bookings_.empty() && reservations_.chance(0.4)) {
    where.booking = bookings_[reservations_.below(bookings_.size())].id;
  }
  if (!settings_.cells || places_.chance(0.4)) return where;
  if (!settings_.platform.partitions.empty()) where.partitions = places_.below(16);
  if (places_.chance(0.4)) where.each.memory_mb = static_cast<std::uint32_t>(places_.below(3500));
  const Nodes total = settings_.platform.nodes;
  if (total > kMostCellsWithLists || places_.chance(0.6)) return where;
  NodeSet& list = places_.chance(0.5) ? where.only : where.never;
  for (std::uint32_t node = 0; node < total; ++node) {
    if (places_.chance(0.6)) list.insert(node, node);
  }
  return where;
}

const NodeClass& HostileWorld::class_of_node(std::uint32_t node) const {
  const auto at = std::ranges::find_if(
      settings_.platform.classes, [&](const NodeClass& its) { return its.nodes.contains(node); });
  require(at != settings_.platform.classes.end(), "a node of no class");
  return *at;
}

NodeSet HostileWorld::allowed(const Where& where) const {
  const Platform& platform = settings_.platform;
  NodeSet nodes;
  for (std::uint32_t node = 0; node < platform.nodes; ++node) {
    bool may = platform.partitions.empty();
    for (std::size_t i = 0; i < platform.partitions.size(); ++i) {
      const std::uint64_t asked = where.partitions == 0 ? 1 : where.partitions;
      may |= (asked >> i & 1) != 0 && platform.partitions[i].nodes.contains(node);
    }
    if (!platform.classes.empty()) may &= class_of_node(node).has.covers(where.each);
    may &= where.only.empty() || where.only.contains(node);
    if (may && !where.never.contains(node)) nodes.insert(node, node);
  }
  const auto booking = std::ranges::find(bookings_, where.booking, &Booking::id);
  return booking == bookings_.end() ? nodes : intersection(nodes, booking->nodes);
}

const Booking* HostileWorld::booking_of(const Truth& job) const {
  const auto at = std::ranges::find(bookings_, job.where.booking, &Booking::id);
  return at == bookings_.end() ? nullptr : &*at;
}

bool HostileWorld::is_to_leave(const Truth& job, std::uint32_t node) const {
  if (health_[node] == Health::draining) return true;
  return std::ranges::any_of(bookings_, [&](const Booking& each) {
    return each.from <= now_ && each.id != job.where.booking && each.nodes.contains(node);
  });
}

Time HostileWorld::believed_end(JobId id) const {
  const Time limit = core_.job(id).limit;
  return limit > now_ ? limit : now_ + whole_seconds(1);
}

void HostileWorld::check_bookings(JobId id, const NodeSet& fresh, Time end) const {
  const Truth& job = jobs_[index(id)];
  const Booking* const own = booking_of(job);
  require(own == nullptr || (own->from <= now_ && end <= own->until(now_)),
          name(id) + " gets nodes when its booking is not there");
  if (own != nullptr) end = std::min(end, own->to);
  for (const Booking& each : bookings_) {
    require(&each == own || each.from >= end || each.to <= now_ || !each.nodes.intersects(fresh),
            name(id) + " would run into what is booked, from " +
                std::to_string(to_seconds(each.from)) + " s, until " +
                std::to_string(to_seconds(end)) + " s");
  }
}

bool HostileWorld::can_book(const Booking& next) const {
  if (next.nodes.empty() && (next.power_mw == 0 || next.for_jobs)) return false;
  return std::ranges::none_of(bookings_, [&](const Booking& each) {
    return each.id != next.id && each.from < next.to && next.from < each.to &&
           each.nodes.intersects(next.nodes);
  });
}

/// Something is booked, or something booked changes or is over.
void HostileWorld::change_bookings() {
  if (!meddles_) return;
  Draws& draws = reservations_;
  const auto some_time = [&](std::uint64_t most) {
    return whole_seconds(static_cast<std::int64_t>(draws.below(most)));
  };
  Booking next;
  next.name = "r" + std::to_string(next_booking_);
  const bool is_known = !bookings_.empty() && draws.chance(0.3);
  if (is_known) next = bookings_[draws.below(bookings_.size())];
  next.from = now_ + some_time(40);
  next.to = draws.chance(0.1) ? kNever : next.from + kTick + some_time(40);
  if (is_known && draws.chance(0.4)) next.to = now_;
  if (!is_known && draws.chance(0.2)) {
    next.power_mw = 1000 * static_cast<std::int64_t>(draws.below(3000));
  } else if (draws.chance(0.3)) {
    const auto n = static_cast<Nodes>(1 + draws.below(settings_.platform.nodes / 2));
    const auto placed = place_booking(core_.state(), n, next.from, next.to);
    if (placed) next.nodes = *placed;
    if (!is_known && placed) require(next.nodes.count() == n, "a booking of another size");
  } else {
    next.nodes = {};
    const double share = draws.chance(0.1) ? 1 : 0.3;
    for (std::uint32_t node = 0; node < settings_.platform.nodes; ++node) {
      if (draws.chance(share)) next.nodes.insert(node, node);
    }
  }
  next.for_jobs = next.power_mw == 0 && draws.chance(0.6);
  const bool is_over = next.to <= now_;
  if (!is_over && !can_book(next)) return fib("an impossible booking", event::Booked{next});
  fact("Booked", event::Booked{next});
  std::erase_if(bookings_, [&](const Booking& each) { return each.id == next.id; });
  if (is_over) return;
  if (!is_known) {
    next.id = BookingId{next_booking_++};
    ++figures_.bookings;
  }
  bookings_.push_back(next);
}

double HostileWorld::slowest(const NodeSet& nodes) const {
  double least = 1e9;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      least = std::min(least, class_of_node(node).speed);
    }
  }
  return least;
}

void HostileWorld::check_place(const Truth& job, const NodeSet& fresh,
                               const std::string& who) const {
  if (!settings_.cells || fresh.empty()) return;
  require(allowed(job.where).contains(fresh), who + " gets nodes where it may not run");
  require(job.has.nodes.empty() || slowest(fresh) >= slowest(job.has.nodes),
          who + " gets nodes that are slower than all it has");
}

void HostileWorld::submit() {
  const Where where = some_where();
  const NodeSet there = settings_.cells ? allowed(where) : NodeSet{};
  const Nodes total = settings_.cells ? there.count() : settings_.platform.nodes;
  const JobId id{static_cast<std::uint32_t>(jobs_.size())};
  Truth& job = jobs_.emplace_back();
  JobSpec& spec = job.spec;
  spec.name = index(id) + 100;
  spec.user = static_cast<std::uint32_t>(draws_.below(4));
  spec.priority = draws_.chance(0.2) ? static_cast<std::int32_t>(draws_.below(3)) - 1 : 0;
  const JobType types[] = {JobType::rigid,     JobType::moldable,  JobType::malleable,
                           JobType::malleable, JobType::malleable, JobType::evolving,
                           JobType::adaptive,  JobType::adaptive};
  spec.type = types[draws_.below(8)];
  spec.submitted = now_;
  spec.walltime = whole_seconds(static_cast<std::int64_t>(1 + draws_.below(60)));
  if (draws_.chance(0.3)) spec.walltime += Duration{static_cast<std::int64_t>(draws_.below(1000))};
  const Nodes most = std::max<Nodes>(total, 8);
  spec.preferred = static_cast<Nodes>(1 + draws_.below(draws_.chance(0.7) ? most / 4 : most));
  if (draws_.chance(0.02)) spec.preferred = total + 1;
  spec.size = exactly(spec.preferred);
  if (settings_.shares && draws_.chance(0.5)) {
    spec.cores = static_cast<std::uint16_t>(1 + draws_.below(settings_.platform.cores_per_node));
    spec.ranks = static_cast<std::uint16_t>(1 + draws_.below(spec.cores));
  }
  if (!settings_.rules.contention.is_off()) {
    spec.bound = static_cast<Bound>(draws_.below(kBoundWords.size()));
  }
  if (spec.type != JobType::rigid) {
    spec.size.min = static_cast<Nodes>(1 + draws_.below(spec.preferred));
    spec.size.max = spec.preferred + static_cast<Nodes>(draws_.below(most / 2));
    AdaptiveSpec adaptive = some_adaptive();
    if (draws_.chance(0.9)) job.adaptive = std::move(adaptive);
  }
  job.rejected = spec.preferred > total;
  if (job.rejected) job.stage = Stage::over;
  job.where = where;
  event::Submitted submitted{spec, job.adaptive};
  if (!(where == Where{})) submitted.where = std::make_shared<const Where>(where);
  fact("Submitted", submitted);
  spec.size.max = std::min(spec.size.max, total);  // of the machine as it is now
  require(core_.state().jobs.size() == jobs_.size(), "a submitted job has no record");
}

void HostileWorld::begin_run(JobId id) {
  const std::uint32_t life = truth(id).life;
  const Duration runtime =
      draws_.chance(0.1) ? Duration{} : whole_seconds(static_cast<std::int64_t>(draws_.below(100)));
  at(runtime, [this, id, life] {
    if (truth(id).stage != Stage::running || truth(id).life != life) return;
    const EndState states[] = {EndState::completed, EndState::timeout, EndState::failed};
    end(id, states[draws_.below(3)], false);
  });
}

/// It waits from now on; held, if it is ordered to be suspended.
void HostileWorld::leave_nodes(JobId id) {
  Truth& job = truth(id);
  unbook(id, job.has);
  std::erase_if(requests_, [&](const auto& entry) { return entry.second.job == id; });
  job.has = {};
  job.step = 0;
  job.open = DecisionId::none;
  job.keep.reset();
  job.off = {};
  job.resizes = 0;
  ++job.life;
  job.stage = job.stop == Stop::suspend ? Stage::held : Stage::waiting;
  job.stop.reset();
  job.not_before = now_ + kTick;
}

void HostileWorld::suspend(JobId id, DecisionId answers) {
  Truth& job = truth(id);
  ++touched_;
  ++figures_.suspended;
  job.last = answers != DecisionId::none ? answers : job.last;
  leave_nodes(id);
  job.goes_on = true;
  const Event event = event::Suspended{id, answers};
  fact("Suspended", event);
  if (meddles_ && draws_.chance(0.2)) fib("Suspended once more", event);
}

void HostileWorld::suspend_unasked() {
  std::vector<JobId> ids = with_stage(Stage::running);
  std::erase_if(ids, [&](JobId id) { return truth(id).open != DecisionId::none; });
  if (!ids.empty()) suspend(ids[draws_.below(ids.size())], DecisionId::none);
}

bool HostileWorld::can_stop(const Truth& job, Stop how) const {
  const Suspends can = settings_.capabilities.suspends;
  return how != Stop::suspend || can == Suspends::all ||
         (can == Suspends::malleable && sizes_while_running(job.spec.type));
}

void HostileWorld::order_stop() {
  const std::vector<JobId> ids = with_stage(static_cast<Stage>(draws_.below(3)));
  if (ids.empty()) return;
  const JobId id = ids[draws_.below(ids.size())];
  Truth& job = truth(id);
  if (draws_.chance(0.3)) {
    const event::StopOrdered lifts{id, std::nullopt};
    if (!job.stop) return fib("no order to lift", lifts);
    job.stop.reset();
    return fact("an order to stop lifted", lifts);
  }
  const auto how = static_cast<Stop>(draws_.below(kStopWords.size()));
  const event::StopOrdered event{id, how};
  if (job.stage != Stage::running || !can_stop(job, how)) {
    return fib("an impossible order to stop", event);
  }
  if (job.stop == how) return fib("the same order to stop", event);
  job.stop = how;
  fact("an order to stop", event);
}

void HostileWorld::end(JobId id, EndState state, bool requeue) {
  Truth& job = truth(id);
  const bool ran = job.stage == Stage::running;
  ++touched_;
  job.last = job.open != DecisionId::none ? job.open : job.last;
  leave_nodes(id);
  if (!requeue) job.stage = Stage::over;
  job.goes_on = false;
  fact("Ended", event::Ended{id, state, requeue});
  if (meddles_ && draws_.chance(0.1)) {
    fib("a second end", event::Ended{id, state, ran && requeue});
  }
}

void HostileWorld::act() {
  if (!meddles_) return;
  if (settings_.has_budget && draws_.chance(0.4)) {
    return draws_.chance(0.3) ? change_corridor() : believe();
  }
  switch (draws_.below(22)) {
    case 0:
      return cancel();
    case 1:
      return requeue();
    case 2:
    case 3:
      return hold_or_release();
    case 4:
      return start_unasked();
    case 5:
      return resize_unasked();
    case 6:
    case 7:
      return change_nodes();
    case 8:
      return order();
    case 9:
    case 10:
      return request();
    case 11:
      return settings_.shares && draws_.chance(0.3) ? learn_contention() : believe();
    case 12:
      return change_corridor();
    case 13:
      return change_policy(some_policy());
    case 14:
      return lie();
    case 15:
      return alter();
    case 16:
      return change_machine();
    case 17:
      return order_move();
    case 18:
    case 19:
      return order_stop();
    case 20:
      return suspend_unasked();
    default:
      return request();
  }
}

void HostileWorld::cancel() {
  std::vector<JobId> ids = with_stage(static_cast<Stage>(draws_.below(3)));
  if (!ids.empty()) end(ids[draws_.below(ids.size())], EndState::cancelled, false);
}

void HostileWorld::requeue() {
  const std::vector<JobId> ids = with_stage(Stage::running);
  if (!ids.empty()) end(ids[draws_.below(ids.size())], EndState::node_fail, true);
}

void HostileWorld::hold_or_release() {
  const bool release = draws_.chance(0.5);
  const std::vector<JobId> ids = with_stage(release ? Stage::held : Stage::waiting);
  if (ids.empty()) return;
  const JobId id = ids[draws_.below(ids.size())];
  truth(id).stage = release ? Stage::waiting : Stage::held;
  fact("Eligible", event::Eligible{id, release});
  fib("Eligible once more", event::Eligible{id, release});
}

void HostileWorld::start_unasked() {
  const std::vector<JobId> ids = with_stage(Stage::waiting);
  if (ids.empty()) return;
  const JobId id = ids[draws_.below(ids.size())];
  Truth& job = truth(id);
  if (job.spec.preferred > takeable().count) return;
  job.has = grab(job.spec.preferred);
  book(id, job.has);
  job.stage = Stage::running;
  job.not_before = now_ + kTick;
  fact("an unsolicited Started", event::Started{id, DecisionId::none, job.has, {}});
  begin_run(id);
}

void HostileWorld::resize_unasked() {
  std::vector<JobId> ids = with_stage(Stage::running);
  std::erase_if(ids, [&](JobId id) { return truth(id).open != DecisionId::none; });
  if (ids.empty()) return;
  const JobId id = ids[draws_.below(ids.size())];
  const Truth& job = truth(id);
  Holding now;
  if (draws_.chance(0.5)) {
    const Nodes more = std::min<Nodes>(takeable().count, static_cast<Nodes>(1 + draws_.below(4)));
    now = plus(job.has, grab(more));
  } else {
    now = part(job.has, static_cast<Nodes>(1 + draws_.below(job.has.count)));
  }
  now = with_parts(now, job.has);
  report_resized(id, DecisionId::none, now, random_retry());
}

void HostileWorld::change_nodes() {
  if (!identities() || !settings_.node_events) return;
  const Nodes total = settings_.platform.nodes;
  const auto first = static_cast<std::uint32_t>(draws_.below(total));
  const auto last =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(total - 1, first + draws_.below(4)));
  const NodeSet nodes{{{first, last}}};
  const Health to[] = {Health::up, Health::draining, Health::down, Health::down};
  const Health health = to[draws_.below(4)];
  if (health == Health::up) return repair(nodes);

  const bool changes = std::any_of(health_.begin() + first, health_.begin() + last + 1,
                                   [&](Health h) { return h != health; });
  std::fill(health_.begin() + first, health_.begin() + last + 1, health);
  const Event event = event::NodesChanged{nodes, health};
  changes ? fact("NodesChanged", event) : fib("NodesChanged to the same", event);
  at(whole_seconds(static_cast<std::int64_t>(5 + draws_.below(60))),
     [this, nodes] { repair(nodes); });
  if (health != Health::down) return;
  // The jobs on them are lost, or survive with fewer nodes; at once or some time later.
  for (const JobId id : with_stage(Stage::running)) {
    if (!truth(id).has.nodes.intersects(nodes)) continue;
    const auto delay = draws_.chance(0.5) ? 0 : draws_.below(5);
    at(whole_seconds(static_cast<std::int64_t>(delay)), [this, id] { lose_nodes(id); });
  }
}

void HostileWorld::repair(const NodeSet& nodes) {
  bool changes = false;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      changes |= health_[node] != Health::up;
      health_[node] = Health::up;
    }
  }
  const Event event = event::NodesChanged{nodes, Health::up};
  changes ? fact("NodesChanged to up", event) : fib("NodesChanged, up as before", event);
}

void HostileWorld::lose_nodes(JobId id) {
  Truth& job = truth(id);
  if (job.stage != Stage::running) return;
  NodeSet dead;
  for (const Interval& part : job.has.nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      if (health_[node] == Health::down) dead.insert(node, node);
    }
  }
  if (dead.empty()) return;
  // A grow under way is aborted: it holds what it had before.
  const bool open = job.open != DecisionId::none;
  const bool grows = open && job.decision.after.count > job.before.count;
  const Holding& had = grows ? job.before : job.has;
  const Holding left = with_parts(holding_of(difference(had.nodes, dead)), had);
  const bool starts = open && job.decision.kind == Decision::Kind::start;
  if (starts && draws_.chance(0.5)) {
    answer_start(id, job);  // some answer; if it runs, it is lost in a moment
    if (job.stage == Stage::running) end(id, EndState::node_fail, draws_.chance(0.5));
  } else if (starts || left.count == 0 || draws_.chance(0.5)) {
    end(id, EndState::node_fail, draws_.chance(0.5));
  } else {
    report_resized(id, job.open, left, random_retry());
  }
}

void HostileWorld::order() {
  std::vector<JobId> ids = with_stage(draws_.chance(0.7) ? Stage::running : Stage::waiting);
  std::erase_if(ids, [&](JobId id) { return !sizes_while_running(truth(id).spec.type); });
  if (ids.empty()) return;
  const JobId id = ids[draws_.below(ids.size())];
  Truth& job = truth(id);
  if (job.ordered != 0 && draws_.chance(0.7)) {
    job.ordered = 0;
    return fact("an order lifted", event::SizeOrdered{id, 0});
  }
  const auto size = static_cast<Nodes>(job.spec.size.min +
                                       draws_.below(job.spec.size.max - job.spec.size.min + 1));
  const SizeConstraint constraint = constraint_of(job);
  const bool possible = constraint.allows(size) && size <= settings_.platform.nodes &&
                        settings_.capabilities.resizes_per_job > 0;
  const Event event = event::SizeOrdered{id, size};
  if (!possible || job.ordered == size) return fib("an impossible order", event);
  job.ordered = size;
  fact("an order", event);
}

/// Off nodes that drain, and off those that it was ordered off, if there are others.
void HostileWorld::check_has_moved(JobId id) const {
  const State& state = core_.state();
  const Truth& job = jobs_[index(id)];
  const auto order = std::ranges::find(state.moves, id, &MoveOrder::job);
  NodeSet ordered;
  if (order != state.moves.end()) ordered = order->off;
  NodeSet draining;
  for (std::uint32_t node = 0; node < health_.size(); ++node) {
    if (is_to_leave(job, node)) draining.insert(node, node);
  }
  NodeSet others = difference(state.idle.nodes(), ordered);
  const Booking* const own = booking_of(job);
  Time end = believed_end(id);
  if (own != nullptr && (own->from > now_ || end > own->until(now_))) others = {};
  if (own != nullptr) end = std::min(end, own->to);
  for (const Booking& each : bookings_) {
    if (&each != own && each.from < end) others.erase(each.nodes);
  }
  if (settings_.cells) {
    NodeSet usable = intersection(others, allowed(job.where));
    for (std::uint32_t node = 0; node < health_.size(); ++node) {
      const bool slower = class_of_node(node).speed < slowest(job.has.nodes);
      if (slower) usable.erase(NodeSet{{{node, node}}});
    }
    others = std::move(usable);
  }
  const Nodes there = others.count();
  for (const NodeSet* const off : {&draining, &ordered}) {
    NodeSet leaves = intersection(job.has.nodes, *off);
    if (job.keep) leaves.erase(NodeSet{{{*job.keep, *job.keep}}});
    require(leaves.empty() || leaves.count() > there,
            name(id) + " stays on nodes that it is to leave, and others are idle");
  }
}

void HostileWorld::order_move() {
  const std::vector<JobId> ids = with_stage(Stage::running);
  if (ids.empty() || !settings_.capabilities.moves) return;
  const JobId id = ids[draws_.below(ids.size())];
  Truth& job = truth(id);
  if (draws_.chance(0.2)) {
    const auto has_one = [&] {
      return std::ranges::find(core_.state().moves, id, &MoveOrder::job) !=
             core_.state().moves.end();
    };
    const event::MoveOrdered lifts{id, {}};
    return has_one() ? fact("an order to move lifted", lifts) : fib("no order to lift", lifts);
  }
  const auto first = static_cast<std::uint32_t>(draws_.below(settings_.platform.nodes));
  NodeSet off{{{first, first}}};
  if (draws_.chance(0.8))
    off.insert(part(job.has, 1 + static_cast<Nodes>(draws_.below(job.has.count))).nodes);
  NodeSet leaves = intersection(job.has.nodes, off);
  if (job.keep) leaves.erase(NodeSet{{{*job.keep, *job.keep}}});
  const bool possible =
      settings_.capabilities.moves && sizes_while_running(job.spec.type) && !leaves.empty();
  const Event event = event::MoveOrdered{id, off};
  if (!possible) return fib("an impossible order to move", event);
  job.off = off;
  fact("an order to move", event);
}

/// To other nodes, by an order or off nodes that drain; only then it may be smaller, too.
void HostileWorld::check_move(const Decision& decision) {
  if (decision.reason.why == Why::guest) return check_move_on(decision);
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  ++figures_.moves;
  require(settings_.capabilities.moves && sizes_while_running(job.spec.type),
          who + " moves, and cannot");
  const bool ordered = decision.reason.why == Why::ordered;
  const bool booked = decision.reason.why == Why::booked;
  figures_.ordered_off += booked;
  require(ordered ? !job.off.empty() : decision.reason.why == Why::draining || booked,
          who + " moves for no reason");
  NodeSet off = job.off;
  if (!ordered) {
    off = {};
    for (std::uint32_t node = 0; node < health_.size(); ++node) {
      if (is_to_leave(job, node)) off.insert(node, node);
    }
  }
  NodeSet leaves = intersection(job.has.nodes, off);
  if (job.keep) leaves.erase(NodeSet{{{*job.keep, *job.keep}}});
  const NodeSet& after = decision.after.nodes;
  require(!after.intersects(leaves), who + " stays on nodes that it is to leave");
  const NodeSet fresh = difference(after, job.has.nodes), gone = difference(job.has.nodes, after);
  require(leaves.contains(gone), who + " leaves other nodes than it is to");
  require(free_nodes().contains(fresh) && !fresh.intersects(off), who + " moves to nodes not free");
  if (!fresh.empty()) check_bookings(decision.job, fresh, believed_end(decision.job));
  check_place(job, fresh, who);
  const Nodes n = decision.after.count;
  require(n == job.has.count ||
              (!ordered && n < job.has.count && job.spec.size.contains(n) &&
               constraint_of(job).allows(n) && n > size_off_draining(job) && job.ordered == 0),
          who + " moves to a size that it cannot have");
  job.before = job.has;
  const Holding more{fresh.count(), fresh};
  book(decision.job, more);
  job.has = plus(job.has, more);
}

/// It leaves the nodes that it has not alone, and keeps the others.
void HostileWorld::check_move_on(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  ++figures_.moves_on;
  require(settings_.capabilities.moves && settings_.capabilities.parts &&
              sizes_while_running(job.spec.type),
          who + " moves on, and cannot");
  const NodeSet& after = decision.after.nodes;
  require(decision.after.count == job.has.count && decision.after.parts.empty(),
          who + " does not have its number of nodes whole");
  NodeSet leaves = nodes_in(job.has.parts);
  for_each_node(job.has.nodes, [&](std::uint32_t node) {
    if (holders_[node].size() > 1) leaves.insert(node, node);
  });
  require(!job.has.parts.empty() && difference(job.has.nodes, after) == leaves,
          who + " leaves other nodes than those that it has not alone");
  const NodeSet fresh = difference(after, job.has.nodes);
  require(free_nodes().contains(fresh), who + " moves to nodes not free");
  check_bookings(decision.job, fresh, believed_end(decision.job));
  job.before = job.has;
  const Holding more{fresh.count(), fresh};
  book(decision.job, more);
  job.has = with_parts(plus(job.has, more), job.has);
}

void HostileWorld::alter() {
  const Stage stages[] = {Stage::waiting, Stage::waiting, Stage::waiting, Stage::held,
                          Stage::running};
  const std::vector<JobId> ids = with_stage(stages[draws_.below(5)]);
  if (ids.empty()) return;
  const JobId id = ids[draws_.below(ids.size())];
  Truth& job = truth(id);
  std::shared_ptr<const Where> where;
  if (settings_.cells && places_.chance(0.3)) where = std::make_shared<const Where>(some_where());
  const Nodes total =
      settings_.cells ? allowed(where ? *where : job.where).count() : settings_.platform.nodes;
  const Nodes most = std::max<Nodes>(total, 8);
  event::Altered to{.job = id,
                    .priority = static_cast<std::int32_t>(draws_.below(3)) - 1,
                    .walltime = whole_seconds(static_cast<std::int64_t>(1 + draws_.below(60))),
                    .size = job.spec.size,
                    .preferred = job.spec.preferred};
  const bool is_rigid = job.spec.type == JobType::rigid;
  if (draws_.chance(0.7)) {
    to.preferred = static_cast<Nodes>(1 + draws_.below(draws_.chance(0.9) ? most / 4 : most + 2));
    to.size = exactly(to.preferred);
  }
  if (draws_.chance(is_rigid ? 0.1 : 0.7)) {
    to.size = {static_cast<Nodes>(1 + draws_.below(to.preferred)),
               to.preferred + static_cast<Nodes>(draws_.below(most / 2))};
  }
  if (draws_.chance(0.3)) to.account = static_cast<std::uint32_t>(draws_.below(3));
  if (draws_.chance(job.adaptive ? 0.3 : 0.05)) to.adaptive = some_adaptive();
  to.where = where;
  const bool has_one_size = to.size.min == std::min(to.size.max, total);
  if (job.stage == Stage::running || to.preferred > total || (is_rigid && !has_one_size) ||
      (to.adaptive && !job.adaptive)) {
    return fib("an impossible change", to);
  }
  if (where) job.where = *where;
  job.spec.priority = to.priority;
  job.spec.walltime = to.walltime;
  job.spec.preferred = to.preferred;
  job.spec.size = {to.size.min, std::min(to.size.max, total)};
  job.spec.account = to.account.value_or(job.spec.account);
  if (to.adaptive) job.adaptive = to.adaptive;
  const bool may_have = job.spec.size.contains(job.ordered) && job.ordered <= total &&
                        constraint_of(job).allows(job.ordered);
  if (!may_have) job.ordered = 0;
  fact("Altered", to);
  const Job& known = core_.job(id);
  require(known.spec.priority == to.priority && known.spec.preferred == to.preferred &&
              known.spec.walltime == to.walltime && known.spec.size.min == to.size.min &&
              known.spec.account == job.spec.account,
          name(id) + " is not what it was to become");
  require(!to.adaptive || core_.state().adaptive.at(known.adaptive).spec == *to.adaptive,
          name(id) + " is believed to be what it was");
  require(known.claim == ClaimId::none, name(id) + " keeps a claim of the job that it was");
  require(known.ordered == job.ordered, name(id) + " has another order");
}

/// It has more nodes, or other ones, or can no longer do something, or can do it again.
void HostileWorld::change_machine() {
  if (!settings_.machine_events) return;
  Platform& platform = settings_.platform;
  Capabilities& can = settings_.capabilities;
  const Platform before = platform;
  const Capabilities could = can;
  const auto more = static_cast<Nodes>(1 + draws_.below(6));
  const auto resizes = static_cast<std::uint32_t>(draws_.below(3));
  switch (draws_.below(7)) {
    case 0:
    case 1:
      platform.nodes += more;
      break;
    case 6:
      can.suspends = static_cast<Suspends>(resizes);
      break;
    case 2:
      platform.idle_w = platform.idle_w > 0 ? 0 : 100;
      platform.busy_w = draws_.chance(0.5) ? 200 : 250;
      platform.boot_time += whole_seconds(1);
      break;
    case 3:
      can.resizes_per_job = resizes < 2 ? resizes : Capabilities::kUnlimited;
      break;
    case 4:
      can.instant_start = !can.instant_start;
      break;
    default:
      // That of a world that has such switches at all.
      can.power_control = !can.power_control && first_.state().capabilities.power_control;
      platform.cores_per_node += 1;
  }
  if (settings_.shares && draws_.chance(0.5)) can.parts = !can.parts;
  const State& state = core_.state();
  const bool is_decided = std::ranges::any_of(state.unanswered, [](const Unanswered& open) {
    return !open.before.parts.empty() || !open.decision.after.parts.empty();
  });
  const bool is_shared = !state.sharers.empty() || !state.parted.empty() || is_decided;
  if (is_shared && settings_.cells) platform = before;
  if (settings_.cells && !is_shared && (platform.nodes != before.nodes || places_.chance(0.5))) {
    draw_classes();
  }
  if (identities()) {
    holders_.resize(platform.nodes);
    health_.resize(platform.nodes, Health::up);
  }
  ++figures_.machines;
  const Event event = event::MachineChanged{platform, can};
  if (platform == before && can == could) return fib("the machine that there is", event);
  fact("MachineChanged", event);
  fib("MachineChanged once more", event);
  Platform fewer = platform;
  --fewer.nodes;
  fib("a machine with fewer nodes", event::MachineChanged{fewer, can});
}

void HostileWorld::request() {
  if (!requests_.empty() && draws_.chance(0.25)) {
    const RequestId id = requests_.begin()->first;
    requests_.erase(id);
    fact("EvolvingWithdrawn", event::EvolvingWithdrawn{id});
    return fib("EvolvingWithdrawn once more", event::EvolvingWithdrawn{id});
  }
  std::vector<JobId> ids = with_stage(Stage::running);
  std::erase_if(ids, [&](JobId id) {
    const JobType type = truth(id).spec.type;
    return type != JobType::evolving && type != JobType::adaptive;
  });
  for (int n = 0; n < 3 && !ids.empty(); ++n) {
    const JobId job = ids[draws_.below(ids.size())];
    const RequestId id{next_request_++};
    auto delta = static_cast<std::int32_t>(1 + draws_.below(6));
    if (draws_.chance(0.3)) delta = -delta;
    const auto at_least = static_cast<Nodes>(draws_.chance(0.5) ? 0 : 1 + draws_.below(3));
    requests_[id] = {job, delta, at_least};
    const Event event = event::EvolvingRequested{id, job, delta, at_least};
    fact("EvolvingRequested", event);
    if (draws_.chance(0.1)) fib("EvolvingRequested once more", event);
  }
}

void HostileWorld::believe() {
  if (jobs_.empty()) return;
  JobId id{static_cast<std::uint32_t>(draws_.below(jobs_.size()))};
  if (settings_.has_budget && draws_.chance(0.7)) {
    for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i].open != DecisionId::none) id = JobId{i};
    }
  }
  const double watts = draws_.chance(0.7) ? draws_.uniform(20, 500) : 0, mtct = draws_.uniform();
  const double rate = draws_.chance(0.5) ? draws_.uniform(0.5, 2) : 0;
  event::Believed its{id, watts, mtct, rate};
  if (draws_.chance(0.3)) its.model = Speedup{Speedup::Kind::amdahl, draws_.uniform()};
  const Event believed = its;
  if (truth(id).stage == Stage::over) {
    fib("a belief about a job that is over", believed);
  } else {
    const EventKinds woken = core_.state().woken;
    const bool must_wake = core_.state().must_wake;
    fact("Believed", believed);
    require(core_.state().woken == woken && core_.state().must_wake == must_wake,
            "a belief woke the policy");
  }
}

void HostileWorld::learn_contention() {
  const event::ContentionLearned learned{random_contention(draws_)};
  if (learned.contention == core_.state().rules.contention) {
    return fib("the same contention once more", learned);
  }
  const EventKinds woken = core_.state().woken;
  fact("ContentionLearned", learned);
  require(core_.state().woken == woken, "a belief woke the policy");
}

void HostileWorld::change_corridor() {
  const double all = settings_.platform.nodes * 200.0;
  const bool is_bound = !draws_.chance(settings_.has_budget ? 0.1 : 0.4);
  const double high =
      is_bound ? draws_.uniform(0.2, 1.5) * all : std::numeric_limits<double>::infinity();
  fact("CorridorChanged", event::CorridorChanged{0, high});
}

std::shared_ptr<const Policy> HostileWorld::some_policy() {
  if (!settings_.make_policy) {
    return random_policy(draws_, settings_.policy_calls, settings_.capabilities,
                         settings_.shares && settings_.capabilities.parts);
  }
  for (int tries = 0; tries < 50; ++tries) {
    std::shared_ptr<const Policy> policy = settings_.make_policy(draws_);
    if (meets(settings_.capabilities, policy->traits.needs)) return policy;
  }
  return std::make_shared<Finisher>();
}

void HostileWorld::change_policy(std::shared_ptr<const Policy> policy) {
  policy_ = std::move(policy);
  fact("ConfigChanged", event::ConfigChanged{policy_->traits});
}

/// What is not true, or not any more.
void HostileWorld::lie() {
  const JobId unknown{1'000'000};
  const DecisionId strange{999'999'999};
  fib("a stranger's start", event::Started{unknown, strange, {1, {}}, {}});
  fib("a stranger's end", event::Ended{unknown, EndState::completed, false});
  if (!settings_.capabilities.power_control) {
    fib("a policy that needs too much", event::ConfigChanged{{.needs = {.power_control = true}}});
  }
  fib("a request withdrawn by nobody", event::EvolvingWithdrawn{RequestId{888'888'888}});
  if (jobs_.empty()) return;
  const JobId id{static_cast<std::uint32_t>(draws_.below(jobs_.size()))};
  const Truth& job = truth(id);
  const Holding now = job.has.count > 0 ? job.has : Holding{1, NodeSet{{{0, 0}}}};
  for (const DecisionId stale : {job.last, strange}) {
    if (stale == DecisionId::none) continue;
    fib("a stale Started", event::Started{id, stale, now, {}});
    fib("a stale StartFailed", event::StartFailed{id, stale, now_});
    fib("a stale Resized", event::Resized{id, stale, now, now_});
    fib("a stale Suspended", event::Suspended{id, stale});
  }
  if (job.stage == Stage::running) {
    fib("Started for a running job", event::Started{id, DecisionId::none, now, {}});
    fib("a job without nodes", event::Resized{id, DecisionId::none, {}, now_});
    // Another one's number.
    for (const Truth& other : jobs_) {
      if (other.open != DecisionId::none && other.open != job.open) {
        fib("another job's number", event::Resized{id, other.open, now, now_});
        fib("another job's number", event::Suspended{id, other.open});
      }
    }
  }
  if (job.open != DecisionId::none) {
    fib("Suspended by nobody, of a job that is busy", event::Suspended{id, DecisionId::none});
  }
  if (job.stage == Stage::waiting) {
    fib("a waiting job that is suspended", event::Suspended{id, DecisionId::none});
    fib("a waiting job that is requeued", event::Ended{id, EndState::failed, true});
    fib("a request of a waiting job", event::EvolvingRequested{RequestId{777}, id, 1, 0});
  }
}

// --- Decisions and their answers
// ---------------------------------------------------------------------

void HostileWorld::close() {
  ++figures_.closes;
  std::erase_if(bookings_, [&](const Booking& each) { return each.to <= now_; });
  std::vector<Decision> decisions;
  const std::int64_t free_mw = core_.state().free_power_mw();
  {
    const RandomPolicy::Watch watch(core_.state());
    const auto given = core_.close(now_, *policy_);
    decisions.assign(given.begin(), given.end());
  }
  const bool is_able = meets(settings_.capabilities, policy_->traits.needs);
  figures_.unable += !is_able;
  require(is_able || !core_.was_asked(), "a policy was asked that needs what the world cannot do");
  if (settings_.journal) {
    Record record{.time = now_, .policy = policy_, .asked = core_.was_asked()};
    record.decisions = decisions;
    record.fingerprint = fingerprint(core_.state());
    record.calls.assign(core_.pen_calls().begin(), core_.pen_calls().end());
    journal_.push_back(std::move(record));
  }
  for (std::size_t i = 1; i < decisions.size(); ++i) {
    require(index(decisions[i].id) == index(decisions[i - 1].id) + 1, "decisions out of order");
  }
  // With whole nodes. With shared ones a resize was seen to draw more where too much was drawn
  // already.
  require(settings_.capabilities.parts ||
              core_.state().free_power_mw() >= std::min<std::int64_t>(free_mw, 0),
          "more power was given than there is");
  // They do not depend on each other: any order will do, but that cores that change at once may be
  // given and taken again, and that who was started may be raised.
  for (std::size_t i = decisions.size(); i > 1; --i) {
    std::swap(decisions[i - 1], decisions[draws_.below(i)]);
  }
  std::ranges::stable_sort(decisions, {}, [](const Decision& decision) {
    const bool is_first = decision.kind == Decision::Kind::cores;
    const bool is_last = decision.kind == Decision::Kind::frequency;
    return std::pair(is_first  ? 0
                     : is_last ? 2
                               : 1,
                     is_first || is_last ? decision.id : DecisionId::none);
  });
  for (const Decision& decision : decisions) check(decision);
  for (const Truth& job : jobs_) require(!job.rejected, "a job that cannot run was not rejected");
  check_books();
  schedule_timer();
}

void HostileWorld::check(const Decision& decision) {
  ++figures_.decisions;
  switch (decision.kind) {
    case Decision::Kind::start:
      return check_start(decision);
    case Decision::Kind::resize:
      return check_resize(decision);
    case Decision::Kind::deny: {
      const auto at = requests_.find(decision.request);
      require(at != requests_.end() && at->second.job == decision.job, "a deny of nothing");
      requests_.erase(at);
      return;
    }
    case Decision::Kind::set_limit:
      return;
    case Decision::Kind::cores:
      return check_instant_cores(decision);
    case Decision::Kind::frequency:
      return check_frequency(decision);
    case Decision::Kind::cancel:
    case Decision::Kind::requeue:
    case Decision::Kind::suspend:
      return check_stop(decision);
    case Decision::Kind::power_on:
    case Decision::Kind::power_off:
      return check_power(decision);
    case Decision::Kind::reject: {
      Truth& job = truth(decision.job);
      if (decision.reason.why == Why::outside) {  // the policy's own will
        require(job.stage == Stage::waiting,
                name(decision.job) + " is rejected, and does not wait");
        job.stage = Stage::over;
      } else {
        require(job.rejected, name(decision.job) + " is rejected, and could run");
        job.rejected = false;
      }
      return;
    }
  }
}

void HostileWorld::check_start(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  require(job.stage == Stage::waiting, who + " is started, and does not wait");
  require(now_ >= job.not_before, who + " is started too soon after a failure");
  require(job.last_decision < now_, who + " is decided about twice in one instant");
  const Nodes n = decision.after.count;
  const SizeConstraint constraint = constraint_of(job);
  const bool sized =
      sizes_at_start(job.spec.type)
          ? job.spec.size.contains(n) && (constraint.allows(n) || n == job.spec.preferred)
          : n == job.spec.preferred;
  require(sized, who + " is started at a size it cannot have");
  if (identities()) {
    require(decision.after.nodes.count() == n, who + ": nodes and count differ");
    NodeSet fresh = decision.after.nodes;
    for (const Part& part : decision.after.parts) {
      require(settings_.capabilities.parts && sizes_while_running(job.spec.type),
              who + " is started on nodes of others, and cannot");
      require(fresh.contains(part.nodes), who + " has parts of other nodes");
      fresh.erase(part.nodes);
      for_each_node(part.nodes, [&](std::uint32_t node) {
        require(!holders_[node].empty(), who + " shares a node with nobody");
      });
    }
    figures_.guests += !decision.after.parts.empty();
    require(free_nodes().contains(fresh), who + " is started on nodes not free");
    job.has = {};
    check_place(job, decision.after.nodes, who);
    check_bookings(decision.job, decision.after.nodes, decision.limit);
    figures_.booked += booking_of(job) != nullptr;
  }
  require(decision.step == 0 ||
              (settings_.rules.slow_for_power && decision.step <= settings_.platform.steps.size() &&
               core_.state().budget_mw != State::kNoBudget),
          who + " is started at a frequency that there is not");
  job.step = decision.step;
  figures_.slowed += decision.step > 0;
  job.has = decision.after;
  job.before = {};
  job.last_decision = now_;
  book(decision.job, job.has);
  job.stage = Stage::running;
  if (settings_.capabilities.instant_start) {
    if (core_.job(decision.job).claim != ClaimId::none) job.grows_at = now_;
    job.not_before = now_ + kTick;
    begin_run(decision.job);
    return;
  }
  answer_later(job, decision);
}

/// A running job that was slowed computes faster, at once; what else this close decided about it
/// came after that.
void HostileWorld::check_frequency(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  require(job.stage == Stage::running, who + " is raised, and does not run");
  require(job.open == DecisionId::none || job.open > decision.id, who + " is raised, and is busy");
  require(decision.step < job.step, who + " is raised to no higher frequency");
  job.step = decision.step;
  ++figures_.raised;
}

void HostileWorld::check_resize(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  require(job.stage == Stage::running && job.open == DecisionId::none,
          who + " is resized, and is busy or does not run");
  const bool at_once = job.grows_at == now_;
  job.grows_at = Time::min();
  require(at_once || now_ >= job.not_before, who + " is resized too soon");
  require(at_once || job.last_decision < now_, who + " is decided about twice in one instant");
  const bool moves = identities() && !decision.after.nodes.contains(job.has.nodes) &&
                     !job.has.nodes.contains(decision.after.nodes);
  const bool cores = identities() && decision.after.nodes == job.has.nodes;
  require(job.resizes < settings_.capabilities.resizes_per_job || cores ||
              (moves && decision.after.count == job.has.count),
          who + " is resized too often");
  if (cores) {
    check_cores(decision);
  } else if (moves) {
    check_move(decision);
  } else {
    check_change_of_size(decision);
  }
  answer_later(job, decision);
}

/// It keeps its nodes: it is to leave cores to a guest, or gets some that nobody has.
void HostileWorld::check_cores(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  require(settings_.capabilities.parts && sizes_while_running(job.spec.type),
          who + " is to have other cores, and cannot");
  require(decision.reason.why == Why::guest, who + " is to have other cores for no reason");
  job.before = job.has;
  const bool gives = decision.reason.job != JobId::none;
  job.has.parts = decision.after.parts;
  bool changes = false;
  for_each_node(job.has.nodes, [&](std::uint32_t node) {
    const Slice after = slice_of(decision.job, node);
    std::swap(job.has, job.before);
    const Slice before = slice_of(decision.job, node);
    std::swap(job.has, job.before);
    require(after.cores > 0 && (gives ? before.covers(after) : after.covers(before)),
            who + " is to have more and fewer cores");
    require(!gives || after.cores < before.cores, who + " is cut, and keeps its cores");
    changes |= after.cores != before.cores;
    if (gives || holders_[node].front() != decision.job) return;
    figures_.outlived += holders_[node].size() == 1;
  });
  require(changes, who + " is to have the cores that it has");
  ++(gives ? figures_.cuts : figures_.spared);
  if (gives) job.has = job.before;
}

void HostileWorld::check_instant_cores(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  require(settings_.capabilities.instant_cores,
          who + " is to have other cores at once, and cannot");
  require(job.stage == Stage::running && job.open == DecisionId::none,
          who + " is to have other cores, and is busy or does not run");
  require(decision.after.nodes == job.has.nodes, who + " is to have other nodes with its cores");
  check_cores(decision);
  job.has.parts = decision.after.parts;
}

void HostileWorld::answer_cores(JobId id, Truth& job) {
  Holding now = job.decision.after;
  Time retry_at{};
  const std::uint64_t fate = meddles_ && settings_.refuses ? draws_.below(10) : 9;
  if (fate < 3) {  // refused, or lost and given up
    now = job.before;
    retry_at = random_retry();
  } else if (fate < 5) {  // on some nodes only
    for_each_node(job.before.nodes, [&](std::uint32_t node) {
      if (!identities_.chance(0.5)) return;
      const NodeSet one{{{node, node}}};
      const Slice* const part = find(job.before.parts, node);
      erase(now.parts, one);
      if (part) put(now.parts, one, *part);
    });
    retry_at = random_retry();
  }
  report_resized(id, job.open, now, retry_at);
}

void HostileWorld::check_change_of_size(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  const bool ordered = decision.reason.why == Why::ordered;
  require(ordered == (job.ordered != 0 && decision.request == RequestId::none),
          who + " is pinned by an order, or not");
  require(!ordered || decision.after.count == job.ordered, who + " is not brought to its order");
  const Nodes n = decision.after.count;
  require(n > 0 && n != job.has.count, who + " is resized to nothing, or to what it has");
  if (decision.reason.why == Why::draining || decision.reason.why == Why::booked) {
    ++figures_.vacated;
    figures_.ordered_off += decision.reason.why == Why::booked;
    require(n == size_off_draining(job), who + " leaves nodes that drain for another size");
  }
  if (decision.request != RequestId::none) {
    ++figures_.grants;
    const auto at = requests_.find(decision.request);
    require(at != requests_.end() && at->second.job == decision.job, "a grant of nothing");
    const auto change = static_cast<std::int64_t>(n) - job.has.count;
    const Asked& asked = at->second;
    // A pass may add to a grant if it may resize the job anyway.
    const std::int64_t asks = asked.delta;
    const std::int64_t least =
        asked.at_least == 0 ? asks : std::min<std::int64_t>(asked.at_least, asks);
    const bool exact = !sizes_while_running(job.spec.type);
    const bool enough = asks < 0 ? change <= asks && (!exact || change == asks)
                                 : change >= least && (!exact || change <= asks);
    require(enough, who + " is granted " + std::to_string(change) + " nodes, and asked for " +
                        std::to_string(asks) + ", at least " + std::to_string(asked.at_least));
    requests_.erase(at);
  } else {
    require(sizes_while_running(job.spec.type) && job.spec.size.contains(n),
            who + " cannot have that size");
    require(constraint_of(job).allows(n), who + " breaks its constraint");
  }
  job.before = job.has;
  if (n > job.has.count) {
    const Holding more = minus(decision.after, job.has, identities());
    if (identities()) {
      require(decision.after.nodes.contains(job.has.nodes), who + " is to grow and to lose nodes");
      require(free_nodes().contains(more.nodes), who + " is to grow on nodes not free");
      check_place(job, more.nodes, who);
      check_bookings(decision.job, more.nodes, believed_end(decision.job));
    }
    book(decision.job, more);
    job.has = decision.after;
  } else if (identities()) {
    require(job.has.nodes.contains(decision.after.nodes), who + " is to shrink and to gain nodes");
    if (job.keep && job.has.nodes.contains(*job.keep)) {
      require(decision.after.nodes.contains(*job.keep), who + " must not give this node up");
    }
    // Sick nodes go first.
    const NodeSet given = difference(job.has.nodes, decision.after.nodes);
    bool gives_sound = false, keeps_sick = false;
    for (std::uint32_t node = 0; node < health_.size(); ++node) {
      const bool sick = health_[node] != Health::up || is_to_leave(job, node);
      gives_sound |= !sick && given.contains(node);
      keeps_sick |= sick && decision.after.nodes.contains(node) && job.keep != node;
    }
    require(!(gives_sound && keeps_sick), who + " keeps a sick node and gives up a sound one");
  }
}

void HostileWorld::check_stop(const Decision& decision) {
  Truth& job = truth(decision.job);
  const std::string who = name(decision.job);
  ++figures_.stops;
  require(job.stage == Stage::running && job.open == DecisionId::none,
          who + " is to stop, and is busy or does not run");
  require(now_ >= job.not_before && job.last_decision < now_, who + " is to stop too soon");
  const auto how =
      static_cast<Stop>(static_cast<int>(decision.kind) - static_cast<int>(Decision::Kind::cancel));
  require(can_stop(job, how), who + " is to be suspended, and cannot");
  // What the world no longer can is not done, and a policy may decide otherwise.
  const bool is_ordered = job.stop.has_value() && can_stop(job, *job.stop);
  require((decision.reason.why == Why::ordered) == is_ordered && (!is_ordered || *job.stop == how),
          who + " is not stopped as it was ordered");
  require(decision.after == Holding{}, who + " is to stop, and to hold something");
  job.before = job.has;
  job.last_decision = now_;
  answer_later(job, decision);
}

void HostileWorld::answer_stop(JobId id, Truth& job) {
  if (meddles_ && settings_.refuses && draws_.chance(0.25)) {
    return report_resized(id, job.open, job.before, random_retry());
  }
  if (job.decision.kind == Decision::Kind::suspend) return suspend(id, job.open);
  end(id, EndState::cancelled, job.decision.kind == Decision::Kind::requeue);
}

void HostileWorld::check_power(const Decision& decision) {
  require(settings_.capabilities.power_control, "this world cannot switch nodes");
  ++touched_;
  const NodeSet nodes = decision.after.nodes;
  if (decision.kind == Decision::Kind::power_off) {
    require(free_nodes().contains(nodes), "nodes are switched off that are not free");
    for (const Interval& part : nodes.parts) {
      std::fill(health_.begin() + part.first, health_.begin() + part.last + 1, Health::off);
    }
    if (draws_.chance(0.5)) fib("off, as decided", event::NodesChanged{nodes, Health::off});
    return;
  }
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      require(health_[node] == Health::off, "a node is switched on that is not off");
    }
  }
  const auto delay = whole_seconds(static_cast<std::int64_t>(draws_.below(30)));
  at(delay, [this, nodes] { repair(nodes); });
}

Time HostileWorld::random_retry() {
  return draws_.chance(0.4) ? now_ + whole_seconds(static_cast<std::int64_t>(draws_.below(20)))
                            : Time{};
}

void HostileWorld::answer_later(Truth& job, const Decision& decision) {
  job.open = decision.id;
  job.decision = decision;
  // At once, later, or so late that the world gave up waiting.
  std::uint64_t delay = draws_.chance(0.35) ? 0 : 1 + draws_.below(10);
  if (meddles_ && draws_.chance(0.08)) delay = 60;
  at(whole_seconds(static_cast<std::int64_t>(delay)),
     [this, id = decision.job, open = decision.id] { answer(id, open); });
}

void HostileWorld::answer(JobId id, DecisionId decision) {
  Truth& job = truth(id);
  if (job.open != decision) {  // it ended meanwhile, or was answered for another reason
    ++touched_;
    fib("an answer that comes too late",
        event::Resized{id, decision, job.has.count > 0 ? job.has : Holding{1, NodeSet{{{0, 0}}}},
                       now_});
    return;
  }
  if (meddles_ && draws_.chance(0.04)) return end(id, EndState::failed, draws_.chance(0.5));
  if (job.decision.kind == Decision::Kind::resize) {
    answer_resize(id, job);
  } else if (job.decision.stops()) {
    answer_stop(id, job);
  } else {
    answer_start(id, job);
  }
}

void HostileWorld::answer_start(JobId id, Truth& job) {
  const DecisionId decision = job.open;
  ++touched_;
  job.last = decision;
  if (meddles_ && settings_.refuses && draws_.chance(0.15)) {
    const Time retry_at = random_retry();
    leave_nodes(id);
    job.not_before = std::max(retry_at, now_ + kTick);
    const Event event = event::StartFailed{id, decision, retry_at};
    fact("StartFailed", event);
    if (draws_.chance(0.2)) fib("StartFailed once more", event);
    return;
  }
  Holding reported = job.has;
  if (meddles_ && settings_.refuses && job.decision.kind == Decision::Kind::start &&
      job.has.parts.empty() && draws_.chance(0.2)) {
    // On other nodes than decided; a moldable one now and then on more or fewer.
    Nodes n = job.has.count;
    const bool changes = draws_.chance(0.3);
    const auto other = static_cast<Nodes>(1 + draws_.below(2 * n));
    if (changes && sizes_at_start(job.spec.type)) n = other;
    const Holding from = plus(job.has, takeable());
    reported = part(from, std::min(n, from.count));
    unbook(id, job.has);
    job.has = reported;
    book(id, job.has);
  } else if (draws_.chance(0.5)) {
    reported = {};  // as decided
  }
  std::optional<std::uint32_t> keep;
  if (identities() && identities_.chance(0.5)) keep = job.has.nodes.parts.front().first;
  job.keep = keep;
  job.open = DecisionId::none;
  job.not_before = now_ + kTick;
  const Event event = event::Started{id, decision, reported, keep};
  fact("Started", event);
  if (meddles_ && draws_.chance(0.1)) fib("Started once more", event);
  begin_run(id);
}

void HostileWorld::answer_resize(JobId id, Truth& job) {
  if (identities() && job.decision.after.nodes == job.before.nodes) return answer_cores(id, job);
  const Holding after = job.decision.after;
  const bool grows = after.count > job.before.count;
  const Nodes step = grows ? after.count - job.before.count : job.before.count - after.count;
  Holding now = after;
  Time retry_at{};
  const std::uint64_t fate = meddles_ && settings_.refuses ? draws_.below(20) : 19;
  const auto some = static_cast<Nodes>(draws_.below(step + 1));
  const auto more = static_cast<Nodes>(1 + draws_.below(3));
  if (fate < 4) {  // refused, or lost and given up
    now = job.before;
    retry_at = random_retry();
  } else if (fate < 8) {  // partly
    now = grows ? plus(job.before, part(minus(after, job.before, identities()), some))
                : plus(after, part(minus(job.before, after, identities()), some));
  } else if (fate < 10) {  // more than it had; the nodes must be free in the world
    const Nodes n = std::min(more, takeable().count);
    now = with_parts(plus(job.has, grab(n)), job.has);
    retry_at = random_retry();
  }
  report_resized(id, job.open, now, retry_at);
}

void HostileWorld::report_resized(JobId id, DecisionId answers, const Holding& now, Time retry_at) {
  Truth& job = truth(id);
  const bool ours = answers != DecisionId::none;
  const Nodes before = ours ? job.before.count : job.has.count;
  unbook(id, minus(job.has, now, identities()));
  book(id, minus(now, job.has, identities()));
  job.has = now;
  if (before != now.count) ++job.resizes;
  job.not_before = std::max(retry_at, now_ + kTick);
  if (ours) {
    ++touched_;
    job.last = answers;
    job.open = DecisionId::none;
  }
  const Event event = event::Resized{id, answers, now, retry_at};
  fact("Resized", event);
  if (ours && meddles_ && draws_.chance(0.2)) fib("Resized once more", event);
}

// --- The end
// -----------------------------------------------------------------------------------------

void HostileWorld::run_until(const char* what, const std::function<bool()>& done) {
  for (int n = 0; !done(); ++n) {
    require(n < 10'000 && important_ > 0, std::string("never: ") + what);
    step();
  }
}

void HostileWorld::live() {
  while (step()) {
  }
  settle();
}

void HostileWorld::settle() {
  meddles_ = false;
  // Nobody decides anything new; the world still answers as it likes.
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].ordered == 0 || jobs_[i].stage == Stage::over) continue;
    jobs_[i].ordered = 0;
    fact("an order lifted", event::SizeOrdered{JobId{i}, 0});
  }
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].stop) continue;
    jobs_[i].stop.reset();
    fact("an order to stop lifted", event::StopOrdered{JobId{i}, std::nullopt});
  }
  for (Booking each : std::exchange(bookings_, {})) {
    each.to = now_;
    fact("a booking is over", event::Booked{each});
  }
  const std::vector<MoveOrder> moves = core_.state().moves;
  for (const MoveOrder& order : moves) {
    if (truth(order.job).stage != Stage::running) continue;
    fact("an order to move lifted", event::MoveOrdered{order.job, {}});
  }
  change_policy(std::make_shared<Idler>());
  close();
  run_until("all decisions answered", [&] { return open_count() == 0; });
  require(core_.state().claims.empty(), "everything is answered, and a claim is left");
  require(core_.state().unanswered.empty(), "everything is answered, and the core waits");

  // A plain policy, and nothing in its way.
  run_until("all jobs submitted", [&] { return jobs_.size() == settings_.jobs; });
  if (identities()) repair(NodeSet{{{0, settings_.platform.nodes - 1}}});
  if (settings_.cells) {
    // As it is now some may fit nowhere.
    Platform& platform = settings_.platform;
    for (NodeClass& its : platform.classes) its.has.memory_mb = 100'000;
    while (platform.partitions.size() < 4) platform.partitions.emplace_back();
    for (Partition& its : platform.partitions) {
      its.name = "all";
      its.nodes = NodeSet{{{0, platform.nodes - 1}}};
    }
    fact("MachineChanged", event::MachineChanged{platform, settings_.capabilities});
  }
  fact("CorridorChanged", event::CorridorChanged{0, std::numeric_limits<double>::infinity()});
  for (const JobId id : with_stage(Stage::held)) {
    truth(id).stage = Stage::waiting;
    fact("Eligible", event::Eligible{id, true});
  }
  change_policy(settings_.make_policy ? some_policy() : std::make_shared<Finisher>());
  close();
  while (with_stage(Stage::over).size() < jobs_.size()) {
    require(figures_.instants < 100'000, "the jobs never end");
    if (step()) continue;
    // Only timers are left: those of jobs that are to be tried again.
    require(!agenda_.empty(), "jobs wait, and nothing will happen any more");
    now_ = agenda_.begin()->first;
    auto node = agenda_.extract(agenda_.begin());
    node.mapped()();
    close();
  }
  const State& state = core_.state();
  require(state.claims.empty() && state.unanswered.empty() && state.requests.empty() &&
              state.queue.empty() && state.running.empty() && state.ordered.empty() &&
              state.moves.empty() && state.stops.empty(),
          "all jobs are over, and something is left");
  require(state.idle.count() == settings_.platform.nodes && state.releases.size() == 0,
          "all jobs are over, and nodes are missing");
  require(
      std::ranges::all_of(state.releases_of, [](const Releases& its) { return its.size() == 0; }),
      "all jobs are over, and releases of a cell are left");
  require(core_.next_wake() > now_, "all jobs are over, and a time has come");
}

}  // namespace ductile::testing
