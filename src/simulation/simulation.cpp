#include "simulation/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/wide.hpp"
#include "model/learned_contention.hpp"
#include "scheduling/runtime_prediction.hpp"
#include "simulation/arrivals.hpp"
#include "simulation/corridor.hpp"
#include "simulation/course.hpp"
#include "simulation/look_ahead.hpp"
#include "simulation/mpi_time.hpp"
#include "simulation/transfers.hpp"
#include "workload/link_need.hpp"

namespace ductile {
namespace {

Duration sample(const RandomDuration& random, Draws draws) {
  switch (random.kind) {
    case RandomDuration::Kind::fixed:
      return random.a;
    case RandomDuration::Kind::uniform:
      return random.a + seconds(draws.uniform() * to_seconds(random.b - random.a));
    case RandomDuration::Kind::exponential:
      return seconds(draws.exponential(to_seconds(random.a)));
  }
  return random.a;
}

// What happens at an instant, in this order (docs/policies.md). Node events and submissions are
// sorted streams of their own; the timer is the core's.
enum class Kind : std::uint8_t { end = 1, answer, outlived, step, mtct, power };

// Something to come for one job.
struct Entry {
  Time at;
  std::uint64_t order;  // kind, then the job's name: ties do not depend on internal ids
  JobId job;
  std::uint32_t data;  // end, outlived, step: the job's epoch; answer: place in `answers_`; mtct:
                       // `Run::measurement`

  Kind kind() const { return static_cast<Kind>(order >> 56); }
  // Time and order as one number, compared at once.
  Wide when() const { return Wide{at.time_since_epoch().count()} << 64 | order; }
};

// A binary heap, the earliest first.
class Agenda {
 public:
  // When the first one comes; never, if there is none.
  Time next() const { return entries_.empty() ? kNever : entries_.front().at; }
  const Entry& first() const { return entries_.front(); }
  void push(const Entry& entry) {
    entries_.push_back(entry);
    raise(entries_.size() - 1, entry);
  }
  // The hole that the first one leaves goes down past the earlier child, and the last entry up from
  // there. No branch depends on which child that is: it would be mispredicted half of the time.
  Entry pop() {
    const Entry first = entries_.front();
    const Entry last = entries_.back();
    const std::size_t size = entries_.size() - 1;
    std::size_t hole = 0;
    while (2 * hole + 2 < size) {
      const std::size_t left = 2 * hole + 1;
      const std::size_t child =
          left + static_cast<std::size_t>(entries_[left + 1].when() <= entries_[left].when());
      entries_[hole] = entries_[child];
      hole = child;
    }
    if (const std::size_t left = 2 * hole + 1; left < size) {
      entries_[hole] = entries_[left];
      hole = left;
    }
    raise(hole, last);
    entries_.pop_back();
    return first;
  }

 private:
  // Puts an entry at `place`, or above later ones there.
  void raise(std::size_t place, Entry entry) {
    for (; place > 0; place = (place - 1) / 2) {
      const Entry& above = entries_[(place - 1) / 2];
      if (above.when() <= entry.when()) break;
      entries_[place] = above;
    }
    entries_[place] = entry;
  }

  std::vector<Entry> entries_;
};

constexpr std::uint32_t kNoAnswer = ~0u;
constexpr std::uint32_t kNoPhase = ~0u;

// The truth about a running job that is not rigid, or that sends something over links.
struct Run {
  Work left = 0;  // at `at`
  Time at{};
  Nodes size = 0;
  double speed = 1;                  // of the slowest of its nodes
  Duration grace{};                  // a limit that moves with the frequency is rounded by itself
  double bandwidth = 1;              // the share of it that others leave it on links
  Work sends_to = 0;                 // what is left when it sends something else
  std::uint32_t answer = kNoAnswer;  // to the resize under way,
  Time ready{};                      //   from when on it looked for a scheduling point,
  Duration cost{};                   //   and what is paid before the answer
  Pace pace{};                       // by how much of them it has
  Time end = kNever;                 // of the work at this size, unless it pauses before
  Time pause = kNever;  // when the resize under way begins to cost time; no progress from then on
  Work paused = 0;      // what is left then
  Work reached = 0;     // no more is left: a step was there
  Work told = 0;        // what was left where it last asked, or waited to hear
  // When it started, the last time:
  Work first_left = 0;
  Time first_limit = kNever;
  std::uint32_t step = 0;          // next evolving step
  bool denied = false;             // its last request was
  std::uint32_t resizes = 0;       // orders so far, in all its lives
  std::uint32_t measurement = 0;   // of MTCT, the one to come
  std::int64_t told_mtct = 0;      // since the last resize
  std::uint32_t phase = kNoPhase;  // the last one that was told of

  Pace has_pace() const {
    constexpr std::uint64_t kParts = std::uint64_t{1} << 40;
    if (bandwidth == 1) return pace;
    const double parts = bandwidth * static_cast<double>(kParts);
    return {pace.has * std::max(static_cast<std::uint64_t>(std::llround(parts)), std::uint64_t{1}),
            pace.of * kParts};
  }
};

// What a resize costs, while it is paid and sends something over links.
struct Toll {
  Nodes to = 0, joined = 0;          // so many are new
  double whole_us = 0, left_us = 0;  // at full speed; the latter at `since`
  Time since{};
  double next_us = 0;  // left when it sends something else, or it is paid
};

// What it sends from `since` on, and what is left when that changes. `least`: the job's least size.
std::pair<std::span<const Flow>, double> sent_for(const ResizeCosts& costs, Nodes least,
                                                  const Toll& toll) {
  constexpr double kNear_us = 0.5;
  double end_us = 0;
  std::optional<std::pair<std::span<const Flow>, double>> found;
  const auto pass = [&](double until_us, std::span<const Flow> flows) {
    const double left_us = std::max(toll.whole_us - until_us, 0.0);
    if (!found && left_us + kNear_us < toll.left_us) found = {flows, left_us};
  };
  const auto pass_all = [&](const SharedList<double>& times_s, const SharedList<Stretches>& sent,
                            std::size_t row) {
    const std::span<const double> times = times_s.rows();
    if (times.empty()) return;
    row = std::min(row, times.size() - 1);
    const double time_us = 1e6 * times[row];
    if (!sent.rows().empty()) {
      for (const Stretch& stretch : sent.rows()[row].rows()) {
        pass(end_us + stretch.until * time_us, stretch.flows);
      }
    }
    pass(end_us += time_us, {});
  };
  pass_all(costs.after_s, costs.after, toll.to - std::min(toll.to, least));
  if (toll.joined > 0) pass_all(costs.growth_s, costs.growth, toll.joined - 1);
  return found.value_or(std::pair{std::span<const Flow>(), 0.0});
}

// Does a phase depend on the size, and send, as another one does?
bool does_the_same(const Phase& a, const Phase& b) {
  return a.times_s == b.times_s && a.speedup == b.speedup && a.stretches == b.stretches;
}

// An answer under way to the core.
struct Answer {
  DecisionId decision;
  Nodes before = 0;
  Holding now{};
  Nodes replaced = 0;  // by others, besides
  Duration cost{};     // paid before it: no progress
  double saves = 0;    // of the job's work, as `EvolvingStep::saves`
  bool changed = false;
  bool fails = false;  // a start
};

// A job beside others of one bound, on all of its nodes, from here on.
struct Beside {
  Bound bound = Bound::mixed;
  Time since{};
  Work left = 0;     // then
  Nodes size = 0;    // of the job,
  Pace alone{};      //   its pace with the same cores and nobody beside it,
  double speed = 1;  //   and that of its nodes
  bool is_as(const Beside& other) const {
    return bound == other.bound && size == other.size && alone == other.alone &&
           speed == other.speed;
  }
};

std::optional<AdaptiveSpec> believed(const AdaptiveJob* job) {
  if (!job) return std::nullopt;
  return job->believed;
}

class World {
 public:
  // `ordered`: the same workload, if its jobs wait for others.
  World(const Workload& workload, const SimulationSettings& settings,
        std::span<Observer* const> observers, Workload* ordered = nullptr)
      : workload_(workload),
        settings_(settings),
        observers_(observers),
        jobs_(workload.jobs),
        node_events_(settings.node_events),
        policy_(settings.policy),
        portfolio_(settings.policy->portfolio()),
        core_(settings.platform, capabilities(settings), rules(settings), settings.policy->traits),
        epochs_(workload.jobs.size(), 0),
        runs_(workload.adaptive.size()),
        idle_mw_(core_.state().power_mw()),
        learns_contention_(settings.policy->wants.contention && workload.links.empty()),
        learned_(settings.rules.contention) {
    for (const Where& each : workload.where) {
      where_.push_back(std::make_shared<const Where>(each));
    }
    for (Observer* observer : observers_) {
      if (observer->wants_events()) listeners_.push_back(observer);
    }
    if (!settings.node_events.empty() && !settings.rules.identities) {
      throw std::logic_error("node events need identities");
    }
    if (ordered) arrivals_.emplace(*ordered);
    if (!workload.links.empty()) transfers_.emplace(workload.links);
    Accounts accounts(settings.rules.fairness);
    for (const std::string& name : workload.accounts) {
      account_numbers_.push_back(accounts.number(name));
    }
  }

  SimulationCounts run();

 private:
  static Capabilities capabilities(const SimulationSettings& settings) {
    Capabilities can;
    can.instant_start = settings.start_delay.is_zero();
    const bool are_moved = !settings.node_events.empty() || !settings.bookings.empty() ||
                           !settings.orders.empty() || settings.policy->wants.moves;
    can.moves = settings.moves && are_moved;
    if (settings.suspends || !settings.orders.empty() || settings.policy->traits.needs.suspends) {
      can.suspends = Suspends::all;
    }
    can.parts = settings.shares || settings.policy->traits.needs.parts;
    const ResizeBehaviour& how = settings.resize;
    can.instant_cores = can.parts && how.delay.is_zero() && how.refuse == 0 && how.lose == 0 &&
                        how.apply_at == ResizeBehaviour::ApplyAt::immediate;
    can.power_control =
        settings.rules.node_off_after > Duration{} || settings.policy->traits.needs.power_control;
    return can;
  }

  static Rules rules(const SimulationSettings& settings) {
    Rules rules = settings.rules;
    const Policy& policy = *settings.policy;
    const auto counts = [](const Policy& its) { return its.traits.goes_by_uses(); };
    rules.identities |= capabilities(settings).parts;
    rules.counts_uses = counts(policy);  // nobody else changes it
    if (const Portfolio* portfolio = policy.portfolio()) {
      for (const auto& member : portfolio->members) rules.counts_uses |= counts(*member);
    }
    return rules;
  }

  const WorkloadJob& truth(JobId id) const { return jobs_[index(id)]; }
  const AdaptiveJob* adaptive(JobId id) const {
    const std::uint32_t row = truth(id).adaptive;
    return row == WorkloadJob::kRigid ? nullptr : &workload_.adaptive[row];
  }
  Run& run_of(JobId id) { return runs_[truth(id).adaptive]; }
  const Run& run_of(JobId id) const { return runs_[truth(id).adaptive]; }
  Course course_of(JobId id) const {
    return {truth(id), *adaptive(id), settings_.resize.phases, cores_of(truth(id))};
  }
  // That it can use of each node, where nodes are shared.
  std::uint16_t cores_of(const WorkloadJob& job) const {
    const Platform& machine = core_.state().platform;
    if (!core_.state().capabilities.parts) return 0;
    if (job.cores != 0 && settings_.counts_cores) return job.cores;
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
    const bool is_even = machine.classes.empty();
    return is_even ? static_cast<std::uint16_t>(std::min(machine.cores_per_node, kMost)) : 0;
  }
  Draws draws(Stream stream, JobId id, std::uint64_t draw) const {
    return Draws(settings_.rules.seed, stream, mixed(index(id)) ^ draw);
  }

  template <class E>
  bool tell(const E& event) {
    ++counts_.events;
    const bool taken = core_.apply(now_, event);
    counts_.stale += taken ? 0 : 1;
    if (!listeners_.empty()) {
      const Event copy(event);
      for (Observer* listener : listeners_) listener->on_event(now_, copy, taken, core_);
    }
    return taken;
  }

  void schedule(Time at, Kind kind, JobId id, std::uint32_t data) {
    agenda_.push({at,
                  std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 |
                      (truth(id).name & ~(std::uint64_t{0xff} << 56)),
                  id, data});
  }

  bool is_stopped() const {
    return settings_.stop && settings_.stop->load(std::memory_order_relaxed);
  }
  void forget_void_plans();
  Time next_instant();
  Time next_submission() const {
    if (arrivals_) return arrivals_->next();
    return next_submit_ < jobs_.size() ? jobs_[next_submit_].submit : kNever;
  }
  Time next_of_settings() const;
  void end_boots();
  void change_machine();
  void change_power();
  void events_of_instant();
  void close();
  void look_ahead();
  void submit_next();
  JobSpec described(const WorkloadJob& job, const AdaptiveJob* more) const;
  bool is_waiting(JobId id) const;
  bool lacks_power_for_ever(const Job& job) const;
  void keep_barrier();
  bool may_pass_barrier() const;
  // Does something of the kinds up to this one come now?
  bool is_due(Kind last) const { return agenda_.next() == now_ && agenda_.first().kind() <= last; }
  // What comes first.
  void happen();

  void carry_out(const Decision& decision);
  void begin(JobId id);
  void plan(JobId id);
  void withdraw_requests(JobId id);
  void go_on(JobId id);
  bool predicts(JobId id) const { return settings_.predict_walltimes && truth(id).has_user(); }
  void watch_prediction(JobId id);
  Time kill_time(JobId id) const;
  bool would_have_ended(JobId id) const;
  void measure_mtct(JobId id, Duration delay);
  void tell_mtct(JobId id);
  void tell_phase(JobId id, std::size_t phase);
  void tell_power(JobId id);
  void order_resize(const Decision& decision);
  void answer_start(JobId id, const Answer& answer);
  void answer_resize(JobId id, Answer answer);
  void order_stop(const Decision& decision);
  void answer_stop(JobId id, Answer answer);
  bool order(const OperatorOrder& order);
  bool resume(JobId id);
  Duration runtime_left(JobId id) const;
  void plan_rigid(JobId id, Time end);
  Time rigid_end(JobId id) const;
  void change_frequency(JobId id);
  void note_speed(JobId id);
  /// Has somebody come to shared nodes or left some, or may a pair be another one?
  bool are_other_companies() const {
    return companies_ != core_.state().companies || pairs_changed_;
  }
  void follow_companies();
  void see_pairs();
  void tell_contention();
  void take_pace(JobId id, const Pace& its);
  void note_transfers(JobId id);
  void pause_transfers(JobId id);
  void stop_transfers(JobId id);
  void begin_toll(JobId id, const Answer& answer, Duration cost);
  std::optional<Time> next_of_toll(JobId id) const;
  void pass_toll(JobId id);
  void move_answer(JobId id, Time at);
  void follow_transfers();
  void take_bandwidth(JobId id, double speed);
  bool goes_on_as_before(JobId id, const Answer& answer) const;
  std::uint32_t send(JobId id, Time at, Answer answer);
  void pay_so_far(JobId id);
  void pay(JobId id, Duration time, Nodes nodes);
  Holding partly(const Holding& before, const Holding& after, Draws draw) const;
  struct Point {
    Time at;
    Work left;
  };
  std::optional<Point> next_resize(JobId id, Time ready) const;
  struct Halt;
  std::optional<Halt> next_halt(JobId id) const;
  void halt(JobId id);
  Work left_at(JobId id, Time time) const;
  Time when(JobId id, Work left) const;
  Duration rigid_runtime(JobId id) const;
  void advance(JobId id);

  void end(JobId id, EndState state, bool requeue = false);
  void change_nodes(const NodeEvent& event);
  void book(const BookingOrder& order);
  void check_booked_jobs() const;
  std::shared_ptr<const Where> booked_for(const WorkloadJob& job,
                                          const std::shared_ptr<const Where>& where) const;
  void lose_nodes(JobId id, const NodeSet& lost);

  const Workload& workload_;
  const SimulationSettings& settings_;
  std::span<Observer* const> observers_;
  std::vector<Observer*> listeners_;
  std::span<const WorkloadJob> jobs_;
  std::span<const NodeEvent> node_events_;
  std::shared_ptr<const Policy> policy_;  // that rules
  const Portfolio* portfolio_;            // whose member it is; null: of none
  LookAheads look_aheads_;
  Core core_;
  Time now_{};
  Agenda agenda_;
  std::optional<Arrivals> arrivals_;  // where jobs wait for others
  std::size_t next_submit_ = 0, next_node_event_ = 0, next_order_ = 0, next_cap_ = 0;
  std::size_t next_booking_ = 0, next_line_ = 0;  // the latter: of the corridor
  std::map<JobId, MtctDrift> mtct_drifts_;        // of jobs that were measured, if any drift
  Time next_setting_ = kNever;                    // the earliest of these five
  std::vector<std::uint32_t> epochs_;  // of each job: what was scheduled for an earlier one is void
  std::vector<Run> runs_;              // of each job that is not rigid
  std::int64_t idle_mw_;               // what the machine draws while nobody runs
  std::map<JobId, Duration> rigid_left_;  // of rigid jobs that were suspended
  struct Slow {
    Time end{};  // at this speed
    double speed = 1;
  };
  std::map<JobId, Slow> rigid_slow_;  // rigid jobs that began at a lower frequency
  /// Null of those that began at the full one. Most runs have no others.
  const Slow* slowed(JobId id) const {
    if (rigid_slow_.empty()) return nullptr;
    const auto at = rigid_slow_.find(id);
    return at != rigid_slow_.end() ? &at->second : nullptr;
  }
  std::vector<Answer> answers_;
  std::vector<std::uint32_t> free_answers_;
  RuntimePrediction predictions_;
  std::vector<double> saves_;                           // of each request so far
  std::vector<std::uint32_t> account_numbers_;          // in the core, of those of the workload
  std::vector<std::shared_ptr<const Where>> where_;     // that jobs ask for, as in the workload
  std::vector<JobId> barriers_;                         // not over
  std::vector<JobId> behind_;                           // jobs held because a barrier waits
  std::vector<std::pair<JobId, std::uint32_t>> asked_;  // they wait for this close; their epochs
  bool timer_alone_ = false;            // nothing but the timer came at this instant
  bool fruitless_ = false;              // and its pass decided nothing, for as long as clocks go
  std::optional<Time> idles_since_{};   // the first pass of those that decided nothing
  std::uint64_t companies_ = 0;         // of the core: up to these paces are right
  bool learns_contention_;              // if the policy wants it, and no links are shared:
  std::map<JobId, Beside> beside_;      //   who is watched,
  bool pairs_changed_ = false;          //   is he another one than he was,
  LearnedContention learned_;           //   and what was seen
  std::optional<Transfers> transfers_;  // where jobs share links,
  std::map<JobId, Toll> tolls_;         //   and what is paid beside them
  SimulationCounts counts_;
  Wide paid_ = 0;  // for resizes, in node-microseconds
};

SimulationCounts World::run() {
  if (!workload_.jobs.empty()) {
    counts_.first_submit = counts_.last_end = next_submission();
  }
  if (!settings_.bookings.empty()) check_booked_jobs();
  next_setting_ = next_of_settings();
  for (Observer* observer : observers_) observer->on_begin(core_);
  Wide held = 0;  // node-microseconds
  for (std::uint64_t instants = 0; counts_.jobs_over < jobs_.size(); ++instants) {
    counts_.stopped = is_stopped();
    if (counts_.stopped) break;
    const Time next = next_instant();
    if (next == kNever) break;
    held += Wide{core_.state().held} * (next - now_).count();
    if (core_.state().held > 0) counts_.last_end = next;
    now_ = next;
    do {
      events_of_instant();
      close();
      if (portfolio_) look_ahead();
      if (transfers_) follow_transfers();
      if (transfers_) forget_void_plans();
    } while (!is_stopped() &&
             (agenda_.next() == now_ || next_submission() == now_ || may_pass_barrier()));
    if (instants % 4096 == 0 && settings_.progress) settings_.progress(counts_.jobs_over, now_);
  }
  for (const JobId id : core_.state().running) pay_so_far(id);
  counts_.reconfiguration_node_s = static_cast<double>(paid_) / 1e6;
  counts_.held_node_s = static_cast<double>(held) / 1e6;
  counts_.passes = core_.state().passes;
  counts_.jobs_left = jobs_.size() - counts_.jobs_over;
  if (arrivals_) counts_.dependency_never = arrivals_->never();
  if (!counts_.stopped) counts_.orders_not_possible += settings_.orders.size() - next_order_;
  for (Observer* observer : observers_) observer->on_finish(now_, core_);
  return counts_;
}

// Who shares links is planned anew whenever another one begins or ends to send. What was planned
// before would else make an instant in which nothing happens.
void World::forget_void_plans() {
  while (agenda_.next() != kNever) {
    const Entry& first = agenda_.first();
    const Kind kind = first.kind();
    const bool is_plan = kind == Kind::end || kind == Kind::outlived || kind == Kind::step;
    if (!is_plan || first.data == epochs_[index(first.job)]) return;
    agenda_.pop();
  }
}

// When something happens next. Never, if only timers are left and what they wake does nothing:
// jobs that wait then wait for ever.
Time World::next_instant() {
  if (transfers_) forget_void_plans();
  Time next = agenda_.next();
  next = std::min({next, next_submission(), next_setting_});
  for (const Boot& each : core_.state().boots) next = std::min(next, each.ready);
  for (const Booking& each : core_.state().bookings) next = std::min(next, each.turns());
  if (portfolio_ && next != kNever) next = std::min(next, look_aheads_.next(*portfolio_, core_));
  if (next == kNever && fruitless_ && core_.state().retries.empty()) return kNever;
  return std::max(std::min(next, core_.next_wake()), now_);
}

// When the next of what the settings say happens.
Time World::next_of_settings() const {
  Time next = kNever;
  const auto look = [&](const auto& all, std::size_t at, Time not_before = Time::min()) {
    if (at < all.size()) next = std::min(next, std::max(all[at].at, not_before));
  };
  look(node_events_, next_node_event_);
  // With the first job at the earliest: before that nobody needs to know.
  look(settings_.power_caps, next_cap_, counts_.first_submit);
  if (settings_.policy->wants.corridor) look(settings_.corridor, next_line_, counts_.first_submit);
  look(settings_.bookings, next_booking_);
  look(settings_.orders, next_order_);
  return next;
}

// Of what the settings say: that which comes before evolving requests and submissions.
void World::end_boots() {
  std::vector<NodeSet> ready;
  for (const Boot& each : core_.state().boots) {
    if (each.ready <= now_) ready.push_back(each.nodes);
  }
  for (const NodeSet& nodes : ready) tell(event::NodesChanged{nodes, Health::up});
}

void World::change_machine() {
  for (; next_node_event_ < node_events_.size() && node_events_[next_node_event_].at <= now_;
       ++next_node_event_) {
    change_nodes(node_events_[next_node_event_]);
  }
  change_power();
  for (; next_booking_ < settings_.bookings.size() && settings_.bookings[next_booking_].at <= now_;
       ++next_booking_) {
    book(settings_.bookings[next_booking_]);
  }
}

// The cap, and the corridor if the policy keeps one: then the lower of both upper bounds holds.
void World::change_power() {
  const auto& caps = settings_.power_caps;
  const auto& lines = settings_.corridor;
  const auto pass = [&](const auto& all, std::size_t& next) {
    const std::size_t before = next;
    while (next < all.size() && all[next].at <= now_) ++next;
    return next > before;
  };
  bool is_other = pass(caps, next_cap_);
  if (settings_.policy->wants.corridor) is_other = pass(lines, next_line_) || is_other;
  if (!is_other) return;
  event::CorridorChanged changed{0, std::numeric_limits<double>::infinity()};
  if (next_line_ > 0) changed = {lines[next_line_ - 1].low_w, lines[next_line_ - 1].high_w};
  if (next_cap_ > 0) changed.high_w = std::min(changed.high_w, caps[next_cap_ - 1].watts);
  if (settings_.policy->wants.corridor) changed.coming = coming_bounds(lines, next_line_);
  tell(changed);
}

void World::events_of_instant() {
  const std::uint64_t first = counts_.events;
  const bool any_setting = next_setting_ <= now_;
  while (is_due(Kind::answer)) happen();
  if (!core_.state().boots.empty()) end_boots();
  if (any_setting) change_machine();
  while (is_due(Kind::power)) happen();
  while (next_submission() <= now_) submit_next();
  if (any_setting) {
    for (; next_order_ < settings_.orders.size() && settings_.orders[next_order_].at <= now_;
         ++next_order_) {
      if (!order(settings_.orders[next_order_])) ++counts_.orders_not_possible;
    }
    next_setting_ = next_of_settings();
  }
  if (!barriers_.empty()) keep_barrier();
  const bool is_timer = core_.next_wake() <= now_;
  timer_alone_ = is_timer && counts_.events == first;
  if (is_timer) tell(event::TimerFired{});
}

// Who rules has made its pass, and jobs still wait: is another one better for them?
void World::look_ahead() {
  const auto occasion = look_aheads_.due(*portfolio_, core_, now_);
  if (!occasion) return;
  const auto begin = std::chrono::steady_clock::now();
  look_aheads_.begin(core_, now_);
  const event::ConfigChanged changed = choose(core_, *portfolio_, now_, *occasion);
  counts_.look_ahead_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  tell(changed);
  policy_ = ruling(settings_.policy, core_.traits());
  for (Observer* observer : observers_) observer->on_policy(now_, changed, core_);
  close();
}

void World::close() {
  if (are_other_companies()) follow_companies();
  if (learns_contention_) tell_contention();
  const auto decisions = core_.close(now_, *policy_);
  if (!timer_alone_ || !decisions.empty()) {
    idles_since_.reset();
  } else if (!idles_since_) {
    idles_since_ = now_;
  }
  fruitless_ = idles_since_ && now_ - *idles_since_ >= policy_->slowest_clock;
  for (const Decision& decision : decisions) {
    for (Observer* observer : observers_) observer->on_decision(now_, decision, core_);
    carry_out(decision);
  }
  if (are_other_companies()) follow_companies();
  // Those that asked before an iteration go on, unless they are resized first.
  for (const auto& [id, epoch] : asked_) {
    if (epoch == epochs_[index(id)]) plan(id);
  }
  asked_.clear();
  for (Observer* observer : observers_) observer->on_close(now_, core_);
}

void World::submit_next() {
  if (arrivals_) arrivals_->come();
  const auto id = JobId{static_cast<std::uint32_t>(next_submit_)};
  const WorkloadJob& job = jobs_[next_submit_++];
  const AdaptiveJob* more = adaptive(id);
  if (more && more->barrier) barriers_.push_back(id);
  event::Submitted submitted{described(job, more), believed(more)};
  if (job.where != 0) submitted.where = where_[job.where - 1];
  if (!settings_.bookings.empty()) submitted.where = booked_for(job, submitted.where);
  if (predicts(id)) {
    submitted.job.walltime = predictions_.walltime(job.user, job.walltime);
    predictions_.submitted(id, job.walltime, submitted.job.walltime);
  }
  tell(submitted);
  if (is_waiting(id) && lacks_power_for_ever(core_.job(id))) {
    ++counts_.rejected_for_power;
    end(id, EndState::cancelled);
  }
}

// Would the least that it may start with draw more than each cap allows, if it were alone?
bool World::lacks_power_for_ever(const Job& job) const {
  const auto& caps = settings_.power_caps;
  if (caps.empty() || caps.front().at > Time{}) return false;
  const double most_w = std::ranges::max(caps, {}, &PowerCap::watts).watts;
  const State& state = core_.state();
  const std::int64_t alone_mw = idle_mw_ + state.least_start_mw(job);
  return static_cast<double>(alone_mw) > std::round(most_w * 1000);
}

JobSpec World::described(const WorkloadJob& job, const AdaptiveJob* more) const {
  JobSpec spec{.name = job.name,
               .user = job.user,
               .group = job.group,
               .submitted = job.submit,
               .walltime = job.walltime,
               .size = exactly(job.nodes),
               .preferred = job.nodes};
  if (core_.state().capabilities.parts) {
    spec.cores = cores_of(job);
    spec.ranks = settings_.ranks_per_node;
    spec.bound = job.bound;
  }
  if (!more) return spec;
  spec.type = more->type;
  spec.priority = more->priority;
  spec.size = more->size;
  if (more->account != 0) spec.account = account_numbers_[more->account - 1];
  return spec;
}

bool World::is_waiting(JobId id) const {
  return core_.state().jobs.contains(id) && core_.job(id).status == Status::pending;
}

// While a barrier waits, all others that wait are held, as an operator would hold them: so it is
// one for every policy.
void World::keep_barrier() {
  std::erase_if(barriers_, [&](JobId id) {
    return !core_.state().jobs.contains(id) || core_.job(id).status == Status::over;
  });
  if (std::ranges::any_of(barriers_, [&](JobId id) { return is_waiting(id); })) {
    std::vector<JobId> waiting;
    const State& state = core_.state();
    for (JobId id = state.queue.front(); id != JobId::none;
         id = state.queue.after(id, core_.job(id).spec)) {
      waiting.push_back(id);
    }
    for (const Claim& claim : state.claims) {
      if (claim.start) waiting.push_back(claim.job);
    }
    if (!state.bookings.empty()) {  // who waits for one is not in the queue
      state.jobs.for_each([&](JobId id) {
        if (is_waiting(id) && state.awaits_booking(core_.job(id))) waiting.push_back(id);
      });
    }
    for (const JobId id : waiting) {
      if (std::ranges::find(barriers_, id) != barriers_.end()) continue;
      tell(event::Eligible{id, false});
      behind_.push_back(id);
    }
  } else {
    for (const JobId id : std::exchange(behind_, {})) tell(event::Eligible{id, true});
  }
}

// Jobs are held and no barrier waits any more.
bool World::may_pass_barrier() const {
  return !behind_.empty() &&
         std::ranges::none_of(barriers_, [&](JobId id) { return is_waiting(id); });
}

void World::happen() {
  const Entry entry = agenda_.pop();
  const JobId id = entry.job;
  switch (entry.kind()) {
    case Kind::end: {
      if (entry.data != epochs_[index(id)]) return;
      const bool done = now_ >= (adaptive(id) ? run_of(id).end : rigid_end(id));
      end(id, done ? EndState::completed : EndState::timeout);
      return;
    }
    case Kind::outlived: {
      if (entry.data != epochs_[index(id)]) return;
      if (const auto believed = predictions_.outlived(core_.state(), id, now_)) tell(*believed);
      watch_prediction(id);
      return;
    }
    case Kind::mtct:
      if (entry.data == run_of(id).measurement) tell_mtct(id);
      return;
    case Kind::power:
      tell_power(id);
      return;
    case Kind::answer: {
      Answer answer = std::move(answers_[entry.data]);
      free_answers_.push_back(entry.data);
      const bool owed = core_.state().find(answer.decision) != nullptr;  // else the job ended first
      if (!owed) return;
      if (core_.job(id).doing == Doing::starting) {
        answer_start(id, answer);
      } else if (core_.job(id).doing == Doing::stopping) {
        answer_stop(id, std::move(answer));
      } else {
        answer_resize(id, std::move(answer));
      }
      return;
    }
    case Kind::step:
      if (entry.data == epochs_[index(id)]) halt(id);
      return;
  }
}

// Where a job asks for nodes, waits to hear whether it is resized, sends something else, or begins
// a phase of which is told.
struct World::Halt {
  enum class Kind : std::uint8_t { asks, point, sends, phase };
  Work left = 0;
  Kind kind = Kind::point;
};

std::optional<World::Halt> World::next_halt(JobId id) const {
  const std::vector<EvolvingStep>& steps = adaptive(id)->steps;
  const Course course = course_of(id);
  const Run& run = run_of(id);
  std::optional<Halt> next;
  if (run.left > 0 && run.step < steps.size()) {
    next = {course.left_at(steps[run.step]), Halt::Kind::asks};
  }
  if (settings_.policy->wants.points && sizes_while_running(adaptive(id)->type)) {
    const std::optional<Work> point = course.next_point(std::min(run.left, run.told - 1), run.size);
    if (point && (!next || *point > next->left)) next = {*point, Halt::Kind::point};
  }
  const Work sends_to = run.pause == kNever ? run.sends_to : std::max(run.sends_to, run.paused);
  if (transfers_ && sends_to > 0 && sends_to < run.left && (!next || sends_to >= next->left)) {
    next = {sends_to, Halt::Kind::sends};
  }
  if (settings_.tells_phases && adaptive(id)->phases.size() > 1) {
    const bool is_new = run.phase == kNoPhase;
    const Work left = is_new ? run.left : std::min(course.end_of_phase(run.phase), run.left);
    if (left > 0 && (!next || left >= next->left)) next = {left, Halt::Kind::phase};
  }
  return next;
}

void World::halt(JobId id) {
  const AdaptiveJob& more = *adaptive(id);
  if (const auto next = next_of_toll(id); next && *next <= now_) return pass_toll(id);
  Run& run = run_of(id);
  const Halt here = *next_halt(id);
  const Course course = course_of(id);
  run.reached = here.left;
  if (here.kind == Halt::Kind::sends) {
    advance(id);
    note_transfers(id);
    plan(id);
    return;
  }
  if (here.kind == Halt::Kind::phase) {
    tell_phase(id, course.phase_at(here.left));
    plan(id);
    return;
  }
  run.told = here.left;
  const auto wait = [&](Nodes wanted) {
    for (Observer* observer : observers_) {
      observer->on_point(now_, id, course.iterations_done(here.left), wanted, core_);
    }
    asked_.emplace_back(id, ++epochs_[index(id)]);
  };
  if (here.kind == Halt::Kind::point) {
    tell(event::AtPoint{id});
    wait(0);
    return;
  }
  const EvolvingStep& step = more.steps[run.step++];
  if (step.iterations > 0) {
    if (core_.job(id).claim != ClaimId::none) {  // nodes are on their way
      plan(id);
      return;
    }
    withdraw_requests(id);
  }
  const bool asks = run.denied || !step.if_denied;
  if (const std::int32_t delta = more.delta_of(step, run.size); asks && delta != 0) {
    const RequestId request{static_cast<std::uint32_t>(saves_.size())};
    saves_.push_back(step.saves);
    run.denied = false;
    tell(event::EvolvingRequested{request, id, delta, step.at_least});
    if (step.iterations > 0) {
      wait(run.size + static_cast<Nodes>(delta));
      return;
    }
  }
  plan(id);
}

// --- Decisions
// ---------------------------------------------------------------------------------------

void World::carry_out(const Decision& decision) {
  const JobId id = decision.job;
  switch (decision.kind) {
    case Decision::Kind::start: {
      if (settings_.start_delay.is_zero()) {
        begin(id);
        return;
      }
      const std::uint64_t attempt = epochs_[index(id)];
      Answer answer{.decision = decision.id};
      answer.fails = draws(Stream::start_failure, id, attempt).chance(settings_.start_failure);
      const Duration delay = sample(settings_.start_delay, draws(Stream::start_delay, id, attempt));
      send(id, later(now_, delay), std::move(answer));
      return;
    }
    case Decision::Kind::resize:
      order_resize(decision);
      return;
    case Decision::Kind::set_limit:
      // A job that lost its nodes at this very instant waits again, or is over.
      if (settings_.kill_overrun && adaptive(id) && core_.state().jobs.contains(id) &&
          core_.job(id).status == Status::running) {
        // Of who shares nodes it moves with others, too: also while it waits for cores, and the
        // core notes no progress then.
        const bool shares = core_.state().capabilities.parts;
        const Doing doing = core_.job(id).doing;
        if (doing != Doing::nothing && !(shares && doing == Doing::resizing)) return;
        if (!shares) advance(id);
        plan(id);
      }
      return;
    case Decision::Kind::cores:
      pairs_changed_ = true;
      take_pace(id, core_.state().pace_of(core_.job(id), core_.job(id).holding, settings_.share,
                                          settings_.contention));
      return;
    case Decision::Kind::frequency:
      change_frequency(id);
      return;
    case Decision::Kind::reject:
      ++counts_.jobs_over;
      if (arrivals_) arrivals_->over(id, false, now_);
      for (Observer* observer : observers_) {
        observer->on_end(now_, id, truth(id), EndState::cancelled, false, core_);
      }
      return;
    case Decision::Kind::deny:
      run_of(id).denied = true;  // the application goes on, and may ask again
      return;
    case Decision::Kind::cancel:
    case Decision::Kind::requeue:
    case Decision::Kind::suspend:
      order_stop(decision);
      return;
    case Decision::Kind::power_on:  // the core says when they are ready
    case Decision::Kind::power_off:
      return;
  }
}

void World::begin(JobId id) {
  if (arrivals_) arrivals_->begun(id, now_);
  if (adaptive(id)) {
    const Job& job = core_.job(id);
    Run& run = run_of(id);
    run.told_mtct = 0;
    if (!job.goes_on) {
      run.left = run.reached = course_of(id).total();
      run.step = 0;
      run.denied = false;
      run.told = course_of(id).total();
      run.phase = kNoPhase;
    }
    run.at = now_;
    run.first_left = run.left;
    run.first_limit = kill_time(id);
    run.size = job.holding.count;
    run.grace = job.step > 0 ? (job.step + 1) * kTick : Duration{};
    note_speed(id);
    run.pause = kNever;  // it may have been about to be resized in another life
    run.answer = kNoAnswer;
    run.bandwidth = 1;
    note_transfers(id);
    plan(id);
    if (adaptive(id)->watts > 0) {
      schedule(later(now_, settings_.power_delay), Kind::power, id, 0);
    }
    measure_mtct(id, settings_.mtct.delay);
    return;
  }
  const Time end = later(now_, rigid_runtime(id));
  if (slowed(id)) rigid_slow_.erase(id);
  if (core_.job(id).step > 0) rigid_slow_[id] = {end, core_.state().speed(core_.job(id))};
  plan_rigid(id, end);
}

Time World::rigid_end(JobId id) const {
  const Slow* const slow = slowed(id);
  return slow ? slow->end : later(core_.job(id).started, rigid_runtime(id));
}

void World::plan_rigid(JobId id, Time end) {
  // Limit and end of one that was slowed are rounded each by itself, at each change.
  const auto kill_then = [&] {
    const Time kill = kill_time(id);
    return slowed(id) ? later(kill, kTick * std::int64_t{kMostSteps + 1}) : kill;
  };
  const Time at = settings_.kill_overrun ? std::min(end, kill_then()) : end;
  schedule(at, Kind::end, id, epochs_[index(id)]);
  watch_prediction(id);
}

// From now on it computes at another one. What is left is rounded as the core rounds what is left
// of its limit.
void World::change_frequency(JobId id) {
  const State& state = core_.state();
  const Job& job = core_.job(id);
  if (adaptive(id)) {
    take_pace(id, state.pace_of(job, job.holding, settings_.share, settings_.contention));
    return;
  }
  Slow& its = rigid_slow_.at(id);
  const double speed = state.speed(job);
  its = {later(now_, at_speed(its.end - now_, speed / its.speed)), speed};
  ++epochs_[index(id)];
  plan_rigid(id, its.end);
}

// Once more after this delay, unless a resize is under way then.
void World::measure_mtct(JobId id, Duration delay) {
  if (!settings_.policy->wants.mtct || !sizes_while_running(adaptive(id)->type)) return;
  schedule(later(now_, std::max(delay, kTick)), Kind::mtct, id, ++run_of(id).measurement);
}

void World::tell_mtct(JobId id) {
  const State& state = core_.state();
  if (!state.jobs.contains(id) || core_.job(id).status != Status::running) return;
  const Job& job = core_.job(id);
  if (job.doing == Doing::resizing || job.doing == Doing::stopping) return;  // its end begins anew
  Run& run = run_of(id);
  const AdaptiveJob& more = *adaptive(id);
  const Work total = course_of(id).total();
  const double progress =
      1 - static_cast<double>(left_at(id, now_)) / static_cast<double>(std::max<Work>(total, 1));
  const std::uint64_t seed = settings_.rules.seed;
  const double drift =
      settings_.mtct.drift > 0
          ? mtct_drifts_[id].after(settings_.mtct, seed, truth(id).name, now_ - job.started)
          : 0;
  const std::int64_t value =
      measured_mtct(settings_.mtct, seed, truth(id), more, run.size, progress, drift);
  if (differs_much(run.told_mtct, value)) {
    run.told_mtct = value;
    tell(event::Believed{id, 0, static_cast<double>(value) / 1e6, 0});
  }
  if (settings_.mtct.changes(more)) measure_mtct(id, settings_.mtct.period);
}

void World::tell_phase(JobId id, std::size_t phase) {
  const AdaptiveJob& more = *adaptive(id);
  const Phase& its = more.phases[phase];
  const std::uint32_t before = std::exchange(run_of(id).phase, static_cast<std::uint32_t>(phase));
  if (before != kNoPhase && does_the_same(more.phases[before], its)) return;
  const bool is_of_links = settings_.rules.budget == Budget::bandwidth;
  const double watts = is_of_links ? link_watts(workload_, more, its) : 0;
  tell(event::Believed{id, watts, 0, 0, its.model(more.size.min)});
}

void World::tell_power(JobId id) {
  const State& state = core_.state();
  if (!state.jobs.contains(id) || core_.job(id).status != Status::running) return;
  // Of another life of it.
  if (later(core_.job(id).started, settings_.power_delay) != now_) return;
  tell(event::Believed{id, adaptive(id)->watts, 0, 0});
}

// When the job will have outlived what is predicted of it, if it lives.
void World::watch_prediction(JobId id) {
  if (!predicts(id)) return;
  const Job& job = core_.job(id);
  if (job.spec.walltime >= predictions_.requested(core_.state(), id)) return;
  // While it pauses it outlives nothing; the answer plans anew.
  if (adaptive(id) && core_.state().scales_limit(job) && job.limit > run_of(id).pause) return;
  schedule(std::max(job.limit, now_ + kTick), Kind::outlived, id, epochs_[index(id)]);
}

Time World::kill_time(JobId id) const {
  const Job& job = core_.job(id);
  const AdaptiveJob* more = adaptive(id);
  if (more && more->believed.walltime_for == WalltimeFor::belief) return kNever;
  if (!predicts(id)) return job.limit;
  return core_.state().end_with(job, predictions_.requested(core_.state(), id));
}

// Would it have ended within its limit, had it kept the size at which it started?
bool World::would_have_ended(JobId id) const {
  if (!adaptive(id)) return false;
  const Job& job = core_.job(id);
  const Run& run = run_of(id);
  // Links, or a lower frequency, may have slowed one that was never resized, not even by nodes that
  // failed.
  const bool may_be_slowed = transfers_ || settings_.rules.slow_for_power;
  if (may_be_slowed && run.resizes == 0 && job.expands + job.shrinks == 0) return false;
  const Time limit = core_.state().scales_limit(job) ? run.first_limit : kill_time(id);
  const Time end = course_of(id).when(job.started, run.first_left, 0, job.first_size, run.pace);
  return later(job.started, at_speed(end - job.started, run.speed)) <= limit;
}

// The end at the present size, or the kill, or the next evolving request, whatever comes first.
// While the job pauses only the kill comes, where its limit is fixed: one that is scaled counts
// work, and there is none.
void World::plan(JobId id) {
  const std::vector<EvolvingStep>& steps = adaptive(id)->steps;
  Run& run = run_of(id);
  const std::uint32_t epoch = ++epochs_[index(id)];
  const auto when = [&](Work left) { return this->when(id, left); };
  run.end = run.pause > now_ ? std::max(when(0), later(run.at, kTick)) : kNever;
  // At a scheduling point something is left, even if it takes no time.
  const bool at_point = settings_.resize.apply_at == ResizeBehaviour::ApplyAt::phase_end;
  if (at_point ? run.end >= run.pause : run.end > run.pause) run.end = kNever;
  Time at = run.end;
  if (settings_.kill_overrun) {
    const Time kill = later(kill_time(id), run.grace);
    const bool counts_pauses = !core_.state().scales_limit(core_.job(id));
    if (counts_pauses || kill <= run.pause) at = std::min(at, std::max(kill, now_));
  }
  watch_prediction(id);
  if (const auto next = next_of_toll(id); next && *next <= at) {
    schedule(std::max(*next, now_), Kind::step, id, epoch);
    return;
  }
  if (const auto next = next_halt(id)) {
    const Work there = next->left;
    const bool at_pause = next->kind == Halt::Kind::sends && there == run.paused;
    const Time ask = at_pause && run.pause != kNever ? run.pause : when(there);
    const bool counted = next->kind == Halt::Kind::point ||
                         (next->kind == Halt::Kind::asks && steps[run.step].iterations > 0);
    const bool is_resized = counted && run.pause != kNever && there <= run.paused;
    const bool before_end = ask < at || (counted && ask == run.end && ask == at);
    if (before_end && ask <= run.pause && !is_resized) {
      schedule(std::max(ask, now_), Kind::step, id, epoch);
      return;
    }
  }
  if (at != kNever) schedule(at, Kind::end, id, epoch);
}

// Jobs that ask before iterations say what they want at the size and for the iteration that they
// have; what is open of what they wanted before is void.
void World::withdraw_requests(JobId id) {
  std::vector<RequestId> open;
  for (const Request& request : core_.state().requests) {
    if (request.job == id) open.push_back(request.id);
  }
  for (const RequestId request : open) tell(event::EvolvingWithdrawn{request});
}

// With another size.
void World::go_on(JobId id) {
  const std::vector<EvolvingStep>& steps = adaptive(id)->steps;
  if (!steps.empty() && steps.front().iterations > 0) withdraw_requests(id);
  note_transfers(id);
  plan(id);
}

// What it has left at a time, if it makes progress until then.
Work World::left_at(JobId id, Time time) const {
  const Run& run = run_of(id);
  const Duration worked = std::max(time - run.at, Duration{});
  const Duration at_speed_1 = at_speed(worked, 1 / run.speed);
  const Work left = course_of(id).left_after(run.left, run.size, at_speed_1, run.has_pace());
  return std::min(left, run.reached);
}

// When it has no more left than this, as it goes on.
Time World::when(JobId id, Work left) const {
  const Run& run = run_of(id);
  const Time at_speed_1 = course_of(id).when(run.at, run.left, left, run.size, run.has_pace());
  if (run.speed == 1) return at_speed_1;
  return later(run.at, at_speed(at_speed_1 - run.at, run.speed));
}

// Run times are meant at speed 1; a job is as fast as its slowest node.
Duration World::rigid_runtime(JobId id) const {
  return at_speed(runtime_left(id), core_.state().speed(core_.job(id)));
}

void World::note_speed(JobId id) {
  const State& state = core_.state();
  const Job& job = core_.job(id);
  Run& run = run_of(id);
  pairs_changed_ = true;
  run.speed = state.node_speed(job);
  run.pace = state.pace_of(job, job.holding, settings_.share, settings_.contention);
}

// Who shares nodes with others than before has another pace from now on, if they lose by each
// other. What a resize under way finds at its time is not what it would have been.
void World::follow_companies() {
  const State& state = core_.state();
  const bool is_other = std::exchange(companies_, state.companies) != state.companies;
  if (is_other && !settings_.contention.is_off()) {
    for (const JobId id : state.parted) {
      const Job& job = core_.job(id);
      const Holding& has = state.settled(job);
      const Pace its = state.pace_of(job, has, settings_.share, settings_.contention);
      if (job.doing != Doing::starting) take_pace(id, its);
    }
  }
  if ((is_other || pairs_changed_) && learns_contention_) see_pairs();
  pairs_changed_ = false;
}

// What jobs do on nodes of which each has others of one bound beside them, against what they would
// do there alone: that is what they lose by such a pair, whatever the share model. Beside several
// bounds, or while it is resized, a job tells nothing. Each is looked at when its company or its
// cores become other ones: what it did until then counts.
void World::see_pairs() {
  const State& state = core_.state();
  std::map<JobId, Beside> now;
  for (const JobId id : state.parted) {
    const Job& job = core_.job(id);
    if (job.doing != Doing::nothing) continue;
    const std::optional<Bound> bound = state.bound_beside(job);
    if (!bound) continue;
    const Run& run = run_of(id);
    if (run.at > now_) continue;  // it still pays for its last resize
    const Pace alone = state.pace_of(job, job.holding, settings_.share, {});
    now[id] = {*bound, now_, left_at(id, now_), run.size, alone, run.speed};
  }
  for (const auto& [id, before] : beside_) {
    const auto at = now.find(id);
    if (at != now.end() && at->second.is_as(before)) {
      at->second = before;
      continue;
    }
    const Work left = left_at(id, now_);
    if (left >= before.left) continue;
    const Time alone =
        course_of(id).when(before.since, before.left, left, before.size, before.alone);
    learned_.add(truth(id).bound, before.bound, at_speed(alone - before.since, before.speed),
                 now_ - before.since);
  }
  beside_ = std::move(now);
}

void World::tell_contention() {
  const Contention model = learned_.model();
  if (model == core_.state().rules.contention) return;
  tell(event::ContentionLearned{model});
  timer_alone_ = false;
}

// Progress is rounded, so it is counted where the core counts it, too: where the pace changes.
void World::take_pace(JobId id, const Pace& its) {
  Run& run = run_of(id);
  if (its == run.pace) return;
  advance(id);
  run.pace = its;
  if (run.pause != kNever && run.pause > now_) run.paused = left_at(id, run.pause);
  plan(id);
}

// What it sends from here on, for its work or for a resize.
void World::note_transfers(JobId id) {
  if (!transfers_) return;
  Run& run = run_of(id);
  const bool pauses = run.pause <= now_;
  if (pauses && run.answer != kNoAnswer) {
    begin_toll(id, answers_[run.answer], run.cost);
  }
  run.sends_to = 0;
  if (const auto at = tolls_.find(id); at != tolls_.end()) {
    Toll& toll = at->second;
    const auto [flows, next_us] = sent_for(adaptive(id)->costs, adaptive(id)->size.min, toll);
    toll.next_us = next_us;
    transfers_->set(id, flows);
  } else if (pauses || run.at > now_) {
    transfers_->set(id, {});
  } else {
    const Course::Sending its = course_of(id).sending(run.left, run.size);
    run.sends_to = its.to;
    transfers_->set(id, its.flows);
  }
}

// Of a resize that has been ordered: if it begins to cost time now, work is over at once.
void World::pause_transfers(JobId id) {
  if (!transfers_ || run_of(id).pause > now_) return;
  advance(id);
  note_transfers(id);
}

void World::stop_transfers(JobId id) {
  if (!transfers_ || !adaptive(id)) return;
  tolls_.erase(id);
  transfers_->set(id, {});
}

// From now on it pays for this resize, and sends nothing else. Also who sends nothing for it has to
// know when it has paid, where no answer comes then.
void World::begin_toll(JobId id, const Answer& answer, Duration cost) {
  const ResizeCosts& costs = adaptive(id)->costs;
  const bool sends = !costs.after.rows().empty() || !costs.growth.rows().empty();
  const bool matters = transfers_ && (sends || settings_.resize.pays_after);
  if (!matters || cost <= Duration{} || tolls_.contains(id)) return;
  transfers_->set(id, {});
  run_of(id).bandwidth = 1;
  const auto whole_us = static_cast<double>(cost.count());
  const Nodes to = answer.now.count;
  tolls_[id] = {.to = to,
                .joined = to - std::min(to, answer.before) + answer.replaced,
                .whole_us = whole_us,
                .left_us = whole_us,
                .since = now_};
}

// When it sends something else, or has paid; where the answer says that, nothing.
std::optional<Time> World::next_of_toll(JobId id) const {
  const auto at = tolls_.find(id);
  if (at == tolls_.end()) return std::nullopt;
  const Toll& toll = at->second;
  const Run& run = run_of(id);
  if (toll.next_us > 0) {
    return later(toll.since, seconds((toll.left_us - toll.next_us) / run.bandwidth / 1e6));
  }
  return settings_.resize.pays_after ? std::optional(run.at) : std::nullopt;
}

void World::pass_toll(JobId id) {
  Toll& toll = tolls_.at(id);
  toll.left_us = toll.next_us;
  toll.since = now_;
  if (toll.left_us == 0) tolls_.erase(id);
  note_transfers(id);
  plan(id);
}

void World::move_answer(JobId id, Time at) {
  Run& run = run_of(id);
  Answer answer = std::move(answers_[run.answer]);
  answers_[run.answer] = {.decision = DecisionId::none};
  run.answer = send(id, at, std::move(answer));
}

// Who shares links with others than before is slower or faster from now on. What it pays ends, and
// the scheduling point at which it is about to be resized comes, later or earlier, too.
void World::follow_transfers() {
  for (auto changes = transfers_->settle(); !changes.empty(); changes = transfers_->settle()) {
    for (const auto& [id, speed] : changes) take_bandwidth(id, speed);
  }
}

void World::take_bandwidth(JobId id, double speed) {
  if (!core_.state().jobs.contains(id) || core_.job(id).status != Status::running) return;
  Run& run = run_of(id);
  if (run.bandwidth == speed) return;
  if (const auto at = tolls_.find(id); at != tolls_.end()) {
    Toll& toll = at->second;
    const auto paid_us = static_cast<double>((now_ - toll.since).count()) * run.bandwidth;
    toll.left_us = std::max(toll.left_us - paid_us, toll.next_us);
    toll.since = now_;
    run.bandwidth = speed;
    const Time end = later(now_, seconds(toll.left_us / speed / 1e6));
    if (!settings_.resize.pays_after) {
      move_answer(id, end);
      plan(id);
      return;
    }
    run.at = end;
  } else {
    advance(id);
    run.bandwidth = speed;
  }
  const bool waits = run.answer != kNoAnswer && run.pause > now_;
  if (waits && settings_.resize.apply_at == ResizeBehaviour::ApplyAt::phase_end) {
    const Point point = next_resize(id, std::max(run.ready, now_)).value_or(Point{kNever, 0});
    run.pause = point.at;
    run.paused = point.left;
    move_answer(id, later(run.pause, run.cost));
  } else if (waits) {
    run.paused = left_at(id, run.pause);
  }
  pause_transfers(id);
  plan(id);
}

void World::advance(JobId id) {
  Run& run = run_of(id);
  run.left = run.reached = now_ >= run.pause ? run.paused : left_at(id, now_);
  run.at = std::max(run.at, now_);  // later: it still pays for its last resize
}

// Where the job can be resized, from `ready` on; nothing if its end comes first.
std::optional<World::Point> World::next_resize(JobId id, Time ready) const {
  const Run& run = run_of(id);
  const Work left = left_at(id, ready);
  if (settings_.resize.apply_at == ResizeBehaviour::ApplyAt::immediate) return Point{ready, left};
  const Course course = course_of(id);
  const auto point = course.next_point(left, run.size);
  if (!point) return std::nullopt;
  if (*point == left) return Point{ready, left};
  // From where the plan counts, so that what it has at this point comes at this time. Times are
  // rounded: a job without phases may be a little further then.
  const Time at = std::max(ready, when(id, *point));
  return Point{at, std::min(left_at(id, at), *point)};
}

void World::order_resize(const Decision& decision) {
  const JobId id = decision.job;
  const ResizeBehaviour& how = settings_.resize;
  Run& run = run_of(id);
  beside_.erase(id);
  const std::uint64_t order = run.resizes++;
  const Holding& has = core_.state().settled(core_.job(id));
  Answer answer{.decision = decision.id, .before = run.size, .now = has};
  if (draws(Stream::resize_loss, id, order).chance(how.lose)) {
    send(id, now_ + how.timeout, std::move(answer));
    return;
  }
  const Duration delay = sample(how.delay, draws(Stream::resize_delay, id, order));
  const std::optional<Point> point = next_resize(id, later(now_, delay));
  // The end of the job is the answer, unless links slow it until then.
  if (!point && !transfers_) return;
  const auto [at, left] = point.value_or(Point{kNever, 0});
  Draws luck = draws(Stream::resize_refusal, id, order);
  if (luck.chance(how.refuse)) {
    send(id, at, std::move(answer));
    return;
  }
  answer.changed = true;
  answer.now = decision.after;
  if (luck.chance(how.partly)) answer.now = partly(has, decision.after, luck);
  answer.replaced = replaced(has, answer.now);
  // Cores of the nodes that it keeps come and go for nothing.
  const bool is_resize = answer.now.count != run.size || answer.replaced > 0;
  if (is_resize) {
    answer.cost = adaptive(id)->resize_cost(run.size, answer.now.count, answer.replaced);
  }
  if (decision.request != RequestId::none) answer.saves = saves_[index(decision.request)];
  run.pause = at;
  run.paused = left;
  run.ready = later(now_, delay);
  run.cost = how.pays_after ? Duration{} : answer.cost;
  run.answer = send(id, later(at, run.cost), std::move(answer));
  pause_transfers(id);
  plan(id);
}

// For the resize under way, so far: from its pause on, all that the job holds.
void World::pay_so_far(JobId id) {
  if (!core_.state().jobs.contains(id)) return;
  const Job& job = core_.job(id);
  if (job.doing != Doing::resizing || run_of(id).pause >= now_) return;
  pay(id, now_ - run_of(id).pause, job.holding.count);
}

void World::pay(JobId id, Duration time, Nodes nodes) {
  const Wide node_us = Wide{time.count()} * nodes;
  paid_ += node_us;
  for (Observer* observer : observers_) observer->on_paid(now_, id, node_us, core_);
}

// Some size strictly between, if there is one.
Holding World::partly(const Holding& before, const Holding& after, Draws draw) const {
  const Nodes low = std::min(before.count, after.count), high = std::max(before.count, after.count);
  if (high - low < 2) return after;
  Holding some{low + 1 + static_cast<Nodes>(draw.below(high - low - 1)), {}};
  if (core_.state().rules.identities) {
    const bool grows = before.count < after.count;
    const NodeSet& base = grows ? before.nodes : after.nodes;
    NodeSet more = difference(grows ? after.nodes : before.nodes, base);
    some.nodes = united(base, more.take_lowest(some.count - low));
  }
  return some;
}

std::uint32_t World::send(JobId id, Time at, Answer answer) {
  if (free_answers_.empty()) {
    free_answers_.push_back(static_cast<std::uint32_t>(answers_.size()));
    answers_.emplace_back();
  }
  const std::uint32_t place = free_answers_.back();
  free_answers_.pop_back();
  answers_[place] = std::move(answer);
  schedule(at, Kind::answer, id, place);
  return place;
}

void World::answer_start(JobId id, const Answer& answer) {
  if (answer.fails) {
    ++epochs_[index(id)];
    for (Observer* observer : observers_) observer->on_start_failed(now_, id, core_);
    tell(event::StartFailed{id, answer.decision, now_ + settings_.start_retry});
  } else {
    tell(event::Started{id, answer.decision, {}, std::nullopt});
    begin(id);
  }
}

// Does it only hold other cores of its nodes, of which it uses as much as before?
bool World::goes_on_as_before(JobId id, const Answer& answer) const {
  const State& state = core_.state();
  const Job& job = core_.job(id);
  return settings_.resize.apply_at == ResizeBehaviour::ApplyAt::immediate && answer.saves == 0 &&
         answer.cost == Duration{} && answer.now.count == answer.before &&
         answer.now.nodes == state.settled(job).nodes &&
         run_of(id).pace == state.pace_of(job, answer.now, settings_.share, settings_.contention);
}

void World::answer_resize(JobId id, Answer answer) {
  Run& run = run_of(id);
  run.answer = kNoAnswer;
  const bool has_paid = !settings_.resize.pays_after;
  if (has_paid && tolls_.erase(id) > 0) answer.cost = now_ - run.pause;
  const Time retry = answer.changed ? Time{} : now_ + settings_.resize.retry;
  if (answer.changed && goes_on_as_before(id, answer)) {
    run.pause = kNever;
  } else if (answer.changed) {
    const Course course = course_of(id);
    const std::vector<EvolvingStep>& steps = adaptive(id)->steps;
    advance(id);
    while (run.step < steps.size() && steps[run.step].iterations > 0 &&
           course.left_at(steps[run.step]) >= run.left) {
      ++run.step;
    }
    run.left = run.reached = course.left_without(run.left, answer.saves);
    run.pause = kNever;
    pay(id, answer.cost,
        has_paid ? std::max(answer.before, answer.now.count) + answer.replaced : answer.now.count);
    if (!has_paid) {
      tolls_.erase(id);  // no more is paid for the one before it
      begin_toll(id, answer, answer.cost);
      run.at = later(now_, std::exchange(answer.cost, Duration{}));
    }
    run.size = answer.now.count;
  }
  const event::Resized resized{id, answer.decision, std::move(answer.now), retry, answer.cost};
  tell(resized);
  if (draws(Stream::resize_repeat, id, index(answer.decision)).chance(settings_.resize.repeat))
    tell(resized);
  if (answer.changed) {
    note_speed(id);
    go_on(id);
  }
  run.told_mtct = run.size == answer.before ? run.told_mtct : 0;
  measure_mtct(id, settings_.mtct.delay);
  for (Observer* observer : observers_) observer->on_resized(now_, id, answer.before, core_);
}

// --- Stops
// ----------------------------------------------------------------------------------------------

// A rigid job is stopped at once; any other one is suspended where it can be resized, and answers
// as if it were.
void World::order_stop(const Decision& decision) {
  const JobId id = decision.job;
  beside_.erase(id);
  Answer answer{.decision = decision.id, .changed = true};
  const bool is_rigid = !adaptive(id) || adaptive(id)->type == JobType::rigid;
  if (decision.kind != Decision::Kind::suspend || is_rigid) {
    send(id, now_, std::move(answer));
    return;
  }
  const ResizeBehaviour& how = settings_.resize;
  Run& run = run_of(id);
  const std::uint64_t order = run.resizes++;
  answer.before = run.size;
  if (draws(Stream::resize_loss, id, order).chance(how.lose)) {
    answer.changed = false;
    send(id, now_ + how.timeout, std::move(answer));
    return;
  }
  const Duration delay = sample(how.delay, draws(Stream::resize_delay, id, order));
  const std::optional<Point> point = next_resize(id, later(now_, delay));
  if (!point && !transfers_) return;  // as above
  const auto [at, left] = point.value_or(Point{kNever, 0});
  answer.changed = !draws(Stream::resize_refusal, id, order).chance(how.refuse);
  const bool stops = answer.changed;
  const std::uint32_t place = send(id, at, std::move(answer));
  if (!stops) return;
  run.pause = at;
  run.paused = left;
  run.ready = later(now_, delay);
  run.cost = {};
  run.answer = place;
  pause_transfers(id);
  plan(id);
}

void World::answer_stop(JobId id, Answer answer) {
  const Decision::Kind kind = core_.state().find(answer.decision)->decision.kind;
  if (!answer.changed) {
    const event::Resized refused{id, answer.decision, core_.job(id).holding,
                                 now_ + settings_.resize.retry};
    tell(refused);
    for (Observer* observer : observers_) observer->on_resized(now_, id, answer.before, core_);
    return;
  }
  if (kind != Decision::Kind::suspend) {
    return end(id, EndState::cancelled, kind == Decision::Kind::requeue);
  }
  if (adaptive(id)) {
    advance(id);
    stop_transfers(id);
  } else {
    const Job& job = core_.job(id);
    const double per_second = 1 / core_.state().speed(job);
    const Slow* const slow = slowed(id);
    rigid_left_[id] =
        slow ? at_speed(slow->end - now_, per_second)
             : std::max(runtime_left(id) - at_speed(now_ - job.started, per_second), Duration{});
  }
  ++epochs_[index(id)];
  for (Observer* observer : observers_) observer->on_suspended(now_, id, truth(id), core_);
  const event::Suspended suspended{id, answer.decision};
  tell(suspended);
  if (draws(Stream::resize_repeat, id, index(answer.decision)).chance(settings_.resize.repeat)) {
    tell(suspended);
  }
}

// Of a rigid job, at speed 1.
Duration World::runtime_left(JobId id) const {
  const bool goes_on = !rigid_left_.empty() && core_.job(id).goes_on;
  return goes_on ? rigid_left_.at(id) : truth(id).runtime;
}

// False if it is not possible now.
bool World::order(const OperatorOrder& order) {
  const JobId id = arrivals_ ? arrivals_->number(order.job) : order.job;
  if (id == JobId::none) return false;
  if (const auto* how = std::get_if<Stop>(&order.what)) return tell(event::StopOrdered{id, *how});
  if (std::holds_alternative<OperatorOrder::Resume>(order.what)) return resume(id);
  if (const auto* resize = std::get_if<OperatorOrder::Resize>(&order.what)) {
    const State& state = core_.state();
    const bool is_so = state.jobs.contains(id) && core_.job(id).status != Status::over &&
                       core_.job(id).ordered == resize->to;
    return tell(event::SizeOrdered{id, resize->to}) || is_so;
  }
  NodeSet off = std::get<OperatorOrder::Leave>(order.what).off;
  const State& state = core_.state();
  if (off.empty() && state.jobs.contains(id) && core_.job(id).status == Status::running) {
    off = state.settled(core_.job(id)).nodes;
  }
  // No nodes would lift an order.
  return !off.empty() && tell(event::MoveOrdered{id, std::move(off)});
}

bool World::resume(JobId id) {
  const bool is_held = core_.state().jobs.contains(id) && core_.job(id).status == Status::held;
  if (!is_held) return tell(event::StopOrdered{id, std::nullopt});
  // Behind a barrier it waits as others do, and is not suspended.
  const bool is_behind = std::ranges::find(behind_, id) != behind_.end();
  return !is_behind && tell(event::Eligible{id, true});
}

// --- Ends and failures
// -------------------------------------------------------------------------------

void World::end(JobId id, EndState state, bool requeue) {
  pay_so_far(id);
  for (Observer* observer : observers_) {
    observer->on_end(now_, id, truth(id), state, requeue, core_);
  }
  ++epochs_[index(id)];
  stop_transfers(id);
  counts_.killed_by_resizes += state == EndState::timeout && would_have_ended(id) ? 1 : 0;
  if (!requeue) {
    if (predicts(id)) predictions_.ending(core_.state(), id, now_);
    ++counts_.jobs_over;
    if (arrivals_) arrivals_->over(id, state == EndState::completed, now_);
    if (core_.job(id).status == Status::running) counts_.last_end = now_;
  }
  tell(event::Ended{id, state, requeue});
  if (requeue && adaptive(id) && run_of(id).phase != kNoPhase) {  // it begins anew
    const AdaptiveSpec& whole = adaptive(id)->believed;
    tell(event::Believed{id, whole.watts_per_node, 0, 0, whole.speedup});
  }
}

void World::book(const BookingOrder& order) {
  event::Booked made{order.booking};
  if (order.count > 0) {
    const auto nodes =
        place_booking(core_.state(), order.count, made.booking.from, made.booking.to);
    if (nodes) made.booking.nodes = *nodes;
  }
  if (tell(made)) return;
  const Booking& its = made.booking;
  const bool lacks_nodes = order.count > 0 && its.nodes.empty();
  std::vector<std::string> others;  // who stand in its way
  for (const Booking& each : core_.state().bookings) {
    if (!each.overlaps(its.from, its.to)) continue;
    if (lacks_nodes ? each.nodes.empty() : !each.nodes.intersects(its.nodes)) continue;
    const std::string to = each.to == kNever ? "" : " to " + seconds_text(each.to);
    others.push_back(each.name + " has " + to_string(each.nodes) + " from " +
                     seconds_text(each.from) + to);
  }
  const std::string what = lacks_nodes ? "fewer nodes are up and not reserved for all of its time"
                           : others.empty() ? "no more sets of nodes can be told apart"
                                            : "its nodes are reserved then";
  throw InputError({order.where.file, order.where.line, "reservation " + its.name},
                   what + (others.empty() ? "" : ": " + listed(others)),
                   "let it have other nodes, fewer, or another time");
}

// Jobs of reservations: they are there, have one each, and room in it.
void World::check_booked_jobs() const {
  std::map<std::uint64_t, const BookingOrder*> booked;
  for (const BookingOrder& order : settings_.bookings) {
    const std::string field = "reservation " + order.booking.name + ": jobs";
    for_each_node(order.jobs, [&](std::uint32_t job) {
      const auto [at, is_new] = booked.emplace(job, &order);
      if (is_new || at->second->booking.name == order.booking.name) return;
      throw InputError(
          {order.where.file, order.where.line, field},
          "job " + std::to_string(job) + " has reservation " + at->second->booking.name,
          "name it in one of them");
    });
  }
  std::set<std::uint64_t> there;
  for (const WorkloadJob& job : jobs_) {
    const auto at = booked.find(job.name);
    if (at == booked.end()) continue;
    there.insert(job.name);
    const BookingOrder& order = *at->second;
    const Nodes most = order.count > 0 ? order.count : order.booking.nodes.count();
    if (job.nodes <= most) continue;
    throw InputError(
        {order.where.file, order.where.line, "reservation " + order.booking.name + ": jobs"},
        "job " + std::to_string(job.name) + " needs " + std::to_string(job.nodes) +
            " nodes, more than its " + std::to_string(most),
        "let it have more nodes, or name other jobs");
  }
  for (const auto& [job, order] : booked) {
    if (there.contains(job)) continue;
    throw InputError(
        {order->where.file, order->where.line, "reservation " + order->booking.name + ": jobs"},
        "there is no job " + std::to_string(job) + " in the workload",
        "name jobs by their numbers there");
  }
}

// Where it may run, on what is booked for it.
std::shared_ptr<const Where> World::booked_for(const WorkloadJob& job,
                                               const std::shared_ptr<const Where>& where) const {
  std::uint32_t made = 0;  // so many before this one
  for (const BookingOrder& order : settings_.bookings) {
    const bool is_new = order.booking.id == BookingId::none;
    const bool is_its = is_new && job.name <= std::numeric_limits<std::uint32_t>::max() &&
                        order.jobs.contains(static_cast<std::uint32_t>(job.name));
    if (is_its) {
      Where its = where ? *where : Where{};
      its.booking = BookingId{made};
      return std::make_shared<const Where>(std::move(its));
    }
    made += is_new ? 1 : 0;
  }
  return where;
}

void World::change_nodes(const NodeEvent& event) {
  tell(event::NodesChanged{event.nodes, event.health});
  if (event.health != Health::down && event.health != Health::off) return;
  std::vector<JobId> hit;
  for (const JobId id : core_.state().running) {
    if (core_.job(id).holding.nodes.intersects(event.nodes)) hit.push_back(id);
  }
  std::ranges::sort(hit);
  for (const JobId id : hit) lose_nodes(id, event.nodes);
}

void World::lose_nodes(JobId id, const NodeSet& lost) {
  const Job& job = core_.job(id);
  const bool kill = settings_.on_failure == SimulationSettings::OnFailure::kill;
  const bool may_shrink = settings_.on_failure == SimulationSettings::OnFailure::shrink &&
                          sizes_while_running(job.spec.type) && job.doing != Doing::starting;
  if (may_shrink) {
    Run& run = run_of(id);
    Holding rest = core_.state().settled(job);
    rest.nodes.erase(lost);
    rest.count = rest.nodes.count();
    erase(rest.parts, lost);
    if (rest.count > 0 && core_.state().allows(job, rest.count)) {
      // A resize under way is given up; what is left of the old nodes goes on.
      const Nodes before = run.size;
      const DecisionId answers = job.doing != Doing::nothing ? job.decision : DecisionId::none;
      const Duration paused = run.pause < now_ ? now_ - run.pause : Duration{};
      pay_so_far(id);
      // Progress is rounded, so it is counted where the core counts it, too.
      const bool may_be_slower =
          core_.state().cells.speeds_differ() || !core_.state().is_alone(job);
      if (rest.count != before || paused > Duration{} || may_be_slower) advance(id);
      run.pause = kNever;
      run.answer = kNoAnswer;
      if (!settings_.resize.pays_after) tolls_.erase(id);
      run.size = rest.count;
      tell(event::Resized{id, answers, std::move(rest), {}, paused});
      note_speed(id);
      go_on(id);
      run.told_mtct = 0;
      measure_mtct(id, settings_.mtct.delay);
      for (Observer* observer : observers_) observer->on_resized(now_, id, before, core_);
      return;
    }
  }
  end(id, EndState::node_fail, !kill);
}

}  // namespace

SimulationCounts simulate(const Workload& workload, const SimulationSettings& settings,
                          std::span<Observer* const> observers) {
  if (!workload.precedences.empty())
    throw std::logic_error("jobs of this workload wait for others");
  return World(workload, settings, observers).run();
}

SimulationCounts simulate_in_order(Workload& workload, const SimulationSettings& settings,
                                   std::span<Observer* const> observers) {
  return World(workload, settings, observers, &workload).run();
}

}  // namespace ductile
