// The resizes of a job as a timeline, a Chrome trace: who waited for what, a row for the phases of
// the manager and one for each process.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "job/resize.hpp"

namespace ductile {

class ResizeTrace {
 public:
  using Clock = Resize::Clock;

  /// Times are from `begin` on.
  explicit ResizeTrace(Clock::time_point begin) : begin_(begin) {}
  /// One that is over; the nodes of the generation that lost were free at `freed`, if they are.
  void add(const Resize& resize, std::optional<Clock::time_point> freed);
  /// False if the file cannot be written.
  bool write(const std::string& path) const;
  const nlohmann::ordered_json& events() const { return events_; }

 private:
  Clock::time_point begin_;
  nlohmann::ordered_json events_ = nlohmann::ordered_json::array();
};

}  // namespace ductile
