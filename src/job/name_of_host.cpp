#include "job/name_of_host.hpp"

#include <array>
#include <csignal>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <unistd.h>

namespace ductile {

NameOfHost::NameOfHost() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  name_ = name.data();
  // Signals are for the thread that made it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([own_name = name_, is_known = is_known_] {
      addrinfo* found = nullptr;
      if (getaddrinfo(own_name.c_str(), nullptr, nullptr, &found) == 0) freeaddrinfo(found);
      *is_known = true;
    }).detach();
  } catch (const std::system_error&) {
    *is_known_ = true;  // it is not known to be slow
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace ductile
