#include "job/process_table.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include "job/job_folder.hpp"
#include "job/leftovers.hpp"

namespace ductile {
namespace {

/// From one look for what still holds the pipes of a generation that has ended to the next.
constexpr std::chrono::milliseconds kSweep{100};

bool has_session(const Launcher& launcher) {
  return launcher.mpi == Mpi::openmpi && launcher.starter == Starter::mpiexec;
}

}  // namespace

Generation& ProcessTable::start(const Start& how) {
  const std::uint32_t number = next_number_++;
  auto generation = std::make_unique<Generation>();
  generation->number = number;
  generation->size = how.size;
  generation->hosts = how.hosts;
  generation->cpus = how.cpus;
  generation->peers.resize(how.size);
  generation->marks = how.marks;
  generation->marks.emplace_back("DUCTILE_GENERATION", std::to_string(number));
  Variables variables = generation->marks;
  variables.insert(variables.end(), how.variables.begin(), how.variables.end());
  Launcher launcher = how.launcher.value_or(launcher_);
  launcher.hosts = how.hosts;
  const std::vector<std::string> words = command_line(launcher, how.size, variables, how.cores);
  spdlog::debug("generation {}: {}", number, fmt::join(words, " "));
  generation->group = Cgroup::make(std::to_string(number));
  generation->process =
      start_process(words, variables, how.input, how.cpus,
                    generation->group ? generation->group->folder() : std::string(), limits_,
                    how.given, how.prepare);
  if (has_session(launcher_) && folder_ != nullptr) {
    folder_->note_session(session_folder(generation->process.pid));
  }
  return *all_.emplace(number, std::move(generation)).first->second;
}

Generation* ProcessTable::find(std::uint32_t number) const {
  const auto found = all_.find(number);
  return found == all_.end() ? nullptr : found->second.get();
}

void ProcessTable::reap(const std::function<void(Generation&)>& tell,
                        const std::function<void(pid_t, int status)>& other) {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    for (const auto& [number, generation] : all_) {
      if (generation->process.pid == pid && !generation->status) {
        on_ended(*generation, status);
        tell(*generation);
      }
      if (generation->sweep) generation->sweep->on_ended(pid, status);
    }
    if (other) other(pid, status);
  }
}

void ProcessTable::on_ended(Generation& generation, int status) {
  generation.status = status;
  generation.ended = Clock::now();
  generation.deadline = generation.ended + kSweep;
  std::size_t left = generation.group ? generation.group->kill_all() : 0;
  left += kill_descendants(generation.marks);
  const bool is_elsewhere = launcher_.mpi != Mpi::none && !generation.hosts.empty();
  if (launcher_.starter == Starter::mpiexec && is_elsewhere) {
    generation.sweep.emplace(launcher_.agent, place(generation.hosts, generation.size),
                             generation.marks);
  }
  if (left > 0) spdlog::debug("generation {}: {} left over, killed", generation.number, left);
  const int code = exit_code(status);
  spdlog::debug("generation {} ended with {}", generation.number, code);
  if (has_session(launcher_)) remove_session_folder(session_folder(generation.process.pid));
  if (code != 0 || left > 0) has_killed_ = launcher_.mpi != Mpi::none;
}

ProcessTable::Clock::time_point ProcessTable::next() const {
  auto next = Clock::time_point::max();
  for (const auto& [number, generation] : all_) next = std::min(next, generation->deadline);
  return next;
}

void ProcessTable::keep_deadlines(Clock::time_point now, bool has_job_ended,
                                  const MayGoOn& may_go_on,
                                  const std::function<void(Generation&)>& before_end) {
  for (const auto& [number, generation] : all_) {
    if (now < generation->deadline) continue;
    if (generation->status) {
      sweep(*generation, now, has_job_ended);
    } else if (const auto until = may_go_on(*generation)) {
      generation->deadline = *until;
    } else if (!generation->is_terminated) {
      generation->is_terminated = true;
      before_end(*generation);
      generation->deadline = now + patience_ / 5;
      spdlog::debug("generation {} is told to end", number);
      kill(generation->process.pid, SIGTERM);
    } else {
      generation->deadline = Clock::time_point::max();
      spdlog::debug("generation {} is killed", number);
      kill_descendants(generation->marks);
      kill(generation->process.pid, SIGKILL);
    }
  }
}

/// Somebody still holds the pipes of a generation that has ended: one who was just being started
/// when its like were killed, and had no environment yet to know it by, or who has made itself
/// another one.
void ProcessTable::sweep(Generation& generation, Clock::time_point now, bool has_job_ended) {
  generation.deadline = Clock::time_point::max();
  if (generation.is_over()) return;
  generation.deadline = now + kSweep;
  if (generation.group) generation.group->kill_all();
  // Those who look on other hosts are descendants, too.
  const bool all_are_gone =
      std::ranges::all_of(all_, [](const auto& entry) { return entry.second->is_gone(); });
  kill_descendants(has_job_ended && all_are_gone ? Variables{} : generation.marks);
  if (now > generation.ended + patience_) {
    generation.process.out.reset();
    generation.process.err.reset();
    if (generation.sweep && !generation.sweep->is_done()) {
      spdlog::warn("what is left on {} could not be looked for in time",
                   fmt::join(generation.sweep->give_up(), ", "));
    }
  }
}

void ProcessTable::stop(int signal, Clock::time_point now) {
  const bool is_known = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  for (const auto& [number, generation] : all_) {
    if (generation->status) continue;
    kill(generation->process.pid, is_known ? signal : SIGTERM);
    generation->is_terminated = true;
    generation->deadline = std::min(generation->deadline, now + patience_);
  }
}

void ProcessTable::stop_now(Clock::time_point now) {
  for (const auto& [number, generation] : all_) {
    generation->is_terminated = true;
    generation->deadline = now;
  }
}

void ProcessTable::forget_those_over() {
  std::erase_if(all_, [&](const auto& entry) {
    return entry.first != current_ && entry.second->is_over() && entry.second->has_been_heard();
  });
}

bool ProcessTable::end_all() {
  const Killed killed = end_descendants();
  if (killed.count > 0) spdlog::debug("{} left over, killed", killed.count);
  return killed.are_gone;
}

}  // namespace ductile
