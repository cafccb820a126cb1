#include "workload/swf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <compare>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "model/where.hpp"
#include "workload/compressed_file.hpp"
#include "workload/line_reader.hpp"
#include "workload/precedence.hpp"

namespace ductile {
namespace {

constexpr const char* kSwfAdvice = "SWF has 18 numbers on a line: is this a workload log?";
constexpr std::size_t kSwfEnough = 64 << 10;  // bytes to write at once
constexpr std::size_t kLongestNotes = 64 << 10;

constexpr std::int64_t kLongestTime = 1'000'000'000'000;  // s
constexpr std::int64_t kMostProcessors = std::int64_t{1} << 31;
constexpr std::int64_t kLargestNumber = 1'000'000'000'000'000'000;
constexpr std::int64_t kLargestId = kLargestNumber - 1;
constexpr std::size_t kMostSwfJobs = index(JobId::none);

// The fields of a line; number 1 is index 0.
enum Field : std::uint8_t {
  kJobNumber,
  kSubmitTime,
  kWaitTime,
  kRunTime,
  kAllocatedProcessors,
  kAverageCpuTime,
  kUsedMemory,
  kRequestedProcessors,
  kRequestedTime,
  kRequestedMemory,
  kStatus,
  kUser,
  kGroup,
  kExecutable,
  kQueue,
  kPartition,
  kPrecedingJob,
  kThinkTime,
  kFields
};

constexpr std::array<const char*, kFields> kFieldNames = {
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
};

// The value of a field: whole + micros / 10^6, both of one sign, |whole| <= kLargestNumber.
struct Number {
  std::int64_t whole = 0;
  std::int32_t micros = 0;
};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// [at, end) is digits with a point among them, perhaps after a minus sign: fewer than 10^18. A
// double would not hold the microseconds of a large time.
Number from_digits(const char* at, const char* end) {
  const bool negative = *at == '-';
  if (negative) ++at;
  std::int64_t whole = 0;
  for (; *at != '.'; ++at) whole = whole * 10 + (*at - '0');
  std::int32_t micros = 0;
  for (std::ptrdiff_t place = 1; place <= 6; ++place) {
    micros = micros * 10 + (place < end - at ? at[place] - '0' : 0);
  }
  if (end - at > 7 && at[7] >= '5') ++micros;  // half away from zero
  whole += micros / 1'000'000;
  micros %= 1'000'000;
  return negative ? Number{-whole, -micros} : Number{whole, micros};
}

// |value| < 10^18.
Number from_double(double value) {
  double whole = 0;
  const double rest = std::modf(value, &whole);
  const auto micros = static_cast<std::int32_t>(std::lround(rest * 1e6));
  return {static_cast<std::int64_t>(whole) + micros / 1'000'000, micros % 1'000'000};
}

// Reads [at, end), a number that is not a plain whole one of up to 18 digits: decimal, scientific
// or long. False if it is no number, or not finite; beyond kLargestNumber it becomes that.
bool parse_slowly(const char* at, const char* end, Number& number) {
  double value = 0;
  const auto [next, error] = std::from_chars(at, end, value);
  if (error != std::errc{} || next != end || !std::isfinite(value)) return false;
  const bool decimal = std::find(at, end, '.') != end && std::all_of(at, end, [](char c) {
                         return is_digit(c) || c == '.' || c == '-';
                       });
  if (std::abs(value) >= static_cast<double>(kLargestNumber)) {
    number = {value > 0 ? kLargestNumber : -kLargestNumber, 0};
  } else {
    number = decimal ? from_digits(at, end) : from_double(value);
  }
  return true;
}

// Reads the number at `at` < `end`; returns what follows it, or nullptr if there is no number.
inline const char* parse_swf_number(const char* at, const char* end, Number& number) {
  const char* const begin = at;
  const bool negative = *at == '-';
  if (negative) ++at;
  const char* const digits = at;
  std::uint64_t value = 0;
  while (at != end && is_digit(*at)) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    ++at;
  }
  const bool whole = at != digits && at - digits <= 18 && (at == end || is_blank(*at));
  if (whole) {
    number.whole = negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
    number.micros = 0;
    return at;
  }
  at = std::find_if(at, end, is_blank);
  return parse_slowly(begin, at, number) ? at : nullptr;
}

// `text` as an error may show it: short, and in characters that any terminal bears.
std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 40;
  std::string result = "\"";
  for (const char c : text.substr(0, shown)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > shown ? "...\"" : "\"");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The whole number that a value of the header begins with. Headers are comments: what is no number
// is no error.
std::optional<std::int64_t> header_number(std::string_view value) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [next, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{} || (next != end && !is_blank(*next))) return std::nullopt;
  return number;
}

constexpr std::array<std::pair<std::string_view, std::string SwfHeader::*>, 6> kHeaderTexts = {{
    {"Version", &SwfHeader::version},
    {"Computer", &SwfHeader::computer},
    {"Installation", &SwfHeader::installation},
    {"TimeZoneString", &SwfHeader::time_zone},
    {"StartTime", &SwfHeader::start_time},
    {"EndTime", &SwfHeader::end_time},
}};
constexpr std::array<std::pair<std::string_view, std::optional<std::int64_t> SwfHeader::*>, 7>
    kHeaderNumbers = {{
        {"MaxJobs", &SwfHeader::max_jobs},
        {"MaxRecords", &SwfHeader::max_records},
        {"MaxNodes", &SwfHeader::max_nodes},
        {"MaxProcs", &SwfHeader::max_procs},
        {"MaxQueues", &SwfHeader::max_queues},
        {"MaxPartitions", &SwfHeader::max_partitions},
        {"UnixStartTime", &SwfHeader::unix_start_time},
    }};

// Takes up what a comment line says: "; Key: value".
void read_comment(std::string_view line, SwfHeader& header) {
  line = trimmed(line.substr(std::min(line.find_first_not_of(';'), line.size())));
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view key = trimmed(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));

  for (const auto& [name, member] : kHeaderTexts) {
    if (key == name && (header.*member).empty()) header.*member = value;
  }
  for (const auto& [name, member] : kHeaderNumbers) {
    if (key == name && !(header.*member)) header.*member = header_number(value);
  }
  if (key == "Note" && header.notes.size() + value.size() < kLongestNotes) {
    header.notes.append(value).append("\n");
  }
}

// One line with a job on it.
class Record {
 public:
  Record(std::string_view line, const std::string& file, std::uint64_t line_number)
      : file_(file), line_number_(line_number) {
    const char* at = line.data();
    const char* const end = at + line.size();
    for (std::size_t field = 0; field < kFields; ++field) {
      at = skip_blanks(at, end);
      if (at == end) fail_missing(field);
      const char* const next = parse_swf_number(at, end, numbers_[field]);
      if (next == nullptr) fail_no_number(field, {at, std::find_if(at, end, is_blank)});
      at = next;
    }
    if (skip_blanks(at, end) != end) fail_too_many();
  }

  /// A time in seconds.
  Duration time(Field field) const {
    const Number& number = numbers_[field];
    if (number.whole > kLongestTime || number.whole < -kLongestTime) {
      fail(field, "is beyond 10^12 s", "correct it, or write -1 if it is not known");
    }
    return whole_seconds(number.whole) + Duration{number.micros};
  }

  /// A whole number up to `largest`.
  std::int64_t count(Field field, std::int64_t largest) const {
    const Number& number = numbers_[field];
    if (number.micros != 0) fail(field, "is not a whole number", "correct it");
    if (number.whole > largest) {
      fail(field, "is larger than " + std::to_string(largest),
           "correct it, or write -1 if it is not known");
    }
    return number.whole;
  }

  bool is_positive(Field field) const { return numbers_[field].whole > 0; }

  [[noreturn]] void fail(std::size_t field, const std::string& what,
                         const std::string& remedy) const {
    throw InputError(
        {file_, line_number_,
         std::string(kFieldNames[field]) + " (field " + std::to_string(field + 1) + ")"},
        what, remedy);
  }

 private:
  static const char* skip_blanks(const char* at, const char* end) {
    while (at != end && is_blank(*at)) ++at;
    return at;
  }

  [[noreturn]] void fail_missing(std::size_t field) const {
    fail(field, "the line ends before it",
         "a line has 18 fields, -1 for what is not known; is the file complete?");
  }
  [[noreturn]] void fail_no_number(std::size_t field, std::string_view text) const {
    fail(field, quoted(text) + " is not a number",
         "correct it, or write -1 if it is not known; comments begin with ';'");
  }
  [[noreturn]] void fail_too_many() const {
    throw InputError({.file = file_, .line = line_number_}, "the line has more than 18 fields",
                     "keep the 18 of the Standard Workload Format");
  }

  const std::string& file_;
  std::uint64_t line_number_;
  std::array<Number, kFields> numbers_;
};

// Unknown (negative) users and groups are 0; those of the archive are numbered from 1.
std::uint32_t identity(const Record& record, Field field) {
  const std::int64_t value = record.count(field, std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(std::max<std::int64_t>(value, 0));
}

std::int64_t processors(const Record& record, SwfRules::Size size) {
  const std::int64_t requested = record.count(kRequestedProcessors, kMostProcessors);
  const std::int64_t allocated = record.count(kAllocatedProcessors, kMostProcessors);
  const bool use_requested = size == SwfRules::Size::requested ? requested > 0 : allocated <= 0;
  return use_requested ? requested : allocated;
}

SwfRules::Status status(const Record& record) {
  using Status = SwfRules::Status;
  constexpr std::array kStatuses{Status::failed,  Status::completed, Status::partial,
                                 Status::partial, Status::partial,   Status::cancelled};
  const std::int64_t value = record.count(kStatus, kLargestId);
  const bool known = 0 <= value && value < std::ssize(kStatuses);
  return known ? kStatuses[static_cast<std::size_t>(value)] : Status::unknown;
}

// Where jobs of the same words may run, looked at once.
class Places {
 public:
  // What a job asks for on the platform.
  struct Asked {
    std::uint64_t partitions = 0;  // a bit for each place
    std::uint64_t memory_mb = 0;   // as the log says
    std::size_t qos = 0;           // place in the platform plus 1; 0: none
    std::size_t beside = 0;        // place in the rules plus 1; 0: nothing but that
    auto operator<=>(const Asked&) const = default;
  };
  struct Place {
    std::uint32_t row = 0;  // as WorkloadJob::where
    Nodes nodes = 0;        // how many there are; 0: none has what is asked
  };

  explicit Places(const SwfRules& rules) : rules_(rules) {
    if (!rules.platform) return;
    const Platform& platform = rules.platform->platform;
    const std::size_t count = std::max<std::size_t>(platform.partitions.size(), 1);
    for (std::size_t i = 0; i < count; ++i) {
      const NodeSet nodes = nodes_of({.partitions = std::uint64_t{1} << i}, platform);
      cores_.push_back(fewest_cores(nodes, platform));
    }
    if (!rules.asked) return;
    for (const AskedWhere& each : rules.asked->asked) {
      const Where where = where_of({.partitions = each.partitions}, {}, platform);
      named_.push_back(each.partitions.empty() ? 0 : std::max<std::uint64_t>(where.partitions, 1));
    }
  }

  /// The partition that a line names, by its place.
  std::size_t partition(const Record& record) const {
    using From = SwfRules::PartitionsFrom;
    if (!rules_.platform || rules_.partitions_from == From::none) return 0;
    const Field field = rules_.partitions_from == From::queue ? kQueue : kPartition;
    const std::int64_t number = record.count(field, kLargestId);
    if (number < 0) return 0;
    const std::vector<std::int64_t>& numbers = rules_.platform->numbers;
    const auto at = std::ranges::find(numbers, number);
    if (at != numbers.end()) return static_cast<std::size_t>(at - numbers.begin());
    record.fail(field, "no partition has the number " + std::to_string(number),
                "give it one in the platform file: number = " + std::to_string(number));
  }
  std::uint32_t cores(std::size_t partition) const {
    return rules_.platform ? cores_.at(partition) : rules_.cores_per_node;
  }
  /// What the job of this number asks for, of this partition if nothing else is said of it.
  Asked asked(std::uint64_t job, std::size_t partition, std::uint64_t memory_mb,
              std::size_t qos) const {
    Asked asked{.memory_mb = memory_mb, .qos = qos};
    if (rules_.asked) {
      const auto at = rules_.asked->of.find(job);
      if (at != rules_.asked->of.end()) asked.beside = at->second + 1;
    }
    if (asked.beside != 0) asked.partitions = named_.at(asked.beside - 1);
    if (asked.partitions == 0) asked.partitions = std::uint64_t{1} << partition;
    return asked;
  }
  /// Those of these partitions that allow the job.
  std::uint64_t that_allow(const WorkloadJob& job, std::uint64_t partitions) const {
    const std::vector<Partition>& all = rules_.platform->platform.partitions;
    const Applicant who{.walltime = job.walltime, .nodes = job.nodes, .user = job.user};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_nobody = !job.has_user() && !all[i].users.empty();
      if (is_nobody || !allows(all[i], who)) partitions &= ~(std::uint64_t{1} << i);
    }
    return partitions;
  }
  /// The quality of service that a line names, by its place plus 1; 0: none.
  std::size_t qos(const Record& record) const {
    using From = SwfRules::PartitionsFrom;
    if (!rules_.platform || rules_.qos_from == From::none) return 0;
    const Field field = rules_.qos_from == From::queue ? kQueue : kPartition;
    const std::int64_t number = record.count(field, kLargestId);
    if (number < 0) return 0;
    const std::vector<std::int64_t>& numbers = rules_.platform->qos_numbers;
    const auto at = std::ranges::find(numbers, number);
    if (at != numbers.end()) return static_cast<std::size_t>(at - numbers.begin()) + 1;
    record.fail(field, "no QOS has the number " + std::to_string(number),
                "give it one in the platform file: number = " + std::to_string(number));
  }
  const Place& find(const Asked& asked, Workload& workload) {
    const auto [at, is_new] = known_.try_emplace(asked);
    if (is_new) at->second = made(asked, workload);
    return at->second;
  }

 private:
  Place made(const Asked& asked, Workload& workload) const {
    const Platform& platform = rules_.platform->platform;
    AskedWhere words = asked.beside == 0 ? AskedWhere{} : rules_.asked->asked[asked.beside - 1];
    words.partitions = partition_names(asked.partitions, platform);
    const bool says_memory = words.memory_mb != 0 || words.memory_per_core_mb != 0;
    if (!says_memory) words.memory_mb = asked.memory_mb;
    if (words.qos.empty() && asked.qos != 0) words.qos = platform.qos[asked.qos - 1].name;
    Where where;
    try {
      where = where_of(words, {}, platform, {}, rules_.nodes_are);
    } catch (const InputError&) {
      return {};
    }
    Place place{.nodes = nodes_of(where, platform).count()};
    if (where == Where{}) return place;
    const auto at = std::ranges::find(workload.where, where);
    place.row = static_cast<std::uint32_t>(at - workload.where.begin()) + 1;
    if (at == workload.where.end()) workload.where.push_back(std::move(where));
    return place;
  }

  const SwfRules& rules_;
  std::vector<std::uint32_t> cores_;  // of each partition
  std::vector<std::uint64_t> named_;  // by each of `SwfRules::asked`, as in `Asked`; 0: none
  std::map<Asked, Place> known_;
};

// MB on each node of a job of so many processors, rounded up; 0 if it is not known.
std::uint64_t memory_of(const Record& record, std::int64_t processors, std::uint32_t cores) {
  constexpr std::int64_t kMostMemory = std::int64_t{1} << 40;
  const std::int64_t kilobytes = record.count(kRequestedMemory, kMostMemory);
  if (kilobytes <= 0) return 0;
  const auto of_node = static_cast<std::uint64_t>(std::min<std::int64_t>(processors, cores));
  return (static_cast<std::uint64_t>(kilobytes) * of_node + 1023) / 1024;
}

// From when to when jobs are asked for, in the time of the log.
class Window {
 public:
  Window(const SwfRules& rules, const SwfHeader& header, const std::string& file) {
    if (rules.from) from_ = time_of(*rules.from, header, file);
    if (rules.until) until_ = time_of(*rules.until, header, file);
  }
  bool contains(Duration time) const { return from_ <= time && time < until_; }

 private:
  static Duration time_of(const LogTime& time, const SwfHeader& header, const std::string& file) {
    if (!time.is_date) return whole_seconds(time.seconds);
    const auto from_start = seconds_from(header.unix_start_time, time.seconds);
    if (!from_start) {
      throw InputError({.file = file},
                       "its header does not say at which date it begins (UnixStartTime)",
                       "give --from and --until in seconds of its submit times");
    }
    return whole_seconds(*from_start);
  }

  Duration from_ = Duration::min(), until_ = Duration::max();
};

template <class Value>
bool is_asked_for(const std::vector<Value>& values, Value value) {
  return values.empty() || std::ranges::find(values, value) != values.end();
}

// What lines say of the order of jobs, by places in their order in the file.
struct Order {
  struct Named {
    std::uint32_t job = 0;
    std::uint64_t preceding = 0;  // its number
    std::optional<Duration> think{};
    std::uint64_t line = 0;
  };
  std::vector<Named> named{};
  std::vector<Time> ends{};  // of all jobs, where their sessions are wanted
};

// Of the job that was taken last.
void take_order(const Record& record, std::uint64_t line, const SwfRules& rules,
                const Workload& workload, Order& order) {
  const WorkloadJob& job = workload.jobs.back();
  if (rules.longest_think) {
    const Duration wait = record.time(kWaitTime);
    if (wait < Duration{} && job.has_user()) {
      record.fail(kWaitTime, "is not known, and sessions of users follow from it",
                  "leave --feedback away, or such jobs out (--status)");
    }
    order.ends.push_back(job.submit + wait + job.runtime);
  }
  if (!record.is_positive(kPrecedingJob)) return;
  Order::Named& named = order.named.emplace_back();
  named.job = static_cast<std::uint32_t>(workload.jobs.size() - 1);
  named.line = line;
  if (!rules.follows_preceding) return;  // they count only
  named.preceding = static_cast<std::uint64_t>(record.count(kPrecedingJob, kLargestId));
  const Duration think = record.time(kThinkTime);
  if (think >= Duration{}) named.think = think;
}

// Sorts the jobs by submission, and finds whom they wait for.
void put_in_order(Workload& workload, Order order, bool is_sorted, const SwfRules& rules,
                  const std::string& file) {
  std::vector<WorkloadJob>& jobs = workload.jobs;
  const std::size_t to_drop =
      rules.last_jobs > 0 && jobs.size() > rules.last_jobs ? jobs.size() - rules.last_jobs : 0;
  workload.names_preceding = order.named.size();
  const bool has_order = rules.longest_think || (rules.follows_preceding && !order.named.empty());
  if (!has_order && (to_drop == 0 || order.named.empty())) {
    if (!is_sorted) std::ranges::stable_sort(jobs, {}, &WorkloadJob::submit);
    jobs.erase(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(to_drop));
    return;
  }
  std::vector<std::uint32_t> was(jobs.size()), place(jobs.size(), kGone);
  for (std::uint32_t i = 0; i < was.size(); ++i) was[i] = i;
  std::ranges::stable_sort(was, {}, [&](std::uint32_t i) { return jobs[i].submit; });
  was.erase(was.begin(), was.begin() + static_cast<std::ptrdiff_t>(to_drop));
  std::vector<WorkloadJob> sorted;
  std::vector<Time> ends;
  for (std::uint32_t i = 0; i < was.size(); ++i) {
    place[was[i]] = i;
    sorted.push_back(jobs[was[i]]);
    if (rules.longest_think) ends.push_back(order.ends[was[i]]);
  }
  jobs = std::move(sorted);
  std::erase_if(order.named, [&](const Order::Named& each) { return place[each.job] == kGone; });
  workload.names_preceding = order.named.size();
  if (!rules.follows_preceding) order.named.clear();

  constexpr std::uint32_t kNone = ~0u, kTwice = kNone - 1;
  std::unordered_map<std::uint64_t, std::uint32_t> places;  // of those that are named
  for (const Order::Named& each : order.named) places.emplace(each.preceding, kNone);
  for (std::uint32_t i = 0; !places.empty() && i < jobs.size(); ++i) {
    const auto at = places.find(jobs[i].name);
    if (at != places.end()) at->second = at->second == kNone ? i : kTwice;
  }
  for (const Order::Named& each : order.named) {
    const std::uint32_t on = places.at(each.preceding);
    if (on == kTwice) {
      throw InputError({file, each.line, "preceding job (field 17)"},
                       fmt::format("the log has {} more than once", each.preceding),
                       "number the jobs of the log");
    }
    if (on == kNone) {
      ++workload.precedences_lost;
      continue;
    }
    workload.precedences.push_back({.job = place[each.job],
                                    .on = on,
                                    .sets_submit = each.think.has_value(),
                                    .think = each.think.value_or(Duration{}),
                                    .line = each.line});
  }
  std::ranges::stable_sort(workload.precedences, {}, &Precedence::job);
  if (!rules.longest_think) return;
  workload.log_ends = std::move(ends);
  workload.longest_think = *rules.longest_think;
  make_sessions(workload);
}

// Adds the job of a line to the workload, or counts why it does not.
void take(const Record& record, const SwfRules& rules, const Window& window, Places& places,
          Workload& workload) {
  Skipped& skipped = workload.skipped;
  if (rules.partition && record.count(kPartition, kLargestId) != *rules.partition) {
    ++skipped.filtered;
    return;
  }
  if (!rules.status.empty() && std::ranges::count(rules.status, status(record)) == 0) {
    ++skipped.other_status;
    return;
  }

  WorkloadJob job;
  const std::int64_t name = record.count(kJobNumber, kLargestId);
  if (name < 0) record.fail(kJobNumber, "is negative", "number the jobs from 1");
  job.name = static_cast<std::uint64_t>(name);
  const Duration submit = record.time(kSubmitTime);
  if (submit < Duration{}) {
    record.fail(kSubmitTime, "is negative", "count the seconds from the first submission");
  }
  job.submit = Time{submit};
  job.user = identity(record, kUser);
  job.group = identity(record, kGroup);
  if (!window.contains(submit) || !is_asked_for(rules.users, job.user) ||
      !is_asked_for(rules.groups, job.group)) {
    ++skipped.filtered;
    return;
  }

  const std::int64_t size = processors(record, rules.size);
  job.runtime = record.time(kRunTime);
  const Duration requested = record.time(kRequestedTime);

  if (size <= 0) {
    ++skipped.no_size;
    return;
  }
  const bool allocated = record.count(kAllocatedProcessors, kMostProcessors) > 0;
  if (rules.drop_never_started && job.runtime <= Duration{} && !allocated) {
    ++skipped.never_started;
    return;
  }
  if (job.runtime >= Duration{}) job.runtime = std::max(job.runtime, rules.min_runtime);
  if (job.runtime <= Duration{}) {
    ++skipped.no_runtime;
    return;
  }
  if (job.runtime < rules.shortest || (rules.longest > Duration{} && job.runtime > rules.longest)) {
    ++skipped.filtered;
    return;
  }
  const std::size_t partition = places.partition(record);
  const std::uint32_t cores = places.cores(partition);
  const std::int64_t uses = size * rules.cores_per_processor;  // cores
  job.nodes = static_cast<Nodes>((uses - 1) / cores + 1);
  if (rules.counts_cores) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max();
    job.cores = static_cast<std::uint16_t>(std::min((uses - 1) / job.nodes + 1, kMost));
  }
  if (job.nodes < rules.min_size) {
    ++skipped.filtered;
    return;
  }
  if (rules.max_size > 0 && job.nodes > rules.max_size) {
    ++skipped.above_max_size;
    return;
  }
  const bool is_known = requested > Duration{};
  if (is_known || rules.runtime_as_walltime) job.walltime = is_known ? requested : job.runtime;
  const bool is_raised = is_known && rules.extend_walltime && requested < job.runtime;
  if (is_raised) job.walltime = job.runtime;
  Nodes most = rules.nodes;
  bool is_allowed = true;
  if (rules.platform) {
    const std::uint64_t memory_mb = rules.uses_memory ? memory_of(record, size, cores) : 0;
    Places::Asked asked = places.asked(job.name, partition, memory_mb, places.qos(record));
    const std::uint64_t allowed = places.that_allow(job, asked.partitions);
    is_allowed = allowed != 0;
    if (is_allowed) asked.partitions = allowed;
    const Places::Place& place = places.find(asked, workload);
    if (place.nodes == 0) {
      ++skipped.nowhere;
      return;
    }
    job.where = place.row;
    most = place.nodes;
  }
  if (most > 0 && job.nodes > most) {
    if (!rules.clip) {
      ++skipped.too_large;
      return;
    }
    job.nodes = most;
    ++workload.clipped;
  }
  workload.walltime_raised += is_raised ? 1 : 0;
  workload.walltime_unknown += is_known ? 0 : 1;
  if (!is_allowed) {
    ++skipped.not_allowed;
    return;
  }
  workload.jobs.push_back(job);
}

// "KTH-SP2-1996-2" of "logs/KTH-SP2-1996-2.swf.gz".
std::string workload_name(std::string_view path) {
  path.remove_prefix(path.find_last_of('/') + 1);
  for (const std::string_view ending : {".gz", ".xz", ".zst", ".swf"}) {
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  return std::string(path);
}

Workload read(CompressedFile file, const std::string& name, const SwfRules& rules,
              SwfHeader* header, const ReadProgress& progress) {
  if (rules.cores_per_node == 0) {
    throw InputError("a node has 0 cores", "give it at least one");
  }
  Workload workload;
  workload.name = workload_name(name);
  Places places(rules);
  LineReader lines(file, name, kSwfAdvice, &progress);
  SwfHeader own;
  if (header == nullptr) header = &own;
  std::optional<Window> window;  // known when the header is
  bool sorted = true;
  std::uint64_t to_leave_out = rules.leave_out;  // jobs still
  Order order;
  std::string_view line;
  while (lines.next(line)) {
    const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
    if (first == line.end()) continue;
    if (*first == ';') {
      if (!window) read_comment(trimmed(line), *header);
      continue;
    }
    if (!window) window.emplace(rules, *header, name);
    const Record record(line, name, lines.number());
    const std::size_t before = workload.jobs.size();
    take(record, rules, *window, places, workload);
    const std::vector<WorkloadJob>& jobs = workload.jobs;
    if (to_leave_out > 0) {
      // What the file has before the first job that counts is not counted either.
      to_leave_out -= jobs.size();
      Workload empty;
      empty.name = std::move(workload.name);
      empty.where = std::move(workload.where);
      workload = std::move(empty);
      continue;
    }
    if (jobs.size() > before) take_order(record, lines.number(), rules, workload, order);
    if (jobs.size() > 1 && jobs.back().submit < jobs[jobs.size() - 2].submit) sorted = false;
    if (rules.max_jobs != 0 && jobs.size() == rules.max_jobs) break;
    if (jobs.size() == kMostSwfJobs) {
      throw InputError({.file = name, .line = lines.number()}, "more than 2^32 - 2 jobs",
                       "read a part of them (--jobs)");
    }
  }
  put_in_order(workload, std::move(order), sorted, rules, name);
  return workload;
}

// A time in seconds, with decimals only where it needs them.
void append_seconds(std::string& text, Duration time) {
  const std::int64_t whole = time.count() / 1'000'000;
  const std::int64_t micros = time.count() % 1'000'000;
  fmt::format_to(std::back_inserter(text), "{}", whole);
  if (micros == 0) return;
  fmt::format_to(std::back_inserter(text), ".{:06}", micros);
  text.erase(text.find_last_not_of('0') + 1);
}

void append_header(std::string& text, const SwfHeader& header) {
  const auto line = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) text.append("; ").append(key).append(": ").append(value).append("\n");
  };
  for (const auto& [key, member] : kHeaderTexts) line(key, header.*member);
  for (const auto& [key, member] : kHeaderNumbers) {
    if (header.*member) line(key, std::to_string(*(header.*member)));
  }
  std::string_view notes = header.notes;
  while (!notes.empty()) {
    const std::string_view note = notes.substr(0, notes.find('\n'));
    line("Note", note);
    notes.remove_prefix(std::min(note.size() + 1, notes.size()));
  }
  std::string_view names = header.names;
  while (!names.empty()) {
    text.append("; ").append(next_part(names, '\n')).append("\n");
  }
}

void append_line(std::string& text, const SwfLine& line) {
  const auto time = [&](const std::optional<Duration>& value) {
    text += ' ';
    if (value) {
      append_seconds(text, *value);
    } else {
      text += "-1";
    }
  };
  append_number(text, line.number);
  time(line.submit);
  time(line.wait);
  time(line.runtime);
  fmt::format_to(std::back_inserter(text), " {} -1 -1 {}", line.allocated, line.requested);
  time(line.requested_time);
  fmt::format_to(std::back_inserter(text), " {} {} {} {} -1 {} {} {}", line.requested_memory_kb,
                 line.status, line.user, line.group, line.queue, line.partition, line.preceding);
  time(line.think);
  text += '\n';
}

// All of them, piece by piece.
template <class Items, class LineOf>
void write_lines(std::ostream& out, const Items& items, const SwfHeader& header, LineOf line_of) {
  std::string text;
  const auto flush = [&] {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  };
  append_header(text, header);
  for (const auto& item : items) {
    append_line(text, line_of(item));
    if (text.size() >= kSwfEnough) flush();
  }
  flush();
}

}  // namespace

std::optional<Nodes> SwfHeader::nodes(std::uint32_t cores_per_node,
                                      std::uint32_t cores_per_processor) const {
  const auto valid = [](const std::optional<std::int64_t>& number) {
    return number && *number > 0 && *number <= kMostProcessors;
  };
  if (valid(max_procs) && *max_procs * cores_per_processor >= cores_per_node) {
    return static_cast<Nodes>(*max_procs * cores_per_processor / cores_per_node);
  }
  if (valid(max_nodes)) return static_cast<Nodes>(*max_nodes);
  return std::nullopt;
}

Workload read_swf(const std::string& path, const SwfRules& rules, SwfHeader* header,
                  const ReadProgress& progress) {
  return read(CompressedFile::open(path), path, rules, header, progress);
}

Workload parse_swf(std::string_view bytes, const std::string& name, const SwfRules& rules,
                   SwfHeader* header) {
  return read(CompressedFile::in_memory(bytes, name), name, rules, header, {});
}

SwfHeader read_swf_header(const std::string& path) {
  CompressedFile file = CompressedFile::open(path);
  LineReader lines(file, path, kSwfAdvice);
  SwfHeader header;
  std::string_view line;
  while (lines.next(line)) {
    line = trimmed(line);
    if (!line.empty() && line.front() != ';') break;
    if (!line.empty()) read_comment(line, header);
  }
  return header;
}

void write_swf_lines(std::ostream& out, std::span<const SwfLine> lines, const SwfHeader& header) {
  write_lines(out, lines, header, [](const SwfLine& line) { return line; });
}

void write_swf(std::ostream& out, const Workload& workload, const SwfHeader& header,
               std::uint32_t cores_per_node) {
  const auto id = [](std::uint32_t value) { return value == 0 ? -1 : std::int64_t{value}; };
  auto row = workload.precedences.begin();
  write_lines(out, workload.jobs, header, [&](const WorkloadJob& job) {
    const auto processors = static_cast<std::int64_t>(std::uint64_t{job.nodes} * cores_per_node);
    SwfLine line{.number = job.name,
                 .submit = job.submit.time_since_epoch(),
                 .runtime = job.runtime,
                 .allocated = processors,
                 .requested = processors,
                 .status = 1,
                 .user = id(job.user),
                 .group = id(job.group)};
    if (job.walltime > Duration{}) line.requested_time = job.walltime;
    // It has room for one preceding job.
    const auto place = static_cast<std::uint32_t>(&job - workload.jobs.data());
    for (; row != workload.precedences.end() && row->job == place; ++row) {
      if (row->from != Precedence::From::log) continue;
      line.preceding = static_cast<std::int64_t>(workload.jobs[row->on].name);
      line.think = row->sets_submit ? std::optional(row->think) : std::nullopt;
    }
    return line;
  });
}

}  // namespace ductile
