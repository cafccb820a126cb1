// A thread of ours inside a program of somebody else.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace ductile {

/// Runs `body` in a thread that gets no signals: these are for the program's own threads.
template <class Body>
std::thread quiet_thread(Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace ductile
