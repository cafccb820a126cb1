// The controller with a world that delays, refuses, loses answers, goes out of reach and comes back
// changed, with users who ask at any time, and a controller that dies at any moment. Whatever
// happens: what was acknowledged is there and comes to its end, nothing runs twice, no node is
// given twice, and the journal has the state.
//
// DUCTILE_CASES: how many histories, 10000 for the whole proof. DUCTILE_SEED: only that of this
// seed.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "job/line_socket.hpp"
#include "live/controller.hpp"
#include "live/crash.hpp"
#include "live/journal.hpp"
#include "live/look_up.hpp"
#include "live/snapshots.hpp"
#include "live/time_slice.hpp"
#include "policies/registry.hpp"
#include "report/explanation.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/invariants.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/snapshot.hpp"
#include "support/death.hpp"
#include "support/fake_world.hpp"
#include "support/seeds.hpp"

// Thousands of journals are written, and none has to survive a loss of power.
extern "C" int fdatasync(int) { return 0; }
extern "C" int fsync(int) { return 0; }

namespace ductile::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// How much of its work a controller does in one go: on a slow machine a turn is over soon.
struct Haste {
  Draws draws;
  double chance = 0;  // that a slice is over
};
Haste* haste = nullptr;

bool slice_ends() { return haste != nullptr && haste->draws.chance(haste->chance); }

/// `needy` often, since it seldom meets a world that cannot do what it needs.
constexpr std::string_view kPolicies[] = {
    "fcfs",     "easy",  "conservative", "mebf",  "elastic",       "equipartition",
    "equigrow", "esf",   "edf",          "fpsma", "dbes",          "tide",
    "needy",    "needy", "needy",        "needy", "easy:order=sjf"};

/// Starts jobs in order, and cannot do without resizes.
class Needy final : public Policy {
 public:
  explicit Needy(const Parameters&) : Policy({.needs = {.resizes_per_job = 1}}) {}
  void schedule(Pass& pass) const override { start_in_order(pass); }
};

struct Sums {
  FakeWorld::Figures world{};
  std::uint64_t jobs = 0, cancels = 0, deaths = 0, stops = 0, turns = 0, refused = 0, retried = 0,
                equal_keys = 0, drains = 0, shown_lost = 0, settled = 0, unable = 0,
                needy_refused = 0, unfit = 0, reserved = 0, unreserved = 0, not_reserved = 0,
                on_reserved = 0;
  Sums& operator+=(const Sums& other) {
    world += other.world;
    jobs += other.jobs;
    cancels += other.cancels;
    deaths += other.deaths;
    stops += other.stops;
    turns += other.turns;
    refused += other.refused;
    retried += other.retried;
    equal_keys += other.equal_keys;
    drains += other.drains;
    shown_lost += other.shown_lost;
    settled += other.settled;
    unable += other.unable;
    needy_refused += other.needy_refused;
    unfit += other.unfit;
    reserved += other.reserved;
    unreserved += other.unreserved;
    not_reserved += other.not_reserved;
    on_reserved += other.on_reserved;
    return *this;
  }
};

/// One history.
class History {
 public:
  explicit History(std::uint64_t seed)
      : draws_(seed, Stream::test, 0),
        haste_{Draws(seed, Stream::test, 1)},
        platform_{.nodes = static_cast<Nodes>(2 + draws_.below(7)), .cores_per_node = 2},
        world_(seed, platform_, clocks_),
        folder_(::testing::TempDir() + "live-world-" + std::to_string(seed)) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    if (haste_.draws.chance(0.5)) haste_.chance = haste_.draws.uniform(0, 0.9);
    haste = &haste_;
    settings_.platform = platform_;
    settings_.policy = some_policy();
    settings_.state = folder_;
    settings_.socket = folder_ + "/socket";
    settings_.retry = whole_seconds(2);
    settings_.predicts = draws_.chance(0.3);
    settings_.models = draws_.chance(0.3) ? Models::learned : Models::declared;
    settings_.max_priority = 10;
    if (draws_.chance(0.3)) settings_.max_running_jobs_per_user = 3;
    registry_.policies.push_back(
        {.name = "needy", .summary = "", .source = "", .make = make_policy<Needy>});
  }
  ~History() {
    moments_left = 0;
    controller_.reset();
    haste = nullptr;
    fs::remove_all(folder_);
  }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void live() {
    const std::uint64_t steps = 20 + draws_.below(120);
    for (std::uint64_t step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      if (!controller_) begin();
      if (controller_) do_something();
    }
    if (!::testing::Test::HasFailure()) come_to_an_end();
    if (!::testing::Test::HasFailure()) compare();
    sums_.world = world_.figures();
  }

  const Sums& sums() const { return sums_; }

 private:
  // ---- The controller
  std::string some_policy() { return std::string(kPolicies[draws_.below(std::size(kPolicies))]); }

  /// Calls this unless the controller dies; then there is none.
  void unless_it_dies(const std::function<void()>& call) {
    try {
      call();
    } catch (const Death&) {
      ++sums_.deaths;
      lose();
    }
    listen();
  }
  void lose() {
    controller_.reset();
    world_.leave_alone();
  }

  void begin() {
    checked_.reset();
    if (draws_.chance(0.1)) {
      clocks_.restart();
    }
    if (draws_.chance(0.2)) settings_.policy = some_policy();
    moments_left = !world_.is_kind() && draws_.chance(0.7) ? 1 + draws_.below(300) : 0;
    if (has_begun_ && !world_.is_kind() && draws_.chance(0.15)) {
      world_.begin_lost(seconds(draws_.exponential(5)));
    }
    unless_it_dies([&] {
      const std::function<ServeSettings()> reload = [this] { return settings_; };
      reload_ = reload;
      try {
        controller_ = std::make_unique<Controller>(settings_, registry_, reload_, world_, clocks_);
        controller_->begin();
        has_begun_ = true;
      } catch (const InputError&) {
        // A policy that the world cannot do with.
        if (settings_.policy != "needy") throw;
        ++sums_.needy_refused;
        settings_.policy = "fcfs";
        lose();
      }
    });
  }

  void turn() {
    if (!controller_) return;
    ++sums_.turns;
    unless_it_dies([&] {
      const bool was_unable = !controller_->core().lacks().empty();
      const std::uint64_t passes = controller_->core().state().passes;
      controller_->turn(Duration{});
      check_invariants(controller_->core().state());
      check_health();
      check_reservations();
      const bool is_unable = !controller_->core().lacks().empty();
      sums_.unable += is_unable;
      if (was_unable && is_unable) {
        EXPECT_EQ(passes, controller_->core().state().passes) << "a pass without what it needs";
      }
    });
  }

  /// What an operator has drained, or the world has told of, is used by nobody new.
  void check_health() const {
    NodeSet usable = drained_;
    usable.insert(world_.told_out_of_service());
    const State& state = controller_->core().state();
    usable.erase(state.not_up);
    NodeSet all;
    all.insert(0, state.platform.nodes - 1);
    usable = intersection(usable, all);  // some may have come and gone unseen
    EXPECT_TRUE(usable.empty()) << "nodes " << to_string(usable) << " can be used";
  }

  /// Each that was told as made is there until somebody wants it removed, or it may be over; and
  /// nobody else's job is started on its nodes while it lasts.
  void check_reservations() {
    const State& state = controller_->core().state();
    for (const auto& [name, its] : reservations_) {
      if (!its.is_made || its.is_to_go || its.ends) continue;
      const auto there = std::ranges::find(state.bookings, name, &Booking::name);
      ASSERT_NE(there, state.bookings.end()) << "the reservation " << name << " is lost";
      EXPECT_EQ(to_string(there->nodes), its.nodes) << name;
    }
    DecisionId last = checked_.value_or(DecisionId::none);
    for (const Decision& decision : controller_->core().unanswered()) {
      last = std::max(last, decision.id);
      // What was decided by another controller may be older than a reservation.
      if (decision.kind != Decision::Kind::start || !checked_ || decision.id <= *checked_) continue;
      const Job& job = controller_->core().job(decision.job);
      for (const Booking& booking : state.bookings) {
        if (!booking.has_begun || !booking.nodes.intersects(decision.after.nodes)) continue;
        EXPECT_EQ(state.lanes[index(job.spec.lane)].where.booking, booking.id)
            << "job " << job.spec.name << " starts on " << booking.name;
        ++sums_.on_reserved;
      }
    }
    checked_ = last;
  }

  /// Until it waits for something, and what came from users meanwhile has been done.
  void rest() {
    constexpr int kMost = 10'000;
    int waits = 0;
    for (int i = 0; controller_ && waits < 2; ++i) {
      ASSERT_LT(i, kMost) << "it never comes to rest";
      turn();
      waits = controller_ && controller_->until_next() > Duration{} ? waits + 1 : 0;
    }
  }

  /// The same in no hurry: all that was asked has been done.
  void rest_long() {
    const double chance = std::exchange(haste_.chance, 0);
    rest();
    haste_.chance = chance;
  }

  /// In order; another one takes it up.
  void stop() {
    ++sums_.stops;
    moments_left = 0;
    controller_->end();
    lose();
    listen();
    if (!draws_.chance(0.3)) return;
    // For another version: whatever it was stopped in.
    settle(folder_);
    ++sums_.settled;
  }

  /// Nobody controls anything for a while.
  void leave() {
    for (std::uint64_t i = draws_.below(4); i > 0; --i) {
      clocks_.advance(seconds(draws_.exponential(5)));
      world_.live();
      if (draws_.chance(0.5)) world_.act();
    }
  }

  // ---- Users
  struct Asking {
    LineSocket lines;
    std::function<void(const Json&)> on_answer;
    bool is_answered = false;
  };

  void ask(const Json& request, std::function<void(const Json&)> on_answer,
           uid_t user = geteuid()) {
    constexpr std::size_t kMost = std::size_t{1} << 22;
    asking_.push_back({LineSocket(connect_as(user), kMost, kMost), std::move(on_answer)});
    asking_.back().lines.send(request.dump());
    // Now and then it dies while it answers.
    if (!world_.is_kind() && draws_.chance(0.15)) moments_left = 1 + draws_.below(12);
    if (draws_.chance(0.7)) turn();
  }

  /// Whoever is connected to is told who that is.
  Descriptor connect_as(uid_t user) const {
    const uid_t own = geteuid();
    if (user != own && seteuid(user) != 0) throw std::runtime_error("no other user");
    setfsuid(own);  // the folder is not for others
    Descriptor connected = connect_unix(settings_.socket);
    if (user != own && seteuid(own) != 0) throw std::runtime_error("no way back");
    return connected;
  }

  /// Only who may be anybody can be several users.
  uid_t some_user() { return geteuid() == 0 ? static_cast<uid_t>(draws_.below(3)) : geteuid(); }

  /// What has been answered.
  void listen() {
    for (Asking& each : asking_) {
      each.lines.work();
      while (const auto line = each.lines.next()) {
        if (!std::exchange(each.is_answered, true)) each.on_answer(Json::parse(*line));
      }
    }
    std::erase_if(asking_,
                  [](const Asking& each) { return each.is_answered || each.lines.is_closed(); });
  }

  using Key = std::pair<uid_t, std::string>;
  struct Wish {
    Json job{};
    std::uint64_t number = 0;  // acknowledged
  };

  Json some_job() {
    Submission what;
    what.name = "job";
    what.program = {"/bin/true"};
    what.folder = "/";
    const Nodes all = world_.is.platform.nodes;
    what.nodes = static_cast<Nodes>(1 + draws_.below(all));
    if (draws_.chance(0.5)) what.nodes = std::min<Nodes>(what.nodes, 2);
    if (draws_.chance(0.1)) what.cores_per_process = 2;
    what.walltime = whole_seconds(static_cast<std::int64_t>(5 + draws_.below(60)));
    if (draws_.chance(0.75)) {
      constexpr JobType kTypes[] = {JobType::moldable, JobType::malleable, JobType::evolving,
                                    JobType::adaptive};
      what.type = kTypes[draws_.below(std::size(kTypes))];
      what.mpi = Mpi::mpich;
      what.min = static_cast<Nodes>(1 + draws_.below(what.nodes));
      what.max = what.nodes + static_cast<Nodes>(draws_.below(all - what.nodes + 1));
      if (draws_.chance(0.3)) what.max = 0;  // as large as the machine
    }
    if (const auto known = those_for_jobs(); !known.empty() && draws_.chance(0.5)) {
      what.reservation = known[draws_.below(known.size())];
      what.nodes = 1;
    }
    what.priority = static_cast<std::int32_t>(draws_.below(5));
    what.is_held = draws_.chance(0.1);
    what.is_requeued = draws_.chance(0.5);
    if (draws_.chance(0.15)) what.array = parse_array("1-3%2");
    if (draws_.chance(0.1) && !numbers_.empty()) {
      what.dependencies = parse_dependencies(fmt::format("afterany:{}", some_number()));
    }
    return to_json(what);
  }

  std::uint64_t some_number() { return numbers_[draws_.below(numbers_.size())]; }

  void submit() {
    // Users have equal keys now and then, and each his own job.
    Key key{some_user(), fmt::format("key {}", draws_.below(wishes_.size() + 1))};
    if (wishes_.contains(key)) key.second = fmt::format("key {}", wishes_.size());
    while (wishes_.contains(key)) key.second += "'";
    wishes_[key].job = some_job();
    for (const auto& [other, wish] : wishes_) {
      sums_.equal_keys += other.first != key.first && other.second == key.second;
    }
    submit(key);
  }

  /// Whoever has no answer may ask again.
  void submit(const Key& key) {
    const Json request = {{"do", "submit"}, {"job", wishes_[key].job}, {"key", key.second}};
    const auto on_answer = [this, key](const Json& said) {
      Wish& wish = wishes_[key];
      if (!said["ok"]) {
        ++sums_.refused;
        return;
      }
      const std::uint64_t number = said["job"];
      if (wish.number != 0) {
        EXPECT_EQ(wish.number, number) << "one key, two jobs";
      }
      wish.number = number;
      if (std::ranges::find(numbers_, number) == numbers_.end()) numbers_.push_back(number);
    };
    ask(request, on_answer, key.first);
  }

  void cancel() {
    const std::uint64_t number = some_number();
    ask({{"do", "cancel"}, {"jobs", {number}}}, [this, number](const Json& said) {
      if (!said["ok"]) return;
      ++sums_.cancels;
      // From now on none of its jobs begins.
      for (std::uint64_t each = number; each < number + 3; ++each) {
        if (each == number || is_task_of(each, number)) {
          const FakeWorld::Fate fate = world_.fate(each);
          cancelled_.try_emplace(each, fate.starts + fate.is_starting);
        }
      }
    });
  }

  bool is_task_of(std::uint64_t task, std::uint64_t array) const {
    const auto wish = std::ranges::find_if(
        wishes_, [&](const auto& entry) { return entry.second.number == array; });
    return wish != wishes_.end() && wish->second.job["array"] != "" && task < array + 3;
  }

  void change_something() {
    const std::uint64_t number = some_number();
    const auto nothing = [](const Json&) {};
    const double chance = draws_.uniform();
    if (chance < 0.1) {
      drain();
    } else if (chance < 0.25) {
      ask({{"do", "requeue"}, {"jobs", {number}}}, nothing);
    } else if (chance < 0.4) {
      ask({{"do", "hold"}, {"jobs", {number}}}, nothing);
    } else if (chance < 0.6) {
      ask({{"do", "release"}, {"jobs", {number}}}, nothing);
    } else if (chance < 0.8) {
      ask({{"do", "resize"}, {"job", number}, {"nodes", draws_.below(platform_.nodes + 1)}},
          nothing);
    } else {
      const auto limit = whole_seconds(static_cast<std::int64_t>(5 + draws_.below(60)));
      Json set{{"time_us", limit.count()}};
      if (draws_.chance(0.3)) set["name"] = fmt::format("changed at {}", sums_.turns);
      if (draws_.chance(0.3)) set["priority"] = draws_.below(5);
      if (draws_.chance(0.3)) set["nodes"] = 1 + draws_.below(platform_.nodes);
      ask({{"do", "update"}, {"job", number}, {"set", set}}, nothing);
    }
  }

  void drain() {
    const auto node = static_cast<std::uint32_t>(draws_.below(platform_.nodes));
    NodeSet nodes;
    nodes.insert(node, node);
    const bool is_undone = draws_.chance(0.5);
    // From now on nobody knows, until it is answered.
    if (is_undone) drained_.erase(nodes);
    ask({{"do", "drain"}, {"nodes", to_string(nodes)}, {"health", is_undone ? "up" : "draining"}},
        [this, nodes, is_undone](const Json& said) {
          EXPECT_TRUE(said["ok"]) << said;
          if (!is_undone) drained_.insert(nodes);
          ++sums_.drains;
        });
    rest_long();  // in the order in which they were asked
  }

  std::string some_reservation() {
    const auto which = static_cast<std::ptrdiff_t>(draws_.below(reservations_.size()));
    return std::next(reservations_.begin(), which)->first;
  }

  /// It may be over all the same.
  std::vector<std::string> those_for_jobs() const {
    std::vector<std::string> names;
    for (const auto& [name, its] : reservations_) {
      if (its.is_made && its.is_for_jobs && !its.is_to_go) names.push_back(name);
    }
    return names;
  }

  /// Operators keep nodes for nobody, or for those who name the reservation; from now on or later,
  /// for some time or until it is removed.
  void reserve() {
    const std::string name = fmt::format("r{}", reservations_.size());
    const bool is_for_jobs = draws_.chance(0.6);
    Json request = {{"do", "reserve"}, {"name", name}, {"anybody", is_for_jobs}};
    reservations_[name].is_for_jobs = is_for_jobs;
    const double now_s = to_seconds(clocks_.wall());
    const double from_s = now_s + (draws_.chance(0.5) ? 0 : draws_.uniform(0, 30));
    if (draws_.chance(0.8)) request["from_s"] = from_s;
    reservations_[name].ends = draws_.chance(0.5);
    if (reservations_[name].ends) request["to_s"] = from_s + draws_.uniform(0.1, 60);
    const auto first = static_cast<std::uint32_t>(draws_.below(platform_.nodes));
    const auto last = first + static_cast<std::uint32_t>(draws_.below(platform_.nodes - first));
    if (draws_.chance(0.6)) {
      request["nodes"] = to_string(NodeSet{{{first, last}}});
    } else {
      request["count"] = 1 + draws_.below(platform_.nodes);
    }
    ask(request, [this, name](const Json& said) {
      if (!said["ok"]) {
        ++sums_.not_reserved;
        return;
      }
      reservations_[name].is_made = true;
      reservations_[name].nodes = said["nodes"];
      ++sums_.reserved;
    });
  }

  void unreserve(const std::string& name) {
    reservations_[name].is_to_go = true;
    ask({{"do", "unreserve"}, {"name", name}},
        [this](const Json& said) { sums_.unreserved += said["ok"].get<bool>(); });
  }

  /// It says since when the world is out of reach, and only while it is.
  void look_at(const char* what) {
    ask({{"do", what}}, [this](const Json& said) {
      EXPECT_TRUE(said["ok"]);
      const Json& since = said["lost_since_s"];
      EXPECT_TRUE(since.is_null() || since.is_number()) << since;
      sums_.shown_lost += since.is_number();
      EXPECT_TRUE(said["lacks"].is_null() || said["lacks"].is_string());
      for (const Json& job : said.value("jobs", Json::array())) {
        const bool is_unfit = job.value("reason", "") == "BadConstraints";
        EXPECT_TRUE(!is_unfit || !job["note"].get<std::string>().empty()) << job;
        sums_.unfit += is_unfit;
      }
    });
  }

  // ---- What happens
  void do_something() {
    const double chance = draws_.uniform();
    if (chance < 0.16) {
      submit();
    } else if (chance < 0.19 && !wishes_.empty()) {
      const auto which = static_cast<std::ptrdiff_t>(draws_.below(wishes_.size()));
      const Key key = std::next(wishes_.begin(), which)->first;
      ++sums_.retried;
      submit(key);
    } else if (chance < 0.22 && !numbers_.empty()) {
      cancel();
    } else if (chance < 0.34 && !numbers_.empty()) {
      change_something();
    } else if (chance < 0.37) {
      look_at(draws_.chance(0.5) ? "queue" : "nodes");
    } else if (chance < 0.39) {
      stop();
      leave();
    } else if (chance < 0.41) {
      lose();
      ++sums_.deaths;
      leave();
    } else if (chance < 0.56) {
      world_.act();
      turn();
    } else if (chance < 0.57) {
      clocks_.set_ahead(seconds(draws_.uniform(-5000, 5000)));
    } else if (chance < 0.6) {
      if (draws_.chance(0.6) || reservations_.empty()) {
        reserve();
      } else {
        unreserve(some_reservation());
      }
    } else {
      rest();
      pass_time(seconds(draws_.exponential(5)));
    }
    if (!controller_) leave();
  }

  void pass_time(Duration most) {
    if (controller_) most = std::min(most, std::max(controller_->until_next(), kTick));
    clocks_.advance(most);
    world_.live();
    turn();
  }

  /// Nothing bad happens any more: all comes to its end.
  void come_to_an_end() {
    moments_left = 0;
    world_.be_kind();
    constexpr int kMost = 20'000;
    bool is_released = false;
    for (int i = 0;; ++i) {
      if (i == kMost - 10) {
        ask({{"do", "queue"}}, [this](const Json& said) { last_queue_ = said["jobs"].dump(); });
      }
      ASSERT_LT(i, kMost) << "jobs do not end" << what_is_left() << "; " << last_queue_;
      if (!controller_) begin();
      rest();
      if (::testing::Test::HasFailure()) return;
      if ((i % 100 == 0 || !is_released) && world_.reach() == World::Reach::here) {
        release_all();
        is_released = true;
      }
      if (is_released && is_idle() && asking_.empty()) break;
      pass_time(whole_seconds(60));
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(controller_->core().state().not_up.empty())
        << to_string(controller_->core().state().not_up);
    final_state_ = save(controller_->core().state());
    lose();
  }

  std::string what_is_left() const {
    const State& state = controller_->core().state();
    std::string text = fmt::format(
        "; {} of {} nodes are idle, and {} are not up; {} requests have no answer",
        state.idle.count(), state.platform.nodes, to_string(state.not_up), asking_.size());
    state.jobs.for_each([&](JobId id) {
      const Job& job = state.jobs[id];
      text +=
          fmt::format("; job {} of {} nodes has {}, status {}", job.spec.name, job.spec.preferred,
                      to_string(job.holding.nodes), static_cast<int>(job.status));
    });
    return text;
  }

  bool is_idle() const {
    bool any = false;
    controller_->core().state().jobs.for_each([&](JobId) { any = true; });
    return !any && world_.busy() == 0 && world_.reach() == World::Reach::here;
  }

  void release_all() {
    rest_long();
    if (!controller_) return;
    drained_ = {};
    NodeSet all;
    all.insert(0, controller_->core().state().platform.nodes - 1);
    ask({{"do", "drain"}, {"nodes", to_string(all)}, {"health", "up"}}, [](const Json&) {});
    for (const auto& [name, its] : reservations_) unreserve(name);
    if (!controller_) return;
    controller_->core().state().jobs.for_each([&](JobId id) {
      const std::uint64_t number = controller_->core().job(id).spec.name;
      ask({{"do", "release"}, {"jobs", {number}}}, [](const Json&) {});
      ask({{"do", "resize"}, {"job", number}, {"nodes", 0}}, [](const Json&) {});
    });
    // Who came past the controller may have named a reservation that was gone by then, and is held.
    const auto unfit = std::make_shared<std::set<std::uint64_t>>();
    ask({{"do", "queue"}}, [unfit](const Json& said) {
      for (const Json& job : said.value("jobs", Json::array())) {
        if (job["reason"] != "BadConstraints" || job["reservation"] == "") continue;
        unfit->insert(
            (job["array_job"].is_null() ? job["job"] : job["array_job"]).get<std::uint64_t>());
      }
    });
    rest();
    if (!controller_) return;
    for (const std::uint64_t number : *unfit) {
      ask({{"do", "update"}, {"job", number}, {"set", {{"reservation", ""}}}}, [](const Json&) {});
    }
    rest();
  }

  // ---- What must hold at the end
  void compare() {
    {
      const Journal journal(folder_ + "/journal.db", Journal::Use::read);
      std::uint32_t count = 0;
      while (const auto job = journal.job_of_id(JobId{count})) {
        compare(*job);
        const Explanation told = look_up(journal, job->number, simulated_time).explanation();
        EXPECT_TRUE(told.is_known && told.state == "over") << "job " << job->number;
        ++count;
      }
      sums_.jobs += count;
      EXPECT_EQ(count, world_.jobs());
      std::set<std::uint64_t> used;
      for (const auto& [key, wish] : wishes_) {
        const auto there = journal.job_of_key(key.first, key.second);
        if (wish.number != 0) {
          EXPECT_EQ(there, wish.number) << "an acknowledged submission is lost";
        }
        if (there) {
          EXPECT_TRUE(used.insert(*there).second) << "one job, two keys";
        }
      }
    }
    // The journal has the state.
    const Journal journal(folder_ + "/journal.db", Journal::Use::write);
    EXPECT_EQ(save(recover_core(journal, folder_).core.state()), final_state_);
  }

  void compare(const JobRow& row) {
    SCOPED_TRACE("job " + std::to_string(row.number));
    const FakeWorld::Fate fate = world_.fate(row.number);
    EXPECT_FALSE(row.state.empty()) << "it is not over";
    EXPECT_FALSE(fate.runs);
    if (fate.ended && !fate.is_dropped) {
      EXPECT_EQ(row.state, kEndWords[static_cast<std::size_t>(*fate.ended)]);
      if (*fate.ended == EndState::completed || *fate.ended == EndState::failed) {
        EXPECT_EQ(row.exit_code, fate.exit_code);
      }
    } else {
      // Somebody has ended it before it ran, or between two lives.
      EXPECT_TRUE(row.state == "cancelled" || row.state == "timeout") << row.state;
    }
    EXPECT_LE(fate.starts, row.restarts + 1) << "it has run twice";
    const auto cancelled = cancelled_.find(row.number);
    if (cancelled != cancelled_.end()) {
      EXPECT_LE(fate.starts, cancelled->second);
    }
    if (row.started && row.ended) {
      EXPECT_LE(*row.started, *row.ended);
    }
    for (std::size_t i = 1; i < row.sizes.size(); ++i) {
      EXPECT_LE(row.sizes[i - 1].first, row.sizes[i].first);
    }
    if (!row.sizes.empty()) {
      EXPECT_EQ(row.sizes.back().second, 0u);
    }
  }

  Draws draws_;
  Haste haste_;
  FakeClocks clocks_;
  Platform platform_;
  FakeWorld world_;
  std::string folder_;
  ServeSettings settings_{};
  std::function<ServeSettings()> reload_{};
  Registry registry_{};
  std::unique_ptr<Controller> controller_{};
  std::vector<Asking> asking_{};
  std::map<Key, Wish> wishes_{};
  std::vector<std::uint64_t> numbers_{};
  std::map<std::uint64_t, std::uint32_t> cancelled_{};  // how often they had begun by then
  struct Reservation {
    bool is_made = false;   // and acknowledged
    bool is_to_go = false;  // somebody wants it removed
    bool ends = false;      // some time
    bool is_for_jobs = false;
    std::string nodes{};
  };
  std::string last_queue_{};                           // of jobs that do not end
  std::map<std::string, Reservation> reservations_{};  // by name, all that were asked for
  std::optional<DecisionId> checked_{};  // up to here, of what this controller has decided
  NodeSet drained_{};                    // for certain
  bool has_begun_ = false;
  std::string final_state_{};
  Sums sums_{};
};

TEST(LiveWorld, KeepsThePromises) {
  spdlog::set_level(is_one_seed() ? spdlog::level::debug : spdlog::level::off);
  std::signal(SIGPIPE, SIG_IGN);
  set_crash(&count_moment);
  TimeSlice::set_ends(&slice_ends);
  Sums sums;
  std::uint64_t histories = 0;
  const std::uint64_t runs = for_seeds(300, [&](std::uint64_t seed) {
    History history(seed);
    history.live();
    sums += history.sums();
    ++histories;
  });
  set_crash(nullptr);
  TimeSlice::set_ends(nullptr);
  std::printf(
      "%llu histories: %llu jobs, %llu turns, %llu cancels, %llu deaths, %llu ends in order, %llu "
      "take-ups, %llu absences, %llu events lost; %llu starts, %llu failed, %llu resizes, %llu "
      "refused, %llu done in part, %llu ends, %llu requests, %llu things changed; %llu arrivals, "
      "%llu "
      "of them late, %llu from elsewhere, %llu of them senseless; %llu altered, %llu changed "
      "here, %llu of them heard of late, %llu dropped; %llu "
      "submissions refused, %llu asked again, %llu with another user's key; %llu reservations, "
      "%llu "
      "refused, %llu removed, %llu starts on one\n",
      static_cast<unsigned long long>(histories), static_cast<unsigned long long>(sums.jobs),
      static_cast<unsigned long long>(sums.turns), static_cast<unsigned long long>(sums.cancels),
      static_cast<unsigned long long>(sums.deaths), static_cast<unsigned long long>(sums.stops),
      static_cast<unsigned long long>(sums.world.take_ups),
      static_cast<unsigned long long>(sums.world.absences),
      static_cast<unsigned long long>(sums.world.lost_events),
      static_cast<unsigned long long>(sums.world.starts),
      static_cast<unsigned long long>(sums.world.failed_starts),
      static_cast<unsigned long long>(sums.world.resizes),
      static_cast<unsigned long long>(sums.world.refusals),
      static_cast<unsigned long long>(sums.world.partly),
      static_cast<unsigned long long>(sums.world.ends),
      static_cast<unsigned long long>(sums.world.requests),
      static_cast<unsigned long long>(sums.world.changed),
      static_cast<unsigned long long>(sums.world.arrivals),
      static_cast<unsigned long long>(sums.world.late_arrivals),
      static_cast<unsigned long long>(sums.world.elsewhere),
      static_cast<unsigned long long>(sums.world.senseless),
      static_cast<unsigned long long>(sums.world.altered),
      static_cast<unsigned long long>(sums.world.changes),
      static_cast<unsigned long long>(sums.world.late_changes),
      static_cast<unsigned long long>(sums.world.dropped),
      static_cast<unsigned long long>(sums.refused), static_cast<unsigned long long>(sums.retried),
      static_cast<unsigned long long>(sums.equal_keys),
      static_cast<unsigned long long>(sums.reserved),
      static_cast<unsigned long long>(sums.not_reserved),
      static_cast<unsigned long long>(sums.unreserved),
      static_cast<unsigned long long>(sums.on_reserved));
  if (runs == 0) return;
  int place = 0;
  for (const std::uint64_t each : {sums.jobs,
                                   sums.cancels,
                                   sums.deaths,
                                   sums.stops,
                                   sums.refused,
                                   sums.retried,
                                   sums.drains,
                                   sums.shown_lost,
                                   sums.settled,
                                   sums.world.strangers,
                                   sums.world.lost_starts,
                                   sums.world.take_ups,
                                   sums.world.absences,
                                   sums.world.lost_events,
                                   sums.world.starts,
                                   sums.world.failed_starts,
                                   sums.world.resizes,
                                   sums.world.refusals,
                                   sums.world.partly,
                                   sums.world.ends,
                                   sums.world.requests,
                                   sums.world.changed,
                                   sums.world.arrivals,
                                   sums.world.late_arrivals,
                                   sums.world.elsewhere,
                                   sums.world.senseless,
                                   sums.world.altered,
                                   sums.world.changes,
                                   sums.world.late_changes,
                                   sums.world.nonsense,
                                   sums.unable,
                                   sums.needy_refused,
                                   sums.unfit,
                                   sums.reserved,
                                   sums.unreserved,
                                   sums.not_reserved,
                                   sums.on_reserved,
                                   sums.world.grown,
                                   sums.world.shrunk,
                                   sums.world.other_machines,
                                   sums.world.large,
                                   sums.world.dropped}) {
    EXPECT_GT(each, 0u) << "of some trouble, number " << place << ", there was none";
    ++place;
  }
  if (geteuid() == 0) {
    EXPECT_GT(sums.equal_keys, 0u);
  }
}

/// A controller, a kind world of two nodes, and its users.
class Small {
 public:
  explicit Small(const std::string& name) : folder_(::testing::TempDir() + "live-world-" + name) {
    spdlog::set_level(spdlog::level::off);
    std::signal(SIGPIPE, SIG_IGN);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    world.be_kind();
    world.run_for(whole_seconds(900));
    settings_.platform = platform_;
    settings_.policy = "fcfs";
    settings_.state = folder_;
    settings_.socket = folder_ + "/socket";
    begin();
  }
  ~Small() {
    controller_.reset();
    fs::remove_all(folder_);
  }
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

  /// Another one takes it up.
  void begin_again() {
    controller_.reset();
    world.leave_alone();
    begin();
  }
  void pass(Duration time) {
    for (int i = 0; i < 10; ++i) {
      clocks.advance(time / 10);
      world.live();
      controller_->turn(Duration{});
    }
  }
  Json ask(const Json& request) {
    constexpr std::size_t kRoom = std::size_t{1} << 22;
    LineSocket lines(connect_unix(settings_.socket), kRoom, kRoom);
    lines.send(request.dump());
    for (int i = 0; i < 1000; ++i) {
      controller_->turn(Duration{});
      clocks.advance(std::chrono::milliseconds(10));
      lines.work();
      if (const auto line = lines.next()) return Json::parse(*line);
    }
    return {};
  }
  /// Its row in `queue`.
  Json shown(std::uint64_t number) {
    const Json answer = ask({{"do", "queue"}, {"jobs", {number}}});
    return answer["jobs"].empty() ? Json() : answer["jobs"][0];
  }
  std::string error(const Json& request) { return ask(request).value("error", std::string()); }
  static Submission job(Nodes nodes, std::int64_t limit_s) {
    Submission what;
    what.program = {"/bin/true"};
    what.folder = "/";
    what.nodes = nodes;
    what.walltime = whole_seconds(limit_s);
    return what;
  }
  std::uint64_t submit(const Submission& what) {
    return ask({{"do", "submit"}, {"job", to_json(what)}})["job"];
  }

  const Core& core() const { return controller_->core(); }

  static constexpr Owner kOwner{1, 1};
  FakeClocks clocks{};

 private:
  void begin() {
    controller_ = std::make_unique<Controller>(settings_, registry_, reload_, world, clocks);
    controller_->begin();
  }

  Platform platform_{.nodes = 2, .cores_per_node = 2};
  std::string folder_;
  ServeSettings settings_{};
  const std::function<ServeSettings()> reload_ = [this] { return settings_; };
  const Registry registry_{};

 public:
  FakeWorld world{1, platform_, clocks};

 private:
  std::unique_ptr<Controller> controller_{};
};

/// People, the journal and the world speak of jobs by the numbers of the world.
TEST(LiveWorld, NumbersAreThoseOfTheWorld) {
  Small small("numbers");
  small.world.skip(499);
  ASSERT_EQ(small.submit(Small::job(2, 1000)), 500u);
  small.pass(whole_seconds(10));
  small.world.skip(100'000);
  Submission array = Small::job(1, 1000);
  array.array = parse_array("3-4");
  ASSERT_EQ(small.submit(array), 100'501u);
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(small.shown(500)["state"], "RUNNING");
    EXPECT_EQ(small.shown(100'502)["array_task"], 4);
    EXPECT_NE(small.error({{"do", "cancel"}, {"jobs", {501}}}).find("there is no job 501"),
              std::string::npos);
    Submission after = Small::job(1, 10);
    after.dependencies = {{Dependency::Kind::afterany, 2}};
    EXPECT_NE(small.error({{"do", "submit"}, {"job", to_json(after)}}).find("there is no job 2"),
              std::string::npos);
    const Json history = small.ask({{"do", "history"}});
    ASSERT_EQ(history["jobs"].size(), 3u);
    EXPECT_EQ(history["jobs"][0]["job"], 100'502);
    EXPECT_EQ(history["jobs"][2]["job"], 500);
    small.begin_again();
  }
  EXPECT_EQ(small.ask({{"do", "history"}, {"job", 100'501}})["jobs"].size(), 2u);
  Submission after = Small::job(1, 10);
  after.dependencies = {{Dependency::Kind::afterany, 100'502}};
  const std::uint64_t last = small.submit(after);
  EXPECT_EQ(small.shown(last)["dependency"], "afterany:100502");
  EXPECT_TRUE(small.ask({{"do", "cancel"}, {"jobs", {"100501_4"}}})["ok"]);
  EXPECT_EQ(small.shown(last)["dependency"], "");
}

/// What cannot run is held and says why, also for the next controller, until it is gone or another
/// thing.
TEST(LiveWorld, WhatCannotRunHereIsHeldWithAWord) {
  Small small("senseless");
  const std::uint64_t large = small.world.bring(Small::kOwner, Small::job(9, 100));
  const std::uint64_t none = small.world.bring(Small::kOwner, Submission{});
  Submission after = Small::job(1, 100);
  after.dependencies = {{Dependency::Kind::afterok, 77'777}};
  const std::uint64_t late = small.world.bring(Small::kOwner, after);
  const std::pair<std::uint64_t, std::string> notes[] = {{large, "9 are more than the 2 there are"},
                                                         {none, "program: there is none"},
                                                         {late, "there is no job 77777"}};
  for (int life = 0; life < 2; ++life) {
    for (const auto& [number, note] : notes) {
      small.ask({{"do", "release"}, {"jobs", {number}}});
      const Json row = small.shown(number);
      EXPECT_EQ(row["state"], "PENDING");
      EXPECT_EQ(row["reason"], "BadConstraints");
      EXPECT_NE(row["note"].get<std::string>().find(note), std::string::npos) << row["note"];
    }
    small.begin_again();
  }
  const auto update = [&](std::uint64_t number, Nodes nodes) {
    return small.error({{"do", "update"}, {"job", number}, {"set", {{"nodes", nodes}}}});
  };
  EXPECT_NE(update(none, 1).find("cannot run here"), std::string::npos);
  EXPECT_NE(update(large, 5).find("5 are more than the 2 there are"), std::string::npos);
  small.world.alter(large, Small::job(2, 1000));
  small.world.drop(none);
  EXPECT_TRUE(small.ask({{"do", "cancel"}, {"jobs", {late}}})["ok"]);
  small.pass(whole_seconds(10));
  EXPECT_TRUE(small.world.fate(large).runs || small.world.fate(large).ended);
  for (const std::uint64_t number : {none, late}) {
    EXPECT_EQ(small.ask({{"do", "history"}, {"job", number}})["jobs"][0]["state"], "CANCELLED");
  }
}

/// As by `scontrol update`.
TEST(LiveWorld, AKnownJobThatIsChangedAsksAnew) {
  Small small("changed");
  const std::uint64_t runs = small.submit(Small::job(2, 1000));
  small.pass(whole_seconds(10));
  Submission what = Small::job(2, 100);
  what.name = "before";
  const std::uint64_t waits = small.submit(what);
  const Json before = small.shown(waits);
  ASSERT_EQ(small.shown(runs)["state"], "RUNNING");
  small.pass(whole_seconds(1));
  small.world.alter(runs, Small::job(1, 2000));
  Submission other = Small::job(1, 50);
  other.name = "after";
  other.priority = 7;
  small.world.alter(waits, other);
  small.pass(whole_seconds(1));
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(small.shown(runs)["nodes"], 2);
    EXPECT_EQ(small.shown(runs)["time_limit_s"], 2000.0);
    const Json after = small.shown(waits);
    EXPECT_EQ(after["nodes"], 1);
    EXPECT_EQ(after["time_limit_s"], 50.0);
    EXPECT_EQ(after["name"], "after");
    EXPECT_EQ(after["priority"], 7);
    EXPECT_EQ(after["submit_s"], before["submit_s"]);
    small.begin_again();
  }
  // Nobody is there, or it is out of reach; and what nobody can run.
  small.world.leave_alone();
  small.world.alter(waits, Small::job(50, 50));
  small.begin_again();
  EXPECT_EQ(small.shown(waits)["reason"], "BadConstraints");
}

/// All of it, and at its place.
TEST(LiveWorld, AKnownJobMayBecomeAnotherOneAltogether) {
  Small small("altogether");
  const std::uint64_t runs = small.submit(Small::job(2, 1000));
  Submission what = Small::job(2, 100);
  what.type = JobType::malleable;
  what.mpi = Mpi::mpich;
  what.account = "one";
  const std::uint64_t waits = small.submit(what);
  Submission array = Small::job(2, 100);
  array.array = parse_array("1-3");
  const std::uint64_t tasks = small.submit(array);
  small.pass(whole_seconds(10));
  ASSERT_EQ(small.shown(runs)["state"], "RUNNING");
  const auto known = [&](std::uint64_t number) -> const Job& {
    return small.core().job(JobId{static_cast<std::uint32_t>(number - 1)});
  };
  const auto believed = [&]() -> const AdaptiveSpec& {
    return small.core().state().adaptive.at(known(waits).adaptive).spec;
  };
  ASSERT_EQ(small.shown(waits)["account"], "one");

  what.account = "two";
  what.model = {Speedup::Kind::amdahl, 0.25};
  what.sizes = parse_constraint("even");
  what.is_held = array.is_held = true;
  small.world.alter(waits, what);
  small.world.alter(tasks, array);
  Submission held = Small::job(2, 1000);
  held.is_held = true;
  small.world.alter(runs, held);  // a running one is not held
  small.pass(whole_seconds(1));
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(small.shown(runs)["state"], "RUNNING");
    const Json row = small.shown(waits);
    EXPECT_EQ(row["account"], "two");
    EXPECT_EQ(row["reason"], "JobHeldUser");
    EXPECT_EQ(known(waits).spec.account, 2u);
    EXPECT_EQ(believed().speedup, what.model);
    EXPECT_EQ(believed().constraint, what.sizes);
    for (std::uint64_t task = tasks; task < tasks + 3; ++task) {
      EXPECT_EQ(small.shown(task)["reason"], "JobHeldUser");
    }
    small.begin_again();
  }
  EXPECT_EQ(small.ask({{"do", "history"}, {"job", waits}})["jobs"][0]["account"], "two");

  // Who holds it here has not said so there.
  array.is_held = false;
  small.world.alter(tasks, array);
  what.priority = 3;
  small.world.alter(waits, what);
  small.pass(whole_seconds(1));
  EXPECT_NE(small.shown(tasks)["reason"], "JobHeldUser");
  EXPECT_EQ(small.shown(waits)["reason"], "JobHeldUser");
  EXPECT_EQ(small.shown(waits)["priority"], 3);
  EXPECT_TRUE(small.ask({{"do", "release"}, {"jobs", {waits}}})["ok"]);
  what.priority = 4;
  small.world.alter(waits, what);
  small.pass(whole_seconds(1));
  EXPECT_NE(small.shown(waits)["reason"], "JobHeldUser");
}

/// What users change here the world knows, also if it was out of reach, or the controller died.
TEST(LiveWorld, TheWorldHearsOfChanges) {
  Small small("told");
  const std::uint64_t runs = small.submit(Small::job(2, 1000));
  const std::uint64_t waits = small.submit(Small::job(2, 1000));
  Submission three = Small::job(1, 1000);
  three.array = parse_array("1-3");
  const std::uint64_t array = small.submit(three);
  small.pass(whole_seconds(10));
  const auto update = [&](std::uint64_t number, const Json& set) {
    EXPECT_TRUE(small.ask({{"do", "update"}, {"job", number}, {"set", set}})["ok"]);
  };
  update(runs, {{"time_us", 950'000'000}});
  update(waits, {{"name", "new"}, {"nodes", 1}, {"priority", -1}, {"time_us", 60'000'000}});
  update(array, {{"time_us", 70'000'000}});
  EXPECT_EQ(small.world.what(runs).walltime, whole_seconds(950));
  EXPECT_EQ(small.world.what(waits).walltime, whole_seconds(60));
  EXPECT_EQ(small.world.what(waits).nodes, 1u);
  EXPECT_EQ(small.world.what(waits).name, "new");
  EXPECT_EQ(small.world.what(waits).priority, -1);
  EXPECT_EQ(small.world.what(array).walltime, whole_seconds(70));
  EXPECT_EQ(small.world.figures().changes, 3u);

  small.world.go_away(whole_seconds(20));
  small.pass(whole_seconds(1));
  update(waits, {{"time_us", 80'000'000}});
  EXPECT_EQ(small.world.what(waits).walltime, whole_seconds(60));
  small.pass(whole_seconds(30));
  EXPECT_EQ(small.world.what(waits).walltime, whole_seconds(80));
  EXPECT_EQ(small.world.figures().late_changes, 1u);

  small.world.go_away(whole_seconds(20));
  small.pass(whole_seconds(1));
  update(array, {{"time_us", 90'000'000}});
  small.begin_again();
  EXPECT_EQ(small.world.what(array).walltime, whole_seconds(90));
  small.pass(whole_seconds(1));
  small.begin_again();
  EXPECT_EQ(small.world.figures().late_changes, 4u) << "each task once, and not again";
}

/// The end of a job is heard while one large array is added and another one waits for that.
TEST(LiveWorld, EndsAreHeardWhileArraysAreAdded) {
  spdlog::set_level(spdlog::level::off);
  constexpr std::uint64_t kTasks = 10'000;
  constexpr int kMost = 10'000;
  const std::string folder = ::testing::TempDir() + "live-world-arrays";
  fs::remove_all(folder);
  fs::create_directories(folder);
  FakeClocks clocks;
  const Platform platform{.nodes = 2, .cores_per_node = 2};
  FakeWorld world(1, platform, clocks);
  world.be_kind();
  ServeSettings settings;
  settings.platform = platform;
  settings.policy = "fcfs";
  settings.state = folder;
  settings.socket = folder + "/socket";
  const std::function<ServeSettings()> reload = [&settings] { return settings; };
  const Registry registry;
  Controller controller(settings, registry, reload, world, clocks);
  controller.begin();
  std::vector<LineSocket> clients;
  const auto submit = [&](const std::string& array) {
    Submission what;
    what.program = {"/bin/true"};
    what.folder = "/";
    what.nodes = 2;
    what.walltime = whole_seconds(100'000);
    if (!array.empty()) what.array = parse_array(array);
    constexpr std::size_t kRoom = std::size_t{1} << 22;
    clients.emplace_back(connect_unix(settings.socket), kRoom, kRoom);
    clients.back().send(Json({{"do", "submit"}, {"job", to_json(what)}}).dump());
  };
  const auto turns_until = [&](const std::function<bool()>& is_so) {
    for (int i = 0; !is_so(); ++i) {
      ASSERT_LT(i, kMost);
      clocks.advance(std::chrono::milliseconds(500));
      world.live();
      controller.turn(Duration{});
    }
  };
  submit("");
  turns_until([&] { return world.fate(1).runs; });
  const std::string tasks = fmt::format("1-{}", kTasks);
  submit(tasks);
  submit(tasks);
  turns_until([&] { return world.jobs() == 1 + 2 * kTasks; });
  clocks.advance(whole_seconds(10'000));
  world.live();
  ASSERT_TRUE(world.fate(1).ended);
  const auto added = [&] { return controller.core().state().jobs.size(); };
  if (added() >= 1 + kTasks) GTEST_SKIP() << "the first one is there too soon";
  for (int i = 0; i < 3; ++i) controller.turn(Duration{});
  if (added() >= 1 + kTasks) GTEST_SKIP() << "the first one is there too soon";
  EXPECT_EQ(controller.core().job(JobId{0}).status, Status::over);
  turns_until([&] { return added() == 1 + 2 * kTasks; });
  fs::remove_all(folder);
}

/// More nodes, with jobs that run and wait; and for the next controller.
TEST(LiveWorld, AMachineGrows) {
  Small small("grown");
  const std::uint64_t runs = small.submit(Small::job(2, 1000));
  small.pass(whole_seconds(1));
  const std::uint64_t waits = small.submit(Small::job(2, 1000));
  EXPECT_NE(small.error({{"do", "submit"}, {"job", to_json(Small::job(4, 10))}})
                .find("4 are more than the 2 there are"),
            std::string::npos);
  const std::uint64_t large = small.world.bring(Small::kOwner, Small::job(4, 1000));
  EXPECT_EQ(small.shown(large)["reason"], "BadConstraints");
  small.world.become({.nodes = 5, .cores_per_node = 2}, small.world.is.capabilities);
  small.pass(whole_seconds(10));
  EXPECT_EQ(small.ask({{"do", "nodes"}})["nodes"].size(), 5u);
  EXPECT_EQ(small.shown(runs)["nodelist"], "0-1");
  EXPECT_EQ(small.shown(waits)["nodelist"], "2-3");
  EXPECT_EQ(small.shown(large)["reason"], "Resources");
  EXPECT_EQ(small.shown(large)["nodes"], 4);
  EXPECT_EQ(small.shown(large)["note"], "");
  EXPECT_EQ(small.ask({{"do", "submit"}, {"job", to_json(Small::job(5, 10))}})["ok"], true);
  // While nobody looks, and while it is out of reach.
  small.world.leave_alone();
  small.world.become({.nodes = 9, .cores_per_node = 2}, small.world.is.capabilities);
  small.begin_again();
  small.pass(whole_seconds(10));
  EXPECT_EQ(small.shown(large)["nodelist"], "4-7");
  small.world.go_away(whole_seconds(5));
  small.world.become({.nodes = 10, .cores_per_node = 2}, small.world.is.capabilities);
  EXPECT_EQ(small.ask({{"do", "nodes"}})["nodes"].size(), 9u);
  small.pass(whole_seconds(10));
  EXPECT_EQ(small.ask({{"do", "nodes"}})["nodes"].size(), 10u);
  EXPECT_EQ(small.shown(runs)["state"], "RUNNING");
}

/// Nodes that are gone are down, their jobs end, and what needs them is held until they are back.
TEST(LiveWorld, AMachineShrinks) {
  Small small("shrunk");
  Submission again = Small::job(1, 10'000);
  again.is_requeued = true;
  const std::uint64_t stays = small.submit(Small::job(1, 10'000));
  const std::uint64_t waits_again = small.submit(again);
  small.pass(whole_seconds(5));
  const std::uint64_t large = small.submit(Small::job(2, 10));
  ASSERT_EQ(small.shown(waits_again)["nodelist"], "1");
  small.world.become({.nodes = 1, .cores_per_node = 2}, small.world.is.capabilities);
  for (int life = 0; life < 2; ++life) {
    small.pass(whole_seconds(10));
    const Json node = small.ask({{"do", "nodes"}})["nodes"][1];
    EXPECT_EQ(node["state"], "DOWN");
    EXPECT_EQ(node["reason"], "the cluster no longer has it");
    EXPECT_EQ(small.ask({{"do", "drain"}, {"nodes", "1"}, {"health", "up"}})["note"],
              "not all of them are used again: the cluster no longer has nodes 1");
    EXPECT_EQ(small.shown(stays)["nodelist"], "0");
    EXPECT_EQ(small.shown(waits_again)["state"], "PENDING");
    EXPECT_EQ(small.shown(large)["reason"], "BadConstraints");
    EXPECT_EQ(small.shown(large)["nodes"], 2);
    EXPECT_NE(small.shown(large)["note"].get<std::string>().find("more than the 1 there are"),
              std::string::npos);
    small.begin_again();
  }
  // One can be made to fit, and the other one waits for the node.
  const std::uint64_t other = small.submit(Small::job(1, 10));
  EXPECT_EQ(small.shown(other)["reason"], "Priority");
  small.world.become({.nodes = 2, .cores_per_node = 2}, small.world.is.capabilities);
  small.pass(whole_seconds(10));
  EXPECT_EQ(small.shown(large)["reason"], "Resources");
  EXPECT_EQ(small.shown(waits_again)["nodelist"], "1");
  small.world.become({.nodes = 1, .cores_per_node = 2}, small.world.is.capabilities);
  small.pass(whole_seconds(10));
  EXPECT_EQ(small.shown(large)["reason"], "BadConstraints");
  EXPECT_EQ(small.ask({{"do", "update"}, {"job", large}, {"set", {{"nodes", 1}}}})["ok"], true);
  small.pass(whole_seconds(1));
  EXPECT_NE(small.shown(large)["reason"], "BadConstraints");
}

/// Judged anew when there is something else that it waits for.
TEST(LiveWorld, AJobThatWaitsForOneThatComesLaterIsReleased) {
  Small small("later");
  Submission after = Small::job(1, 100);
  after.dependencies = {{Dependency::Kind::afterany, 2}};
  const std::uint64_t first = small.world.bring(Small::kOwner, after);
  EXPECT_EQ(small.shown(first)["reason"], "BadConstraints");
  ASSERT_EQ(small.submit(Small::job(1, 100)), 2u);
  EXPECT_EQ(small.shown(first)["reason"], "Dependency");
}

/// A job that has become larger than its reservation is held, and no longer when that is over.
TEST(LiveWorld, AJobThatIsTooLargeForItsReservationIsReleasedWhenThatIsOver) {
  Small small("reserved");
  for (const bool is_removed : {false, true}) {
    SCOPED_TRACE(is_removed);
    const std::string name = is_removed ? "removed" : "over";
    const double now_s = to_seconds(small.clocks.wall());
    const Json reserve = {{"do", "reserve"},       {"name", name},        {"nodes", "0"},
                          {"from_s", now_s + 100}, {"to_s", now_s + 200}, {"anybody", true}};
    ASSERT_EQ(small.ask(reserve)["ok"], true);
    Submission what = Small::job(1, 10);
    what.reservation = name;
    const std::uint64_t number = small.submit(what);
    ASSERT_EQ(small.shown(number)["reason"], "Reservation");
    what.nodes = 2;
    small.world.alter(number, what);
    small.pass(whole_seconds(10));
    ASSERT_EQ(small.shown(number)["reason"], "BadConstraints");
    if (is_removed) {
      EXPECT_EQ(small.ask({{"do", "unreserve"}, {"name", name}})["ok"], true);
      small.pass(whole_seconds(5));
    } else {
      small.pass(whole_seconds(195));
    }
    EXPECT_NE(small.shown(number)["state"], "PENDING");
    EXPECT_EQ(small.ask({{"do", "cancel"}, {"jobs", {number}}})["ok"], true);
    small.pass(whole_seconds(10));
  }
}

/// An array in which some run and some wait.
TEST(LiveWorld, OfAnArrayWhatWaitsIsHeld) {
  Small small("shrunk-array");
  Submission array = Small::job(1, 10'000);
  array.cores_per_process = 2;
  array.array = parse_array("0-3");
  const std::uint64_t number = small.submit(array);
  small.pass(whole_seconds(5));
  ASSERT_EQ(small.shown(number + 1)["state"], "RUNNING");
  small.world.become({.nodes = 4, .cores_per_node = 1}, small.world.is.capabilities);
  small.pass(whole_seconds(5));
  EXPECT_EQ(small.shown(number)["state"], "RUNNING");
  EXPECT_EQ(small.shown(number + 2)["reason"], "BadConstraints");
  EXPECT_EQ(small.shown(number + 3)["reason"], "BadConstraints");
  small.begin_again();
  EXPECT_EQ(small.shown(number + 3)["reason"], "BadConstraints");
  small.world.become({.nodes = 4, .cores_per_node = 2}, small.world.is.capabilities);
  small.pass(whole_seconds(5));
  EXPECT_EQ(small.shown(number + 3)["state"], "RUNNING");
}

/// A malleable job that may be as large as the machine follows it as long as it waits.
TEST(LiveWorld, SizesThatAreNotGivenAreThoseOfTheMachine) {
  Small small("sizes");
  small.submit(Small::job(2, 10'000));
  Submission what = Small::job(1, 10'000);
  what.type = JobType::malleable;
  what.mpi = Mpi::mpich;
  const std::uint64_t waits = small.submit(what);
  EXPECT_EQ(small.shown(waits)["max_nodes"], 2);
  small.world.become({.nodes = 3, .cores_per_node = 2}, small.world.is.capabilities);
  small.world.fail(2);
  small.pass(whole_seconds(1));
  EXPECT_EQ(small.shown(waits)["max_nodes"], 3);
  small.world.become({.nodes = 1, .cores_per_node = 2}, small.world.is.capabilities);
  small.pass(whole_seconds(1));
  EXPECT_EQ(small.shown(waits)["max_nodes"], 1);
}

}  // namespace
}  // namespace ductile::testing
