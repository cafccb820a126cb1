#include "slurm/end_signals.hpp"

#include <csignal>

#include <poll.h>
#include <sys/signalfd.h>

namespace ductile {

EndSignals::EndSignals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  signals_ = Descriptor(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool EndSignals::come_within(std::chrono::milliseconds time) const {
  pollfd one{.fd = signals_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace ductile
