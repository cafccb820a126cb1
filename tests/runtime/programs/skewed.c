/* Processes that run far apart: each sends a message per iteration to the next one, which is slower
 * and reads it when it gets there; nothing else holds them together. Without bytes, not even that.
 * Usage: skewed ITERATIONS MICROSECONDS BYTES */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int iterations = atoi(argv[1]), pause = atoi(argv[2]), bytes = atoi(argv[3]);
  const int64_t total = 1000;
  int64_t begin, end;
  ductile_block(total, rank, size, &begin, &end);
  uint64_t *values = malloc((size_t)(end - begin) * sizeof *values);
  int64_t *counts = calloc((size_t)ductile_cyclic_count(37, 3, rank, size), sizeof *counts);
  char *message = calloc(1, (size_t)bytes), *received = malloc((size_t)bytes);
  int iteration = 0;
  ductile_add_replicated("iteration", &iteration, sizeof iteration);
  ductile_add_block("values", (void **)&values, sizeof *values, total, 0);
  ductile_add_cyclic("counts", (void **)&counts, sizeof *counts, 37, 3);
  ductile_join();
  for (int64_t i = 0; i < end - begin && !is_joining; ++i) values[i] = (uint64_t)(begin + i);

  for (; iteration < iterations; ++iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    if (rank > 0 && bytes > 0) {
      MPI_Recv(received, bytes, MPI_BYTE, rank - 1, iteration, comm, MPI_STATUS_IGNORE);
      int sent_in;
      memcpy(&sent_in, received, sizeof sent_in);
      if (sent_in != iteration) MPI_Abort(comm, 1);
    }
    if (bytes > 0) memcpy(message, &iteration, sizeof iteration);
    if (rank < size - 1 && bytes > 0) MPI_Send(message, bytes, MPI_BYTE, rank + 1, iteration, comm);
    for (int64_t i = 0; i < end - begin; ++i)
      values[i] = values[i] * 6364136223846793005u + 1442695040888963407u;
    for (int64_t i = 0; i < ductile_cyclic_count(37, 3, rank, size); ++i) ++counts[i];
    usleep((useconds_t)(pause * (rank + 1)));
  }

  uint64_t sums[2] = {0, 0}, all[2];
  for (int64_t i = 0; i < end - begin; ++i) sums[0] += values[i] ^ (uint64_t)(begin + i);
  for (int64_t i = 0; i < ductile_cyclic_count(37, 3, rank, size); ++i) sums[1] += counts[i];
  MPI_Reduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, 0, comm);
  if (rank == 0)
    printf("checksum %016llx count %llu\n", (unsigned long long)all[0], (unsigned long long)all[1]);
  ductile_finalize();
  return 0;
}
