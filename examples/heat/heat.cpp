// One-dimensional heat conduction with the C++ interface. Prints a sum, which is the same bits at
// any number of processes, resized or not. Usage: heat POINTS STEPS [MILLISECONDS a step]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <ductile/app.hpp>

int main(int argc, char** argv) {
  ductile::app::Job job(argc, argv);
  const std::int64_t points = argc > 1 ? std::atoll(argv[1]) : 1000;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 100;
  const std::chrono::milliseconds pause(argc > 3 ? std::atoi(argv[3]) : 0);

  int step = 0;
  ductile::app::Block<double> now(job, "now", points, 1);
  ductile::app::Block<double> next(job, "next", points, 1);
  ductile::app::Cyclic<int> visits(job, "visits", points, 3);
  job.replicate("step", step);
  // The history, a little of which each process keeps for all.
  std::vector<int> log;
  const auto give = [&](int to, int) {
    return std::span<const int>(log).first(to == 0 ? log.size() : 0);
  };
  const auto take = [&](int, int, std::span<const int> more) {
    log.insert(log.end(), more.begin(), more.end());
  };
  job.pack<int>("log", give, take);
  job.sizes(1, 6);
  if (job.begin()) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      now[i] = std::sin(0.01 * static_cast<double>(now.begin() + static_cast<std::int64_t>(i)));
    }
  }

  const int left = job.rank() > 0 ? job.rank() - 1 : MPI_PROC_NULL;
  const int right = job.rank() + 1 < job.size() ? job.rank() + 1 : MPI_PROC_NULL;
  for (; step < steps; ++step) {
    if (job.must_leave()) return 0;
    const auto all = now.with_halo();
    const int last = static_cast<int>(all.size()) - 2;
    MPI_Sendrecv(&all[1], 1, MPI_DOUBLE, left, 0, &all[last + 1], 1, MPI_DOUBLE, right, 0,
                 job.comm(), MPI_STATUS_IGNORE);
    MPI_Sendrecv(&all[last], 1, MPI_DOUBLE, right, 0, &all[0], 1, MPI_DOUBLE, left, 0, job.comm(),
                 MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < now.size(); ++i) {
      next[i] = all[i + 1] + 0.25 * (all[i] - 2 * all[i + 1] + all[i + 2]);
    }
    swap(now, next);
    for (int& visit : visits.own()) ++visit;
    if (job.rank() == 0) log.push_back(step);
    if (job.rank() == 0) std::this_thread::sleep_for(pause);
  }

  bool is_right = true;
  for (const int visit : visits.own()) is_right = is_right && visit == steps;
  if (job.rank() == 0) is_right = is_right && log.size() == static_cast<std::size_t>(steps);
  int all_right = is_right, count = 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_right, 1, MPI_INT, MPI_LAND, job.comm());
  // In one order, whatever the number of processes.
  double sum = 0;
  if (left != MPI_PROC_NULL) {
    MPI_Recv(&sum, 1, MPI_DOUBLE, left, 1, job.comm(), MPI_STATUS_IGNORE);
    MPI_Recv(&count, 1, MPI_INT, left, 1, job.comm(), MPI_STATUS_IGNORE);
  }
  for (const double value : now.own()) sum += value;
  count += static_cast<int>(now.size());
  MPI_Send(&sum, 1, MPI_DOUBLE, right, 1, job.comm());
  MPI_Send(&count, 1, MPI_INT, right, 1, job.comm());
  if (right == MPI_PROC_NULL) {
    std::printf("%d points, %s, sum %.17g\n", count, all_right != 0 ? "right" : "WRONG", sum);
  }
  return all_right != 0 ? 0 : 1;
}
