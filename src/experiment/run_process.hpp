// Runs in copies of this process: those of policies that one process decides for one after the
// other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/time.hpp"
#include "metrics/summary.hpp"

namespace ductile {

/// False at first, and one for this process and all copies that are made of it from now on. Throws
/// RunError.
std::shared_ptr<std::atomic<bool>> shared_flag();

/// A copy of this process (fork) that does one run after the other.
class RunProcess {
 public:
  /// Told now and then: jobs that are over, of how many, and the time simulated.
  using Tell = std::function<void(std::uint64_t jobs_over, std::uint64_t jobs, Time now)>;
  /// Does the run of this number, in the copy, and ends it early at a `stop`.
  using Work =
      std::function<Summary(std::size_t number, const Tell& tell, const std::atomic<bool>& stop)>;

  /// `fork` makes the copy, as fork(2). It has the calling thread alone: no other one may have what
  /// `work` needs. It ends with this thread. Throws RunError where the system refuses.
  RunProcess(pid_t (&fork)(), const Work& work);
  /// Ends it.
  ~RunProcess();
  RunProcess(const RunProcess&) = delete;
  RunProcess& operator=(const RunProcess&) = delete;

  /// Has it do a run. What `work` throws there is thrown here, in the same words; RunError if the
  /// process ends. `stop`, if there is one, is asked here.
  Summary run(std::size_t number, const Tell& tell, const std::atomic<bool>* stop);

 private:
  [[noreturn]] void fail();
  bool has_ended() const;

  int socket_ = -1;
  pid_t child_ = -1;
  std::shared_ptr<std::atomic<bool>> stop_ = shared_flag();
  std::string come_{};
};

}  // namespace ductile
