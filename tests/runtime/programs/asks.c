/* Asks for these numbers of processes in turn, a thousand times a second, until the file STOP
 * appears, whatever the answers are; says when it is denied for the first time. Now and then it
 * waits a second for an answer: on a busy machine they take that long.
 * Usage: asks STOP SIZE... */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  int rank;
  MPI_Comm_rank(ductile_comm(), &rank);
  struct {
    int64_t iteration, denied;
  } state = {0, 0};
  ductile_add_replicated("state", &state, sizeof state);
  ductile_join();
  for (int done = 0; !done; ++state.iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    const int size = atoi(argv[2 + state.iteration % (argc - 2)]);
    ductile_request(size, size);
    int offer = ductile_offer();
    const int patience = rank == 0 && state.iteration % 100 == 99 ? 1000 : 0;
    for (int i = 0; i < patience && offer < 0; ++i) {
      usleep(1000);
      offer = ductile_offer();
    }
    if (offer == 0 && state.denied++ == 0) puts("one was denied");
    fflush(stdout);
    usleep(1000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  ductile_finalize();
  return 0;
}
