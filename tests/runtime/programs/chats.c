/* Computes for COMPUTE_US in each iteration, here by sleeping, and then sums 1000 numbers over all processes REPEATS
 * times: so one chooses what share of its time is MPI's. Works until a file appears.
 * Usage: chats FILE COMPUTE_US REPEATS */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NUMBERS = 1000 };

int main(int argc, char **argv) {
  ductile_init(&argc, &argv);
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int pause = atoi(argv[2]), repeats = atoi(argv[3]);
  struct {
    int64_t iterations, wrong;
  } state = {0, 0};
  ductile_add_replicated("state", &state, sizeof state);
  ductile_join();
  double mine[NUMBERS], all[NUMBERS];
  for (int i = 0; i < NUMBERS; ++i) mine[i] = i + rank;

  for (int done = 0; !done; ++state.iterations) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    usleep((useconds_t)pause);
    for (int k = 0; k < repeats; ++k) {
      MPI_Allreduce(mine, all, NUMBERS, MPI_DOUBLE, MPI_SUM, comm);
      state.wrong += all[NUMBERS - 1] != (double)size * (NUMBERS - 1) + size * (size - 1) / 2;
    }
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, comm);
  }
  if (rank == 0) printf(state.wrong == 0 && state.iterations > 0 ? "right\n" : "wrong\n");
  ductile_finalize();
  return 0;
}
