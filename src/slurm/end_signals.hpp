// How a command that looks at something at times is ended.
#pragma once

#include <chrono>

#include "job/socket.hpp"

namespace ductile {

/// SIGTERM and SIGINT, which end nothing by themselves once one of these was made.
class EndSignals {
 public:
  EndSignals();
  /// Waits so long for one of them. Has one come?
  bool come_within(std::chrono::milliseconds time) const;

 private:
  Descriptor signals_;
};

}  // namespace ductile
