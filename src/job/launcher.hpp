// How the processes of a generation are started: the command line of an MPI's mpiexec, or of
// Slurm's srun.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ductile {

/// `none`: the program is started as it is, one process.
enum class Mpi { none, mpich, openmpi };

inline constexpr std::array<std::string_view, 3> kMpiWords = {"none", "mpich", "openmpi"};

/// What starts the processes of a program with an MPI: its mpiexec, or srun inside an allocation of
/// Slurm.
enum class Starter { mpiexec, srun };

inline constexpr std::array<std::string_view, 2> kStarterWords = {"mpiexec", "srun"};

/// A host and how many processes it takes.
struct Host {
  std::string name{};
  std::uint32_t slots = 1;
};

struct Launcher {
  Mpi mpi = Mpi::none;
  Starter starter = Starter::mpiexec;
  /// Path of mpiexec, or of srun.
  std::string mpiexec{};
  /// Where the processes run; this host if empty.
  std::vector<Host> hosts{};
  /// What starts something on a host, called as ssh is: [OPTIONS] HOST COMMAND...
  std::string agent = "ssh";
  /// Cores of each process, on its host the next ones after those of the process before; 0: it may
  /// run anywhere.
  std::uint32_t cores = 0;
  /// Loaded before the program's libraries; none if empty.
  std::string preload{};
  /// More arguments of mpiexec or srun, before the program.
  std::vector<std::string> arguments{};
  std::vector<std::string> program{};
};

/// What the processes of a generation find.
struct Cores {
  /// Whoever started the job has chosen them. Open MPI would bind to the first ones of the machine.
  bool are_chosen = false;
  /// More processes are on them than there are cores, if only until another generation has left: a
  /// process that waits lets others go first.
  bool are_shared = false;
};

/// A variable and its value.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// "h1:4,h2" as hosts; InputError.
std::vector<Host> parse_hosts(const std::string& text);

/// The other way round: "h1:4,h2:1".
std::string to_text(const std::vector<Host>& hosts);
/// How many processes they take; not more than a job may have.
std::uint32_t slots_of(const std::vector<Host>& hosts);

/// The hosts that `size` processes take, the first ones first, and how many each; as many as fit.
std::vector<Host> place(const std::vector<Host>& hosts, std::uint32_t size);

/// What starts `size` processes. Where they find cores of their own, it is what a user of that
/// mpiexec would write, so that the program is as fast. The names of `variables` are told to
/// mpiexec where it does not pass on all it has.
std::vector<std::string> command_line(const Launcher& launcher, std::uint32_t size,
                                      const Variables& variables, const Cores& cores = {});

/// Whether the user has said how processes of Open MPI wait, in the environment or in the
/// launcher's arguments: then they wait so.
bool user_decides_yield(const Launcher& launcher);

/// What a new job gets of a variable of this process: nothing of those by which a launcher that has
/// started this process tells it who it is.
std::optional<std::string> inherited(std::string_view name, std::string_view value);

/// The program's file, looked up in PATH as a shell does. InputError if there is none.
std::string find_program(const std::string& name);

/// The mpiexec of this MPI in PATH: under the name by which Debian tells the two apart, or else the
/// plain one. InputError if there is none.
std::string find_mpiexec(Mpi mpi);

/// libductile-measure for this MPI, beside this program as built or as installed; nothing if it is
/// not there.
std::optional<std::string> measuring_library(Mpi mpi);

/// libductile-threads-preload; the same.
std::optional<std::string> threads_library();

/// examples/timed for this MPI, which takes as long as it is told at each size; the same.
std::optional<std::string> timed_program(Mpi mpi);

/// The MPI whose library this executable, or libductile-app in it, asks for; none if it asks for no
/// MPI; nothing if it cannot be known: a script, or no executable of this kind of machine.
std::optional<Mpi> mpi_of_program(const std::string& path);
/// The same, of the names of the libraries that it asks for.
Mpi mpi_of_libraries(const std::vector<std::string>& names);

}  // namespace ductile
