// libductile-measure: how much of its time a program spends in MPI, without a change to the
// program. Preloaded, it stands in front of the functions of MPI that may wait. Each notes that it
// was entered and left; a thread looks at the note 100 times a second. The share of looks that find
// the program in MPI is the share of time, with a standard error of at most 5 % after one second of
// one process.
//
// A note is two stores and a second call. Where messages go from one process to another as fast as
// they can, that costs 5 to 10 % of the rate, presumably because stores wait for the cache lines
// that the other process has (docs/performance.md). So the functions that only begin something make
// notes only while the thread is about to look, and are else a jump.
//
// The measure is that of paper 003, IV-D: performance measurement of MPI time to compute time,
// MTCT.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <mpi.h>

#include "job/protocol.hpp"
#include "job/socket.hpp"
#include "quiet_thread.hpp"

#define DUCTILE_EXPORT __attribute__((visibility("default")))

namespace ductile {
namespace {

constexpr std::chrono::microseconds kLook{10000};
/// So long before a look brief functions begin to make notes. One that was called before and is
/// still not over at the look is not seen.
constexpr std::chrono::microseconds kReady{200};
/// As few elements of a type of the language (at most 32 bytes each) are copied in less time than
/// that, should MPI copy them within the call. Brief functions note calls with as many or more.
/// What stays unseen are calls that pack few elements of a large derived type, or begin a large
/// persistent request, for longer.
constexpr int kMany = 16384;
constexpr std::uint32_t kLooksPerMessage = 50;

std::atomic<int> in_mpi{0};

/// The program is in MPI. Should an MPI call itself by its public names, what follows an inner call
/// does not count.
struct Note {
  Note() { in_mpi.store(1, std::memory_order_relaxed); }
  ~Note() { in_mpi.store(0, std::memory_order_relaxed); }
};

// Where a call of a brief function goes: to MPI, or to a note and then to MPI; a long call always
// to a note. Not inlined, so that the others need no stack and remain a jump.
#define DUCTILE_WRAP(name, parameters, arguments)
#define DUCTILE_WRAP_BRIEF(name, is_long, parameters, arguments) \
  [[gnu::noinline]] int noted_##name parameters {                \
    const Note note;                                             \
    return PMPI_##name arguments;                                \
  }                                                              \
  constinit std::atomic<decltype(&PMPI_##name)> way_of_##name{PMPI_##name};
#include "measured_functions.inc"
#undef DUCTILE_WRAP_BRIEF

void let_brief_functions_note(bool is_noted) {
#define DUCTILE_WRAP_BRIEF(name, is_long, parameters, arguments) \
  way_of_##name.store(is_noted ? noted_##name : PMPI_##name, std::memory_order_relaxed);
#include "measured_functions.inc"
#undef DUCTILE_WRAP_BRIEF
#undef DUCTILE_WRAP
}

class Watcher {
 public:
  Watcher(const std::string& manager, const wire::Token& token, std::uint32_t generation,
          std::uint32_t rank, std::uint32_t size)
      : socket_(connect_to(manager, std::chrono::seconds(5))), generation_(generation) {
    send_all(socket_, wire::encode({generation, wire::Watch{token, rank, size}}));
    thread_ = quiet_thread([this] { run(); });
  }
  ~Watcher() {
    is_stopping_ = true;
    thread_.join();
  }

 private:
  void run() {
    wire::Measured measured;
    while (!is_stopping_) {
      std::this_thread::sleep_for(kLook - kReady);
      let_brief_functions_note(true);
      std::this_thread::sleep_for(kReady);
      ++measured.looks;
      if (in_mpi.load(std::memory_order_relaxed) != 0) ++measured.in_mpi;
      let_brief_functions_note(false);
      if (measured.looks < kLooksPerMessage) continue;
      if (!send_all(socket_, wire::encode({generation_, measured}))) return;
      measured = {};
    }
  }

  Descriptor socket_;
  std::uint32_t generation_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_{};
};

std::unique_ptr<Watcher>& watcher() {
  static auto* const one = new std::unique_ptr<Watcher>;
  return *one;
}

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

void begin() {
  const auto token = wire::parse_token(variable("DUCTILE_TOKEN"));
  const std::string manager = variable("DUCTILE_WATCH");
  if (!token || manager.empty() || watcher()) return;
  const auto generation =
      static_cast<std::uint32_t>(std::strtoul(variable("DUCTILE_GENERATION").c_str(), nullptr, 10));
  int rank = 0;
  int size = 0;
  int threads = MPI_THREAD_SINGLE;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Query_thread(&threads);
  if (threads == MPI_THREAD_MULTIPLE) {
    if (rank == 0 && generation == 0) {
      std::fputs(
          "ductile: the time in MPI is not measured: several threads of this program may be "
          "in MPI at once (MPI_THREAD_MULTIPLE)\n",
          stderr);
    }
    return;
  }
  try {
    watcher() =
        std::make_unique<Watcher>(manager, *token, generation, static_cast<std::uint32_t>(rank),
                                  static_cast<std::uint32_t>(size));
  } catch (const std::exception&) {
    // Not measured; the program has nothing to do with it.
  }
}

}  // namespace
}  // namespace ductile

extern "C" {

DUCTILE_EXPORT int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  ductile::begin();
  return result;
}

DUCTILE_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  ductile::begin();
  return result;
}

DUCTILE_EXPORT int MPI_Finalize(void) {
  ductile::watcher().reset();
  // That of libductile-app, if the program uses it.
  using Finalize = int (*)();
  const auto next = reinterpret_cast<Finalize>(dlsym(RTLD_NEXT, "MPI_Finalize"));
  return next != nullptr ? next() : PMPI_Finalize();
}

#define DUCTILE_WRAP(name, parameters, arguments) \
  DUCTILE_EXPORT int MPI_##name parameters {      \
    const ductile::Note note;                     \
    return PMPI_##name arguments;                 \
  }
#define DUCTILE_WRAP_BRIEF(name, is_long, parameters, arguments)             \
  DUCTILE_EXPORT int MPI_##name parameters {                                 \
    if (is_long) [[unlikely]]                                                \
      return ductile::noted_##name arguments;                                \
    return ductile::way_of_##name.load(std::memory_order_relaxed) arguments; \
  }
#include "measured_functions.inc"

}  // extern "C"
