#include "job/launcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "job/launcher_variables.hpp"
#include "job/protocol.hpp"

namespace ductile {
namespace {

bool is_executable(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> find_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = next_part(rest, ':');
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

/// A structure at this place of a file; nothing if the file ends before.
template <class Struct>
std::optional<Struct> at(const std::string& bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Struct)) return std::nullopt;
  Struct result;
  std::memcpy(&result, bytes.data() + offset, sizeof result);
  return result;
}

/// The libraries that an executable asks for; nothing if it is none.
std::optional<std::vector<std::string>> needed_libraries(const std::string& bytes) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    segments.push_back(*segment);
  }
  std::vector<std::uint64_t> names;
  std::uint64_t table = 0;  // address of the names
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t offset = segment.p_offset;; offset += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(bytes, offset);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) table = entry->d_un.d_ptr;
    }
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && segment.p_vaddr <= table &&
        table - segment.p_vaddr < segment.p_filesz) {
      table = table - segment.p_vaddr + segment.p_offset;
      break;
    }
  }
  std::vector<std::string> libraries;
  for (const std::uint64_t name : names) {
    if (table + name < bytes.size()) libraries.emplace_back(bytes.c_str() + table + name);
  }
  return libraries;
}

bool begins_with(const std::string& text, std::string_view begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

}  // namespace

std::vector<Host> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = next_part(rest, ',');
    std::string_view slots = part;
    Host host{.name = std::string(next_part(slots, ':'))};
    host.slots = slots.empty() ? 1 : parse_number<std::uint32_t>(slots).value_or(0);
    if (host.name.empty() || host.name.front() == '-' || host.slots == 0 || host.slots > 65536) {
      throw InputError({.field = "--hosts"},
                       "'" + std::string(part) + "' is not HOST or HOST:SLOTS",
                       "write it like h1:4,h2:4");
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::string to_text(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    text += (text.empty() ? "" : ",") + host.name + ":" + std::to_string(host.slots);
  }
  return text;
}

std::uint32_t slots_of(const std::vector<Host>& hosts) {
  std::uint64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(slots, wire::kMaxProcesses));
}

std::vector<Host> place(const std::vector<Host>& hosts, std::uint32_t size) {
  std::vector<Host> placed;
  for (const Host& host : hosts) {
    if (size == 0) break;
    const std::uint32_t here = std::min(host.slots, size);
    placed.push_back({host.name, here});
    size -= here;
  }
  return placed;
}

namespace {

/// Keeps a process to its cores before the program begins, so that every library in it finds no
/// others: of those it may run on, so many for each process before it on this host, then its own.
/// If the launcher has bound it to its cores already, it keeps these. Called as `sh -c THIS CORES
/// PROGRAM ARGUMENTS...`.
constexpr const char* kKeepToCores = R"(
rank=${MPI_LOCALRANKID-${OMPI_COMM_WORLD_LOCAL_RANK-${SLURM_LOCALID-0}}}
all=$(taskset -cp $$) || exec "$@"
cpus= count=0 IFS=,
for part in ${all##*: }; do
  cpu=${part%-*}
  while [ "$cpu" -le "${part#*-}" ]; do
    cpus=$cpus,$cpu count=$((count + 1)) cpu=$((cpu + 1))
  done
done
own= number=0
while [ "$number" -lt "$0" ]; do
  index=$(((rank * $0 + number) % count)) at=0
  for cpu in ${cpus#,}; do
    [ "$at" -ne "$index" ] || own=$own,$cpu
    at=$((at + 1))
  done
  number=$((number + 1))
done
unset IFS
exec taskset -c "${own#,}" "$@"
)";

std::vector<std::string> program_of(const Launcher& launcher) {
  std::vector<std::string> words;
  if (launcher.cores > 0) words = {"/bin/sh", "-c", kKeepToCores, std::to_string(launcher.cores)};
  words.insert(words.end(), launcher.program.begin(), launcher.program.end());
  return words;
}

/// As steps of a job go beside each other: two generations share the nodes while one takes over
/// from the other.
std::vector<std::string> srun_line(const Launcher& launcher, std::uint32_t size,
                                   const Cores& cores) {
  std::vector<std::string> words = {launcher.mpiexec, "--quiet", "-n", std::to_string(size),
                                    "--overlap", "--overcommit", "--cpu-bind=none",
                                    "--kill-on-bad-exit=1",
                                    // Both speak what Slurm's plugins do without help.
                                    launcher.mpi == Mpi::mpich ? "--mpi=pmi2" : "--mpi=pmix"};
  const auto placed = place(launcher.hosts, size);
  if (!placed.empty()) {
    std::string hosts;
    for (const Host& host : placed) {
      for (std::uint32_t i = 0; i < host.slots; ++i) {
        hosts += (hosts.empty() ? "" : ",") + host.name;
      }
    }
    words.insert(words.end(), {"-N", std::to_string(placed.size()), "--distribution=arbitrary",
                               "--nodelist=" + hosts});
  }
  const bool is_to_yield =
      launcher.mpi == Mpi::openmpi && cores.are_shared && !user_decides_yield(launcher);
  std::string passed = "--export=ALL";
  if (is_to_yield) passed += ",OMPI_MCA_mpi_yield_when_idle=1";
  if (!launcher.preload.empty()) passed += ",LD_PRELOAD=" + launcher.preload;
  words.push_back(std::move(passed));
  return words;
}

}  // namespace

bool user_decides_yield(const Launcher& launcher) {
  constexpr const char* kParameter = "mpi_yield_when_idle";
  const auto names_it = [&](const std::string& word) {
    return word.find(kParameter) != std::string::npos;
  };
  return std::getenv("OMPI_MCA_mpi_yield_when_idle") != nullptr ||
         std::ranges::any_of(launcher.arguments, names_it);
}

std::vector<std::string> command_line(const Launcher& launcher, std::uint32_t size,
                                      const Variables& variables, const Cores& cores) {
  std::vector<std::string> program = program_of(launcher);
  if (launcher.mpi == Mpi::none) return program;
  if (launcher.starter == Starter::srun) {
    std::vector<std::string> words = srun_line(launcher, size, cores);
    words.insert(words.end(), launcher.arguments.begin(), launcher.arguments.end());
    words.insert(words.end(), program.begin(), program.end());
    return words;
  }
  std::vector<std::string> words = {launcher.mpiexec, "-n", std::to_string(size)};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  const std::string hosts = to_text(place(launcher.hosts, size));
  if (launcher.mpi == Mpi::mpich && !hosts.empty()) {
    add({"-hosts", hosts, "-launcher", "ssh", "-launcher-exec", launcher.agent});
  }
  if (launcher.mpi == Mpi::openmpi) {
    // Whoever is bound before it begins stays so.
    if (cores.are_chosen || launcher.cores > 0) add({"--bind-to", "none"});
    if (cores.are_shared && !user_decides_yield(launcher))
      add({"--mca", "mpi_yield_when_idle", "1"});
    if (hosts.empty()) {
      add({"--oversubscribe"});
    } else {
      add({"--host", hosts, "--mca", "plm_rsh_agent", launcher.agent});
    }
    if (geteuid() == 0) add({"--allow-run-as-root"});
    for (const auto& variable : variables) add({"-x", variable.first});
  }
  if (!launcher.preload.empty() && launcher.mpi == Mpi::mpich) {
    add({"-genv", "LD_PRELOAD", launcher.preload});
  } else if (!launcher.preload.empty()) {
    add({"-x", "LD_PRELOAD=" + launcher.preload});
  }
  words.insert(words.end(), launcher.arguments.begin(), launcher.arguments.end());
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

std::optional<std::string> inherited(std::string_view name, std::string_view value) {
  // Ranks and sizes there would be wrong as well.
  const bool is_of_launcher = ties_to_launcher(name) || name.starts_with("OMPI_COMM_WORLD_") ||
                              name.starts_with("MPI_LOCALRANK") ||
                              name.starts_with("MPI_LOCALNRANKS");
  if (is_of_launcher) return std::nullopt;
  if (name != "LD_PRELOAD") return std::string(value);
  // Another job is measured, with the library of its own MPI, or has threads of its own.
  std::string rest;
  while (!value.empty()) {
    const std::string_view library = next_part(value, ':');
    if (library.find("/libductile-measure-") != std::string_view::npos) continue;
    if (library.find("/libductile-threads-preload.so") != std::string_view::npos) continue;
    rest += (rest.empty() ? "" : ":") + std::string(library);
  }
  return rest;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
  } else if (auto found = find_in_path(name)) {
    return *found;
  }
  throw InputError("'" + name + "' is no program", "give the path of an executable file");
}

std::string find_mpiexec(Mpi mpi) {
  const std::string word(kMpiWords[static_cast<std::size_t>(mpi)]);
  for (const std::string& name : {"mpiexec." + word, std::string("mpiexec")}) {
    if (auto found = find_in_path(name)) return *found;
  }
  throw InputError("there is no mpiexec of " + word, "install it, or give its path with --mpiexec");
}

namespace {

/// A file for this MPI that comes with this program: in this folder as built, or in that one of the
/// libraries as installed; nothing if it is not there.
std::optional<std::string> comes_with(const char* built, const char* installed,
                                      const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& path :
       {folder / built / name, folder / ".." / DUCTILE_LIBDIR / installed / name}) {
    if (fs::exists(path)) return path.lexically_normal();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> measuring_library(Mpi mpi) {
  return comes_with(
      "lib", "", fmt::format("libductile-measure-{}.so", kMpiWords[static_cast<std::size_t>(mpi)]));
}

std::optional<std::string> threads_library() {
  return comes_with("lib", "", "libductile-threads-preload.so");
}

std::optional<std::string> timed_program(Mpi mpi) {
  return comes_with("examples", "ductile",
                    fmt::format("timed-{}", kMpiWords[static_cast<std::size_t>(mpi)]));
}

Mpi mpi_of_libraries(const std::vector<std::string>& names) {
  // A program in Fortran may be linked with what is between it and the library in C alone. Of the
  // two of the same name that of MPICH has the number 12.
  constexpr std::pair<std::string_view, Mpi> kLibraries[] = {
      {"libductile-app-mpich.so", Mpi::mpich},
      {"libmpich", Mpi::mpich},
      {"libmpi.so.12", Mpi::mpich},
      {"libmpifort.so", Mpi::mpich},
      {"libmpicxx.so", Mpi::mpich},
      {"libductile-app-openmpi.so", Mpi::openmpi},
      {"libmpi.so", Mpi::openmpi},
      {"libmpi_mpifh", Mpi::openmpi},
      {"libmpi_usempi", Mpi::openmpi},
      {"libmpi_cxx.so", Mpi::openmpi}};
  for (const std::string& name : names) {
    for (const auto& [begin, mpi] : kLibraries) {
      if (begins_with(name, begin)) return mpi;
    }
  }
  return Mpi::none;
}

std::optional<Mpi> mpi_of_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto libraries = needed_libraries(bytes);
  return libraries ? std::optional(mpi_of_libraries(*libraries)) : std::nullopt;
}

}  // namespace ductile
