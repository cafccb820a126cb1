#include "scheduling/record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

// In the order of `Event`.
constexpr std::array<std::string_view, 22> kEventWords{
    "submitted", "eligible",  "started",  "start-failed", "resized",  "ended",
    "requested", "withdrawn", "nodes",    "corridor",     "believed", "ordered",
    "config",    "timer",     "altered",  "machine",      "move",     "suspended",
    "stop",      "booked",    "at-point", "contention"};
static_assert(kEventWords.size() == std::variant_size_v<Event>);

// --- Writing -------------------------------------------------------------------------------------

class Writer {
 public:
  Writer& word(std::string_view text) {
    next() += text;
    return *this;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> Writer& number(Number value) {
    append_number(next(), value);
    return *this;
  }
  Writer& flag(bool value) { return word(value ? "1" : "0"); }
  template <class Id>
  requires std::is_enum_v<Id> Writer& id(Id value) {
    append_id(next(), value);
    return *this;
  }
  Writer& time(Time value) {
    append_time(next(), value);
    return *this;
  }
  Writer& duration(Duration value) { return number(value.count()); }
  Writer& nodes(const NodeSet& set) {
    append_nodes(next(), set);
    return *this;
  }
  Writer& slice(const Slice& slice) {
    append_slice(next(), slice);
    return *this;
  }
  Writer& holding(const Holding& holding) { return number(holding.count).nodes(holding.nodes); }
  Writer& reason(const Reason& reason) {
    return word(ductile::word(reason.why)).id(reason.job).time(reason.until);
  }
  template <class Row, class Write>
  Writer& list(const std::vector<Row>& rows, Write write) {
    number(rows.size());
    for (const Row& row : rows) write(*this, row);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string& next() {
    if (!text_.empty()) text_ += ' ';
    return text_;
  }

  std::string text_;
};

// Before what older builds did not write.
constexpr std::string_view kFrom = "from", kOverdue = "overdue", kMultifactor = "multifactor";

void write_spec(Writer& out, const JobSpec& spec) {
  out.number(spec.name).number(spec.user).number(spec.group).number(spec.account);
  out.number(spec.priority);
  out.word(name(kJobTypeWords, spec.type)).time(spec.submitted).duration(spec.walltime);
  out.number(spec.size.min).number(spec.size.max).number(spec.preferred);
}

// "0.5"; with the time to send the data, "0.5:0.8".
std::string scale_text(const ReconfigurationCost& cost) {
  std::string text;
  append_number(text, cost.scale);
  if (cost.transfer_s != 0) append_number(text += ":", cost.transfer_s);
  return text;
}

void write_adaptive(Writer& out, const AdaptiveSpec& spec) {
  out.word(to_text(spec.speedup));
  out.number(spec.cost.alpha_s).number(spec.cost.beta_s).number(spec.cost.b_s);
  out.number(spec.cost.fixed_s).word(scale_text(spec.cost));
  out.word(to_text(spec.constraint));
  out.duration(spec.resize_delay).number(spec.watts_per_node);
  if (spec.walltime_for != WalltimeFor{}) out.word(name(kWalltimeForWords, spec.walltime_for));
  if (spec.least_watts_per_node > 0) out.word(kFrom).number(spec.least_watts_per_node);
}

// Between what follows and what older builds wrote.
constexpr std::string_view kMore = "with", kWhere = "where", kIn = "in";
constexpr std::string_view kParts = "parts", kEach = "each", kOn = "on", kChosen = "chosen";
constexpr std::string_view kOff = "off", kSockets = "sockets", kUses = "uses";
constexpr std::string_view kBound = "bound", kPriorities = "priorities", kSwitches = "switches";
constexpr std::string_view kFeatures = "features", kLimits = "limits", kQos = "qos";
constexpr std::string_view kSteps = "steps", kStep = "step";

void write_traits(Writer& out, const Traits& traits) {
  out.word(traits.settings.empty() ? std::string_view("-") : std::string_view(traits.settings));
  out.number(traits.wakes).flag(traits.answers_requests);
  out.word(name(kQueueOrderWords, traits.order)).duration(traits.priority_period);
  out.duration(traits.fair_share.half_life).word(to_text(traits.fair_share.shares));
  out.word(name(kStartSizeWords, traits.start_size));
  out.number(traits.needs.resizes_per_job).flag(traits.needs.power_control);
  if (traits.needs.suspends || traits.needs.parts) out.flag(traits.needs.suspends);
  if (traits.needs.parts) out.flag(true);
  if (traits.overdue != Overdue{}) {
    out.word(kOverdue).number(traits.overdue.slack).duration(traits.overdue.grace);
  }
  if (const Multifactor& how = traits.multifactor; how != Multifactor{}) {
    out.word(kMultifactor).number(how.weight_age).number(how.weight_fairshare);
    out.number(how.weight_size).number(how.weight_partition).duration(how.max_age);
    out.flag(how.favor_small).flag(how.small_relative_to_time).number(how.fairshare_dampening);
    if (how.weight_qos > 0) out.word(kQos).number(how.weight_qos);
  }
}

void write_platform(Writer& out, const Platform& platform) {
  out.number(platform.nodes).number(platform.cores_per_node);
  out.number(platform.idle_w).number(platform.busy_w).duration(platform.boot_time);
}

// What nodes draw that are off, if they do.
void write_off(Writer& out, const Platform& platform) {
  const auto draws = [](const NodeClass& its) { return its.off_w != 0; };
  if (platform.off_w == 0 && std::ranges::none_of(platform.classes, draws)) return;
  out.word(kOff).number(platform.off_w);
  out.list(platform.classes, [](Writer& w, const NodeClass& its) { w.number(its.off_w); });
}

// Of machines without classes.
void write_sockets(Writer& out, const Platform& platform) {
  if (platform.sockets_per_node != 1) out.word(kSockets).number(platform.sockets_per_node);
}

// Of partitions, where they matter.
void write_priorities(Writer& out, const Platform& platform) {
  const auto is_usual = [](const Partition& its) { return its.priority == Partition{}.priority; };
  if (std::ranges::all_of(platform.partitions, is_usual)) return;
  out.word(kPriorities);
  out.list(platform.partitions, [](Writer& w, const Partition& its) { w.number(its.priority); });
}

void write_switches(Writer& out, const Platform& platform) {
  if (platform.switches.empty()) return;
  out.word(kSwitches).list(platform.switches, [](Writer& w, const Switch& its) {
    w.word(its.name).nodes(its.nodes);
    its.above == kNoSwitch ? w.word("-") : w.number(its.above);
  });
}

// What nodes are, whom partitions are for, and qualities of service, where there is any of these.
void write_features(Writer& out, const Platform& platform) {
  const auto has = [](const NodeClass& its) { return !its.features.empty(); };
  if (std::ranges::none_of(platform.classes, has)) return;
  out.word(kFeatures).list(platform.classes, [](Writer& w, const NodeClass& its) {
    w.list(its.features, [](Writer& each, const std::string& name) { each.word(name); });
  });
}

void write_limits(Writer& out, const Platform& platform) {
  const auto is_open = [](const Partition& its) { return its.max_nodes == 0 && its.users.empty(); };
  if (std::ranges::all_of(platform.partitions, is_open)) return;
  out.word(kLimits).list(platform.partitions, [](Writer& w, const Partition& its) {
    w.number(its.max_nodes);
    w.list(its.users, [](Writer& each, std::uint32_t user) { each.number(user); });
  });
}

void write_qos(Writer& out, const Platform& platform) {
  if (platform.qos.empty()) return;
  out.word(kQos).list(platform.qos,
                      [](Writer& w, const Qos& its) { w.word(its.name).number(its.priority); });
}

void write_steps(Writer& out, const Platform& platform) {
  if (platform.steps.empty()) return;
  out.word(kSteps).list(platform.steps, [](Writer& w, const FrequencyStep& its) {
    w.number(its.speed).number(its.power);
  });
}

void write_classes(Writer& out, const Platform& platform) {
  if (platform.classes.empty() && platform.partitions.empty() && platform.things.empty()) return;
  out.word(kMore);
  out.list(platform.classes, [](Writer& w, const NodeClass& its) {
    w.word(its.name).nodes(its.nodes).slice(its.has).number(its.sockets).number(its.speed);
    w.number(its.idle_w).number(its.busy_w).duration(its.boot_time).number(its.weight);
  });
  out.list(platform.partitions, [](Writer& w, const Partition& its) {
    w.word(its.name).nodes(its.nodes).duration(its.max_walltime);
  });
  out.list(platform.things, [](Writer& w, const std::string& name) { w.word(name); });
}

void write_where(Writer& out, const std::shared_ptr<const Where>& where) {
  if (!where) return;
  out.word(kWhere).number(where->partitions).slice(where->each);
  out.nodes(where->only).nodes(where->never);
  if (where->booking != BookingId::none) out.id(where->booking);
  if (where->qos > 0) out.word(kQos).number(where->qos);
}

void write_spread(Writer& out, const Spread& spread) {
  out.list(spread.parts,
           [](Writer& w, const Spread::Part& part) { w.number(part.cell).number(part.count); });
}

void write_capabilities(Writer& out, const Capabilities& can) {
  out.flag(can.instant_start).number(can.resizes_per_job).flag(can.power_control);
  const bool suspends = can.suspends != Suspends::no;
  const bool parts = can.parts || can.instant_cores;
  if (can.moves || suspends || parts) out.flag(can.moves);
  if (suspends || parts) out.word(name(kSuspendsWords, can.suspends));
  if (parts) out.flag(can.parts);
  if (can.instant_cores) out.flag(true);
}

void write_choice(Writer& out, const std::optional<Choice>& choice) {
  if (!choice) return;
  out.word(kChosen).word(name(kOccasionWords, choice->occasion));
  out.word(name(kGoalWords, choice->goal)).number(choice->jobs).number(choice->passes);
  out.number(choice->ruled).number(choice->chosen);
  out.list(choice->members, [](Writer& w, const Choice::Member& its) {
    w.word(its.settings).number(its.outlook.turnaround_s).number(its.outlook.slowdown);
    w.number(its.outlook.longest_wait_s).number(its.score);
  });
}

// At the end of a record.
void write_parts(Writer& out, const std::vector<Part>& parts) {
  if (parts.empty()) return;
  out.word(kParts).list(parts,
                        [](Writer& w, const Part& part) { w.nodes(part.nodes).slice(part.has); });
}

struct EventWriter {
  Writer& out;

  void operator()(const event::Submitted& e) const {
    write_spec(out, e.job);
    out.flag(e.adaptive.has_value());
    if (e.adaptive) write_adaptive(out, *e.adaptive);
    write_where(out, e.where);
    if (e.job.cores != 0 || e.job.ranks != 1) {
      out.word(kUses).number(e.job.cores).number(e.job.ranks);
    }
    if (e.job.bound != Bound::mixed) out.word(kBound).word(name(kBoundWords, e.job.bound));
  }
  void operator()(const event::Eligible& e) const { out.id(e.job).flag(e.yes); }
  void operator()(const event::Started& e) const {
    out.id(e.job).id(e.answers).holding(e.now);
    e.keep ? out.number(*e.keep) : out.word("-");
    write_parts(out, e.now.parts);
  }
  void operator()(const event::StartFailed& e) const {
    out.id(e.job).id(e.answers).time(e.retry_at);
  }
  void operator()(const event::Resized& e) const {
    out.id(e.job).id(e.answers).holding(e.now).time(e.retry_at).duration(e.paused);
    write_parts(out, e.now.parts);
  }
  void operator()(const event::Ended& e) const {
    out.id(e.job).word(name(kEndWords, e.state)).flag(e.requeue);
  }
  void operator()(const event::EvolvingRequested& e) const {
    out.id(e.id).id(e.job).number(e.delta).number(e.at_least);
  }
  void operator()(const event::EvolvingWithdrawn& e) const { out.id(e.id); }
  void operator()(const event::NodesChanged& e) const {
    out.nodes(e.nodes).word(name(kHealthWords, e.health));
  }
  void operator()(const event::CorridorChanged& e) const {
    out.number(e.low_w).number(e.high_w);
    if (e.coming.empty()) return;
    out.list(e.coming, [](Writer& w, const event::ComingBounds& its) {
      w.time(its.at).number(its.low_w).number(its.high_w);
    });
  }
  void operator()(const event::Believed& e) const {
    out.id(e.job).number(e.watts_per_node).number(e.mtct).number(e.rate).duration(e.walltime);
    out.flag(e.model.has_value());
    if (e.model) out.word(to_text(*e.model));
  }
  void operator()(const event::SizeOrdered& e) const { out.id(e.job).number(e.size); }
  void operator()(const event::ConfigChanged& e) const {
    write_traits(out, e.traits);
    write_choice(out, e.choice);
  }
  void operator()(const event::TimerFired&) const {}
  void operator()(const event::MachineChanged& e) const {
    write_platform(out, e.platform);
    write_capabilities(out, e.capabilities);
    write_classes(out, e.platform);
    write_off(out, e.platform);
    write_sockets(out, e.platform);
    write_priorities(out, e.platform);
    write_switches(out, e.platform);
    write_features(out, e.platform);
    write_limits(out, e.platform);
    write_qos(out, e.platform);
    write_steps(out, e.platform);
  }
  void operator()(const event::Altered& e) const {
    out.id(e.job).number(e.priority).duration(e.walltime);
    out.number(e.size.min).number(e.size.max).number(e.preferred);
    if (!e.account && !e.adaptive && !e.where) return;
    e.account ? out.number(*e.account) : out.word("-");
    if (e.adaptive) write_adaptive(out, *e.adaptive);
    write_where(out, e.where);
  }
  void operator()(const event::MoveOrdered& e) const { out.id(e.job).nodes(e.off); }
  void operator()(const event::Suspended& e) const {
    out.id(e.job).id(e.answers).duration(e.paused);
  }
  void operator()(const event::StopOrdered& e) const {
    out.id(e.job).word(e.how ? name(kStopWords, *e.how) : "-");
  }
  void operator()(const event::Booked& e) const {
    const Booking& its = e.booking;
    out.id(its.id).word(its.name).time(its.from).time(its.to).nodes(its.nodes);
    out.number(its.power_mw).flag(its.for_jobs);
    out.list(its.users, [](Writer& w, std::uint32_t user) { w.number(user); });
  }
  void operator()(const event::AtPoint& e) const { out.id(e.job); }
  void operator()(const event::ContentionLearned& e) const { out.word(to_text(e.contention)); }
};

// --- Reading -------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Word word(const char* field) {
    if (!more_) throw RecordError(field, "is missing");
    const std::string_view text = rest_.substr(0, rest_.find(' '));
    more_ = text.size() < rest_.size();
    rest_.remove_prefix(text.size() + (more_ ? 1 : 0));
    return {field, text};
  }
  template <class Number>
  Number number(const char* field, Number min = std::numeric_limits<Number>::lowest(),
                Number max = std::numeric_limits<Number>::max()) {
    return word(field).number(min, max);
  }
  double real(const char* field, double min = -Word::kMostNumber, double max = Word::kMostNumber) {
    return word(field).real(min, max);
  }
  bool flag(const char* field) { return word(field).flag(); }
  Nodes count(const char* field) { return word(field).count(); }
  template <class Id>
  Id id(const char* field) {
    return word(field).id<Id>();
  }
  Time moment(const char* field) { return word(field).moment(); }
  Time time(const char* field) { return word(field).time(); }
  Time planned(const char* field) { return word(field).planned(); }
  Duration duration(const char* field) { return word(field).duration(); }
  NodeSet nodes(const char* field) { return word(field).nodes(); }
  Holding holding(const char* field) {
    Holding holding{count(field), {}};
    holding.nodes = nodes(field);
    return holding;
  }
  template <class Enum, std::size_t Size>
  Enum choice(const char* field, const std::array<std::string_view, Size>& words) {
    return word(field).choice<Enum>(words);
  }
  template <class Value>
  Value parsed(const char* field, Value (*parse)(std::string_view, const Place&)) {
    return word(field).parsed(parse);
  }
  Reason reason() {
    Reason reason{.why = choice<Why>("reason", kWhyWords)};
    reason.job = id<JobId>("reason's job");
    reason.until = planned("reason's time");
    return reason;
  }
  template <class Row, class Read>
  std::vector<Row> list(const char* field, Read read) {
    // Each row takes at least one character, so that a long list needs a long record.
    const auto size = number<std::size_t>(field, 0, rest_.size());
    std::vector<Row> rows;
    for (std::size_t i = 0; i < size; ++i) rows.push_back(read(*this));
    return rows;
  }
  Slice slice(const char* field) { return word(field).slice(); }
  /// Records of older builds lack the fields that came later.
  bool at_end() const { return !more_; }
  /// Does this word come next? It is read then.
  bool read_if(std::string_view text) {
    if (!comes(text)) return false;
    word("word");
    return true;
  }
  bool comes(std::string_view text) const {
    return more_ && rest_.substr(0, rest_.find(' ')) == text;
  }
  void finish() const {
    if (more_) throw RecordError("end", "'" + std::string(rest_) + "' is too much");
  }

 private:
  std::string_view rest_;
  bool more_ = true;  // a word follows, though it may be empty
};

AdaptiveSpec read_adaptive(Reader& in) {
  AdaptiveSpec spec;
  spec.speedup = in.parsed("model", parse_speedup);
  spec.cost.alpha_s = in.real("alpha", 0, 1e6);
  spec.cost.beta_s = in.real("beta", 0, 1e6);
  spec.cost.b_s = in.real("b", 0, 1e6);
  spec.cost.fixed_s = in.real("fixed cost", 0, 1e6);
  std::string_view scale = in.word("scale").text;
  const bool sent = scale.find(':') != std::string_view::npos;
  spec.cost.scale = Word{"scale", next_part(scale, ':')}.real(0, 1e3);
  if (sent) spec.cost.transfer_s = Word{"scale", scale}.real(0, 1e6);
  spec.constraint = in.parsed("constraint", parse_constraint);
  spec.resize_delay = in.duration("resize delay");
  spec.watts_per_node = in.real("watts per node", 0, 1e6);
  const bool ends = in.comes(kWhere) || in.comes(kFrom) || in.comes(kUses) || in.comes(kBound);
  if (!in.at_end() && !ends) {
    spec.walltime_for = in.choice<WalltimeFor>("walltime", kWalltimeForWords);
  }
  if (in.read_if(kFrom)) spec.least_watts_per_node = in.real("least watts per node", 0, 1e6);
  return spec;
}

Traits read_traits(Reader& in) {
  Traits traits;
  const std::string_view settings = in.word("policy").text;
  if (settings != "-") traits.settings = settings;
  traits.wakes = in.number<EventKinds>("wakes");
  traits.answers_requests = in.flag("answers requests");
  traits.order = in.choice<QueueOrder>("order", kQueueOrderWords);
  traits.priority_period = in.duration("priority period");
  traits.fair_share.half_life = in.duration("half-life");
  traits.fair_share.shares = in.parsed("shares", parse_shares);
  traits.start_size = in.choice<StartSize>("start size", kStartSizeWords);
  traits.needs.resizes_per_job = in.number<std::uint32_t>("resizes needed");
  traits.needs.power_control = in.flag("power control needed");
  const auto has_flag = [&] {
    return !in.at_end() && !in.comes(kOverdue) && !in.comes(kMultifactor) && !in.comes(kChosen);
  };
  traits.needs.suspends = has_flag() && in.flag("suspensions needed");
  traits.needs.parts = has_flag() && in.flag("parts of nodes needed");
  if (in.read_if(kOverdue)) {
    traits.overdue.slack = in.real("slack", 0, 1e9);
    traits.overdue.grace = in.duration("grace");
  }
  if (in.read_if(kMultifactor)) {
    Multifactor& how = traits.multifactor;
    how.weight_age = in.number<std::uint32_t>("weight of age");
    how.weight_fairshare = in.number<std::uint32_t>("weight of fair share");
    how.weight_size = in.number<std::uint32_t>("weight of size");
    how.weight_partition = in.number<std::uint32_t>("weight of partition");
    how.max_age = in.duration("largest age");
    how.favor_small = in.flag("favor small");
    how.small_relative_to_time = in.flag("small relative to time");
    how.fairshare_dampening = in.real("dampening", 1, 1e9);
    if (in.read_if(kQos)) how.weight_qos = in.number<std::uint32_t>("weight of QOS");
  }
  return traits;
}

std::optional<Choice> read_choice(Reader& in) {
  if (!in.read_if(kChosen)) return std::nullopt;
  Choice choice;
  choice.occasion = in.choice<Occasion>("occasion", kOccasionWords);
  choice.goal = in.choice<Goal>("goal", kGoalWords);
  choice.jobs = in.number<std::uint32_t>("jobs");
  choice.passes = in.number<std::uint64_t>("passes");
  choice.ruled = in.number<std::uint32_t>("who ruled");
  choice.chosen = in.number<std::uint32_t>("who rules");
  choice.members = in.list<Choice::Member>("members", [](Reader& r) {
    Choice::Member its;
    its.settings = r.word("member").text;
    its.outlook.turnaround_s = r.real("turnaround", 0);
    its.outlook.slowdown = r.real("slowdown", 0);
    its.outlook.longest_wait_s = r.real("longest wait", 0);
    its.score = r.real("score", 0);
    return its;
  });
  if (std::max(choice.ruled, choice.chosen) >= choice.members.size()) {
    throw RecordError("members", "there are not so many");
  }
  return choice;
}

Platform read_platform(Reader& in) {
  Platform platform;
  platform.nodes = in.count("nodes");
  platform.cores_per_node = in.number<std::uint32_t>("cores per node", 1, 1u << 16);
  platform.idle_w = in.real("idle power", 0, 1e6);
  platform.busy_w = in.real("busy power", 0, 1e6);
  platform.boot_time = in.duration("boot time");
  return platform;
}

void read_off(Reader& in, Platform& platform) {
  if (!in.read_if(kOff)) return;
  platform.off_w = in.real("power of a node that is off", 0, 1e6);
  const auto classes = in.list<double>(
      "power by class", [](Reader& r) { return r.real("power of a node that is off", 0, 1e6); });
  for (std::size_t i = 0; i < std::min(classes.size(), platform.classes.size()); ++i) {
    platform.classes[i].off_w = classes[i];
  }
}

void read_sockets(Reader& in, Platform& platform) {
  if (in.read_if(kSockets)) platform.sockets_per_node = in.number<std::uint32_t>("sockets", 1);
}

void read_priorities(Reader& in, Platform& platform) {
  if (!in.read_if(kPriorities)) return;
  const auto priorities = in.list<std::uint32_t>(
      "priorities", [](Reader& r) { return r.number<std::uint32_t>("priority of a partition"); });
  for (std::size_t i = 0; i < std::min(priorities.size(), platform.partitions.size()); ++i) {
    platform.partitions[i].priority = priorities[i];
  }
}

void read_switches(Reader& in, Platform& platform) {
  if (!in.read_if(kSwitches)) return;
  platform.switches = in.list<Switch>("switches", [](Reader& r) {
    Switch its;
    its.name = r.word("switch").text;
    its.nodes = r.nodes("nodes of a switch");
    if (!r.read_if("-")) its.above = r.number<std::uint32_t>("switch above");
    return its;
  });
}

void read_features(Reader& in, Platform& platform) {
  if (!in.read_if(kFeatures)) return;
  using Names = std::vector<std::string>;
  auto all = in.list<Names>("features", [](Reader& r) {
    return r.list<std::string>("features of a class",
                               [](Reader& each) { return std::string(each.word("feature").text); });
  });
  for (std::size_t i = 0; i < std::min(all.size(), platform.classes.size()); ++i) {
    platform.classes[i].features = std::move(all[i]);
  }
}

void read_limits(Reader& in, Platform& platform) {
  if (!in.read_if(kLimits)) return;
  const auto all = in.list<Partition>("limits", [](Reader& r) {
    Partition its;
    its.max_nodes = r.count("most nodes of a job");
    its.users = r.list<std::uint32_t>(
        "users of a partition", [](Reader& each) { return each.number<std::uint32_t>("user"); });
    return its;
  });
  for (std::size_t i = 0; i < std::min(all.size(), platform.partitions.size()); ++i) {
    platform.partitions[i].max_nodes = all[i].max_nodes;
    platform.partitions[i].users = all[i].users;
  }
}

void read_qos(Reader& in, Platform& platform) {
  if (!in.read_if(kQos)) return;
  platform.qos = in.list<Qos>("qualities of service", [](Reader& r) {
    Qos its;
    its.name = r.word("quality of service").text;
    its.priority = r.number<std::uint32_t>("priority of a quality of service");
    return its;
  });
}

void read_steps(Reader& in, Platform& platform) {
  if (!in.read_if(kSteps)) return;
  platform.steps = in.list<FrequencyStep>("steps", [](Reader& r) {
    const double speed = r.real("speed of a step", 1e-3, 1);
    return FrequencyStep{speed, r.real("power of a step", 0, 1)};
  });
  if (platform.steps.size() > kMostSteps) throw RecordError("steps", "there are too many");
}

void read_classes(Reader& in, Platform& platform) {
  if (!in.read_if(kMore)) return;
  platform.classes = in.list<NodeClass>("classes", [](Reader& r) {
    NodeClass its;
    its.name = r.word("class").text;
    its.nodes = r.nodes("nodes of a class");
    its.has = r.slice("what its nodes have");
    its.sockets = r.number<std::uint16_t>("sockets");
    its.speed = r.real("speed", 1e-6, 1e6);
    its.idle_w = r.real("idle power", 0, 1e6);
    its.busy_w = r.real("busy power", 0, 1e6);
    its.boot_time = r.duration("boot time");
    its.weight = r.number<std::uint32_t>("weight");
    return its;
  });
  platform.partitions = in.list<Partition>("partitions", [](Reader& r) {
    Partition its;
    its.name = r.word("partition").text;
    its.nodes = r.nodes("nodes of a partition");
    its.max_walltime = r.duration("longest walltime");
    return its;
  });
  platform.things =
      in.list<std::string>("things", [](Reader& r) { return std::string(r.word("thing").text); });
}

std::shared_ptr<const Where> read_where(Reader& in) {
  if (!in.read_if(kWhere)) return nullptr;
  Where where;
  where.partitions = in.number<std::uint64_t>("partitions");
  where.each = in.slice("what each node has");
  where.only = in.nodes("only nodes");
  where.never = in.nodes("never nodes");
  if (!in.at_end() && !in.comes(kUses) && !in.comes(kBound) && !in.comes(kQos)) {
    where.booking = in.id<BookingId>("booking");
  }
  if (in.read_if(kQos)) where.qos = in.number<std::uint16_t>("priority of its quality of service");
  return std::make_shared<const Where>(std::move(where));
}

Spread read_spread(Reader& in) {
  Spread spread;
  const auto parts = in.list<Spread::Part>("cells", [](Reader& r) {
    const auto cell = r.number<std::uint32_t>("cell", 0, kMostCells - 1);
    return Spread::Part{cell, r.count("nodes of a cell")};
  });
  for (const Spread::Part& part : parts) spread.add(part.cell, part.count);
  return spread;
}

Capabilities read_capabilities(Reader& in) {
  Capabilities can;
  can.instant_start = in.flag("instant start");
  can.resizes_per_job = in.number<std::uint32_t>("resizes per job");
  can.power_control = in.flag("power control");
  const auto has_flag = [&] {
    return !in.at_end() && !in.comes(kMore) && !in.comes(kOff) && !in.comes(kSockets) &&
           !in.comes(kSwitches) && !in.comes(kQos) && !in.comes(kSteps);
  };
  can.moves = has_flag() && in.flag("moves");
  if (has_flag()) {
    can.suspends = in.choice<Suspends>("suspends", kSuspendsWords);
  }
  can.parts = has_flag() && in.flag("parts of nodes");
  can.instant_cores = has_flag() && in.flag("instant cores");
  return can;
}

std::vector<Part> read_parts(Reader& in) {
  if (!in.read_if(kParts)) return {};
  return in.list<Part>("parts", [](Reader& r) {
    NodeSet nodes = r.nodes("nodes of a part");
    return Part{std::move(nodes), r.slice("part")};
  });
}

std::uint8_t read_step(Reader& in) {
  return in.read_if(kStep) ? in.number<std::uint8_t>("step", 1, kMostSteps) : std::uint8_t{0};
}

Booking read_booking(Reader& in) {
  Booking booking;
  booking.id = in.id<BookingId>("booking");
  booking.name = in.word("name").text;
  booking.from = in.moment("from");
  booking.to = in.time("to");
  booking.nodes = in.nodes("nodes");
  booking.power_mw = in.number<std::int64_t>("power", 0, kMostBookedMw);
  booking.for_jobs = in.flag("for jobs");
  booking.users =
      in.list<std::uint32_t>("users", [](Reader& r) { return r.number<std::uint32_t>("user"); });
  return booking;
}

event::Submitted read_submitted(Reader& in) {
  event::Submitted e;
  e.job.name = in.number<std::uint64_t>("name");
  e.job.user = in.number<std::uint32_t>("user");
  e.job.group = in.number<std::uint32_t>("group");
  e.job.account = in.number<std::uint32_t>("account");
  e.job.priority = in.number<std::int32_t>("priority");
  e.job.type = in.choice<JobType>("type", kJobTypeWords);
  e.job.submitted = in.moment("submit time");
  e.job.walltime = in.duration("walltime");
  e.job.size.min = in.count("smallest size");
  e.job.size.max = in.count("largest size");
  e.job.preferred = in.count("preferred size");
  if (in.flag("adaptive")) e.adaptive = read_adaptive(in);
  e.where = read_where(in);
  if (in.read_if(kUses)) {
    e.job.cores = in.number<std::uint16_t>("cores that it can use");
    e.job.ranks = in.number<std::uint16_t>("ranks", 1);
  }
  if (in.read_if(kBound)) e.job.bound = in.choice<Bound>("bound", kBoundWords);
  return e;
}

}  // namespace

std::string to_record(Time time) {
  Writer out;
  out.time(time);
  return out.take();
}

std::string to_record(const Platform& platform) {
  Writer out;
  write_platform(out, platform);
  write_classes(out, platform);
  write_off(out, platform);
  write_sockets(out, platform);
  write_priorities(out, platform);
  write_switches(out, platform);
  write_features(out, platform);
  write_limits(out, platform);
  write_qos(out, platform);
  write_steps(out, platform);
  return out.take();
}

std::string to_record(const Capabilities& can) {
  Writer out;
  write_capabilities(out, can);
  return out.take();
}

std::string to_record(const Rules& rules) {
  Writer out;
  out.word(name(kLimitWords, rules.limit)).flag(rules.identities).number(rules.seed);
  out.word(to_text(rules.fairness)).flag(rules.claims_take_idle);
  const bool is_other_budget = rules.budget != Budget::power || rules.slow_for_power;
  const bool places = rules.placement != Placement{} || is_other_budget;
  const bool contends = !rules.contention.is_off() || places;
  const bool switches = rules.node_off_after > Duration{} || contends;
  const bool shares = rules.share != ShareModel{} || switches;
  if (rules.counted_refusals > 0 || rules.reservations_per_plan > 0 || shares) {
    out.number(rules.counted_refusals);
  }
  if (rules.reservations_per_plan > 0 || shares) out.number(rules.reservations_per_plan);
  if (shares) out.word(name(kShareModelWords, rules.share));
  if (switches) out.duration(rules.node_off_after);
  if (contends) out.word(to_text(rules.contention));
  if (places) out.word(name(kPlacementWords, rules.placement));
  if (is_other_budget) out.word(name(kBudgetWords, rules.budget));
  if (rules.slow_for_power) out.flag(true);
  return out.take();
}

std::string to_record(const Traits& traits) {
  Writer out;
  write_traits(out, traits);
  return out.take();
}

std::span<const std::string_view> event_words() { return kEventWords; }

std::string to_record(const Event& event) {
  Writer out;
  out.word(kEventWords[event.index()]);
  std::visit(EventWriter{out}, event);
  return out.take();
}

std::string to_record(const PenCall& call) {
  Writer out;
  out.word(name(kVerbWords, call.verb)).id(call.job).id(call.other).id(call.request);
  out.id(call.claim).number(call.size.min).number(call.size.max).reason(call.reason);
  out.list(call.cuts, [](Writer& w, const Cut& cut) { w.id(cut.victim).number(cut.to); });
  out.flag(call.incoming).time(call.time);
  out.list(call.delays, [](Writer& w, const Delay& delay) {
    w.id(delay.job).duration(delay.by).time(delay.from);
  });
  if (call.verb == PenCall::Verb::carry_out) {
    out.list(call.gains, [](Writer& w, const Gain& gain) {
      w.id(gain.job).number(gain.size.min).number(gain.size.max).id(gain.request);
    });
  }
  if (!call.in.empty()) write_spread(out.word(kIn), call.in);
  if (!call.on.empty()) out.word(kOn).nodes(call.on);
  if (call.step != 0) out.word(kStep).number(call.step);
  for (std::size_t i = 0; i < call.gains.size(); ++i) {
    if (!call.gains[i].in.empty()) write_spread(out.word(kIn).number(i), call.gains[i].in);
    if (!call.gains[i].on.empty()) out.word(kOn).number(i).nodes(call.gains[i].on);
  }
  for (std::size_t i = 0; i < call.cuts.size(); ++i) {
    if (call.cuts[i].each) out.word(kEach).number(i).slice(*call.cuts[i].each);
  }
  return out.take();
}

std::string to_record(const Decision& decision) {
  Writer out;
  out.id(decision.id).word(word(decision.kind)).id(decision.job).holding(decision.after);
  out.time(decision.limit).id(decision.request).reason(decision.reason);
  write_parts(out, decision.after.parts);
  if (decision.step != 0) out.word(kStep).number(decision.step);
  return out.take();
}

std::string to_record(const Closed& closed) {
  Writer out;
  out.time(closed.at).flag(closed.asked);
  return out.take();
}

Time time_from_record(std::string_view text) {
  Reader in(text);
  const Time time = in.moment("time");
  in.finish();
  return time;
}

Platform platform_from_record(std::string_view text) {
  Reader in(text);
  Platform platform = read_platform(in);
  read_classes(in, platform);
  read_off(in, platform);
  read_sockets(in, platform);
  read_priorities(in, platform);
  read_switches(in, platform);
  read_features(in, platform);
  read_limits(in, platform);
  read_qos(in, platform);
  read_steps(in, platform);
  in.finish();
  return platform;
}

Capabilities capabilities_from_record(std::string_view text) {
  Reader in(text);
  const Capabilities can = read_capabilities(in);
  in.finish();
  return can;
}

Rules rules_from_record(std::string_view text) {
  Reader in(text);
  Rules rules;
  rules.limit = in.choice<Rules::Limit>("limit", kLimitWords);
  rules.identities = in.flag("identities");
  rules.seed = in.number<std::uint64_t>("seed");
  rules.fairness = in.parsed("fairness", parse_fairness);
  // Records of builds that knew no such rule did not do it.
  rules.claims_take_idle = !in.at_end() && in.flag("claims take idle nodes");
  constexpr std::uint32_t kMost = 20;  // doublings of a long time
  if (!in.at_end()) rules.counted_refusals = in.number<std::uint32_t>("counted refusals");
  if (rules.counted_refusals > kMost) {
    throw RecordError("counted refusals", "there are too many");
  }
  if (!in.at_end()) {
    rules.reservations_per_plan = in.number<std::uint32_t>("reservations of a plan");
  }
  if (!in.at_end()) rules.share = in.choice<ShareModel>("share model", kShareModelWords);
  if (!in.at_end()) rules.node_off_after = in.duration("nodes off after");
  if (!in.at_end()) rules.contention = in.parsed("contention", parse_contention);
  if (!in.at_end()) rules.placement = in.choice<Placement>("placement", kPlacementWords);
  if (!in.at_end()) rules.budget = in.choice<Budget>("budget", kBudgetWords);
  if (!in.at_end()) rules.slow_for_power = in.flag("slow for power");
  in.finish();
  return rules;
}

Traits traits_from_record(std::string_view text) {
  Reader in(text);
  Traits traits = read_traits(in);
  in.finish();
  return traits;
}

Event event_from_record(std::string_view text) {
  Reader in(text);
  const auto kind = in.choice<std::size_t>("event", kEventWords);
  // A braced list is read from left to right.
  Event event = [&]() -> Event {
    const auto job = [&] { return in.id<JobId>("job"); };
    const auto answers = [&] { return in.id<DecisionId>("decision"); };
    switch (kind) {
      case 0:
        return read_submitted(in);
      case 1:
        return event::Eligible{job(), in.flag("eligible")};
      case 2: {
        event::Started e{job(), answers(), in.holding("nodes"), std::nullopt};
        const auto keep = in.id<ClaimId>("keep");  // a number or "-"
        if (keep != ClaimId::none) e.keep = index(keep);
        e.now.parts = read_parts(in);
        return e;
      }
      case 3:
        return event::StartFailed{job(), answers(), in.time("retry")};
      case 4: {
        event::Resized e{job(), answers(), in.holding("nodes"), in.time("retry"),
                         in.at_end() ? Duration{} : in.duration("pause")};
        e.now.parts = read_parts(in);
        return e;
      }
      case 5:
        return event::Ended{job(), in.choice<EndState>("state", kEndWords), in.flag("requeue")};
      case 6:
        return event::EvolvingRequested{
            in.id<RequestId>("request"), job(),
            in.number<std::int32_t>("delta", -std::int32_t{Word::kMostNodes},
                                    std::int32_t{Word::kMostNodes}),
            in.count("at least")};
      case 7:
        return event::EvolvingWithdrawn{in.id<RequestId>("request")};
      case 8:
        return event::NodesChanged{in.nodes("nodes"), in.choice<Health>("health", kHealthWords)};
      case 9: {
        const double low = in.real("lower bound", 0);
        event::CorridorChanged e{low, in.word("upper bound").bound()};
        if (in.at_end()) return e;
        e.coming = in.list<event::ComingBounds>("coming bounds", [](Reader& r) {
          event::ComingBounds its{r.moment("time of bounds"), r.real("coming lower bound", 0)};
          its.high_w = r.word("coming upper bound").bound();
          return its;
        });
        return e;
      }
      case 10: {
        event::Believed e{job(), in.real("watts per node", -1, 1e6), in.real("mtct", -1),
                          in.real("rate", -1, 1e3)};
        e.walltime = in.duration("walltime");
        if (in.flag("learned")) e.model = in.parsed("model", parse_speedup);
        return e;
      }
      case 11:
        return event::SizeOrdered{job(), in.count("size")};
      case 12: {
        Traits traits = read_traits(in);
        return event::ConfigChanged{std::move(traits), read_choice(in)};
      }
      case 13:
        return event::TimerFired{};
      case 14: {
        event::Altered e{job(), in.number<std::int32_t>("priority"), in.duration("walltime")};
        e.size.min = in.count("smallest size");
        e.size.max = in.count("largest size");
        e.preferred = in.count("preferred size");
        if (in.at_end()) return e;
        const Word account = in.word("account");
        if (account.text != "-") {
          e.account = account.number<std::uint32_t>();
        }
        if (!in.at_end() && !in.comes(kWhere)) e.adaptive = read_adaptive(in);
        e.where = read_where(in);
        return e;
      }
      case 15: {
        event::MachineChanged e{read_platform(in), {}};
        e.capabilities = read_capabilities(in);
        read_classes(in, e.platform);
        read_off(in, e.platform);
        read_sockets(in, e.platform);
        read_priorities(in, e.platform);
        read_switches(in, e.platform);
        read_features(in, e.platform);
        read_limits(in, e.platform);
        read_qos(in, e.platform);
        read_steps(in, e.platform);
        return e;
      }
      case 16:
        return event::MoveOrdered{job(), in.nodes("nodes")};
      case 17:
        return event::Suspended{job(), answers(), in.duration("pause")};
      case 18: {
        event::StopOrdered e{job(), std::nullopt};
        const Word how = in.word("how");
        if (how.text != "-") e.how = how.choice<Stop>(kStopWords);
        return e;
      }
      case 19:
        return event::Booked{read_booking(in)};
      case 20:
        return event::AtPoint{job()};
      default:
        return event::ContentionLearned{in.parsed("contention", parse_contention)};
    }
  }();
  in.finish();
  return event;
}

PenCall pen_call_from_record(std::string_view text) {
  Reader in(text);
  PenCall call;
  call.verb = in.choice<PenCall::Verb>("verb", kVerbWords);
  call.job = in.id<JobId>("job");
  call.other = in.id<JobId>("other job");
  call.request = in.id<RequestId>("request");
  call.claim = in.id<ClaimId>("claim");
  call.size.min = in.count("smallest size");
  call.size.max = in.count("largest size");
  call.reason = in.reason();
  call.cuts = in.list<Cut>("cuts", [](Reader& r) {
    const auto victim = r.id<JobId>("victim");
    return Cut{victim, r.count("victim's size")};
  });
  call.incoming = in.flag("incoming");
  call.time = in.planned("time");
  call.delays = in.list<Delay>("delays", [](Reader& r) {
    const auto job = r.id<JobId>("delayed job");
    const Duration by = r.duration("delay");
    return Delay{job, by, r.moment("start without the grant")};
  });
  if (call.verb == PenCall::Verb::carry_out) {
    call.gains = in.list<Gain>("gains", [](Reader& r) {
      Gain gain{.job = r.id<JobId>("job that gets nodes")};
      gain.size.min = r.count("smallest size");
      gain.size.max = r.count("largest size");
      gain.request = r.id<RequestId>("request");
      return gain;
    });
    const auto gain = [&]() -> Gain& {
      const auto place = in.number<std::size_t>("gain");
      if (place >= call.gains.size()) throw RecordError("gain", "there are not so many");
      return call.gains[place];
    };
    while (in.comes(kIn) || in.comes(kOn)) {
      if (in.read_if(kIn)) {
        Gain& its = gain();
        its.in = read_spread(in);
      } else if (in.read_if(kOn)) {
        Gain& its = gain();
        its.on = in.nodes("nodes to start on");
      }
    }
  } else {
    if (in.read_if(kIn)) call.in = read_spread(in);
    if (in.read_if(kOn)) call.on = in.nodes("nodes to start on");
    call.step = read_step(in);
  }
  while (in.read_if(kEach)) {
    const auto place = in.number<std::size_t>("cut");
    if (place >= call.cuts.size()) throw RecordError("cut", "there are not so many");
    call.cuts[place].each = in.slice("what is kept of each node");
  }
  in.finish();
  return call;
}

Decision decision_from_record(std::string_view text) {
  Reader in(text);
  Decision decision;
  decision.id = in.id<DecisionId>("decision");
  decision.kind = in.choice<Decision::Kind>("kind", kDecisionWords);
  decision.job = in.id<JobId>("job");
  decision.after = in.holding("nodes");
  decision.limit = in.planned("limit");
  decision.request = in.id<RequestId>("request");
  decision.reason = in.reason();
  decision.after.parts = read_parts(in);
  decision.step = read_step(in);
  in.finish();
  return decision;
}

Closed closed_from_record(std::string_view text) {
  Reader in(text);
  Closed closed;
  closed.at = in.moment("time");
  closed.asked = in.flag("asked");
  in.finish();
  return closed;
}

}  // namespace ductile
