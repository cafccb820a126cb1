#include "live/snapshots.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/socket.hpp"
#include "live/crash.hpp"
#include "live/state_lock.hpp"
#include "scheduling/snapshot.hpp"
#include "simulation/checksum.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSnapshotBegins = "ductile-snapshot 1";
constexpr std::string_view kName = "snapshot-";

/// Records from one to the next. Tests have them more often.
std::uint64_t every() {
  const char* const given = std::getenv("DUCTILE_SNAPSHOT_EVERY");
  const auto number = parse_number<std::uint64_t>(given == nullptr ? "" : given);
  return std::max<std::uint64_t>(number.value_or(20'000), 1);
}
/// Records from one that failed to the next try.
constexpr std::uint64_t kUntilNextTry = 1000;

std::string sum_of(std::string_view text) { return Checksum().add(text).text(); }

[[noreturn]] void fail(const std::string& path) {
  throw RunError(fmt::format("{}: {}", path, std::strerror(errno)));
}

/// A name that this program gives: "snapshot-N", or "snapshot-N.PID.tmp" (once "snapshot-N.tmp")
/// while it is written. Whatever else is in the folder is somebody's.
bool is_ours(std::string_view name) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!name.starts_with(kName)) return false;
  name.remove_prefix(kName.size());
  if (!is_number(next_part(name, '.'))) return false;
  if (name.empty() || name == "tmp") return true;
  return is_number(next_part(name, '.')) && name == "tmp";
}

void sync_and_rename(const std::string& text, const std::string& temporary,
                     const std::string& folder, const std::string& name, Moment moment) {
  const std::string path = folder + '/' + name;
  {
    const Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) fail(temporary);
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t written = write(file.get(), rest.data(), rest.size());
      if (written < 0 && errno != EINTR) fail(temporary);
      if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (fsync(file.get()) != 0) fail(temporary);
  }
  crash_point(moment);
  if (rename(temporary.c_str(), path.c_str()) != 0) fail(path);
  const Descriptor here(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!here || fsync(here.get()) != 0) fail(folder);
}

/// Only reads memory, allocates and writes: a child of a process with threads calls it.
Snapshot write_snapshot(const Core& core, const EventCounts& counts, std::uint64_t record,
                        const std::string& folder, Moment moment) {
  std::string text = fmt::format("{}\nrequests {}\n", kSnapshotBegins, counts.requests);
  for (const auto& [id, times] : counts.raised) {
    text += fmt::format("raised {} {}\n", index(id), times);
  }
  text += '\n';
  save(core.state(), text);
  Snapshot snapshot{.record = record, .file = fmt::format("{}{}", kName, record)};
  snapshot.bytes = text.size();
  snapshot.sum = sum_of(text);
  // The controller may write the same one at its end, while its child does.
  const std::string temporary = fmt::format("{}/{}.{}.tmp", folder, snapshot.file, getpid());
  try {
    sync_and_rename(text, temporary, folder, snapshot.file, moment);
  } catch (const RunError&) {
    unlink(temporary.c_str());
    throw;
  }
  return snapshot;
}

/// What is in the file of a snapshot; else what is wrong with it, or why it could not be read,
/// which says nothing of the file.
struct ReadFile {
  std::string text{};
  std::string damage{};
  std::string trouble{};
};
ReadFile read_file(const Snapshot& snapshot, const std::string& folder) {
  ReadFile read;
  const auto cannot = [&] {
    if (errno == ENOENT) {
      read.damage = "it is missing";
    } else {
      read.trouble = fmt::format("it cannot be read: {}", std::strerror(errno));
    }
    return read;
  };
  const Descriptor file(open((folder + '/' + snapshot.file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot();
  std::vector<char> buffer(std::size_t{1} << 16);
  while (true) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size == 0) break;
    if (size < 0 && errno != EINTR) return cannot();
    if (size > 0) read.text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  if (read.text.size() != snapshot.bytes) {
    read.damage = fmt::format("it has {} bytes, {} were written", read.text.size(), snapshot.bytes);
  } else if (sum_of(read.text) != snapshot.sum) {
    read.damage = "it is not as it was written";
  }
  return read;
}

Recovered read_snapshot(const std::string& text, const std::string& path) {
  EventCounts counts;
  std::string_view rest = text;
  if (next_part(rest, '\n') != kSnapshotBegins) {
    throw InputError({path, 1}, "it is no snapshot of this version",
                     "go on with the version that wrote it");
  }
  for (std::string_view line = next_part(rest, '\n'); !line.empty(); line = next_part(rest, '\n')) {
    const std::string_view word = next_part(line, ' ');
    const auto first = parse_number<std::uint32_t>(next_part(line, ' '));
    const auto second = parse_number<std::uint32_t>(line);
    if (word == "requests" && first) {
      counts.requests = *first;
    } else if (word == "raised" && first && second) {
      counts.raised[JobId{*first}] = *second;
    } else {
      throw InputError({path}, fmt::format("'{}' is no line of this version", word),
                       "go on with the version that wrote it");
    }
  }
  State state = load(rest, path);
  if (const std::string what = lacking(state.capabilities, state.traits.needs); !what.empty()) {
    throw InputError(
        {path},
        fmt::format("its world lacks {}, which the policy {} needs", what, state.traits.settings),
        "go on with the version that wrote it");
  }
  state.rules.record = true;
  return {.core = Core(std::move(state)), .counts = std::move(counts)};
}

}  // namespace

void EventCounts::heard(const Event& event) {
  if (const auto* asked = std::get_if<event::EvolvingRequested>(&event)) {
    requests = std::max(requests, index(asked->id) + 1);
  } else if (const auto* believed = std::get_if<event::Believed>(&event)) {
    if (believed->walltime > Duration{}) ++raised[believed->job];
  } else if (const auto* altered = std::get_if<event::Altered>(&event)) {
    raised.erase(altered->job);
  } else if (const auto* ended = std::get_if<event::Ended>(&event)) {
    if (!ended->requeue) raised.erase(ended->job);
  }
}

std::string damage_of(const Snapshot& snapshot, const std::string& folder) {
  const ReadFile read = read_file(snapshot, folder);
  return read.damage + read.trouble;
}

Recovered recover_core(const Journal& journal, const std::string& folder) {
  std::optional<Recovered> recovered;
  std::vector<Snapshot> useless = journal.damaged_snapshots();
  for (const Snapshot& snapshot : useless) {
    spdlog::warn("the journal's row of the snapshot {} is not as it was written; another is used",
                 snapshot.record);
  }
  std::exception_ptr refused;  // the first that is sound, but of another version
  std::uint64_t record = 0;
  std::string begins_with = "no snapshot";
  for (const Snapshot& snapshot : journal.snapshots()) {
    const std::string path = folder + '/' + snapshot.file;
    const ReadFile read = read_file(snapshot, folder);
    std::string why = read.damage + read.trouble;
    if (why.empty() && !journal.can_fold_from(snapshot.record)) {
      why = "what comes after it has another meaning";
    }
    if (why.empty()) {
      try {
        recovered = read_snapshot(read.text, path);
        record = snapshot.record;
        begins_with = snapshot.file;
        break;
      } catch (const std::exception& error) {
        why = error.what();
        if (!refused) refused = std::current_exception();
      }
    }
    spdlog::warn("{}: {}; an older one is used, or all records", path, why);
    if (read.trouble.empty()) useless.push_back(snapshot);
  }
  std::uint64_t folded = 0;
  try {
    journal.refuse_to_fold_from(record);
    if (!recovered) recovered.emplace(Recovered{.core = journal.first_core()});
    folded = journal.fold(recovered->core, record,
                          [&](const Event& event) { recovered->counts.heard(event); });
  } catch (const InputError&) {
    if (refused) std::rethrow_exception(refused);
    throw;
  }
  recovered->useless = std::move(useless);
  spdlog::info("begins with {} and {} records", begins_with, folded);
  return std::move(*recovered);
}

Snapshots::Snapshots(Journal& journal, std::string folder)
    : journal_(journal), folder_(std::move(folder)) {
  const std::vector<Snapshot> known = journal_.snapshots();
  next_ = (known.empty() ? 0 : known.front().record) + every();
}

void Snapshots::clean_up() const {
  const std::vector<Snapshot> known = journal_.snapshots();
  std::vector<fs::path> unknown;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename();
    if (is_ours(name) && std::ranges::find(known, name, &Snapshot::file) == known.end()) {
      unknown.push_back(entry.path());
    }
  }
  for (const fs::path& path : unknown) unlink(path.c_str());
}

void Snapshots::look(const Core& core, const EventCounts& counts, BackgroundQueries& queries) {
  if (is_under_way_ || journal_.last_record() < next_) return;
  crash_point(Moment::snapshot);
  is_under_way_ = queries.add(
      geteuid(),
      // What was recorded by the time at which the child is made, as the core is.
      [this, &core, &counts] {
        try {
          const Snapshot done = write_snapshot(core, counts, journal_.last_record(), folder_,
                                               Moment::child_of_snapshot);
          crash_point(Moment::child_of_snapshot);
          BackgroundQueries::answer(
              fmt::format("{} {} {} {}", done.record, done.file, done.bytes, done.sum));
        } catch (const std::exception& error) {
          BackgroundQueries::answer(fmt::format("failed {}", error.what()));
        }
      },
      [this](const std::optional<std::string>& answer) {
        is_under_way_ = false;
        const std::string said = answer.value_or("failed");
        std::string_view rest = said;
        const std::string_view first = next_part(rest, ' ');
        const auto record = parse_number<std::uint64_t>(first);
        if (!record)
          return failed(rest.empty() ? "its process took too long or was lost" : std::string(rest));
        Snapshot snapshot{.record = *record};
        snapshot.file = next_part(rest, ' ');
        snapshot.bytes = parse_number<std::uint64_t>(next_part(rest, ' ')).value_or(0);
        snapshot.sum = rest;
        written(snapshot);
      });
}

void Snapshots::make(const Core& core, const EventCounts& counts) {
  const std::vector<Snapshot> known = journal_.snapshots();
  const std::uint64_t record = journal_.last_record();
  if (record == 0 || (!known.empty() && known.front().record == record)) return;
  crash_point(Moment::snapshot);
  try {
    written(write_snapshot(core, counts, record, folder_, Moment::snapshot));
  } catch (const RunError& error) {
    failed(error.what());
  }
}

void Snapshots::written(const Snapshot& snapshot) {
  crash_point(Moment::snapshot);
  const std::vector<Snapshot> old = journal_.add(snapshot);
  crash_point(Moment::snapshot);
  for (const Snapshot& gone : old) unlink((folder_ + '/' + gone.file).c_str());
  next_ = snapshot.record + every();
}

void Snapshots::failed(const std::string& why) {
  spdlog::warn("a snapshot could not be written, the next one is tried {} records later: {}",
               kUntilNextTry, why);
  next_ = journal_.last_record() + kUntilNextTry;
  clean_up();  // what its process left
}

namespace {

/// The world was out of reach when the controller ended: what happened since then was not closed,
/// and no snapshot can be made. It is closed without the policy, which the next controller asks.
void close_open_instant(Core& core, Journal& journal) {
  const State& state = core.state();
  if (!state.must_wake && (state.handed_out || state.decisions.empty())) return;
  const Time now = state.now;
  journal.begin();
  const auto decisions = follow(core, now, false, {});
  journal.close(now, core, decisions, {});
  journal.end_rejected(decisions, now);
  journal.write_must_ask(true);
  journal.commit();
  spdlog::info("what happened while the cluster was out of reach was closed without a decision");
}

}  // namespace

void settle(const std::string& folder) {
  if (!fs::exists(folder + "/journal.db")) {
    throw InputError({folder}, "there is no journal", "give the --state folder of a controller");
  }
  const Descriptor lock = lock_state(folder);
  Journal journal(folder + "/journal.db");
  if (journal.is_new()) return;
  Recovered recovered = recover_core(journal, folder);
  journal.go_on(recovered.useless);
  close_open_instant(recovered.core, journal);
  Snapshots snapshots(journal, folder);
  snapshots.clean_up();
  snapshots.make(recovered.core, recovered.counts);
  const std::vector<Snapshot> made = journal.snapshots();
  if (made.empty() || made.front().record != journal.last_record()) {
    throw RunError("no snapshot could be made");
  }
  spdlog::info("all {} records are in {}", journal.last_record(), made.front().file);
}

}  // namespace ductile
