#include "job/affinity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/proc.hpp"
#include "job/process.hpp"

namespace ductile {
namespace {

/// The threads of a process, as /proc has them; none if it has gone.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(proc_folder(pid) + "task", ignored)) {
    if (const auto thread = parse_number<pid_t>(entry.path().filename().string())) {
      threads.push_back(*thread);
    }
  }
  return threads;
}

/// All that this process has started, directly or not. Those whose parents have died are its own
/// children (adopt_orphans()). Kernels without `children` have the slower way.
std::vector<pid_t> all_descendants() {
  const std::string own = proc_folder(getpid()) + "task/" + std::to_string(getpid()) + "/children";
  if (access(own.c_str(), R_OK) != 0) return descendants({});
  std::vector<pid_t> found = {getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const pid_t thread : threads_of(found[i])) {
      std::istringstream children(
          content_of(proc_folder(found[i]) + "task/" + std::to_string(thread) + "/children"));
      for (pid_t child = 0; children >> child;) found.push_back(child);
    }
  }
  found.erase(found.begin());
  return found;
}

cpu_set_t set_of(const NodeSet& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const Interval& part : cpus.parts) {
    for (std::uint32_t cpu = part.first; cpu <= part.last && cpu < CPU_SETSIZE; ++cpu) {
      CPU_SET(cpu, &set);
    }
  }
  return set;
}

bool is_within(const cpu_set_t& some, const cpu_set_t& all) {
  cpu_set_t both;
  CPU_AND(&both, &some, &all);
  return CPU_EQUAL(&both, &some) != 0;
}

}  // namespace

NodeSet own_cpus() {
  NodeSet cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.append(cpu, cpu);
  }
  return cpus;
}

/// Only the kernel knows them: a thread that asks for all has those that there are.
NodeSet allowed_cpus(const NodeSet& cpus) {
  NodeSet allowed;
  std::thread([&] {
    const cpu_set_t wanted = set_of(cpus);
    if (sched_setaffinity(0, sizeof wanted, &wanted) == 0) allowed = own_cpus();
  }).join();
  return allowed;
}

void undo_openmp_binding() {
  using Count = int (*)();
  using CountOf = int (*)(int place);
  using Ids = void (*)(int place, int* ids);
  const auto bind = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "omp_get_proc_bind"));
  const auto places = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "omp_get_num_places"));
  const auto count = reinterpret_cast<CountOf>(dlsym(RTLD_DEFAULT, "omp_get_place_num_procs"));
  const auto ids_of = reinterpret_cast<Ids>(dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids"));
  if (bind == nullptr || places == nullptr || count == nullptr || ids_of == nullptr) return;
  if (bind() == 0) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int place = 0; place < places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(std::max(count(place), 0)));
    ids_of(place, ids.data());
    for (const int id : ids) {
      if (id >= 0 && id < CPU_SETSIZE) CPU_SET(id, &all);
    }
  }
  if (CPU_COUNT(&all) > 0) sched_setaffinity(0, sizeof all, &all);
}

std::optional<std::string> set_affinity_of_descendants(const NodeSet& cpus, Affinity which) {
  const cpu_set_t wanted = set_of(cpus);
  // A thread that is just being started has what the one had that starts it.
  constexpr int kMostRounds = 10;
  std::optional<std::string> refusal;
  bool has_changed = true;
  for (int round = 0; has_changed && round < kMostRounds; ++round) {
    has_changed = false;
    for (const pid_t process : all_descendants()) {
      for (const pid_t thread : threads_of(process)) {
        cpu_set_t its;
        if (sched_getaffinity(thread, sizeof its, &its) != 0) continue;
        const bool is_good =
            which == Affinity::all ? CPU_EQUAL(&its, &wanted) != 0 : is_within(its, wanted);
        if (is_good) continue;
        if (sched_setaffinity(thread, sizeof wanted, &wanted) == 0) {
          has_changed = true;
        } else if (errno != ESRCH) {
          refusal = fmt::format("processors {} for process {}: {}", to_string(cpus), process,
                                std::strerror(errno));
        }
      }
    }
  }
  return refusal;
}

}  // namespace ductile
