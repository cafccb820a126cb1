#include "support/scenario.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/node_set.hpp"
#include "base/text.hpp"
#include "model/switch_tree.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "simulation/corridor.hpp"
#include "support/reference.hpp"
#include "workload/adaptive.hpp"
#include "workload/precedence.hpp"

namespace ductile::testing {
namespace {

// --- Reading
// -----------------------------------------------------------------------------------------

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line.substr(0, line.find('#'))) {
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// One line: its words, taken from the left, and its "key=value" words.
class Line {
 public:
  Line(const std::string& file, std::uint64_t number, std::string_view text)
      : file_(file), number_(number), words_(words_of(text)) {}

  bool empty() const { return next_ == words_.size(); }
  std::uint64_t number() const { return number_; }
  std::string text() const { return joined({words_.begin() + next_, words_.end()}, " "); }

  Place place(const std::string& field = {}) const { return {file_, number_, field}; }
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw InputError(place(), what, remedy);
  }

  std::string word(const std::string& what) {
    if (empty()) fail(what + " is missing", "the line is too short");
    return words_[next_++];
  }
  /// Takes the next word if it is this one.
  bool skip(std::string_view word) {
    if (empty() || words_[next_] != word) return false;
    ++next_;
    return true;
  }
  std::string one_of(const std::string& what, const std::vector<std::string>& choices) {
    const std::string chosen = word(what);
    if (std::ranges::find(choices, chosen) == choices.end()) {
      fail("there is no " + what + " '" + chosen + "'", "use " + joined(choices, ", "));
    }
    return chosen;
  }

  double number(const std::string& what, const std::string& text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
        std::abs(value) > 1e12) {
      fail(what + ": '" + text + "' is not a number", "write it as in 12 or 0.5");
    }
    return value;
  }
  std::uint32_t count(const std::string& what, const std::string& text) const {
    const double value = number(what, text);
    if (value < 0 || value > 4e9 || value != std::floor(value)) {
      fail(what + ": '" + text + "' is not a whole number", "use 0, 1, 2, ...");
    }
    return static_cast<std::uint32_t>(value);
  }
  Time time(const std::string& what, const std::string& text) const {
    return Time{seconds(number(what, text))};
  }
  NodeSet nodes(const std::string& text) const {
    const auto set = parse_node_set(text);
    if (!set || set->empty()) fail("'" + text + "' is no set of nodes", "write it as in 0-3,7");
    return *set;
  }

  /// The rest of the line: "key=value" or "key", any order, each once, of these keys.
  std::map<std::string, std::string> options(const std::vector<std::string>& keys) {
    std::map<std::string, std::string> found;
    for (; !empty(); ++next_) {
      const std::string& word = words_[next_];
      const std::string key = word.substr(0, word.find('='));
      if (std::ranges::find(keys, key) == keys.end()) {
        fail("'" + word + "' is not understood here",
             keys.empty() ? "nothing more belongs here" : "there are " + joined(keys, ", "));
      }
      const std::string value = key.size() < word.size() ? word.substr(key.size() + 1) : "";
      if (!found.emplace(key, value).second) fail("'" + key + "' is given twice", "give it once");
    }
    return found;
  }

 private:
  std::string file_;
  std::uint64_t number_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

using Options = std::map<std::string, std::string>;

/// "2", "2..4": min and max.
SizeRange size_range(const Line& line, const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return exactly(line.count("size", text));
  return {line.count("size", text.substr(0, dots)), line.count("size", text.substr(dots + 2))};
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {
    scenario_.file = file;
    scenario_.workload.name = file;
    scenario_.settings.rules.identities = true;
    scenario_.settings.rules.check = true;
  }

  Scenario read();

 private:
  void directive(Line& line);
  void platform(Line& line);
  void node_class(Line& line);
  void step(Line& line);
  void partition(Line& line);
  void budget(Line& line);
  void corridor(Line& line);
  void mtct(Line& line);
  std::uint32_t where(const Line& line, const Options& options);
  void policy(Line& line);
  void unlike(Line& line);
  void rules(Line& line);
  void resize(Line& line);
  void start(Line& line);
  void node(Line& line);
  void order(Line& line);
  void book(Line& line);
  void job(Line& line);
  void evolve(Line& line);
  void phase(Line& line);
  void script(Line& line);
  void wait(const Line& line, std::uint64_t job, const Options& options);
  void expected(Line& line);
  void finish();

  RandomDuration duration(const Line& line, const std::string& what, const std::string& text);
  static void check_policy(const Line& line, const std::string& policy) {
    try {
      make_policy(policy);
    } catch (const InputError& error) {
      line.fail(error.what(), "");
    }
  }
  static Duration span(const Line& line, const std::string& what, const std::string& text) {
    const double value = line.number(what, text);
    if (value < 0) line.fail(what + " is negative", "use 0 or more seconds");
    return seconds(value);
  }
  static double chance(const Line& line, const std::string& what, const std::string& text) {
    const double value = line.number(what, text);
    if (value < 0 || value > 1) line.fail(what + " is a probability", "use 0 to 1");
    return value;
  }
  JobId job_called(const Line& line, const std::string& text) const {
    const auto found = ids_.find(line.count("job", text));
    if (found == ids_.end()) line.fail("there is no job " + text, "name a job of this file");
    return found->second;
  }
  AdaptiveJob& adaptive(const Line& line, std::uint32_t name, const std::string& what,
                        const std::string& with) {
    const auto& jobs = scenario_.workload.jobs;
    const auto job = std::ranges::find(jobs, name, &WorkloadJob::name);
    if (job == jobs.end() || job->adaptive == WorkloadJob::kRigid) {
      line.fail("there is no such job that " + what, "say it above, with " + with);
    }
    return scenario_.workload.adaptive[job->adaptive];
  }

  std::string_view text_;
  std::string file_;
  Scenario scenario_;
  std::set<std::string> seen_;                                     // directives that come once
  std::vector<Line> script_lines_;                                 // read last: they name jobs
  std::vector<Line> orders_;                                       // likewise
  std::vector<std::tuple<Line, std::uint64_t, Options>> waiting_;  // likewise
  std::map<std::uint64_t, JobId> ids_;
  std::map<std::uint64_t, std::string> reservations_;  // that jobs name
  Accounts accounts_{Fairness{}};
  bool expecting_ = false;
};

Scenario Parser::read() {
  std::uint64_t number = 0;
  for (std::string_view rest = text_; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Line line(file_, ++number, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty()) continue;
    expecting_ ? expected(line) : directive(line);
  }
  finish();
  return std::move(scenario_);
}

void Parser::directive(Line& line) {
  static const std::map<std::string, void (Parser::*)(Line&)> kOnce{{"platform", &Parser::platform},
                                                                    {"policy", &Parser::policy},
                                                                    {"rules", &Parser::rules},
                                                                    {"resize", &Parser::resize},
                                                                    {"start", &Parser::start}};
  static const std::map<std::string, void (Parser::*)(Line&)> kMany{
      {"job", &Parser::job},       {"node", &Parser::node},
      {"evolve", &Parser::evolve}, {"unlike", &Parser::unlike},
      {"phase", &Parser::phase},   {"class", &Parser::node_class},
      {"step", &Parser::step},     {"partition", &Parser::partition},
      {"budget", &Parser::budget}, {"corridor", &Parser::corridor},
      {"mtct", &Parser::mtct},     {"book", &Parser::book}};
  SimulationSettings& settings = scenario_.settings;
  const std::string name = line.word("directive");
  const auto once = kOnce.find(name);
  const bool known_once =
      once != kOnce.end() || name == "overrun" || name == "on_failure" || name == "show";
  if (known_once && !seen_.insert(name).second) line.fail("a second " + name, "give it once");
  if (once != kOnce.end()) {
    (this->*once->second)(line);
  } else if (const auto many = kMany.find(name); many != kMany.end()) {
    if (!seen_.contains("platform")) line.fail("platform comes first", "say it above this line");
    (this->*many->second)(line);
  } else if (name == "at" || name == "order") {
    (name == "at" ? script_lines_ : orders_).push_back(line);
  } else if (name == "overrun") {
    settings.kill_overrun = line.one_of("overrun", {"extend", "kill"}) == "kill";
    line.options({});
  } else if (name == "on_failure") {
    using OnFailure = SimulationSettings::OnFailure;
    const std::string what = line.one_of("on_failure", {"requeue", "kill", "shrink"});
    settings.on_failure = what == "kill"     ? OnFailure::kill
                          : what == "shrink" ? OnFailure::shrink
                                             : OnFailure::requeue;
    line.options({});
  } else if (name == "show") {
    const Options options = line.options({"reservations", "limits", "delays"});
    scenario_.show_reservations = options.contains("reservations");
    scenario_.show_limits = options.contains("limits");
    scenario_.show_delays = options.contains("delays");
  } else if (name == "expect") {
    line.options({});
    expecting_ = true;
  } else {
    line.fail("there is no directive '" + name + "'",
              "there are platform, class, partition, budget, corridor, mtct, policy, unlike, "
              "rules, overrun, "
              "resize, start, on_failure, node, book, job, "
              "evolve, phase, order, at, show, expect");
  }
}

void Parser::platform(Line& line) {
  Platform& machine = scenario_.settings.platform;
  std::vector<std::uint32_t> below;  // switches, by level
  for (const auto& [key, value] : line.options({"nodes", "cores", "switches"})) {
    if (key == "switches") {
      for (std::string_view rest = value; !rest.empty();) {
        below.push_back(line.count(key, std::string(next_part(rest, ','))));
        if (below.back() == 0) line.fail("no switches", "write switches=4,2");
      }
    } else {
      (key == "nodes" ? machine.nodes : machine.cores_per_node) = line.count(key, value);
    }
  }
  if (scenario_.settings.platform.nodes == 0) line.fail("no nodes", "write nodes=4");
  machine.switches = even_switches(machine.nodes, below);
}

void Parser::node_class(Line& line) {
  Platform& platform = scenario_.settings.platform;
  NodeClass its;
  its.name = line.word("name");
  its.nodes = line.nodes(line.word("nodes"));
  its.has.cores = 1;
  for (const auto& [key, value] :
       line.options({"speed", "memory", "idle", "busy", "off", "boot", "weight"})) {
    if (key == "memory" || key == "weight") {
      (key == "memory" ? its.has.memory_mb : its.weight) = line.count(key, value);
    } else if (key == "boot") {
      its.boot_time = span(line, key, value);
    } else {
      (key == "speed"  ? its.speed
       : key == "idle" ? its.idle_w
       : key == "off"  ? its.off_w
                       : its.busy_w) = line.number(key, value);
    }
  }
  platform.classes.push_back(std::move(its));
  platform.idle_w = platform.classes[0].idle_w;
  platform.busy_w = platform.classes[0].busy_w;
}

void Parser::step(Line& line) {
  FrequencyStep its;
  for (const auto& [key, value] : line.options({"speed", "power"})) {
    (key == "speed" ? its.speed : its.power) = line.number(key, value);
  }
  scenario_.settings.platform.steps.push_back(its);
}

void Parser::partition(Line& line) {
  Partition its;
  its.name = line.word("name");
  its.nodes = line.nodes(line.word("nodes"));
  for (const auto& [key, value] : line.options({"priority"})) its.priority = line.count(key, value);
  scenario_.settings.platform.partitions.push_back(std::move(its));
}

void Parser::budget(Line& line) {
  PowerCap cap;
  cap.at = line.time("time", line.word("time"));
  const std::string watts = line.word("watts");
  cap.watts =
      watts == "none" ? std::numeric_limits<double>::infinity() : line.number("watts", watts);
  line.options({});
  scenario_.settings.power_caps.push_back(cap);
}

void Parser::corridor(Line& line) {
  const Time at = line.time("time", line.word("time"));
  const std::string lower = line.word("lower bound"), upper = line.word("upper bound");
  CorridorLine its = parse_corridor(lower, upper, line.place("corridor"));
  its.at = at;
  line.options({});
  scenario_.settings.corridor.push_back(its);
}

void Parser::mtct(Line& line) {
  const std::uint32_t job = line.count("job", line.word("job number"));
  const Nodes size = line.count("size", line.word("size"));
  const double value = line.number("mtct", line.word("mtct"));
  line.options({});
  scenario_.settings.mtct.table[{job, size}] = std::llround(value * 1e6);
}

/// Where a job wants to run: its place in the workload's list plus 1; 0: anywhere.
std::uint32_t Parser::where(const Line& line, const Options& options) {
  Where asked;
  for (const auto& [key, value] : options) {
    if (key == "partition") {
      const auto& partitions = scenario_.settings.platform.partitions;
      for (std::string_view rest = value; !rest.empty();) {
        const std::string_view name = next_part(rest, ',');
        const auto at = std::ranges::find(partitions, name, &Partition::name);
        if (at == partitions.end()) {
          line.fail("there is no partition '" + std::string(name) + "'", "say it above");
        }
        asked.partitions |= std::uint64_t{1} << (at - partitions.begin());
      }
    } else if (key == "memory") {
      asked.each.memory_mb = line.count(key, value);
    } else if (key == "only" || key == "never") {
      (key == "only" ? asked.only : asked.never) = line.nodes(value);
    }
  }
  if (asked == Where{}) return 0;
  auto& known = scenario_.workload.where;
  const auto at = std::ranges::find(known, asked) - known.begin();
  if (at == std::ssize(known)) known.push_back(asked);
  return static_cast<std::uint32_t>(at + 1);
}

void Parser::policy(Line& line) {
  scenario_.policy = line.word("policy");
  const std::string name = scenario_.policy.substr(0, scenario_.policy.find(':'));
  scenario_.scripted = name == "script";
  if (scenario_.scripted) {
    scenario_.policy.replace(0, name.size(), "fcfs");  // for the parameters all policies have
    for (const auto& [key, value] : line.options({"tick"})) scenario_.tick = span(line, key, value);
  }
  line.options({});
  check_policy(line, scenario_.policy);
  scenario_.settings.shares |= make_policy(scenario_.policy)->traits.needs.parts;
}

void Parser::unlike(Line& line) {
  while (!line.empty()) {
    scenario_.unlike.push_back(line.word("policy"));
    check_policy(line, scenario_.unlike.back());
  }
}

void Parser::rules(Line& line) {
  // The first of two words, or the second?
  const auto choose = [&](const std::string& text, const std::string& yes, const std::string& no) {
    if (text != yes && text != no)
      line.fail("there is no '" + text + "'", "use " + yes + " or " + no);
    return text == yes;
  };
  Rules& rules = scenario_.settings.rules;
  for (const auto& [key, value] :
       line.options({"limit", "identities", "seed", "fairness", "claims", "reservations", "share",
                     "contention", "off", "placement", "slow"})) {
    if (key == "limit") {
      rules.limit = choose(value, "fixed", "scaled") ? Rules::Limit::fixed : Rules::Limit::scaled;
    } else if (key == "identities") {
      rules.identities = choose(value, "on", "off");
    } else if (key == "share") {
      rules.share = choose(value, "worst", "ideal") ? ShareModel::worst : ShareModel::ideal;
    } else if (key == "contention") {
      rules.contention = parse_contention(value, {.field = "contention"});
    } else if (key == "claims") {
      rules.claims_take_idle = choose(value, "take-idle", "wait");
    } else if (key == "placement") {
      const auto placement = from_word<Placement>(kPlacementWords, value);
      if (!placement)
        line.fail("there is no '" + value + "'", "use first, contiguous, compact or spread");
      rules.placement = *placement;
    } else if (key == "slow") {
      rules.slow_for_power = choose(value, "yes", "no");
    } else if (key == "off") {
      rules.node_off_after = span(line, key, value);
    } else if (key == "reservations") {
      rules.reservations_per_plan = line.count(key, value);
    } else if (key == "fairness") {
      rules.fairness = parse_fairness(value, {.field = "fairness"});
    } else {
      rules.seed = line.count(key, value);
    }
  }
}

RandomDuration Parser::duration(const Line& line, const std::string& what,
                                const std::string& text) {
  RandomDuration random;
  if (text.starts_with("exponential:")) {
    random.kind = RandomDuration::Kind::exponential;
    random.a = span(line, what, text.substr(12));
  } else if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    random.kind = RandomDuration::Kind::uniform;
    random.a = span(line, what, text.substr(0, dots));
    random.b = span(line, what, text.substr(dots + 2));
    if (random.b < random.a) line.fail(what + ": the range is empty", "write LEAST..MOST");
  } else {
    random.a = span(line, what, text);
  }
  return random;
}

void Parser::resize(Line& line) {
  ResizeBehaviour& how = scenario_.settings.resize;
  for (const auto& [key, value] :
       line.options({"apply", "delay", "refuse", "lose", "timeout", "partly", "repeat", "retry",
                     "moves", "shared", "contention"})) {
    if (key == "contention") {
      scenario_.settings.contention = parse_contention(value, {.field = "contention"});
    } else if (key == "shared") {
      const auto model = from_word<ShareModel>(kShareModelWords, value);
      if (!model) line.fail("shared: '" + value + "'", "use " + listed(kShareModelWords));
      scenario_.settings.share = *model;
    } else if (key == "moves") {
      scenario_.settings.moves = value != "no";
      if (value != "no" && value != "yes") line.fail("moves: '" + value + "'", "use yes or no");
    } else if (key == "apply") {
      const std::string word = value.substr(0, value.find(':'));
      if (word != "immediate" && word != "phase-end") {
        line.fail("apply: there is no '" + value + "'", "use immediate, phase-end, phase-end:N");
      }
      if (word == "phase-end") how.apply_at = ResizeBehaviour::ApplyAt::phase_end;
      if (word != value) how.phases = std::max(1u, line.count(key, value.substr(word.size() + 1)));
    } else if (key == "delay") {
      how.delay = duration(line, key, value);
    } else if (key == "timeout" || key == "retry") {
      (key == "timeout" ? how.timeout : how.retry) = span(line, key, value);
    } else {
      (key == "refuse"   ? how.refuse
       : key == "lose"   ? how.lose
       : key == "partly" ? how.partly
                         : how.repeat) = chance(line, key, value);
    }
  }
}

void Parser::start(Line& line) {
  SimulationSettings& settings = scenario_.settings;
  for (const auto& [key, value] : line.options({"delay", "fail", "retry"})) {
    if (key == "delay") {
      settings.start_delay = duration(line, key, value);
    } else if (key == "fail") {
      settings.start_failure = chance(line, key, value);
    } else {
      settings.start_retry = span(line, key, value);
    }
  }
}

void Parser::node(Line& line) {
  NodeEvent event;
  event.at = line.time("time", line.word("time"));
  event.nodes = line.nodes(line.word("nodes"));
  const std::string health = line.one_of("health", {"up", "drain", "down", "off"});
  event.health = health == "up"      ? Health::up
                 : health == "drain" ? Health::draining
                 : health == "down"  ? Health::down
                                     : Health::off;
  line.options({});
  if (event.nodes.parts.back().last >= scenario_.settings.platform.nodes) {
    line.fail("the machine has no such node", "nodes are numbered from 0");
  }
  scenario_.settings.node_events.push_back(std::move(event));
}

void Parser::book(Line& line) {
  BookingOrder order;
  order.at = line.time("time", line.word("time"));
  order.booking.name = line.word("name");
  bool is_over = true;
  for (const auto& [key, value] : line.options({"from", "to", "nodes", "count", "watts", "jobs"})) {
    is_over = false;
    if (key == "from" || key == "to") {
      (key == "from" ? order.booking.from : order.booking.to) = line.time(key, value);
    } else if (key == "nodes") {
      order.booking.nodes = line.nodes(value);
    } else if (key == "count") {
      order.count = line.count(key, value);
    } else if (key == "watts") {
      order.booking.power_mw = std::llround(line.number(key, value) * 1000);
    } else {
      order.booking.for_jobs = true;
    }
  }
  if (is_over) order.booking.to = order.at;
  scenario_.settings.bookings.push_back(std::move(order));
}

void Parser::order(Line& line) {
  OperatorOrder order;
  order.at = line.time("time", line.word("time"));
  const std::string what =
      line.one_of("order", {"cancel", "requeue", "suspend", "resume", "resize", "migrate"});
  order.job = job_called(line, line.word("job"));
  if (const auto how = from_word<Stop>(kStopWords, what)) {
    order.what = *how;
  } else if (what == "resume") {
    order.what = OperatorOrder::Resume{};
  } else if (what == "resize") {
    order.what = OperatorOrder::Resize{line.count("nodes", line.word("nodes"))};
  } else {
    order.what =
        OperatorOrder::Leave{line.skip("off") ? line.nodes(line.word("nodes")) : NodeSet{}};
  }
  line.options({});
  scenario_.settings.orders.push_back(order);
}

void Parser::job(Line& line) {
  WorkloadJob job;
  job.name = line.count("job", line.word("job number"));
  std::optional<JobType> type;
  std::optional<Nodes> min, max;
  AdaptiveJob more;
  bool adapts = false, is_special = false;
  const Options options = line.options(
      {"submit",  "nodes",   "walltime",   "run",        "user", "group",   "type",
       "min",     "max",     "model",      "constraint", "cost", "release", "priority",
       "account", "barrier", "partition",  "memory",     "only", "never",   "reservation",
       "watts",   "bound",   "dependency", "preceding",  "think"});
  job.where = where(line, options);
  if (options.contains("think") && !options.contains("preceding")) {
    line.fail("think: there is no preceding job", "write preceding=1");
  }
  if (options.contains("dependency") || options.contains("preceding")) {
    waiting_.emplace_back(line, job.name, options);
  }
  for (const auto& [key, value] : options) {
    if (key == "partition" || key == "memory" || key == "only" || key == "never") continue;
    if (key == "dependency" || key == "preceding" || key == "think") continue;
    if (key == "submit") {
      job.submit = Time{span(line, key, value)};
    } else if (key == "walltime" || key == "run") {
      (key == "run" ? job.runtime : job.walltime) = span(line, key, value);
    } else if (key == "nodes" || key == "user" || key == "group") {
      (key == "nodes" ? job.nodes : key == "user" ? job.user : job.group) = line.count(key, value);
    } else if (key == "bound") {
      const auto its = from_word<Bound>(kBoundWords, value);
      if (!its) line.fail("bound: there is no '" + value + "'", "use " + listed(kBoundWords));
      job.bound = *its;
    } else if (key == "reservation") {
      reservations_[job.name] = value;
    } else if (key == "priority" || key == "account" || key == "barrier") {
      is_special = true;
      if (key == "priority") more.priority = static_cast<std::int32_t>(line.count(key, value));
      if (key == "account") more.account = accounts_.number(account_name(value, line.place(key)));
      if (key == "barrier") more.barrier = true;
    } else {
      adapts = adapts || key != "watts";
      if (key == "type") {
        type = from_word<JobType>(kJobTypeWords, value);
        if (!type) line.fail("type: there is no '" + value + "'", "use " + listed(kJobTypeWords));
      } else if (key == "min" || key == "max") {
        (key == "min" ? min : max) = line.count(key, value);
      } else if (key == "model") {
        more.speedup = more.believed.speedup = parse_speedup(value, line.place(key));
      } else if (key == "constraint") {
        more.believed.constraint = parse_constraint(value, line.place(key));
      } else if (key == "watts") {
        read_watts(value, line.place(key), more);
        is_special = true;
      } else if (key == "cost") {
        more.cost.fixed_s = more.believed.cost.fixed_s = to_seconds(span(line, key, value));
      } else {
        more.believed.resize_delay = span(line, key, value);
      }
    }
  }
  if (job.nodes == 0) line.fail("the job has no nodes", "write nodes=1");
  if (job.walltime == Duration{}) job.walltime = job.runtime;
  if (job.runtime == Duration{}) job.runtime = job.walltime;
  if (job.runtime == Duration{}) line.fail("the job has no run time", "write run=10");
  if (adapts || is_special) {
    more.type = type.value_or(adapts ? JobType::malleable : JobType::rigid);
    more.size = {min.value_or(job.nodes), max.value_or(job.nodes)};
    if (more.size.min == 0 || !more.size.contains(job.nodes)) {
      line.fail("nodes, min and max do not agree", "0 < min <= nodes <= max");
    }
    job.adaptive = static_cast<std::uint32_t>(scenario_.workload.adaptive.size());
    scenario_.workload.adaptive.push_back(std::move(more));
  }
  for (const WorkloadJob& other : scenario_.workload.jobs) {
    if (other.name == job.name) line.fail("a second job of this number", "number it otherwise");
  }
  scenario_.workload.jobs.push_back(job);
}

void Parser::evolve(Line& line) {
  const std::uint32_t name = line.count("job", line.word("job number"));
  EvolvingStep step;
  for (const auto& [key, value] : line.options({"at", "delta", "least", "again", "saves"})) {
    if (key == "at") {
      step.progress = chance(line, key, value);
    } else if (key == "delta") {
      step.delta = static_cast<std::int32_t>(line.number(key, value));
    } else if (key == "again") {
      step.if_denied = true;
    } else if (key == "saves") {
      step.saves = line.number(key, value);
    } else {
      step.at_least = line.count(key, value);
    }
  }
  if (step.delta == 0) line.fail("no delta", "write delta=2 or delta=-1");
  adaptive(line, name, "evolves", "type=evolving or adaptive").steps.push_back(step);
}

void Parser::phase(Line& line) {
  const std::uint32_t name = line.count("job", line.word("job number"));
  Phase phase;
  for (const auto& [key, value] : line.options({"until", "model", "iterations", "points"})) {
    if (key == "until") {
      phase.until = chance(line, key, value);
    } else if (key == "model") {
      phase.speedup = parse_speedup(value, line.place(key));
    } else if (key == "iterations") {
      phase.iterations = std::max(1u, line.count(key, value));
    } else if (value == "no" || value == "yes") {
      phase.scheduling_points = value == "yes";
    } else {
      line.fail("points: there is no '" + value + "'", "use yes or no");
    }
  }
  adaptive(line, name, "has phases", "a type").phases.push_back(phase);
}

void Parser::script(Line& line) {
  using Verb = ScriptLine::Verb;
  static const std::map<std::string, Verb> kVerbs{
      {"start", Verb::start},       {"resize", Verb::resize},     {"grant", Verb::grant},
      {"deny", Verb::deny},         {"withdraw", Verb::withdraw}, {"reserve", Verb::reserve},
      {"tag", Verb::tag},           {"wake", Verb::wake},         {"in-order", Verb::in_order},
      {"backfill", Verb::backfill}, {"cancel", Verb::cancel},     {"requeue", Verb::requeue},
      {"suspend", Verb::suspend},   {"together", Verb::together}, {"guest", Verb::guest}};
  ScriptLine action;
  action.at = line.time("time", line.word("time"));
  if (line.skip("again")) action.pass = 2;
  action.text = line.text();
  const std::string verb = line.word("what to do");
  const auto known = kVerbs.find(verb);
  if (known == kVerbs.end()) {
    line.fail("the script cannot '" + verb + "'",
              "there are start, resize, grant, deny, withdraw, reserve, tag, wake, in-order, "
              "backfill, together, cancel, requeue, suspend, guest");
  }
  action.verb = known->second;
  const bool about_job = action.verb != Verb::wake && action.verb != Verb::in_order &&
                         action.verb != Verb::backfill && action.verb != Verb::together;
  if (about_job) action.job = job_called(line, line.word("job"));
  const bool shares = action.verb == Verb::guest;
  scenario_.settings.shares |= shares;
  if (action.verb == Verb::start || action.verb == Verb::resize || shares) {
    action.size = size_range(line, line.word("size"));
  }
  if (action.verb == Verb::reserve || action.verb == Verb::wake) {
    action.time = line.time("time", line.word("time"));
  }
  const bool stops = action.verb >= Verb::cancel && !shares;
  scenario_.settings.suspends |= stops;
  action.reason.why = stops                           ? Why::shrunk_for
                      : shares                        ? Why::guest
                      : action.verb == Verb::start    ? Why::in_order
                      : action.verb == Verb::together ? Why::in_order
                      : action.verb == Verb::resize   ? Why::hand_out
                      : action.verb == Verb::deny     ? Why::fairness
                      : action.verb == Verb::withdraw ? Why::resources
                      : action.verb == Verb::reserve  ? Why::resources
                                                      : Why::evolving;
  for (const auto& [key, value] :
       line.options({"cuts", "jobs", "incoming", "strict", "depth", "reason", "for", "on"})) {
    if (key == "on") {
      action.on = line.nodes(value);
    } else if (key == "jobs") {
      for (std::string_view rest = value; !rest.empty();) {
        std::string_view size = next_part(rest, ',');
        const std::string job(next_part(size, ':'));
        action.gains.emplace_back(job_called(line, job), size_range(line, std::string(size)));
      }
    } else if (key == "cuts") {
      for (std::string rest = value; !rest.empty();) {
        const std::string cut = rest.substr(0, rest.find(','));
        rest.erase(0, std::min(cut.size() + 1, rest.size()));
        const std::size_t colon = cut.find(shares ? '@' : ':');
        if (colon == std::string::npos) {
          line.fail("'" + cut + "' is no cut", "write JOB:SIZE, of a guest JOB@CORES");
        }
        const std::uint32_t to = line.count("size", cut.substr(colon + 1));
        Cut its{job_called(line, cut.substr(0, colon)), to};
        if (shares) its.each = Slice{.cores = static_cast<std::uint16_t>(to)};
        action.cuts.push_back(its);
      }
    } else if (key == "incoming") {
      action.incoming = true;
    } else if (key == "strict") {
      action.strict = true;
    } else if (key == "depth") {
      action.depth = value == "unlimited" ? Backfill::kUnlimited : line.count(key, value);
    } else if (key == "for") {
      action.reason.job = job_called(line, value);
    } else {
      const auto at = std::ranges::find(kWhyWords, value);
      if (at == kWhyWords.end()) line.fail("there is no reason '" + value + "'", "see reason.hpp");
      action.reason.why = static_cast<Why>(at - kWhyWords.begin());
    }
  }
  scenario_.script.push_back(std::move(action));
}

void Parser::expected(Line& line) {
  static const std::vector<std::string> kKinds{
      "start",   "cores",    "frequency", "started", "start-failed", "end",
      "requeue", "reject",   "resize",    "resized", "request",      "deny",
      "claim",   "dissolve", "withdraw",  "reserve", "limit",        "node",
      "refused", "left",     "delays",    "stop",    "suspended",    "switch"};
  const std::string time = line.word("time");
  const Time at = line.time("time", time);
  Line rest = line;
  line.one_of("kind of line", kKinds);
  if (line.empty()) line.fail("whom it is about is missing", "write TIME KIND JOB ...");
  scenario_.expected.push_back({line.number(), seconds_text(at) + " " + rest.text()});
}

void Parser::wait(const Line& line, std::uint64_t job, const Options& options) {
  std::vector<Precedence>& rows = scenario_.workload.precedences;
  const auto place = [&](std::uint64_t name) {
    return static_cast<std::uint32_t>(index(job_called(line, std::to_string(name))));
  };
  Precedence row{.job = place(job), .line = line.number()};
  if (const auto preceding = options.find("preceding"); preceding != options.end()) {
    row.on = place(line.count("preceding", preceding->second));
    if (const auto think = options.find("think"); think != options.end()) {
      row.think = span(line, "think", think->second);
      row.sets_submit = true;
    }
    rows.push_back(row);
  }
  if (const auto dependency = options.find("dependency"); dependency != options.end()) {
    for (const Dependency& each :
         parse_dependencies(dependency->second, line.place("dependency"))) {
      rows.push_back({.job = row.job,
                      .on = place(each.job),
                      .kind = each.kind,
                      .from = Precedence::From::beside,
                      .line = row.line});
    }
  }
}

void Parser::finish() {
  const Line end(file_, 0, "");
  if (!seen_.contains("platform")) end.fail("no platform", "write platform nodes=4");
  if (!seen_.contains("policy")) end.fail("no policy", "write policy easy");
  if (!expecting_) end.fail("no expect", "write expect and what shall happen");
  SimulationSettings& settings = scenario_.settings;
  if (!settings.node_events.empty() && !settings.rules.identities) {
    end.fail("node events need identities", "leave identities=off out");
  }
  scenario_.workload.accounts = accounts_.names();
  auto& jobs = scenario_.workload.jobs;
  std::ranges::stable_sort(jobs, {}, &WorkloadJob::submit);
  std::ranges::stable_sort(settings.node_events, {}, &NodeEvent::at);
  for (std::uint32_t i = 0; i < jobs.size(); ++i) ids_[jobs[i].name] = JobId{i};
  // By name: the first line of one makes it, others change or end it.
  std::ranges::stable_sort(settings.bookings, {}, &BookingOrder::at);
  std::vector<std::string> names;
  for (BookingOrder& each : settings.bookings) {
    const auto known = std::ranges::find(names, each.booking.name);
    if (known == names.end()) {
      names.push_back(each.booking.name);
    } else {
      each.booking.id = BookingId{static_cast<std::uint32_t>(known - names.begin())};
    }
  }
  for (const auto& named : reservations_) {
    const std::string& name = named.second;
    const auto its = [&](const BookingOrder& each) { return each.booking.name == name; };
    const auto made = std::ranges::find_if(settings.bookings, its);
    if (made == settings.bookings.end()) {
      end.fail("there is no reservation '" + name + "'", "write book");
    }
    const auto job = static_cast<std::uint32_t>(named.first);
    made->jobs.insert(job, job);
  }
  if (!scenario_.scripted && !script_lines_.empty()) {
    script_lines_.front().fail("only a scripted policy does what lines say", "write policy script");
  }
  for (Line& line : script_lines_) script(line);
  for (Line& line : orders_) order(line);
  for (const auto& [line, job, options] : waiting_) wait(line, job, options);
  std::ranges::stable_sort(scenario_.workload.precedences, {}, &Precedence::job);
  check_precedences(scenario_.workload, file_, file_);
  if (scenario_.scripted && !waiting_.empty()) {
    std::get<Line>(waiting_.front())
        .fail("a script knows jobs by the order of their submit times",
              "let no job wait for another one");
  }
  std::ranges::stable_sort(settings.orders, {}, &OperatorOrder::at);
  std::ranges::stable_sort(settings.power_caps, {}, &PowerCap::at);
  if (!is_sound(settings.platform)) end.fail("classes and partitions", "name nodes that there are");
  std::ranges::stable_sort(scenario_.script, {},
                           [](const ScriptLine& line) { return std::pair(line.at, line.pass); });
}

// --- Playing
// -----------------------------------------------------------------------------------------

/// Does what the script says, and writes down what was not possible.
///
/// Unlike a real policy it has a memory: which lines are done. It serves one run.
class ScriptPolicy final : public Policy {
 public:
  ScriptPolicy(const Scenario& scenario, std::vector<std::string>& lines)
      : Policy(make_policy(scenario.policy)->traits), scenario_(scenario), lines_(lines) {
    traits.settings = "script";
    traits.answers_requests = true;
  }

  void schedule(Pass& pass) const override {
    passes_ = pass.now() == instant_ ? passes_ + 1 : 1;
    instant_ = pass.now();
    const auto& script = scenario_.script;
    for (; next_ < script.size(); ++next_) {
      const ScriptLine& line = script[next_];
      if (line.at > pass.now() || (line.at == pass.now() && line.pass > passes_)) break;
      if (!carry_out(pass, line)) {
        lines_.push_back(seconds_text(pass.now()) + " refused " + line.text);
      }
    }
    if (next_ < script.size()) pass.wake_by(script[next_].at);
    if (scenario_.tick > Duration{}) {
      const auto ticks = pass.now().time_since_epoch() / scenario_.tick;
      pass.wake_by(Time{(ticks + 1) * scenario_.tick});
    }
  }

 private:
  static bool carry_out(Pass& pass, const ScriptLine& line) {
    using Verb = ScriptLine::Verb;
    const Sources sources{line.cuts, line.incoming};
    switch (line.verb) {
      case Verb::start:
        return pass.start(line.job, line.size, line.reason, sources);
      case Verb::resize:
        return pass.resize(line.job, line.size.max, line.reason, sources);
      case Verb::grant:
      case Verb::deny: {
        const auto requests = pass.requests();
        const auto its = std::ranges::find(requests, line.job, &Request::job);
        if (its == requests.end()) return false;
        return line.verb == Verb::grant ? pass.grant(its->id, line.reason, sources)
                                        : pass.deny(its->id, line.reason);
      }
      case Verb::withdraw:
        return pass.withdraw(pass.job(line.job).claim, line.reason);
      case Verb::reserve:
        return pass.reserve(line.job, line.time, line.reason);
      case Verb::tag:
        return pass.tag(line.job, line.job);
      case Verb::wake:
        return pass.wake_by(line.time);
      case Verb::in_order:
        start_in_order(pass, {.strict = line.strict});
        return true;
      case Verb::backfill:
        backfill(pass, {.reservation_depth = line.depth});
        return true;
      case Verb::together: {
        std::vector<Gain> gains;
        for (const auto& [job, size] : line.gains) gains.push_back({.job = job, .size = size});
        return pass.carry_out(line.cuts, gains, line.reason, line.incoming);
      }
      case Verb::cancel:
        return pass.stop(line.job, Stop::cancel, line.reason);
      case Verb::requeue:
        return pass.stop(line.job, Stop::requeue, line.reason);
      case Verb::suspend:
        return pass.stop(line.job, Stop::suspend, line.reason);
      case Verb::guest: {
        std::vector<Cut> cuts = line.cuts;
        Gain gain{.job = line.job, .size = line.size};
        gain.on = line.on;
        for (Cut& cut : cuts) {
          if (!pass.knows(cut.victim)) return false;
          cut.to = pass.job(cut.victim).size();
          gain.on.insert(pass.job(cut.victim).holding.nodes);
        }
        return pass.carry_out(cuts, {&gain, 1}, line.reason);
      }
    }
    return false;
  }

  const Scenario& scenario_;
  std::vector<std::string>& lines_;
  mutable std::size_t next_ = 0;
  mutable Time instant_ = Time::min();
  mutable std::uint32_t passes_ = 0;
};

/// Writes down what happens.
class Narrator final : public Observer {
 public:
  Narrator(const Scenario& scenario, std::vector<std::string>& lines)
      : scenario_(scenario), lines_(lines) {}

  bool wants_events() const override { return true; }

  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    if (!taken) return;
    if (const auto* started = std::get_if<event::Started>(&event)) {
      line(now, "started", started->job);
    } else if (const auto* failed = std::get_if<event::StartFailed>(&event)) {
      line(now, "start-failed", failed->job);
    } else if (const auto* resized = std::get_if<event::Resized>(&event)) {
      // Left out where it comes at once and as ordered.
      const auto ordered = orders_.find(resized->job);
      const bool plain = ordered != orders_.end() && ordered->second.first == now &&
                         ordered->second.second == resized->now;
      if (!plain) line(now, "resized", resized->job, text(resized->now));
      orders_.erase(resized->job);
    } else if (const auto* suspended = std::get_if<event::Suspended>(&event)) {
      line(now, "suspended", suspended->job);
    } else if (const auto* asked = std::get_if<event::EvolvingRequested>(&event)) {
      line(now, "request", asked->job,
           std::string(asked->delta > 0 ? "+" : "") + std::to_string(asked->delta));
    } else if (const auto* changed = std::get_if<event::NodesChanged>(&event)) {
      static constexpr std::array<const char*, 4> kWords{"up", "drain", "down", "off"};
      lines_.push_back(seconds_text(now) + " node " + nodes_text(changed->nodes) + " " +
                       kWords[static_cast<std::size_t>(changed->health)]);
    }
    static_cast<void>(core);
  }

  void on_decision(Time now, const Decision& decision, const Core&) override {
    decided_.insert(decision.job);
    switch (decision.kind) {
      case Decision::Kind::start:
        line(now, "start", decision.job,
             text(decision.after) + " " + text(decision.reason) +
                 (decision.step > 0 ? " step=" + std::to_string(decision.step) : ""));
        return;
      case Decision::Kind::resize:
        orders_[decision.job] = {now, decision.after};
        line(now, "resize", decision.job, text(decision.after) + " " + text(decision.reason));
        return;
      case Decision::Kind::cores:
        line(now, "cores", decision.job, text(decision.after) + " " + text(decision.reason));
        return;
      case Decision::Kind::frequency:
        line(now, "frequency", decision.job,
             "step=" + std::to_string(decision.step) + " " + text(decision.reason));
        return;
      case Decision::Kind::cancel:
      case Decision::Kind::requeue:
      case Decision::Kind::suspend:
        line(now, "stop", decision.job,
             std::string(word(decision.kind)) + " " + text(decision.reason));
        return;
      case Decision::Kind::deny:
        line(now, "deny", decision.job, text(decision.reason));
        return;
      case Decision::Kind::reject:
        line(now, "reject", decision.job, text(decision.reason));
        return;
      case Decision::Kind::power_on:
      case Decision::Kind::power_off:
        lines_.push_back(seconds_text(now) + " switch " + nodes_text(decision.after.nodes) + " " +
                         (decision.kind == Decision::Kind::power_on ? "on " : "off ") +
                         text(decision.reason));
        return;
      case Decision::Kind::set_limit:
        if (scenario_.show_limits) {
          line(now, "limit", decision.job, seconds_text(decision.limit));
        }
        return;
      default:
        return;
    }
  }

  void on_end(Time now, JobId id, const WorkloadJob&, EndState state, bool requeued,
              const Core& core) override {
    const bool rejected = !core.state().jobs.contains(id) || core.job(id).status == Status::over;
    if (rejected) return;
    orders_.erase(id);
    const std::string_view how =
        state == EndState::completed ? "" : kEndWords[static_cast<std::size_t>(state)];
    line(now, requeued ? "requeue" : "end", id, std::string(how));
  }

  void on_close(Time now, const Core& core) override {
    for (const PenCall& call : core.pen_calls()) {
      if (call.verb == PenCall::Verb::reserve && scenario_.show_reservations) {
        line(now, "reserve", call.job, seconds_text(call.time));
      }
    }
    const auto& claims = core.state().claims;
    for (auto& [id, job] : claims_) {
      if (std::ranges::find(claims, id, &Claim::id) != claims.end()) continue;
      const auto called = [&](const PenCall& call, auto... verbs) {
        return ((call.verb == verbs) || ...);
      };
      bool withdrawn = false, written = false;
      for (const PenCall& call : core.pen_calls()) {
        using Verb = PenCall::Verb;
        withdrawn |= called(call, Verb::withdraw) && call.claim == id;
        written |= called(call, Verb::start, Verb::resize, Verb::grant) && call.job == job;
      }
      if (withdrawn) {
        line(now, "withdraw", job);
      } else if (written || !decided_.contains(job)) {
        line(now, "dissolve", job);
      }  // else it was carried out
    }
    for (const Claim& claim : claims) {
      if (claims_.contains(claim.id)) continue;
      std::string what = "holds=" + std::to_string(claim.held.count) +
                         " pledged=" + std::to_string(claim.pledged());
      if (!claim.inside.empty()) what += " inside=" + nodes_text(nodes_in(claim.inside));
      line(now, "claim", claim.job, what);
    }
    claims_.clear();
    for (const Claim& claim : claims) claims_[claim.id] = claim.job;
    decided_.clear();
  }

  void on_finish(Time now, const Core& core) override {
    for (std::uint32_t i = 0; i < scenario_.workload.jobs.size(); ++i) {
      if (i >= core.state().jobs.size() || !core.state().jobs.contains(JobId{i})) continue;
      const Status status = core.job(JobId{i}).status;
      if (status == Status::over) continue;
      line(now, "left", JobId{i},
           status == Status::running    ? "running"
           : core.job(JobId{i}).goes_on ? "suspended"
                                        : "pending");
    }
    if (scenario_.show_delays) delays(now, core.state());
  }

 private:
  void line(Time now, const char* kind, JobId id, const std::string& more = "") {
    std::string text = seconds_text(now) + " " + kind + " ";
    text += std::to_string(scenario_.workload.jobs[index(id)].name);
    if (!more.empty()) text += " " + more;
    lines_.push_back(std::move(text));
  }
  void delays(Time now, const State& state) {
    Accounts accounts(state.rules.fairness);
    for (const std::string& name : scenario_.workload.accounts) accounts.number(name);
    for (const Delays& its : state.delays) {
      const auto [kind, number] = its.party;
      if (kind == Party::Kind::group || (kind == Party::Kind::account && number == 0)) continue;
      std::string text = seconds_text(now) + " delays ";
      text += kind == Party::Kind::user ? "user" + std::to_string(number)
                                        : "account:" + accounts.name(number);
      text += " jobs=" + std::to_string(its.jobs);
      const auto add = [&](const char* key, double value) {
        append_number(text.append(" ").append(key).append("="), value);
      };
      add("planned", its.planned_s);
      add("suffered", its.suffered_s);
      add("caused", its.caused_s);
      lines_.push_back(std::move(text));
    }
  }
  static std::string nodes_text(const NodeSet& nodes) {
    std::string text = to_string(nodes);
    std::ranges::replace(text, ' ', ',');
    return text;
  }
  static std::string text(const Holding& holding) {
    if (holding.nodes.empty()) return "size=" + std::to_string(holding.count);
    std::string text = "nodes=" + nodes_text(holding.nodes);
    for (const Part& part : holding.parts) {
      text += " cores=" + std::to_string(part.has.cores) + "@" + nodes_text(part.nodes);
    }
    return text;
  }
  std::string text(const Reason& reason) const {
    std::string text(word(reason.why));
    if (reason.job != JobId::none) {
      text += " for=" + std::to_string(scenario_.workload.jobs[index(reason.job)].name);
    }
    return text;
  }

  const Scenario& scenario_;
  std::vector<std::string>& lines_;
  std::map<ClaimId, JobId> claims_;                   // at the last close
  std::set<JobId> decided_;                           // since then
  std::map<JobId, std::pair<Time, Holding>> orders_;  // resizes that were not answered
};

}  // namespace

Scenario parse_scenario(std::string_view text, const std::string& file) {
  return Parser(text, file).read();
}

Scenario read_scenario(const std::filesystem::path& file) {
  return parse_scenario(read_unpacked(file), file.string());
}

std::vector<std::string> play(const Scenario& read) {
  Scenario scenario = read;  // jobs that wait for others are put in order
  std::vector<std::string> lines;
  SimulationSettings settings = scenario.settings;
  settings.rules.record = true;
  if (scenario.scripted) {
    settings.policy = std::make_shared<ScriptPolicy>(scenario, lines);
  } else {
    settings.policy = make_policy(scenario.policy);
  }
  Narrator narrator(scenario, lines);
  Observer* const observers[] = {&narrator};
  if (scenario.workload.precedences.empty()) {
    simulate(scenario.workload, settings, observers);
  } else {
    simulate_in_order(scenario.workload, settings, observers);
  }
  return lines;
}

std::vector<std::string> play_under(Scenario scenario, const std::string& policy) {
  scenario.scripted = false;
  scenario.policy = policy;
  return play(scenario);
}

std::vector<std::string> play_without_identities(Scenario scenario) {
  scenario.settings.rules.identities = false;
  return play(scenario);
}

std::string without_identities(const std::string& line) {
  std::string result;
  for (const std::string& word : words_of(line)) {
    if (!result.empty()) result += ' ';
    if (word.starts_with("nodes=")) {
      const auto nodes = parse_node_set(word.substr(6));
      result += "size=" + std::to_string(nodes ? nodes->count() : 0);
    } else {
      result += word;
    }
  }
  return result;
}

std::string difference(const Scenario& scenario, const std::vector<std::string>& happened) {
  const auto& expected = scenario.expected;
  const std::size_t rows = expected.size(), columns = happened.size();
  const auto same = [&](std::size_t i, std::size_t j) { return expected[i].text == happened[j]; };
  if (rows == columns) {
    std::size_t i = 0;
    while (i < rows && same(i, i)) ++i;
    if (i == rows) return "";
  }
  // common[i][j]: how many lines the rests from i and from j have in common, in order.
  std::vector<std::vector<std::size_t>> common(rows + 1, std::vector<std::size_t>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      common[i][j] =
          same(i, j) ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text = scenario.file + ": what happened (+) is not what is expected (-)\n";
  for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
    if (i < rows && j < columns && same(i, j)) {
      text += "    " + happened[j] + "\n";
      ++i, ++j;
    } else if (i < rows && (j == columns || common[i + 1][j] >= common[i][j + 1])) {
      text += "  - " + expected[i].text + "    (line " + std::to_string(expected[i].line) + ")\n";
      ++i;
    } else {
      text += "  + " + happened[j++] + "\n";
    }
  }
  return text;
}

}  // namespace ductile::testing
