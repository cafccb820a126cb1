/* Asks for these numbers of processes in turn, a thousand times a second, until the file STOP
 * appears, whatever the answers are; then says how many there were. Usage: asks STOP SIZE... */
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
    int64_t iteration, denied, offered;
  } state = {0, 0, 0};
  ductile_add_replicated("state", &state, sizeof state);
  ductile_join();
  for (int done = 0; !done; ++state.iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    const int size = atoi(argv[2 + state.iteration % (argc - 2)]);
    ductile_request(size, size);
    const int offer = ductile_offer();
    state.denied += offer == 0;
    state.offered += offer > 0;
    usleep(1000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  if (rank == 0)
    printf("%s, %s\n", state.denied > 0 ? "denied" : "not denied",
           state.offered > 0 ? "offered" : "not offered");
  ductile_finalize();
  return 0;
}
