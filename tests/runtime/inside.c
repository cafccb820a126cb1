// Asks inside of its regions how many threads there may be, and has regions inside of regions.
// Writes for each outer region how many threads it had, and how many of them an inner one moved to
// other processors.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void where(cpu_set_t *set) {
  memset(set, 0, sizeof *set);
  syscall(SYS_sched_getaffinity, 0, sizeof *set, set);
}

int main(void) {
  for (int i = 0; i < 300; ++i) {
    int threads = 0, moved = 0;
#pragma omp parallel reduction(+ : threads, moved)
    {
      cpu_set_t before, after;
      ++threads;
      (void)omp_get_max_threads();
      where(&before);
#pragma omp parallel num_threads(1)
      (void)omp_get_num_procs();
      where(&after);
      moved += !CPU_EQUAL(&before, &after);
    }
    printf("%d %d\n", threads, moved);
    fflush(stdout);
    usleep(5000);
  }
  return 0;
}
