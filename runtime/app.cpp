#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <ductile/app.h>
#include <poll.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/size_range.hpp"
#include "handover.hpp"
#include "job/launcher_variables.hpp"
#include "job/layout.hpp"
#include "job/protocol.hpp"
#include "link.hpp"

#define DUCTILE_EXPORT __attribute__((visibility("default")))

namespace ductile {
namespace {

/// Whether MPI has come to its end here.
enum class End {
  no,
  ending,
  left_to_program,  // all but what ends MPI itself
  ended
};

/// What this process knows; one per process, as MPI is.
struct App {
  bool is_initialised = false;
  int rank = 0;
  int size = 1;
  int generation = 0;
  bool must_join = false;
  bool is_registered = false;  // all of its data: ductile_join() was called
  bool is_spread = false;      // over several hosts
  End end = End::no;
  bool is_adapting = false;
  bool is_measured = false;
  std::string launcher{};  // the descriptor at which MPICH's listens
  std::vector<Registered> data{};
  /// None without a manager: then the program is rigid.
  std::unique_ptr<Link> link{};
  /// Only where the job is measured.
  std::unique_ptr<Pace> pace{};
  std::unique_ptr<Listener> listener{};
};

App& app() {
  static App* const one = new App;  // never destroyed: the listener may outlive exit()
  return *one;
}

std::string full_name(std::string_view mpi) {
  if (mpi == "mpich") return "MPICH";
  if (mpi == "openmpi") return "Open MPI";
  return "another MPI";
}

/// What the program cannot mend while it runs.
[[noreturn]] void give_up(const std::string& what) {
  complain(what);
  int is_initialised = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalized);
  if (is_initialised != 0 && is_finalized == 0) MPI_Abort(MPI_COMM_WORLD, 2);
  std::_Exit(2);
}

int wrong_call(const std::string& what) {
  complain(what);
  return DUCTILE_ERROR;
}

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// A job around this one is measured, with a library that cannot be in a program of this MPI.
void refuse_other_measuring() {
  const std::string preloaded = variable("LD_PRELOAD");
  const std::size_t at = preloaded.find("libductile-measure-");
  if (at == std::string::npos || preloaded.find("libductile-measure-" DUCTILE_BUILT_FOR) == at)
    return;
  complain("LD_PRELOAD has a library that measures programs of another MPI than " +
           full_name(DUCTILE_BUILT_FOR) + "; start this one with `ductile run`, or without it");
  std::_Exit(2);
}

void initialise_mpi(int* argc, char*** argv) {
  int is_initialised = 0;
  MPI_Initialized(&is_initialised);
  if (is_initialised != 0) return;
  // The listener's thread makes no call of MPI.
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
}

bool spans_hosts(int size) {
  MPI_Comm host = MPI_COMM_NULL;
  int neighbours = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &neighbours);
  MPI_Comm_free(&host);
  return neighbours < size;
}

/// By a process of the job, whose variables it has got with it: the manager has not started it.
bool was_spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  return parent != MPI_COMM_NULL;
}

void find_manager(App& self) {
  const std::string manager = variable("DUCTILE_MANAGER");
  const std::string launcher = variable("DUCTILE_MPI");
  if (manager.empty() || was_spawned()) return;
  if (launcher != DUCTILE_BUILT_FOR) {
    // The job is another program's, and this one runs inside of it.
    if (self.rank > 0 || self.size > 1) return;
    complain("this program uses " + full_name(DUCTILE_BUILT_FOR) + " and is in a job of " +
             full_name(launcher) +
             ": it runs by itself and is not resized; if it is to be the job, "
             "use ductile run --mpi " +
             DUCTILE_BUILT_FOR);
    return;
  }
  const auto token = wire::parse_token(variable("DUCTILE_TOKEN"));
  const std::string text = variable("DUCTILE_GENERATION");
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), self.generation);
  if (!token || text.empty() || error != std::errc{} || *end != '\0') {
    give_up(
        "the variables DUCTILE_... are not as `ductile run` sets them; unset them all to run "
        "without it");
  }
  try {
    self.link = std::make_unique<Link>(manager, *token, static_cast<std::uint32_t>(self.generation),
                                       static_cast<std::uint32_t>(self.rank),
                                       static_cast<std::uint32_t>(self.size));
  } catch (const std::exception& problem) {
    give_up(std::string("no connection to `ductile run`: ") + problem.what());
  }
  self.is_measured = !variable("DUCTILE_WATCH").empty();
}

/// What this process starts is no process of the job, though it is known as one of this generation
/// by variables that stay, and ends with it.
void untie_children() {
  if (variable("DUCTILE_TOKEN").empty()) return;
  std::vector<std::string> ties;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string name(*entry, std::strcspn(*entry, "="));
    if (ties_to_launcher(name)) ties.push_back(std::move(name));
  }
  for (const std::string& name : ties) unsetenv(name.c_str());
}

int add(const char* name, const Registered& one) {
  App& self = app();
  const std::string call =
      std::string("ductile_add_...(\"") + (name != nullptr ? name : "") + "\")";
  if (!self.is_initialised) return wrong_call(call + " before ductile_init()");
  if (self.is_registered) return wrong_call(call + " after ductile_join()");
  const bool is_empty = one.layout.spread == LayoutSpread::replicated && one.layout.elements == 0;
  if (name == nullptr || (one.data == nullptr && one.place == nullptr && !is_empty)) {
    return wrong_call(call + " without a name or without data");
  }
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (one.element_bytes == 0 || one.layout.elements < 0 || one.halo < 0 || one.layout.block < 1 ||
      static_cast<std::uint64_t>(one.layout.elements) + static_cast<std::uint64_t>(one.halo) >
          kMost / one.element_bytes) {
    return wrong_call(call + " with a size that makes no sense");
  }
  self.data.push_back(one);
  self.data.back().name = name;
  return 0;
}

/// Blocks of more elements than there are would make numbers overflow.
Layout dealt_out(std::int64_t elements, std::int64_t block) {
  return {.spread = LayoutSpread::cyclic,
          .elements = elements,
          .block = std::min(block, std::max<std::int64_t>(elements, 1))};
}

bool is_seat(int rank, int size) { return rank >= 0 && rank < size; }

/// While waiting, this process still has to move what MPI has not sent yet: a slower one may need
/// it to come to its probe.
void keep_mpi_moving() {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

void listen(App& self) {
  if (self.is_measured) self.pace = std::make_unique<Pace>();
  self.listener = std::make_unique<Listener>(*self.link, self.pace.get());
}

int probe_slowly(Listener& listener) {
  std::chrono::microseconds pause{20};
  for (;;) {
    switch (listener.at_probe()) {
      case Listener::Call::none:
        return DUCTILE_NONE;
      case Listener::Call::adapt:
        app().is_adapting = true;
        return DUCTILE_ADAPT;
      case Listener::Call::wait:
        keep_mpi_moving();
        listener.wait(pause);
        pause = std::min(2 * pause, std::chrono::microseconds(1000));
    }
  }
}

int probe(Listener& listener) {
  if (!listener.count_probe()) [[likely]]
    return DUCTILE_NONE;
  return probe_slowly(listener);
}

/// Until all processes of this generation have come here: from then on none needs another. MPI has
/// no barrier that could be trusted with this, as the last message of one may still be in a process
/// that exits.
void meet_at_the_end(Link& link) {
  for (;;) {
    keep_mpi_moving();
    const auto message = link.receive(std::chrono::milliseconds(1));
    if (message && std::holds_alternative<wire::Finish>(message->content)) return;
  }
}

/// Whether MPI_Finalize is left out: that of MPICH 4.0 is known to hang when the processes are on
/// several hosts.
bool skips_finalize(const App& self) {
  return std::string_view(DUCTILE_BUILT_FOR) == "mpich" && self.is_spread && self.link;
}

/// What MPI_Finalize of MPICH says to its launcher, in version 1 of its process management
/// interface: who exits without that is taken for crashed, and the others are killed.
void tell_launcher(const std::string& text) {
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc{} || fd < 0) return;
  constexpr std::string_view kWords = "cmd=finalize\n";
  if (write(fd, kWords.data(), kWords.size()) != static_cast<ssize_t>(kWords.size())) return;
  char byte = 0;
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  while (byte != '\n' && poll(&waiting, 1, 2000) > 0 && read(fd, &byte, 1) == 1) {
  }
}

using Finalize = int (*)();
using Finalized = int (*)(int* flag);

/// Whether this function is one of this library.
bool is_own(void* function) {
  Dl_info its{};
  Dl_info own{};
  return dladdr(function, &its) != 0 && dladdr(reinterpret_cast<void*>(&is_own), &own) != 0 &&
         its.dli_fbase == own.dli_fbase;
}

/// That of whoever comes after this library: of MPI_Finalize a tool that measures, or MPI itself.
int next_finalize(const char* name) {
  const auto next = reinterpret_cast<Finalize>(dlsym(RTLD_NEXT, name));
  if (next == nullptr) give_up(std::string("there is no ") + name + " behind libductile-app");
  return next();
}

/// What MPI says, or that it has ended where that was left out. A compiler may call this from here
/// also where MPI is linked before this library.
int ask_finalized(const char* name, int* flag) {
  void* next = dlsym(RTLD_NEXT, name);
  if (next == nullptr) next = dlsym(RTLD_DEFAULT, name);
  if (next == nullptr || is_own(next)) {  // give_up() would ask again
    complain(std::string("there is no ") + name + " of MPI");
    std::_Exit(2);
  }
  const int result = reinterpret_cast<Finalized>(next)(flag);
  if (app().end == End::ended) *flag = 1;
  return result;
}

/// Whether calls of MPI_Finalize come here, by whatever name: not where MPI is linked before this
/// library.
bool is_asked_first() { return is_own(dlsym(RTLD_DEFAULT, "PMPI_Finalize")); }

/// From here on no process of this generation needs to be resized, or to answer.
void say_finishing(App& self) {
  self.end = End::ending;
  std::fflush(nullptr);
  if (!self.listener) return;
  self.listener->stop();
  self.link->send(self.link->generation(), wire::Finishing{});
}

/// The end of MPI in this process, and no more than that: what the program does from here on, for
/// how long and with which exit code, is its own.
int end_mpi(App& self, Finalize finalize) {
  if (self.end == End::no) say_finishing(self);
  self.end = End::ending;
  int result = MPI_SUCCESS;
  int is_finalized = 0;
  PMPI_Finalized(&is_finalized);  // by a program whose calls do not come this way
  if (is_finalized == 0 && skips_finalize(self)) {
    if (self.listener) meet_at_the_end(*self.link);
    tell_launcher(self.launcher);
  } else if (is_finalized == 0) {
    result = finalize();
  }
  // The connection stays open until the process ends, which is how the manager learns of it.
  self.end = End::ended;
  return result;
}

/// What the program has not done by then, where its call of it would not have come here.
void end_mpi_at_exit() {
  if (app().end == End::left_to_program) end_mpi(app(), MPI_Finalize);
}

}  // namespace
}  // namespace ductile

using ductile::App;
using ductile::app;
using ductile::complain;
using ductile::Layout;
using ductile::LayoutSpread;
using ductile::Verdict;
using ductile::wrong_call;
namespace wire = ductile::wire;

extern "C" {

DUCTILE_EXPORT int ductile_init_checked(int* argc, char*** argv, int version, const char* mpi) {
  App& self = app();
  if (self.is_initialised) return wrong_call("ductile_init() was called before");
  if (version != DUCTILE_APP_VERSION) {
    ductile::give_up("this program was compiled for version " + std::to_string(version) +
                     " of libductile-app, and this is version " +
                     std::to_string(DUCTILE_APP_VERSION) + "; compile it again");
  }
  const std::string own = DUCTILE_BUILT_FOR;
  if (mpi != own) {
    ductile::give_up("this program was compiled with " + ductile::full_name(mpi) +
                     " but linked with libductile-app-" + own + "; link it with libductile-app-" +
                     mpi);
  }
  ductile::refuse_other_measuring();
  ductile::initialise_mpi(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &self.size);
  self.is_spread = ductile::spans_hosts(self.size);
  self.launcher = ductile::variable("PMI_FD");
  ductile::find_manager(self);
  ductile::untie_children();
  self.is_initialised = true;
  // Before anything that the program registers, and so after it.
  if (!ductile::is_asked_first()) std::atexit(ductile::end_mpi_at_exit);
  self.must_join = self.generation > 0;
  // A joining process talks to the manager itself until it has its data.
  if (self.link && !self.must_join) ductile::listen(self);
  return self.must_join ? DUCTILE_JOINING : DUCTILE_FRESH;
}

DUCTILE_EXPORT int ductile_init_binding(int version) {
  const std::string own = DUCTILE_BUILT_FOR;
  const std::string other = own == "mpich" ? "openmpi" : "mpich";
  // Only that one has it.
  const char* const symbol = other == "openmpi" ? "ompi_mpi_comm_world" : "MPII_Comm_get_attr";
  if (dlsym(RTLD_DEFAULT, symbol) != nullptr) {
    ductile::give_up("this program has " + ductile::full_name(other) +
                     " but is linked with libductile-app-" + own +
                     "; link it with libductile-app-" + other);
  }
  return ductile_init_checked(nullptr, nullptr, version, DUCTILE_BUILT_FOR);
}

DUCTILE_EXPORT const char* ductile_mpi(void) { return DUCTILE_BUILT_FOR; }

DUCTILE_EXPORT MPI_Comm ductile_comm(void) { return MPI_COMM_WORLD; }

DUCTILE_EXPORT MPI_Fint ductile_comm_fortran(void) { return MPI_Comm_c2f(MPI_COMM_WORLD); }

DUCTILE_EXPORT int ductile_generation(void) { return app().generation; }

DUCTILE_EXPORT int ductile_add_replicated(const char* name, void* data, size_t bytes) {
  return ductile::add(name, {.layout = {.spread = LayoutSpread::replicated,
                                        .elements = static_cast<std::int64_t>(bytes)},
                             .element_bytes = 1,
                             .data = data});
}

DUCTILE_EXPORT int ductile_add_block(const char* name, void** data, size_t element_bytes,
                                     int64_t elements, int64_t halo) {
  return ductile::add(name, {.layout = {.spread = LayoutSpread::block, .elements = elements},
                             .element_bytes = element_bytes,
                             .halo = halo,
                             .place = data});
}

DUCTILE_EXPORT int ductile_add_cyclic(const char* name, void** data, size_t element_bytes,
                                      int64_t elements, int64_t block) {
  return ductile::add(name, {.layout = ductile::dealt_out(elements, block),
                             .element_bytes = element_bytes,
                             .place = data});
}

DUCTILE_EXPORT int ductile_add_packed(const char* name, ductile_pack pack, ductile_unpack unpack,
                                      void* user) {
  if (pack == nullptr || unpack == nullptr) return wrong_call("ductile_add_packed() needs both");
  static char none = 0;
  return ductile::add(name, {.layout = {.spread = LayoutSpread::packed},
                             .element_bytes = 1,
                             .data = &none,
                             .pack = pack,
                             .unpack = unpack,
                             .user = user});
}

DUCTILE_EXPORT void ductile_block(int64_t elements, int rank, int size, int64_t* begin,
                                  int64_t* end) {
  if (elements < 0 || !ductile::is_seat(rank, size)) {
    wrong_call("ductile_block() wants elements >= 0 and 0 <= rank < size");
    *begin = *end = 0;
    return;
  }
  *begin = ductile::block_begin(elements, {rank, size});
  *end = ductile::block_begin(elements, {rank + 1, size});
}

DUCTILE_EXPORT int64_t ductile_cyclic_count(int64_t elements, int64_t block, int rank, int size) {
  if (elements < 0 || block < 1 || !ductile::is_seat(rank, size)) {
    return wrong_call(
        "ductile_cyclic_count() wants elements >= 0, block >= 1 and 0 <= rank < size");
  }
  return ductile::held(ductile::dealt_out(elements, block), {rank, size});
}

DUCTILE_EXPORT int ductile_join(void) {
  App& self = app();
  if (!self.is_initialised) return wrong_call("ductile_join() before ductile_init()");
  self.is_registered = true;
  if (!self.must_join) return 0;
  const std::string kept = ductile::variable(wire::kKeptVariable);
  if (!kept.empty()) {
    try {
      take_from_file(kept, self.data, {self.rank, self.size});
    } catch (const std::exception& problem) {
      ductile::give_up(std::string("it cannot go on where it was suspended: ") + problem.what());
    }
  } else if (take_over(*self.link, self.data) == Verdict::aborted) {
    // The job goes on elsewhere, and what this process has done so far must not be seen, but for
    // words that may say why.
    std::fflush(stdout);
    std::_Exit(0);
  }
  self.must_join = false;
  ductile::listen(self);
  // It goes on when it has heard from the others: the first communication of processes that have
  // just begun takes long, and belongs to what the resize costs.
  MPI_Barrier(MPI_COMM_WORLD);
  self.link->send(self.link->generation(), wire::Running{});
  return 0;
}

DUCTILE_EXPORT int ductile_probe(void) {
  App& self = app();
  if (!self.listener) {
    if (!self.must_join) return DUCTILE_NONE;
    return wrong_call("ductile_probe() of a joining process before ductile_join()");
  }
  if (self.is_adapting) return DUCTILE_ADAPT;  // asked again before it adapted
  if (!self.pace) [[likely]]
    return ductile::probe(*self.listener);
  self.pace->arrive();
  const int call = ductile::probe(*self.listener);
  self.pace->leave();
  return call;
}

DUCTILE_EXPORT int ductile_adapt(void) {
  App& self = app();
  if (!self.is_adapting) {
    return wrong_call("ductile_adapt() is for when ductile_probe() returned DUCTILE_ADAPT");
  }
  const Verdict verdict =
      hand_over(*self.link, self.listener->resize(), self.listener->addresses(), self.data);
  self.is_adapting = false;
  if (verdict == Verdict::committed) {
    self.link->send(self.listener->resize(), wire::Leaving{});
    return DUCTILE_LEAVE;
  }
  self.listener->resume();
  if (self.pace) self.pace->leave();
  return DUCTILE_STAY;
}

DUCTILE_EXPORT int ductile_refuse(const char* reason) {
  App& self = app();
  if (!self.is_adapting) {
    return wrong_call("ductile_refuse() is for when ductile_probe() returned DUCTILE_ADAPT");
  }
  self.link->send(self.listener->resize(),
                  wire::Failed{std::string("refused: ") + (reason != nullptr ? reason : "")});
  self.is_adapting = false;
  self.listener->resume();
  return 0;
}

DUCTILE_EXPORT int ductile_postpone(int probes) {
  App& self = app();
  if (!self.is_adapting) {
    return wrong_call("ductile_postpone() is for when ductile_probe() returned DUCTILE_ADAPT");
  }
  if (probes < 1) return wrong_call("ductile_postpone() wants at least one probe");
  self.is_adapting = false;
  self.listener->postpone(static_cast<std::uint64_t>(probes));
  return 0;
}

DUCTILE_EXPORT int ductile_sizes(int minimum, int maximum, const char* constraint) {
  App& self = app();
  if (!self.is_initialised) return wrong_call("ductile_sizes() before ductile_init()");
  const int most = static_cast<int>(wire::kMaxProcesses);
  if (maximum == 0) maximum = most;
  if (minimum < 1 || maximum < minimum || maximum > most) {
    return wrong_call("ductile_sizes() wants 1 <= minimum <= maximum");
  }
  const std::string text = constraint != nullptr ? constraint : "any";
  try {
    ductile::parse_constraint(text);
  } catch (const ductile::InputError& error) {
    return wrong_call(std::string("ductile_sizes(): ") + error.what());
  }
  if (self.rank != 0 || !self.link) return 0;
  self.link->send(self.link->generation(), wire::Sizes{.min = static_cast<std::uint32_t>(minimum),
                                                       .max = static_cast<std::uint32_t>(maximum),
                                                       .constraint = text});
  return 0;
}

DUCTILE_EXPORT int ductile_stdin(int what) {
  App& self = app();
  if (!self.is_initialised) return wrong_call("ductile_stdin() before ductile_init()");
  if (what != DUCTILE_STDIN_EMPTY && what != DUCTILE_STDIN_AGAIN) {
    return wrong_call("ductile_stdin() wants DUCTILE_STDIN_EMPTY or DUCTILE_STDIN_AGAIN");
  }
  if (self.rank != 0 || !self.link) return 0;
  self.link->send(self.link->generation(),
                  wire::Input{.again = what == DUCTILE_STDIN_AGAIN ? 1U : 0U});
  return 0;
}

DUCTILE_EXPORT int ductile_request(int at_least, int preferred) {
  App& self = app();
  if (!self.is_initialised) return wrong_call("ductile_request() before ductile_init()");
  if (at_least < 1 || preferred < at_least || preferred > static_cast<int>(wire::kMaxProcesses)) {
    return wrong_call("ductile_request() wants 1 <= at_least <= preferred");
  }
  if (self.rank != 0 || !self.listener) return 0;
  self.link->send(self.link->generation(),
                  wire::Request{.at_least = static_cast<std::uint32_t>(at_least),
                                .preferred = static_cast<std::uint32_t>(preferred)});
  return 0;
}

DUCTILE_EXPORT int ductile_offer(void) {
  App& self = app();
  return self.listener ? self.listener->take_offer() : -1;
}

DUCTILE_EXPORT int ductile_finalize(void) {
  App& self = app();
  if (!self.is_initialised) return wrong_call("ductile_finalize() before ductile_init()");
  if (self.end != ductile::End::no) return 0;
  if (ductile::is_asked_first()) {
    ductile::end_mpi(self, MPI_Finalize);
  } else {
    ductile::say_finishing(self);
    self.end = ductile::End::left_to_program;
  }
  return 0;
}

// A program may call both, in either order, or only one: it is the same end, and it comes once.

DUCTILE_EXPORT int MPI_Finalize(void) {
  App& self = app();
  if (self.end == ductile::End::ended) return MPI_SUCCESS;
  if (self.end == ductile::End::ending || !self.is_initialised) {
    return ductile::next_finalize("MPI_Finalize");
  }
  return ductile::end_mpi(self, [] { return ductile::next_finalize("MPI_Finalize"); });
}

// What Fortran's MPI_FINALIZE calls, and what tools call in theirs.
DUCTILE_EXPORT int PMPI_Finalize(void) {
  App& self = app();
  if (self.end == ductile::End::ended) return MPI_SUCCESS;
  const auto next = [] { return ductile::next_finalize("PMPI_Finalize"); };
  if (self.end == ductile::End::ending || !self.is_initialised) return next();
  return ductile::end_mpi(self, next);
}

DUCTILE_EXPORT int MPI_Finalized(int* flag) {
  return ductile::ask_finalized("MPI_Finalized", flag);
}

// As PMPI_Finalize.
DUCTILE_EXPORT int PMPI_Finalized(int* flag) {
  return ductile::ask_finalized("PMPI_Finalized", flag);
}

}  // extern "C"
