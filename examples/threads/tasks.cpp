// A program of oneTBB, which follows `ductile run --kind threads` by the C interface: between two
// steps it sets how many threads oneTBB may use. The output is the same whatever the number of
// threads.
//
//   c++ -std=c++20 -O2 tasks.cpp -o tasks -lductile-threads -ltbb
//   ductile run --kind threads -n 1 -- ./tasks STEPS WORK
//
// With 0 for STEPS it computes until it gets SIGUSR1.
#include <array>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <ductile/threads.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

namespace {

volatile std::sig_atomic_t is_over = 0;

/// What the program has, and its threads of oneTBB keep to. They live on, so that each is told when
/// it comes back.
ductile_cores cores{.cores = 1, .sequence = 0, .cpus = {}};

class Keeper : public tbb::task_scheduler_observer {
 public:
  explicit Keeper(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  void on_scheduler_entry(bool) override { ductile_threads_keep(&cores); }
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

  if (ductile_threads_attach() < 0) std::perror("ductile_threads_attach");
  std::unique_ptr<tbb::global_control> most;  // more threads than the arena has slots never come
  auto arena = std::make_unique<tbb::task_arena>(1);
  auto keeper = std::make_unique<Keeper>(*arena);
  double sum = 0;
  int step = 0;
  for (; steps > 0 ? step < steps : is_over == 0; ++step) {
    if (ductile_threads_poll(&cores) == 1) {
      ductile_threads_keep(&cores);
      keeper.reset();
      arena.reset();
      most.reset();
      most = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                   cores.cores);
      arena = std::make_unique<tbb::task_arena>(static_cast<int>(cores.cores));
      keeper = std::make_unique<Keeper>(*arena);
      ductile_threads_acknowledge(&cores);
    }
    arena->execute([&] {
      tbb::parallel_for(std::size_t{0}, blocks.size(),
                        [&](std::size_t i) { blocks[i] = compute(blocks[i] + 1e-3 * step, work); });
    });
    for (const double block : blocks) sum += block;
  }
  std::printf("%d steps: %a\n", step, sum);
  return 0;
}
