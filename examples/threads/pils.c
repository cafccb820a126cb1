// An OpenMP program that computes all the time, unchanged for Ductile: COUNT blocks in each step, every
// one by some thread. Each block's result is its own and they are added in their order, so that the
// output is the same to the last bit whatever the number of threads.
//
//   cc -O2 -fopenmp pils.c -o pils -lm
//   ductile run --kind threads -n 1 -- ./pils STEPS WORK [say|time]
//
// With 0 for STEPS it computes until it gets SIGUSR1. "time" tells on stderr how much time of processors
// the steps took, "say" how many threads each step had, and on how many processors they may run.
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBlocks = 64 };

static volatile sig_atomic_t is_over;

static void end(int signal) {
  (void)signal;
  is_over = 1;
}

static double compute(double x, long work) {
  for (long i = 0; i < work; ++i) x = sin(x) + 0.5 * cos(3 * x);
  return x;
}

static void say(int step, int threads) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  fprintf(stderr, "step %d threads %d max %d procs %d affinity %d\n", step, threads,
          omp_get_max_threads(), omp_get_num_procs(), CPU_COUNT(&cpus));
}

int main(int count, char **words) {
  const int steps = count > 1 ? atoi(words[1]) : 1000;
  const long work = count > 2 ? atol(words[2]) : 1000;
  const int says = count > 3 && strcmp(words[3], "say") == 0;
  double blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) blocks[i] = 0.01 * i;
  double sum = 0;
  const clock_t begin = clock();
  signal(SIGUSR1, end);
  int step = 0;
  for (; steps > 0 ? step < steps : !is_over; ++step) {
    int threads = 0;
#pragma omp parallel
    {
#pragma omp single nowait
      threads = omp_get_num_threads();
#pragma omp for schedule(dynamic)
      for (int i = 0; i < kBlocks; ++i) blocks[i] = compute(blocks[i] + 1e-3 * step, work);
    }
    for (int i = 0; i < kBlocks; ++i) sum += blocks[i];
    if (says) say(step, threads);
  }
  if (count > 3 && strcmp(words[3], "time") == 0) {
    fprintf(stderr, "time %.6f\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
  }
  printf("%d steps: %a\n", step, sum);
  return 0;
}
