// ElastiSim's jobs in the world against a naive one, iteration by iteration: random applications of
// many phases with and without scheduling points, evolving requests as formulas, phases that take
// no time, costs, delays, refusals and walltimes, under all policies that resize and one without
// sense.
//
// DUCTILE_CASES: how many random runs. DUCTILE_SEED: only the run of this seed.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "policies/registry.hpp"
#include "simulation/simulation.hpp"
#include "support/random_policy.hpp"
#include "support/seeds.hpp"
#include "workload/elastisim.hpp"

namespace ductile {
namespace {

// --- Applications, as text and as numbers --------------------------------------------------------

/// Every rank waits for so long.
struct Wait {
  enum class Kind : std::uint8_t { constant, power, less, parity };
  Kind kind = Kind::constant;
  double a = 0, b = 0;

  std::string text() const {
    std::string delay;
    switch (kind) {
      case Kind::constant:
        delay = fmt::format("{}", a);
        break;
      case Kind::power:
        delay = fmt::format("\"{} / num_nodes^{}\"", a, b);
        break;
      case Kind::less:
        delay = fmt::format("\"max(0, {} - {} * num_nodes)\"", a, b);
        break;
      case Kind::parity:
        delay = fmt::format("\"num_nodes % 2 == 0 ? {} : {}\"", a, b);
        break;
    }
    return fmt::format(R"({{"type": "busy_wait", "pattern": "uniform", "delay": {}}})", delay);
  }
  double seconds(Nodes n) const {
    switch (kind) {
      case Kind::constant:
        return a;
      case Kind::power:
        return a / std::pow(n, b);
      case Kind::less:
        return std::max(0.0, a - b * n);
      case Kind::parity:
        return n % 2 == 0 ? a : b;
    }
    return 0;
  }
};

using Waits = std::vector<Wait>;

std::string text_of(const Waits& waits) {
  std::string text;
  for (const Wait& wait : waits) text += (text.empty() ? "" : ", ") + wait.text();
  return fmt::format("\"tasks\": [{}]", text);
}
double seconds_of(const Waits& waits, Nodes n) {
  double sum = 0;
  for (const Wait& wait : waits) sum += wait.seconds(n);
  return sum;
}

/// What an evolving job may ask for: a formula, and the same in C++.
struct Wish {
  const char* formula;
  double (*of)(double n, double iteration, double most);
};
constexpr std::array kWishes = {
    Wish{"num_nodes + 2", [](double n, double, double) { return n + 2; }},
    Wish{"num_nodes - 1", [](double n, double, double) { return n - 1; }},
    Wish{"num_nodes * 2", [](double n, double, double) { return n * 2; }},
    Wish{"num_nodes_max", [](double, double, double most) { return most; }},
    Wish{"phase_iteration % 2 == 0 ? num_nodes - 2 : num_nodes + 2",
         [](double n, double i, double) { return std::fmod(i, 2) == 0 ? n - 2 : n + 2; }},
    Wish{"num_nodes % 3 == 0 ? num_nodes : num_nodes_max - phase_iteration",
         [](double n, double i, double most) { return std::fmod(n, 3) == 0 ? n : most - i; }},
};

struct Stage {
  std::uint32_t iterations = 1;
  bool point = true;
  const Wish* wish = nullptr;
  Waits waits;

  std::string text() const {
    return fmt::format(R"({{"iterations": {}, "scheduling_point": {}, {}{}}})", iterations, point,
                       wish ? fmt::format("\"evolving_request\": \"{}\", ", wish->formula) : "",
                       text_of(waits));
  }
};

struct Application {
  std::optional<Waits> on_init, on_reconfiguration, on_expansion;
  std::vector<Stage> stages;

  std::string text() const {
    std::string text = "{";
    const auto once = [&](const char* name, const std::optional<Waits>& waits) {
      if (waits) text += fmt::format("\"{}\": {{{}}}, ", name, text_of(*waits));
    };
    once("on_init", on_init);
    once("on_reconfiguration", on_reconfiguration);
    once("on_expansion", on_expansion);
    std::string phases;
    for (const Stage& stage : stages) phases += (phases.empty() ? "" : ", ") + stage.text();
    return text + "\"phases\": [" + phases + "]}";
  }
};

struct Job {
  JobType type = JobType::rigid;
  SizeRange size;
  double submit_s = 0, walltime_s = 0;
  Application application;
};

/// May there be waits of no time?
enum class Zeros : std::uint8_t { none, some };

Wait random_wait(Draws& draws, Zeros zeros) {
  using Kind = Wait::Kind;
  Kind kind = static_cast<Kind>(draws.below(4));
  if (zeros == Zeros::none && kind == Kind::less) kind = Kind::power;
  // Nothing, or some microseconds at least: what is shorter than one is not told apart.
  const auto amount = [&](double most, double least) {
    if (zeros == Zeros::some && draws.chance(0.1)) return 0.0;
    const double value =
        draws.chance(0.1) ? draws.uniform(least, 3 * least) : draws.uniform(0.01, most);
    return draws.chance(0.5) ? std::ceil(value * 100) / 100 : value;
  };
  switch (kind) {
    case Kind::power:
      return {kind, amount(300, 0.001), draws.uniform(-0.2, 1.5)};
    case Kind::less:
      return {kind, amount(100, 0.001), amount(10, 0.001)};
    case Kind::constant:
    case Kind::parity:
      break;
  }
  return {kind, amount(60, 4e-6), amount(60, 4e-6)};
}

Waits random_waits(Draws& draws, Zeros zeros) {
  Waits waits;
  for (std::uint64_t n = 1 + draws.below(2); n > 0; --n) {
    waits.push_back(random_wait(draws, zeros));
  }
  return waits;
}

Application random_application(Draws& draws, Zeros zeros) {
  Application application;
  if (draws.chance(0.3)) application.on_init = random_waits(draws, zeros);
  if (draws.chance(0.3)) application.on_reconfiguration = random_waits(draws, zeros);
  if (draws.chance(0.2)) application.on_expansion = random_waits(draws, zeros);
  for (std::uint64_t n = 1 + draws.below(4); n > 0; --n) {
    Stage& stage = application.stages.emplace_back();
    stage.iterations = static_cast<std::uint32_t>(1 + draws.below(6));
    stage.point = draws.chance(0.6);
    if (draws.chance(0.6)) stage.wish = &kWishes[draws.below(kWishes.size())];
    stage.waits = random_waits(draws, zeros);
  }
  return application;
}

struct Case {
  std::vector<Job> jobs;  // in order of submission
  ElastisimInput input;
  SimulationSettings settings;
};

Case random_case(std::uint64_t seed) {
  Case c;
  Draws draws(seed, Stream::test, 11);
  const auto nodes = static_cast<Nodes>(2 + draws.below(30));
  constexpr std::array kPolicies = {"easy",  "dbes",          "dbes",        "mebf",
                                    "fpsma", "equipartition", "elastic",     "",
                                    "",      "esf",           "conservative"};
  const char* const policy = kPolicies[draws.below(kPolicies.size())];
  // The one without sense may answer later at the same instant, when a job that goes through
  // iterations of no time is nobody knows where.
  const Zeros zeros = *policy != '\0' ? Zeros::some : Zeros::none;
  double submit_s = 0;
  std::string jobs;
  std::map<std::string, std::string> files;
  for (std::uint64_t n = 1 + draws.below(5); n > 0; --n) {
    Job& job = c.jobs.emplace_back();
    job.type = static_cast<JobType>(draws.below(5));
    const auto least = static_cast<Nodes>(1 + draws.below(nodes));
    const bool one = job.type == JobType::rigid;
    job.size = {least, one ? least : static_cast<Nodes>(least + draws.below(nodes - least + 1))};
    job.submit_s = submit_s;
    if (draws.chance(0.4)) submit_s += static_cast<double>(draws.below(100));
    if (draws.chance(0.5)) job.walltime_s = static_cast<double>(1 + draws.below(1000));
    job.application = random_application(draws, zeros);
    const std::string model = fmt::format("m{}.json", n);
    files[model] = job.application.text();
    jobs += fmt::format(
        R"({}{{"type": "{}", "submit_time": {}, "walltime": {}, {}, "application_model": "{}"}})",
        jobs.empty() ? "" : ", ", word(job.type), job.submit_s, job.walltime_s,
        one ? fmt::format("\"num_nodes\": {}", least)
            : fmt::format("\"num_nodes_min\": {}, \"num_nodes_max\": {}", job.size.min,
                          job.size.max),
        model);
  }
  files["c.json"] = R"({"jobs_file": "j.json", "platform_file": "p.xml"})";
  files["j.json"] = R"({"jobs": [)" + jobs + "]}";
  files["p.xml"] = fmt::format(
      "<platform><cluster id='c' radical='0-{}' speed='1Gf' bw='1GBps'/></platform>", nodes - 1);
  SimulationSettings& settings = c.settings;
  settings.kill_overrun = draws.chance(0.4);
  ElastisimRules rules;
  rules.extend_walltime = !settings.kill_overrun;
  rules.load = [&](const std::string& path) { return files.at(path); };
  c.input = read_elastisim("c.json", rules);
  settings.platform.nodes = nodes;
  settings.rules.seed = seed;
  settings.rules.limit = draws.chance(0.3) ? Rules::Limit::fixed : Rules::Limit::scaled;
  ResizeBehaviour& how = settings.resize;
  how.apply_at = ResizeBehaviour::ApplyAt::phase_end;
  if (draws.chance(0.3)) how.delay.a = seconds(draws.uniform(0, 20));
  if (draws.chance(0.2)) how.refuse = draws.uniform();
  how.retry = draws.chance(0.5) ? Duration{} : whole_seconds(3);
  if (*policy != '\0') {
    settings.policy = make_policy(policy);
  } else {
    settings.policy = std::make_shared<testing::RandomPolicy>(
        testing::RandomPolicy::Settings{.calls = static_cast<std::uint32_t>(4 + draws.below(20)),
                                        .stops = false});  // the naive job knows none
  }
  return c;
}

// --- What is seen of a job -----------------------------------------------------------------------

/// An order to resize it.
struct Order {
  Time at{};  // decided
  Nodes size = 0;
  bool refused = false, answered = false;
  std::size_t asked = 0;  // how often it had asked
};

struct Life {
  Time start{}, end{};
  Nodes size = 0;  // at the start
  std::vector<Order> orders;
  std::vector<Time> asked;
  EndState state = EndState::completed;
  /// Since when it has nodes on their way, or no more, and how often it had asked then.
  struct Claim {
    Time since{};
    bool has = false;
    std::size_t asked = 0;
  };
  std::vector<Claim> claims;

  /// At a time, when it has asked at these.
  bool has_claim(Time at, const std::vector<Time>& times) const {
    bool has = false;
    for (const Claim& claim : claims) {
      const bool same = claim.since == at && !times.empty() && times.back() == at;
      if (claim.since < at || (same && claim.asked <= times.size())) has = claim.has;
    }
    return has;
  }
};

class Watcher final : public Observer {
 public:
  std::map<std::uint64_t, Life> lives;  // by name

  bool wants_events() const override { return true; }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    if (decision.kind == Decision::Kind::start) {
      Life& life = life_of(decision.job, core);
      life.start = now;
      life.size = decision.after.count;
    } else if (decision.kind == Decision::Kind::resize) {
      Life& life = life_of(decision.job, core);
      order_of_[decision.id] = life.orders.size();
      life.orders.push_back({now, decision.after.count, false, false, life.asked.size()});
    }
  }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    if (const auto* asked = std::get_if<event::EvolvingRequested>(&event)) {
      life_of(asked->job, core).asked.push_back(now);
    } else if (const auto* resized = std::get_if<event::Resized>(&event); resized && taken) {
      Order& order = life_of(resized->job, core).orders[order_of_.at(resized->answers)];
      order.answered = true;
      order.refused = order.size != resized->now.count;
    }
  }
  void on_close(Time now, const Core& core) override {
    for (const JobId id : core.state().running) {
      Life& life = life_of(id, core);
      const bool has = core.job(id).claim != ClaimId::none;
      if (life.claims.empty() ? has : life.claims.back().has != has) {
        life.claims.push_back({now, has, life.asked.size()});
      }
    }
  }
  void on_end(Time now, JobId id, const WorkloadJob&, EndState state, bool,
              const Core& core) override {
    Life& life = life_of(id, core);
    life.end = now;
    life.state = state;
  }

 private:
  Life& life_of(JobId id, const Core& core) { return lives[core.job(id).spec.name]; }

  std::map<DecisionId, std::size_t> order_of_;
};

// --- The naive job -------------------------------------------------------------------------------

struct Naive {
  Time end{};
  std::vector<Time> asked;
  std::size_t resizes = 0;
};

/// Goes from iteration to iteration. Times are rounded to microseconds where it is resized.
Naive naive(const Job& job, const Life& life, Duration delay) {
  Naive run;
  const Application& application = job.application;
  const bool evolves = job.type == JobType::evolving || job.type == JobType::adaptive;
  const bool obeys = job.type == JobType::malleable || job.type == JobType::adaptive;
  Time since = life.start;  // its last resize
  double worked_s = 0;      // from then on
  Nodes size = life.size;
  std::size_t next = 0;  // order
  const auto now = [&] { return since + seconds(worked_s); };
  // Does an order wait that it knows?
  const auto ordered = [&] {
    while (next < life.orders.size() && life.orders[next].refused) ++next;
    return next < life.orders.size() && life.orders[next].at + delay <= now() &&
           life.orders[next].asked <= run.asked.size();
  };
  const auto resize = [&] {
    const Nodes to = life.orders[next++].size;
    double cost_s =
        application.on_reconfiguration ? seconds_of(*application.on_reconfiguration, to) : 0;
    if (to > size && application.on_expansion) {
      cost_s += seconds_of(*application.on_expansion, to - size);
    }
    since = now() + seconds(cost_s);
    worked_s = 0;
    size = to;
    ++run.resizes;
  };

  if (application.on_init) worked_s += seconds_of(*application.on_init, size);
  bool first = true;
  for (const Stage& stage : application.stages) {
    for (std::uint32_t i = 0; i < stage.iterations; ++i) {
      if (!first && evolves && stage.wish) {
        const double wish = std::trunc(stage.wish->of(size, i, job.size.max));
        const auto wanted =
            static_cast<Nodes>(std::clamp<double>(wish, job.size.min, job.size.max));
        if (wanted != size) {
          const bool is_resized = ordered();
          if (!is_resized && !life.has_claim(now(), run.asked)) run.asked.push_back(now());
          if (is_resized || ordered()) resize();
        }
      } else if (!first && obeys && stage.point && ordered()) {
        resize();
      }
      worked_s += seconds_of(stage.waits, size);
      first = false;
    }
  }
  run.end = std::max(now(), since + kTick);  // nothing is shorter
  return run;
}

// -------------------------------------------------------------------------------------------------

struct Tally {
  std::uint64_t lives = 0, killed = 0, resizes = 0, asked = 0;
};

void check(const Case& c, const Job& job, const Life& life, Tally& tally) {
  // Would it have refused what it had no time to answer?
  if (c.settings.resize.refuse > 0 && !life.orders.empty() && !life.orders.back().answered) return;
  Naive run = naive(job, life, c.settings.resize.delay.a);
  const Time limit =
      job.walltime_s > 0 && c.settings.kill_overrun ? life.start + seconds(job.walltime_s) : kNever;
  ASSERT_EQ(life.state, run.end <= limit ? EndState::completed : EndState::timeout);
  ASSERT_EQ(life.end, std::min(run.end, limit));
  std::erase_if(run.asked, [&](Time at) { return at >= life.end; });
  std::vector<Time> asked = life.asked;
  std::erase_if(asked, [&](Time at) { return at >= life.end; });
  ASSERT_EQ(asked, run.asked);
  ++tally.lives;
  tally.killed += life.state == EndState::timeout ? 1 : 0;
  tally.resizes += run.resizes;
  tally.asked += asked.size();
}

TEST(ElastisimProgress, IsThatOfTheNaiveJob) {
  Tally tally;
  const testing::Runs runs{.usual = 4'000, .enough = 1'000};
  const std::uint64_t count = testing::for_seeds(runs, [&](std::uint64_t seed) {
    const Case c = random_case(seed);
    Watcher watcher;
    Observer* const observers[] = {&watcher};
    ASSERT_NO_THROW(simulate(c.input.workload, c.settings, observers));
    for (const auto& [name, life] : watcher.lives) {
      SCOPED_TRACE("job " + std::to_string(name));
      if (life.end == Time{} && life.start == Time{} && life.size == 0) continue;
      check(c, c.jobs.at(name), life, tally);
      if (HasFatalFailure()) return;
    }
  });
  std::printf(
      "%llu jobs, %llu of them killed; %llu resizes, %llu requests\n",
      static_cast<unsigned long long>(tally.lives), static_cast<unsigned long long>(tally.killed),
      static_cast<unsigned long long>(tally.resizes), static_cast<unsigned long long>(tally.asked));
  if (count == 0) return;
  EXPECT_GT(tally.lives, 2 * count);
  EXPECT_GT(tally.killed, count / 10);
  EXPECT_GT(tally.resizes, count / 2);
  EXPECT_GT(tally.asked, count);
}

}  // namespace
}  // namespace ductile
