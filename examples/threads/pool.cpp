// A program with a pool of threads of its own, which follows `ductile run --kind threads` by the C
// interface. Only the loop of steps knows of it: it polls between two steps, gives the pool as many
// threads as there are cores, and acknowledges. The output is the same whatever the number of
// threads.
//
//   c++ -std=c++20 -O2 -pthread pool.cpp -o pool -lductile-threads
//   ductile run --kind threads -n 1 -- ./pool STEPS WORK
//
// With 0 for STEPS it computes until it gets SIGUSR1.
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <ductile/threads.h>

namespace {

volatile std::sig_atomic_t is_over = 0;

/// Calls a function for 0 to count - 1; its threads come and go between two calls.
class Pool {
 public:
  ~Pool() { resize(0); }

  /// The calling thread works as well. New threads run where it may.
  void resize(unsigned helpers) {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = helpers;
    }
    work_.notify_all();
    while (threads_.size() > helpers) {
      threads_.back().join();
      threads_.pop_back();
    }
    while (threads_.size() < helpers) {
      const std::size_t number = threads_.size();
      threads_.emplace_back([this, number, seen = round_] { help(number, seen); });
    }
  }

  void run(std::size_t count, const std::function<void(std::size_t)>& call) {
    {
      const std::lock_guard lock(mutex_);
      call_ = &call;
      count_ = count;
      next_ = 0;
      busy_ = threads_.size();
      ++round_;
    }
    work_.notify_all();
    take();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void take() {
    for (std::size_t i = next_++; i < count_; i = next_++) (*call_)(i);
  }

  void help(std::size_t number, unsigned long seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return number >= wanted_ || round_ != seen; });
      if (number >= wanted_) return;
      seen = round_;
      lock.unlock();
      take();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_{};
  std::condition_variable work_{}, done_{};
  std::vector<std::thread> threads_{};
  const std::function<void(std::size_t)>* call_ = nullptr;
  std::size_t count_ = 0, busy_ = 0, wanted_ = 0;
  std::atomic<std::size_t> next_ = 0;
  unsigned long round_ = 0;
};

double compute(double x, long work) {
  for (long i = 0; i < work; ++i) x = std::sin(x) + 0.5 * std::cos(3 * x);
  return x;
}

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::atoi(words[1]) : 1000;
  const long work = count > 2 ? std::atol(words[2]) : 1000;
  std::signal(SIGUSR1, [](int) { is_over = 1; });
  std::array<double, 64> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = 0.01 * static_cast<double>(i);

  Pool pool;
  if (ductile_threads_attach() < 0) std::perror("ductile_threads_attach");
  double sum = 0;
  int step = 0;
  for (; steps > 0 ? step < steps : is_over == 0; ++step) {
    ductile_cores cores;
    if (ductile_threads_poll(&cores) == 1) {
      ductile_threads_keep(&cores);
      pool.resize(cores.cores - 1);
      ductile_threads_acknowledge(&cores);
    }
    pool.run(blocks.size(),
             [&](std::size_t i) { blocks[i] = compute(blocks[i] + 1e-3 * step, work); });
    for (const double block : blocks) sum += block;
  }
  std::printf("%d steps: %a\n", step, sum);
  return 0;
}
