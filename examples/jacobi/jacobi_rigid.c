/* Jacobi iteration for the heat on a square plate, rows distributed over the processes.
 * Usage: jacobi_rigid ROWS COLUMNS ITERATIONS [MILLISECONDS_PER_ITERATION] */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 4) {
    if (rank == 0) fprintf(stderr, "usage: %s ROWS COLUMNS ITERATIONS [MILLISECONDS]\n", argv[0]);
    MPI_Abort(comm, 2);
  }
  const int64_t rows = atoll(argv[1]), columns = atoll(argv[2]), iterations = atoll(argv[3]);
  const int milliseconds = argc > 4 ? atoi(argv[4]) : 0;

  /* Own rows with one ghost row above and one below. */
  int64_t begin = rows * rank / size, end = rows * (rank + 1) / size;
  const int64_t own = end - begin;
  const size_t bytes = (size_t)((own + 2) * columns) * sizeof(double);
  double *now = calloc(1, bytes), *next = calloc(1, bytes);
  int64_t iteration = 0;

  for (int64_t i = 0; i < own; ++i)
    for (int64_t j = 0; j < columns; ++j)
      now[(i + 1) * columns + j] = ((begin + i) * 7919 + j * 104729) % 1000 / 10.0;

  const int up = rank > 0 && own > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank < size - 1 && own > 0 ? rank + 1 : MPI_PROC_NULL;
  for (; iteration < iterations; ++iteration) {
    const int width = (int)columns;
    MPI_Sendrecv(now + columns, width, MPI_DOUBLE, up, 0, now + (own + 1) * columns, width,
                 MPI_DOUBLE, down, 0, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(now + own * columns, width, MPI_DOUBLE, down, 1, now, width, MPI_DOUBLE, up, 1,
                 comm, MPI_STATUS_IGNORE);
    double change = 0, largest;
    for (int64_t i = 1; i <= own; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const double *u = now + i * columns + j;
        const double left = j > 0 ? u[-1] : 0, right = j < columns - 1 ? u[1] : 0;
        next[i * columns + j] = 0.25 * (u[-columns] + u[columns] + left + right);
        change = fmax(change, fabs(next[i * columns + j] - *u));
      }
    MPI_Reduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    if (rank == 0 && iteration % 100 == 0)
      printf("iteration %lld change %.17g\n", (long long)iteration, largest);
    double *swap = now;
    now = next;
    next = swap;
    if (milliseconds > 0) usleep((useconds_t)milliseconds * 1000);
  }

  /* A checksum that sees every bit of every value and does not depend on the order. */
  uint64_t sum = 0, total;
  for (int64_t i = 0; i < own * columns; ++i) {
    uint64_t bits;
    memcpy(&bits, now + columns + i, sizeof bits);
    sum += (bits ^ (uint64_t)(begin * columns + i)) * 0x9E3779B97F4A7C15u >> 7;
  }
  MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, comm);
  if (rank == 0) printf("checksum %016llx\n", (unsigned long long)total);
  free(now);
  free(next);
  MPI_Finalize();
  return 0;
}
