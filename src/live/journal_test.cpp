#include "live/journal.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "live/look_up.hpp"
#include "live/snapshots.hpp"
#include "policies/registry.hpp"
#include "scheduling/snapshot.hpp"
#include "simulation/checksum.hpp"
#include "simulation/replay.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

std::string fresh(const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder / "journal.db";
}

Core folded_of(const Journal& journal, const std::function<void(const Event&)>& seen = {}) {
  Core core = journal.first_core();
  journal.fold(core, 0, seen);
  return core;
}

std::vector<std::uint64_t> numbers(const Journal& journal, JobFilter filter) {
  std::vector<std::uint64_t> result;
  while (!filter.is_done()) {
    const std::vector<JobRow> some = journal.next_jobs(filter);
    EXPECT_LE(some.size(), 100u);
    for (const JobRow& job : some) result.push_back(job.number);
  }
  return result;
}

/// A core and its journal, as the controller keeps them.
struct Both {
  explicit Both(const std::string& path)
      : journal(path),
        core({.nodes = 4}, {.instant_start = false}, {.identities = true, .record = true},
             policy->traits) {
    if (journal.is_new()) journal.write_head(core);
  }

  std::vector<Decision> instant(Time now, const std::vector<Event>& events, bool commits = true) {
    journal.begin();
    for (const Event& event : events) {
      if (std::holds_alternative<event::Submitted>(event)) {
        const std::uint32_t id = core.state().jobs.size();
        numbers.add(JobId{id}, id + 1);
      }
      const bool taken = core.apply(now, event);
      journal.event(now, event, taken, numbers);
    }
    const auto span = core.close(now, *policy);
    journal.close(now, core, span, numbers);
    std::vector<Decision> decisions(span.begin(), span.end());
    if (commits) journal.commit();
    return decisions;
  }

  Journal journal;
  JobNumbers numbers{};
  std::shared_ptr<const Policy> policy = make_policy("equipartition");
  Core core;
};

Time at(std::int64_t seconds) { return Time(whole_seconds(seconds)); }

Event malleable() {
  return event::Submitted{{.name = 1,
                           .type = JobType::malleable,
                           .walltime = whole_seconds(100),
                           .size = {1, 4},
                           .preferred = 2},
                          AdaptiveSpec{}};
}

TEST(Journal, FoldsToTheCoreThatWroteIt) {
  const std::string path = fresh("folds");
  Both live(path);
  const auto starts = live.instant(at(1), {malleable()});
  ASSERT_FALSE(starts.empty());
  const auto more = live.instant(
      at(2), {event::Started{starts[0].job, starts[0].id, starts[0].after, std::nullopt},
              event::Started{starts[0].job, starts[0].id, starts[0].after, std::nullopt}});
  live.instant(at(3), {malleable()});
  live.instant(at(4), {event::ConfigChanged{make_policy("fcfs")->traits}});

  const Journal again(path);
  EXPECT_FALSE(again.is_new());
  int seen = 0;
  const Core folded = folded_of(again, [&](const Event&) { ++seen; });
  EXPECT_EQ(seen, 4);  // the second answer changed nothing
  EXPECT_EQ(folded.unanswered(), live.core.unanswered());
  EXPECT_EQ(folded.state().now, live.core.state().now);
  EXPECT_EQ(folded.state().next_decision, live.core.state().next_decision);
  EXPECT_EQ(folded.state().stale, 1u);
  EXPECT_EQ(folded.traits().settings, "fcfs");

  std::istringstream log(log_of_journal(path));
  EXPECT_EQ(replay(log, path, Registry().maker()).decisions, live.core.state().next_decision - 1);
}

TEST(Journal, ForgetsWhatWasNotCommitted) {
  const std::string path = fresh("forgets");
  {
    Both live(path);
    live.instant(at(1), {malleable()});
    live.instant(at(2), {malleable()}, false);
  }
  EXPECT_EQ(folded_of(Journal(path)).state().jobs.size(), 1u);
}

void execute(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(database);
}

/// A journal as one leaves it that is killed: half of it is in the database, the rest not yet.
std::string killed(const std::string& name, int instants) {
  std::string path = fresh(name);
  const pid_t writer = fork();
  if (writer == 0) {
    Both live(path);
    Snapshots snapshots(live.journal, fs::path(path).parent_path());
    for (int i = 1; i <= instants; ++i) {
      if (i == instants / 2) execute(path, "PRAGMA wal_checkpoint(TRUNCATE)");
      live.instant(at(i), {malleable()}, false);
      live.journal.submitted(
          {.id = JobId(i - 1), .number = std::uint64_t(i), .name = "job", .submitted = at(i)},
          "{\"name\": \"job\"}");
      live.journal.held(std::uint64_t(i), at(i), 1);
      live.journal.took(7, {whole_seconds(i)});
      live.journal.commit();
      if (i == instants / 2 || i == instants * 3 / 4) snapshots.make(live.core, {});
    }
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(writer, &status, 0), writer);
  EXPECT_EQ(status, 0);
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kFiles[] = {".db", ".db-wal", ".mark"};

/// The newest one first.
std::vector<std::string> snapshots_of(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path())) {
    const bool is_one = entry.path().filename().string().starts_with("snapshot-");
    if (is_one) files.push_back(entry.path());
  }
  std::ranges::sort(files, std::greater<>(),
                    [](const std::string& file) { return std::pair(file.size(), file); });
  return files;
}

std::string copy_of(const std::string& path, const std::string& name) {
  const fs::path copy = fresh(name);
  for (const char* extension : kFiles) {
    const fs::path from = fs::path(path).replace_extension(extension);
    if (fs::exists(from)) fs::copy_file(from, fs::path(copy).replace_extension(extension));
  }
  for (const std::string& file : snapshots_of(path)) {
    fs::copy_file(file, copy.parent_path() / fs::path(file).filename());
  }
  return copy;
}

/// All of it that a controller reads when it begins, and jobs that are asked for later.
std::string contents(const std::string& path) {
  const Journal journal(path);
  const Recovered recovered = recover_core(journal, fs::path(path).parent_path());
  const Core& core = recovered.core;
  std::string text = fmt::format("{}\n", recovered.counts.requests) + save(core.state());
  for (std::uint64_t number = 1; number <= core.state().jobs.size(); ++number) {
    const JobRow row = journal.living(JobId(number - 1), number);
    text += fmt::format("{} {} {} {} {} {}\n", number, row.name, row.submitted.time_since_epoch(),
                        row.sizes.size(), row.restarts, journal.submission(number));
  }
  journal.each_user([&](std::uint32_t user, Duration took) {
    text += fmt::format("{} {}\n", user, took.count());
  });
  return text + journal.clock();
}

// What a machine leaves that loses power while its disk keeps nothing: what was told is not there.
TEST(Journal, RefusesAnEndThatIsLost) {
  const std::string path = killed("torn", 3);
  const std::string wal = path + "-wal";
  const auto whole = fs::file_size(wal);
  std::size_t last = 4;
  for (std::uintmax_t cut = 1; cut < whole; cut = cut * 3 / 2 + 1) {
    const std::string copy = copy_of(path, "torn-copy");
    fs::resize_file(copy + "-wal", whole - cut);
    const std::string left = copy_of(copy, "torn-left");
    EXPECT_THROW(Journal{copy}, InputError);
    EXPECT_EQ(fs::file_size(copy + "-wal"), whole - cut);  // as it was found
    const Journal journal(left, Journal::Use::restore);
    const std::size_t jobs = journal.is_new() ? 0 : folded_of(journal).state().jobs.size();
    EXPECT_LE(jobs, last);  // less and less, each a moment that was
    last = jobs;
    EXPECT_THROW(log_of_journal(copy + ".none"), InputError);
  }
  EXPECT_LE(last, 1u);  // what is in the database stays
}

// What nobody was told may be there or not: its writer died before it could tell.
TEST(Journal, TakesAnEndThatNobodyWasTold) {
  const std::string path = killed("untold", 3);
  const std::string told = copy_of(path, "untold-told");
  const auto length = fs::file_size(path + "-wal");
  const pid_t writer = fork();
  if (writer == 0) {
    Journal journal(path);
    journal.begin();
    journal.took(9, {whole_seconds(1)});
    journal.commit();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(writer, &status, 0), writer);
  const auto users = [&](std::uintmax_t size) {
    const fs::path copy = copy_of(path, "untold-copy");
    fs::copy_file(fs::path(told).replace_extension("mark"),
                  fs::path(copy).replace_extension("mark"), fs::copy_options::overwrite_existing);
    fs::resize_file(copy.string() + "-wal", size);
    std::string seen;
    Journal(copy).each_user(
        [&](std::uint32_t user, Duration) { seen += fmt::format("{} ", user); });
    return seen;
  };
  const auto whole = fs::file_size(path + "-wal");
  ASSERT_GT(whole, length);
  EXPECT_EQ(users(whole), "7 9 ");
  EXPECT_EQ(users(whole - 1), "7 ");
  EXPECT_EQ(users(length), "7 ");
}

// A row that is damaged is an answer to who reads it, and others go on; it is not changed, and so
// not taken for whole.
TEST(Journal, ReadsAndWritesBesideADamagedRow) {
  const std::string path = killed("row", 3);
  Journal journal(path);
  // As if the disk had changed it under SQLite.
  sqlite3* other = nullptr;
  sqlite3_open(path.c_str(), &other);
  const auto one = [](sqlite3_context* context, int, sqlite3_value**) {
    sqlite3_result_int64(context, 1);
  };
  for (const char* name : {"row_sum", "whole"}) {
    sqlite3_create_function_v2(other, name, -1,
                               SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr, one,
                               nullptr, nullptr, nullptr);
  }
  EXPECT_EQ(sqlite3_exec(other, "UPDATE jobs SET name = 'other' WHERE number = 2", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(other);

  journal.begin();
  EXPECT_THROW(journal.job(2), InputError);
  EXPECT_EQ(journal.job(1)->name, "job");
  journal.took(8, {whole_seconds(5)});
  journal.commit();
  JobRow row = *journal.job(1);
  row.restarts = 1;
  journal.begin();
  journal.changed(row);
  row.number = 2;
  EXPECT_THROW(journal.changed(row), RunError);
  EXPECT_THROW(journal.job(2), InputError);
  bool is_there = false;
  journal.each_user([&](std::uint32_t user, Duration) { is_there |= user == 8; });
  EXPECT_TRUE(is_there);
}

// Wherever a bit flips, the journal is refused, or nothing of it has changed.
TEST(Journal, SeesEachBitThatFlips) {
  const std::string path = killed("flips", 40);
  const std::string before = contents(copy_of(path, "flips-copy"));
  const char* const given = std::getenv("DUCTILE_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261123;
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 draws(seed);
  int refused = 0;
  std::vector<std::string> files;
  for (const char* extension : kFiles) {
    files.push_back(fs::path(path).replace_extension(extension).filename());
  }
  const std::vector<std::string> snapshots = snapshots_of(path);
  ASSERT_EQ(snapshots.size(), 2u);
  for (const std::string& snapshot : snapshots) files.push_back(fs::path(snapshot).filename());
  for (const std::string& name : files) {
    for (int i = 0; i < 100; ++i) {
      const fs::path copy = copy_of(path, "flips-copy");
      const fs::path file = copy.parent_path() / name;
      const auto at = static_cast<std::streamoff>(draws() % fs::file_size(file));
      const int bit = static_cast<int>(draws() % 8);
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekg(at);
      const char flipped = static_cast<char>(bytes.get() ^ (1 << bit));
      bytes.seekp(at);
      bytes.put(flipped);
      bytes.close();
      try {
        const std::string after = contents(copy);
        ASSERT_EQ(after, before) << "seed " << seed << ": bit " << bit << " of byte " << at
                                 << " of " << file;
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

// Without the newest snapshot, without both and with none that is whole: all is as it was.
TEST(Journal, BeginsWithTheNewestSnapshotThatIsSound) {
  const std::string path = killed("snapshots", 8);
  const std::string before = contents(copy_of(path, "snapshots-copy"));
  for (int damaged = 1; damaged <= 2; ++damaged) {
    const std::string copy = copy_of(path, "snapshots-copy");
    const std::vector<std::string> files = snapshots_of(copy);
    ASSERT_EQ(files.size(), 2u);
    fs::remove(files.front());
    if (damaged == 2) fs::resize_file(files.back(), fs::file_size(files.back()) - 1);
    EXPECT_EQ(contents(copy), before);
  }
  // It is what it says: the core then, and not another one.
  std::string copy = copy_of(path, "snapshots-copy");
  const Recovered recovered = recover_core(Journal(copy), fs::path(copy).parent_path());
  EXPECT_EQ(save(recovered.core.state()), save(folded_of(Journal(copy)).state()));

  // What the journal does not know of goes; two are kept.
  const fs::path folder = fs::path(copy).parent_path();
  std::ofstream(folder / "snapshot-77.tmp") << "half";
  std::ofstream(folder / "snapshot-77.123.tmp") << "half";
  std::ofstream(folder / "snapshot-78") << "nobody's";
  Both live(copy);
  live.core = recovered.core;
  Snapshots snapshots(live.journal, folder);
  EXPECT_TRUE(fs::exists(folder / "snapshot-78"));  // the start may still be refused
  const char* const kTheirs[] = {"snapshot-before-upgrade.tar", "snapshot-", "snapshot-77.tar",
                                 "snapshot-7.tmp.tmp"};
  for (const char* theirs : kTheirs) std::ofstream(folder / theirs) << "somebody's";
  snapshots.clean_up();
  for (const char* theirs : kTheirs) {
    EXPECT_TRUE(fs::exists(folder / theirs)) << theirs;
    fs::remove(folder / theirs);
  }
  EXPECT_EQ(snapshots_of(copy).size(), 2u);
  const std::string oldest = snapshots_of(copy).back();
  live.instant(at(100), {malleable()});
  snapshots.make(live.core, {.requests = 3, .raised = {{JobId{2}, 4}}});
  EXPECT_EQ(snapshots_of(copy).size(), 2u);
  EXPECT_FALSE(fs::exists(oldest));
  snapshots.make(live.core, {});  // nothing was recorded since
  EXPECT_EQ(live.journal.snapshots().front().record, live.journal.last_record());
  const EventCounts counts = recover_core(live.journal, folder).counts;
  EXPECT_EQ(counts.requests, 3u);
  EXPECT_EQ(counts.raised, (std::map<JobId, std::uint32_t>{{JobId{2}, 4}}));
}

// One that is sound, but of another version or not to be read, and a row that is damaged, are
// passed over; that a version is not known is said if nothing else is left.
TEST(Journal, PassesOverWhatItCannotUse) {
  const std::string path = killed("passed-over", 8);
  const std::string before = contents(copy_of(path, "passed-over-copy"));
  const auto newest_is = [](const std::string& copy, const std::string& text) {
    Journal journal(copy);
    Snapshot snapshot = journal.snapshots().front();
    std::ofstream(snapshots_of(copy).front()) << text;
    snapshot.bytes = text.size();
    snapshot.sum = Checksum().add(text).text();
    journal.add(snapshot);
  };
  const auto recovers = [](const std::string& copy) {
    const Journal journal(copy);
    return recover_core(journal, fs::path(copy).parent_path());
  };
  for (const char* text : {"ductile-snapshot 2\n", "ductile-snapshot 1\nbelieves 7\n\n",
                           "ductile-snapshot 1\nrequests 0\n\nnothing\n"}) {
    const std::string copy = copy_of(path, "passed-over-copy");
    newest_is(copy, text);
    EXPECT_EQ(recovers(copy).useless.size(), 1u) << text;
    EXPECT_EQ(contents(copy), before) << text;
  }
  {
    const std::string copy = copy_of(path, "passed-over-copy");
    {
      Both live(copy);
      const std::string folder = fs::path(copy).parent_path();
      live.core = recover_core(live.journal, folder).core;
      Snapshots(live.journal, folder).make(live.core, {});
      live.journal.begin();
      live.journal.write_meaning(kSemantics + 1, "9.9");
      live.journal.commit();
    }
    EXPECT_TRUE(recovers(copy).useless.empty());
    newest_is(copy, "ductile-snapshot 1\nbelieves 7\n\n");
    try {
      recovers(copy);
      ADD_FAILURE() << "nothing can be folded";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("'believes' is no line of this version"),
                std::string::npos)
          << error.what();
    }
  }
  {
    const std::string copy = copy_of(path, "passed-over-copy");
    execute(copy, "PRAGMA wal_checkpoint(TRUNCATE)");
    const std::string sum = Journal(copy).snapshots().front().sum;
    std::string bytes = bytes_of(copy);
    ASSERT_NE(bytes.find(sum), std::string::npos);
    bytes.replace(bytes.find(sum), sum.size(), std::string(sum.size(), 'x'));
    std::ofstream(copy, std::ios::binary) << bytes;
    Journal journal(copy);
    ASSERT_EQ(journal.damaged_snapshots().size(), 1u);
    const Recovered recovered = recover_core(journal, fs::path(copy).parent_path());
    EXPECT_EQ(recovered.useless.size(), 1u);
    journal.go_on(recovered.useless);
    EXPECT_TRUE(journal.damaged_snapshots().empty());
    EXPECT_EQ(contents(copy), before);
  }
  {
    // It is no file, and cannot be read; it is kept.
    const std::string copy = copy_of(path, "passed-over-copy");
    const std::string newest = snapshots_of(copy).front();
    fs::remove(newest);
    fs::create_directory(newest);
    EXPECT_TRUE(recovers(copy).useless.empty());
    EXPECT_EQ(contents(copy), before);
    fs::remove(newest);
  }
}

// A job is explained whatever policies there were; what cannot be read is said with its record.
TEST(Journal, IsLookedUpWithoutThePoliciesItNames) {
  const std::string path = fresh("policies");
  Both live(path);
  live.instant(at(1), {malleable()});
  live.instant(at(2), {event::ConfigChanged{{.settings = "gone:depth=3"}}});
  const auto clock = [](Time) { return std::string("then"); };
  const std::string told = to_json(look_up(live.journal, 1, clock).explanation());
  EXPECT_NE(told.find("the policy is now gone:depth=3"), std::string::npos) << told;
  EXPECT_EQ(folded_of(live.journal).traits().settings, "gone:depth=3");
  live.journal.begin();
  live.journal.event(at(3), event::Believed{JobId{0}, -5, 0, 0}, true, live.numbers);
  live.journal.commit();
  try {
    look_up(live.journal, 1, clock);
    ADD_FAILURE() << "nothing takes so little";
  } catch (const InputError& error) {
    const std::string place =
        fmt::format("{}:{}: watts per node: ", path, live.journal.last_record());
    EXPECT_TRUE(std::string(error.what()).starts_with(place)) << error.what();
  }
}

// Records that mean another thing are not folded; without any after a snapshot it is gone on with.
TEST(Journal, DoesNotFoldWhatMeansAnotherThing) {
  const std::string path = fresh("meaning");
  const fs::path folder = fs::path(path).parent_path();
  const auto recovers = [&] {
    try {
      Journal journal(path);
      const Recovered recovered = recover_core(journal, folder);
      journal.go_on(recovered.useless);
      return std::to_string(recovered.core.state().jobs.size());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  const auto other_meaning = [&](Journal& journal) {
    journal.begin();
    journal.write_meaning(kSemantics + 1, "9.9");
    journal.commit();
  };
  {
    Both live(path);
    live.instant(at(1), {malleable()});
    other_meaning(live.journal);
  }
  const std::string said = recovers();
  EXPECT_NE(said.find("written by ductile 9.9"), std::string::npos) << said;
  EXPECT_NE(said.find("run `ductile serve --settle` of ductile 9.9 once"), std::string::npos);
  {
    Both live(path);  // as that version would
    live.core = folded_of(live.journal);
    Snapshots(live.journal, folder).make(live.core, {});
  }
  EXPECT_EQ(recovers(), "1");
  {
    Both live(path);
    live.core = recover_core(live.journal, folder).core;
    live.instant(at(2), {malleable()});
  }
  EXPECT_EQ(recovers(), "2");
  fs::remove(snapshots_of(path).front());
  EXPECT_NE(recovers().find("another thing"), std::string::npos);
}

// Another one's mark, none, and one whose journal is gone; a mark of which one half is damaged is
// none the worse.
TEST(Journal, BelongsToItsMark) {
  const std::string path = killed("marked", 3), other = killed("other", 3);
  const auto mark = [](const std::string& journal) {
    return fs::path(journal).replace_extension("mark");
  };
  const auto why = [](const std::string& journal) {
    return testing::complaint([&] { const Journal opened(journal); });
  };
  const auto says = [&](const std::string& journal, const char* what) {
    const std::string said = why(journal);
    return said.find(what) != std::string::npos &&
           said.find("ductile serve --restored") != std::string::npos;
  };
  EXPECT_EQ(why(copy_of(path, "marked-copy")), "");

  std::string copy = copy_of(path, "marked-copy");
  fs::remove(mark(copy));
  EXPECT_TRUE(says(copy, "journal.mark, is missing or damaged"));
  copy = copy_of(path, "marked-copy");
  fs::copy_file(mark(other), mark(copy), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(says(copy, "journal.mark is the mark of another journal"));
  copy = copy_of(path, "marked-copy");
  fs::remove(copy);
  fs::remove(copy + "-wal");
  EXPECT_TRUE(says(copy, "the journal is gone or empty"));
  EXPECT_FALSE(fs::exists(copy));
  std::ofstream(copy).close();
  EXPECT_TRUE(says(copy, "the journal is gone or empty"));

  copy = copy_of(path, "marked-copy");
  std::fstream slots(mark(copy), std::ios::in | std::ios::out | std::ios::binary);
  slots.put('x');
  slots.close();
  EXPECT_EQ(why(copy), "");

  // Put back as it is, it is another one from then on.
  copy = copy_of(path, "marked-copy");
  fs::remove(mark(copy));
  { const Journal refused(copy, Journal::Use::restore); }  // for another reason
  EXPECT_TRUE(says(copy, "journal.mark, is missing"));
  const std::string id = Journal(path).id();
  {
    Journal restored(copy, Journal::Use::restore);
    EXPECT_EQ(restored.id(), id);
    restored.go_on_restored();
    EXPECT_NE(restored.id(), id);
    EXPECT_EQ(restored.former_ids(), std::vector{id});
  }
  EXPECT_EQ(why(copy), "");
  fs::copy_file(mark(path), mark(copy), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(says(copy, "journal.mark is the mark of another journal"));
}

TEST(Journal, KeepsWhatIsChanged) {
  const std::string path = fresh("changed");
  {
    Journal journal(path);
    journal.begin();
    journal.submitted({.id = JobId{0}, .number = 5, .name = "a", .account = "one", .array = 5},
                      "1");
    journal.submitted({.id = JobId{1}, .number = 6, .name = "a", .account = "one", .array = 5}, "");
    EXPECT_EQ(journal.changing(), std::pair(std::uint64_t{0}, Change::some));
    journal.altered(5, "b", "two", "2");
    journal.changing(5, Change::released);
    journal.write_untold({5, 77});
    journal.commit();
  }
  Journal journal(path);
  EXPECT_EQ(journal.job(6)->name, "b");
  EXPECT_EQ(journal.job(6)->account, "two");
  EXPECT_EQ(journal.submission(6), "2");
  EXPECT_EQ(journal.changing(), std::pair(std::uint64_t{5}, Change::released));
  EXPECT_EQ(journal.untold(), (std::set<std::uint64_t>{5, 77}));
  journal.begin();
  journal.changing(6, Change::some);
  EXPECT_EQ(journal.changing(), std::pair(std::uint64_t{6}, Change::some));
  journal.is_changed();
  journal.write_untold({});
  journal.commit();
  EXPECT_EQ(journal.changing().first, 0u);
  EXPECT_TRUE(journal.untold().empty());
}

TEST(Journal, KeepsJobs) {
  Journal journal(fresh("jobs"));
  JobRow row{.id = JobId{0},
             .number = 1,
             .owner = {7, 8},
             .name = "a name",
             .type = "rigid",
             .submitted = at(1),
             .held = Hold::admin};
  journal.begin();
  journal.submitted(row, "{\"name\": \"a name\"}");
  journal.submitted({.id = JobId{1}, .number = 2, .array = 2, .task = 5, .submitted = at(2)}, "{}");
  journal.submitted({.id = JobId{2}, .number = 3, .array = 2, .task = 7, .submitted = at(2)}, "");
  row.held = Hold::none;
  row.ending = "cancelled";
  row.restarts = 2;
  row.started = at(3);
  journal.changed(row);
  journal.account(3, "physics");
  journal.account(2, "math");
  journal.held(1, at(3), 2);
  journal.held(1, at(5), 4);
  journal.held(1, at(6), 0);
  EXPECT_EQ(journal.job(1)->ending, "cancelled");
  row.ended = at(6);
  row.state = "failed";
  row.exit_code = 3;
  row.note = "why";
  journal.ended(row);
  journal.commit();

  EXPECT_EQ(journal.accounts(), (std::vector<std::string>{"math", "physics"}));
  EXPECT_EQ(journal.living(JobId{1}, 2).array, 2u);
  EXPECT_THROW(journal.living(JobId{0}, 1), InputError);
  EXPECT_THROW(journal.living(JobId{3}, 4), InputError);
  EXPECT_THROW(journal.living(JobId{2}, 2), InputError);
  EXPECT_EQ(journal.end_of_array(2), 3u);
  EXPECT_EQ(journal.submission(1), "{\"name\": \"a name\"}");
  EXPECT_EQ(journal.submission(3), "{}");
  EXPECT_EQ(journal.submission(9), "");
  const auto found = journal.job(1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner.user, 7u);
  EXPECT_EQ(found->owner.group, 8u);
  EXPECT_EQ(found->name, "a name");
  EXPECT_EQ(found->array, 0u);
  EXPECT_EQ(found->held, Hold::none);
  EXPECT_EQ(found->restarts, 2u);
  EXPECT_EQ(found->started, at(3));
  EXPECT_EQ(found->ended, at(6));
  EXPECT_EQ(found->exit_code, 3);
  EXPECT_EQ(found->note, "why");
  EXPECT_EQ(found->node_us, (2 * 2 + 1 * 4) * 1'000'000);
  EXPECT_FALSE(journal.job(4));
  EXPECT_EQ(journal.has_failed(1), true);
  EXPECT_EQ(journal.has_failed(2), std::nullopt);

  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(numbers(journal, {.end = 3}), (Numbers{3, 2, 1}));
  EXPECT_EQ(numbers(journal, {.from = 1, .end = 3, .is_newest_first = false}), (Numbers{2, 3}));
  EXPECT_EQ(numbers(journal, {.end = 3, .most = 2}), (Numbers{3, 2}));
  EXPECT_EQ(numbers(journal, {.end = 3, .user = 7}), (Numbers{1}));
  EXPECT_EQ(numbers(journal, {.end = 3, .since = at(6)}), (Numbers{3, 2, 1}));
  EXPECT_EQ(numbers(journal, {.end = 3, .since = at(7)}), (Numbers{3, 2}));
  EXPECT_EQ(numbers(journal, {}), Numbers{});
}

/// A member more needs a value in the test below.
auto all_of(const JobRow& row) {
  const auto& [id, number, owner, name, type, account, array, task, submitted, held, ending,
               restarts, losses, started, ended, state, exit_code, note, reason, lost_output,
               node_us, sizes] = row;
  return std::make_tuple(id, number, owner.user, owner.group, name, type, account, array, task,
                         submitted, held, ending, restarts, losses, started, ended, state,
                         exit_code, note, reason, lost_output, node_us, sizes);
}

TEST(Journal, KeepsAllOfAJob) {
  Journal journal(fresh("all-of-a-job"));
  JobRow row{.id = JobId{3},
             .number = 5,
             .owner = {7, 8},
             .name = "a name",
             .type = "evolving",
             .account = "physics",
             .array = 4,
             .task = 6,
             .submitted = at(1),
             .held = Hold::user,
             .ending = "requeued",
             .restarts = 2,
             .losses = 1};
  journal.begin();
  journal.submitted(row, "{}");
  EXPECT_EQ(all_of(*journal.job(5)), all_of(row));
  row.held = Hold::admin;
  row.ending = "timeout";
  row.restarts = 4;
  row.losses = 3;
  row.started = at(2);
  journal.changed(row);
  row.ended = at(4);
  row.state = "timeout";
  row.exit_code = 9;
  row.note = "a note";
  row.reason = "TimeLimit";
  row.lost_output = 10;
  journal.ended(row);
  journal.held(5, at(2), 3);
  journal.held(5, at(4), 0);
  journal.commit();
  row.sizes = {{at(2), 3}, {at(4), 0}};
  row.node_us = std::int64_t{2} * 3 * 1'000'000;
  EXPECT_EQ(all_of(*journal.job(5)), all_of(row));
}

TEST(Journal, ReadsManyJobsInParts) {
  Journal journal(fresh("many"));
  journal.begin();
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    journal.submitted(
        {.id = JobId(number - 1), .number = number, .owner = {number % 2 == 0 ? 7U : 8U, 1}}, "{}");
  }
  journal.commit();
  for (const bool is_newest_first : {true, false}) {
    JobFilter filter{.from = 4, .end = 997, .is_newest_first = is_newest_first, .most = 300};
    filter.user = 7;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < 300; ++i)
      expected.push_back(is_newest_first ? 996 - 2 * i : 6 + 2 * i);
    EXPECT_EQ(numbers(journal, filter), expected);
  }
}

// The world's numbers have gaps, and lower ones come later; history is in the order of arrival.
TEST(Journal, NumbersAreAnyNumbers) {
  const std::string path = fresh("gaps");
  constexpr std::uint64_t kHigh = std::uint64_t{1} << 61;
  {
    Journal journal(path);
    journal.begin();
    std::uint32_t next = 0;
    for (const std::uint64_t number : {std::uint64_t{500}, kHigh, std::uint64_t{40}}) {
      journal.submitted({.id = JobId(next++), .number = number, .name = "job"}, "{}");
    }
    journal.commit();
  }
  const Journal journal(path);
  EXPECT_EQ(numbers(journal, {.end = 3}), (std::vector<std::uint64_t>{40, kHigh, 500}));
  EXPECT_EQ(journal.job_of_id(JobId{1})->number, kHigh);
  EXPECT_EQ(journal.job(40)->id, JobId{2});
  EXPECT_FALSE(journal.job_of_id(JobId{3}));
  EXPECT_EQ(journal.highest_number(), kHigh);
  EXPECT_TRUE(journal.knows(500) && journal.knows(39, 41));
  EXPECT_FALSE(journal.knows(41, 500));
  EXPECT_FALSE(journal.knows(501));
  EXPECT_TRUE(check_journal(path).damages.empty());
}

TEST(Journal, NoTwoJobsAreOneInTheCore) {
  Journal journal(fresh("twins"));
  journal.begin();
  journal.submitted({.id = JobId{0}, .number = 7}, "{}");
  EXPECT_THROW(journal.submitted({.id = JobId{0}, .number = 8}, "{}"), RunError);
}

TEST(Journal, IsReadWithoutBeingMade) {
  const std::string path = fresh("absent");
  EXPECT_THROW(log_of_journal(path), InputError);
  EXPECT_FALSE(fs::exists(path));
  fs::create_directories(path);
  EXPECT_THROW(log_of_journal(path), InputError);
}

TEST(Journal, SaysWhatIsDamaged) {
  const auto damaged = [](const std::string& path, const char* sql) {
    execute(path, sql);
    return testing::complaint([&] { const Journal journal(path); });
  };
  const std::string path = fresh("damaged");
  {
    Both live(path);
    for (int i = 1; i < 50; ++i) live.instant(at(i), {malleable()});
  }
  EXPECT_EQ(damaged(path, "SELECT 1"), "");
  // Its end is gone, as when a disk was full and somebody copied it.
  const std::string shorter = fresh("shorter");
  fs::copy_file(path, shorter);
  fs::resize_file(shorter, fs::file_size(path) - 4096);
  EXPECT_NE(damaged(shorter, "SELECT 1").find("the journal is damaged: "), std::string::npos);
  EXPECT_NE(damaged(path, "DELETE FROM records WHERE number = 7").find("records are missing"),
            std::string::npos);
}

TEST(Journal, RefusesWhatIsNone) {
  const std::string path = fresh("none");
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_THROW(Journal{path}, InputError);
  EXPECT_FALSE(is_journal(path));
  EXPECT_THROW(Journal(fresh("empty") + "/no/such/folder"), RunError);
}

/// An instant that is open when the controller ends: its world was out of reach.
TEST(Journal, SettlesWhatWasNotClosed) {
  const std::string path = fresh("open-instant"), folder = fs::path(path).parent_path();
  {
    Both live(path);
    live.journal.begin();
    live.journal.submitted(
        {.id = JobId{0}, .number = 1, .name = "a", .type = "malleable", .submitted = at(1)}, "{}");
    live.journal.submitted(
        {.id = JobId{1}, .number = 2, .name = "b", .type = "rigid", .submitted = at(2)}, "{}");
    live.journal.commit();
    const auto starts = live.instant(at(1), {malleable()});
    live.instant(at(2), {event::Started{starts[0].job, starts[0].id, starts[0].after, {}}});
    // It gives back nodes that nobody asked for, and a job comes that can never run.
    Holding less = starts[0].after;
    less.nodes.take_highest(1);
    --less.count;
    live.journal.begin();
    const event::Resized resized{starts[0].job, DecisionId::none, less, at(3)};
    live.journal.event(at(3), resized, live.core.apply(at(3), resized), live.numbers);
    const event::Submitted large{
        {.name = 2, .walltime = whole_seconds(1), .size = {9, 9}, .preferred = 9}, {}};
    live.journal.event(at(3), large, live.core.apply(at(3), large), live.numbers);
    live.journal.commit();
    ASSERT_TRUE(live.core.state().must_wake);
    EXPECT_THROW(save(live.core.state()), std::logic_error);
  }
  settle(folder);
  const Journal journal(path);
  EXPECT_TRUE(journal.must_ask()) << "the policy has not seen what is idle";
  ASSERT_EQ(journal.snapshots().size(), 1u);
  EXPECT_EQ(journal.snapshots().front().record, journal.last_record());
  EXPECT_EQ(journal.job(2)->state, "cancelled");
  EXPECT_EQ(journal.job(2)->note, kCanNeverRun);
  EXPECT_EQ(journal.job(1)->state, "");
  EXPECT_EQ(save(recover_core(journal, folder).core.state()), save(folded_of(journal).state()));
  settle(folder);  // nothing is left to do
}

// A policy that the world of a journal cannot serve: what is wrong is said with its file.
TEST(Journal, NamesTheFileWhoseWorldLacksWhatItsPolicyNeeds) {
  const std::string path = fresh("lacks"), folder = fs::path(path).parent_path();
  Both live(path);
  live.instant(at(1), {malleable()});
  Snapshots(live.journal, folder).make(live.core, {});
  State state = live.core.state();
  state.capabilities.resizes_per_job = 0;
  state.traits.needs.resizes_per_job = 2;
  const std::string file = snapshots_of(path).front();
  const std::string text = "ductile-snapshot 1\nrequests 0\n\n" + save(state);
  std::ofstream(file) << text;
  Snapshot snapshot = live.journal.snapshots().front();
  snapshot.bytes = text.size();
  snapshot.sum = Checksum().add(text).text();
  live.journal.add(snapshot);
  // What the records would give has another meaning, so that nothing else is left.
  live.journal.begin();
  live.journal.write_meaning(kSemantics + 1, "9.9");
  live.journal.commit();
  std::string said = testing::complaint([&] { recover_core(live.journal, folder); });
  EXPECT_TRUE(said.starts_with(file + ": its world lacks resizes: 0 of a job, not 2, which the "
                                      "policy equipartition needs"))
      << said;

  const std::string other = fresh("first-lacks");
  Journal journal(other);
  // No core is made of such a state.
  Core needy = live.core;
  auto& its = const_cast<State&>(needy.state());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  its.capabilities = state.capabilities;
  its.traits = state.traits;
  journal.write_head(needy);
  said = testing::complaint([&] { journal.first_core(); });
  EXPECT_TRUE(said.starts_with(other)) << said;
  EXPECT_NE(
      said.find("the world of the journal lacks resizes: 0 of a job, not 2, which the policy"),
      std::string::npos)
      << said;
}

TEST(Journal, RefusesRecordsItCannotRead) {
  const std::string path = fresh("altered");
  Both live(path);
  live.instant(at(1), {malleable()});
  live.journal.begin();
  live.journal.event(at(2), event::TimerFired{}, true, live.numbers);  // no timer was set
  live.journal.commit();
  EXPECT_THROW(folded_of(live.journal), InputError);
}

}  // namespace
}  // namespace ductile
