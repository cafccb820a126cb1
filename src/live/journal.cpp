#include "live/journal.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/members.hpp"
#include "base/text.hpp"
#include "job/system_random.hpp"
#include "live/crash.hpp"
#include "simulation/checksum.hpp"
#include "simulation/recording.hpp"
#include "simulation/replay.hpp"

namespace ductile {
namespace {

constexpr int kVersion = 8;
constexpr int kOldest = 7;  // that is taken up
constexpr const char* kDamaged = "the journal is damaged: ";

/// A table: its columns with their types, what they are besides, and what else belongs to it. Each
/// row has the sum of its values, so that nothing is read that is not as it was written.
struct Table {
  std::string_view name;
  std::string_view columns;
  std::string_view keys = "";
  std::string_view options = "";
  std::string_view indices = "";
};

// Times are microseconds since the Unix epoch.
constexpr Table kTables[] = {
    {"head", "name TEXT PRIMARY KEY, value TEXT NOT NULL", "", "WITHOUT ROWID"},
    {"records", "number INTEGER PRIMARY KEY, kind TEXT NOT NULL, job INTEGER, text TEXT NOT NULL",
     "", "",
     "CREATE INDEX IF NOT EXISTS records_of_job ON records (job) WHERE job IS NOT NULL; "
     "CREATE INDEX IF NOT EXISTS closes ON records (number) WHERE kind = 'C'"},
    {"jobs",
     "number INTEGER PRIMARY KEY, id INTEGER NOT NULL, user INTEGER NOT NULL, \"group\" INTEGER "
     "NOT NULL, "
     "name TEXT NOT NULL, type TEXT NOT NULL, account TEXT NOT NULL, array INTEGER, task INTEGER, "
     "submitted_us INTEGER NOT NULL, held INTEGER NOT NULL, ending TEXT NOT NULL, "
     "restarts INTEGER NOT NULL, losses INTEGER NOT NULL, started_us INTEGER, ended_us INTEGER, "
     "state TEXT, exit_code INTEGER, note TEXT",
     "", "",
     "CREATE INDEX IF NOT EXISTS tasks_of_array ON jobs (array, task) WHERE array IS NOT NULL; "
     "CREATE UNIQUE INDEX IF NOT EXISTS ids_of_jobs ON jobs (id)"},
    {"snapshots",
     "record INTEGER PRIMARY KEY, file TEXT NOT NULL, bytes INTEGER NOT NULL, crc TEXT NOT NULL"},
    {"submissions", "job INTEGER PRIMARY KEY, submission TEXT NOT NULL"},
    {"sizes", "job INTEGER NOT NULL, time_us INTEGER NOT NULL, nodes INTEGER NOT NULL", "", "",
     "CREATE INDEX IF NOT EXISTS sizes_of_job ON sizes (job)"},
    {"failures", "job INTEGER PRIMARY KEY, reason TEXT NOT NULL, lost_output INTEGER NOT NULL"},
    {"keys", "user INTEGER NOT NULL, key TEXT NOT NULL, job INTEGER NOT NULL",
     "PRIMARY KEY (user, key)", "WITHOUT ROWID"},
    {"nodes", "node INTEGER PRIMARY KEY, reason TEXT NOT NULL"},
    {"accounts", "number INTEGER PRIMARY KEY, name TEXT NOT NULL"},
    {"users", "user INTEGER PRIMARY KEY, before_us INTEGER, last_us INTEGER NOT NULL"},
    {"applications",
     "number INTEGER PRIMARY KEY, user INTEGER NOT NULL, application INTEGER NOT NULL, "
     "nodes INTEGER NOT NULL, runs INTEGER NOT NULL, run_us INTEGER NOT NULL, "
     "iterations INTEGER NOT NULL, iteration_us INTEGER NOT NULL, looks INTEGER NOT NULL, "
     "in_mpi INTEGER NOT NULL",
     "UNIQUE (user, application, nodes)"},
    {"measured",
     "job INTEGER NOT NULL, nodes INTEGER NOT NULL, runs INTEGER NOT NULL, run_us INTEGER NOT "
     "NULL, iterations INTEGER NOT NULL, iteration_us INTEGER NOT NULL, looks INTEGER NOT NULL, "
     "in_mpi INTEGER NOT NULL",
     "PRIMARY KEY (job, nodes)", "WITHOUT ROWID"}};

/// A column that came with a version after `kOldest`, and what it has where a row is older, in SQL.
struct Later {
  std::string_view table, column;
  int version;
  std::string_view value;
};
constexpr Later kLater[] = {{"jobs", "id", 8, "number - 1"}};

/// What `said` makes of the names of the table's columns, in the order in which the sum is of them;
/// where it makes nothing of one that is left out.
template <class Say>
std::string columns_of(const Table& table, const Say& said) {
  std::string all;
  for (std::string_view rest = table.columns; !rest.empty();) {
    std::string_view column = next_part(rest, ',');
    column.remove_prefix(column.find_first_not_of(' '));
    const std::string one = said(next_part(column, ' '));
    if (!one.empty()) all.append(all.empty() ? "" : ", ").append(one);
  }
  return all;
}

/// The names of its columns, each with `before` before it.
std::string names_of(const Table& table, std::string_view before = "") {
  return columns_of(table,
                    [&](std::string_view column) { return std::string(before).append(column); });
}

/// If this column is newer than the version.
const Later* later(const Table& table, std::string_view column, std::int64_t version) {
  const auto* const at = std::ranges::find_if(kLater, [&](const Later& each) {
    return each.table == table.name && each.column == column && each.version > version;
  });
  return at == std::end(kLater) ? nullptr : at;
}

/// Those it had in this version.
std::string names_of(const Table& table, std::int64_t version) {
  return columns_of(table, [&](std::string_view column) {
    return later(table, column, version) ? std::string() : std::string(column);
  });
}

std::string sql_of(const Table& table) {
  const auto with_comma = [](std::string_view words) {
    return words.empty() ? std::string() : ", " + std::string(words);
  };
  return fmt::format(
      "CREATE TABLE IF NOT EXISTS {0} ({1}, sum INTEGER NOT NULL "
      "GENERATED ALWAYS AS (row_sum('{0}', {2})) STORED{3}) {4}; {5}; "
      "CREATE TRIGGER IF NOT EXISTS {0}_are_whole BEFORE UPDATE ON {0} "
      "BEGIN SELECT whole(old.sum, '{0}', {6}); END;",
      table.name, table.columns, names_of(table), with_comma(table.keys), table.options,
      table.indices, names_of(table, "old."));
}

/// True of each row that is as it was written, in SQL; reading another one fails.
std::string whole(std::string_view name) {
  const Table& table = *std::ranges::find(kTables, name, &Table::name);
  return fmt::format("whole(sum, '{}', {})", name, names_of(table));
}

std::int64_t sum_of(int count, sqlite3_value** values) {
  Checksum sum;
  for (int i = 0; i < count; ++i) {
    // Where one value ends and the next begins counts, too.
    const int type = sqlite3_value_type(values[i]);
    const void* const bytes = type == SQLITE_TEXT ? sqlite3_value_blob(values[i]) : nullptr;
    const std::int64_t value =
        type == SQLITE_TEXT ? sqlite3_value_bytes(values[i]) : sqlite3_value_int64(values[i]);
    sum.add(&type, sizeof type).add(&value, sizeof value);
    if (bytes != nullptr) sum.add(bytes, static_cast<std::size_t>(value));
  }
  return static_cast<std::int64_t>(sum.value());
}

void sql_row_sum(sqlite3_context* context, int count, sqlite3_value** values) {
  sqlite3_result_int64(context, sum_of(count, values));
}

/// What is wrong goes to a text of the journal's: an error of SQLite that says "corrupt" would undo
/// whatever else is being written.
void sql_whole(sqlite3_context* context, int count, sqlite3_value** values) {
  if (count > 2 && sqlite3_value_int64(values[0]) == sum_of(count - 1, values + 1)) {
    return sqlite3_result_int(context, 1);
  }
  const auto text = [&](int i) {
    const unsigned char* const word = count > i ? sqlite3_value_text(values[i]) : nullptr;
    return word == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(word));
  };
  auto& damage = *static_cast<std::string*>(sqlite3_user_data(context));
  damage = fmt::format("row {} of table {} is not as it was written",
                       printable(text(2).substr(0, 40)), text(1));
  sqlite3_result_error(context, damage.c_str(), -1);
}

std::string random_id() {
  std::array<std::uint64_t, 2> words{};
  fill_with_random(std::as_writable_bytes(std::span(words)));
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

Time time_of(std::int64_t microseconds) { return Time(Duration(microseconds)); }
std::int64_t microseconds(Time time) { return time.time_since_epoch().count(); }

}  // namespace

void Journal::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void Journal::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

/// One statement, bound and stepped through. It stays prepared, for the next one with this text.
class Journal::Statement {
 public:
  Statement(const Journal& journal, const std::string& sql)
      : journal_(journal), kept_(journal.prepared_[sql]), statement_(std::move(kept_)) {
    if (statement_) return;
    sqlite3_stmt* statement = nullptr;
    const int result = sqlite3_prepare_v3(journal.database_.get(), sql.c_str(), -1,
                                          SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    statement_.reset(statement);
    if (result != SQLITE_OK) journal.fail("is not as it should be");
  }
  ~Statement() {
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    kept_ = std::move(statement_);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& add(std::int64_t value) {
    sqlite3_bind_int64(statement_.get(), ++bound_, value);
    return *this;
  }
  Statement& add(const std::string& text) {
    sqlite3_bind_text(statement_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  template <class Value>
  Statement& add(const std::optional<Value>& value) {
    return value ? add(*value) : (sqlite3_bind_null(statement_.get(), ++bound_), *this);
  }
  Statement& add(Time time) { return add(microseconds(time)); }
  Statement& add(int value) { return add(std::int64_t{value}); }
  Statement& add(std::uint32_t value) { return add(std::int64_t{value}); }
  Statement& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
  /// Is there one more row?
  bool next() {
    const int result = sqlite3_step(statement_.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
      journal_.fail("cannot be written or read", sqlite3_stmt_readonly(statement_.get()) == 0);
    }
    return result == SQLITE_ROW;
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  bool is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  std::string text(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_.get(), column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size);
  }
  std::optional<Time> time(int column) const {
    return is_null(column) ? std::nullopt : std::optional(time_of(number(column)));
  }

 private:
  const Journal& journal_;
  Prepared& kept_;  // for the next one; empty while this one has it
  Prepared statement_;
  int bound_ = 0;
};

Journal::Journal(const std::string& path, Use use) : path_(path) {
  const bool writes = use != Use::read;
  const bool is_there = !writes || access(path.c_str(), F_OK) == 0;
  if (!is_there && use == Use::write) refuse_if_gone();
  if (writes) {
    // It has the scripts and environments of all users. The other files of SQLite take its mode.
    const int mine = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (mine >= 0) ::close(mine);
  }
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(
      path.c_str(), &database, writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, nullptr);
  database_.reset(database);
  if (opened != SQLITE_OK && !writes) {
    throw InputError({path}, "it cannot be read", "give the journal.db of a --state folder");
  }
  if (opened != SQLITE_OK) fail("cannot be opened");
  // What is refused is left as it is: closing would drop what SQLite does not take for whole.
  sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_busy_timeout(database, 2000);
  const auto define = [&](const char* name,
                          void (*function)(sqlite3_context*, int, sqlite3_value**)) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    sqlite3_create_function_v2(database, name, -1, kFlags, &damage_, function, nullptr, nullptr,
                               nullptr);
  };
  define("row_sum", &sql_row_sum);
  define("whole", &sql_whole);
  if (writes) run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  if (!writes) run("BEGIN");  // all that is read is of one commit
  const std::int64_t found = [&] {
    Statement version(*this, "PRAGMA user_version");
    version.next();
    return version.number(0);
  }();
  const bool is_older = found >= kOldest && found < kVersion;
  if (found == kVersion) {
    if (writes) check();  // who only reads looks at what it reads
  } else if (found != 0 && !(is_older && writes)) {
    throw InputError({path}, fmt::format("it is a journal of version {}", found),
                     fmt::format("this ductile reads version {}{}", kVersion,
                                 is_older ? "; `ductile serve` makes one of it" : ""));
  } else if (found != 0) {
    // When it is known to be all that there was.
  } else if (writes) {
    if (is_there && use == Use::write) refuse_if_gone();
    make_tables();
  } else {
    throw InputError({path}, "this is no journal of ductile",
                     "give the journal.db of a --state folder");
  }
  if (writes) {
    promised_ = {.journal = head("id"),
                 .commits = parse_number<std::uint64_t>(head("commits")).value_or(0)};
    is_restored_ = use == Use::restore;
    if (!is_restored_) keep_promises();
  }
  if (is_older) take_up_older(found);
  if (writes) committed_ = last_ = last_there();
  if (!is_restored_) sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  is_opened_ = true;
}

void Journal::make_tables() {
  Statement tables(*this, "SELECT count(*) FROM sqlite_master");
  tables.next();
  if (tables.number(0) != 0) {
    throw InputError({path_}, "this is no journal of ductile", "give another --state folder");
  }
  std::string sql = "BEGIN;";
  for (const Table& table : kTables) sql += sql_of(table);
  sql += fmt::format("INSERT INTO head VALUES ('id', '{}');", random_id());
  run(fmt::format("{} PRAGMA user_version = {}; COMMIT;", sql, kVersion).c_str());
}

/// Makes a journal of this version of one of an older: each row that has other columns now is read
/// as it was written, and written anew, all in one transaction. The old one is kept beside it.
/// Snapshots are not: their rows go, and all records are folded once more.
void Journal::take_up_older(std::int64_t version) {
  const std::string kept = fmt::format("{}.{}", path_, version);
  spdlog::info("the journal is of version {}; it is made one of version {}, and kept as {}",
               version, kVersion, kept);
  std::vector<const Table*> changed;
  for (const Table& table : kTables) {
    if (names_of(table, version) == names_of(table)) continue;
    changed.push_back(&table);
    Statement rows(*this, fmt::format("SELECT count(*) FROM {0} WHERE whole(sum, '{0}', {1})",
                                      table.name, names_of(table, version)));
    rows.next();
  }
  if (!head("semantics_since").empty() && head("semantics_since") != "0") {
    throw InputError({path_}, "its records are of several versions of ductile",
                     "begin and end the one that wrote it last once, by `ductile serve --settle`, "
                     "and begin with a new --state folder when its jobs are over");
  }
  std::filesystem::remove(kept);
  // As the journal itself, for who wrote it alone.
  const Descriptor mine(open(kept.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  Statement(*this, "VACUUM INTO ?").add(kept).next();
  begin();
  for (const Table* const table : changed) {
    run(fmt::format("ALTER TABLE {0} RENAME TO older_{0}", table->name).c_str());
    std::string sql;
    {
      Statement its(*this,
                    "SELECT 'DROP ' || type || ' ' || name || ';' FROM sqlite_master WHERE "
                    "tbl_name = ? AND type IN ('index', 'trigger') AND sql IS NOT NULL");
      its.add("older_" + std::string(table->name));
      while (its.next()) sql += its.text(0);
    }
    sql += sql_of(*table);
    const std::string values = columns_of(*table, [&](std::string_view column) {
      const Later* const its = later(*table, column, version);
      return std::string(its ? its->value : column);
    });
    sql += fmt::format("INSERT INTO {0} ({1}) SELECT {2} FROM older_{0}; DROP TABLE older_{0};",
                       table->name, names_of(*table), values);
    run(sql.c_str());
  }
  run(fmt::format("DELETE FROM snapshots; PRAGMA user_version = {}; COMMIT;", kVersion).c_str());
  prepared_.clear();
  check();
}

/// Nothing may be missing, wherever it is: what was lost in silence would be done wrong in silence.
/// In a large journal that takes a while: there what is not used is looked at when it has begun.
void Journal::check() const {
  constexpr std::int64_t kMostPages = 16'384;
  Statement size(*this, "PRAGMA page_count");
  size.next();
  if (size.number(0) > kMostPages) return;
  Statement pages(*this, "PRAGMA quick_check(1)");
  if (!pages.next() || pages.text(0) != "ok") damaged(pages.text(0));
  Statement records(*this, "SELECT count(*), coalesce(max(number), 0) FROM records");
  records.next();
  if (records.number(0) != records.number(1)) damaged("records are missing");
  Statement jobs(*this, "SELECT count(*), coalesce(max(id) + 1, 0) FROM jobs");
  jobs.next();
  if (jobs.number(0) != jobs.number(1)) damaged("jobs are missing");
}

namespace {

std::string mark_of(const std::string& journal) {
  return std::filesystem::path(journal).replace_extension("mark");
}

}  // namespace

/// A mark without its journal: there was one.
void Journal::refuse_if_gone() const {
  bool is_hurt = false;
  const auto promise = Mark::read(mark_of(path_), is_hurt);
  if (!promise || promise->commits == 0) return;
  throw InputError({path_},
                   fmt::format("the journal is gone or empty, but its mark is there, after {} "
                               "transactions",
                               promise->commits),
                   kRestore);
}

/// It has all that was promised to somebody, and goes on.
void Journal::keep_promises() {
  const std::string path = mark_of(path_);
  bool is_hurt = false;
  const auto told = Mark::read(path, is_hurt);
  const std::string broken = broken_promise(promised_, told);
  if (!broken.empty()) throw InputError({path_}, broken, kRestore);
  if (told && is_hurt) {
    spdlog::warn("{}: one of its two slots is damaged; the other one is used", path);
  }
  mark_.emplace(path, promised_);
}

void Journal::go_on_restored() {
  if (!std::exchange(is_restored_, false)) return;
  const std::string path = mark_of(path_);
  bool is_hurt = false;
  const auto told = Mark::read(path, is_hurt);
  spdlog::warn("{}: it is gone on with from its transaction {}; {}", path_, promised_.commits,
               told ? fmt::format("{} were told to users", told->commits)
                    : "nobody knows how many were told to users");
  // First the mark: whoever dies in between is refused, and told to do it again.
  promised_.journal = random_id();
  mark_.emplace(path, promised_);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  run("BEGIN IMMEDIATE");
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('former', ?)")
      .add(head("former") + (head("former").empty() ? "" : " ") + head("id"))
      .next();
  Statement(*this, "UPDATE head SET value = ? WHERE name = 'id'").add(promised_.journal).next();
  run("COMMIT");
}

std::vector<std::string> Journal::former_ids() const {
  std::vector<std::string> ids;
  const std::string all = head("former");
  for (std::string_view rest = all; !rest.empty();) ids.emplace_back(next_part(rest, ' '));
  return ids;
}

Journal::~Journal() = default;

/// What is damaged is the fault of no request, but it is an answer to one that reads; who writes
/// cannot go on.
void Journal::fail(const std::string& what, bool writes) const {
  const int code = database_ ? sqlite3_errcode(database_.get()) : SQLITE_NOMEM;
  // It quotes what it reads, which may be damaged.
  const std::string why = database_ ? printable(sqlite3_errmsg(database_.get())) : "out of memory";
  // Later it was a journal, and no request is to blame for what became of it.
  if (code == SQLITE_NOTADB && !is_opened_) {
    throw InputError({path_}, "this is no journal of ductile", "give another --state folder");
  }
  const bool is_damaged = code == SQLITE_CORRUPT || !damage_.empty();
  damage_.clear();
  if (is_damaged && !writes) damaged(why);
  throw RunError(fmt::format("the journal {} {}: {}", path_, what, why));
}

void Journal::damaged(const std::string& what) const {
  throw InputError({path_}, kDamaged + what,
                   "go on with a copy of it from before, by `ductile serve --restored`");
}

void Journal::run(const char* sql) const {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot be written");
  }
}

std::string Journal::head(const char* name) const {
  Statement row(*this, "SELECT value FROM head WHERE name = ? AND " + whole("head"));
  return row.add(std::string(name)).next() ? row.text(0) : "";
}

bool Journal::is_new() const { return head("policy").empty(); }

void Journal::write_head(const Core& core, const std::string& kind) {
  begin();
  const State& state = core.state();
  const std::pair<const char*, std::string> rows[] = {{"platform", to_record(state.platform)},
                                                      {"world", to_record(state.capabilities)},
                                                      {"rules", to_record(state.rules)},
                                                      {"policy", to_record(state.traits)},
                                                      {"semantics", std::to_string(kSemantics)},
                                                      {"version", DUCTILE_VERSION},
                                                      {"kind", kind}};
  for (const auto& [name, value] : rows) {
    Statement(*this, "INSERT INTO head VALUES (?, ?)").add(std::string(name)).add(value).next();
  }
  commit();
}

std::string Journal::kind() const {
  // Those that do not say so are older than any other kind.
  const std::string kind = head("kind");
  return kind.empty() ? "local" : kind;
}

std::uint64_t Journal::last_there() const {
  Statement last(*this, "SELECT coalesce(max(number), 0) FROM records");
  last.next();
  return static_cast<std::uint64_t>(last.number(0));
}

void Journal::unreadable(const RecordError& error, std::uint64_t record) const {
  throw InputError({path_, record, error.field()}, error.what(),
                   "go on with the build that wrote this journal, or with another --state");
}

Core Journal::first_core() const {
  auto [platform, capabilities, rules] = beginning();
  rules.record = true;
  try {
    const Traits traits = traits_from_record(head("policy"));
    if (const std::string what = lacking(capabilities, traits.needs); !what.empty()) {
      throw RecordError("policy",
                        "the world of the journal lacks " + what + ", which the policy needs");
    }
    return Core(platform, capabilities, rules, traits);
  } catch (const RecordError& error) {
    unreadable(error);
  }
}

std::uint64_t Journal::fold(Core& core, std::uint64_t after,
                            const std::function<void(const Event&)>& seen) const {
  std::int64_t number = 0;
  Statement count(*this, "SELECT count(*) FROM records WHERE number > ?");
  count.add(after).next();
  const auto folded = static_cast<std::uint64_t>(count.number(0));
  if (after + folded != last_there()) damaged("records are missing");
  try {
    Closed closed;
    bool is_open = false;  // its calls are still to come
    std::vector<PenCall> calls;
    const auto close = [&] {
      if (!std::exchange(is_open, false)) return;
      follow(core, closed.at, closed.asked, calls);
      calls.clear();
    };
    // In this order: what was another kind is not passed over.
    Statement rows(*this, fmt::format("SELECT number, kind, text FROM records "
                                      "WHERE CASE WHEN {} THEN kind NOT IN ('D', 'F') END "
                                      "AND number > ? ORDER BY number",
                                      whole("records")));
    rows.add(after);
    while (rows.next()) {
      number = rows.number(0);
      const std::string kind = rows.text(1), text = rows.text(2);
      if (kind == "P") {
        calls.push_back(pen_call_from_record(text));
        continue;
      }
      close();
      if (kind == "C") {
        closed = closed_from_record(text);
        is_open = true;
        continue;
      }
      const std::string_view record = text;
      const std::size_t space = record.find(' ');
      const Time now = time_from_record(record.substr(0, space));
      if (kind != "E" || space == std::string_view::npos || record.size() < space + 3) {
        throw RecordError("record", "there is no record of this kind");
      }
      const bool taken = record[space + 1] == '1';
      const Event event = event_from_record(record.substr(space + 3));
      if (core.apply(now, event) != taken) {
        throw RecordError("event", "it has another answer than when it was written");
      }
      if (seen && taken) seen(event);
    }
    close();
  } catch (const RecordError& error) {
    unreadable(error, static_cast<std::uint64_t>(number));
  } catch (const std::logic_error& error) {
    throw InputError({path_, static_cast<std::uint64_t>(number)},
                     std::string("the journal contradicts itself: ") + error.what(),
                     "go on with the build that wrote it, or with another --state");
  }
  return folded;
}

bool Journal::can_fold_from(std::uint64_t record) const {
  if (record == last_there()) return true;
  const auto number = [&](const char* name) {
    return parse_number<std::uint64_t>(head(name)).value_or(0);
  };
  return number("semantics") == kSemantics && record >= number("semantics_since");
}

void Journal::refuse_to_fold_from(std::uint64_t record) const {
  if (can_fold_from(record)) return;
  if (head("semantics") == std::to_string(kSemantics)) {
    throw InputError({path_, record + 1},
                     fmt::format("the records since then up to {} mean another thing to this "
                                 "version, and no snapshot after them is whole",
                                 head("semantics_since")),
                     "put the snapshots back, or a copy of all from before, by `ductile serve "
                     "--restored`");
  }
  throw InputError(
      {path_, record + 1},
      fmt::format("the records since then were written by ductile {}, and mean another thing to "
                  "this one (semantics {}, not {})",
                  head("version"), head("semantics"), kSemantics),
      fmt::format("run `ductile serve --settle` of ductile {} once", head("version")));
}

void Journal::go_on(const std::vector<Snapshot>& useless) {
  const bool means_as_here =
      head("semantics") == std::to_string(kSemantics) && head("version") == DUCTILE_VERSION;
  if (means_as_here && useless.empty()) return;
  begin();
  write_meaning(kSemantics, DUCTILE_VERSION);
  forget(useless);
  commit();
}

void Journal::forget(const std::vector<Snapshot>& snapshots) {
  for (const Snapshot& gone : snapshots) {
    Statement(*this, "DELETE FROM snapshots WHERE record = ?").add(gone.record).next();
  }
}

void Journal::write_meaning(std::uint64_t semantics, const std::string& version) {
  const auto write = [&](const char* name, const std::string& value) {
    Statement(*this, "INSERT OR REPLACE INTO head VALUES (?, ?)")
        .add(std::string(name))
        .add(value)
        .next();
  };
  if (head("semantics") != std::to_string(semantics)) {
    write("semantics_since", std::to_string(last_));
  }
  write("semantics", std::to_string(semantics));
  write("version", version);
}

std::vector<Snapshot> Journal::rows_of_snapshots(bool are_whole) const {
  // A start can do without any of them, so a damaged row is no error.
  Statement rows(*this, fmt::format("SELECT record, file, bytes, crc FROM snapshots WHERE (sum IS "
                                    "row_sum('snapshots', record, file, bytes, crc)) = {:d} "
                                    "ORDER BY record DESC",
                                    are_whole));
  std::vector<Snapshot> found;
  while (rows.next()) {
    found.push_back({.record = static_cast<std::uint64_t>(rows.number(0)),
                     .file = rows.text(1),
                     .bytes = static_cast<std::uint64_t>(rows.number(2)),
                     .sum = rows.text(3)});
  }
  return found;
}

std::vector<Snapshot> Journal::add(const Snapshot& snapshot) {
  constexpr std::size_t kKept = 2;
  begin();
  Statement(*this, "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)")
      .add(snapshot.record)
      .add(snapshot.file)
      .add(snapshot.bytes)
      .add(snapshot.sum)
      .next();
  std::vector<Snapshot> old = snapshots();
  old.erase(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(std::min(old.size(), kKept)));
  forget(old);
  commit();
  return old;
}

std::string Journal::clock() const { return head("clock"); }

void Journal::write_clock(const std::string& text) {
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('clock', ?)").add(text).next();
}

std::optional<Duration> Journal::booked_ahead() const {
  const auto ahead = parse_number<std::int64_t>(head("booked_ahead"));
  return ahead ? std::optional(Duration(*ahead)) : std::nullopt;
}

void Journal::write_booked_ahead(Duration ahead) {
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('booked_ahead', ?)")
      .add(std::to_string(ahead.count()))
      .next();
}

void Journal::begin() { Statement(*this, "BEGIN IMMEDIATE").next(); }

void Journal::commit() {
  Promise next = promised_;
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('commits', ?)")
      .add(std::to_string(++next.commits))
      .next();
  Statement(*this, "COMMIT").next();
  promised_ = next;
  committed_ = last_;
  crash_point(Moment::commit);
  mark_->write(promised_);
}

void Journal::record(const char* kind, const std::string& text, std::optional<std::uint64_t> job) {
  Statement(*this, "INSERT INTO records (kind, job, text) VALUES (?, ?, ?)")
      .add(std::string(kind))
      .add(job)
      .add(text)
      .next();
  ++last_;
}

void Journal::record(const Circumstance& circumstance) {
  record("F", to_record(circumstance), circumstance.job);
}

namespace {

/// Of all jobs, where a record is about a job.
constexpr std::uint64_t kAllJobs = 0;

}  // namespace

/// Of a job; one that has just ended is among those that are over.
std::optional<std::uint64_t> Journal::number_if_any(JobId id, const JobNumbers& numbers) const {
  if (id == JobId::none) return std::nullopt;
  if (numbers.contains(id)) return numbers.of(id);
  Statement row(*this, "SELECT number FROM jobs WHERE id = ? AND " + whole("jobs"));
  if (!row.add(index(id)).next()) return std::nullopt;
  return static_cast<std::uint64_t>(row.number(0));
}

std::optional<std::uint64_t> Journal::whose(const Event& event, const JobNumbers& numbers) const {
  if (const auto* submitted = std::get_if<event::Submitted>(&event)) return submitted->job.name;
  if (is_about_all(event)) return kAllJobs;
  return number_if_any(job_of(event), numbers);
}

void Journal::event(Time now, const Event& event, bool taken, const JobNumbers& numbers,
                    std::span<const Circumstance> circumstances) {
  for (const Circumstance& circumstance : circumstances) record(circumstance);
  record("E", to_record(now) + (taken ? " 1 " : " 0 ") + to_record(event),
         taken ? whose(event, numbers) : std::nullopt);
}

void Journal::close(Time now, const Core& core, std::span<const Decision> decisions,
                    const JobNumbers& numbers, std::span<const Circumstance> circumstances) {
  record("C", to_record(Closed{now, core.was_asked()}));
  for (const Circumstance& circumstance : circumstances) record(circumstance);
  for (const PenCall& call : core.pen_calls()) {
    const bool is_plan = call.verb == PenCall::Verb::reserve;
    record("P", to_record(call), is_plan ? number_if_any(call.job, numbers) : std::nullopt);
  }
  for (const Decision& decision : decisions) {
    record("D", to_record(decision), number_if_any(decision.job, numbers));
  }
}

void Journal::each_record_of(std::uint64_t job,
                             const std::function<void(const Record&)>& read) const {
  Statement rows(*this, "SELECT number, kind, text FROM records WHERE job IN (?, 0) AND " +
                            whole("records") + " ORDER BY number");
  rows.add(job);
  while (rows.next()) {
    Record record;
    record.number = static_cast<std::uint64_t>(rows.number(0));
    try {
      record.kind = rows.text(1).front();
      record.text = rows.text(2);
      if (record.kind != 'E') {
        Statement close(*this,
                        "SELECT number, text FROM records WHERE number = (SELECT max(number) FROM "
                        "records WHERE kind = 'C' AND number < ?) AND " +
                            whole("records"));
        if (close.add(record.number).next()) {
          record.close = static_cast<std::uint64_t>(close.number(0));
          record.closed = closed_from_record(close.text(1)).at;
        }
      }
      read(record);
    } catch (const RecordError& error) {
      unreadable(error, record.number);
    }
  }
}

void Journal::each_record(std::uint64_t after, std::uint64_t last,
                          const std::function<void(const Record&)>& read) const {
  Record record;
  try {
    // The first ones may belong to a close before them.
    Statement close(
        *this,
        "SELECT number, text FROM records WHERE number = (SELECT max(number) FROM records "
        "WHERE kind = 'C' AND number <= ?) AND " +
            whole("records"));
    if (close.add(after).next()) {
      record.close = static_cast<std::uint64_t>(close.number(0));
      record.closed = closed_from_record(close.text(1)).at;
    }
    Statement rows(*this,
                   "SELECT number, kind, text, job FROM records WHERE number > ? AND number <= ? "
                   "AND kind IN ('E', 'C', 'D') AND " +
                       whole("records") + " ORDER BY number");
    rows.add(after).add(last);
    while (rows.next()) {
      record.number = static_cast<std::uint64_t>(rows.number(0));
      record.kind = rows.text(1).front();
      record.text = rows.text(2);
      record.job = static_cast<std::uint64_t>(rows.number(3));
      if (record.kind == 'C') {
        record.close = record.number;
        record.closed = closed_from_record(record.text).at;
      } else {
        read(record);
      }
    }
  } catch (const RecordError& error) {
    unreadable(error, record.number);
  }
}

std::tuple<Platform, Capabilities, Rules> Journal::beginning() const {
  try {
    return {platform_from_record(head("platform")), capabilities_from_record(head("world")),
            rules_from_record(head("rules"))};
  } catch (const RecordError& error) {
    unreadable(error);
  }
}

// Who adds a member that has a column of `jobs`: it is made in `kTables`, written here or by one of
// the next two, read by `read_jobs`, `kLater` says what older rows have, and `kVersion` is raised;
// docs/formats/journal.md has it, and `all_of` in journal_test.cpp. Then the number here is right
// again.
static_assert(members<JobRow>() == 22);

void Journal::submitted(const JobRow& row, const std::string& submission) {
  const auto if_any = [](auto value, bool is_there) {
    return is_there ? std::optional(value) : std::nullopt;
  };
  Statement(*this,
            "INSERT INTO jobs (number, id, user, \"group\", name, type, account, array, task, "
            "submitted_us, held, ending, restarts, losses) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .add(row.number)
      .add(index(row.id))
      .add(row.owner.user)
      .add(row.owner.group)
      .add(row.name)
      .add(row.type)
      .add(row.account)
      .add(if_any(row.array, row.array != 0))
      .add(if_any(row.task, row.array != 0))
      .add(row.submitted)
      .add(static_cast<int>(row.held))
      .add(row.ending)
      .add(row.restarts)
      .add(row.losses)
      .next();
  if (submission.empty()) return;
  Statement(*this, "INSERT INTO submissions VALUES (?, ?)").add(row.number).add(submission).next();
}

void Journal::altered(std::uint64_t number, const std::string& name, const std::string& account,
                      const std::string& submission) {
  Statement(*this, "UPDATE submissions SET submission = ? WHERE job = ?")
      .add(submission)
      .add(number)
      .next();
  Statement(*this, "UPDATE jobs SET name = ?1, account = ?2 WHERE number = ?3 OR array = ?3")
      .add(name)
      .add(account)
      .add(number)
      .next();
}

void Journal::changing(std::uint64_t number, Change kind) {
  std::string text = std::to_string(number);
  if (kind != Change::some) {
    text.append(" ").append(kChangeWords[static_cast<std::size_t>(kind)]);
  }
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('changing', ?)").add(text).next();
}

void Journal::is_changed() { Statement(*this, "DELETE FROM head WHERE name = 'changing'").next(); }

std::pair<std::uint64_t, Change> Journal::changing() const {
  const std::string text = head("changing");
  std::string_view rest = text;
  const auto number = parse_number<std::uint64_t>(next_part(rest, ' '));
  return {number.value_or(0), from_word<Change>(kChangeWords, rest).value_or(Change::some)};
}

void Journal::write_untold(const std::set<std::uint64_t>& numbers) {
  if (numbers.empty()) return run("DELETE FROM head WHERE name = 'untold'");
  std::string text;
  for (const std::uint64_t number : numbers) append_number(text += text.empty() ? "" : " ", number);
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('untold', ?)").add(text).next();
}

std::set<std::uint64_t> Journal::untold() const {
  std::set<std::uint64_t> numbers;
  const std::string text = head("untold");
  for (std::string_view rest = text; !rest.empty();) {
    numbers.insert(parse_number<std::uint64_t>(next_part(rest, ' ')).value_or(0));
  }
  return numbers;
}

void Journal::account(std::uint32_t number, const std::string& name) {
  Statement(*this, "INSERT INTO accounts VALUES (?, ?)").add(number).add(name).next();
}

std::vector<std::string> Journal::accounts() const {
  Statement rows(*this,
                 "SELECT name FROM accounts WHERE " + whole("accounts") + " ORDER BY number");
  std::vector<std::string> names;
  while (rows.next()) names.push_back(rows.text(0));
  return names;
}

void Journal::node_reason(std::uint32_t node, const std::string& reason) {
  if (reason.empty()) {
    Statement(*this, "DELETE FROM nodes WHERE node = ?").add(node).next();
  } else {
    Statement(*this, "INSERT OR REPLACE INTO nodes (node, reason) VALUES (?, ?)")
        .add(node)
        .add(reason)
        .next();
  }
}

std::string Journal::node_health() const { return head("nodes"); }

void Journal::write_node_health(const std::string& text) {
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('nodes', ?)").add(text).next();
}

std::map<std::uint32_t, std::string> Journal::node_reasons() const {
  Statement rows(*this, "SELECT node, reason FROM nodes WHERE " + whole("nodes"));
  std::map<std::uint32_t, std::string> reasons;
  while (rows.next()) reasons[static_cast<std::uint32_t>(rows.number(0))] = rows.text(1);
  return reasons;
}

void Journal::changed(const JobRow& row) {
  Statement(*this,
            "UPDATE jobs SET held = ?, ending = ?, restarts = ?, losses = ?, "
            "started_us = ? WHERE number = ?")
      .add(static_cast<int>(row.held))
      .add(row.ending)
      .add(row.restarts)
      .add(row.losses)
      .add(row.started)
      .add(row.number)
      .next();
}

void Journal::held(std::uint64_t number, Time now, Nodes nodes) {
  Statement(*this, "INSERT INTO sizes VALUES (?, ?, ?)").add(number).add(now).add(nodes).next();
}

void Journal::write_must_ask(bool must_ask) {
  if (must_ask) {
    run("INSERT OR REPLACE INTO head VALUES ('must_ask', '1')");
  } else {
    run("DELETE FROM head WHERE name = 'must_ask'");
  }
}

bool Journal::must_ask() const { return !head("must_ask").empty(); }

void Journal::write_power_cap(const std::string& text) {
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('power_cap', ?)").add(text).next();
}

std::string Journal::power_cap() const { return head("power_cap"); }

void Journal::write_said_corridor(const std::string& text) {
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('said_corridor', ?)").add(text).next();
}

std::string Journal::said_corridor() const { return head("said_corridor"); }

void Journal::write_power(const std::string& text) {
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('power', ?)").add(text).next();
}

std::string Journal::power() const { return head("power"); }

void Journal::end_rejected(std::span<const Decision> decisions, Time now) {
  for (const Decision& decision : decisions) {
    if (decision.kind != Decision::Kind::reject) continue;
    const auto found = job_of_id(decision.job);
    if (!found || !found->state.empty()) continue;
    JobRow row = *found;
    row.ended = now;
    row.state = kEndWords[static_cast<std::size_t>(EndState::cancelled)];
    row.note = kCanNeverRun;
    ended(row);
  }
}

void Journal::ended(const JobRow& row) {
  Statement(*this,
            "UPDATE jobs SET ended_us = ?, state = ?, exit_code = ?, note = ? WHERE number = ?")
      .add(row.ended)
      .add(row.state)
      .add(row.exit_code)
      .add(row.note)
      .add(row.number)
      .next();
  if (row.reason.empty() && row.lost_output == 0) return;
  Statement(*this, "INSERT OR REPLACE INTO failures VALUES (?, ?, ?)")
      .add(row.number)
      .add(row.reason)
      .add(row.lost_output)
      .next();
}

template <class Value, class... Values>
void Journal::bind(Statement& statement, const Value& value, const Values&... values) {
  statement.add(value);
  bind(statement, values...);
}

template <class... Values>
std::vector<JobRow> Journal::read_jobs(const std::string& condition,
                                       const Values&... values) const {
  Statement rows(*this,
                 "SELECT number, user, \"group\", name, type, array, task, submitted_us, held, "
                 "ending, restarts, started_us, ended_us, state, exit_code, note, account, "
                 "losses, id FROM jobs WHERE " +
                     whole("jobs") + " AND " + condition);
  bind(rows, values...);
  std::vector<JobRow> jobs;
  while (rows.next()) {
    JobRow job;
    job.number = static_cast<std::uint64_t>(rows.number(0));
    job.owner = {static_cast<uid_t>(rows.number(1)), static_cast<gid_t>(rows.number(2))};
    job.name = rows.text(3);
    job.type = rows.text(4);
    job.array = static_cast<std::uint64_t>(rows.number(5));  // null: 0
    job.task = static_cast<std::uint32_t>(rows.number(6));
    job.submitted = time_of(rows.number(7));
    job.held = static_cast<Hold>(std::clamp<std::int64_t>(rows.number(8), 0, 2));
    job.ending = rows.text(9);
    job.restarts = static_cast<std::uint32_t>(rows.number(10));
    job.started = rows.time(11);
    job.ended = rows.time(12);
    job.state = rows.text(13);
    if (!rows.is_null(14)) job.exit_code = static_cast<int>(rows.number(14));
    job.note = rows.text(15);
    job.account = rows.text(16);
    job.losses = static_cast<std::uint32_t>(rows.number(17));
    job.id = JobId{static_cast<std::uint32_t>(rows.number(18))};
    jobs.push_back(std::move(job));
  }
  for (JobRow& job : jobs) {
    Statement failure(
        *this, "SELECT reason, lost_output FROM failures WHERE job = ? AND " + whole("failures"));
    if (failure.add(job.number).next()) {
      job.reason = failure.text(0);
      job.lost_output = static_cast<std::uint64_t>(failure.number(1));
    }
    Statement sizes(*this, "SELECT time_us, nodes FROM sizes WHERE job = ? AND " + whole("sizes") +
                               " ORDER BY rowid");
    sizes.add(job.number);
    while (sizes.next()) {
      const Time time = time_of(sizes.number(0));
      if (!job.sizes.empty()) {
        const auto& [since, nodes] = job.sizes.back();
        job.node_us += std::int64_t{nodes} * (time - since).count();
      }
      job.sizes.emplace_back(time, static_cast<Nodes>(sizes.number(1)));
    }
  }
  return jobs;
}

DecisionId Journal::start_of(std::uint64_t number) const {
  Statement rows(*this, "SELECT number, text FROM records WHERE job = ? AND kind = 'D' AND " +
                            whole("records") + " ORDER BY number DESC");
  rows.add(number);
  while (rows.next()) {
    try {
      const Decision decision = decision_from_record(rows.text(1));
      if (decision.kind == Decision::Kind::start) return decision.id;
    } catch (const RecordError& error) {
      unreadable(error, static_cast<std::uint64_t>(rows.number(0)));
    }
  }
  return DecisionId::none;
}

JobRow Journal::living(JobId id, std::uint64_t number) const {
  auto found = job(number);
  if (!found || !found->state.empty() || found->id != id) {
    damaged(fmt::format("job {} {}", number,
                        !found            ? "is missing"
                        : found->id != id ? "is another one in the core"
                                          : "is not over, but has an end"));
  }
  return std::move(*found);
}

std::vector<JobRow> Journal::next_jobs(JobFilter& filter) const {
  if (filter.is_done()) return {};
  constexpr std::uint64_t kAtOnce = 100;
  std::uint64_t from = filter.from, end = filter.end;
  if (end - from <= kAtOnce) {
    filter.from = end;
  } else if (filter.is_newest_first) {
    filter.end = from = end - kAtOnce;
  } else {
    filter.from = end = from + kAtOnce;
  }
  std::vector<JobRow> found = read_jobs(
      fmt::format("id >= ?1 AND id < ?2 AND (?3 IS NULL OR user = ?3) AND "
                  "(?4 IS NULL OR ended_us IS NULL OR ended_us >= ?4) ORDER BY id {} LIMIT ?5",
                  filter.is_newest_first ? "DESC" : "ASC"),
      from, end, filter.user, filter.since, std::min(filter.most, kAtOnce));
  filter.most -= found.size();
  return found;
}

std::optional<JobRow> Journal::job(std::uint64_t number) const {
  auto found = read_jobs("number = ?", number);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::optional<JobRow> Journal::job_of_id(JobId id) const {
  auto found = read_jobs("id = ?", index(id));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::optional<JobRow> Journal::job_of_task(std::uint64_t array, std::uint32_t task) const {
  auto found = read_jobs("array = ? AND task = ?", array, task);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

bool Journal::knows(std::uint64_t number, std::uint64_t end) const {
  Statement row(*this, "SELECT 1 FROM jobs WHERE number >= ? AND number < ? LIMIT 1");
  return row.add(number).add(end).next();
}

bool Journal::knows_task(std::uint64_t array, std::uint32_t task) const {
  Statement row(*this, "SELECT 1 FROM jobs WHERE array = ? AND task = ?");
  return row.add(array).add(task).next();
}

std::uint64_t Journal::highest_number() const {
  Statement row(*this, "SELECT coalesce(max(number), 0) FROM jobs");
  row.next();
  return static_cast<std::uint64_t>(row.number(0));
}

std::optional<JobRow> Journal::end_of(std::uint64_t number) const {
  Statement row(*this,
                "SELECT number, state FROM jobs WHERE (number = ?1 OR array = ?1) AND " +
                    whole("jobs") +
                    " ORDER BY state IS NOT NULL, state = 'completed', ended_us, number LIMIT 1");
  if (!row.add(number).next() || row.is_null(1)) return std::nullopt;
  return job(static_cast<std::uint64_t>(row.number(0)));
}

std::optional<std::uint64_t> Journal::job_of_key(std::uint32_t user, const std::string& key) const {
  Statement row(*this, "SELECT job FROM keys WHERE user = ? AND key = ? AND " + whole("keys"));
  if (!row.add(user).add(key).next()) return std::nullopt;
  return static_cast<std::uint64_t>(row.number(0));
}

void Journal::key(std::uint32_t user, const std::string& key, std::uint64_t number) {
  Statement(*this, "INSERT INTO keys VALUES (?, ?, ?)").add(user).add(key).add(number).next();
}

std::uint64_t Journal::end_of_array(std::uint64_t array) const {
  Statement row(*this, "SELECT max(id) + 1 FROM jobs WHERE array = ?");
  row.add(array).next();
  return static_cast<std::uint64_t>(row.number(0));
}

std::optional<bool> Journal::has_failed(std::uint64_t number) const {
  Statement row(*this,
                "SELECT max(state != 'completed') FROM jobs "
                "WHERE (number = ?1 OR array = ?1) AND CASE WHEN " +
                    whole("jobs") + " THEN state IS NOT NULL END");
  row.add(number).next();
  return row.is_null(0) ? std::nullopt : std::optional(row.number(0) != 0);
}

std::string Journal::submission(std::uint64_t number) const {
  Statement row(*this,
                "SELECT submission FROM submissions WHERE job = "
                "(SELECT coalesce(array, number) FROM jobs WHERE number = ?) AND " +
                    whole("submissions"));
  return row.add(number).next() ? row.text(0) : "";
}

// ---- What is believed ---------------------------------------------------------------------------

namespace {

/// In the order of `Observed`.
constexpr const char* kSeenColumns = "runs, run_us, iterations, iteration_us, looks, in_mpi";

/// Writes the sums of a new row, or those that a row has now.
std::string upsert_seen(const char* table, const char* keys, const char* places) {
  return fmt::format(
      "INSERT INTO {0} ({1}, {2}) VALUES ({3}, ?, ?, ?, ?, ?, ?) ON CONFLICT ({1}) "
      "DO UPDATE SET ({2}) = (excluded.runs, excluded.run_us, excluded.iterations, "
      "excluded.iteration_us, excluded.looks, excluded.in_mpi)",
      table, keys, kSeenColumns, places);
}

}  // namespace

void Journal::write_seen(Statement& statement, const Observed& seen) {
  statement.add(seen.runs)
      .add(seen.run_time.count())
      .add(seen.iterations)
      .add(seen.iteration_time.count())
      .add(seen.looks)
      .add(seen.in_mpi)
      .next();
}

Observed Journal::read_seen(const Statement& row, int column) {
  const auto count = [&](int i) { return static_cast<std::uint64_t>(row.number(column + i)); };
  const auto time = [&](int i) { return Duration(row.number(column + i)); };
  return {.runs = count(0),
          .run_time = time(1),
          .iterations = count(2),
          .iteration_time = time(3),
          .looks = count(4),
          .in_mpi = count(5)};
}

void Journal::took(std::uint32_t user, const std::vector<Duration>& last) {
  const auto time = [&](bool is_there, std::size_t i) {
    return is_there ? std::optional(last[i].count()) : std::nullopt;
  };
  Statement(*this, "INSERT OR REPLACE INTO users VALUES (?, ?, ?)")
      .add(user)
      .add(time(last.size() > 1, 0))
      .add(last.back().count())
      .next();
}

void Journal::seen(const Applications::Key& application, Nodes nodes, const Observed& seen) {
  Statement statement(*this, upsert_seen("applications", "user, application, nodes", "?, ?, ?"));
  write_seen(statement.add(application.first).add(application.second).add(nodes), seen);
}

void Journal::forget(const Applications::Key& application) {
  Statement(*this, "DELETE FROM applications WHERE user = ? AND application = ?")
      .add(application.first)
      .add(application.second)
      .next();
}

void Journal::measured(std::uint64_t number, Nodes nodes, const Observed& seen) {
  Statement statement(*this, upsert_seen("measured", "job, nodes", "?, ?"));
  write_seen(statement.add(number).add(nodes), seen);
}

void Journal::forget_measured(std::uint64_t number) {
  Statement(*this, "DELETE FROM measured WHERE job = ?").add(number).next();
}

void Journal::each_user(const std::function<void(std::uint32_t, Duration)>& read) const {
  Statement rows(*this, "SELECT user, before_us, last_us FROM users WHERE " + whole("users"));
  while (rows.next()) {
    const auto user = static_cast<std::uint32_t>(rows.number(0));
    if (!rows.is_null(1)) read(user, Duration(rows.number(1)));
    read(user, Duration(rows.number(2)));
  }
}

void Journal::each_application(
    const std::function<void(const Applications::Key&, Nodes, const Observed&)>& read) const {
  Statement rows(*this, fmt::format("SELECT user, application, nodes, {} FROM applications "
                                    "WHERE {} ORDER BY number",
                                    kSeenColumns, whole("applications")));
  while (rows.next()) {
    read({static_cast<std::uint32_t>(rows.number(0)), static_cast<std::uint64_t>(rows.number(1))},
         static_cast<Nodes>(rows.number(2)), read_seen(rows, 3));
  }
}

void Journal::each_measured(
    const std::function<void(std::uint64_t, Nodes, const Observed&)>& read) const {
  Statement rows(*this, fmt::format("SELECT job, nodes, {} FROM measured WHERE {}", kSeenColumns,
                                    whole("measured")));
  while (rows.next()) {
    read(static_cast<std::uint64_t>(rows.number(0)), static_cast<Nodes>(rows.number(1)),
         read_seen(rows, 2));
  }
}

namespace {

/// Of a damaged row, in SQL: is it one of a job that is not over?
std::string is_of_living(const Table& table) {
  if (table.name == "jobs") return "state IS NULL OR ended_us IS NULL";
  if (table.name == "keys") return "0";  // who submits with this key is told
  for (const char* of_jobs : {"submissions", "sizes", "failures"}) {
    if (table.name == of_jobs) {
      return fmt::format(
          "EXISTS (SELECT 1 FROM jobs WHERE (number = {0}.job OR array = {0}.job) AND "
          "state IS NULL)",
          table.name);
    }
  }
  return "1";
}

CheckedJournal::Needs who_needs(std::string_view table, bool is_of_living) {
  if (table == "records") return CheckedJournal::Needs::fold;
  if (table == "snapshots") return CheckedJournal::Needs::nobody;
  return is_of_living ? CheckedJournal::Needs::start : CheckedJournal::Needs::questions;
}

}  // namespace

CheckedJournal check_journal(const std::string& path) {
  using Statement = Journal::Statement;
  using Damage = CheckedJournal::Damage;
  CheckedJournal checked;
  std::optional<Journal> opened;
  try {
    opened.emplace(path, Journal::Use::read);
  } catch (const InputError& error) {
    // Another version, or none, is no damage.
    if (std::string_view(error.what()).find(kDamaged) == std::string_view::npos) throw;
    checked.damages.push_back({error.what()});
    return checked;
  }
  const Journal& journal = *opened;
  // What cannot be read at all is damage as well, and the rest is looked at all the same.
  const auto look = [&](const std::function<void()>& at) {
    try {
      at();
    } catch (const std::runtime_error& error) {
      checked.damages.push_back({error.what()});
    }
  };
  // The second column, if there is one: is the row of a job that is not over?
  const auto add_rows = [&](const std::string& sql, const std::string& before,
                            const std::string& after, std::string_view table = "") {
    constexpr std::uint64_t kMost = 10;
    Statement rows(journal, sql);
    std::uint64_t found = 0;
    Damage more;
    more.needs = CheckedJournal::Needs::nobody;
    while (rows.next()) {
      Damage damage{.what = before + rows.text(0) + after};
      if (!table.empty()) damage.needs = who_needs(table, rows.number(1) != 0);
      if (damage.needs == CheckedJournal::Needs::fold) {
        damage.record = static_cast<std::uint64_t>(rows.number(0));
      }
      if (++found <= kMost) {
        checked.damages.push_back(std::move(damage));
      } else {
        more.needs = std::min(more.needs, damage.needs);
        more.record = std::max(more.record, damage.record);
      }
    }
    if (found > kMost) {
      more.what = fmt::format("{}: {} more", before, found - kMost);
      checked.damages.push_back(std::move(more));
    }
  };
  look([&] {
    add_rows("SELECT quick_check FROM pragma_quick_check(1000) WHERE quick_check != 'ok'",
             "pages: ", "");
  });
  for (const Table& table : kTables) {
    const std::string names = names_of(table), key = names.substr(0, names.find(','));
    look([&] {
      Statement count(journal, fmt::format("SELECT count(*) FROM {}", table.name));
      count.next();
      checked.rows += static_cast<std::uint64_t>(count.number(0));
    });
    look([&] {
      add_rows(fmt::format("SELECT {0}, {1} FROM {2} NOT INDEXED "
                           "WHERE sum IS NOT row_sum('{2}', {3})",
                           key, is_of_living(table), table.name, names),
               fmt::format("table {}: the row of {} ", table.name, key),
               " is not as it was written", table.name);
    });
  }
  const auto count_rows = [&](const char* table, const char* last) {
    look([&] {
      add_rows(fmt::format("SELECT count(*) FROM {} HAVING count(*) != coalesce(max({}), 0)", table,
                           last),
               fmt::format("table {}: rows are missing, there are ", table), "");
    });
  };
  count_rows("records", "number");
  count_rows("jobs", "id + 1");
  look([&] {
    checked.has = {.journal = journal.head("id"),
                   .commits = parse_number<std::uint64_t>(journal.head("commits")).value_or(0)};
    checked.snapshots = journal.snapshots();
  });
  return checked;
}

bool is_journal(const std::string& path) {
  constexpr std::string_view kFirst = "SQLite format 3";
  std::ifstream file(path, std::ios::binary);
  std::string first(kFirst.size(), '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  return file && first == kFirst;
}

namespace {

/// Decided where it served, and is not asked again.
class Recorded final : public Policy {
 public:
  Recorded() { is_outside = true; }
  void schedule(Pass&) const override { throw std::logic_error("who is outside is not asked"); }
};

}  // namespace

PolicyMaker maker_for(const std::string& path, const Registry& registry) {
  if (!is_journal(path)) return registry.maker();
  return [registry](std::string_view text) -> std::shared_ptr<const Policy> {
    if (!registry.find_outside(text)) return registry.make(text);
    auto recorded = std::make_shared<Recorded>();
    recorded->traits.settings = std::string(text);
    return recorded;
  };
}

std::unique_ptr<std::istream> open_log(const std::string& path) {
  if (!is_journal(path)) return open_log_file(path);
  return std::make_unique<std::istringstream>(log_of_journal(path));
}

std::string log_of_journal(const std::string& path) {
  const Journal journal(path, Journal::Use::read);
  if (journal.is_new()) throw InputError({path}, "the journal is empty", "serve some jobs first");
  std::string lines = std::string(kFirstLogLine) + '\n';
  for (const char* name : {"platform", "world", "rules", "policy"}) {
    lines.append(name).append(" ").append(journal.head(name)).push_back('\n');
  }
  Journal::Statement rows(
      journal, fmt::format("SELECT kind, text FROM records WHERE CASE WHEN {} THEN kind != 'F' END "
                           "ORDER BY number",
                           whole("records")));
  while (rows.next()) lines.append(rows.text(0)).append(" ").append(rows.text(1)).push_back('\n');
  return sealed_log(std::move(lines));
}

}  // namespace ductile
