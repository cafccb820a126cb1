// What running jobs send over links that they share, and how much slower they are for it.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "model/links.hpp"

namespace ductile {

class Transfers {
 public:
  /// Of so many bytes/s; they live longer.
  explicit Transfers(std::span<const double> links)
      : links_(links), users_(links.size()), is_changed_(links.size(), false) {}

  /// This is what the job sends from now on; it lives as long as that.
  void set(JobId id, std::span<const Flow> flows);
  /// The jobs that are slower or faster than they were, each with its new speed: what the slowest
  /// of its flows has of what it has where nothing else is sent. So it is 1 where nobody else
  /// sends, unless it sends several things over one link itself. Costs what sends over the links of
  /// those that began or ended, and over links of these, and so on.
  std::vector<std::pair<JobId, double>> settle();

 private:
  struct Sender {
    std::span<const Flow> flows;
    double speed = 1;
  };
  void mark(std::span<const Flow> flows);  // its links

  std::span<const double> links_;
  std::map<JobId, Sender> senders_;
  std::vector<std::set<JobId>> users_;  // of each link
  std::vector<bool> is_changed_;        // since the last call,
  std::vector<std::size_t> changed_;    //   and which
  std::set<JobId> stopped_;             // were slower when they did
};

}  // namespace ductile
