#include "experiment/results_file.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <unistd.h>

#include "base/error.hpp"
#include "report/output_file.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

constexpr int kVersion = 2;
constexpr int kApplication = 0x4475'6374;  // "Duct", in the header of the file
constexpr const char* kRemedy =
    "give another folder to --out, or --force to have the results in it removed";

// The place of a matrix in the experiment; those of which nobody has said it come last.
constexpr std::string_view kPlaceOfMatrix =
    "ifnull((SELECT key FROM head, json_each(head.value) WHERE head.name = 'matrices' AND "
    "json_each.value = matrix), 1e9)";

constexpr const char* kTables =
    "CREATE TABLE head (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE runs (folder TEXT PRIMARY KEY, matrix TEXT NOT NULL, number INTEGER, "
    "variant TEXT NOT NULL, policy TEXT NOT NULL, seed INTEGER NOT NULL, identity TEXT NOT NULL, "
    "summary TEXT) WITHOUT ROWID;"
    "CREATE INDEX runs_of_matrix ON runs (matrix, number);";

// The figures as columns, for whoever asks in SQL.
std::string view_of_figures() {
  std::string sql = "CREATE VIEW figures AS SELECT folder, variant";
  const Summary names;
  const auto column = [&](const char* name, const auto&) {
    sql += fmt::format(", json_extract(summary, '$.{0}') AS {0}", name);
  };
  visit_figures(names, column);
  visit_asked_figures(names, column);
  return sql + fmt::format(
                   " FROM runs WHERE summary IS NOT NULL AND number IS NOT NULL "
                   "ORDER BY {}, matrix, number;",
                   kPlaceOfMatrix);
}

}  // namespace

ResultsFile::Lock::~Lock() {
  if (descriptor >= 0) ::close(descriptor);
}

void ResultsFile::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

/// One statement, bound and stepped through.
class ResultsFile::Statement {
 public:
  Statement(const ResultsFile& file, const char* sql) : file_(file) {
    const int result = sqlite3_prepare_v2(file.database_.get(), sql, -1, &statement_, nullptr);
    if (result != SQLITE_OK) file_.fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& add(const std::string& text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
    return *this;
  }
  Statement& add(std::uint64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  Statement& add(const std::optional<std::string>& text) {
    return text ? add(*text) : (sqlite3_bind_null(statement_, ++bound_), *this);
  }
  /// Is there one more row?
  bool next() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) file_.fail();
    return result == SQLITE_ROW;
  }
  void done() {
    while (next()) {
    }
  }
  void again() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::string text(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size);
  }

 private:
  const ResultsFile& file_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// All until `commit`, or nothing.
class ResultsFile::Transaction {
 public:
  explicit Transaction(const ResultsFile& file) : file_(file) { file_.run_sql("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!is_over_) sqlite3_exec(file_.database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    file_.run_sql("COMMIT");
    is_over_ = true;
  }

 private:
  const ResultsFile& file_;
  bool is_over_ = false;
};

ResultsFile::ResultsFile(const std::filesystem::path& folder)
    : folder_(folder), path_(folder / kName) {
  make_folder(folder_);
  // Of the open file and of a byte that SQLite does not lock: this and its own locks do not meet.
  lock_.descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_.descriptor < 0) {
    throw InputError({.file = path_.string()}, std::strerror(errno),
                     "give another folder to --out");
  }
  struct flock first {};
  first.l_type = F_WRLCK;
  first.l_whence = SEEK_SET;
  first.l_len = 1;
  if (fcntl(lock_.descriptor, F_OFD_SETLK, &first) != 0) {
    const bool is_taken = errno == EAGAIN || errno == EACCES;
    throw InputError({.file = folder_.string()},
                     is_taken ? "another ductile writes its results there"
                              : std::string("cannot be locked: ") + std::strerror(errno),
                     is_taken ? "wait for its end, or give another folder to --out"
                              : "give another folder to --out");
  }
  open(true);
}

ResultsFile::ResultsFile(const std::filesystem::path& folder, ToRead)
    : folder_(folder), path_(folder / kName) {
  open(false);
}

ResultsFile::~ResultsFile() = default;

void ResultsFile::open(bool writes) {
  constexpr int kPatience_ms = 10'000;  // while somebody reads
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path_.c_str(), &database,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  if (opened != SQLITE_OK) fail();
  sqlite3_busy_timeout(database, kPatience_ms);
  // Not WAL, which needs memory that all share: folders of results are on file systems of networks.
  run_sql("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  const auto pragma = [&](const char* sql) {
    Statement statement(*this, sql);
    statement.next();
    return statement.number(0);
  };
  Statement tables(*this, "SELECT count(*) FROM sqlite_master");
  tables.next();
  const bool is_new = tables.number(0) == 0;
  if (is_new && writes) return make_tables();
  if (is_new || pragma("PRAGMA application_id") != kApplication) {
    throw InputError({.file = path_.string()}, "is another database, none of ductile's results",
                     "move it elsewhere, or give another folder to --out");
  }
  if (const std::uint64_t version = pragma("PRAGMA user_version"); version != kVersion) {
    throw InputError(
        {.file = path_.string()},
        fmt::format("is of version {}, and this ductile writes version {}", version, kVersion),
        kRemedy);
  }
  Statement check(*this, "PRAGMA quick_check(1)");
  check.next();
  if (const std::string found = check.text(0); found != "ok") damaged(found);
}

void ResultsFile::make_tables() {
  Transaction all(*this);
  run_sql(kTables);
  run_sql(view_of_figures().c_str());
  run_sql(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kVersion)
          .c_str());
  all.commit();
}

void ResultsFile::run_sql(const char* sql) const {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void ResultsFile::fail() const {
  const int code = sqlite3_errcode(database_.get());
  const std::string what = sqlite3_errmsg(database_.get());
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR) damaged(what);
  throw RunError(path_.string() + ": cannot be written or read: " + what);
}

void ResultsFile::damaged(const std::string& what) const {
  throw DamagedResults({.file = path_.string()}, "is damaged, or no results of ductile: " + what,
                       kRemedy);
}

std::optional<std::string> ResultsFile::experiment() const {
  Statement head(*this, "SELECT value FROM head WHERE name = 'experiment'");
  return head.next() ? std::optional(head.text(0)) : std::nullopt;
}

void ResultsFile::set_experiment(const std::string& name) {
  if (experiment() == name) return;
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('experiment', ?)").add(name).done();
}

void ResultsFile::set_order(const std::vector<std::string>& matrices) {
  const std::string text = nlohmann::json(matrices).dump();
  Statement before(*this, "SELECT value FROM head WHERE name = 'matrices'");
  if (before.next() && before.text(0) == text) return;
  Statement(*this, "INSERT OR REPLACE INTO head VALUES ('matrices', ?)").add(text).done();
}

void ResultsFile::each_run(const std::optional<std::string>& matrix,
                           const std::function<void(const PlannedRun&)>& see) const {
  Statement runs(*this,
                 "SELECT folder, matrix, number, variant, policy, seed, identity, "
                 "summary IS NOT NULL FROM runs "
                 "WHERE matrix = ?1 OR ?1 IS NULL ORDER BY folder");
  runs.add(matrix);
  while (runs.next()) {
    see({.folder = runs.text(0),
         .matrix = runs.text(1),
         .number = runs.number(2),
         .variant = runs.text(3),
         .policy = runs.text(4),
         .seed = runs.number(5),
         .identity = runs.text(6),
         .is_over = runs.number(7) != 0});
  }
}

std::vector<std::string> ResultsFile::matrices() const {
  const std::string sql =
      fmt::format("SELECT DISTINCT matrix FROM runs ORDER BY {}, matrix", kPlaceOfMatrix);
  Statement all(*this, sql.c_str());
  std::vector<std::string> folders;
  while (all.next()) folders.push_back(all.text(0));
  return folders;
}

bool ResultsFile::is_over(const std::string& folder) const {
  Statement run(*this, "SELECT summary IS NOT NULL FROM runs WHERE folder = ?");
  return run.add(folder).next() && run.number(0) != 0;
}

bool ResultsFile::has_any() const {
  return Statement(*this, "SELECT 1 FROM runs WHERE summary IS NOT NULL LIMIT 1").next();
}

void ResultsFile::plan(const std::string& matrix, std::size_t count,
                       const std::function<PlannedRun(std::size_t)>& planned) {
  Transaction all(*this);
  Statement(*this, "UPDATE runs SET number = NULL WHERE matrix = ?").add(matrix).done();
  Statement there(*this,
                  "SELECT identity = ?2 AND summary IS NOT NULL FROM runs WHERE folder = ?1");
  Statement number(*this, "UPDATE runs SET number = ?2, variant = ?3 WHERE folder = ?1");
  for (std::size_t i = 0; i < count; ++i) {
    const PlannedRun run = planned(i);
    const bool stays = there.add(run.folder).add(run.identity).next() && there.number(0) != 0;
    there.again();
    if (stays) {
      number.add(run.folder).add(run.number).add(run.variant).done();
      number.again();
    } else {
      write(run, std::nullopt);
    }
  }
  Statement(*this, "UPDATE runs SET summary = NULL WHERE matrix = ? AND number IS NULL")
      .add(matrix)
      .done();
  all.commit();
}

std::vector<std::string> ResultsFile::gone(const std::string& matrix) const {
  Statement runs(*this,
                 "SELECT folder FROM runs WHERE matrix = ? AND number IS NULL ORDER BY folder");
  runs.add(matrix);
  std::vector<std::string> folders;
  while (runs.next()) folders.push_back(runs.text(0));
  return folders;
}

bool ResultsFile::is_all_gone(const std::string& matrix) const {
  Statement runs(*this, "SELECT 1 FROM runs WHERE matrix = ? AND number IS NOT NULL");
  return !runs.add(matrix).next();
}

void ResultsFile::forget_gone(const std::string& matrix) {
  Statement(*this, "DELETE FROM runs WHERE matrix = ? AND number IS NULL").add(matrix).done();
}

void ResultsFile::drop(const std::string& matrix) { plan(matrix, 0, {}); }

void ResultsFile::undo(const std::string& folder) {
  Statement(*this, "UPDATE runs SET summary = NULL WHERE folder = ?").add(folder).done();
}

void ResultsFile::write(const PlannedRun& run, const std::optional<std::string>& summary) {
  Statement(*this, "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .add(run.folder)
      .add(run.matrix)
      .add(run.number)
      .add(run.variant)
      .add(run.policy)
      .add(run.seed)
      .add(run.identity)
      .add(summary)
      .done();
}

void ResultsFile::add(const PlannedRun& run, const Summary& summary) {
  Summary figures = summary;
  figures.run.clear();  // it has a column
  write(run, figures_json(figures));
}

void ResultsFile::add(const PlannedRun& run, const ResultsFile& other) {
  write(run, other.summary_text(run.folder));
}

std::string ResultsFile::summary_text(const std::string& folder) const {
  Statement text(*this, "SELECT summary FROM runs WHERE folder = ?");
  if (!text.add(folder).next() || text.is_null(0)) damaged("it has no results of " + folder);
  return text.text(0);
}

Summary ResultsFile::summary(const std::string& folder) const {
  try {
    return parse_summaries(summary_text(folder), folder).at(0).summary;
  } catch (const InputError& error) {
    damaged(error.what());
  }
}

}  // namespace ductile
