#include "scheduling/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/members.hpp"
#include "scheduling/invariants.hpp"
#include "scheduling/words.hpp"

namespace ductile {
namespace {

constexpr std::array<std::string_view, 4> kStatusWords{"held", "pending", "running", "over"};

// --- Values --------------------------------------------------------------------------------------
//
// One `put` and one `get` for each type that is a field of a row.

constexpr auto& words_of(Status) { return kStatusWords; }
constexpr auto& words_of(JobType) { return kJobTypeWords; }
constexpr auto& words_of(WalltimeFor) { return kWalltimeForWords; }
constexpr auto& words_of(StartSize) { return kStartSizeWords; }
constexpr auto& words_of(QueueOrder) { return kQueueOrderWords; }
constexpr auto& words_of(Rules::Limit) { return kLimitWords; }
constexpr auto& words_of(Placement) { return kPlacementWords; }
constexpr auto& words_of(Budget) { return kBudgetWords; }
constexpr auto& words_of(Decision::Kind) { return kDecisionWords; }
constexpr auto& words_of(Why) { return kWhyWords; }
constexpr auto& words_of(Party::Kind) { return kPartyWords; }
constexpr auto& words_of(Stop) { return kStopWords; }
constexpr auto& words_of(Suspends) { return kSuspendsWords; }
constexpr auto& words_of(ShareModel) { return kShareModelWords; }
constexpr auto& words_of(Bound) { return kBoundWords; }

template <class T>
concept Id = std::is_enum_v<T> && requires {
  T::none;
};
template <class T>
concept Choice = std::is_enum_v<T> && !Id<T> && !std::is_same_v<T, LaneId>;
template <class T>
concept Number = std::is_arithmetic_v<T>;

template <Number T>
void put(std::string& text, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? '1' : '0';
  } else {
    append_number(text, value);
  }
}
template <Number T>
void get(const Word& word, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = word.flag();
  } else if constexpr (std::is_floating_point_v<T>) {
    value = word.number<T>(-1e300, 1e300);
  } else {
    value = word.number<T>();
  }
}
template <Id T>
void put(std::string& text, T value) {
  append_id(text, value);
}
template <Id T>
void get(const Word& word, T& value) {
  value = word.id<T>();
}
template <Choice T>
void put(std::string& text, T value) {
  text += name(words_of(value), value);
}
template <Choice T>
void get(const Word& word, T& value) {
  value = word.choice<T>(words_of(value));
}
void put(std::string& text, Wide value) { append_wide(text, value); }
void get(const Word& word, Wide& value) { value = word.wide(); }
void put(std::string& text, Time value) { append_time(text, value); }
void get(const Word& word, Time& value) { value = word.time(); }
void put(std::string& text, Duration value) { append_number(text, value.count()); }
void get(const Word& word, Duration& value) { value = word.duration(); }
void put(std::string& text, const NodeSet& value) { append_nodes(text, value); }
void get(const Word& word, NodeSet& value) { value = word.nodes(); }
void put(std::string& text, LaneId value) { append_number(text, index(value)); }
void get(const Word& word, LaneId& value) { value = LaneId{word.number<std::uint16_t>()}; }
void put(std::string& text, const Slice& value) { append_slice(text, value); }
void get(const Word& word, Slice& value) { value = word.slice(); }
void put(std::string& text, const std::string& value) { text += value; }
void get(const Word& word, std::string& value) { value = word.text; }
void put(std::string& text, const Speedup& value) { text += to_text(value); }
void get(const Word& word, Speedup& value) { value = word.parsed(parse_speedup); }
void put(std::string& text, const SizeConstraint& value) { text += to_text(value); }
void get(const Word& word, SizeConstraint& value) { value = word.parsed(parse_constraint); }
void put(std::string& text, const Contention& value) { text += to_text(value); }
void get(const Word& word, Contention& value) { value = word.parsed(parse_contention); }
void put(std::string& text, const Fairness& value) { text += to_text(value); }
void get(const Word& word, Fairness& value) { value = word.parsed(parse_fairness); }
void put(std::string& text, const std::vector<UserShare>& value) { text += to_text(value); }
void get(const Word& word, std::vector<UserShare>& value) { value = word.parsed(parse_shares); }

// "A:B:C": the fields of a row within a field.
template <class First, class... Others>
void get_parts(const Word& word, std::string_view rest, First& first, Others&... others) {
  const std::string_view part = next_part(rest, ':');
  if ((sizeof...(Others) > 0) == rest.empty()) word.fail("", " has too few or too many parts");
  get(Word{word.field, part}, first);
  if constexpr (sizeof...(Others) > 0) get_parts(word, rest, others...);
}
template <class First, class... Others>
void put_parts(std::string& text, const First& first, const Others&... others) {
  put(text, first);
  ((text += ':', put(text, others)), ...);
}
void put(std::string& text, const Pledge& pledge) {
  put_parts(text, pledge.victim, pledge.shrink, pledge.count);
}
void get(const Word& word, Pledge& pledge) {
  get_parts(word, word.text, pledge.victim, pledge.shrink, pledge.count);
}
void put(std::string& text, const TimeHad& had) {
  put_parts(text, had.nodes, std::int64_t{had.time.count()});
}
void get(const Word& word, TimeHad& had) {
  std::int64_t time = 0;
  get_parts(word, word.text, had.nodes, time);
  if (time < 0) word.fail("", " is out of range");
  had.time = Duration{time};
}
void put(std::string& text, const IdleSince& its) { put_parts(text, its.since, its.idle); }
void get(const Word& word, IdleSince& its) { get_parts(word, word.text, its.since, its.idle); }
void put(std::string& text, const ComingCorridor& its) {
  put_parts(text, its.at, its.low_mw, its.high_mw);
}
void get(const Word& word, ComingCorridor& its) {
  get_parts(word, word.text, its.at, its.low_mw, its.high_mw);
}
void put(std::string& text, const FrequencyStep& its) { put_parts(text, its.speed, its.power); }
void get(const Word& word, FrequencyStep& its) { get_parts(word, word.text, its.speed, its.power); }
void put(std::string& text, const Party& party) { put_parts(text, party.kind, party.number); }
void get(const Word& word, Party& party) { get_parts(word, word.text, party.kind, party.number); }

// "0-3@24:0:0:0:0:0;5@...": nodes and what is had of each.
void put(std::string& text, const std::vector<Part>& parts) {
  const char* between = "";
  for (const Part& part : parts) {
    append_nodes(text += between, part.nodes);
    append_slice(text += '@', part.has);
    between = ";";
  }
}
void get(const Word& word, std::vector<Part>& parts) {
  parts.clear();
  for (std::string_view rest = word.text; !rest.empty();) {
    std::string_view slice = next_part(rest, ';');
    const std::string_view nodes = next_part(slice, '@');
    parts.push_back({Word{word.field, nodes}.nodes(), Word{word.field, slice}.slice()});
  }
  if (!is_sound(parts)) word.fail("", " are no parts of nodes");
}

// "A,B,C"
template <class T>
void put_list(std::string& text, const T& list) {
  const char* between = "";
  for (const auto& each : list) {
    put(text += between, each);
    between = ",";
  }
}
template <class T>
void put(std::string& text, const std::vector<T>& list) {
  put_list(text, list);
}
template <class T>
void get(const Word& word, std::vector<T>& list) {
  list.clear();
  for (std::string_view rest = word.text; !rest.empty();) {
    T value{};
    get(Word{word.field, next_part(rest, ',')}, value);
    list.push_back(std::move(value));
  }
}
template <class T, std::size_t Size>
void put(std::string& text, const std::array<T, Size>& list) {
  put_list(text, list);
}
template <class T, std::size_t Size>
void get(const Word& word, std::array<T, Size>& list) {
  std::vector<T> values;
  get(word, values);
  if (values.size() != Size) word.fail("", " has too few or too many parts");
  std::ranges::copy(values, list.begin());
}

// --- Tables --------------------------------------------------------------------------------------

/// A field of a row: its name, the version since which it is there, and what it is.
template <class Row>
struct Field {
  std::string_view name;
  SnapshotVersion since;
  bool (*is_default)(const Row&);
  void (*write)(std::string&, const Row&);
  void (*read)(const Word&, Row&);
};

template <auto First, auto... Others, class Row>
auto& member(Row& row) {
  if constexpr (sizeof...(Others) > 0) {
    return member<Others...>(row.*First);
  } else {
    return row.*First;
  }
}

/// The member of a row at the end of a path: `field<Job, &Job::spec, &JobSpec::user>("user")`. Its
/// default is that of a new row.
template <class Row, auto... Path>
constexpr Field<Row> field(std::string_view name, SnapshotVersion since = 1) {
  return {name, since,
          [](const Row& row) {
            static const Row fresh{};
            return member<Path...>(row) == member<Path...>(fresh);
          },
          [](std::string& text, const Row& row) { put(text, member<Path...>(row)); },
          [](const Word& word, Row& row) { get(word, member<Path...>(row)); }};
}
/// A time that is only compared: any there is.
template <class Row, auto... Path>
constexpr Field<Row> planned(std::string_view name, SnapshotVersion since = 1) {
  Field<Row> its = field<Row, Path...>(name, since);
  its.read = [](const Word& word, Row& row) { member<Path...>(row) = word.planned(); };
  return its;
}

// Who adds a member to one of these has a fact more (or an index, which belongs elsewhere): it
// needs a field in the tables below, with the next version as its `since`, and a line in
// docs/formats/snapshot.md. Then the number here is right again.
static_assert(members<Facts>() == 38);
static_assert(members<Traits>() == 10);
static_assert(members<FairShare>() == 2);
static_assert(members<UserShare>() == 2);
static_assert(members<Multifactor>() == 9);
static_assert(members<Needs>() == 4);
static_assert(members<Job>() == 34);
static_assert(members<JobSpec>() == 14);
static_assert(members<Adaptive>() == 4);
static_assert(members<AdaptiveSpec>() == 7);
static_assert(members<ReconfigurationCost>() == 6);
static_assert(members<TimeHad>() == 2);
static_assert(members<Claim>() == 16);
static_assert(members<Pledge>() == 6);
static_assert(members<Holding>() == 3);
static_assert(members<Part>() == 2);
static_assert(members<Reason>() == 3);
static_assert(members<Unanswered>() == 10);
static_assert(members<Decision>() == 8);
static_assert(members<Request>() == 4);
static_assert(members<Delays>() == 7);
static_assert(members<PlannedDelay>() == 7);
static_assert(members<Boot>() == 3);
static_assert(members<IdleSince>() == 2);
static_assert(members<ComingCorridor>() == 3);
static_assert(members<MoveOrder>() == 2);
static_assert(members<StopOrder>() == 2);
static_assert(members<Booking>() == 9);
static_assert(members<Platform>() == 13);
static_assert(members<FrequencyStep>() == 2);
static_assert(members<NodeClass>() == 11);
static_assert(members<Partition>() == 6);
static_assert(members<Qos>() == 2);
static_assert(members<Switch>() == 3);
static_assert(members<Slice>() == 3);
static_assert(members<Lane>() == 4);
static_assert(members<Where>() == 6);
static_assert(members<Capabilities>() == 7);
static_assert(members<Rules>() == 16);
static_assert(members<Sorting>() == 3);
static_assert(members<Standing>() == 2);

template <class Row>
struct Table;

template <>
struct Table<Platform> {
  static constexpr std::string_view kKind = "platform";
  static constexpr std::array kFields{
      field<Platform, &Platform::nodes>("nodes"),
      field<Platform, &Platform::cores_per_node>("cores_per_node"),
      field<Platform, &Platform::idle_w>("idle_w"),
      field<Platform, &Platform::busy_w>("busy_w"),
      field<Platform, &Platform::boot_time>("boot_time"),
      field<Platform, &Platform::things>("things", 4),
      field<Platform, &Platform::off_w>("off_w", 7),
      field<Platform, &Platform::sockets_per_node>("sockets_per_node", 8),
      field<Platform, &Platform::steps>("steps", 11),
  };
};

template <>
struct Table<NodeClass> {
  static constexpr std::string_view kKind = "class";
  static constexpr std::array kFields{
      field<NodeClass, &NodeClass::name>("name", 4),
      field<NodeClass, &NodeClass::nodes>("nodes", 4),
      field<NodeClass, &NodeClass::has>("has", 4),
      field<NodeClass, &NodeClass::sockets>("sockets", 4),
      field<NodeClass, &NodeClass::speed>("speed", 4),
      field<NodeClass, &NodeClass::idle_w>("idle_w", 4),
      field<NodeClass, &NodeClass::busy_w>("busy_w", 4),
      field<NodeClass, &NodeClass::boot_time>("boot_time", 4),
      field<NodeClass, &NodeClass::weight>("weight", 4),
      field<NodeClass, &NodeClass::off_w>("off_w", 7),
      field<NodeClass, &NodeClass::features>("features", 11),
  };
};

template <>
struct Table<Partition> {
  static constexpr std::string_view kKind = "partition";
  static constexpr std::array kFields{
      field<Partition, &Partition::name>("name", 4),
      field<Partition, &Partition::nodes>("nodes", 4),
      field<Partition, &Partition::max_walltime>("max_walltime", 4),
      field<Partition, &Partition::priority>("priority", 10),
      field<Partition, &Partition::max_nodes>("max_nodes", 11),
      field<Partition, &Partition::users>("users", 11),
  };
};

template <>
struct Table<Qos> {
  static constexpr std::string_view kKind = "qos";
  static constexpr SnapshotVersion kSince = 11;
  static constexpr std::array kFields{
      field<Qos, &Qos::name>("name", 11),
      field<Qos, &Qos::priority>("priority", 11),
  };
};

template <>
struct Table<Switch> {
  static constexpr std::string_view kKind = "switch";
  static constexpr SnapshotVersion kSince = 10;
  static constexpr std::array kFields{
      field<Switch, &Switch::name>("name", 10),
      field<Switch, &Switch::nodes>("nodes", 10),
      field<Switch, &Switch::above>("above", 10),
  };
};

// Without the first one, who asks for nothing; and without `speed`, which follows from the
// platform, and `jobs`.
template <>
struct Table<Lane> {
  static constexpr std::string_view kKind = "lane";
  static constexpr std::array kFields{
      field<Lane, &Lane::where, &Where::partitions>("partitions", 4),
      field<Lane, &Lane::where, &Where::each>("each", 4),
      field<Lane, &Lane::where, &Where::only>("only", 4),
      field<Lane, &Lane::where, &Where::never>("never", 4),
      field<Lane, &Lane::where, &Where::booking>("booking", 5),
      field<Lane, &Lane::where, &Where::qos>("qos", 11),
  };
};

template <>
struct Table<Capabilities> {
  static constexpr std::string_view kKind = "world";
  static constexpr std::array kFields{
      field<Capabilities, &Capabilities::instant_start>("instant_start"),
      field<Capabilities, &Capabilities::resizes_per_job>("resizes_per_job"),
      field<Capabilities, &Capabilities::power_control>("power_control"),
      field<Capabilities, &Capabilities::moves>("moves", 3),
      field<Capabilities, &Capabilities::suspends>("suspends", 4),
      field<Capabilities, &Capabilities::parts>("parts", 5),
      field<Capabilities, &Capabilities::instant_cores>("instant_cores", 8),
  };
};

// Without `record` and `check`: how it is run now is no fact of the past.
template <>
struct Table<Rules> {
  static constexpr std::string_view kKind = "rules";
  static constexpr std::array kFields{
      field<Rules, &Rules::limit>("limit"),
      field<Rules, &Rules::claims_take_idle>("claims_take_idle"),
      field<Rules, &Rules::counted_refusals>("counted_refusals"),
      field<Rules, &Rules::reservations_per_plan>("reservations_per_plan"),
      field<Rules, &Rules::identities>("identities"),
      field<Rules, &Rules::counts_uses>("counts_uses"),
      field<Rules, &Rules::seed>("seed"),
      field<Rules, &Rules::fairness>("fairness"),
      field<Rules, &Rules::share>("share", 5),
      field<Rules, &Rules::node_off_after>("node_off_after", 7),
      field<Rules, &Rules::contention>("contention", 9),
      field<Rules, &Rules::placement>("placement", 10),
      field<Rules, &Rules::budget>("budget", 11),
      field<Rules, &Rules::slow_for_power>("slow_for_power", 11),
  };
};

template <auto... Path>
constexpr Field<Facts> of_traits(std::string_view name, SnapshotVersion since = 1) {
  return field<Facts, &Facts::traits, Path...>(name, since);
}

template <auto Path>
constexpr Field<Facts> of_multifactor(std::string_view name, SnapshotVersion since = 10) {
  return of_traits<&Traits::multifactor, Path>(name, since);
}

// What has no rows of its own.
template <>
struct Table<Facts> {
  static constexpr std::string_view kKind = "state";
  static constexpr std::array kFields{
      field<Facts, &Facts::now>("now"),
      of_traits<&Traits::settings>("policy"),
      of_traits<&Traits::wakes>("wakes", 2),
      of_traits<&Traits::answers_requests>("answers_requests", 2),
      of_traits<&Traits::start_size>("start_size"),
      of_traits<&Traits::fair_share, &FairShare::half_life>("half_life"),
      of_traits<&Traits::fair_share, &FairShare::shares>("shares", 2),
      of_traits<&Traits::order>("order"),
      of_traits<&Traits::overdue, &Overdue::slack>("overdue_slack", 6),
      of_traits<&Traits::overdue, &Overdue::grace>("overdue_grace", 6),
      of_multifactor<&Multifactor::weight_age>("weight_age"),
      of_multifactor<&Multifactor::weight_fairshare>("weight_fairshare"),
      of_multifactor<&Multifactor::weight_size>("weight_size"),
      of_multifactor<&Multifactor::weight_partition>("weight_partition"),
      of_multifactor<&Multifactor::max_age>("max_age"),
      of_multifactor<&Multifactor::favor_small>("favor_small"),
      of_multifactor<&Multifactor::small_relative_to_time>("small_relative_to_time"),
      of_multifactor<&Multifactor::fairshare_dampening>("fairshare_dampening"),
      of_multifactor<&Multifactor::weight_qos>("weight_qos", 11),
      of_traits<&Traits::priority_period>("priority_period", 2),
      of_traits<&Traits::needs, &Needs::resizes_per_job>("needs_resizes_per_job", 2),
      of_traits<&Traits::needs, &Needs::power_control>("needs_power_control", 2),
      of_traits<&Traits::needs, &Needs::suspends>("needs_suspends", 4),
      of_traits<&Traits::needs, &Needs::parts>("needs_parts", 5),
      field<Facts, &Facts::sorting, &Sorting::at>("sorted_at"),
      field<Facts, &Facts::sorting, &Sorting::overdue>("overdue_before", 6),
      Field<Facts>{"jobs", 1, [](const Facts& facts) { return facts.jobs.size() == 0; },
                   [](std::string& text, const Facts& facts) { put(text, facts.jobs.size()); },
                   [](const Word& word, Facts& facts) {
                     constexpr std::uint32_t kMost = 1u << 30;
                     facts.jobs = JobTable(word.number<std::uint32_t>(0, kMost));
                   }},
      field<Facts, &Facts::running>("running"),
      field<Facts, &Facts::ordered>("ordered"),
      field<Facts, &Facts::next_claim>("next_claim"),
      field<Facts, &Facts::next_boot>("next_boot"),
      field<Facts, &Facts::next_booking>("next_booking", 5),
      field<Facts, &Facts::next_decision>("next_decision"),
      field<Facts, &Facts::passes>("passes"),
      field<Facts, &Facts::asked>("asked"),
      field<Facts, &Facts::stale>("stale"),
      field<Facts, &Facts::woken>("woken"),
      field<Facts, &Facts::idle_grew>("idle_grew"),
      planned<Facts, &Facts::timer>("timer"),
      field<Facts, &Facts::retries>("retries"),
      field<Facts, &Facts::corridor_low_w>("corridor_low_w"),
      field<Facts, &Facts::budget_mw>("budget_mw"),
      field<Facts, &Facts::idle_since>("idle_since", 7),
      field<Facts, &Facts::coming_corridors>("coming_corridors", 7),
  };
};

// Without `release`, `leaves`, `running_at`, `planned_at` and `pace`, which are indices;
// `adaptive`, which has rows of its own; `doing` and `claim`, which the rows of unanswered
// decisions and of claims tell.
template <>
struct Table<Job> {
  static constexpr std::string_view kKind = "job";
  static constexpr std::array kFields{
      field<Job, &Job::spec, &JobSpec::name>("name"),
      field<Job, &Job::spec, &JobSpec::user>("user"),
      field<Job, &Job::spec, &JobSpec::group>("group"),
      field<Job, &Job::spec, &JobSpec::account>("account"),
      field<Job, &Job::spec, &JobSpec::priority>("priority"),
      field<Job, &Job::spec, &JobSpec::type>("type"),
      field<Job, &Job::spec, &JobSpec::submitted>("submitted"),
      field<Job, &Job::spec, &JobSpec::walltime>("walltime"),
      field<Job, &Job::spec, &JobSpec::size, &SizeRange::min>("min"),
      field<Job, &Job::spec, &JobSpec::size, &SizeRange::max>("max"),
      field<Job, &Job::spec, &JobSpec::preferred>("preferred"),
      field<Job, &Job::spec, &JobSpec::lane>("lane", 4),
      field<Job, &Job::spec, &JobSpec::cores>("cores", 8),
      field<Job, &Job::spec, &JobSpec::ranks>("ranks", 8),
      field<Job, &Job::spec, &JobSpec::bound>("bound", 9),
      field<Job, &Job::status>("status"),
      field<Job, &Job::decision>("decision"),
      field<Job, &Job::holding, &Holding::count>("holds"),
      field<Job, &Job::holding, &Holding::nodes>("nodes"),
      field<Job, &Job::holding, &Holding::parts>("parts", 5),
      field<Job, &Job::target>("target"),
      field<Job, &Job::keep>("keep"),
      field<Job, &Job::started>("started"),
      planned<Job, &Job::limit>("limit"),
      planned<Job, &Job::not_before>("not_before"),
      planned<Job, &Job::reserved>("reserved"),
      field<Job, &Job::goes_on>("goes_on", 4),
      field<Job, &Job::work_left>("work_left"),
      field<Job, &Job::work_at>("work_at"),
      field<Job, &Job::power_mw>("power_mw"),
      field<Job, &Job::power_class>("power_class", 5),
      field<Job, &Job::is_power_measured>("is_power_measured", 7),
      field<Job, &Job::step>("step", 11),
      field<Job, &Job::expands>("expands"),
      field<Job, &Job::shrinks>("shrinks"),
      field<Job, &Job::restarts>("restarts"),
      field<Job, &Job::refusals>("refusals"),
      field<Job, &Job::gain>("gain"),
      field<Job, &Job::first_size>("first_size"),
      field<Job, &Job::ordered>("ordered"),
      field<Job, &Job::tag>("tag"),
      field<Job, &Job::delayed>("delayed"),
  };
};

template <auto Member>
constexpr Field<Adaptive> of_spec(std::string_view name, SnapshotVersion since = 1) {
  return field<Adaptive, &Adaptive::spec, Member>(name, since);
}
template <auto Member>
constexpr Field<Adaptive> of_cost(std::string_view name) {
  return field<Adaptive, &Adaptive::spec, &AdaptiveSpec::cost, Member>(name);
}

template <>
struct Table<Adaptive> {
  static constexpr std::string_view kKind = "adaptive";
  static constexpr std::array kFields{
      of_spec<&AdaptiveSpec::speedup>("model"),
      of_cost<&ReconfigurationCost::alpha_s>("alpha_s"),
      of_cost<&ReconfigurationCost::beta_s>("beta_s"),
      of_cost<&ReconfigurationCost::b_s>("b_s"),
      of_cost<&ReconfigurationCost::fixed_s>("fixed_s"),
      of_cost<&ReconfigurationCost::scale>("scale"),
      of_cost<&ReconfigurationCost::transfer_s>("transfer_s"),
      of_spec<&AdaptiveSpec::constraint>("constraint"),
      of_spec<&AdaptiveSpec::resize_delay>("resize_delay"),
      of_spec<&AdaptiveSpec::watts_per_node>("watts_per_node"),
      of_spec<&AdaptiveSpec::least_watts_per_node>("least_watts_per_node", 7),
      of_spec<&AdaptiveSpec::walltime_for>("walltime_for"),
      field<Adaptive, &Adaptive::mtct>("mtct"),
      field<Adaptive, &Adaptive::rate>("rate"),
      field<Adaptive, &Adaptive::had>("had"),
  };
};

/// The power of the pledges, beside them, if one has any.
constexpr Field<Claim> power_of_pledges(std::string_view name, SnapshotVersion since) {
  return {name, since, [](const Claim& claim) { return claim.pledged_mw() == 0; },
          [](std::string& text, const Claim& claim) {
            std::vector<std::int64_t> power;
            for (const Pledge& pledge : claim.pledges) power.push_back(pledge.power_mw);
            put(text, power);
          },
          [](const Word& word, Claim& claim) {
            std::vector<std::int64_t> power;
            get(word, power);
            if (power.size() != claim.pledges.size()) word.fail("", " is of other pledges");
            for (std::size_t i = 0; i < power.size(); ++i) claim.pledges[i].power_mw = power[i];
          }};
}

/// Which nodes the pledges name, beside them, if one names any.
template <NodeSet Pledge::*Nodes>
constexpr Field<Claim> nodes_of_pledges(std::string_view name, SnapshotVersion since) {
  return {
      name, since,
      [](const Claim& claim) { return std::ranges::all_of(claim.pledges, &NodeSet::empty, Nodes); },
      [](std::string& text, const Claim& claim) {
        const char* between = "";
        for (const Pledge& pledge : claim.pledges) {
          put(text += between, pledge.*Nodes);
          between = ";";
        }
      },
      [](const Word& word, Claim& claim) {
        std::string_view rest = word.text;
        for (Pledge& pledge : claim.pledges) {
          if (rest.empty()) word.fail("", " is of other pledges");
          get(Word{word.field, next_part(rest, ';')}, pledge.*Nodes);
        }
        if (!rest.empty()) word.fail("", " is of other pledges");
      }};
}

template <>
struct Table<Claim> {
  static constexpr std::string_view kKind = "claim";
  static constexpr std::array kFields{
      field<Claim, &Claim::group>("group", 3),
      field<Claim, &Claim::job>("job"),
      field<Claim, &Claim::request>("request"),
      field<Claim, &Claim::start>("start"),
      field<Claim, &Claim::add, &SizeRange::min>("min"),
      field<Claim, &Claim::add, &SizeRange::max>("max"),
      field<Claim, &Claim::grown>("grown"),
      field<Claim, &Claim::pass>("pass"),
      field<Claim, &Claim::held, &Holding::count>("holds"),
      field<Claim, &Claim::held, &Holding::nodes>("nodes"),
      field<Claim, &Claim::held_mw>("held_mw", 3),
      field<Claim, &Claim::pledges>("pledges"),
      power_of_pledges("pledged_mw", 3),
      nodes_of_pledges<&Pledge::nodes>("pledged_nodes", 4),
      field<Claim, &Claim::inside>("inside", 5),
      nodes_of_pledges<&Pledge::inside>("pledged_inside", 5),
      field<Claim, &Claim::reason, &Reason::why>("why"),
      field<Claim, &Claim::reason, &Reason::job>("for"),
      planned<Claim, &Claim::reason, &Reason::until>("until"),
      field<Claim, &Claim::made>("made"),
      planned<Claim, &Claim::expected>("expected"),
      planned<Claim, &Claim::release>("release"),
  };
};

template <auto... Path>
constexpr Field<Unanswered> of_decision(std::string_view name) {
  return field<Unanswered, &Unanswered::decision, Path...>(name);
}

// Without `releases_mw`, which follows from what its job holds and draws.
template <>
struct Table<Unanswered> {
  static constexpr std::string_view kKind = "unanswered";
  static constexpr std::array kFields{
      of_decision<&Decision::kind>("kind"),
      of_decision<&Decision::job>("job"),
      of_decision<&Decision::after, &Holding::count>("to"),
      of_decision<&Decision::after, &Holding::nodes>("nodes"),
      field<Unanswered, &Unanswered::decision, &Decision::after, &Holding::parts>("parts", 5),
      planned<Unanswered, &Unanswered::decision, &Decision::limit>("limit"),
      field<Unanswered, &Unanswered::decision, &Decision::step>("step", 11),
      of_decision<&Decision::request>("request"),
      of_decision<&Decision::reason, &Reason::why>("why"),
      of_decision<&Decision::reason, &Reason::job>("for"),
      planned<Unanswered, &Unanswered::decision, &Decision::reason, &Reason::until>("until"),
      field<Unanswered, &Unanswered::before, &Holding::count>("held"),
      field<Unanswered, &Unanswered::before, &Holding::nodes>("held_nodes"),
      field<Unanswered, &Unanswered::before, &Holding::parts>("held_parts", 5),
      field<Unanswered, &Unanswered::stays>("stays", 5),
      field<Unanswered, &Unanswered::releases>("releases"),
      field<Unanswered, &Unanswered::pledged>("pledged"),
      field<Unanswered, &Unanswered::pledged_mw>("pledged_mw", 3),
      planned<Unanswered, &Unanswered::expected>("expected"),
      field<Unanswered, &Unanswered::decided>("decided"),
  };
};

template <>
struct Table<Request> {
  static constexpr std::string_view kKind = "request";
  static constexpr std::array kFields{
      field<Request, &Request::job>("job"),
      field<Request, &Request::delta>("delta"),
      field<Request, &Request::at_least>("at_least"),
  };
};

template <>
struct Table<Delays> {
  static constexpr std::string_view kKind = "delays";
  static constexpr std::array kFields{
      field<Delays, &Delays::party>("of"),
      field<Delays, &Delays::interval>("interval"),
      field<Delays, &Delays::sum_s>("sum_s"),
      field<Delays, &Delays::jobs>("jobs"),
      field<Delays, &Delays::planned_s>("planned_s"),
      field<Delays, &Delays::suffered_s>("suffered_s"),
      field<Delays, &Delays::caused_s>("caused_s"),
  };
};

template <>
struct Table<PlannedDelay> {
  static constexpr std::string_view kKind = "planned-delay";
  static constexpr std::array kFields{
      field<PlannedDelay, &PlannedDelay::job>("job"),
      field<PlannedDelay, &PlannedDelay::request>("request"),
      field<PlannedDelay, &PlannedDelay::by>("by"),
      planned<PlannedDelay, &PlannedDelay::from>("from"),
      planned<PlannedDelay, &PlannedDelay::to>("to"),
      field<PlannedDelay, &PlannedDelay::counted>("counted"),
      field<PlannedDelay, &PlannedDelay::interval>("interval"),
  };
};

template <>
struct Table<Boot> {
  static constexpr std::string_view kKind = "boot";
  static constexpr std::array kFields{
      field<Boot, &Boot::nodes>("nodes"),
      planned<Boot, &Boot::ready>("ready"),
  };
};

template <>
struct Table<MoveOrder> {
  static constexpr std::string_view kKind = "move";
  static constexpr std::array kFields{
      field<MoveOrder, &MoveOrder::off>("off", 3),
  };
};

template <>
struct Table<StopOrder> {
  static constexpr std::string_view kKind = "stop";
  static constexpr SnapshotVersion kSince = 4;
  static constexpr std::array kFields{
      field<StopOrder, &StopOrder::how>("how", 4),
  };
};

template <>
struct Table<Booking> {
  static constexpr std::string_view kKind = "booking";
  static constexpr SnapshotVersion kSince = 5;
  static constexpr std::array kFields{
      field<Booking, &Booking::name>("name", 5),
      planned<Booking, &Booking::from>("from", 5),
      planned<Booking, &Booking::to>("to", 5),
      field<Booking, &Booking::nodes>("nodes", 5),
      field<Booking, &Booking::power_mw>("power_mw", 5),
      field<Booking, &Booking::for_jobs>("for_jobs", 5),
      field<Booking, &Booking::users>("users", 5),
      field<Booking, &Booking::has_begun>("has_begun", 5),
  };
};

// Rows that are not kept like this.

/// Nodes that are not up.
struct Condition {
  NodeSet draining, down, off;
};
template <>
struct Table<Condition> {
  static constexpr std::string_view kKind = "nodes";
  static constexpr std::array kFields{
      field<Condition, &Condition::draining>("draining"),
      field<Condition, &Condition::down>("down"),
      field<Condition, &Condition::off>("off"),
  };
};

/// What a user had used when it last began or ceased to hold nodes.
struct Used {
  double node_s = 0;
  Time at{};
};
template <>
struct Table<Used> {
  static constexpr std::string_view kKind = "use";
  static constexpr std::array kFields{
      field<Used, &Used::node_s>("node_s"),
      field<Used, &Used::at>("at"),
  };
};

template <>
struct Table<Standing> {
  static constexpr std::string_view kKind = "standing";
  static constexpr std::array kFields{field<Standing, &Standing::value>("value")};
};

// The last one: how many there are before it.
constexpr std::string_view kEnd = "end";

// --- Writing -------------------------------------------------------------------------------------

class Rows {
 public:
  explicit Rows(std::string& text) : text_(text) {}

  template <class Row>
  void add(const Row& row) {
    text_ += Table<Row>::kKind;
    finish(row);
  }
  template <class Row>
  void add(std::uint64_t key, const Row& row) {
    text_ += Table<Row>::kKind;
    append_number(text_ += ' ', key);
    finish(row);
  }
  SnapshotVersion end() {
    text_ += kEnd;
    append_number(text_ += ' ', rows_);
    text_ += '\n';
    return needed_;
  }

 private:
  template <class Row>
  void finish(const Row& row) {
    if constexpr (requires { Table<Row>::kSince; }) needed_ = std::max(needed_, Table<Row>::kSince);
    for (const Field<Row>& each : Table<Row>::kFields) {
      if (each.is_default(row)) continue;
      text_ += ' ';
      text_ += each.name;
      text_ += '=';
      each.write(text_, row);
      needed_ = std::max(needed_, each.since);
    }
    text_ += '\n';
    ++rows_;
  }

  std::string& text_;
  std::uint64_t rows_ = 0;
  SnapshotVersion needed_ = 1;
};

Condition condition_of(const Facts& facts) {
  Condition found;
  for (std::uint32_t node = 0; node < facts.health.size(); ++node) {
    const Health health = facts.health[node];
    if (health == Health::draining) found.draining.insert(node, node);
    if (health == Health::down) found.down.insert(node, node);
    if (health == Health::off) found.off.insert(node, node);
  }
  return found;
}

// --- Reading -------------------------------------------------------------------------------------

class Loader {
 public:
  explicit Loader(const std::string& file) : place_{file, 1} {}

  State load(std::string_view text) {
    for (; !text.empty(); ++place_.line) {
      place_.field.clear();
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) fail("the last line has no end", kDamaged);
      if (is_over_) fail("there is more after its end", kDamaged);
      row(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    place_.line = 0;
    place_.field.clear();
    if (!is_over_) fail("its end is missing", kDamaged);
    connect();
    State state(std::move(facts_));
    for (const JobId id : state.running) {
      const Job& job = state.jobs[id];
      if (state.rules.counts_uses) state.uses.hold(job.spec.user, state.counted(job));
    }
    try {
      check_invariants(state);
    } catch (const InvariantViolation& violation) {
      fail(violation.what(), kDamaged);
    }
    return state;
  }

 private:
  static constexpr const char* kDamaged = "it is damaged: take an older one";
  static constexpr const char* kNewer = "read it with the version that wrote it, or a newer one";

  [[noreturn]] void fail(const std::string& what, const char* remedy) const {
    throw InputError(place_, what, remedy);
  }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what, kDamaged);
  }
  /// Of a row that was read before.
  void require(bool holds, std::string_view kind, std::uint64_t key, const char* field,
               const char* what) {
    if (holds) return;
    place_.field = std::string(kind) + ' ' + std::to_string(key) + ": " + field;
    fail(what, kDamaged);
  }

  void row(std::string_view rest) {
    ++rows_;
    const std::string_view kind = next_part(rest, ' ');
    place_.field = kind;
    if (kind == kEnd) {
      if (key(rest) != rows_ - 1 || !rest.empty()) fail("rows are missing", kDamaged);
      is_over_ = true;
      return;
    }
    const bool known =
        only(kind, rest, facts_.platform) || only(kind, rest, facts_.capabilities) ||
        only(kind, rest, facts_.rules) || only(kind, rest, facts_) ||
        only(kind, rest, condition_) || job(kind, rest) || adaptive(kind, rest) ||
        use(kind, rest) || named<&Standing::user>(kind, rest, facts_.sorting.standings) ||
        named<&Claim::id>(kind, rest, facts_.claims) ||
        named<&Unanswered::decision, &Decision::id>(kind, rest, facts_.unanswered) ||
        named<&Request::id>(kind, rest, facts_.requests) ||
        named<&Boot::batch>(kind, rest, facts_.boots) ||
        named<&MoveOrder::job>(kind, rest, facts_.moves) ||
        named<&StopOrder::job>(kind, rest, facts_.stops) ||
        named<&Booking::id>(kind, rest, facts_.bookings) || numbered(kind, rest, facts_.delays) ||
        numbered(kind, rest, facts_.planned_delays) ||
        numbered(kind, rest, facts_.platform.classes) ||
        numbered(kind, rest, facts_.platform.partitions) ||
        numbered(kind, rest, facts_.platform.switches) ||
        numbered(kind, rest, facts_.platform.qos) || lane(kind, rest);
    if (!known) fail("there is no such row", kNewer);
  }

  std::uint64_t key(std::string_view& rest) {
    const std::string_view word = next_part(rest, ' ');
    const auto number = parse_number<std::uint64_t>(word);
    if (!number) fail("'" + std::string(word) + "' is no number of a row", kDamaged);
    place_.field.append(" ").append(word);
    return *number;
  }

  template <class Row>
  void fields(std::string_view rest, Row& row) {
    constexpr auto& table = Table<Row>::kFields;
    std::array<bool, table.size()> seen{};
    std::size_t next = 0;  // they come in order
    const std::string name_of_row = place_.field;
    while (!rest.empty()) {
      std::string_view value = next_part(rest, ' ');
      const std::string_view name = next_part(value, '=');
      place_.field = name_of_row + ": " + std::string(name);
      if (next == table.size() || table[next].name != name) {
        next = static_cast<std::size_t>(std::ranges::find(table, name, &Field<Row>::name) -
                                        table.begin());
        if (next == table.size()) fail("there is no such field", kNewer);
      }
      if (std::exchange(seen[next], true)) fail("given twice", kDamaged);
      try {
        table[next].read({name, value}, row);
      } catch (const RecordError& error) {
        fail(error.what(), kDamaged);
      }
      ++next;
    }
    place_.field = name_of_row;
  }

  /// The only row of its kind.
  template <class Row>
  bool only(std::string_view kind, std::string_view rest, Row& row) {
    if (kind != Table<Row>::kKind) return false;
    if (std::ranges::find(only_, kind) != only_.end()) fail("given twice", kDamaged);
    only_.push_back(kind);
    fields(rest, row);
    return true;
  }
  template <class T>
  void set_key(std::uint64_t key, T& value) const {
    std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if constexpr (sizeof(T) > 4) most = ~std::uint64_t{0};
    require(key <= most, "its number is too large");
    value = static_cast<T>(key);
  }
  /// One of a list, with its own number.
  template <auto... Path, class Row>
  bool named(std::string_view kind, std::string_view rest, std::vector<Row>& rows) {
    if (kind != Table<Row>::kKind) return false;
    Row row{};
    set_key(key(rest), member<Path...>(row));
    if constexpr (!std::is_same_v<Row, Request>) {  // these are in order of arrival
      require(rows.empty() || member<Path...>(rows.back()) < member<Path...>(row),
              "given twice, or not in order");
    }
    fields(rest, row);
    rows.push_back(std::move(row));
    return true;
  }
  /// One of a list, by its place.
  template <class Row>
  bool numbered(std::string_view kind, std::string_view rest, std::vector<Row>& rows) {
    if (kind != Table<Row>::kKind) return false;
    require(key(rest) == rows.size(), "given twice, or not in order");
    fields(rest, rows.emplace_back());
    return true;
  }
  JobId job_key(std::string_view& rest) {
    const std::uint64_t number = key(rest);
    require(number < facts_.jobs.size(), "there are not so many jobs");
    return JobId{static_cast<std::uint32_t>(number)};
  }
  bool job(std::string_view kind, std::string_view rest) {
    if (kind != Table<Job>::kKind) return false;
    const JobId id = job_key(rest);
    require(!facts_.jobs.knows(id), "given twice");
    Job& job = facts_.jobs.revive(id);
    fields(rest, job);
    require(job.status != Status::over, "it is over, and has a row");
    return true;
  }
  bool lane(std::string_view kind, std::string_view rest) {
    if (kind != Table<Lane>::kKind) return false;
    const std::uint64_t number = key(rest);
    require(number >= facts_.lanes.size() && number < (1u << 16), "given twice, or not in order");
    facts_.lanes.resize(number + 1);
    fields(rest, facts_.lanes.back());
    return true;
  }
  bool adaptive(std::string_view kind, std::string_view rest) {
    if (kind != Table<Adaptive>::kKind) return false;
    const JobId id = job_key(rest);
    require(facts_.jobs.knows(id), "its job is missing");
    Job& job = facts_.jobs[id];
    require(job.adaptive == Job::kNoRow, "given twice");
    job.adaptive = static_cast<std::uint32_t>(facts_.adaptive.size());
    fields(rest, facts_.adaptive.emplace_back());
    return true;
  }
  bool use(std::string_view kind, std::string_view rest) {
    if (kind != Table<Used>::kKind) return false;
    std::uint32_t user = 0;
    set_key(key(rest), user);
    require(users_ == 0 || last_user_ < user, "given twice, or not in order");
    Used used;
    fields(rest, used);
    facts_.uses.restore(user, used.node_s, used.at);
    last_user_ = user;
    ++users_;
    return true;
  }

  // --- What rows say of each other

  bool on_machine(const NodeSet& nodes) const {
    return nodes.empty() ||
           (facts_.rules.identities && nodes.parts.back().last < facts_.platform.nodes);
  }
  bool is_sound(const Holding& holding) const {
    return holding.count <= facts_.platform.nodes && on_machine(holding.nodes) &&
           (!facts_.rules.identities || holding.nodes.count() == holding.count) &&
           holding.nodes.contains(nodes_in(holding.parts));
  }
  Job* find(JobId id) { return facts_.jobs.knows(id) ? &facts_.jobs[id] : nullptr; }

  void connect() {
    for (const std::string_view kind : {Table<Platform>::kKind, Table<Capabilities>::kKind,
                                        Table<Rules>::kKind, Table<Facts>::kKind}) {
      if (std::ranges::find(only_, kind) != only_.end()) continue;
      fail("the row '" + std::string(kind) + "' is missing", kDamaged);
    }
    connect_machine();
    std::size_t running = 0, ordered = 0;
    std::uint64_t held = 0;
    facts_.jobs.for_each([&](JobId id) {
      const Job& job = facts_.jobs[id];
      check_job(index(id), job);
      running += job.status == Status::running ? 1 : 0;
      ordered += job.ordered != 0 ? 1 : 0;
      require(index(job.spec.lane) < facts_.lanes.size(), Table<Job>::kKind, index(id), "lane",
              "there is none of this number");
      ++facts_.lanes[index(job.spec.lane)].jobs;
      held += job.holding.count;
    });
    for (const Claim& claim : facts_.claims) held += claim.held.count;
    held -= held_besides();
    for (std::size_t i = 1; i < facts_.lanes.size(); ++i) {
      const Lane& lane = facts_.lanes[i];
      require((lane.jobs == 0) == (lane.where == Where{}), Table<Lane>::kKind, i, "number",
              "it has no jobs, or asks for nothing");
    }
    place_.field = "state";
    require(held <= facts_.platform.nodes, "more nodes are held than there are");
    place_.field = "state: running";
    require(running == facts_.running.size(), "not the jobs that run");
    std::uint32_t at = 0;
    for (const JobId id : facts_.running) {
      Job* job = find(id);
      require(job && job->status == Status::running, "not the jobs that run");
      job->running_at = at++;
    }
    at = 0;
    for (const JobId id : facts_.running) {
      require(facts_.jobs[id].running_at == at++, "a job twice");
    }
    place_.field = "state: ordered";
    require(ordered == facts_.ordered.size(), "not the jobs with an order");
    for (const JobId id : facts_.ordered) {
      const Job* job = find(id);
      require(job && job->ordered != 0 && std::ranges::count(facts_.ordered, id) == 1,
              "not the jobs with an order");
    }
    for (const MoveOrder& order : facts_.moves) {
      const Job* job = find(order.job);
      require(job && job->status == Status::running && on_machine(order.off) && !order.off.empty(),
              Table<MoveOrder>::kKind, index(order.job), "off",
              "there are no such nodes, or the job does not run");
    }
    for (const StopOrder& order : facts_.stops) {
      const Job* job = find(order.job);
      require(job && job->status == Status::running, Table<StopOrder>::kKind, index(order.job),
              "job", "it does not run");
    }
    connect_decisions();
    for (std::size_t i = 0; i < facts_.planned_delays.size(); ++i) {
      require(find(facts_.planned_delays[i].job) != nullptr, Table<PlannedDelay>::kKind, i, "job",
              "there is no such job");
    }
  }

  /// How often nodes are held that others hold as well, of those that may be shared.
  std::uint64_t held_besides() const {
    NodeSet parts, once;
    for (const Claim& claim : facts_.claims) parts.insert(nodes_in(claim.inside));
    facts_.jobs.for_each([&](JobId id) { parts.insert(nodes_in(facts_.jobs[id].holding.parts)); });
    std::uint64_t besides = 0;
    if (parts.empty()) return besides;
    facts_.jobs.for_each([&](JobId id) {
      const NodeSet its = intersection(facts_.jobs[id].holding.nodes, parts);
      besides += intersection(its, once).count();
      once.insert(its);
    });
    return besides;
  }

  void connect_machine() {
    const Platform& machine = facts_.platform;
    constexpr double kMostWatts = 1e6;
    place_.field = Table<Platform>::kKind;
    require(machine.nodes <= Word::kMostNodes && machine.idle_w >= 0 &&
                machine.idle_w <= kMostWatts && machine.busy_w >= 0 &&
                machine.busy_w <= kMostWatts && machine.off_w >= 0 && machine.off_w <= kMostWatts,
            "there is no such machine");
    const auto is_step = [](const FrequencyStep& its) {
      return its.speed >= 1e-3 && its.speed <= 1 && its.power >= 0 && its.power <= 1;
    };
    require(machine.steps.size() <= kMostSteps && std::ranges::all_of(machine.steps, is_step),
            "there are no such steps");
    for (std::size_t i = 0; i < machine.classes.size(); ++i) {
      const NodeClass& its = machine.classes[i];
      require(its.speed >= 1e-6 && its.speed <= 1e6 && its.idle_w >= 0 &&
                  its.idle_w <= kMostWatts && its.busy_w >= 0 && its.busy_w <= kMostWatts &&
                  its.off_w >= 0 && its.off_w <= kMostWatts,
              Table<NodeClass>::kKind, i, "nodes", "there is no such class");
    }
    require(
        ductile::is_sound(machine) && (facts_.rules.identities || CellTable(machine, {}).is_one()),
        "there is no such machine");
    place_.field = Table<Condition>::kKind;
    if (facts_.rules.identities) facts_.health.assign(machine.nodes, Health::up);
    for (const auto& [nodes, health] :
         {std::pair(&condition_.draining, Health::draining),
          std::pair(&condition_.down, Health::down), std::pair(&condition_.off, Health::off)}) {
      require(on_machine(*nodes), "there are no such nodes");
      for (const Interval& part : nodes->parts) {
        std::fill(facts_.health.begin() + part.first, facts_.health.begin() + part.last + 1,
                  health);
      }
    }
    require(condition_.draining.count() + condition_.down.count() + condition_.off.count() ==
                united(united(condition_.draining, condition_.down), condition_.off).count(),
            "a node twice");
    for (const Boot& boot : facts_.boots) {
      require(on_machine(boot.nodes) && boot.batch < facts_.next_boot, Table<Boot>::kKind,
              boot.batch, "nodes", "there are no such nodes, or there was no such order");
    }
    connect_bookings();
    place_.field = "state";
    constexpr std::uint32_t kMostRefusals = 20;  // as in records
    require(facts_.rules.counted_refusals <= kMostRefusals, "too many refusals are counted");
    require(std::ranges::is_sorted(facts_.retries), "retries are not in order");
    require(facts_.budget_mw >= 0, "a negative bound of power");
    require(facts_.asked >= facts_.unanswered.size(), "fewer decisions asked than unanswered");
    const std::int64_t at = facts_.sorting.at.time_since_epoch().count();
    require(at <= Word::kLatest, "sorted never");
    require(facts_.traits.multifactor.fairshare_dampening >= 1, "a dampening below 1");
    require(index(facts_.sorting.overdue) <= facts_.jobs.size(),
            "jobs that never were are overdue");
  }

  void connect_bookings() {
    require(facts_.bookings.size() <= kMostBookings, "there are too many bookings");
    for (const Booking& booking : facts_.bookings) {
      const auto must = [&](bool holds, const char* field, const char* what) {
        require(holds, Table<Booking>::kKind, index(booking.id), field, what);
      };
      must(index(booking.id) < facts_.next_booking, "number", "there was none of this number");
      must(is_booking_name(booking.name) &&
               std::ranges::count(facts_.bookings, booking.name, &Booking::name) == 1,
           "name", "that of another one, or no name");
      must(booking.from < booking.to, "to", "it ends before it begins");
      must(on_machine(booking.nodes), "nodes", "there are no such nodes");
      must(booking.power_mw >= 0 && booking.power_mw <= kMostBookedMw, "power_mw", "no power");
      for (const Booking& other : facts_.bookings) {
        must(other.id >= booking.id || !other.overlaps(booking.from, booking.to) ||
                 !other.nodes.intersects(booking.nodes),
             "nodes", "of another one as well");
      }
    }
  }

  void check_job(std::uint32_t number, const Job& job) {
    const auto must = [&](bool holds, const char* field, const char* what) {
      require(holds, Table<Job>::kKind, number, field, what);
    };
    must(job.spec.preferred > 0 && job.spec.preferred <= Word::kMostNodes, "preferred", "no size");
    must(job.spec.size.min > 0 && job.spec.size.min <= job.spec.size.max &&
             job.spec.size.max <= Word::kMostNodes,
         "min", "no sizes");
    must(job.spec.submitted != kNever, "submitted", "never");
    must(job.work_left >= 0, "work_left", "less than nothing");
    must(is_sound(job.holding) && (job.status == Status::running) == (job.holding.count > 0),
         "holds", "that it cannot hold");
    must(job.target <= facts_.platform.nodes, "target", "more than there is");
    must(index(job.decision) < facts_.next_decision, "decision", "there was none of this number");
    must(job.keep == Job::kNoKeep || job.keep < facts_.platform.nodes, "keep", "no such node");
    must(job.step <= facts_.platform.steps.size() &&
             (job.step == 0 || job.status == Status::running),
         "step", "there is no such step");
    must(job.power_class < std::max<std::size_t>(facts_.platform.classes.size(), 1), "power_class",
         "there is no such class");
  }

  void connect_decisions() {
    const CellTable cells(facts_.platform, facts_.lanes);
    for (Unanswered& open : facts_.unanswered) {
      const auto must = [&](bool holds, const char* field, const char* what) {
        require(holds, Table<Unanswered>::kKind, index(open.decision.id), field, what);
      };
      Job* job = find(open.decision.job);
      must(job && job->status == Status::running && job->decision == open.decision.id, "job",
           "it waits for no answer");
      must(open.decision.answered(), "kind", "it has no answer");
      must(is_sound(open.decision.after), "to", "that it cannot hold");
      const bool starts = open.decision.kind == Decision::Kind::start;
      must(is_sound(open.before) && starts == (open.before.count == 0), "held",
           "that it cannot have held");
      must(!open.decision.stops() || job->target == 0, "job", "it is to hold nothing");
      must(on_machine(open.stays), "stays", "there are no such nodes");
      must(open.releases <= job->holding.count && open.pledged <= open.releases, "releases",
           "more than it holds, or less than promised");
      must(job->target <= job->holding.count, "job", "it is to hold more than it was given");
      open.releases_mw = releases_mw(facts_, cells, *job, open.decision.after);
      must(open.pledged_mw >= 0 && open.pledged_mw <= open.releases_mw, "pledged_mw",
           "more than it will release");
      job->doing = starts                  ? Doing::starting
                   : open.decision.stops() ? Doing::stopping
                                           : Doing::resizing;
    }
    constexpr std::int64_t kMostPower = std::int64_t{Word::kMostNodes} << 32;
    std::int64_t claimed_mw = 0;
    for (const Claim& claim : facts_.claims) {
      const auto must = [&](bool holds, const char* field, const char* what) {
        require(holds, Table<Claim>::kKind, index(claim.id), field, what);
      };
      Job* job = find(claim.job);
      must(job && job->claim == ClaimId::none, "job", "it cannot wait for nodes");
      const auto of_group = std::ranges::count(facts_.claims, claim.group, &Claim::group);
      must(claim.group == ClaimId::none || (claim.group <= claim.id && of_group > 1), "group",
           "it is not whole");
      must(claim.group == ClaimId::none ||
               std::ranges::count_if(facts_.claims,
                                     [&](const Claim& each) {
                                       return each.id >= claim.group && each.id <= claim.id &&
                                              each.group == claim.group;
                                     }) == index(claim.id) - std::int64_t{index(claim.group)} + 1,
           "group", "it is not whole");
      must(is_sound(claim.held), "holds", "that it cannot hold");
      must(on_machine(nodes_in(claim.inside)), "inside", "there are no such nodes");
      must(claim.id < ClaimId{facts_.next_claim}, "number", "there was none of this number");
      for (const Pledge& pledge : claim.pledges) {
        must(find(pledge.victim) != nullptr, "pledges", "there is no such job");
        must(pledge.count <= facts_.platform.nodes, "pledges", "more than there is");
        must(on_machine(pledge.nodes), "pledged_nodes", "there are no such nodes");
        must(on_machine(pledge.inside), "pledged_inside", "there are no such nodes");
        if (Unanswered* open = facts_.find(pledge.shrink)) open->promised.insert(pledge.nodes);
        must(pledge.power_mw >= 0 && pledge.power_mw <= kMostPower, "pledged_mw", "no power");
      }
      must(claim.held_mw >= 0 && claim.held_mw <= kMostPower - claimed_mw, "held_mw", "no power");
      claimed_mw += claim.held_mw;
      must(facts_.budget_mw != Facts::kNoBudget || claim.held_mw + claim.pledged_mw() == 0,
           "held_mw", "of no budget");
      job->claim = claim.id;
    }
    for (std::size_t i = 0; i < facts_.requests.size(); ++i) {
      const Request& request = facts_.requests[i];
      const Job* job = find(request.job);
      require(job && job->status == Status::running, Table<Request>::kKind, index(request.id),
              "job", "it does not run");
      const auto same = std::ranges::count(facts_.requests, request.id, &Request::id);
      require(same == 1, Table<Request>::kKind, index(request.id), "number", "given twice");
    }
  }

  Place place_;
  std::uint64_t rows_ = 0;
  bool is_over_ = false;
  std::vector<std::string_view> only_;
  std::uint32_t last_user_ = 0, users_ = 0;
  Condition condition_;
  Facts facts_;
};

template <class Row>
SnapshotRow described() {
  SnapshotRow row{Table<Row>::kKind, {}};
  for (const Field<Row>& each : Table<Row>::kFields) row.fields.push_back({each.name, each.since});
  return row;
}

}  // namespace

SnapshotVersion save(const State& state, std::string& text) {
  if (state.must_wake || (!state.handed_out && !state.decisions.empty())) {
    throw std::logic_error("a state is saved between two instants");
  }
  Rows rows(text);
  rows.add(state.platform);
  rows.add(state.capabilities);
  rows.add(state.rules);
  rows.add(static_cast<const Facts&>(state));
  for (std::size_t i = 0; i < state.platform.classes.size(); ++i) {
    rows.add(i, state.platform.classes[i]);
  }
  for (std::size_t i = 0; i < state.platform.partitions.size(); ++i) {
    rows.add(i, state.platform.partitions[i]);
  }
  for (std::size_t i = 0; i < state.platform.switches.size(); ++i) {
    rows.add(i, state.platform.switches[i]);
  }
  for (std::size_t i = 0; i < state.platform.qos.size(); ++i) rows.add(i, state.platform.qos[i]);
  for (std::size_t i = 1; i < state.lanes.size(); ++i) {
    if (state.lanes[i].jobs > 0) rows.add(i, state.lanes[i]);
  }
  rows.add(condition_of(state));
  state.jobs.for_each([&](JobId id) {
    const Job& job = state.jobs[id];
    rows.add(index(id), job);
    if (job.adaptive != Job::kNoRow) rows.add(index(id), state.adaptive[job.adaptive]);
  });
  for (const Claim& claim : state.claims) rows.add(index(claim.id), claim);
  for (const Unanswered& open : state.unanswered) rows.add(index(open.decision.id), open);
  for (const Request& request : state.requests) rows.add(index(request.id), request);
  for (const Boot& boot : state.boots) rows.add(boot.batch, boot);
  for (const MoveOrder& order : state.moves) rows.add(index(order.job), order);
  for (const StopOrder& order : state.stops) rows.add(index(order.job), order);
  for (const Booking& booking : state.bookings) rows.add(index(booking.id), booking);
  for (std::size_t i = 0; i < state.delays.size(); ++i) rows.add(i, state.delays[i]);
  for (std::size_t i = 0; i < state.planned_delays.size(); ++i) {
    rows.add(i, state.planned_delays[i]);
  }
  state.uses.for_each([&](std::uint32_t user, double node_s, Time at) {
    rows.add(user, Used{node_s, at});
  });
  for (const Standing& each : state.sorting.standings) rows.add(each.user, each);
  return rows.end();
}

std::string save(const State& state) {
  std::string text;
  save(state, text);
  return text;
}

State load(std::string_view text, const std::string& file) { return Loader(file).load(text); }

std::vector<SnapshotRow> snapshot_rows() {
  return {described<Platform>(),  described<Capabilities>(), described<Rules>(),
          described<Facts>(),     described<NodeClass>(),    described<Partition>(),
          described<Switch>(),    described<Qos>(),          described<Lane>(),
          described<Condition>(), described<Job>(),          described<Adaptive>(),
          described<Claim>(),     described<Unanswered>(),   described<Request>(),
          described<Boot>(),      described<MoveOrder>(),    described<StopOrder>(),
          described<Booking>(),   described<Delays>(),       described<PlannedDelay>(),
          described<Used>(),      described<Standing>()};
}

}  // namespace ductile
