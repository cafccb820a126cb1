// What the controller may never forget: everything the core was told and what came of it, and the
// jobs as their users wrote them. One SQLite file; format: docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "job/socket.hpp"
#include "scheduling/core.hpp"
#include "scheduling/record.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace ductile {

/// A job in the journal.
struct JobRow {
  std::uint64_t number = 0;
  Owner owner{};
  std::string submission{};  // JSON
  Time submitted{};
  std::optional<Time> started{}, ended{};
  std::string state{};  // its end, a word of `kEndWords`; empty before
  std::optional<int> exit_code{};
  std::string note{};        // what there is to say about its end
  std::int64_t node_us = 0;  // node-microseconds it has held, up to its last change of size
  std::vector<std::pair<Time, Nodes>> sizes{};  // what it held since when; 0 at its end
};

/// All calls between `begin` and `commit` are durable together, or not at all. Whatever cannot be
/// written or read is a RunError that says so; a file that is no journal is an InputError.
class Journal {
 public:
  /// Opens or makes it.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Has a core been written?
  bool is_new() const;
  /// The beginning of everything, in a transaction of its own.
  void write_head(const Core& core);
  /// The core as it was at the last commit: folds the records, asks no policy. `seen` is called
  /// after each event that was taken.
  Core fold(const PolicyMaker& make,
            const std::function<void(const Event&, const Core&)>& seen = {}) const;

  void begin();
  void event(Time now, const Event& event, bool taken);
  void close(Time now, const Core& core, std::span<const Decision> decisions);
  void submitted(const JobRow& row);
  /// From now on this number stands for the account of this name.
  void account(std::uint32_t number, const std::string& name);
  void started(std::uint64_t number, Time now);
  void held(std::uint64_t number, Time now, Nodes nodes);
  void ended(const JobRow& row);
  void commit();

  /// Names of accounts, by their numbers; those of the rules are not among them.
  std::vector<std::string> accounts() const;
  /// Jobs that are not over; or all, newest first, at most `most`.
  std::vector<JobRow> living() const;
  std::vector<JobRow> jobs(std::uint64_t most) const;
  std::optional<JobRow> job(std::uint64_t number) const;

 private:
  friend std::string log_of_journal(const std::string& path);
  class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };

  void run(const char* sql) const;
  [[noreturn]] void fail(const std::string& what) const;
  void record(const char* kind, const std::string& text);
  std::string head(const char* name) const;
  std::vector<JobRow> read_jobs(const std::string& condition, std::uint64_t bound) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// Is it a journal, by its first bytes?
bool is_journal(const std::string& path);
/// The journal as a log (docs/formats/log.md), for `ductile replay`.
std::string log_of_journal(const std::string& path);

}  // namespace ductile
