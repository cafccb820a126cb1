// The controller with a partition of a Slurm that takes its time, refuses, does not answer or does
// not say what it has done, whose nodes fail, and whose users do what they like behind its back;
// with programs that come late, refuse, do not answer or leave; and a controller that dies at any
// moment. Whatever happens: no process is killed by a resize, no program is sent to a node that its
// job does not have, no job is held for ever, and in the end the controller knows of each job what
// Slurm says.
//
// DUCTILE_CASES: how many histories. DUCTILE_SEED: only that of this seed.
#include "slurm/slurm_world.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include "base/random.hpp"
#include "job/line_socket.hpp"
#include "live/controller.hpp"
#include "live/crash.hpp"
#include "live/journal.hpp"
#include "policies/registry.hpp"
#include "scheduling/invariants.hpp"
#include "support/death.hpp"
#include "support/fake_slurm.hpp"
#include "support/fake_world.hpp"
#include "support/seeds.hpp"

namespace ductile::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kPolicies[] = {"easy",          "fcfs",     "mebf", "elastic",
                                          "equipartition", "equigrow", "dbes", "tide"};

struct Sums {
  FakeSlurm::Figures slurm{};
  std::uint64_t jobs = 0, deaths = 0, resizes = 0, refused = 0, silent = 0, left = 0, requests = 0;
};

class History {
 public:
  explicit History(std::uint64_t seed)
      : draws_(seed, Stream::test, 0),
        slurm_(seed, static_cast<Nodes>(2 + draws_.below(7)), clocks_),
        nodes_(slurm_.is.nodes.size()),
        folder_(::testing::TempDir() + "slurm-world-" + std::to_string(seed)) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    settings_.partition = "adaptive";
    settings_.policy = std::string(kPolicies[draws_.below(std::size(kPolicies))]);
    settings_.state = folder_;
    settings_.socket = folder_ + "/socket";
    settings_.retry = whole_seconds(2);
    settings_.patience = whole_seconds(1);
    settings_.resize_deadline = whole_seconds(20);
  }
  ~History() {
    moments_left = 0;
    lose();
    fs::remove_all(folder_);
  }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void live() {
    const std::uint64_t steps = 20 + draws_.below(150);
    for (std::uint64_t step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      if (!controller_) begin();
      do_something();
      turn();
    }
    come_to_an_end();
    sums_.slurm = slurm_.figures();
  }
  const Sums& sums() const { return sums_; }

 private:
  /// A `ductile run` in a job.
  struct Program {
    std::optional<LineSocket> lines{};
    Time comes_at{};
    std::set<std::string> hosts{};
    std::optional<Json> order{};  // that is not answered
    Time answers_at = kNever;
    Json heard{}, done{};  // ids of the last order that came, and that it has carried out
    bool is_lost = false;  // the connection on which it came
    bool was_connected = false;
    bool is_silent = false;
    int life = 0;  // of its job
  };

  void unless_it_dies(const std::function<void()>& call) {
    try {
      call();
    } catch (const Death&) {
      ++sums_.deaths;
      lose();
    }
  }
  void lose() {
    controller_.reset();
    world_.reset();
    for (auto& [number, program] : programs_) program.lines.reset();
  }

  void begin() {
    moments_left = !slurm_.is_kind() && draws_.chance(0.7) ? 1 + draws_.below(80) : 0;
    unless_it_dies([&] {
      if (!has_begun_) slurm_.come_back();
      slurm_.forget_who_asks();
      try {
        world_ =
            std::make_unique<SlurmWorld>(slurm_,
                                         SlurmWorld::Settings{.partition = "adaptive",
                                                              .names = folder_ + "/nodes",
                                                              .start_limit = whole_seconds(20),
                                                              .program_limit = whole_seconds(20),
                                                              .lost_after = whole_seconds(3)},
                                         Errands::How::at_once, clocks_);
        controller_ = std::make_unique<Controller>(
            settings_, registry_, [this] { return settings_; }, *world_, clocks_);
        controller_->begin();
        has_begun_ = true;
      } catch (const InputError& error) {
        // Slurm did not answer, and nothing is known of it yet.
        if (has_begun_ || slurm_.is_kind()) throw;
        lose();
      }
    });
  }

  void turn() {
    for (int i = 0; i < 100 && controller_; ++i) {
      unless_it_dies([&] {
        controller_->turn(Duration{});
        check_invariants(controller_->core().state());
      });
      run_programs();
      for (const std::string& each : slurm_.complaints()) ADD_FAILURE() << each;
      if (!controller_ || controller_->until_next() > Duration{}) break;
    }
  }

  void do_something() {
    clocks_.advance(seconds(draws_.exponential(draws_.chance(0.1) ? 30 : 1)));
    slurm_.live();
    if (draws_.chance(0.25) && sums_.jobs < 40) submit();
    if (draws_.chance(0.12)) slurm_.act();
    if (draws_.chance(0.02)) slurm_.go_away();
    if (draws_.chance(0.2)) slurm_.come_back();
    if (controller_ && draws_.chance(0.04)) ask_for(draws_.chance(0.3) ? "cancel" : "requeue");
    if (controller_ && draws_.chance(0.01)) {
      moments_left = 0;
      controller_->end();
      lose();
    }
  }

  /// Of some job.
  void ask_for(const char* verb) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, its] : slurm_.all()) {
      if (its.job.state == SlurmJob::State::running) numbers.push_back(number);
    }
    if (numbers.empty()) return;
    constexpr std::size_t kMost = std::size_t{1} << 20;
    LineSocket lines(connect_unix(settings_.socket), kMost, kMost);
    lines.send(Json{{"do", verb}, {"jobs", {std::to_string(numbers[draws_.below(numbers.size())])}}}
                   .dump());
    for (int i = 0; i < 3 && controller_; ++i) {
      unless_it_dies([&] { controller_->turn(Duration{}); });
    }
  }

  void submit() {
    ++sums_.jobs;
    const auto nodes = static_cast<Nodes>(1 + draws_.below(nodes_));
    const auto min = static_cast<Nodes>(1 + draws_.below(nodes));
    constexpr std::string_view kTypes[] = {"rigid", "moldable", "malleable", "malleable",
                                           "evolving"};
    const std::string_view type = kTypes[draws_.below(std::size(kTypes))];
    const std::string sizes = type == "rigid" ? "" : fmt::format(" min={} max={}", min, nodes_);
    slurm_.submit(fmt::format("ductile:1 type={} nodes={}{}", type, nodes, sizes), nodes,
                  seconds(draws_.exponential(40)));
  }

  // ---- Programs
  static std::set<std::string> hosts_in(std::string_view text) {
    std::set<std::string> hosts;
    while (!text.empty()) {
      const std::string_view one = text.substr(0, text.find(','));
      hosts.emplace(one.substr(0, one.find(':')));
      text.remove_prefix(std::min(text.size(), one.size() + 1));
    }
    return hosts;
  }

  static std::string text_of(const std::set<std::string>& hosts) {
    std::string text;
    for (const std::string& host : hosts) text += (text.empty() ? "" : ",") + host + ":4";
    return text;
  }

  void run_programs() {
    for (auto& [number, its] : slurm_.all()) {
      const bool runs = its.job.state == SlurmJob::State::running;
      const bool is_resized = its.job.admin_comment.find("malleable") != std::string::npos ||
                              its.job.admin_comment.find("evolving") != std::string::npos;
      if (!runs || !is_resized) continue;
      Program& program = programs_[number];
      if (program.life != its.starts) {
        program = {};
        program.life = its.starts;
        program.comes_at = now() + seconds(draws_.exponential(2));
        program.is_silent = !slurm_.is_kind() && draws_.chance(0.1);
      }
      run(program, number, its);
    }
    std::erase_if(programs_, [&](const auto& entry) {
      const auto found = slurm_.all().find(entry.first);
      return found == slurm_.all().end() || found->second.job.state != SlurmJob::State::running;
    });
  }

  void run(Program& program, std::uint64_t number, FakeSlurm::Its& its) {
    if (!program.lines && now() >= program.comes_at && world_ &&
        world_->reach() == World::Reach::here) {
      connect(program, number);
    }
    if (program.lines) {
      program.lines->work();
      while (const auto line = program.lines->next()) hear(program, its, Json::parse(*line));
      if (program.lines->is_closed()) {
        program.lines.reset();
        program.comes_at = now() + whole_seconds(1);
      }
    }
    if (program.order && now() >= program.answers_at) answer(program, its);
    its.used = program.hosts;
    if (!program.lines) return;
    if (!slurm_.is_kind() && draws_.chance(0.01)) {  // it has ended, and another one comes
      ++sums_.left;
      program.lines.reset();
      program.hosts.clear();
      program.order.reset();
      program.was_connected = false;
      program.heard = program.done = Json();
      program.comes_at = now() + seconds(draws_.exponential(3));
      its.used.clear();
    } else if (its.job.admin_comment.find("evolving") != std::string::npos && draws_.chance(0.05)) {
      ++sums_.requests;
      const auto wanted = static_cast<std::uint32_t>(4 * (1 + draws_.below(nodes_)));
      program.lines->send(
          Json{{"event", "requested"}, {"at_least", 4}, {"preferred", wanted}}.dump());
    }
  }

  void connect(Program& program, std::uint64_t number) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    constexpr std::size_t kMost = std::size_t{1} << 16;
    LineSocket theirs(Descriptor(ends[0]), kMost, kMost);
    program.lines.emplace(Descriptor(ends[1]), kMost, kMost);
    Json first = {{"do", "job"}, {"job", number}};
    if (program.was_connected) {
      first["size"] = 4 * program.hosts.size();
      first["hosts"] = text_of(program.hosts);
      first["phase"] = program.order ? "agreeing" : "running";
      first["heard"] = program.heard;
      first["done"] = program.done;
      program.is_lost = true;
    }
    if (!world_->adopt(theirs, {0, 0}, first)) {
      program.lines.reset();
      program.comes_at = now() + whole_seconds(1);
    }
  }

  void hear(Program& program, FakeSlurm::Its& its, const Json& json) {
    const std::set<std::string> has(its.job.nodes.begin(), its.job.nodes.end());
    if (json.contains("ok") && !json.contains("id")) {
      if (program.was_connected) return;  // it goes on where it is
      program.was_connected = true;
      program.hosts = hosts_in(json.at("hosts").get<std::string>());
      // A node may have been taken a moment ago.
      std::erase_if(program.hosts, [&](const std::string& host) { return !has.contains(host); });
      return;
    }
    const std::string verb = json.value("do", "");
    if (verb == "withdraw") {
      if (!program.order || program.is_silent) return;
      program.lines->send(Json{{"id", program.order->at("id")},
                               {"ok", false},
                               {"error", "withdrawn"},
                               {"size", 4 * program.hosts.size()}}
                              .dump());
      program.order.reset();
    } else if (program.order && verb == "resize") {
      program.lines->send(Json{
          {"id", json.value("id", Json())}, {"ok", false}, {"error", "another resize is under way"}}
                              .dump());
    } else if (verb == "resize" || (verb == "answer" && json.at("size") != 0)) {
      const std::set<std::string> hosts = hosts_in(json.at("hosts").get<std::string>());
      for (const std::string& host : hosts) {
        EXPECT_TRUE(has.contains(host) || is_lost(host))
            << "job " << its.job.number << " is sent to " << host << ", which it does not have";
      }
      program.order = json;
      program.is_lost = false;
      if (json.contains("id")) program.heard = json.at("id");
      program.answers_at = now() + seconds(draws_.exponential(2));
    }
  }

  bool is_lost(const std::string& host) {
    for (const SlurmNode& node : slurm_nodes()) {
      if (node.name == host) return node.health == Health::down;
    }
    return true;
  }
  std::vector<SlurmNode> slurm_nodes() {
    try {
      return slurm_.nodes();
    } catch (const SlurmError&) {
      return {};
    }
  }

  void answer(Program& program, FakeSlurm::Its& its) {
    if (program.is_silent) return;
    const Json order = *std::exchange(program.order, std::nullopt);
    const std::set<std::string> hosts = hosts_in(order.at("hosts").get<std::string>());
    const bool has_all = std::ranges::all_of(hosts, [&](const std::string& host) {
      return std::ranges::find(its.job.nodes, host) != its.job.nodes.end();
    });
    const bool ok = has_all && (slurm_.is_kind() || !draws_.chance(0.15));
    ++(ok ? sums_.resizes : sums_.refused);
    if (ok) {
      program.hosts = hosts;
      program.done = order.value("id", Json());
    }
    if (!program.lines) return;
    if (!slurm_.is_kind() && draws_.chance(0.15)) {  // the connection is lost before it is heard
      ++sums_.silent;
      program.lines.reset();
      program.comes_at = now() + seconds(draws_.exponential(3));
      return;
    }
    const std::size_t size = 4 * program.hosts.size();
    program.lines->send(Json{
        {"event", ok ? "resized" : "aborted"}, {"size", size}, {"hosts", text_of(program.hosts)}}
                            .dump());
    if (program.is_lost) return;
    Json json = {{"id", order.value("id", Json())}, {"ok", ok}, {"size", size}};
    if (!ok) json["error"] = "it does not want to";
    program.lines->send(json.dump());
  }

  // ---- The end
  void come_to_an_end() {
    slurm_.be_kind();
    moments_left = 0;
    for (auto& [number, program] : programs_) program.is_silent = false;
    for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
      if (!controller_) begin();
      clocks_.advance(whole_seconds(1));
      slurm_.live();
      turn();
      const bool is_over = std::ranges::none_of(slurm_.all(), [](const auto& entry) {
        return entry.second.job.state != SlurmJob::State::over;
      });
      if (is_over && is_idle()) return;
    }
    for (const auto& [number, its] : slurm_.all()) {
      if (its.job.state == SlurmJob::State::over) continue;
      ADD_FAILURE() << "job " << number << " does not end: " << its.job.admin_comment
                    << (its.job.is_held ? ", held" : "") << ", state "
                    << static_cast<int>(its.job.state);
    }
    EXPECT_TRUE(is_idle()) << "the controller has jobs that Slurm has not";
  }
  bool is_idle() const {
    if (!controller_) return false;
    const State& state = controller_->core().state();
    return state.running.empty() && state.queue.empty() && controller_->core().unanswered().empty();
  }

  Time now() const { return clocks_.wall(); }

  Draws draws_;
  FakeClocks clocks_{};
  FakeSlurm slurm_;
  std::uint64_t nodes_;
  std::string folder_;
  ServeSettings settings_{};
  Registry registry_{};
  std::unique_ptr<SlurmWorld> world_{};
  std::unique_ptr<Controller> controller_{};
  std::map<std::uint64_t, Program> programs_{};
  bool has_begun_ = false;
  Sums sums_{};
};

TEST(SlurmWorld, NothingIsLostAndNobodyIsHeldForEver) {
  spdlog::set_level(std::getenv("DUCTILE_LOG") != nullptr ? spdlog::level::debug
                                                          : spdlog::level::off);
  set_crash(count_moment);
  Sums all;
  const std::uint64_t runs = for_seeds(150, [&](std::uint64_t seed) {
    History history(seed);
    history.live();
    const Sums& its = history.sums();
    all.jobs += its.jobs;
    all.deaths += its.deaths;
    all.resizes += its.resizes;
    all.refused += its.refused;
    all.silent += its.silent;
    all.left += its.left;
    all.requests += its.requests;
    all.slurm.started += its.slurm.started;
    all.slurm.shrunk += its.slurm.shrunk;
    all.slurm.grown += its.slurm.grown;
    all.slurm.refused += its.slurm.refused;
    all.slurm.unheard += its.slurm.unheard;
    all.slurm.unanswered += its.slurm.unanswered;
    all.slurm.requeued += its.slurm.requeued;
    all.slurm.failed += its.slurm.failed;
    all.slurm.behind += its.slurm.behind;
    all.slurm.strangers += its.slurm.strangers;
  });
  const FakeSlurm::Figures& slurm = all.slurm;
  fmt::print(
      "{} jobs, {} deaths, {} resizes, {} refused, {} connections lost, {} programs left, {} "
      "requests\nSlurm: {} starts, {} shrinks, {} growths, {} refusals, {} unheard, {} unanswered, "
      "{} requeued, {} failed, {} behind our back, {} strangers\n",
      all.jobs, all.deaths, all.resizes, all.refused, all.silent, all.left, all.requests,
      slurm.started, slurm.shrunk, slurm.grown, slurm.refused, slurm.unheard, slurm.unanswered,
      slurm.requeued, slurm.failed, slurm.behind, slurm.strangers);
  if (runs == 0) return;
  for (const std::uint64_t each :
       {all.jobs, all.deaths, all.resizes, all.refused, all.silent, all.left, all.requests,
        all.slurm.started, all.slurm.shrunk, all.slurm.grown, all.slurm.refused, all.slurm.unheard,
        all.slurm.unanswered, all.slurm.requeued, all.slurm.failed, all.slurm.behind,
        all.slurm.strangers}) {
    EXPECT_GT(each, runs / 20);
  }
}

}  // namespace
}  // namespace ductile::testing
