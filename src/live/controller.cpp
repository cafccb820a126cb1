#include "live/controller.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/crash.hpp"
#include "scheduling/record.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// While a job waits for a time of people's clock, that clock is looked at so often.
constexpr Duration kLookAtWall = whole_seconds(1);

/// A world that was out of reach at the start is looked at so often.
constexpr Duration kLookAtWorld = whole_seconds(1);

/// So many waiting jobs a plan has: with 10,000 of them a pass stays below 10 ms
/// (bench/pass_bench).
constexpr std::uint32_t kReservationsPerPlan = 2'000;

/// A job that is lost in the world so often is held.
constexpr std::uint32_t kMostLosses = 5;

/// What an end that was asked for becomes.
EndState state_of(Ending why) {
  switch (why) {
    case Ending::timeout:
      return EndState::timeout;
    case Ending::node_fail:
      return EndState::node_fail;
    case Ending::cancelled:
    case Ending::requeued:
      break;
  }
  return EndState::cancelled;
}

/// Why this could not be read again, which would be the end of the journal; empty if it can be.
std::string unreadable(const Event& event) {
  const std::string record = to_record(event);
  try {
    event_from_record(record);
    return {};
  } catch (const RecordError& error) {
    return fmt::format("'{}': {}: {}", record, error.field(), error.what());
  }
}

/// Why the core cannot hear this of a world; empty if it can.
std::string wrong_with(const Event& event) {
  constexpr EventKinds kOfWorlds =
      kind_of<event::Started>() | kind_of<event::StartFailed>() | kind_of<event::Resized>() |
      kind_of<event::Ended>() | kind_of<event::EvolvingRequested>() |
      kind_of<event::EvolvingWithdrawn>() | kind_of<event::NodesChanged>() |
      kind_of<event::CorridorChanged>() | kind_of<event::Believed>() | kind_of<event::Suspended>();
  if (((kOfWorlds >> event.index()) & 1) == 0) {
    return "'" + to_record(event) + "' is no world's to say";
  }
  return unreadable(event);
}

WorldSettings world_settings_of(const ServeSettings& settings, const Wants& wants) {
  const bool is_measured = settings.models != Models::declared || wants.mtct;
  return {.retry = settings.retry,
          .patience = settings.patience,
          .resize_deadline = settings.resize_deadline,
          .measure = is_measured ? settings.measure : Duration{},
          .power = settings.measure,
          .watts_from = settings.watts_from,
          .power_from = settings.power_from};
}

}  // namespace

Controller::Controller(const ServeSettings& settings, const Registry& registry,
                       const std::function<ServeSettings()>& reload, World& world,
                       const MachineClocks& clocks)
    : settings_(settings),
      registry_(registry),
      reload_(reload),
      world_(world),
      journal_(settings.state + "/journal.db",
               settings.restored ? Journal::Use::restore : Journal::Use::write),
      core_(make_core()),
      ruling_(ruling(policy_, core_.traits())),
      accounts_(core_.state().rules.fairness),
      clock_(journal_.clock(), core_.state().now, clocks),
      jobs_([this](std::uint64_t number) { return journal_.has_failed(number); }) {
  world_.configure(world_settings_of(settings_, policy_->wants));
  for (const std::string& name : journal_.accounts()) accounts_.number(name);
  node_reasons_ = journal_.node_reasons();
  health_ = recall_health();
}

/// Who decides where a policy in a process of its own does not, and how much is left to that.
PolicyProcess::Terms Controller::terms(const ServeSettings& settings,
                                       const Capabilities& capabilities) const {
  if (!registry_.find_outside(settings.policy)) {
    check_elsewhere(registry_, settings.fallback);
    return {};
  }
  const Place place{.field = "fallback " + settings.fallback};
  const std::string remedy = "name one that needs nothing besides, like easy";
  std::shared_ptr<const Policy> fallback;
  if (!registry_.find_outside(settings.fallback)) {
    fallback = make_elsewhere(registry_, settings.fallback, {});
  }
  if (!fallback || fallback->portfolio()) {
    throw InputError(place, "it is no single policy of this program", remedy);
  }
  const std::string lacks = lacking(capabilities, fallback->traits.needs);
  if (!lacks.empty()) throw InputError(place, "this world lacks " + lacks, remedy);
  return {.fallback = std::move(fallback),
          .patience = settings.policy_timeout,
          .memory = settings.policy_memory};
}

// ---- The core and its journal -------------------------------------------------------------------

JobFacts Controller::facts(JobId id) const {
  const LiveJob& job = jobs_.at(id);
  JobFacts facts{.number = job.row.number,
                 .owner = job.row.owner,
                 .what = &job.what(),
                 .names = job.names(),
                 .restarts = job.row.restarts};
  if (const auto why = from_word<Ending>(kEndingWords, job.row.ending)) {
    facts.end = state_of(*why);
    facts.requeue = *why == Ending::requeued;
  }
  facts.goes_on = core_.job(id).goes_on;
  return facts;
}

/// With its script, program and environment.
Submission Controller::submission_of(JobId id) const {
  return submission_from_json(Json::parse(journal_.submission(jobs_.at(id).row.number)));
}

namespace {

/// InputError if it cannot be kept.
void check_placement(Placement how, const Platform& platform) {
  if (!platform.switches.empty() || !needs_switches(how)) return;
  throw InputError({.field = "--placement"},
                   fmt::format("there are no switches to be {} on",
                               kPlacementWords.at(static_cast<std::size_t>(how))),
                   "write [[switch]] in --platform FILE");
}

}  // namespace

/// A new one, or the one that the journal has.
Core Controller::make_core() {
  Rules rules;
  rules.identities = true;
  rules.record = true;
  rules.counted_refusals = 7;  // up to 64 times `retry`
  rules.reservations_per_plan = kReservationsPerPlan;
  rules.fairness = settings_.fairness.value_or(Fairness{});
  rules.placement = settings_.placement.value_or(Placement::first);
  const bool is_lost = world_.reach() == World::Reach::lost;
  if (is_lost && journal_.is_new()) {
    throw InputError("the cluster is out of reach, and nothing is known of it",
                     "start the controller when it is back");
  }
  if (is_lost && settings_.restored) {
    throw InputError(
        "the cluster is out of reach, and nobody can say whether this is a journal of it",
        "start the controller when it is back");
  }
  std::optional<World::Description> there;
  if (!is_lost) there = world_.describe();
  check_power_from(settings_.power_from);
  if (there && settings_.power_cap) check_power_cap(*settings_.power_cap, there->platform);
  if (there && settings_.corridor) check_corridor(*settings_.corridor, there->platform);
  if (there) check_placement(rules.placement, there->platform);
  if (journal_.is_new()) {
    // Before anything is written, so that a policy that cannot be leaves no trace.
    policy_ = make_elsewhere(registry_, settings_.policy, terms(settings_, there->capabilities));
    Core core(there->platform, there->capabilities, rules, policy_->traits);
    journal_.go_on_restored();
    journal_.write_head(core, there->kind);
    return core;
  }
  Recovered recovered = recover_core(journal_, settings_.state);
  policy_ = make_elsewhere(registry_, settings_.policy,
                           terms(settings_, recovered.core.state().capabilities),
                           recovered.core.traits());
  if (there) {
    refuse_other_kind(*there);
    // One that is as before may wait until the world can again do what it needs.
    if (recovered.core.traits() != ruling(policy_, recovered.core.traits())->traits) {
      (void)Core(there->platform, there->capabilities, rules, policy_->traits);
    }
  }
  if (settings_.fairness && *settings_.fairness != recovered.core.state().rules.fairness) {
    throw InputError(
        fmt::format("the folder '{}' has other rules of fairness, and keeps them", settings_.state),
        "leave out --fairness, or give another folder with --state");
  }
  if (settings_.placement && *settings_.placement != recovered.core.state().rules.placement) {
    throw InputError(
        fmt::format("the folder '{}' has another placement, and keeps it", settings_.state),
        "leave out --placement, or give another folder with --state");
  }
  journal_.go_on_restored();
  journal_.go_on(recovered.useless);
  counts_ = std::move(recovered.counts);
  return std::move(recovered.core);
}

/// The journal is of such a world; else InputError.
void Controller::refuse_other_kind(const World::Description& there) const {
  if (journal_.kind() == there.kind) return;
  throw InputError(fmt::format("the folder '{}' is of another kind of cluster, '{}', and not '{}'",
                               settings_.state, journal_.kind(), there.kind),
                   "give another folder with --state");
}

/// The world may be another one than the core knows. Nodes that it no longer has are down, for a
/// number is that of one node for good.
void Controller::look_at_machine() {
  const World::Description there = world_.describe();
  refuse_other_kind(there);
  const Platform before = core_.state().platform;
  const Platform platform = continued(before, there.platform);
  NodeSet gone;
  if (there.platform.nodes < platform.nodes) gone.insert(there.platform.nodes, platform.nodes - 1);
  const bool is_same = platform == before && there.capabilities == core_.state().capabilities;
  if (is_same && gone == health_.gone()) return;
  const event::MachineChanged changed{platform, there.capabilities};
  if (const std::string wrong = unreadable(changed); !wrong.empty()) {
    spdlog::error("the cluster stays what it was, for this it cannot be: {}", wrong);
    return;
  }
  spdlog::info("the cluster is of {} nodes with {} cores, and was of {} with {}",
               there.platform.nodes, platform.cores_per_node, machine().nodes,
               before.cores_per_node);
  const std::string lacked = core_.lacks();
  if (!is_same) tell(changed);
  NodeSet others = health_.set_gone(gone);
  for (std::uint32_t node = before.nodes; node < platform.nodes; ++node) {
    if (health_.of(node) != Health::up) others.insert(node, node);
  }
  if (!others.empty()) tell_health(others);
  for (const JobId id : core_.state().running) end_if_gone(id);
  judge_all_fits();
  say_what_it_lacks(lacked);
}

/// To operators, if that is another thing than before.
void Controller::say_what_it_lacks(const std::string& before) const {
  const std::string lacks = core_.lacks();
  if (lacks == before) return;
  if (lacks.empty()) {
    spdlog::info("the cluster can do again what the policy needs");
  } else {
    spdlog::warn(
        "the cluster lacks what the policy {} needs, {}; nothing is decided until it can do that "
        "again, or another policy is configured",
        core_.traits().settings, lacks);
  }
}

Platform Controller::machine() const {
  Platform platform = core_.state().platform;
  platform.nodes -= health_.gone().count();
  for (NodeClass& each : platform.classes) each.nodes.erase(health_.gone());
  return platform;
}

/// With those that are gone.
NodeSet Controller::all_nodes() const {
  NodeSet all;
  all.insert(0, core_.state().platform.nodes - 1);
  return all;
}

/// What the world has to know of it.
Past Controller::past() const {
  std::map<JobId, Decision> open;
  for (const Decision& each : core_.unanswered()) open.emplace(each.job, each);
  std::map<JobId, Request> requests;
  for (const Request& each : core_.state().requests) requests.emplace(each.job, each);
  const auto find = [](const auto& all, JobId id) {
    const auto at = all.find(id);
    return at != all.end() ? std::optional(at->second) : std::nullopt;
  };
  Past past{.journal = journal_.id(),
            .former = journal_.former_ids(),
            .seen = core_.state().now,
            .next = JobId{core_.state().jobs.size()},
            .highest = journal_.highest_number(),
            .requests = counts_.requests,
            .down = health_.down(),
            .draining = health_.draining(),
            .strangers = health_.strangers()};
  if (adding_) {
    past.adding = {adding_->first + adding_->next, adding_->end()};
    const std::uint64_t missing = past.adding.end - past.adding.first;
    past.next = JobId{static_cast<std::uint32_t>(index(past.next) + missing)};
    past.highest = std::max(past.highest, adding_->end() - 1);
  }
  past.knows = [this](std::uint64_t number) {
    return journal_.knows(number) || (adding_ && adding_->has(number));
  };
  for (const auto& [id, job] : jobs_.all()) {
    const Job& its = core_.job(id);
    Known known{.id = id,
                .facts = facts(id),
                .is_changed = untold_.contains(job.batch->number),
                .runs = its.status == Status::running};
    if (known.runs) {
      known.held = core_.state().settled(its);
      known.open = find(open, id);
      known.start = journal_.start_of(known.facts.number);
      known.request = find(requests, id);
    }
    past.jobs.push_back(std::move(known));
  }
  return past;
}

/// Takes up the jobs that were not over, and compares with what there is in the world.
void Controller::recover() {
  // Ends of before another start of the machine are written with it, or neither is.
  if (clock_.text() != journal_.clock()) {
    open();
    journal_.write_clock(clock_.text());
  }
  booked_ahead_ = journal_.booked_ahead().value_or(clock_.ahead());
  follow_wall();
  must_ask_ = journal_.must_ask();
  untold_ = journal_.untold();
  if (!core_.state().handed_out && !core_.state().decisions.empty()) {
    open();
    journal_.end_rejected(core_.state().decisions, instant());
  }
  std::map<std::uint64_t, std::shared_ptr<Batch>> batches;
  core_.state().jobs.for_each([&](JobId id) {
    JobRow row = journal_.living(id, core_.job(id).spec.name);
    const std::uint64_t first = row.array != 0 ? row.array : row.number;
    auto& batch = batches[first];
    if (!batch) {
      const auto what = Json::parse(journal_.submission(first));
      batch = jobs_.add_batch(first, submission_from_json(what));
    }
    const Nodes held = row.sizes.empty() ? 0 : row.sizes.back().second;
    LiveJob& job = jobs_.add(std::move(row), batch, core_.job(id));
    job.held = held;
    job.asked_until = asked_until(job.what(), job.row.sizes);
  });
  had_jobs_ = !jobs_.empty();
  recall();
  recall_power();

  add_what_is_missing();
  say_what_it_lacks("");
  meet();
  change_what_is_left();
  // Of a controller that ended while the world was out of reach.
  if (core_.state().must_wake || core_.state().woken != 0 || must_ask_) open();
  hear();
  judge_all_fits();
  while (judges_fits()) judge_fits();
  judge();
  if (core_.traits() != ruling_->traits) {
    const std::string& was = core_.traits().settings;
    if (was == ruling_->traits.settings) {
      spdlog::info("the policy is {} as before, but this version of it differs in its traits", was);
    } else {
      spdlog::info("the policy is now {}, and was {}", settings_.policy, was);
    }
    tell_policy(*ruling_);
  }
  take_power_cap();
  take_corridor();
  corridor_due_ = next_corridor();
  watch_power();
  tell_power();
  if (const std::string it = power_cap_warning(); !it.empty()) spdlog::warn(it);
  settle();
  if (!jobs_.empty()) spdlog::info("{} jobs were taken up", jobs_.all().size());
}

/// It may have ended between the tasks of an array.
void Controller::add_what_is_missing() {
  const std::uint32_t count = core_.state().jobs.size();
  const auto last = count > 0 ? journal_.job_of_id(JobId{count - 1}) : std::nullopt;
  if (!last || last->array == 0) return;
  Submission what = submission_from_json(Json::parse(journal_.submission(last->array)));
  const std::uint64_t there = last->number - last->array + 1;
  if (there >= what.array.count()) return;
  open();
  begin_adding(last->owner, std::move(what), last->submitted, last->array, there);
  long_.add(last->owner.user, {.part = [this] {
              return add_tasks() ? std::optional<std::string>("") : std::nullopt;
            }});
}

/// From now on all belongs to one instant, until `settle`.
void Controller::open() {
  if (instant_) return;
  journal_.begin();
  instant_ = clock_.now();
  if (process()) process()->instant_begins(core_);
}

/// The core hears of it, and the journal; nobody else before the instant is closed.
bool Controller::tell(const Event& event) {
  open();
  const bool taken = core_.apply(instant(), event);
  if (process()) process()->heard(instant(), event);
  const bool is_resize = std::holds_alternative<event::Resized>(event);
  has_resize_ = has_resize_ || is_resize;
  crash_point(is_resize ? Moment::resize : Moment::any);
  std::vector<Circumstance> then;
  if (taken) {
    then = circumstances_.after(event, core_);
    counts_.heard(event);
  }
  journal_.event(instant(), event, taken, jobs_.numbers(), then);
  return taken;
}

/// Throws InputError if the world cannot do what it needs.
void Controller::tell_policy(const Policy& policy) {
  if (tell(event::ConfigChanged{policy.traits})) return;
  throw InputError("this world cannot do what the policy " + policy.traits.settings + " needs",
                   "use another policy");
}

bool Controller::may_look_ahead() const {
  return policy_->portfolio() && !is_looking_ahead_ && !choice_ && !is_lost_ && !instant_ &&
         core_.lacks().empty();
}

/// A portfolio chooses who rules: a copy of this process looks ahead, and the core hears of it in a
/// later turn. If it has no answer in time who rules goes on.
void Controller::look_ahead() {
  if (!may_look_ahead()) return;
  const Portfolio& portfolio = *policy_->portfolio();
  const Time now = clock_.now();
  const auto occasion = look_aheads_.due(portfolio, core_, now);
  if (!occasion) return;
  look_aheads_.begin(core_, now);
  is_looking_ahead_ = queries_.add(
      geteuid(),
      [this, occasion = *occasion, now] {
        const Event chosen = choose(core_, *policy_->portfolio(), now, occasion);
        BackgroundQueries::answer(to_record(chosen));
      },
      [this, policy = policy_](const std::optional<std::string>& text) {
        is_looking_ahead_ = false;
        if (policy_ != policy) return;  // there is another one meanwhile
        try {
          if (text) choice_ = std::get<event::ConfigChanged>(event_from_record(*text));
        } catch (const RecordError& error) {
          spdlog::error("looking ahead: {}: {}", error.field(), error.what());
        }
        if (choice_) return;
        spdlog::warn("looking ahead for the portfolio took too long, or failed; {} goes on",
                     core_.traits().settings);
      });
  if (!is_looking_ahead_) {
    spdlog::warn("too much is asked of this user's children to look ahead; {} goes on",
                 core_.traits().settings);
  }
}

void Controller::take_choice() {
  if (!choice_) return;
  const event::ConfigChanged chosen = *std::exchange(choice_, std::nullopt);
  const std::string was = ruling_->traits.settings;
  if (!tell(chosen)) return;  // the world has changed meanwhile
  ruling_ = ruling(policy_, core_.traits());
  const std::string& now = ruling_->traits.settings;
  if (now != was)
    spdlog::info("{} rules now, and {} did; {} jobs were looked at", now, was, chosen.choice->jobs);
}

/// Closes the instant, and those that follow from it at once. While the world is out of reach what
/// happened is durable all the same; it is closed with what comes after that.
void Controller::settle() {
  while (instant_) {
    if (!is_lost_) close();
    const Moment moment = std::exchange(has_resize_, false) ? Moment::resize : Moment::any;
    crash_point(moment);
    journal_.commit();
    crash_point(moment);
    if (changing_ && changing_->is_begun) crash_point(Moment::change);
    instant_.reset();

    for (const auto& [id, answer] : std::exchange(outbox_, {})) {
      Client* const client = find(id);
      if (client == nullptr) continue;
      send(*client, answer);
      crash_point();
    }
    if (!is_lost_) tell_changes();
    for (auto& order : std::exchange(closed_, {})) {
      const bool is_start = order.kind == Decision::Kind::start;
      (is_start ? starts_ : orders_).emplace_back(std::move(order));
    }
    for (const auto& ending : std::exchange(endings_, {})) orders_.emplace_back(ending);
    if (!is_lost_) {
      for (const std::uint64_t number : std::exchange(over_, {})) {
        world_.forget(number, jobs_.numbers().id_of(number) != JobId::none);
      }
    }
    judge_more();
  }
}

/// What is decided of it.
void Controller::close() {
  const auto begin = std::chrono::steady_clock::now();
  // Was an instant closed without the policy?
  const bool must_ask = core_.lacks().empty() && std::exchange(must_ask_, false);
  if (must_ask) journal_.write_must_ask(false);
  const auto pass = [&](Pass& its) { process() ? process()->decide(its) : (*ruling_)(its); };
  const auto decisions =
      core_.close(instant(), pass, must_ask ? std::optional(true) : std::nullopt);
  if (process() && !core_.was_asked()) process()->closed(instant());
  metrics_.passed(std::chrono::steady_clock::now() - begin, core_.was_cut_short());
  journal_.close(instant(), core_, decisions, jobs_.numbers(),
                 circumstances_.at_close(decisions, core_));
  closed_.assign(decisions.begin(), decisions.end());
  for (const Decision& order : closed_) {
    has_resize_ = has_resize_ || order.kind == Decision::Kind::resize ||
                  order.kind == Decision::Kind::suspend;
    if (order.kind == Decision::Kind::cancel && jobs_.contains(order.job)) {
      end(order.job, Ending::cancelled);
    } else if (order.kind == Decision::Kind::requeue && jobs_.contains(order.job)) {
      end(order.job, Ending::requeued);
    }
    // Of an instant that another controller began it is written, and the job is not here.
    if (order.kind == Decision::Kind::reject && jobs_.contains(order.job)) {
      on_over(order.job, EndState::cancelled, {.note = std::string(kCanNeverRun)});
    }
  }
  note_sizes();
  watch_power();
}

/// By the clock on the wall.
std::optional<Time> Controller::lost_since() const {
  return is_lost_ ? std::optional(clock_.wall(lost_at_)) : std::nullopt;
}

std::optional<double> Controller::lost_since_s() const {
  const auto since = lost_since();
  return since ? std::optional(to_seconds(*since)) : std::nullopt;
}

std::optional<std::string> Controller::lacks() const {
  std::string what = core_.lacks();
  return what.empty() ? std::nullopt : std::optional(std::move(what));
}

/// The world is in reach for the first time, has gone out of reach, or come back. Then it is told
/// how things stand: what was decided before is among that.
void Controller::meet() {
  const World::Reach reach = world_.reach();
  if (reach == World::Reach::lost) {
    if (is_lost_) return;
    spdlog::warn("the cluster is out of reach; nothing is decided until it is back");
    is_lost_ = true;
    lost_at_ = clock_.now();
    return;
  }
  if (is_met_ && !is_lost_ && reach == World::Reach::here) return;
  if (is_lost_) spdlog::info("the cluster is back");
  look_at_machine();
  const bool is_begin = !is_met_ && !is_lost_;
  is_met_ = true;
  is_lost_ = false;
  orders_.clear();
  starts_.clear();
  heard_.clear();
  world_.take_up(clock_, past());
  if (!std::exchange(untold_, {}).empty()) {
    open();
    journal_.write_untold({});
  }
  if (is_begin) return;
  submit_again();
  open();  // what has happened meanwhile is not closed yet
}

/// What users have changed, and is durable. It is told once more only if the controller dies now:
/// later it would be in the way of what has changed in the world since.
void Controller::tell_changes() {
  if (untold_.empty()) return;
  for (const std::uint64_t number : std::exchange(untold_, {})) {
    if (const Batch* const batch = jobs_.batch(number)) world_.change(number, batch->what);
  }
  journal_.begin();
  journal_.write_untold({});
  journal_.commit();
}

/// Tells the world what to do, as long as there is time: a thousand processes are not started in a
/// moment. Nobody's ends and resizes wait for that. The end of a job may overtake its start, which
/// then is none: the world sees that the job is being ended. A job that its user has just changed
/// starts when the world has heard of that.
void Controller::carry_out() {
  const auto is_untold = [&](const Order& order) {
    const auto* const decision = std::get_if<Decision>(&order);
    return decision != nullptr && jobs_.contains(decision->job) &&
           untold_.contains(jobs_.at(decision->job).batch->number);
  };
  std::deque<Order> kept;
  for (const TimeSlice slice(TimeSlice::kTurn); has_orders() && !slice.is_over();) {
    std::deque<Order>& queue = orders_.empty() ? starts_ : orders_;
    const Order order = std::move(queue.front());
    queue.pop_front();
    if (&queue == &starts_ && is_untold(order)) {
      kept.push_back(order);
      continue;
    }
    Moment moment = Moment::any;
    if (const auto* ending = std::get_if<std::pair<JobId, Ending>>(&order)) {
      world_.end(ending->first, state_of(ending->second), ending->second == Ending::requeued);
    } else if (const auto& decision = std::get<Decision>(order); jobs_.contains(decision.job)) {
      spdlog::info("job {}: {} {} ({})", number_of(decision.job), word(decision.kind),
                   decision.after.count > 0 ? "nodes " + to_string(decision.after.nodes) : "",
                   word(decision.reason.why));
      JobFacts job = facts(decision.job);
      Submission whole;
      if (decision.kind == Decision::Kind::start && !job.end) {
        whole = submission_of(decision.job);
        job.what = &whole;
      }
      const bool suspends = decision.kind == Decision::Kind::suspend;
      if (decision.kind == Decision::Kind::resize || suspends) moment = Moment::resize;
      if (decision.kind == Decision::Kind::deny) {
        world_.deny(decision.request);
      } else if (decision.kind == Decision::Kind::set_limit) {
        if (runs(decision.job)) world_.set_limit(decision.job, end_of(decision.job));
      } else if (decision.kind == Decision::Kind::start ||
                 decision.kind == Decision::Kind::resize || suspends) {
        world_.carry_out(decision, job);
      }
    }
    crash_point(moment);
  }
  starts_.insert(starts_.begin(), kept.begin(), kept.end());
}

/// What each job holds, for those who are to pay for it.
void Controller::note_sizes() {
  for (const JobId id : core_.state().running) note_size(id, instant());
}

void Controller::note_size(JobId id, Time since) {
  LiveJob& job = jobs_.at(id);
  const Job& its = core_.job(id);
  const Nodes held = its.status == Status::running ? its.holding.count : 0;
  if (held == job.held) return;
  job.held = held;
  journal_.held(job.row.number, since, held);
  job.row.sizes.emplace_back(since, held);
  job.asked_until = asked_until(job.what(), job.row.sizes);
}

/// What happened to a job that is being ended, before the world could hear of that: it does not
/// wait again because it was to be requeued, or could not be started.
Told Controller::as_asked(Told told) const {
  const auto* const ended = std::get_if<event::Ended>(&told.event);
  const auto* const failed = std::get_if<event::StartFailed>(&told.event);
  JobId id = JobId::none;
  if (ended != nullptr && ended->requeue) id = ended->job;
  if (failed != nullptr && core_.state().find(failed->answers) != nullptr) id = failed->job;
  if (!jobs_.contains(id)) return told;
  const auto why = from_word<Ending>(kEndingWords, jobs_.at(id).row.ending);
  if (why && (failed != nullptr || *why != Ending::requeued)) {
    told.event = event::Ended{id, state_of(*why), *why == Ending::requeued};
  }
  return told;
}

void Controller::collect() {
  if (is_lost_) return;
  for (WorldEvent& happened : world_.take()) heard_.push_back(std::move(happened));
}

/// While the tasks of an array are added nothing else arrives, and of a job that has not arrived
/// nothing is heard. One change at a time.
bool Controller::must_wait(const WorldEvent& happened) const {
  if (const auto* arrived = std::get_if<Arrived>(&happened)) {
    return adding_ || (changing_ && arrived->was != JobId::none);
  }
  const auto* told = std::get_if<Told>(&happened);
  if (!adding_ || told == nullptr) return false;
  const JobId job = job_of(told->event);
  return job != JobId::none && index(job) >= core_.state().jobs.size();
}

/// All that has happened in the world.
void Controller::hear() {
  collect();
  for (WorldEvent& happened : std::exchange(heard_, {})) {
    if (must_wait(happened)) {
      heard_.push_back(std::move(happened));
    } else {
      std::visit([this](auto& each) { on_happened(each); }, happened);
    }
  }
}

void Controller::on_happened(const Measured& measured) {
  const bool is_size = measured.nodes > 0 && measured.nodes <= core_.state().platform.nodes;
  if (!is_size || !jobs_.contains(measured.job)) return;
  const std::uint32_t row = core_.job(measured.job).adaptive;
  const bool is_wanted = row != Job::kNoRow && core_.state().adaptive[row].mtct == 0;
  if (measured.seen != Observed{}) {
    measurements_.add(measured.job, measured.nodes, measured.seen, is_wanted);
  }
  if (measured.watts) note_draw(measured.job, measured.nodes, *measured.watts);
}

void Controller::on_happened(const Told& as_it_is) {
  if (const std::string wrong = wrong_with(as_it_is.event); !wrong.empty()) {
    spdlog::error("what the cluster says is not heard: {}", wrong);
    const auto* const asked = std::get_if<event::EvolvingRequested>(&as_it_is.event);
    if (asked != nullptr) world_.deny(asked->id);
    return;
  }
  const Told told = as_asked(as_it_is);
  // All that is said of it below belongs to one instant.
  if (std::holds_alternative<event::Ended>(told.event)) open();
  if (const auto* changed = std::get_if<event::NodesChanged>(&told.event)) {
    open();
    const NodeSet nodes = intersection(changed->nodes, all_nodes());
    health_.set_by_world(nodes, changed->health);
    return tell_health(nodes);
  }
  if (const auto* resized = std::get_if<event::Resized>(&told.event)) count_resize(*resized);
  if (const auto* ended = std::get_if<event::Ended>(&told.event);
      ended && !ended->requeue && jobs_.contains(ended->job)) {
    learn_from_end(ended->job, told);
  }
  const HowItEnded how = how_it_ended(told);
  watch_nodes(told);
  const bool taken = tell(told.event);
  if (!taken) spdlog::debug("a late event changed nothing");
  if (const auto* asked = std::get_if<event::EvolvingRequested>(&told.event); asked && !taken) {
    return world_.deny(asked->id);
  }
  if (!taken) return;
  if (const auto* changed = std::get_if<event::CorridorChanged>(&told.event)) {
    cap_w_ = changed->high_w;
    low_w_ = changed->low_w;
    write_power();
    if (corridor_) tell_power();
    return;
  }
  if (const auto* started = std::get_if<event::Started>(&told.event)) {
    jobs_.started(started->job, instant());
    journal_.changed(jobs_.at(started->job).row);
    end_if_gone(started->job);
    predictions_.watch(core_.state(), started->job);
  } else if (const auto* resized = std::get_if<event::Resized>(&told.event)) {
    predictions_.watch(core_.state(), resized->job);
    end_if_gone(resized->job);
  } else if (const auto* suspended = std::get_if<event::Suspended>(&told.event)) {
    on_suspended(suspended->job);
  } else if (const auto* failed = std::get_if<event::StartFailed>(&told.event)) {
    note_size(failed->job, instant());
    unjudged_.insert(jobs_.at(failed->job).batch->number);
    keep_held(failed->job);
  } else if (const auto* ended = std::get_if<event::Ended>(&told.event)) {
    if (ended->requeue) {
      on_requeued(ended->job, how.note, how.ended);
    } else {
      on_over(ended->job, ended->state, how);
    }
  }
}

/// As it was seen by who was there; the core hears of it now.
Time Controller::when_ended(const Told& told, JobId id) const {
  const JobRow& row = jobs_.at(id).row;
  // The controller may have heard of the start only after the end.
  Time least = row.started.value_or(row.sizes.empty() ? instant() : row.sizes.front().first);
  if (!row.sizes.empty()) least = std::max(least, row.sizes.back().first);
  return std::clamp(told.ended.value_or(instant()), std::min(least, instant()), instant());
}

/// A node on which jobs die at once, one after the other, is drained: who is idle first gets the
/// next one. The last node that is up stays, whatever happens there.
void Controller::watch_nodes(const Told& told) {
  constexpr Duration kAtOnce = whole_seconds(5);
  const auto* const ended = std::get_if<event::Ended>(&told.event);
  if (ended == nullptr || !jobs_.contains(ended->job)) return;
  const Job& its = core_.job(ended->job);
  const LiveJob& job = jobs_.at(ended->job);
  const NodeSet held = its.holding.nodes;
  if (its.status != Status::running || !job.row.ending.empty()) return;
  const std::uint32_t user = its.spec.user;
  if (!NodeWatch::is_death(told.reason, told.was_killed) || clock_.now() - its.started > kAtOnce) {
    if (its.doing != Doing::starting) nodes_.ran(held, user);
    return;
  }
  if (held.count() != 1 || !nodes_.died(held.parts.front().first, user)) return;
  const std::uint32_t node = held.parts.front().first;
  const State& state = core_.state();
  const std::string reason = fmt::format("{} jobs in a row died at once, the last one was {}",
                                         NodeWatch::kMost, job.row.number);
  if (state.platform.nodes - state.not_up.count() <= 1) {
    spdlog::warn("node {}: {}; it is the last one, and stays", node, reason);
    return;
  }
  if (state.not_up.contains(node)) return;
  spdlog::warn("node {}: {}; it is drained until `ductile drain --undo {}`", node, reason, node);
  metrics_.drained();
  change_nodes(held, Health::draining, reason);
}

void Controller::on_happened(const Stranger& as_it_is) {
  open();
  Stranger stranger = as_it_is;
  stranger.nodes = intersection(stranger.nodes, all_nodes());
  const bool was_there = std::ranges::find(health_.strangers(), stranger.name, &Stranger::name) !=
                         health_.strangers().end();
  const NodeSet concerned = health_.set(stranger);
  if (stranger.is_there) {
    spdlog::warn("{} runs here, of which this journal does not know; {}", stranger.what,
                 stranger.nodes.empty() ? "it has none of these nodes"
                                        : "no job is given its nodes, " +
                                              to_string(stranger.nodes) + ", until it is over");
  } else if (was_there) {
    spdlog::info("{} is over; nodes {} are free of it", stranger.what, to_string(concerned));
  }
  tell_health(concerned);
  if (stranger.is_there) hold_stranger(stranger.number);
}

/// A job that waits here and runs as a stranger would run a second time. Operators know better.
void Controller::hold_stranger(std::uint64_t number) {
  const JobId id = number == 0 ? JobId::none : jobs_.numbers().id_of(number);
  if (id == JobId::none || !jobs_.contains(id) || runs(id)) return;
  LiveJob& job = jobs_.at(id);
  if (job.row.held == Hold::admin) return;
  spdlog::warn("job {} waits here and runs as a stranger: it is held", number);
  open();
  jobs_.hold(id, Hold::admin);
  if (core_.job(id).status == Status::pending) tell(event::Eligible{id, false});
  journal_.changed(job.row);
}

/// What was said before, and by whom.
NodeHealth Controller::recall_health() const {
  const std::string text = journal_.node_health();
  return text.empty() ? NodeHealth(core_.state().health) : NodeHealth::from_text(text);
}

/// The core and the journal get to know what holds of these nodes now.
void Controller::tell_health(const NodeSet& nodes) {
  std::map<Health, NodeSet> parts;
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last && node < core_.state().platform.nodes;
         ++node) {
      parts[health_.of(node)].insert(node, node);
    }
  }
  for (const auto& [health, its] : parts) tell(event::NodesChanged{its, health});
  open();
  journal_.write_node_health(health_.text());
}

/// Of those that operators let have jobs.
std::string Controller::why_not_up(const NodeSet& nodes) const {
  NodeSet down, draining, gone;
  std::string why;
  const auto add = [&](const std::string& more) { why += (why.empty() ? "" : "; ") + more; };
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      if (health_.gone().contains(node)) gone.insert(node, node);
      if (const Stranger* const stranger = health_.stranger_on(node)) {
        add(fmt::format("on node {} is {}, of which this journal does not know", node,
                        stranger->what));
      }
      const Health health = health_.by_world(node);
      if (health == Health::down || health == Health::off) down.insert(node, node);
      if (health == Health::draining) draining.insert(node, node);
    }
  }
  if (!gone.empty()) add("the cluster no longer has nodes " + to_string(gone));
  if (!down.empty()) add("the cluster says that nodes " + to_string(down) + " are down");
  if (!draining.empty()) add("the cluster drains nodes " + to_string(draining));
  return why;
}

/// Operators want it, or where jobs die at once this controller.
void Controller::change_nodes(const NodeSet& nodes, Health health, const std::string& reason) {
  if (health == Health::up) nodes_.forget(nodes);
  health_.set_by_operators(nodes, health);
  tell_health(nodes);
  for (const Interval& part : nodes.parts) {
    for (std::uint32_t node = part.first; node <= part.last; ++node) {
      const std::string& now = health == Health::up ? std::string() : reason;
      const auto had = node_reasons_.find(node);
      if (had == node_reasons_.end() ? now.empty() : had->second == now) continue;
      open();
      journal_.node_reason(node, now);
      if (now.empty()) {
        node_reasons_.erase(node);
      } else {
        node_reasons_[node] = now;
      }
    }
  }
}

/// A job that has nodes which are gone. What is being started, or is to grow, may not have come so
/// far.
void Controller::end_if_gone(JobId id) {
  const Job& job = core_.job(id);
  const bool is_there =
      job.doing != Doing::starting && core_.state().settled(job).nodes.intersects(health_.gone());
  if (is_there) end_for_its_nodes(id);
}

/// It waits again, if it wants that.
void Controller::end_for_its_nodes(JobId id) {
  end(id, jobs_.at(id).what().is_requeued ? Ending::requeued : Ending::node_fail);
}

/// It is held where the core holds it: by an operator's or its user's order.
void Controller::keep_held(JobId id) {
  if (core_.job(id).status != Status::held) return;
  LiveJob& job = jobs_.at(id);
  jobs_.hold(id, job.row.held == Hold::none ? Hold::user : job.row.held);
  journal_.changed(job.row);
}

/// The job waits, and goes on when it is started again.
void Controller::on_suspended(JobId id) {
  LiveJob& job = jobs_.at(id);
  forget_draw(id);
  note_size(id, instant());
  unjudged_.insert(job.batch->number);
  keep_held(id);
  predictions_.watch(core_.state(), id);
  journal_.changed(job.row);
  spdlog::info("job {}: suspended{}", job.row.number,
               core_.job(id).status == Status::held ? " until it is resumed" : "");
}

/// The job waits again.
void Controller::on_requeued(JobId id, const std::string& note, std::optional<Time> ended) {
  LiveJob& job = jobs_.at(id);
  forget_draw(id);
  note_size(id, ended.value_or(instant()));
  jobs_.requeued(id);
  job.row.note = note;
  over_.push_back(job.row.number);
  unjudged_.insert(job.batch->number);
  keep_held(id);
  predictions_.watch(core_.state(), id);
  // Something else than its node is wrong.
  if (job.row.ending.empty() && ++job.row.losses >= kMostLosses) {
    jobs_.hold(id, Hold::user);
    tell(event::Eligible{id, false});
  }
  job.row.ending.clear();
  // What was to end this life must not meet the next one, which may begin in the same turn.
  std::erase_if(endings_, [&](const auto& ending) { return ending.first == id; });
  std::erase_if(orders_, [&](const Order& order) {
    const auto* ending = std::get_if<std::pair<JobId, Ending>>(&order);
    return ending != nullptr && ending->first == id;
  });
  journal_.changed(job.row);
  spdlog::info("job {}: waits again{}", job.row.number, note.empty() ? "" : ": " + note);
  if (health_.has_stranger(job.row.number)) hold_stranger(job.row.number);
}

void Controller::count_resize(const event::Resized& resized) {
  const Unanswered* const open = core_.state().find(resized.answers);
  if (open && !open->decision.stops())
    metrics_.resized(open->before, open->decision.after, resized.now);
}

std::string Controller::metrics() const {
  std::vector<JobId> jobs;
  for (const auto& [id, job] : jobs_.all()) jobs.push_back(id);
  NodeSet of_strangers;
  for (const Stranger& each : health_.strangers()) of_strangers.insert(each.nodes);
  Metrics::OfWorld world{.strangers = health_.strangers().size(),
                         .nodes_of_strangers = of_strangers.count(),
                         .lost_since = lost_since(),
                         .lacks = !core_.lacks().empty(),
                         .measured_jobs = draws_.size(),
                         .corridor = corridor_watch_.at(clock_.now())};
  if (process()) {
    world.fallbacks = process()->account().fallbacks;
    world.policy_failures = process()->account().failures;
  }
  for (const auto& [id, its] : draws_) world.measured_w += its.watts;
  if (const CorridorLine* const line = corridor_now()) {
    world.corridor_low_w = line->low_w;
    world.corridor_high_w = line->high_w;
  }
  return metrics_.text(core_, jobs, clients_.size(), world);
}

/// Before the core hears of it: then it is forgotten which nodes the job had.
Controller::HowItEnded Controller::how_it_ended(const Told& told) const {
  const auto* const ended = std::get_if<event::Ended>(&told.event);
  HowItEnded how{told.exit_code, told.reason, told.note, told.lost};
  if (ended == nullptr || !jobs_.contains(ended->job)) return how;
  how.ended = when_ended(told, ended->job);
  if (ended->state == EndState::timeout) {
    how.reason = "TimeLimit";
    how.note = fmt::format("its limit of {} was over",
                           limit_text(end_of(ended->job) - core_.job(ended->job).started));
  } else if (ended->state == EndState::node_fail) {
    how.reason = "NodeDown";
    NodeSet down;
    for (const Interval& part : core_.job(ended->job).holding.nodes.parts) {
      for (std::uint32_t node = part.first; node <= part.last; ++node) {
        if (core_.state().health[node] == Health::down) down.insert(node, node);
      }
    }
    how.note = down.empty() ? "a node of it was down" : "down: nodes " + to_string(down);
  }
  if (how.lost.bytes > 0) how.note += (how.note.empty() ? "" : "; ") + how.lost.text();
  return how;
}

/// What is told to those who wait for a job, or for all tasks of an array, once it is over.
std::string Controller::outcome(std::uint64_t number) const {
  const JobRow end = *journal_.end_of(number);
  return line_of({{"ok", true},
                  {"job", number},
                  {"state", end_word(end.state)},
                  {"exit_code", end.exit_code ? Json(*end.exit_code) : Json()},
                  {"reason", end.reason},
                  {"note", end.note},
                  {"lost_output", end.lost_output}});
}

/// The job will not come back.
void Controller::on_over(JobId id, EndState state, const HowItEnded& how) {
  learn_from_measurements(id);
  LiveJob& job = jobs_.at(id);
  const std::uint64_t number = job.row.number;
  job.row.ended = how.ended.value_or(instant());
  if (job.held > 0) journal_.held(number, *job.row.ended, 0);
  job.row.state = kEndWords[static_cast<std::size_t>(state)];
  job.row.exit_code = how.exit_code;
  job.row.note = how.note;
  job.row.reason = how.reason;
  job.row.lost_output = how.lost.bytes;
  journal_.ended(job.row);
  metrics_.ended(state);
  spdlog::info("job {}: {}{}{}", number, end_word(job.row.state),
               how.exit_code ? fmt::format(", exit code {}", *how.exit_code) : "",
               how.note.empty() ? "" : ": " + how.note);
  predictions_.forget(id);
  over_.push_back(number);
  const std::shared_ptr<Batch> batch = jobs_.over(id);
  if (batch->left > 0) return;
  tell_waiting(batch->number);
}

/// All that wait for this job, or array, hear how it ended.
void Controller::tell_waiting(std::uint64_t number) {
  const auto first = waiting_.lower_bound({number, 0});
  const auto last = waiting_.lower_bound({number + 1, 0});
  if (first == last) return;
  const std::string how = outcome(number);
  for (auto at = first; at != last; ++at) {
    outbox_.emplace_back(at->second, how);
    if (Client* const client = find(at->second)) client->waits.erase(number);
  }
  waiting_.erase(first, last);
}

/// A running job, which the world ends when that is durable.
void Controller::end(JobId id, Ending why) {
  LiveJob& job = jobs_.at(id);
  // One that is to wait again can still be cancelled, which is the stronger wish.
  const auto before = from_word<Ending>(kEndingWords, job.row.ending);
  if (before && !(*before == Ending::requeued && why == Ending::cancelled)) return;
  open();
  job.row.ending = kEndingWords[static_cast<std::size_t>(why)];
  journal_.changed(job.row);
  endings_.emplace_back(id, why);
}

// ---- What the policy does not see to ------------------------------------------------------------

/// Shows the policy what nothing keeps back any more, as long as there is time in this turn.
void Controller::judge() {
  judging_ = TimeSlice(TimeSlice::kTurn);
  judge_more();
}

/// What is left of that time.
void Controller::judge_more() {
  if (judging_.is_over()) return;
  jobs_.judge(clock_.wall(clock_.now()), user_limits(), [&](JobId id) {
    tell(event::Eligible{id, true});
    return !judging_.is_over();
  });
}

/// When a running job may be ended: at the limit that the core believes in, but not before the time
/// that its user asked for. A job that was grown is believed to be faster, and need not be; and
/// what was learned takes nothing from it.
Time Controller::end_of(JobId id) const {
  const Job& job = core_.job(id);
  const LiveJob& live = jobs_.at(id);
  const Duration asked = live.what().walltime;
  const bool is_predicted = job.spec.walltime < asked;
  const Time believed = is_predicted ? core_.state().end_with(job, asked) : job.limit;
  if (!job.goes_on) return std::max({believed, later(job.started, asked), live.asked_until});
  // It has had some of that time before it was suspended.
  if (job.adaptive == Job::kNoRow) return believed;
  const std::vector<TimeHad>& had = core_.state().adaptive[job.adaptive].had;
  return std::max(believed,
                  later(job.work_at, at_speed(asked_left(live.what(), had, job.holding.count),
                                              core_.state().speed(job))));
}

/// When a running job is ended. Not in the pause of a resize, which makes a limit later that
/// follows the size; how long it was is known at its end.
Time Controller::due(JobId id) const {
  const Job& job = core_.job(id);
  const bool may_pause = job.doing == Doing::resizing && core_.state().scales_limit(job);
  return may_pause || !jobs_.at(id).row.ending.empty() ? kNever : end_of(id);
}

/// Reservations are meant as the clock on the wall goes. What has begun stays so.
void Controller::follow_wall() {
  const Duration by = booked_ahead_ - clock_.ahead();
  if (by <= ScheduleClock::kSmall && by >= -ScheduleClock::kSmall) return;
  booked_ahead_ = clock_.ahead();
  std::vector<Booking> moved = core_.state().bookings;
  if (moved.empty()) return;
  open();
  journal_.write_booked_ahead(booked_ahead_);
  // No one is put where the next one on its nodes still is.
  std::ranges::sort(moved, {}, &Booking::from);
  if (by > Duration{}) std::ranges::reverse(moved);
  for (Booking& each : moved) {
    const Time from = std::max(each.from + by, Time{});
    each.from = each.has_begun ? std::min(from, instant()) : from;
    if (each.to != kNever) each.to = std::max(each.to + by, Time{});
    tell(event::Booked{each});
  }
  spdlog::info("the clock on the wall was set; reservations go with it");
}

/// Jobs that have outlived what was predicted of them.
void Controller::raise_predictions() {
  const Time now = clock_.now();
  for (JobId id = predictions_.due(now); id != JobId::none; id = predictions_.due(now)) {
    const auto believed = predictions_.outlived(core_.state(), id, now);
    if (believed) tell(*believed);
    predictions_.watch(core_.state(), id);
  }
}

/// Jobs whose time is over are ended; the world says when that is done.
void Controller::keep_limits() {
  const Time now = clock_.now();
  for (const JobId id : core_.state().running) {
    if (due(id) > now) continue;
    spdlog::info("job {}: its time is over", number_of(id));
    end(id, Ending::timeout);
  }
}

Duration Controller::until_next() const {
  if (has_requests_ || has_orders() || has_long_requests() || choice_) return {};
  Time next = std::min(
      {is_lost_ ? kNever : core_.next_wake(), world_.next(), clock_.from_wall(jobs_.next())});
  // A clock on the wall may be set at any moment, and nobody is told.
  if (jobs_.next() != kNever || !core_.state().bookings.empty())
    next = std::min(next, clock_.now() + kLookAtWall);
  if (accept_at_ > clock_.now()) next = std::min(next, accept_at_);
  if (may_look_ahead()) next = std::min(next, look_aheads_.next(*policy_->portfolio(), core_));
  for (const JobId id : core_.state().running) next = std::min(next, due(id));
  next = std::min(next, predictions_.next());
  if (measurements_.has_news() || !other_draws_.empty()) next = std::min(next, learn_at_);
  next = std::min(next, corridor_due_);
  // A world that has not been taken up has no clock to tell by.
  if (!is_met_) next = std::min(next, clock_.now() + kLookAtWorld);
  // Idle clients are looked for.
  const Duration longest =
      clients_.empty() ? whole_seconds(30) : std::min(whole_seconds(30), settings_.idle / 2);
  const Time now = clock_.now();
  const auto at = [&](const std::optional<std::chrono::steady_clock::time_point>& time) {
    if (!time) return;
    const auto in = std::chrono::duration_cast<Duration>(*time - std::chrono::steady_clock::now());
    next = std::min(next, now + std::max(in, Duration{}));
  };
  at(queries_.next());
  if (process()) at(process()->next());
  if (next_) at(process_of(*next_->in_making)->next());
  if (http_) at(http_->next());
  return next <= now ? Duration{} : std::min(longest, next - now);
}

// ---- What is learned ----------------------------------------------------------------------------

/// What was known of users, applications and living jobs.
void Controller::recall() {
  journal_.each_user([&](std::uint32_t user, Duration took) { predictions_.took(user, took); });
  journal_.each_application([&](const Applications::Key& key, Nodes nodes, const Observed& seen) {
    applications_.add(key, nodes, seen);
  });
  journal_.each_measured([&](std::uint64_t number, Nodes nodes, const Observed& seen) {
    const JobId id = jobs_.numbers().id_of(number);
    if (id != JobId::none) measurements_.restore(id, nodes, seen);
  });
  for (const auto& [id, job] : jobs_.all()) {
    const auto raised = counts_.raised.find(id);
    predictions_.submitted(id, job.what().walltime, core_.job(id).spec.walltime,
                           raised == counts_.raised.end() ? 0 : raised->second);
    predictions_.watch(core_.state(), id);
  }
}

/// What was measured of running jobs is written, and from now on believed.
void Controller::learn() {
  const bool has_news = measurements_.has_news() || !other_draws_.empty();
  if (!has_news || clock_.now() < learn_at_) return;
  learn_at_ = clock_.now() + settings_.measure;
  for (const auto& [id, sizes] : measurements_.take()) {
    if (!jobs_.contains(id)) continue;
    open();
    const ObservedAt seen = measurements_.of(id);
    for (const Nodes nodes : sizes) journal_.measured(number_of(id), nodes, seen.at(nodes));
    believe(id);
  }
  for (const JobId id : std::exchange(other_draws_, {})) believe_draw(id);
}

/// Tells what follows from what was measured of a running job, where it is another thing than what
/// was believed: what it does itself at several sizes, or together with those before it.
void Controller::believe(JobId id) {
  const Job& job = core_.job(id);
  const bool learns = settings_.models != Models::declared;
  if ((!learns && !policy_->wants.mtct) || job.status != Status::running ||
      job.adaptive == Job::kNoRow) {
    return;
  }
  const Submission& what = jobs_.at(id).what();
  const std::uint32_t per_node = what.processes_per_node(core_.state().platform);
  ObservedAt seen = measurements_.of(id);
  const auto here = seen.find(job.holding.count);
  const double mtct = here == seen.end() ? 0 : here->second.mtct().value_or(0);
  std::optional<Speedup> model;
  if (learns) model = model_of(seen, per_node, false);
  if (learns && !model) {
    const Applications::Key key{job.spec.user, jobs_.at(id).batch->application};
    for (const auto& [nodes, its] : applications_.seen(key)) seen[nodes] += its;
    model = model_of(seen, per_node, settings_.models == Models::guessed);
  }

  const Adaptive& row = core_.state().adaptive[job.adaptive];
  const auto is_other_at = [&](Nodes nodes) {
    const double now = model->relative_time(nodes, job.spec.preferred);
    const double before = row.spec.speedup.relative_time(nodes, job.spec.preferred);
    return std::abs(now - before) > 0.02 * before;
  };
  const bool is_other = model && (is_other_at(job.spec.size.min) ||
                                  is_other_at(job.spec.size.max) || is_other_at(job.holding.count));
  if (!is_other) model.reset();
  const bool has_other_mtct =
      mtct > 0 && (row.mtct == 0 || std::abs(mtct - row.mtct) > 0.01 + 0.1 * row.mtct);
  if (!model && !has_other_mtct) return;
  tell(event::Believed{id, 0, has_other_mtct ? mtct : 0, 0, model});
  predictions_.watch(core_.state(), id);
}

/// A job is ending, for good: what it took counts, as the world has reported it. It may have
/// ended long ago, while there was no controller. One that was lost there teaches nothing.
void Controller::learn_from_end(JobId id, const Told& told) {
  const Job& job = core_.job(id);
  if (!told.ran || job.status != Status::running || job.doing == Doing::starting) return;
  const std::uint32_t user = job.spec.user;
  open();
  // Reports are their users' own: no job can have run until later than now.
  const Time end = std::min(later(job.started, std::max(*told.ran, Duration{})), instant());
  predictions_.ending(core_.state(), id, end);
  journal_.took(user, predictions_.last_of(user));
  const bool has_completed = std::get<event::Ended>(told.event).state == EndState::completed;
  const bool had_one_size = job.doing == Doing::nothing && job.expands == 0 && job.shrinks == 0;
  if (has_completed && had_one_size) {
    note_seen(id, job.holding.count, {.runs = 1, .run_time = end - job.started});
  }
}

/// What was measured of a job in all its lives is from now on its application's.
void Controller::learn_from_measurements(JobId id) {
  forget_draw(id);
  const ObservedAt seen = measurements_.end(id);
  if (seen.empty()) return;
  journal_.forget_measured(number_of(id));
  for (const auto& [nodes, its] : seen) note_seen(id, nodes, its);
}

void Controller::note_seen(JobId id, Nodes nodes, const Observed& seen) {
  const Applications::Key key{core_.job(id).spec.user, jobs_.at(id).batch->application};
  const auto forgotten = applications_.add(key, nodes, seen);
  if (forgotten) journal_.forget(*forgotten);
  journal_.seen(key, nodes, applications_.seen(key).at(nodes));
}

// ---- The loop -----------------------------------------------------------------------------------

void Controller::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTERM || signal == SIGINT) is_ended_ = true;
    if (signal == SIGHUP) is_to_reload_ = true;
  }
}

/// Takes up other settings, if they are right as a whole; else those there are stay. While a policy
/// of theirs is loaded by its process, all goes on as it was.
void Controller::reload() {
  try {
    if (std::exchange(is_to_reload_, false)) next_ = settings_read_again();
    if (next_ && is_made(*next_)) take_up(*std::exchange(next_, std::nullopt));
  } catch (const InputError& error) {
    next_.reset();
    spdlog::error("the settings stay as they are: {}", error.what());
  } catch (const std::system_error& error) {
    next_.reset();
    spdlog::error("the settings stay as they are: {}", error.what());
  }
}

Controller::NextSettings Controller::settings_read_again() const {
  ServeSettings next = reload_();
  // As it was called: after an upgrade the file of this process has another name, or none.
  next.program = settings_.program;
  const Platform& had = settings_.platform;
  if (next.platform != had || next.state != settings_.state || next.socket != settings_.socket ||
      next.fairness != settings_.fairness || next.placement != settings_.placement ||
      next.cgroups != settings_.cgroups || next.metrics != settings_.metrics ||
      next.listen != settings_.listen || next.munge_socket != settings_.munge_socket ||
      next.http != settings_.http || next.http_token != settings_.http_token ||
      next.http_write != settings_.http_write ||
      next.max_processes_per_node != settings_.max_processes_per_node) {
    throw InputError(
        "nodes, fairness, placement, state, socket, metrics, listen, munge_socket, http, "
        "http_token, "
        "http_write, cgroups and max_processes_per_node stay while it serves",
        "end it, and start it again");
  }
  check_power_from(next.power_from);
  if (next.power_cap) check_power_cap(*next.power_cap, next.platform);
  if (next.corridor) check_corridor(*next.corridor, next.platform);
  const PolicyProcess::Terms terms = this->terms(next, core_.state().capabilities);
  std::shared_ptr<const Policy> policy;
  std::shared_ptr<Policy> in_making;
  if (registry_.find_outside(next.policy)) {  // its file is read again
    in_making = begin_elsewhere(registry_, next.policy, terms);
    spdlog::info("the file of the policy {} is being loaded; until then {} goes on", next.policy,
                 settings_.policy);
  } else if (next.policy != settings_.policy) {
    policy = make_elsewhere(registry_, next.policy, terms);
  }
  return {std::move(next), std::move(policy), std::move(in_making)};
}

/// Is its policy there? One that cannot be loaded again stays as it was.
bool Controller::is_made(NextSettings& next) {
  if (!next.in_making) return true;
  try {
    if (!ductile::is_made(*next.in_making, {})) return false;
    next.policy = std::move(next.in_making);
  } catch (const InputError& error) {
    if (next.settings.policy != settings_.policy) throw;
    next.in_making.reset();
    spdlog::error("the policy stays as it was: {}", error.what());
    process()->configure(terms(next.settings, core_.state().capabilities));
  }
  return true;
}

void Controller::take_up(NextSettings next) {
  if (std::shared_ptr<const Policy> policy = std::move(next.policy)) {
    const std::string lacked = core_.lacks();
    if (process() && process_of(*policy)) process_of(*policy)->succeed(*process());
    auto rules = ruling(policy, core_.traits());  // a member of the next one goes on
    // From here on the next one hears of all.
    std::swap(policy_, policy);
    std::swap(ruling_, rules);
    try {
      if (core_.traits() != ruling_->traits) tell_policy(*ruling_);
    } catch (const InputError&) {
      std::swap(policy_, policy);
      std::swap(ruling_, rules);
      throw;
    }
    look_aheads_ = {};
    choice_.reset();
    say_what_it_lacks(lacked);
  }
  settings_ = std::move(next.settings);
  take_power_cap();
  take_corridor();
  tell_power();  // this policy may keep a corridor, and the one before did not
  if (const std::string it = power_cap_warning(); !it.empty()) spdlog::warn(it);
  jobs_.must_judge();
  judge_all_fits();
  world_.configure(world_settings_of(settings_, policy_->wants));
  spdlog::info("the settings were read again; the policy is {}", settings_.policy);
}

void Controller::run() {
  try {
    take_signals();
    begin();
    check_all();
    while (!is_ended_) turn();
    end();
  } catch (const std::runtime_error& error) {
    for (const auto& client : clients_) {
      if (client->has_part) client->lines.close();  // nothing else may follow that
      if (!client->is_owed && client->waits.empty()) continue;
      send(*client,
           line_of({{"ok", false},
                    {"code", 1},
                    {"error", fmt::format("the controller has ended: {}", error.what())}}));
    }
    throw;
  }
}

/// Who waits is not. Who does not read what there is for him has longer.
bool Controller::is_idle(const Client& client) const {
  constexpr int kSlow = 10;
  const auto silent = std::chrono::steady_clock::now() - client.heard;
  return !client.is_waiting() && silent > (client.lines.is_flushed() ? 1 : kSlow) * settings_.idle;
}

void Controller::take_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGHUP, SIGINT, SIGTERM}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = Descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  // Jobs need some as well.
  max_clients_ = std::min<std::size_t>(max_clients_, files.rlim_cur / 2);
}

void Controller::begin() {
  recover();
  listener_ = listen_unix(settings_.socket, geteuid() == 0);
  if (!settings_.metrics.empty()) {
    metrics_server_ = std::make_unique<MetricsServer>(settings_.metrics);
  }
  if (!settings_.listen.empty()) {
    tcp_door_ = std::make_unique<TcpDoor>(settings_.listen, settings_.munge_socket);
    spdlog::info("listening at {}", tcp_door_->address());
  }
  if (!settings_.http.empty()) http_ = std::make_unique<HttpChild>(settings_);
  const Platform platform = machine();
  spdlog::info("serving {} nodes of {} cores under {} at {}", platform.nodes,
               platform.cores_per_node, settings_.policy, settings_.socket);
  snapshots_.clean_up();
}

void Controller::judge_those_who_may_have_room() {
  const State& state = core_.state();
  const std::size_t over = state.next_booking - state.bookings.size();
  const std::size_t before = std::exchange(cells_, state.cells.size());
  if (std::exchange(reservations_over_, over) == over && cells_ >= before) return;
  for (const std::uint64_t number : jobs_.impossible()) {
    const Submission& what = jobs_.batch(number)->what;
    if (!what.reservation.empty() || !lists_of(what).empty()) unjudged_.insert(number);
  }
}

void Controller::turn(Duration most) {
  Poller poller;
  if (signals_) poller.add(signals_, POLLIN, [this] { on_signal(); });
  if (accept_at_ <= clock_.now()) poller.add(listener_, POLLIN, [this] { accept_clients(); });
  for (const auto& owned : clients_) {
    Client* const client = owned.get();
    poller.add(client->lines.descriptor(), client->lines.events(),
               [client] { client->lines.work(); });
  }
  world_.add_to(poller);
  if (metrics_server_) metrics_server_->add_to(poller, [this] { return metrics(); });
  if (tcp_door_) {
    tcp_door_->add_to(poller, [this](TcpDoor::Event event) { on_event(std::move(event)); });
  }
  queries_.add_to(poller);
  if (process()) process()->add_to(poller);
  if (next_) process_of(*next_->in_making)->add_to(poller);
  poller.wait(std::min(most, until_next()));
  clock_.look();
  reload();
  follow_wall();
  meet();
  serve_clients();
  go_on();

  carry_out();
  world_.look();
  hear();
  judge_fits();
  keep_limits();
  keep_corridor();
  learn();
  judge();
  raise_predictions();
  take_choice();
  if (!is_lost_ && core_.next_wake() <= clock_.now()) tell(event::TimerFired{});
  settle();
  judge_those_who_may_have_room();
  look_ahead();
  if (!is_lost_) snapshots_.look(core_, counts_, queries_);
  queries_.look();
  if (http_) http_->look();
  if (process()) process()->look();
  forget_clients();
  if (settings_.until_idle && had_jobs_ && jobs_.empty() && !adding_ && submitting_.empty()) {
    is_ended_ = std::ranges::all_of(clients_,
                                    [](const auto& client) { return client->lines.is_flushed(); });
  }
}

void Controller::end() {
  http_.reset();
  if (!is_lost_) snapshots_.make(core_, counts_);  // else an instant may be open
  unlink(settings_.socket.c_str());
  spdlog::info("ended; {}", jobs_.empty() ? "no job is left"
                                          : fmt::format("{} jobs are left", jobs_.all().size()));
}

}  // namespace ductile
