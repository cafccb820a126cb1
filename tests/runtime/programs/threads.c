/* Where the OpenMP threads of each process may run: prints host, rank, thread and processors.
 * Usage: threads */
#define _GNU_SOURCE
#include <ductile/app.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  ductile_init(&argc, &argv);
  int rank;
  char host[64];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  gethostname(host, sizeof host);
#pragma omp parallel
  {
    char text[1024];
    int at = snprintf(text, sizeof text, "%s %d %d", host, rank, omp_get_thread_num());
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && at < 1000; ++cpu) {
      if (CPU_ISSET(cpu, &set)) at += snprintf(text + at, sizeof text - (size_t)at, " %d", cpu);
    }
    strcat(text, "\n");
    fputs(text, stdout);
  }
  ductile_finalize();
  return 0;
}
