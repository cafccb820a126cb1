#include "support/fake_world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "scheduling/parts.hpp"

namespace ductile::testing {
namespace {

/// It never has more.
constexpr Nodes kMostNodes = 14;

Holding holding(const NodeSet& nodes) { return {nodes.count(), nodes}; }

/// Some of these nodes.
NodeSet some(NodeSet from, Nodes count, Draws& draws) {
  const Nodes low = static_cast<Nodes>(draws.below(count + 1));
  NodeSet chosen = from.take_lowest(low);
  chosen.insert(from.take_highest(count - low));
  return chosen;
}

}  // namespace

FakeWorld::Figures& FakeWorld::Figures::operator+=(const Figures& other) {
  starts += other.starts;
  failed_starts += other.failed_starts;
  resizes += other.resizes;
  refusals += other.refusals;
  partly += other.partly;
  ends += other.ends;
  requests += other.requests;
  arrivals += other.arrivals;
  late_arrivals += other.late_arrivals;
  elsewhere += other.elsewhere;
  lost_events += other.lost_events;
  changed += other.changed;
  take_ups += other.take_ups;
  absences += other.absences;
  senseless += other.senseless;
  altered += other.altered;
  dropped += other.dropped;
  strangers += other.strangers;
  lost_starts += other.lost_starts;
  changes += other.changes;
  late_changes += other.late_changes;
  nonsense += other.nonsense;
  grown += other.grown;
  shrunk += other.shrunk;
  other_machines += other.other_machines;
  large += other.large;
  return *this;
}

FakeWorld::FakeWorld(std::uint64_t seed, const Platform& platform, const FakeClocks& clocks)
    : is{platform,
         {.instant_start = false, .resizes_per_job = Capabilities::kUnlimited, .moves = true},
         "fake"},
      draws_(seed, Stream::test, 1),
      clocks_(clocks),
      holders_(platform.nodes, 0),
      health_(platform.nodes, Health::up) {}

World::Description FakeWorld::describe() const {
  if (reach() == Reach::lost) complain("it is to describe itself, and is out of reach");
  return is;
}

void FakeWorld::complain(const std::string& what) const {
  throw WorldComplaint(fmt::format("{:.3f} s: {}", to_seconds(clocks_.passed()), what));
}

// ---- Time ---------------------------------------------------------------------------------------

void FakeWorld::tell(WorldEvent event) {
  if (is_heard()) {
    events_.push_back(std::move(event));
  } else {
    ++figures_.lost_events;
  }
}

void FakeWorld::at(Duration delay, std::function<void()> action) {
  agenda_.emplace(clocks_.passed() + delay, std::move(action));
}

void FakeWorld::at(Truth& job, Duration delay, std::function<void(Truth&)> action) {
  at(delay, [this, number = job.number, life = job.life, action = std::move(action)] {
    Truth& its = jobs_.at(number);
    if (its.life == life) action(its);
  });
}

/// How long something takes.
Duration FakeWorld::delay() {
  const double chance = draws_.uniform();
  if (chance < 0.4) return Duration{};
  return seconds(draws_.exponential(is_kind_ ? 0.5 : chance < 0.8 ? 2 : 20));
}

void FakeWorld::look() { live(); }

void FakeWorld::live() {
  while (!agenda_.empty() && agenda_.begin()->first <= clocks_.passed()) {
    const auto action = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    action();
  }
}

Time FakeWorld::next() const {
  const ScheduleClock* const clock = clock_ != nullptr ? clock_ : lost_;
  if (clock == nullptr) return kNever;
  if (!events_.empty() || reach() == Reach::back) return Time{};
  return agenda_.empty() ? kNever : clock->now() + (agenda_.begin()->first - clocks_.passed());
}

std::vector<WorldEvent> FakeWorld::take() {
  std::vector<WorldEvent> taken = std::exchange(events_, {});
  // Now and then it brings them one after the other.
  if (!is_kind_ && taken.size() > 1 && draws_.chance(0.2)) {
    const auto rest =
        taken.begin() + 1 + static_cast<std::ptrdiff_t>(draws_.below(taken.size() - 1));
    events_.assign(std::make_move_iterator(rest), std::make_move_iterator(taken.end()));
    taken.erase(rest, taken.end());
  }
  for (const WorldEvent& event : taken) {
    if (std::holds_alternative<Changed>(event)) {
      told_gone_ = gone();
    } else if (const auto* stranger = std::get_if<Stranger>(&event)) {
      told_strangers_.erase(stranger->nodes);
      if (stranger->is_there) told_strangers_.insert(stranger->nodes);
    } else if (const auto* told = std::get_if<Told>(&event)) {
      const auto* const changed = std::get_if<event::NodesChanged>(&told->event);
      if (changed == nullptr || changed->nodes.parts.back().last >= health_.size()) continue;
      told_down_.erase(changed->nodes);
      if (changed->health == Health::down) told_down_.insert(changed->nodes);
    }
  }
  return taken;
}

NodeSet FakeWorld::told_out_of_service() const {
  return united(united(told_down_, told_strangers_), told_gone_);
}

// ---- Books --------------------------------------------------------------------------------------

FakeWorld::Truth& FakeWorld::truth(const JobFacts& job, JobId id) {
  Truth* const its = find(id);
  if (its == nullptr || its->number != job.number) {
    complain(fmt::format("there is no job {}", job.number));
  }
  return *its;
}

FakeWorld::Truth* FakeWorld::find(JobId id) {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? nullptr : &jobs_.at(found->second);
}

void FakeWorld::give(Truth& job, const NodeSet& nodes) {
  for_each_node(nodes, [&](std::uint32_t node) {
    if (strangers().contains(node)) {
      complain(fmt::format("a stranger has node {}, and job {} gets it", node, job.number));
    }
    std::uint64_t& holder = holders_.at(node);
    if (holder != 0 && holder != job.number) {
      complain(
          fmt::format("node {} is job {}'s, and was given to job {}", node, holder, job.number));
    }
    holder = job.number;
  });
  job.nodes.insert(nodes);
}

void FakeWorld::take(Truth& job, const NodeSet& nodes) {
  for_each_node(nodes, [&](std::uint32_t node) { holders_[node] = 0; });
  job.nodes.erase(nodes);
}

NodeSet FakeWorld::down() const {
  NodeSet nodes;
  for (std::uint32_t node = 0; node < health_.size(); ++node) {
    if (health_[node] == Health::down) nodes.insert(node, node);
  }
  return nodes;
}

NodeSet FakeWorld::gone() const {
  NodeSet nodes;
  const auto all = static_cast<Nodes>(health_.size());
  if (is.platform.nodes < all) nodes.insert(is.platform.nodes, all - 1);
  return nodes;
}

NodeSet FakeWorld::strangers() const {
  NodeSet nodes;
  for (const auto& [name, its] : strangers_) nodes.insert(its);
  return nodes;
}

std::vector<FakeWorld::Truth*> FakeWorld::those(Stage stage) {
  std::vector<Truth*> found;
  for (auto& [number, job] : jobs_) {
    if (job.stage == stage) found.push_back(&job);
  }
  return found;
}

FakeWorld::Fate FakeWorld::fate(std::uint64_t number) const {
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return {};
  const Truth& job = found->second;
  Fate fate{.starts = job.starts,
            .is_starting = job.stage == Stage::starting,
            .runs = job.stage == Stage::running};
  if (job.stage == Stage::over) fate.ended = job.ended;
  fate.exit_code = job.exit_code;
  fate.is_dropped = job.is_dropped;
  return fate;
}

std::size_t FakeWorld::busy() const {
  const auto is_busy = [](const auto& entry) {
    return entry.second.stage == Stage::starting || entry.second.stage == Stage::running;
  };
  return under_way_.size() + static_cast<std::size_t>(std::ranges::count_if(jobs_, is_busy));
}

// ---- Submissions
// ---------------------------------------------------------------------------------

bool FakeWorld::submit(const Owner& owner, Submission what, const std::string& ticket) {
  if (!is_heard()) complain("a submission, and nobody is there to hear it");
  const auto known = std::ranges::find(submitted_, ticket, &Submitted::ticket);
  if (known != submitted_.end() && known->owner.user != owner.user) {
    complain("two users have one ticket");
  }
  // One given twice is one.
  if (known != submitted_.end() || under_way_.contains(ticket)) return true;
  if (!is_kind_ && draws_.chance(0.05)) return false;
  const Duration later = delay();
  const std::uint64_t number = new_number(what);
  if (later == Duration{}) {
    arrive(owner, std::move(what), ticket, number);
    return true;
  }
  ++figures_.late_arrivals;
  under_way_.insert(ticket);
  // Others may come before it that have higher numbers.
  at(later, [this, owner, what = std::move(what), ticket, number]() mutable {
    if (under_way_.erase(ticket) > 0) arrive(owner, std::move(what), ticket, number);
  });
  return true;
}

/// That of a job, or of the first task. There are gaps.
std::uint64_t FakeWorld::new_number(const Submission& what) {
  if (!is_kind_ && draws_.chance(0.3)) next_number_ += 1 + draws_.below(2000);
  return std::exchange(next_number_, next_number_ + std::max(what.array.count(), 1U));
}

void FakeWorld::arrive(const Owner& owner, Submission what, const std::string& ticket,
                       std::uint64_t number) {
  ++figures_.arrivals;
  submitted_.push_back({number, owner, std::move(what), ticket, clocks_.passed()});
  const Submission& its = submitted_.back().what;
  const std::uint64_t end = number + std::max(its.array.count(), 1U);
  for (; number < end; ++number) {
    Truth& job = jobs_[number];
    job.number = number;
    job.is_requeued = its.is_requeued;
    job.asks = its.type == JobType::evolving || its.type == JobType::adaptive;
    job.can_resize = sizes_while_running(its.type);
    job.min = std::max(its.min, Nodes{1});
  }
  tell_arrival(submitted_.back());
}

Arrived FakeWorld::arrived(const Submitted& its) const {
  Arrived arrived{its.first, its.owner, its.what, its.ticket, {}};
  if (is_heard()) arrived.submitted = clock_->now() - (clocks_.passed() - its.at);
  return arrived;
}

void FakeWorld::tell_arrival(const Submitted& its) {
  if (is_heard()) {
    const std::uint64_t end = its.first + std::max(its.what.array.count(), 1U);
    for (std::uint64_t number = its.first; number < end; ++number) {
      numbers_[next_id_] = number;
      jobs_.at(number).id = next_id_;
      next_id_ = JobId{index(next_id_) + 1};
    }
  }
  tell(arrived(its));
}

/// It is another one now, for who knows it.
void FakeWorld::tell_again(const Submitted& its) {
  Arrived again = arrived(its);
  again.was = jobs_.at(its.first).id;
  if (again.was != JobId::none) tell(std::move(again));
}

FakeWorld::Submitted& FakeWorld::submitted(std::uint64_t number) {
  const auto its = std::ranges::find_if(submitted_, [&](const Submitted& each) {
    return number - each.first < std::max(each.what.array.count(), 1U);
  });
  if (its == submitted_.end()) complain(fmt::format("there is no job {}", number));
  return *its;
}

void FakeWorld::change(std::uint64_t number, const Submission& what) {
  if (!is_heard()) complain("a change, and nobody is there to hear it");
  ++figures_.changes;
  Submitted& its = submitted(number);
  if (its.first != number) complain(fmt::format("job {} is no array", number));
  take_over(its, what);
  if (its.is_altered) tell_again(its);
}

/// What users may change of a job. What cannot run here stays what it is, until that is heard.
void FakeWorld::take_over(Submitted& its, const Submission& what) {
  if (jobs_.at(its.first).is_senseless) return;
  its.what.name = what.name;
  its.what.nodes = what.nodes;
  its.what.min = what.min;
  its.what.max = what.max;
  its.what.walltime = what.walltime;
  its.what.priority = what.priority;
  its.what.dependencies = what.dependencies;
  its.what.begin = what.begin;
}

/// Has this heard what the controller knows of it, unless the controller has not heard of a change?
bool FakeWorld::is_as_here(const Submitted& its, const Submission& what) const {
  const bool is_senseless = jobs_.at(its.first).is_senseless || !what.impossible.empty();
  if (its.is_altered || is_senseless) return true;
  return its.what.name == what.name && its.what.nodes == what.nodes &&
         its.what.walltime == what.walltime && its.what.priority == what.priority;
}

/// Past the controller.
void FakeWorld::submit_elsewhere() {
  if (submitted_.empty()) return;
  ++figures_.elsewhere;
  const Submitted& like = submitted_[draws_.below(submitted_.size())];
  const bool is_senseless = draws_.chance(0.4);
  Submission what = some_other(like, is_senseless);
  if (!is_senseless && what.type == JobType::rigid && draws_.chance(0.3)) {
    what.nodes = is.platform.nodes + static_cast<Nodes>(1 + draws_.below(3));  // for a larger one
    ++figures_.large;
    has_other_needs_ = true;
  }
  const std::uint64_t number = bring(Owner(like.owner), std::move(what));
  figures_.senseless += is_senseless;
  for (Truth* const job : those(Stage::waiting)) {
    if (job->number >= number) job->is_senseless = is_senseless;
  }
}

std::uint64_t FakeWorld::bring(const Owner& owner, Submission what) {
  const std::uint64_t number = new_number(what);
  arrive(owner, std::move(what), "", number);
  return number;
}

/// Like it, but for this and that; or what cannot run here.
Submission FakeWorld::some_other(const Submitted& its, bool is_senseless) {
  Submission what = its.what;
  if (jobs_.at(its.first).is_senseless) {
    what.nodes = 1;
    what.cores_per_process = 0;
    what.name = "sound";
    what.program = {"/bin/true"};
    if (what.type != JobType::rigid) what.min = what.max = 1;
  }
  what.dependencies.clear();
  what.walltime = whole_seconds(static_cast<std::int64_t>(5 + draws_.below(60)));
  what.priority = static_cast<std::int32_t>(draws_.below(5));
  if (what.type == JobType::rigid) {
    what.nodes = static_cast<Nodes>(1 + draws_.below(is.platform.nodes));
  }
  what.is_held = draws_.chance(0.2);
  if (draws_.chance(0.3)) what.account = fmt::format("account{}", draws_.below(3));
  if (draws_.chance(0.3)) what.model = {Speedup::Kind::amdahl, draws_.uniform()};
  if (draws_.chance(0.3)) what.program.emplace_back("argument");
  if (!is_senseless) return what;
  switch (draws_.below(8)) {
    case 0:
      what.nodes = kMostNodes + 1;
      break;
    case 1:
      what.nodes = Nodes{1} << 30U;
      break;
    case 2:
      what.walltime = whole_seconds(-5);
      break;
    case 3:
      what.walltime = Duration::max();
      break;
    case 4:
      what.dependencies = {{Dependency::Kind::afterok, next_number_ + 1'000'000'000}};
      break;
    case 5:
      what.nodes = 0;
      break;
    case 6:
      what.program.clear();
      break;
    default:
      what.name = "two\nlines";
      what.cores_per_process = 5000;
  }
  return what;
}

void FakeWorld::alter(std::uint64_t number, Submission what) {
  Submitted& its = submitted(number);
  ++figures_.altered;
  its.what = std::move(what);
  its.is_altered = true;
  tell_again(its);
}

void FakeWorld::alter_something() {
  if (submitted_.empty()) return;
  const Submitted& its = submitted_[draws_.below(submitted_.size())];
  // One that may run meanwhile stays one that can.
  const bool is_senseless = jobs_.at(its.first).is_senseless && draws_.chance(0.5);
  Submission what = some_other(its, is_senseless);
  const std::uint64_t end = its.first + std::max(what.array.count(), 1U);
  for (std::uint64_t number = its.first; number < end; ++number) {
    jobs_.at(number).is_senseless = is_senseless;
  }
  alter(its.first, std::move(what));
}

void FakeWorld::drop(std::uint64_t number) {
  Truth& job = jobs_.at(number);
  ++figures_.dropped;
  job.is_dropped = true;
  job.stage = Stage::over;
  job.ended = EndState::cancelled;
  job.exit_code = 0;
  job.ended_at = clocks_.passed();
  job.was_started = false;
  ++job.life;
  if (job.id != JobId::none) tell(told_end(job));
}

void FakeWorld::drop_something() {
  const std::vector<Truth*> waiting = those(Stage::waiting);
  if (!waiting.empty()) drop(waiting[draws_.below(waiting.size())]->number);
}

// ---- Orders -------------------------------------------------------------------------------------

void FakeWorld::carry_out(const Decision& decision, const JobFacts& job) {
  if (!is_heard()) complain("an order, and nobody is there to hear it");
  if (decision.kind == Decision::Kind::start) return start(decision, job);
  Truth* const its = find(decision.job);
  if (decision.kind != Decision::Kind::resize) complain("an order that is none for a world");
  if (its == nullptr || (its->stage != Stage::starting && its->stage != Stage::running)) {
    // It may have ended a moment ago, as the controller will hear.
    if (its != nullptr && clocks_.passed() - its->ended_at < whole_seconds(60)) return;
    complain(fmt::format("job {} is to be resized, and does not run", job.number));
  }
  resize(decision, *its);
}

void FakeWorld::start(const Decision& decision, const JobFacts& job) {
  Truth& its = truth(job, decision.job);
  if (its.is_dropped) return;  // as the controller will hear
  if (its.is_senseless) complain(fmt::format("job {} cannot run, and is started", job.number));
  if (!is_as_here(submitted(its.number), *job.what)) {
    complain(fmt::format("job {} is started as what this has not heard of", job.number));
  }
  if (its.stage == Stage::over) complain(fmt::format("job {} is started again", job.number));
  if (its.stage != Stage::waiting) {
    complain(fmt::format("job {} is started, and runs", job.number));
  }
  // A start that failed counts as a life, where somebody has ended that.
  if (job.restarts != its.restarts && job.restarts != its.restarts + its.failed_to_start) {
    complain(fmt::format("job {} is in its life {}, the controller says {}", job.number,
                         its.restarts, job.restarts));
  }
  its.restarts = job.restarts;
  its.failed_to_start = true;
  if (job.end) return tell(Told{event::StartFailed{decision.job, decision.id, clock_->now()}});
  if (decision.after.nodes.intersects(unusable()) || (!is_kind_ && draws_.chance(0.1))) {
    ++figures_.failed_starts;
    return tell(Told{event::StartFailed{decision.job, decision.id, clock_->now() + set_.retry}});
  }
  its.failed_to_start = false;
  give(its, decision.after.nodes);
  its.stage = Stage::starting;
  its.start = decision.id;
  ++its.life;
  const bool will_fail = !is_kind_ && draws_.chance(0.1);
  const auto go_on = [this, will_fail](Truth& starting) {
    if (!will_fail && !starting.ending) return begin(starting);
    if (starting.ending && draws_.chance(0.5)) {
      return finish(starting, *starting.ending, starting.requeue);
    }
    take(starting, starting.nodes);
    starting.stage = Stage::waiting;
    starting.ending.reset();
    starting.failed_to_start = true;
    ++figures_.failed_starts;
    if (is_heard()) {
      tell(Told{event::StartFailed{starting.id, starting.start, clock_->now() + set_.retry}});
    }
  };
  const Duration later = delay();
  if (later == Duration{}) return go_on(its);
  at(its, later, go_on);
}

/// The job runs.
void FakeWorld::begin(Truth& job) {
  job.stage = Stage::running;
  job.started = clocks_.passed();
  ++job.starts;
  ++figures_.starts;
  tell(Told{event::Started{job.id, job.start, holding(job.nodes), std::nullopt}});
  const bool fails = !run_time_ && draws_.chance(0.2);
  const Duration time = seconds(draws_.exponential(draws_.chance(0.3) ? 3 : 30));
  at(job, run_time_.value_or(time), [this, fails](Truth& its) {
    const bool is_lost = fails && its.is_requeued && !is_kind_ && draws_.chance(0.5);
    its.exit_code = fails && !is_lost ? 3 : 0;
    finish(its, fails ? EndState::failed : EndState::completed, is_lost);
  });
}

/// All of it is over, or waits again.
void FakeWorld::finish(Truth& job, EndState state, bool requeue) {
  if (job.ending) {
    state = *job.ending;
    requeue = job.requeue;
  }
  job.ended = state;
  job.ended_at = clocks_.passed();
  job.was_started = job.stage == Stage::running;
  job.stage = requeue ? Stage::waiting : Stage::over;
  job.restarts += requeue;
  take(job, job.nodes);
  job.order.reset();
  job.request.reset();
  job.ending.reset();
  ++job.life;
  ++figures_.ends;
  tell(told_end(job));
}

Told FakeWorld::told_end(const Truth& job) const {
  const bool waits = job.stage == Stage::waiting;
  Told end{.event = event::Ended{job.id, job.ended, waits}, .exit_code = job.exit_code};
  if (job.ended == EndState::failed) end.reason = "NonZeroExitCode";
  if (job.was_started) end.ran = job.ended_at - job.started;
  if (clock_ != nullptr && job.ended_at < clocks_.passed()) {
    end.ended = clock_->now() - (clocks_.passed() - job.ended_at);
  }
  return end;
}

void FakeWorld::end(JobId id, EndState state, bool requeue) {
  if (!is_heard()) complain("an end, and nobody is there to hear it");
  Truth* const its = find(id);
  if (its == nullptr || (its->stage != Stage::starting && its->stage != Stage::running)) return;
  Truth& job = *its;
  const bool is_told = job.ending.has_value();
  if (is_told && !(job.requeue && !requeue)) return;
  job.ending = state;
  job.requeue = requeue;
  if (is_told || job.stage == Stage::starting) return;
  at(job, delay(), [this](Truth& ending) { finish(ending, *ending.ending, ending.requeue); });
}

void FakeWorld::resize(const Decision& decision, Truth& job) {
  if (job.order && job.order->id == decision.id) return;  // one given twice is one
  if (job.order) complain(fmt::format("job {} is to be resized twice", job.number));
  if (job.stage == Stage::starting) {
    complain(fmt::format("job {} is to be resized before it runs", job.number));
  }
  ++figures_.resizes;
  job.order = decision;
  job.before = job.nodes;
  const NodeSet more = difference(decision.after.nodes, job.nodes);
  if (more.intersects(strangers()) || more.intersects(gone())) {  // since it was decided
    ++figures_.refusals;
    job.order.reset();
    return tell(
        Told{event::Resized{job.id, decision.id, holding(job.nodes), clock_->now() + set_.retry}});
  }
  give(job, decision.after.nodes);
  if (job.request && job.request->id == decision.request) job.request.reset();
  const Duration later = delay();
  if (later == Duration{}) return settle(job);
  at(job, later, [this, id = decision.id](Truth& its) {
    if (its.order && its.order->id == id) settle(its);
  });
}

/// Done, refused, or done in part.
void FakeWorld::settle(Truth& job) {
  const Decision order = *std::exchange(job.order, std::nullopt);
  NodeSet now = order.after.nodes;
  const double chance = is_kind_ ? 1 : draws_.uniform();
  if (chance < 0.25) {
    ++figures_.refusals;
    now = job.before;
  } else if (chance < 0.4) {
    ++figures_.partly;
    const NodeSet kept = intersection(job.before, order.after.nodes);
    const NodeSet rest = difference(job.nodes, kept);
    now = kept;
    now.insert(some(rest, static_cast<Nodes>(draws_.below(rest.count() + 1)), draws_));
    if (now.empty()) now = job.before;
  }
  take(job, difference(job.nodes, now));
  const bool is_done = now.count() == order.after.count;
  // What it asked for was of the processes that have gone.
  if (is_done && job.request) {
    tell(Told{event::EvolvingWithdrawn{std::exchange(job.request, std::nullopt)->id}});
  }
  if (!is_heard()) return;
  tell(Told{event::Resized{job.id, order.id, holding(now),
                           is_done ? clock_->now() : clock_->now() + set_.retry,
                           is_done ? seconds(draws_.uniform()) : Duration{}}});
}

void FakeWorld::deny(RequestId id) {
  for (auto& [job, its] : jobs_) {
    if (its.request && its.request->id == id) its.request.reset();
  }
}

void FakeWorld::forget(std::uint64_t number, bool) {
  const auto job = jobs_.find(number);
  if (job == jobs_.end()) complain(fmt::format("there is no job {} to be forgotten", number));
  if (job->second.stage == Stage::starting || job->second.stage == Stage::running) {
    complain(fmt::format("job {} is to be forgotten, and runs", number));
  }
}

World::Signs FakeWorld::signs(JobId) const { return {}; }

// ---- The controller comes and goes
// ----------------------------------------------------------------

void FakeWorld::leave_alone() {
  figures_.lost_events += events_.size();
  events_.clear();
  told_down_ = told_strangers_ = told_gone_ = {};  // it may not have written it down
  clock_ = lost_ = nullptr;
}

void FakeWorld::go_away(Duration length) {
  if (!is_heard()) return;
  ++figures_.absences;
  lost_ = std::exchange(clock_, nullptr);
  is_back_ = false;
  figures_.lost_events += events_.size();
  events_.clear();
  at(length,
     [this, absence = figures_.absences] { is_back_ = is_back_ || absence == figures_.absences; });
}

void FakeWorld::begin_lost(Duration length) {
  ++figures_.lost_starts;
  is_away_ = true;
  at(length, [this] { is_away_ = false; });
}

World::Reach FakeWorld::reach() const {
  if (lost_ == nullptr) return is_away_ ? Reach::lost : Reach::here;
  return is_back_ ? Reach::back : Reach::lost;
}

void FakeWorld::take_up(const ScheduleClock& clock, const Past& past) {
  if (reach() == Reach::lost) complain("it is to take up jobs, and is out of reach");
  ++figures_.take_ups;
  events_.clear();
  lost_ = nullptr;
  clock_ = &clock;
  next_request_ = std::max(next_request_, past.requests);
  if (past.journal.empty()) complain("whose jobs are these?");
  check_numbers(past);
  told_down_ = past.down;
  told_gone_ = gone();
  told_strangers_ = {};
  for (const Stranger& each : past.strangers) told_strangers_.insert(each.nodes);
  for (const auto& [name, nodes] : strangers_) come(name, nodes);
  for (const Stranger& each : past.strangers) {
    if (!strangers_.contains(each.name)) {
      tell(Stranger{.name = each.name, .nodes = each.nodes, .is_there = false});
    }
  }
  // Of submissions on their way to it some are lost.
  std::erase_if(under_way_, [this](const auto&) { return draws_.chance(0.5); });
  // What comes free first, then what has arrived.
  std::vector<WorldEvent> rest;
  for (const Known& known : past.jobs) find_out(known, rest);
  for (const Submitted& its : submitted_) {
    const bool is_known = past.knows(its.first);
    if (is_known && its.is_altered) tell_again(its);
    if (!is_known) tell_arrival(its);
    // Of one that is known tasks may not have been added yet: these are not among the jobs above.
    const std::uint64_t end = its.first + std::max(its.what.array.count(), 1U);
    for (std::uint64_t number = its.first; number < end; ++number) {
      const bool is_added = number < past.adding.first || number >= past.adding.end;
      if ((!is_known || !is_added) && jobs_.at(number).is_dropped) tell(told_end(jobs_.at(number)));
    }
  }
  const NodeSet now = down();
  for (const auto& [nodes, health] : {std::pair{difference(past.down, now), Health::up},
                                      std::pair{difference(now, past.down), Health::down}}) {
    if (!nodes.empty()) tell(Told{event::NodesChanged{nodes, health}});
  }
  for (WorldEvent& event : rest) tell(std::move(event));
}

/// Each job is which the controller was told that it is, and of those that run it knows.
void FakeWorld::check_numbers(const Past& past) {
  std::uint64_t known = 0;
  for (const Submitted& its : submitted_) {
    const std::uint64_t end = its.first + std::max(its.what.array.count(), 1U);
    const bool is_known = past.knows(its.first);
    for (std::uint64_t number = its.first; number < end; ++number) {
      if (past.knows(number) != is_known) complain(fmt::format("array {}: a part", its.first));
      known += is_known;
      if (is_known && number > past.highest) complain("that is not the highest number");
      Truth& job = jobs_.at(number);
      const auto there =
          std::ranges::find(past.jobs, number, [](const Known& each) { return each.facts.number; });
      if (there != past.jobs.end() && (!is_known || there->id != job.id)) {
        complain(fmt::format("job {} is another one", number));
      }
      const bool is_added = number < past.adding.first || number >= past.adding.end;
      if ((job.stage == Stage::starting || job.stage == Stage::running) &&
          (there == past.jobs.end() || !there->runs)) {
        complain(fmt::format("job {} runs, and {}", number,
                             is_added ? "the controller does not know" : "is not added"));
      }
      if (is_known) continue;
      numbers_.erase(job.id);
      job.id = JobId::none;
    }
  }
  if (past.knows(next_number_)) complain("a job is known that never came");
  if (index(past.next) != known) {
    complain(fmt::format("{} jobs have come, and {} are known", index(past.next), known));
  }
  next_id_ = past.next;
}

/// What became of a job that the controller knows.
void FakeWorld::find_out(const Known& known, std::vector<WorldEvent>& rest) {
  Truth& job = truth(known.facts, known.id);
  Submitted& its = submitted(job.number);
  if (known.is_changed) {
    ++figures_.late_changes;
    take_over(its, *known.facts.what);
  } else if (!is_as_here(its, *known.facts.what)) {
    complain(fmt::format("job {} is not what this has heard of", job.number));
  }
  if (job.is_dropped) return tell(told_end(job));
  const bool is_alive = job.stage == Stage::starting || job.stage == Stage::running;
  if (!known.runs) {
    // One that has never been here, or whose end in another life the controller has heard of.
    job.restarts = known.facts.restarts;
    return;
  }
  if (is_alive && known.facts.end) {
    end(known.id, *known.facts.end, known.facts.requeue);
  }
  const bool is_start = known.open && known.open->kind == Decision::Kind::start;
  const DecisionId start = is_start ? known.open->id : is_alive ? job.start : known.start;
  if (known.start != start) {
    complain(fmt::format("job {} was started by decision {}, and not {}", job.number, index(start),
                         index(known.start)));
  }
  if (is_start) {
    if (job.start == known.open->id && job.stage == Stage::starting) return;  // it will tell
    const event::Started started{known.id, known.open->id, known.held, std::nullopt};
    if (job.start == known.open->id && job.stage == Stage::running) {
      rest.emplace_back(Told{event::Started{known.id, known.open->id, holding(job.nodes), {}}});
    } else if (job.start == known.open->id && job.has_ended_of(known.facts.restarts)) {
      if (job.was_started && draws_.chance(0.5)) tell(Told{started});
      tell_end(job, known);
    } else {
      job.restarts = known.facts.restarts;
      job.failed_to_start = true;
      tell(Told{event::StartFailed{known.id, known.open->id, clock_->now()}});
    }
    return;
  }
  if (!is_alive) {
    if (job.stage == Stage::waiting && !job.has_ended_of(known.facts.restarts)) {
      complain(fmt::format("job {} waits, and the controller has heard that it runs", job.number));
    }
    return tell_end(job, known);
  }
  if (job.restarts != known.facts.restarts) complain(fmt::format("job {}: lives", job.number));
  if (job.stage == Stage::starting) {
    complain(fmt::format("job {} is being started, and the controller has heard that it runs",
                         job.number));
  }
  const NodeSet holds = job.order ? job.before : job.nodes;
  if (known.open) {
    if (job.order && job.order->id == known.open->id) return;  // it will tell
    if (job.order) complain(fmt::format("job {}: another order", job.number));
    const bool is_done = job.nodes.count() == known.open->after.count;
    tell(Told{event::Resized{known.id, known.open->id, holding(job.nodes),
                             is_done ? clock_->now() : clock_->now() + set_.retry}});
  } else if (job.order) {
    complain(fmt::format("job {}: an order that the controller does not know", job.number));
  } else if (!(holding(holds) == known.held)) {
    if (!job.is_changed) {
      complain(fmt::format("job {} holds {}, the controller says {}", job.number, to_string(holds),
                           to_string(known.held.nodes)));
    }
    tell(Told{event::Resized{known.id, DecisionId::none, holding(holds), clock_->now()}});
  }
  if (job.request && !(known.request && known.request->id == job.request->id)) {
    // That it was denied may not have come. It may ask again.
    job.request.reset();
    if (known.request) tell(Told{event::EvolvingWithdrawn{known.request->id}});
  } else if (!job.request && known.request) {
    tell(Told{event::EvolvingWithdrawn{known.request->id}});
  }
}

/// The end of the life that the controller knows: there may have been no other since.
void FakeWorld::tell_end(Truth& job, const Known& known) {
  Told end = told_end(job);
  if (job.stage == Stage::waiting) job.restarts = known.facts.restarts + 1;
  tell(std::move(end));
}

// ---- What nobody asked for
// ------------------------------------------------------------------------

void FakeWorld::be_kind() {
  is_kind_ = true;
  for (Truth* const job : those(Stage::waiting)) {
    if (job->is_senseless) drop(job->number);
  }
  is_away_ = false;
  // Room for all that was ever submitted.
  Platform platform = is.platform;
  platform.nodes = kMostNodes;
  platform.cores_per_node = 2;
  Capabilities can = is.capabilities;
  can.resizes_per_job = Capabilities::kUnlimited;
  if (has_other_needs_) become(platform, can);
  while (!strangers_.empty()) leave(strangers_.begin()->first);
  NodeSet nodes = down();
  for_each_node(nodes, [&](std::uint32_t node) { health_[node] = Health::up; });
  if (nodes.empty()) return;
  tell(Told{event::NodesChanged{nodes, Health::up}});
}

void FakeWorld::act() {
  if (is_kind_) return;
  const double chance = draws_.uniform();
  if (chance < 0.05) {
    submit_elsewhere();
  } else if (chance < 0.08) {
    alter_something();
  } else if (chance < 0.1) {
    drop_something();
  } else if (chance < 0.14) {
    bring_stranger();
  } else if (chance < 0.16) {
    say_nonsense();
  } else if (chance < 0.18) {
    change_machine();
  } else if (chance < 0.25) {
    change_node();
  } else if (chance < 0.6) {
    request();
  } else if (chance < 0.8) {
    measure();
  } else if (!is_heard()) {
    shrink();
  } else if (chance < 0.9) {
    go_away(seconds(draws_.exponential(10)));
  } else if (draws_.chance(0.5)) {
    tell(Paused{draws_.uniform()});
  } else {
    tell(Withdrawn{});
  }
}

/// What is refused, or not heard, and changes nothing.
void FakeWorld::say_nonsense() {
  if (submitted_.empty()) return;
  ++figures_.nonsense;
  NodeSet far;
  far.insert(1U << 30U, 1U << 30U);
  const JobId some_job{static_cast<std::uint32_t>(draws_.below(jobs_.size()))};
  Arrived known = arrived(submitted_[draws_.below(submitted_.size())]);
  switch (draws_.below(5)) {
    case 0:
      return tell(std::move(known));
    case 1:
      known.was = JobId{1U << 30U};
      return tell(std::move(known));
    case 2:
      return tell(Told{event::Eligible{some_job, draws_.chance(0.5)}});
    case 3:
      return tell(Told{event::NodesChanged{far, Health::down}});
    default:
      return tell(Told{event::Resized{some_job, DecisionId::none, holding(far), {}}});
  }
}

/// Somebody runs here who is no job of this controller's.
void FakeWorld::bring_stranger() {
  NodeSet free;
  for (std::uint32_t node = 0; node < is.platform.nodes; ++node) {
    if (holders_[node] == 0 && !strangers().contains(node)) free.insert(node, node);
  }
  if (free.empty()) return;
  const Nodes count = static_cast<Nodes>(1 + draws_.below(free.count()));
  const std::string name = fmt::format("stranger {}", ++figures_.strangers);
  come(name, strangers_[name] = some(free, count, draws_));
  at(seconds(draws_.exponential(30)), [this, name] { leave(name); });
}

void FakeWorld::come(const std::string& name, const NodeSet& nodes) {
  tell(Stranger{.name = name, .nodes = nodes, .what = "a " + name});
}

void FakeWorld::leave(const std::string& name) {
  const auto found = strangers_.find(name);
  if (found == strangers_.end()) return;
  tell(Stranger{.name = name, .nodes = found->second, .is_there = false});
  strangers_.erase(found);
}

/// It fails, or comes back.
void FakeWorld::change_node() {
  const auto node = static_cast<std::uint32_t>(draws_.below(is.platform.nodes));
  NodeSet nodes;
  nodes.insert(node, node);
  const Health health = health_[node] == Health::up ? Health::down : Health::up;
  health_[node] = health;
  ++figures_.changed;
  const std::uint64_t holder = holders_[node];
  if (holder != 0 && health == Health::down) {
    Truth& job = jobs_.at(holder);
    job.exit_code = 0;
    finish(job, EndState::node_fail, job.is_requeued);
  }
  tell(Told{event::NodesChanged{nodes, health}});
}

void FakeWorld::become(const Platform& platform, const Capabilities& can) {
  figures_.grown += platform.nodes > is.platform.nodes;
  figures_.shrunk += platform.nodes < is.platform.nodes;
  ++figures_.other_machines;
  is.platform = platform;
  is.capabilities = can;
  if (platform.nodes > health_.size()) {
    holders_.resize(platform.nodes, 0);
    health_.resize(platform.nodes, Health::up);
  }
  tell(Changed{});
}

/// More nodes or fewer, other ones, or it can no longer do something, or can again.
void FakeWorld::change_machine() {
  has_other_needs_ = true;
  Platform platform = is.platform;
  Capabilities can = is.capabilities;
  const double chance = draws_.uniform();
  if (chance < 0.35) {
    platform.nodes += static_cast<Nodes>(1 + draws_.below(3));
    platform.nodes = std::min(platform.nodes, kMostNodes);
  } else if (chance < 0.65) {
    platform.nodes -= static_cast<Nodes>(draws_.below(platform.nodes));
  } else if (chance < 0.8) {
    platform.cores_per_node = static_cast<std::uint32_t>(1 + draws_.below(3));
  } else {
    can.resizes_per_job = can.resizes_per_job == 0 ? Capabilities::kUnlimited : 0;
  }
  become(platform, can);
}

void FakeWorld::request() {
  std::vector<Truth*> running = those(Stage::running);
  std::erase_if(running, [](const Truth* job) { return !job->asks || job->ending; });
  if (running.empty() || !is_heard()) return;
  Truth& job = *running[draws_.below(running.size())];
  if (job.request && draws_.chance(0.5)) {
    tell(Told{event::EvolvingWithdrawn{std::exchange(job.request, std::nullopt)->id}});
    return;
  }
  if (job.request) return;
  const bool grows = job.nodes.count() == 1 || draws_.chance(0.7);
  const std::int32_t delta =
      grows ? 1 + static_cast<std::int32_t>(draws_.below(2))
            : -1 - static_cast<std::int32_t>(draws_.below(job.nodes.count() - 1));
  job.request = Request{RequestId{next_request_++}, job.id, delta, grows ? 1U : 0U};
  ++figures_.requests;
  tell(Told{event::EvolvingRequested{job.request->id, job.id, delta, job.request->at_least}});
}

void FakeWorld::measure() {
  std::vector<Truth*> running = those(Stage::running);
  std::erase_if(running, [](const Truth* job) { return !job->can_resize || job->order; });
  if (running.empty() || set_.measure == Duration{}) return;
  const Truth& job = *running[draws_.below(running.size())];
  const Nodes nodes = job.nodes.count();
  tell(Measured{
      job.id,
      nodes,
      {.iterations = 10,
       .iteration_time = seconds(draws_.uniform(0.5, 2) * 10 / nodes),
       .looks = 100,
       .in_mpi = static_cast<std::uint32_t>(draws_.below(60))},
      draws_.chance(0.5) ? std::optional(draws_.uniform(-50, 400) * nodes) : std::nullopt});
}

/// Somebody else makes a job smaller, while the controller does not look.
void FakeWorld::shrink() {
  std::vector<Truth*> running = those(Stage::running);
  std::erase_if(running, [](const Truth* job) {
    return !job->can_resize || job->order || job->nodes.count() <= job->min;
  });
  if (running.empty()) return;
  Truth& job = *running[draws_.below(running.size())];
  ++figures_.changed;
  job.is_changed = true;
  NodeSet nodes = job.nodes;
  take(job, nodes.take_highest(1));
}

}  // namespace ductile::testing
