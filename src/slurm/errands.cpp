#include "slurm/errands.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace ductile {

Errands::Errands(How how) : awake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!awake_) throw std::system_error(errno, std::generic_category(), "eventfd");
  if (how == How::at_once) return;
  // Signals are for the thread that makes this.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Errands::~Errands() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Errands::give(Call call) {
  ++given_;
  if (!thread_.joinable()) return make(call);
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  changed_.notify_one();
}

void Errands::make(const Call& call) {
  Return what;
  std::exception_ptr error;
  try {
    what = call();
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    returns_.push_back(std::move(what));
    if (error && !error_) error_ = error;
  }
  const std::uint64_t one = 1;
  // It cannot fail but for a counter that is full, and then it is awake.
  (void)!write(awake_.get(), &one, sizeof one);
}

void Errands::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || !calls_.empty(); });
    if (ends_) return;
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    make(call);
  }
}

void Errands::take() {
  std::uint64_t count = 0;
  (void)!read(awake_.get(), &count, sizeof count);
  while (true) {
    Return what;
    {
      const std::lock_guard lock(mutex_);
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      if (returns_.empty()) return;
      what = std::move(returns_.front());
      returns_.pop_front();
    }
    ++taken_;
    if (what) what();
  }
}

}  // namespace ductile
