// What the controller may never forget: everything the core was told and what came of it, and the
// jobs as their users wrote them. One SQLite file; format: docs/formats/journal.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "job/socket.hpp"
#include "live/applications.hpp"
#include "live/job_numbers.hpp"
#include "live/mark.hpp"
#include "policies/registry.hpp"
#include "report/circumstances.hpp"
#include "scheduling/core.hpp"
#include "scheduling/record.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace ductile {

/// Who keeps a job back: its user, who can release it; or an operator, and then only operators can.
enum class Hold : std::uint8_t { none, user, admin };

/// A job in the journal. What the controller reads often is in columns of its own, and not only in
/// the submission, which may be long.
struct JobRow {
  JobId id = JobId::none;    // in the core: the how manieth it was to arrive, from 0
  std::uint64_t number = 0;  // for people, as the world has given it
  Owner owner{};
  std::string name{};
  std::string type{};
  std::string account{};
  std::uint64_t array = 0;  // of whose tasks it is one; 0: none
  std::uint32_t task = 0;
  Time submitted{};

  // What changes while it lives.
  Hold held = Hold::none;
  std::string ending{};  // why it is ended; a word of `kEndingWords`
  std::uint32_t restarts = 0;
  std::uint32_t losses = 0;  // of its manager, which are restarts as well
  std::optional<Time> started{};

  // Its end.
  std::optional<Time> ended{};
  std::string state{};  // a word of `kEndWords`; empty before
  std::optional<int> exit_code{};
  std::string note{};             // what there is to say about it
  std::string reason{};           // of a failure, a word
  std::uint64_t lost_output = 0;  // bytes that could not be written

  std::int64_t node_us = 0;  // node-microseconds it has held, up to its last change of size
  std::vector<std::pair<Time, Nodes>> sizes{};  // what it held since when; 0 at its end
};

/// The note of a job that the core rejects.
constexpr std::string_view kCanNeverRun = "it can never run here";

/// Why a running job is ended.
enum class Ending : std::uint8_t { cancelled, timeout, requeued, node_fail };
constexpr std::array<std::string_view, 4> kEndingWords{"cancelled", "timeout", "requeued",
                                                       "node-fail"};

/// What becomes of a job that is changed: some of what its user may change; or what is another one
/// altogether, which may be held or released by that.
enum class Change : std::uint8_t { some, all, held, released };
constexpr std::array<std::string_view, 4> kChangeWords{"some", "all", "held", "released"};

/// Which jobs.
struct JobFilter {
  std::uint64_t from = 0, end = 0;  // by their ids, without `end`
  bool is_newest_first = true;
  std::uint64_t most = ~std::uint64_t{0};
  std::optional<std::uint32_t> user{};
  std::optional<Time> since{};  // not over before

  bool is_done() const { return from >= end || most == 0; }
};

/// The core after a record, in a file beside the journal.
struct Snapshot {
  std::uint64_t record = 0;
  std::string file{};
  std::uint64_t bytes = 0;
  std::string sum{};  // CRC-64, 16 digits
};

/// What equal records do to a core: raised when that changes. What another one has written is not
/// folded.
constexpr std::uint64_t kSemantics = 1;

/// What `ductile check` finds in a journal, of all its pages and rows.
struct CheckedJournal {
  /// Who cannot do without what is damaged.
  enum class Needs : std::uint8_t {
    start,      // of a controller
    fold,       // a start as well, if it folds this record
    questions,  // about a job that is over
    nobody
  };
  struct Damage {
    std::string what{};
    Needs needs = Needs::start;
    std::uint64_t record = 0;  // of `fold`
  };
  Promise has{};  // its id, and how many transactions it has
  std::uint64_t rows = 0;
  std::vector<Snapshot> snapshots{};
  std::vector<Damage> damages{};  // one by one; of many of a kind the first ones
};

/// All calls between `begin` and `commit` are durable together, or not at all. Whatever cannot be
/// written or read is a RunError that says so; a file that is no journal is an InputError, and so
/// is a row that is not as it was written, whenever it is read.
class Journal {
 public:
  /// Opens or makes it, or opens it to be read only. One that is damaged, or that has lost what was
  /// told to somebody (live/mark.hpp), is an InputError and is left as it is. With `restore` one is
  /// taken as it is found; before anything is written to it comes `go_on_restored`.
  enum class Use { write, read, restore };
  explicit Journal(const std::string& path, Use use = Use::write);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// If it was opened to be restored it is another journal from now on.
  void go_on_restored();
  /// Its random id; another one since it was restored.
  const std::string& id() const { return promised_.journal; }
  /// Those that it had before.
  std::vector<std::string> former_ids() const;
  /// Has a core been written?
  bool is_new() const;
  /// The beginning of everything, in a transaction of its own: the core, and the kind of its world.
  void write_head(const Core& core, const std::string& kind = "local");
  /// What kind of world it is of.
  std::string kind() const;
  /// The core before the first record.
  Core first_core() const;
  /// Brings a core that is as it was after the record `after` to the last commit: folds the records
  /// since then, asks no policy. `seen` is told of each event that was taken. How many records
  /// there were.
  std::uint64_t fold(Core& core, std::uint64_t after,
                     const std::function<void(const Event&)>& seen = {}) const;
  /// Have the records after this one the meaning that they have in this version?
  bool can_fold_from(std::uint64_t record) const;
  /// Throws InputError, which says what to do, if they have not.
  void refuse_to_fold_from(std::uint64_t record) const;
  /// From now on records have the meaning of this version; these snapshots are none.
  void go_on(const std::vector<Snapshot>& useless);
  /// Within a transaction: the records after the last one have this meaning, as this version
  /// writes.
  void write_meaning(std::uint64_t semantics, const std::string& version);
  /// The number of the last record that is committed. Needs no look at the file.
  std::uint64_t last_record() const { return committed_; }
  /// Of which the rows are as they were written; the newest first.
  std::vector<Snapshot> snapshots() const { return rows_of_snapshots(true); }
  /// Of which they are not: they are no more than what is to be forgotten.
  std::vector<Snapshot> damaged_snapshots() const { return rows_of_snapshots(false); }
  /// One more, in a transaction of its own. Two are kept: the others, whose files can go.
  std::vector<Snapshot> add(const Snapshot& snapshot);

  /// A record about a job, or (events) about all of them.
  struct Record {
    std::uint64_t number = 0;
    char kind = 'E';
    std::string text{};
    std::uint64_t job = 0;    // its number; 0: all, or none
    std::uint64_t close = 0;  // of other kinds than events: the number of the close,
    Time closed{};            // and its time
  };
  /// Its id, and the number of its last record, as its file has them.
  std::pair<std::string, std::uint64_t> here() const { return {head("id"), last_there()}; }
  /// Events and decisions of all jobs, with numbers after the first one of these, up to the other.
  void each_record(std::uint64_t after, std::uint64_t last,
                   const std::function<void(const Record&)>& read) const;
  /// Looks them up, in their order; docs/formats/journal.md. A RecordError of `read` becomes an
  /// InputError that names the record.
  void each_record_of(std::uint64_t job, const std::function<void(const Record&)>& read) const;
  /// The platform, the world and the rules at the beginning.
  std::tuple<Platform, Capabilities, Rules> beginning() const;

  /// What the clock of schedules is to go on by (live/schedule_clock.hpp); empty if there is none.
  std::string clock() const;
  /// Within an instant.
  void write_clock(const std::string& text);
  /// How far the wall was ahead of the clock of schedules when the times of the reservations were
  /// made out of those of the wall.
  std::optional<Duration> booked_ahead() const;
  void write_booked_ahead(Duration ahead);

  void begin();
  /// With what was true then and the record does not say.
  void event(Time now, const Event& event, bool taken, const JobNumbers& numbers,
             std::span<const Circumstance> circumstances = {});
  void close(Time now, const Core& core, std::span<const Decision> decisions,
             const JobNumbers& numbers, std::span<const Circumstance> circumstances = {});
  /// `submission`: JSON; empty for tasks of an array but the first.
  void submitted(const JobRow& row, const std::string& submission);
  /// What changes while it lives.
  void changed(const JobRow& row);
  /// What was submitted under this number, with this name and account, is from now on this.
  void altered(std::uint64_t number, const std::string& name, const std::string& account,
               const std::string& submission);
  /// Not all of its jobs have become that; and now they have. One number at a time.
  void changing(std::uint64_t number, Change kind);
  void is_changed();
  /// That number; 0 if there is none.
  std::pair<std::uint64_t, Change> changing() const;
  /// Numbers of jobs that users have changed, of which the world may not have heard.
  void write_untold(const std::set<std::uint64_t>& numbers);
  std::set<std::uint64_t> untold() const;
  /// From now on this number stands for the account of this name.
  void account(std::uint32_t number, const std::string& name);
  void held(std::uint64_t number, Time now, Nodes nodes);
  /// Why a node has no more jobs; empty: it has.
  void node_reason(std::uint32_t node, const std::string& reason);
  /// The next close asks the policy, whatever has happened: one was closed without; or it has
  /// asked.
  void write_must_ask(bool must_ask);
  bool must_ask() const;
  /// The cap of power that settings said last, as text; empty: none has ever.
  void write_power_cap(const std::string& text);
  std::string power_cap() const;
  /// The same of the power corridor.
  void write_said_corridor(const std::string& text);
  std::string said_corridor() const;
  /// The corridor that there is, and the cap beside it; empty: there is none.
  void write_power(const std::string& text);
  std::string power() const;
  /// What is said of the health of nodes, and by whom (live/node_health.hpp).
  void write_node_health(const std::string& text);
  void ended(const JobRow& row);
  /// Jobs that can never run end as that, where nobody has written it: the core has decided it in
  /// an instant that was not closed.
  void end_rejected(std::span<const Decision> decisions, Time now);
  /// What this user's last jobs took, one or two, the last one last.
  void took(std::uint32_t user, const std::vector<Duration>& last);
  /// All that was seen of an application on so many nodes; and that it is forgotten.
  void seen(const Applications::Key& application, Nodes nodes, const Observed& seen);
  void forget(const Applications::Key& application);
  /// All that was measured of a running job on so many nodes; and that it is over.
  void measured(std::uint64_t number, Nodes nodes, const Observed& seen);
  void forget_measured(std::uint64_t number);
  void commit();

  /// Names of accounts, by their numbers; those of the rules are not among them.
  std::vector<std::string> accounts() const;
  /// Of nodes for which there is one.
  std::map<std::uint32_t, std::string> node_reasons() const;
  /// As it was written; empty: it never was.
  std::string node_health() const;
  /// The last decision to start a job; none if there was none.
  DecisionId start_of(std::uint64_t number) const;
  /// A job that is not over, as the core knows: one without this row is an InputError.
  JobRow living(JobId id, std::uint64_t number) const;
  /// The first of them, if any: looks at so many as can be in a moment. The filter is that of the
  /// others afterwards.
  std::vector<JobRow> next_jobs(JobFilter& filter) const;
  std::optional<JobRow> job(std::uint64_t number) const;
  std::optional<JobRow> job_of_id(JobId id) const;
  std::optional<JobRow> job_of_task(std::uint64_t array, std::uint32_t task) const;
  /// Has a job ever had one of these numbers, without `end`?
  bool knows(std::uint64_t number, std::uint64_t end) const;
  bool knows(std::uint64_t number) const { return knows(number, number + 1); }
  bool knows_task(std::uint64_t array, std::uint32_t task) const;
  /// The highest number that a job has had; 0 if there was none.
  std::uint64_t highest_number() const;
  /// The job that says how a job, or all tasks of an array, ended: the first that failed, or else
  /// one that completed. Nothing while one of them is not over.
  std::optional<JobRow> end_of(std::uint64_t number) const;
  /// The job that this user has submitted with this key, once and for all; and that it is this one.
  std::optional<std::uint64_t> job_of_key(std::uint32_t user, const std::string& key) const;
  void key(std::uint32_t user, const std::string& key, std::uint64_t number);
  /// One more than the id of its last task.
  std::uint64_t end_of_array(std::uint64_t array) const;
  /// Has this job, or a task of this array, not completed? Nothing if none of them is over.
  std::optional<bool> has_failed(std::uint64_t number) const;
  /// Of a job, or of the array to which it belongs.
  std::string submission(std::uint64_t number) const;
  /// What was written of users, applications and running jobs; those that became known first come
  /// first.
  void each_user(const std::function<void(std::uint32_t user, Duration took)>& read) const;
  void each_application(
      const std::function<void(const Applications::Key&, Nodes, const Observed&)>& read) const;
  void each_measured(
      const std::function<void(std::uint64_t number, Nodes, const Observed&)>& read) const;

 private:
  friend std::string log_of_journal(const std::string& path);
  friend CheckedJournal check_journal(const std::string& path);
  class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

  void make_tables();
  void take_up_older(std::int64_t version);
  void check() const;
  void refuse_if_gone() const;
  void keep_promises();
  [[noreturn]] void damaged(const std::string& what) const;
  void run(const char* sql) const;
  [[noreturn]] void fail(const std::string& what, bool writes = false) const;
  void record(const char* kind, const std::string& text,
              std::optional<std::uint64_t> job = std::nullopt);
  void record(const Circumstance& circumstance);
  std::optional<std::uint64_t> number_if_any(JobId id, const JobNumbers& numbers) const;
  std::optional<std::uint64_t> whose(const Event& event, const JobNumbers& numbers) const;
  std::vector<Snapshot> rows_of_snapshots(bool are_whole) const;
  void forget(const std::vector<Snapshot>& snapshots);
  [[noreturn]] void unreadable(const RecordError& error, std::uint64_t record = 0) const;
  std::uint64_t last_there() const;
  std::string head(const char* name) const;
  static void write_seen(Statement& statement, const Observed& seen);
  static Observed read_seen(const Statement& row, int column);
  static void bind(Statement&) {}
  template <class Value, class... Values>
  static void bind(Statement& statement, const Value& value, const Values&... values);
  template <class... Values>
  std::vector<JobRow> read_jobs(const std::string& condition, const Values&... values) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
  mutable std::map<std::string, Prepared> prepared_{};  // statements, by their text
  std::optional<Mark> mark_{};
  mutable std::string damage_{};            // a row that is not as it was written, when it was read
  Promise promised_{};                      // up to the last commit
  std::uint64_t last_ = 0, committed_ = 0;  // records
  bool is_restored_ = false;                // and has not gone on
  bool is_opened_ = false;                  // from then on whatever is wrong is a RunError
};

/// Reads all of it, as of one commit. Throws InputError if it is none, or of another version.
CheckedJournal check_journal(const std::string& path);

/// Is it a journal, by its first bytes?
bool is_journal(const std::string& path);
/// The journal as a log (docs/formats/log.md), for `ductile replay`.
std::string log_of_journal(const std::string& path);
/// A log, or the journal as one, for whoever reads logs. Throws InputError.
std::unique_ptr<std::istream> open_log(const std::string& path);
/// Makes the policies of such a log for a replay. In a journal, what one in a process of its own
/// decided depends on what the machine did, too: it is not asked again.
PolicyMaker maker_for(const std::string& path, const Registry& registry);

}  // namespace ductile
