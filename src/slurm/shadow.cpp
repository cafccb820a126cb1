#include "slurm/shadow.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "live/state_lock.hpp"
#include "slurm/end_signals.hpp"
#include "slurm/submitted.hpp"

namespace ductile {
namespace {

constexpr std::chrono::milliseconds kLookEvery(1000);
constexpr std::uint64_t kLooksAtMachine = 30;  // it is learned anew after so many

std::int64_t in_seconds(Time time) { return time.time_since_epoch() / whole_seconds(1); }

std::string_view state_word(const SlurmJob& job) {
  if (job.state == SlurmJob::State::pending) return "PENDING";
  if (job.state != SlurmJob::State::over) return "RUNNING";
  switch (job.end) {
    case EndState::completed:
      return "COMPLETED";
    case EndState::cancelled:
      return "CANCELLED";
    case EndState::timeout:
      return "TIMEOUT";
    case EndState::node_fail:
      return "NODE_FAIL";
    default:
      return "FAILED";
  }
}

/// A bar or a line end would break the table.
std::string cell(std::string text) {
  for (char& c : text) c = c == '|' || static_cast<unsigned char>(c) < ' ' ? '_' : c;
  return text;
}

std::string when(Time time, bool is_known) {
  return is_known && time != Time{} ? std::to_string(in_seconds(time)) : "Unknown";
}

std::string line_of_record(const SlurmJob& job, const std::string& said) {
  const bool is_over = job.state == SlurmJob::State::over;
  const bool has_begun = job.state != SlurmJob::State::pending;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}\n", job.number, job.owner.user,
                     job.owner.group, cell(job.account), cell(job.partition), cell(job.qos),
                     state_word(job), in_seconds(job.submitted), when(job.eligible, true),
                     when(job.started, has_begun), when(job.ended, is_over),
                     job.limit == Duration{} ? "" : std::to_string(job.limit / whole_seconds(60)),
                     job.least, cell(said));
}

}  // namespace

ShadowRecord::ShadowRecord(Slurm& slurm, std::string partition, const std::string& folder)
    : slurm_(slurm), partition_(std::move(partition)), names_(folder + kShadowNodes) {
  read(folder + kShadowJobs);
  learn_machine();
  if (!facts_.is_exclusive) {
    throw InputError({.field = "--partition"},
                     fmt::format("partition '{}' packs jobs by cores, and what they would have "
                                 "gained by whole nodes is not known",
                                 partition_),
                     "name one with OverSubscribe=EXCLUSIVE");
  }
}

void ShadowRecord::read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  const std::string first = std::string(kShadowColumns) + "\n";
  // The first line may have been cut off as well.
  const bool is_new = first.starts_with(text) && text.size() < first.size();
  if (!is_new && !text.starts_with(first)) {
    throw InputError({.file = path, .line = 1}, "is no record of a shadow of this version",
                     "give another folder");
  }
  text.resize(is_new ? 0 : text.rfind('\n') + 1);
  std::uint64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = next_part(rest, '\n');
    if (++number == 1) continue;
    std::vector<std::string_view> cells;
    while (!line.empty()) cells.push_back(next_part(line, '|'));
    cells.resize(14);
    const auto id = parse_number<std::uint64_t>(cells[0]);
    const auto submitted = parse_number<std::int64_t>(cells[7]);
    if (!id || !submitted) {
      throw InputError({.file = path, .line = number}, "is no job of a record",
                       "take the line out, or give another folder");
    }
    Its& its = jobs_[{*id, *submitted}];
    its.said = cells[13];
    if (cells[6] == "PENDING" || cells[6] == "RUNNING") continue;
    its.is_over = true;
    ++over_;
  }
  const auto fail = [&] {
    throw RunError(fmt::format("'{}' cannot be written: {}", path, std::strerror(errno)));
  };
  file_ = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file_ || ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0) fail();
  if (is_new && write(file_.get(), first.data(), first.size()) != std::ssize(first)) fail();
}

void ShadowRecord::learn_machine() {
  facts_ = slurm_.facts();
  names_.add(facts_.nodes);
  machine_.clear();
  for (const SlurmNode& node : slurm_.nodes()) {
    if (names_.find(node.name)) machine_.emplace(node.name, node);
  }
}

void ShadowRecord::look() {
  if (++looks_ % kLooksAtMachine == 0) learn_machine();
  const auto jobs = slurm_.jobs();
  if (!jobs) return;
  std::map<Key, Its> fresh;
  std::string lines;
  std::uint64_t ended = 0;
  for (const SlurmJob& job : *jobs) {
    if (job.partition != partition_ || is_helper(job)) continue;
    // Tasks of an array that wait are one record; each gets its own when it starts.
    if (!job.tasks.empty() && job.state == SlurmJob::State::pending) continue;
    const Key key{job.number, in_seconds(job.submitted)};
    const auto known = jobs_.find(key);
    const bool is_over = job.state == SlurmJob::State::over;
    if (known != jobs_.end() && (known->second.is_over || !is_over)) continue;
    Its its{.said = known != jobs_.end()
                        ? known->second.said
                        : sizes_line(submission_of(job, {names_, machine_, facts_})),
            .is_over = is_over};
    lines += line_of_record(job, its.said);
    ended += is_over ? 1 : 0;
    fresh.emplace(key, std::move(its));
  }
  if (lines.empty()) return;
  // All or nothing: what was written of it in vain is taken back.
  const off_t end = lseek(file_.get(), 0, SEEK_END);
  if (write(file_.get(), lines.data(), lines.size()) != std::ssize(lines) ||
      fdatasync(file_.get()) != 0) {
    const int error = errno;
    if (ftruncate(file_.get(), end) != 0) throw RunError("the record cannot be mended");
    throw RunError(fmt::format("the record cannot be written: {}", std::strerror(error)));
  }
  for (auto& [key, its] : fresh) jobs_[key] = std::move(its);
  over_ += ended;
}

void look_on(Slurm& slurm, const std::string& partition, const std::string& folder) {
  const EndSignals signals;
  const Descriptor lock = lock_state(folder, {.who = "shadow", .option = "--record"});
  ShadowRecord record(slurm, partition, folder);
  spdlog::info("partition '{}' is looked at, and left alone; {} jobs are recorded", partition,
               record.over());
  bool is_away = false;
  while (true) {
    try {
      record.look();
      if (std::exchange(is_away, false)) spdlog::info("Slurm is back");
    } catch (const SlurmError& error) {
      if (!std::exchange(is_away, true)) spdlog::warn("{}", error.what());
    }
    if (signals.come_within(kLookEvery)) return;
  }
}

}  // namespace ductile
