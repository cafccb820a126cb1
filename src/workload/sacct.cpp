#include "workload/sacct.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "workload/compressed_file.hpp"

namespace ductile {
namespace {

constexpr const char* kCall =
    "call `TZ=UTC sacct --allusers --allocations --parsable2 --starttime=2024-01-01 "
    "--endtime=2024-02-01 --format=JobID,User,Group,Partition,QOS,State,Submit,Eligible,Start,End,"
    "ElapsedRaw,Timelimit,NNodes,ReqCPUS,AllocCPUS,ReqMem`";
constexpr std::int64_t kMostCount = std::int64_t{1} << 31;
constexpr std::int64_t kMostSacctSeconds = 1'000'000'000'000;
constexpr std::int64_t kMostMemoryKb = std::int64_t{1} << 50;

// The columns that are read; any other one is passed over.
enum Column : std::uint8_t {
  kJobId,
  kState,
  kSubmit,
  kEligible,
  kStart,
  kEnd,
  kElapsed,
  kElapsedRaw,
  kTimelimit,
  kTimelimitRaw,
  kNNodes,
  kAllocNodes,
  kReqNodes,
  kNCpus,
  kAllocCpus,
  kReqCpus,
  kAllocTres,
  kReqMem,
  kUserName,
  kUid,
  kGroupName,
  kGid,
  kAccount,
  kPartitionName,
  kQos,
  kAdminComment,
  kColumns
};

constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "JobID",      "State",     "Submit",       "Eligible", "Start",        "End",      "Elapsed",
    "ElapsedRaw", "Timelimit", "TimelimitRaw", "NNodes",   "AllocNodes",   "ReqNodes", "NCPUS",
    "AllocCPUS",  "ReqCPUS",   "AllocTRES",    "ReqMem",   "User",         "UID",      "Group",
    "GID",        "Account",   "Partition",    "QOS",      "AdminComment",
};

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_unknown(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "N/A";
}

// "[D-]HH:MM:SS[.ffffff]", "MM:SS"; decimals are passed over.
std::optional<Duration> parse_elapsed(std::string_view text) {
  text = text.substr(0, text.find('.'));
  std::int64_t total = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = parse_number<std::uint32_t>(text.substr(0, dash));
    if (!days) return std::nullopt;
    total = *days;
    text.remove_prefix(dash + 1);
    if (std::ranges::count(text, ':') != 2) return std::nullopt;
    total *= 24;
  }
  const auto parts = std::ranges::count(text, ':') + 1;
  if (parts < 2 || parts > 3) return std::nullopt;
  for (std::ptrdiff_t i = 0; i < parts; ++i) {
    const auto number = parse_number<std::uint32_t>(next_part(text, ':'));
    if (!number) return std::nullopt;
    // Days were turned into hours above.
    total = (i == 0 ? total : total * 60) + *number;
  }
  if (total > kMostSacctSeconds) return std::nullopt;
  return whole_seconds(total);
}

// KB of "4000M", "1.5G"; MB where there is no unit.
std::optional<double> parse_kilobytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTPE";
  double kilobytes = 1024;
  if (!text.empty() && kUnits.find(text.back()) != std::string_view::npos) {
    kilobytes = std::pow(1024.0, static_cast<double>(kUnits.find(text.back())));
    text.remove_suffix(1);
  }
  const auto number = parse_number<double>(text);
  if (!number || *number < 0) return std::nullopt;
  return *number * kilobytes;
}

// Names as numbers from 1, in the order in which they come.
class Numbers {
 public:
  std::int64_t of(const std::string& name) {
    if (name.empty()) return -1;
    const auto [at, is_new] = numbers_.try_emplace(name, std::ssize(names_) + 1);
    if (is_new) names_.push_back(name);
    return at->second;
  }
  void tell(std::string_view what, std::string& lines) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      lines += fmt::format("{}: {} {}\n", what, i + 1, printable(names_[i]));
    }
  }
  std::int64_t count() const { return std::ssize(names_); }

 private:
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::vector<std::string> names_;
};

// What is known of how a job ended.
struct Ending {
  std::string_view word;
  int status;  // of SWF
  bool is_over = true;
};
constexpr std::array<Ending, 21> kEndings = {{
    {"COMPLETED", 1},
    {"FAILED", 0},
    {"TIMEOUT", 0},
    {"NODE_FAIL", 0},
    {"OUT_OF_MEMORY", 0},
    {"BOOT_FAIL", 0},
    {"LAUNCH_FAILED", 0},
    {"DEADLINE", 0},
    {"PREEMPTED", 0},
    {"CANCELLED", 5},
    {"REVOKED", 5},
    {"REQUEUED", 0},
    {"PENDING", -1, false},
    {"RUNNING", -1, false},
    {"SUSPENDED", -1, false},
    {"RESIZING", -1, false},
    {"CONFIGURING", -1, false},
    {"COMPLETING", -1, false},
    {"STOPPED", -1, false},
    {"SIGNALING", -1, false},
    {"STAGE_OUT", -1, false},
}};

// A job before users and partitions have numbers and its time a beginning.
struct SacctRecord {
  SwfLine line;
  std::int64_t submit = 0;  // s since 1970
  std::string user, group, queue, partition;
  std::string comment;
};

class SacctReader {
 public:
  SacctReader(CompressedFile file, const std::string& name, const SacctRules& rules,
              const ReadProgress& progress)
      : file_(std::move(file)),
        name_(name),
        rules_(rules),
        lines_(file_, name_, "is it what `sacct --parsable2` prints?", &progress) {}

  SacctInput read();

 private:
  void read_columns();
  void read_job();
  SacctInput finish();

  bool has(Column column) const { return places_[column].has_value(); }
  std::string_view text(Column column) const {
    return has(column) ? fields_[*places_[column]] : std::string_view();
  }
  /// The first of these columns that is there.
  std::string_view first_of(std::initializer_list<Column> columns) const {
    for (const Column column : columns) {
      if (has(column) && !text(column).empty()) return text(column);
    }
    return {};
  }
  std::optional<std::int64_t> time(Column column) const;
  std::optional<Duration> elapsed() const;
  std::optional<Duration> timelimit();
  std::int64_t count(Column column) const;
  std::int64_t tres(std::string_view what) const;
  std::int64_t memory_kb(std::int64_t nodes, std::int64_t processors) const;
  [[noreturn]] void fail(Column column, const std::string& what, const std::string& remedy) const {
    throw InputError({name_, lines_.number(), std::string(kColumnNames[column])}, what, remedy);
  }
  [[noreturn]] void fail_text(Column column, const std::string& what) const {
    fail(column, fmt::format("'{}' {}", printable(text(column).substr(0, 40)), what),
         "print it as sacct does by itself");
  }

  CompressedFile file_;
  std::string name_;
  const SacctRules& rules_;
  LineReader lines_;
  std::array<std::optional<std::size_t>, kColumns> places_;
  std::size_t columns_ = 0;
  std::vector<std::string_view> fields_;
  std::vector<SacctRecord> records_;
  SacctInput input_;
  std::map<std::string, std::uint64_t> remarks_;
  std::set<std::string, std::less<>> unfinished_;
};

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (;;) {
    const std::size_t bar = line.find('|');
    fields.push_back(line.substr(0, bar));
    if (bar == std::string_view::npos) return;
    line.remove_prefix(bar + 1);
  }
}

SacctInput SacctReader::read() {
  std::string_view line;
  const auto next = [&] {
    const bool is_there = lines_.next(line);
    if (is_there && line.ends_with('\r')) line.remove_suffix(1);
    return is_there;
  };
  if (!next()) throw InputError({.file = name_}, "is empty", kCall);
  split(line, fields_);
  read_columns();
  while (next()) {
    if (line.empty()) continue;
    split(line, fields_);
    if (fields_.size() != columns_) {
      throw InputError(
          {.file = name_, .line = lines_.number()},
          fmt::format("has {} columns, and the first line has {}", fields_.size(), columns_),
          "leave out columns with free text, as JobName and Comment: a bar or a line "
          "end in them breaks the table");
    }
    read_job();
  }
  return finish();
}

void SacctReader::read_columns() {
  columns_ = fields_.size();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (!same_word(fields_[i], kColumnNames[column])) continue;
      if (places_[column]) {
        fail(static_cast<Column>(column), "the column is there twice", "ask for it once");
      }
      places_[column] = i;
    }
  }
  const auto need = [&](std::initializer_list<Column> any, std::string_view of_what) {
    if (std::ranges::any_of(any, [&](Column column) { return has(column); })) return;
    std::vector<std::string_view> names;
    for (const Column column : any) names.push_back(kColumnNames[column]);
    throw InputError({.file = name_, .line = 1},
                     fmt::format("there is no column {}{}", fmt::join(names, " or "), of_what),
                     kCall);
  };
  need({kJobId}, "");
  need({kState}, "");
  need({kSubmit}, "");
  need({kStart}, "");
  need({kEnd, kElapsedRaw, kElapsed}, "");
  if (rules_.from_eligible) need({kEligible}, ", by which jobs are to arrive");
  if (rules_.count == SacctRules::Count::cpus) {
    need({kAllocCpus, kNCpus, kAllocTres, kReqCpus}, ", so sizes are not known");
  } else {
    need({kNNodes, kAllocNodes, kAllocTres, kReqNodes}, ", so sizes are not known");
  }
}

std::optional<std::int64_t> SacctReader::time(Column column) const {
  const std::string_view value = text(column);
  if (is_unknown(value)) return std::nullopt;
  auto seconds = parse_date(value);
  if (!seconds) seconds = parse_number<std::int64_t>(value);  // SLURM_TIME_FORMAT=%s
  if (!seconds || *seconds < 0 || *seconds > kMostSacctSeconds) {
    fail(column, fmt::format("'{}' is no time", printable(value.substr(0, 40))),
         "print YYYY-MM-DDTHH:MM:SS, as sacct does by itself, or with SLURM_TIME_FORMAT=%s");
  }
  return *seconds == 0 ? std::nullopt : seconds;
}

std::optional<Duration> SacctReader::elapsed() const {
  if (has(kElapsedRaw) && !is_unknown(text(kElapsedRaw))) {
    const auto seconds = parse_number<std::int64_t>(text(kElapsedRaw));
    if (!seconds || *seconds < 0 || *seconds > kMostSacctSeconds) {
      fail_text(kElapsedRaw, "is no number of seconds");
    }
    return whole_seconds(*seconds);
  }
  if (!has(kElapsed) || is_unknown(text(kElapsed))) return std::nullopt;
  const auto value = parse_elapsed(text(kElapsed));
  if (!value) fail_text(kElapsed, "is no [DAYS-]HH:MM:SS");
  return value;
}

std::optional<Duration> SacctReader::timelimit() {
  const Column column = has(kTimelimit) ? kTimelimit : kTimelimitRaw;
  const std::string_view value = text(column);
  if (is_unknown(value) || same_word(value, "INVALID")) return std::nullopt;
  if (same_word(value, "UNLIMITED") || same_word(value, "Partition_Limit")) {
    ++remarks_[fmt::format("jobs have the limit {}, which says no time", printable(value))];
    return std::nullopt;
  }
  if (column == kTimelimitRaw) {
    const auto minutes = parse_number<std::int64_t>(value);
    if (!minutes || *minutes < 0 || *minutes > kMostSacctSeconds / 60) {
      fail_text(column, "is no number of minutes");
    }
    return whole_seconds(*minutes * 60);
  }
  const auto limit = parse_elapsed(value);
  if (!limit) fail_text(column, "is no [DAYS-]HH:MM:SS, UNLIMITED or Partition_Limit");
  return limit;
}

// Sacct shortens large counts: "1.5K".
std::int64_t SacctReader::count(Column column) const {
  std::string_view value = text(column);
  if (is_unknown(value)) return -1;
  double factor = 1;
  if (value.ends_with('K') || value.ends_with('M')) {
    factor = value.ends_with('K') ? 1024 : 1024 * 1024;
    value.remove_suffix(1);
  }
  const auto number = parse_number<double>(value);
  const double whole = number ? *number * factor : -1;
  if (!(whole >= 0 && whole <= static_cast<double>(kMostCount))) {
    fail_text(column, "is no number of them");
  }
  return static_cast<std::int64_t>(std::llround(whole));
}

// Of "billing=4,cpu=4,mem=16G,node=1".
std::int64_t SacctReader::tres(std::string_view what) const {
  std::string_view rest = text(kAllocTres);
  while (!rest.empty()) {
    const std::string_view item = next_part(rest, ',');
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || item.substr(0, equals) != what) continue;
    const auto number = parse_number<std::int64_t>(item.substr(equals + 1));
    if (!number || *number < 0 || *number > kMostCount) {
      fail(kAllocTres, fmt::format("'{}' is no number of them", printable(item)), "correct it");
    }
    return *number;
  }
  return -1;
}

// KB of each processor. "4Gc" is for each CPU, "4Gn" for each node (before Slurm 21.08), "4G" for
// the whole job.
std::int64_t SacctReader::memory_kb(std::int64_t nodes, std::int64_t processors) const {
  std::string_view value = text(kReqMem);
  if (is_unknown(value)) return -1;
  if (value.ends_with('?')) value.remove_suffix(1);
  const char per = value.empty() ? ' ' : value.back();
  if (per == 'n' || per == 'c') value.remove_suffix(1);
  const auto kilobytes = parse_kilobytes(value);
  if (!kilobytes) fail_text(kReqMem, "is no amount of memory");
  if (*kilobytes == 0 || processors <= 0 || (per == 'n' && nodes <= 0)) return -1;
  double all = *kilobytes;
  if (per == 'n') all *= static_cast<double>(nodes);
  const double each = per == 'c' ? all : all / static_cast<double>(processors);
  return static_cast<std::int64_t>(std::min(std::ceil(each), static_cast<double>(kMostMemoryKb)));
}

void SacctReader::read_job() {
  const std::string_view id = text(kJobId);
  if (id.empty() || id.front() < '0' || id.front() > '9') {
    fail_text(kJobId, "is no job");
  }
  if (id.find('.') != std::string_view::npos) {
    ++input_.steps;
    return;
  }
  std::string_view state = text(kState);
  state = state.substr(0, state.find(' '));  // "CANCELLED by 1000"
  if (state.ends_with('+')) state.remove_suffix(1);
  const auto ending = std::ranges::find(kEndings, state, &Ending::word);
  if (ending == kEndings.end()) {
    ++remarks_[fmt::format("jobs ended as '{}': their status is not known",
                           printable(state.substr(0, 40)))];
  } else if (!ending->is_over) {
    unfinished_.emplace(id);
    return;
  }
  // A line of while it waited or ran may be before it.
  if (const auto before = unfinished_.find(id); before != unfinished_.end()) {
    unfinished_.erase(before);
  }

  SacctRecord record;
  SwfLine& line = record.line;
  line.status = ending == kEndings.end() ? -1 : ending->status;
  auto submit = rules_.from_eligible ? time(kEligible) : std::nullopt;
  if (!submit) submit = time(kSubmit);
  if (!submit) {
    fail(kSubmit, "is not known", "leave this line out: a job without it can not be placed");
  }
  record.submit = *submit;
  const auto start = time(kStart), end = time(kEnd);
  std::optional<Duration> ran = elapsed();
  if (!ran && start && end) ran = whole_seconds(*end - *start);
  // What was cancelled while it waited has no start, or one that is its end.
  const bool never_ran = !start || (state == "CANCELLED" && ran == Duration{});
  if (never_ran) {
    if (end && *end >= *submit) line.wait = whole_seconds(*end - *submit);
  } else {
    if (ran && *ran < Duration{}) {
      fail(kEnd, "is before the start", "print times in UTC (TZ=UTC), or ask for ElapsedRaw");
    }
    line.runtime = ran;
    if (*start >= *submit) line.wait = whole_seconds(*start - *submit);
    if (*start < *submit) ++remarks_["jobs started before they were submitted: no wait time"];
  }
  line.requested_time = timelimit();

  const auto first_count = [&](std::initializer_list<Column> columns, std::string_view in_tres) {
    for (const Column column : columns) {
      if (const std::int64_t number = count(column); number > 0) return number;
    }
    return tres(in_tres);
  };
  const std::int64_t nodes = first_count({kAllocNodes, kNNodes}, "node");
  const bool by_nodes = rules_.count == SacctRules::Count::nodes;
  const std::int64_t each = by_nodes ? rules_.cores_per_node : 1;
  const std::int64_t allocated = by_nodes ? nodes : first_count({kAllocCpus, kNCpus}, "cpu");
  const std::int64_t requested = count(by_nodes ? kReqNodes : kReqCpus);
  const auto processors = [&](std::int64_t number) -> std::int64_t {
    if (number <= 0) return -1;
    if (number * each > kMostCount) {
      fail(by_nodes ? kNNodes : kNCpus, "are too many processors", "give fewer cores per node");
    }
    return number * each;
  };
  line.requested = processors(requested > 0 ? requested : allocated);
  line.allocated = never_ran ? -1 : processors(allocated);
  line.requested_memory_kb =
      memory_kb(nodes, by_nodes ? line.requested : (allocated > 0 ? allocated : requested));

  record.user = first_of({kUserName, kUid});
  record.group = first_of({kGroupName, kGid, kAccount});
  record.comment = text(kAdminComment);
  record.queue = text(kQos);
  // Before it starts a job may name several; it runs in one.
  record.partition = text(kPartitionName);
  records_.push_back(std::move(record));
}

SacctInput SacctReader::finish() {
  std::ranges::stable_sort(records_, {}, &SacctRecord::submit);
  Numbers users, groups, queues, partitions;
  const std::int64_t begin = records_.empty() ? 0 : records_.front().submit;
  for (SacctRecord& record : records_) {
    record.line.number = input_.lines.size() + 1;
    record.line.submit = whole_seconds(record.submit - begin);
    record.line.user = users.of(record.user);
    record.line.group = groups.of(record.group);
    record.line.queue = queues.of(record.queue);
    record.line.partition = partitions.of(record.partition);
    input_.lines.push_back(record.line);
    if (has(kAdminComment)) input_.comments.push_back(std::move(record.comment));
  }
  input_.unfinished = unfinished_.size();
  SwfHeader& header = input_.header;
  header.version = "2.2";
  header.max_jobs = header.max_records = std::ssize(input_.lines);
  if (!records_.empty()) header.unix_start_time = begin;
  header.max_queues = queues.count();
  header.max_partitions = partitions.count();
  if (!rules_.anonymise) {
    queues.tell("Queue", header.names);
    partitions.tell("Partition", header.names);
    users.tell("User", header.names);
    groups.tell("Group", header.names);
  }
  for (const auto& [what, times] : remarks_) {
    input_.remarks.push_back(fmt::format("{} {}", times, what));
  }
  return std::move(input_);
}

}  // namespace

SacctInput read_sacct(const std::string& path, const SacctRules& rules,
                      const ReadProgress& progress) {
  return SacctReader(CompressedFile::open(path), path, rules, progress).read();
}

SacctInput parse_sacct(std::string_view bytes, const std::string& name, const SacctRules& rules) {
  const ReadProgress none;
  return SacctReader(CompressedFile::in_memory(bytes, name), name, rules, none).read();
}

}  // namespace ductile
