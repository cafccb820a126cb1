// Runs of a matrix that several processes share, on any machines that see one folder.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "experiment/results_file.hpp"

namespace ductile {

/// Who runs what: a file for each run, made by whoever takes it and touched while he lives. What
/// nobody has touched for a while is taken over, by the clock of who looks: those of several
/// machines need not agree. A run that is taken over while its process only seemed dead is run
/// twice, each in a folder of its own, to the same results. Throws RunError where the system
/// refuses. Any thread may call.
class Claims {
 public:
  /// `who`: a name that no other process has. `patience`: how long a claim may stay untouched.
  Claims(std::filesystem::path folder, std::string who, std::chrono::milliseconds patience);
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Is the run ours from now on? Not if it is over, or another one has it, who seems to live.
  bool take(const PlannedRun& run);
  /// What was taken is over, and its results are kept.
  void over(const PlannedRun& run);
  /// Waits until all runs that others had are over, or there is a stop, and is false then; or until
  /// one can be taken over.
  bool wait_for_others(const std::atomic<bool>* stop = nullptr);

  /// From now on a run is over, or is not, whoever has said so. Nobody claims while that is called.
  static void set_over(const std::filesystem::path& folder, const PlannedRun& run, bool is_over);

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::uint64_t inode = 0;
    std::int64_t touched_ns = 0;
    Clock::time_point since{};
  };

  bool is_dead(const std::filesystem::path& claim);
  void touch_own();

  const std::filesystem::path folder_;
  const std::string who_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::set<std::string> own_, others_;  // names of files
  std::map<std::string, Seen> seen_;    // of others
  std::jthread toucher_;
};

}  // namespace ductile
