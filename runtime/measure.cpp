// libductile-measure: how much of its time a program spends in MPI, without a change to the
// program. Preloaded, it stands in front of the functions of MPI that may wait. Each notes that it
// was entered and left, which costs two stores; a thread looks at the note 100 times a second. The
// share of looks that find the program in MPI is the share of time, with a standard error of at
// most 5 % after one second of one process.
//
// The measure is that of paper 003, IV-D: performance measurement of MPI time to compute time,
// MTCT.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <mpi.h>

#include "job/protocol.hpp"
#include "job/socket.hpp"
#include "quiet_thread.hpp"

#define DUCTILE_EXPORT __attribute__((visibility("default")))

namespace ductile {
namespace {

constexpr std::chrono::milliseconds kLook{10};
constexpr std::uint32_t kLooksPerMessage = 50;

std::atomic<int> in_mpi{0};

/// Is the program in MPI? Two stores for each call and nothing else, no destructor either: a
/// message takes MPI a thousand instructions. Should an MPI call itself by its public names, what
/// follows an inner call does not count.
void note(int is_in_mpi) { in_mpi.store(is_in_mpi, std::memory_order_relaxed); }

class Watcher {
 public:
  Watcher(const std::string& manager, const wire::Token& token, std::uint32_t generation,
          std::uint32_t rank, std::uint32_t size)
      : socket_(connect_tcp(manager, std::chrono::seconds(5))), generation_(generation) {
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
      std::this_thread::sleep_for(kLook);
      ++measured.looks;
      if (in_mpi.load(std::memory_order_relaxed) != 0) ++measured.in_mpi;
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
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    watcher() = std::make_unique<Watcher>(manager, *token,
                                          static_cast<std::uint32_t>(std::strtoul(
                                              variable("DUCTILE_GENERATION").c_str(), nullptr, 10)),
                                          static_cast<std::uint32_t>(rank),
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
  return PMPI_Finalize();
}

#define DUCTILE_WRAP(name, parameters, arguments) \
  DUCTILE_EXPORT int MPI_##name parameters {      \
    ductile::note(1);                             \
    const int result = PMPI_##name arguments;     \
    ductile::note(0);                             \
    return result;                                \
  }
#include "measured_functions.inc"

}  // extern "C"
