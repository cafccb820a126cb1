#include "live/submission.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/members.hpp"
#include "base/text.hpp"
#include "job/charm_method.hpp"
#include "live/json_text.hpp"
#include "model/fairness.hpp"
#include "scheduling/booking.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxScript = std::size_t{1} << 20;
constexpr std::size_t kMaxWord = std::size_t{1} << 17;
constexpr std::size_t kMaxWords = 4096;
constexpr std::size_t kMaxWhere = 4096;
constexpr std::int64_t kMostMemory = std::int64_t{1} << 60;  // bytes
constexpr double kMostWatts = 1e6;                           // as much as a record may have

/// The program of a stand-in.
constexpr const char* kNoProgram = "none";

[[noreturn]] void fail(const char* field, const std::string& what, const std::string& remedy) {
  throw InputError({.field = field}, what, remedy);
}

Json texts_json(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(bytes_to_json(text));
  return json;
}

class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {
    if (!json.is_object()) fail("job", "it is no object", "use `ductile submit`");
  }

  template <class Number>
  Number number(const char* field, std::int64_t min, std::int64_t max, Number fallback) {
    const auto at = find(field);
    if (at == json_.end()) return fallback;
    if (!at->is_number_integer()) fail(field, "it is no whole number", "");
    // What does not fit is out of range, whatever its sign.
    const bool is_huge = at->is_number_unsigned() &&
                         at->get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const std::int64_t value = is_huge ? max : at->get<std::int64_t>();
    if (is_huge || value < min || value > max) {
      fail(field, fmt::format("{} is out of range", at->dump()),
           fmt::format("use {} to {}", min, max));
    }
    return static_cast<Number>(value);
  }
  /// Above 0; 0 if it is not there.
  double real(const char* field, double most) {
    const auto at = find(field);
    if (at == json_.end()) return 0;
    const double value = at->is_number() ? at->get<double>() : -1;
    if (!(value >= 0 && value <= most)) {
      fail(field, fmt::format("{} is out of range", at->dump()), fmt::format("use 0 to {}", most));
    }
    return value;
  }
  std::string text(const char* field, std::size_t most = kMaxWord) {
    const auto at = find(field);
    if (at == json_.end()) return {};
    std::string value = bytes(field, *at);
    check(field, value, most);
    return value;
  }
  std::vector<std::string> texts(const char* field) {
    const auto at = find(field);
    if (at == json_.end()) return {};
    if (!at->is_array() || at->size() > kMaxWords) fail(field, "it is no list", "");
    std::vector<std::string> values;
    for (const Json& value : *at) {
      values.push_back(bytes(field, value));
      check(field, values.back(), kMaxWord);
    }
    return values;
  }
  template <class Number>
  std::vector<Number> numbers(const char* field) {
    const auto at = find(field);
    std::vector<Number> values;
    if (!at->is_array() || at->size() > (std::size_t{1} << 16)) fail(field, "it is no list", "");
    for (const Json& value : *at) {
      const bool fits = value.is_number_unsigned() &&
                        value.get<std::uint64_t>() <= std::numeric_limits<Number>::max();
      if (!fits) fail(field, "an entry is no number", "");
      values.push_back(value.get<Number>());
    }
    return values;
  }
  bool flag(const char* field) {
    const auto at = find(field);
    if (at == json_.end()) return false;
    if (!at->is_boolean()) fail(field, "it is neither true nor false", "");
    return *at;
  }
  template <class Enum, std::size_t Size>
  Enum choice(const char* field, const std::array<std::string_view, Size>& words, Enum fallback) {
    const std::string word = text(field);
    if (word.empty()) return fallback;
    const auto value = from_word<Enum>(words, word);
    if (!value) fail(field, "there is no '" + word + "'", "use one of " + listed(words));
    return *value;
  }
  void finish() const {
    if (known_ != json_.size()) {
      fail("job", "it has a field that is not known", "use the `ductile submit` of this version");
    }
  }

 private:
  Json::const_iterator find(const char* field) {
    const auto at = json_.find(field);
    known_ += at != json_.end();
    return at;
  }
  static std::string bytes(const char* field, const Json& json) {
    const auto text = bytes_from_json(json);
    if (!text) fail(field, "it is no text", "");
    return *text;
  }
  static void check(const char* field, const std::string& value, std::size_t most) {
    if (value.size() > most) fail(field, "it is too long", fmt::format("at most {} bytes", most));
    if (value.find('\0') != std::string::npos) fail(field, "it has a byte 0", "");
  }

  const Json& json_;
  std::size_t known_ = 0;
};

/// Does its number of processes change while it runs?
bool is_resized(JobType type) { return type != JobType::rigid && type != JobType::moldable; }

}  // namespace

bool Submission::has_steps() const {
  return kind == JobKind::mpi && mpi == Mpi::none && is_resized(type);
}

JobKind Submission::kind_of_run() const {
  if (kind != JobKind::mpi) return kind;
  return !is_resized(type) ? JobKind::rigid : has_steps() ? JobKind::steps : JobKind::mpi;
}

Duration Submission::answers_within() const {
  // It may be told again for that time (charm_method.cpp), and starts itself again then.
  constexpr Duration kCharmRestart = whole_seconds(60);
  if (kind == JobKind::charm) return 2 * Duration(told.ack_timeout) + kCharmRestart;
  if (kind == JobKind::script) return told.ack_timeout;
  if (kind == JobKind::restart) return told.checkpoint_timeout + told.settle;
  return {};
}

bool Submission::keeps_data() const {
  const JobKind its = kind_of_run();
  return its == JobKind::mpi || its == JobKind::restart;
}

std::uint32_t Submission::processes_per_node(const Platform& platform) const {
  if (platform.classes.empty()) return processes_on(platform.cores_per_node);
  // Of one that no longer fits nobody asks.
  try {
    return processes_on(fewest_cores(nodes_of(where_of(*this, platform), platform), platform));
  } catch (const InputError&) {
    return processes_on(platform.cores_per_node);
  }
}

std::uint32_t Submission::processes_on(std::uint32_t cores) const {
  if (has_threads()) return cores;
  if (kind_of_run() == JobKind::rigid && mpi == Mpi::none) return 1;
  if (tasks_per_node != 0) return tasks_per_node;
  return std::max(cores / std::max(cores_per_process, 1U), 1U);
}

// Who adds a member: it is written below, and read and checked after that;
// docs/formats/controller.md
// ("A job") has it, and `sample` in submission_test.cpp. Then the number here is right again.
static_assert(members<Submission>() == 48);
static_assert(members<ScriptSettings>() == 7);

namespace {

/// What its kind needs besides.
void add_kind(Json& json, const Submission& s) {
  json["kind"] = kJobKindWords[static_cast<std::size_t>(s.kind)];
  const ScriptSettings none;
  const auto add = [&](const char* field, const auto& value, const auto& usual) {
    if (value != usual) json[field] = value;
  };
  const auto microseconds = [](std::chrono::milliseconds time) {
    return std::chrono::duration_cast<Duration>(time).count();
  };
  if (s.kind == JobKind::threads) return;
  add("signal", signal_word(s.told.signal), signal_word(none.signal));
  add("ack_timeout_us", microseconds(s.told.ack_timeout), microseconds(none.ack_timeout));
  if (!s.told.checkpoint.empty()) json["checkpoint"] = bytes_to_json(s.told.checkpoint);
  add("checkpoint_timeout_us", microseconds(s.told.checkpoint_timeout),
      microseconds(none.checkpoint_timeout));
  add("checkpoint_exit", s.told.stopped_exit, none.stopped_exit);
  if (!s.told.restart.empty()) json["restart"] = bytes_to_json(s.told.restart);
  add("settle_us", microseconds(s.told.settle), microseconds(none.settle));
}

void take_script(Fields& in, Submission& s) {
  const auto time = [&](const char* field, std::chrono::milliseconds usual) {
    constexpr std::int64_t kLeast = 100'000, kMost = 1'000'000'000'000;
    const Duration all = usual;
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        Duration(in.number<std::int64_t>(field, kLeast, kMost, all.count())));
  };
  if (const std::string signal = in.text("signal"); !signal.empty()) {
    const auto number = parse_signal(signal);
    if (!number) fail("signal", "there is no '" + signal + "'", "use USR1, or TERM");
    s.told.signal = *number;
  }
  s.told.ack_timeout = time("ack_timeout_us", s.told.ack_timeout);
  s.told.checkpoint = in.text("checkpoint");
  s.told.checkpoint_timeout = time("checkpoint_timeout_us", s.told.checkpoint_timeout);
  s.told.stopped_exit = in.number<int>("checkpoint_exit", 0, 255, s.told.stopped_exit);
  s.told.restart = in.text("restart");
  s.told.settle = time("settle_us", s.told.settle);
  if (s.mpi != Mpi::none) {
    fail("kind", "a program of this kind is started without an MPI", "drop --mpi, or --kind");
  }
  if (s.type != JobType::malleable) {
    fail("kind", fmt::format("a job of this kind is malleable, not {}", word(s.type)),
         "drop --type");
  }
}

}  // namespace

Json to_json(const Submission& s) {
  Json json;
  json["name"] = bytes_to_json(s.name);
  json["type"] = word(s.type);
  json["nodes"] = s.nodes;
  json["min"] = s.min;
  json["max"] = s.max;
  json["time_us"] = s.walltime.count();
  json["tasks_per_node"] = s.tasks_per_node;
  json["cores_per_process"] = s.cores_per_process;
  json["memory"] = s.memory;
  if (!s.partition.empty()) json["partition"] = s.partition;
  if (!s.things.empty()) json["gres"] = s.things;
  if (!s.only.empty()) json["nodelist"] = s.only;
  if (!s.never.empty()) json["exclude"] = s.never;
  if (!s.features.empty()) json["features"] = s.features;
  if (!s.qos.empty()) json["qos"] = s.qos;
  if (s.memory_per_core != 0) json["memory_per_core"] = s.memory_per_core;
  if (s.user) json["user"] = *s.user;
  if (!s.reservation.empty()) json["reservation"] = s.reservation;
  json["priority"] = s.priority;
  if (s.given_priority) json["given_priority"] = *s.given_priority;
  json["account"] = s.account;
  json["model"] = to_text(s.model);
  json["sizes"] = to_text(s.sizes);
  if (s.watts != 0) json["watts"] = s.watts;
  if (s.least_watts != 0) json["least_watts"] = s.least_watts;
  json["hold"] = s.is_held;
  json["dependency"] = to_text(s.dependencies);
  json["begin_us"] = s.begin.time_since_epoch().count();
  json["array"] = s.array.empty() ? "" : to_text(s.array);
  json["requeue"] = s.is_requeued;
  json["mpi"] = kMpiWords[static_cast<std::size_t>(s.mpi)];
  if (s.kind != JobKind::mpi) add_kind(json, s);
  json["script"] = bytes_to_json(s.script);
  json["program"] = texts_json(s.program);
  json["chdir"] = bytes_to_json(s.folder);
  json["output"] = bytes_to_json(s.output);
  json["error"] = bytes_to_json(s.error);
  if (!s.input.empty()) json["input"] = bytes_to_json(s.input);
  json["environment"] = texts_json(s.environment);
  json["called_in"] = bytes_to_json(s.called_in);
  if (s.umask) json["umask"] = *s.umask;
  json["limits"] = to_text(s.limits);
  if (s.groups) json["groups"] = *s.groups;
  if (s.booking != BookingId::none) json["booking"] = index(s.booking);
  if (!s.impossible.empty()) json["impossible"] = s.impossible;
  if (!s.unkept.empty()) json["unkept"] = s.unkept;
  if (s.is_stand_in) json["stand_in"] = true;
  return json;
}

Submission submission_from_json(const Json& json) {
  constexpr std::int64_t kMostNodes = 1 << 24;
  Fields in(json);
  Submission s;
  s.name = in.text("name", 255);
  s.type = in.choice("type", kJobTypeWords, s.type);
  s.nodes = in.number<Nodes>("nodes", 1, kMostNodes, s.nodes);
  s.min = in.number<Nodes>("min", 0, kMostNodes, 0);
  s.max = in.number<Nodes>("max", 0, kMostNodes, 0);
  s.walltime = Duration(in.number<std::int64_t>("time_us", 0, kLongestLimit.count(), 0));
  s.tasks_per_node = in.number<std::uint32_t>("tasks_per_node", 0, 4096, 0);
  s.cores_per_process = in.number<std::uint32_t>("cores_per_process", 0, 4096, 0);
  s.memory = in.number<std::uint64_t>("memory", 0, kMostMemory, 0);
  s.partition = in.text("partition", kMaxWhere);
  if (!is_printable(s.partition)) fail("partition", "it is no name", "");
  s.things = in.text("gres", kMaxWhere);
  parse_things(s.things, {.field = "gres"});
  s.only = in.text("nodelist", kMaxWhere);
  s.never = in.text("exclude", kMaxWhere);
  for (const auto& [field, nodes] : {std::pair("nodelist", &s.only), {"exclude", &s.never}}) {
    if (!parse_node_set(*nodes)) fail(field, "it is no list of nodes", "write it like 0-3,7");
  }
  s.features = in.text("features", kMaxWhere);
  s.qos = in.text("qos", kMaxWhere);
  for (const auto& [field, word] : {std::pair("features", &s.features), {"qos", &s.qos}}) {
    if (!is_printable(*word)) fail(field, "it is no name", "");
  }
  s.memory_per_core = in.number<std::uint64_t>("memory_per_core", 0, kMostMemory, 0);
  if (json.contains("user")) {
    s.user = in.number<std::uint32_t>("user", 0, std::numeric_limits<std::uint32_t>::max(), 0);
  }
  s.reservation = in.text("reservation");
  if (!s.reservation.empty() && !is_booking_name(s.reservation)) {
    fail("reservation", "it is no name of one", "see `ductile reserve`");
  }
  constexpr std::int32_t kMostPriority = 1'000'000;
  s.priority = in.number<std::int32_t>("priority", -kMostPriority, kMostPriority, 0);
  if (json.contains("given_priority")) {
    s.given_priority = in.number<std::int32_t>("given_priority", -kMostPriority, kMostPriority, 0);
  }
  if (const std::string account = in.text("account"); !account.empty()) {
    s.account = account_name(account, {.field = "account"});
  }
  if (const std::string model = in.text("model"); !model.empty()) {
    s.model = parse_speedup(model, {.field = "model"});
  }
  if (const std::string sizes = in.text("sizes"); !sizes.empty()) {
    s.sizes = parse_constraint(sizes, {.field = "sizes"});
  }
  s.watts = in.real("watts", kMostWatts);
  s.least_watts = in.real("least_watts", kMostWatts);
  s.is_held = in.flag("hold");
  if (const std::string text = in.text("dependency"); !text.empty()) {
    s.dependencies = parse_dependencies(text);
  }
  constexpr std::int64_t kLatest = std::int64_t{253'402'300'799} * 1'000'000;  // of the year 9999
  s.begin = Time(Duration(in.number<std::int64_t>("begin_us", 0, kLatest, 0)));
  if (const std::string text = in.text("array"); !text.empty()) s.array = parse_array(text);
  s.is_requeued = in.flag("requeue");
  s.mpi = in.choice("mpi", kMpiWords, s.mpi);
  s.kind = in.choice("kind", kJobKindWords, s.kind);
  if (has_own_method(s.kind) && s.kind != JobKind::threads) take_script(in, s);
  s.script = in.text("script", kMaxScript);
  s.program = in.texts("program");
  s.folder = in.text("chdir", 4096);
  s.output = in.text("output", 4096);
  s.error = in.text("error", 4096);
  s.input = in.text("input", 4096);
  s.environment = in.texts("environment");
  s.called_in = in.text("called_in", 4096);
  constexpr std::int64_t kNobody = -1, kNothing = 0777;
  const auto umask = in.number<std::int64_t>("umask", 0, kNothing, kNobody);
  if (umask != kNobody) s.umask = static_cast<mode_t>(umask);
  s.limits = parse_limits(in.text("limits"));
  if (json.contains("groups")) s.groups = in.numbers<gid_t>("groups");
  constexpr std::int64_t kNoBooking = index(BookingId::none);
  s.booking = BookingId{in.number<std::uint32_t>("booking", 0, kNoBooking, kNoBooking)};
  if (json.contains("impossible")) s.impossible = in.text("impossible");
  if (json.contains("unkept")) s.unkept = in.text("unkept");
  s.is_stand_in = in.flag("stand_in");
  in.finish();

  if (s.program.empty() || s.program.front().empty()) {
    fail("program", "there is none", "name a script or a program");
  }
  // Journals may have some of before `stand_in` was written.
  const bool has_nothing = s.script.empty() && s.program.size() == 1 &&
                           s.program.front() == kNoProgram && s.folder == "/" &&
                           s.environment.empty();
  if (has_nothing && !s.impossible.empty()) s.is_stand_in = true;
  if (s.folder.empty() || s.folder.front() != '/') {
    fail("chdir", "'" + s.folder + "' does not begin with '/'", "give the whole path");
  }
  if (!is_printable(s.name)) fail("name", "it has a control character", "use another name");
  if (s.type == JobType::rigid && (s.min != 0 || s.max != 0)) {
    fail("min", "a rigid job has one size", "give a type, such as --type malleable");
  }
  if (s.least_watts > s.watts) {
    fail("least_watts", fmt::format("{} are more than the {} at most", s.least_watts, s.watts),
         "write the fewer ones first, as in --watts 150-250");
  }
  if (s.kind == JobKind::rigid || s.kind == JobKind::steps) {
    fail("kind", "jobs are submitted as mpi, threads, script, restart or charm",
         "use another --kind");
  }
  if (s.kind == JobKind::charm) refuse_charmrun_words(s.program);
  if (s.has_threads() && s.mpi != Mpi::none) {
    fail("kind", "a job of threads is started without an MPI", "say --mpi none");
  }
  if (s.has_threads() && (s.cores_per_process != 0 || s.tasks_per_node != 0)) {
    fail("kind", "a job of threads is one process, which has all cores of its nodes",
         "drop --cpus-per-task and --ntasks-per-node");
  }
  if (s.has_threads() && (s.type == JobType::evolving || s.type == JobType::adaptive)) {
    fail("type", "a job of threads does not ask for another size", "say --type malleable");
  }
  if (s.has_steps() && (s.script.empty() || s.type != JobType::malleable)) {
    fail("mpi",
         fmt::format("{} {} job is a program of an MPI{}",
                     s.type == JobType::malleable ? "a" : "an", word(s.type),
                     s.type == JobType::malleable ? ", or a script that runs such ones" : ""),
         "say --mpi mpich or openmpi if it is one");
  }
  return s;
}

NodeLists lists_of(const Submission& submission) {
  return {to_string(parse_node_set(submission.only).value_or(NodeSet{})),
          to_string(parse_node_set(submission.never).value_or(NodeSet{}))};
}

Submission stand_in_for(const Submission& submission) {
  Submission s;
  s.type = submission.type;
  if (is_resized(s.type)) s.mpi = Mpi::mpich;
  if (submission.name.size() <= 255 && is_printable(submission.name)) s.name = submission.name;
  s.program = {kNoProgram};
  s.folder = "/";
  s.is_stand_in = true;
  if (submission.array.empty() || submission.array.is_too_large()) return s;
  try {
    s.array = parse_array(to_text(submission.array));
  } catch (const InputError&) {
    // Others, but as many.
    s.array.tasks.insert(0, submission.array.count() - 1);
  }
  return s;
}

namespace {

/// On each node; 0: none are asked for.
std::uint32_t cores_asked(const Submission& s) {
  return s.cores_per_process * std::max(s.tasks_per_node, 1U);
}

/// Can it matter to it which nodes there are?
bool asks_where(const Submission& s) {
  return s.memory != 0 || s.cores_per_process != 0 || !s.partition.empty() || !s.things.empty() ||
         !s.only.empty() || !s.never.empty() || !s.features.empty() || !s.qos.empty() ||
         s.memory_per_core != 0;
}

// How many a job may have there.
Nodes most_nodes_of(const Where& where, const Platform& platform) {
  return std::min(nodes_of(where, platform).count(), most_nodes(platform, where));
}

}  // namespace

void count_memory_by_node(Submission& s, const Platform& platform) {
  if (s.memory_per_core == 0) return;
  s.memory = 0;
  const std::uint32_t asked = cores_asked(s);
  const std::uint32_t cores =
      asked != 0 ? asked : fewest_cores(nodes_of(where_of(s, platform), platform), platform);
  if (s.memory_per_core > static_cast<std::uint64_t>(kMostMemory) / cores) {
    throw InputError({.field = "--mem-per-cpu"},
                     fmt::format("for each of {} cores it is more than any node has", cores),
                     "ask for less");
  }
  s.memory = s.memory_per_core * cores;
}

JobSpec spec_of(const Submission& s, const Platform& platform) {
  JobSpec spec;
  spec.priority = s.priority;
  spec.type = s.type;
  spec.walltime = s.walltime;
  spec.preferred = s.nodes;
  spec.size = exactly(s.nodes);
  const bool is_everywhere = platform.partitions.empty() && !asks_where(s);
  const Nodes most =
      is_everywhere ? platform.nodes : most_nodes_of(where_of(s, platform), platform);
  if (s.type != JobType::rigid) {
    // Sizes that are not given: as small as it can be, and as large as the machine.
    spec.size = {s.min != 0 ? s.min : 1, s.max != 0 ? s.max : most};
    spec.size.max = std::min(spec.size.max, most);
  }
  if (s.nodes > most) {
    fail("nodes",
         fmt::format("{} are more than the {} there are{}", s.nodes, most,
                     is_everywhere ? "" : " where it may run"),
         "ask for fewer");
  }
  const std::uint32_t cores = cores_asked(s);
  if (platform.classes.empty() && s.cores_per_process != 0 && cores > platform.cores_per_node) {
    fail("cores_per_process",
         fmt::format("{} cores are more than the {} of a node", cores, platform.cores_per_node),
         "change --cpus-per-task or --ntasks-per-node");
  }
  if (!spec.size.contains(s.nodes)) {
    fail("nodes",
         fmt::format("{} are not between {} and {}", s.nodes, spec.size.min, spec.size.max),
         "change --nodes, --min or --max");
  }
  return spec;
}

Where where_of(const Submission& s, const Platform& platform) {
  constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
  const AskedWhere asked{.partitions = s.partition,
                         .memory_mb = (s.memory + kMegabyte - 1) / kMegabyte,
                         .cores = cores_asked(s),
                         .things = s.things,
                         .only = s.only,
                         .never = s.never,
                         .features = s.features,
                         .qos = s.qos};
  const Applicant who{.walltime = s.walltime, .nodes = std::max(s.nodes, s.min), .user = s.user};
  return where_of(asked, who, platform);
}

AdaptiveSpec adaptive_spec_of(const Submission& submission) {
  AdaptiveSpec spec;
  spec.speedup = submission.model;
  spec.constraint = submission.sizes;
  spec.watts_per_node = submission.watts;
  spec.least_watts_per_node = submission.least_watts;
  return spec;
}

Time asked_until(const Submission& what, std::span<const std::pair<Time, Nodes>> sizes) {
  Work left = 0;
  Time since{};
  Nodes size = 0;
  for (const auto& [time, nodes] : sizes) {
    if (size == 0) {
      left = total_work(what.nodes, what.walltime);
    } else {
      left -= std::min(left, work_done(what.model, what.nodes, size, time - since));
    }
    since = time;
    size = nodes;
  }
  return size == 0 ? Time{} : later(since, time_for(what.model, what.nodes, size, left));
}

Duration asked_left(const Submission& what, std::span<const TimeHad> had, Nodes size) {
  Work work = total_work(what.nodes, what.walltime);
  Duration time = what.walltime;
  for (const TimeHad& its : had) {
    work -= std::min(work, work_done(what.model, what.nodes, its.nodes, its.time));
    time -= std::min(time, its.time);
  }
  return std::max(time, time_for(what.model, what.nodes, size, work));
}

std::string JobNames::text() const {
  return is_of_array() ? fmt::format("{}_{}", array, task) : std::to_string(number);
}

std::string file_name(std::string_view pattern, const JobNames& names) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'j') {
      append_number(result, names.number);
    } else if (next == 'A') {
      append_number(result, names.is_of_array() ? names.array : names.number);
    } else if (next == 'a') {
      append_number(result, names.task);
    } else if (next == 'x') {
      result += names.name;
    } else if (next == '%') {
      result += '%';
    } else {
      result += pattern[i];
      continue;
    }
    ++i;
  }
  return result;
}

NodeRange parse_nodes(std::string_view text) {
  std::string_view rest = text;
  const auto first = parse_number<Nodes>(next_part(rest, '-'));
  const auto last = rest.empty() ? first : parse_number<Nodes>(rest);
  if (!first || !last || *first == 0 || *last < *first || text.back() == '-') {
    throw InputError({.field = "--nodes"}, "'" + std::string(text) + "' is neither N nor MIN-MAX",
                     "write it like 4 or 2-8");
  }
  return {*first, *last, text.find('-') != std::string_view::npos};
}

WattRange parse_watts(std::string_view text) {
  const auto number = [](std::string_view part) -> std::optional<double> {
    // Neither a sign nor a word: "-5" and "inf" are none.
    const bool is_plain =
        !part.empty() && part.find_first_not_of("0123456789.") == std::string_view::npos;
    const auto value = is_plain ? parse_number<double>(part) : std::nullopt;
    if (!value || !(*value > 0 && *value <= kMostWatts)) return std::nullopt;
    return value;
  };
  std::string_view rest = text;
  const bool is_range = text.find('-') != std::string_view::npos;
  const auto first = number(next_part(rest, '-'));
  const auto last = is_range ? number(rest) : first;
  if (!first || !last || *last < *first) {
    throw InputError({.field = "--watts"},
                     "'" + std::string(text) + "' is neither W nor MIN-MAX, watts of a node",
                     "write it like 250 or 150-250, above 0 and at most 1e6, the fewer ones first");
  }
  return {is_range ? *first : 0, *last};
}

std::string limit_text(Duration duration) {
  const std::int64_t all = duration.count() / 1'000'000;
  const std::int64_t days = all / 86400, hours = all / 3600 % 24;
  std::string text;
  if (days > 0) fmt::format_to(std::back_inserter(text), "{}-", days);
  if (days > 0 || hours > 0) fmt::format_to(std::back_inserter(text), "{:02}:", hours);
  fmt::format_to(std::back_inserter(text), "{:02}:{:02}", all / 60 % 60, all % 60);
  return text;
}

}  // namespace ductile
