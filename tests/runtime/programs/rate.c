/* What a layer in front of MPI costs at the highest rate of messages, within one run: short stretches of
 * the calls that a program makes (MPI_) in turns with the same calls past any layer (PMPI_), so that
 * what else happens on the machine meets both alike. The messages, of 8 bytes, go in windows from one
 * process to another; a process alone sends to itself.
 *
 *   begun     MPI_Isend and MPI_Irecv, waited for together
 *   blocking  MPI_Send and MPI_Recv, two processes
 *   pingpong  the same, each message the answer to the one before
 *
 * Prints nanoseconds for a message past the layer and through it (medians), the median ratio of two
 * neighbouring stretches, and the processor time of all other threads of all processes as a share of the
 * time that passed. Without a layer both ways are the same functions: the ratio is the noise then.
 * Usage: rate PAIRS [KIND] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, WINDOWS = 32, WARM_UP = 50 };

/* Called through pointers, so that both ways are one code. */
typedef struct {
  int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int (*waitall)(int, MPI_Request *, MPI_Status *);
  int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
  int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
} Calls;

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void window(const Calls *calls, int rank, int size) {
  static char bytes[WINDOW][8], other[8];
  MPI_Request requests[WINDOW], sends[WINDOW];
  MPI_Status statuses[WINDOW];
  for (int k = 0; k < WINDOW; ++k) {
    if (size == 1 || rank == 1) calls->irecv(bytes[k], 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[k]);
    if (rank == 0) calls->isend(other, 8, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD, &sends[k]);
  }
  if (rank == 0) calls->waitall(WINDOW, sends, statuses);
  if (size == 1 || rank == 1) calls->waitall(WINDOW, requests, statuses);
  if (size == 1) return;
  if (rank == 0) calls->recv(other, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) calls->send(bytes[0], 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static void blocking(const Calls *calls, int rank) {
  char bytes[8] = {0};
  for (int k = 0; k < WINDOW; ++k) {
    if (rank == 0) calls->send(bytes, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) calls->recv(bytes, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) calls->recv(bytes, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) calls->send(bytes, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static void pingpong(const Calls *calls, int rank) {
  char bytes[8] = {0};
  for (int k = 0; k < WINDOW; ++k) {
    if (rank == k % 2) calls->send(bytes, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
    else calls->recv(bytes, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static int ascending(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Processor time of the threads of this process that are not this one. */
static double of_other_threads(void) {
  return seconds(CLOCK_PROCESS_CPUTIME_ID) - seconds(CLOCK_THREAD_CPUTIME_ID);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof(double), ascending);
  return values[count / 2];
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int pairs = argc > 1 ? atoi(argv[1]) : 0;
  const char *const kind = argc > 2 ? argv[2] : "begun";
  const int is_blocking = strcmp(kind, "blocking") == 0, is_pingpong = strcmp(kind, "pingpong") == 0;
  const int is_begun = strcmp(kind, "begun") == 0;
  if (size > 2 || pairs < 1 || (!is_begun && !(size == 2 && (is_blocking || is_pingpong)))) {
    fprintf(stderr, "usage: rate PAIRS [begun|blocking|pingpong], with two processes, or one for begun\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const volatile Calls ways[2] = {
      {PMPI_Isend, PMPI_Irecv, PMPI_Waitall, PMPI_Send, PMPI_Recv},
      {MPI_Isend, MPI_Irecv, MPI_Waitall, MPI_Send, MPI_Recv}};
  double *const times[2] = {malloc((size_t)pairs * sizeof(double)),
                            malloc((size_t)pairs * sizeof(double))};
  double *const ratios = malloc((size_t)pairs * sizeof(double));
  double begin = 0, threads = 0;
  for (int pair = -WARM_UP; pair < pairs; ++pair) {
    if (pair == 0) {
      begin = seconds(CLOCK_MONOTONIC);
      threads = of_other_threads();
    }
    for (int half = 0; half < 2; ++half) {
      const int way = (half + pair) & 1; /* who is first changes, too */
      const Calls calls = ways[way];
      const double from = seconds(CLOCK_MONOTONIC);
      for (int i = 0; i < WINDOWS; ++i) {
        if (is_begun) window(&calls, rank, size);
        if (is_blocking) blocking(&calls, rank);
        if (is_pingpong) pingpong(&calls, rank);
      }
      if (pair >= 0) times[way][pair] = seconds(CLOCK_MONOTONIC) - from;
    }
    if (pair >= 0) ratios[pair] = times[1][pair] / times[0][pair];
  }
  const double all = seconds(CLOCK_MONOTONIC) - begin;
  threads = of_other_threads() - threads;
  double all_threads = 0;
  PMPI_Reduce(&threads, &all_threads, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%.2f %.2f %.5f %.5f\n", 1e9 / WINDOWS / WINDOW * median(times[0], pairs),
           1e9 / WINDOWS / WINDOW * median(times[1], pairs), median(ratios, pairs), all_threads / all);
  }
  MPI_Finalize();
  return 0;
}
