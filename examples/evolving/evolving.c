/* An evolving program, as in paper 001: after 16 % of its work it asks for four more processes; if it does
 * not get them, once more after 25 %. A counter-offer is taken.
 * Usage: evolving STEPS [MILLISECONDS_PER_STEP] */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MORE = 4 };

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 2) {
    if (rank == 0) fprintf(stderr, "usage: %s STEPS [MILLISECONDS]\n", argv[0]);
    MPI_Abort(comm, 2);
  }
  const int steps = atoi(argv[1]), pause = argc > 2 ? atoi(argv[2]) : 0;
  struct {
    int step;
    uint64_t work;
  } state = {0, 1};
  ductile_add_replicated("state", &state, sizeof state);
  ductile_join();
  if (rank == 0 && is_joining) printf("goes on with %d processes\n", size);
  /* Only rank 0 asks and hears; what it remembers of that is not for the next generation. */
  int asked = is_joining ? 2 : 0, denied = 0;

  for (; state.step < steps; ++state.step) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    const int percent = 100 * state.step / steps;
    if (rank == 0 && ((asked == 0 && percent >= 16) || (asked == 1 && denied && percent >= 25))) {
      ++asked;
      printf("asks for %d processes\n", size + MORE);
      ductile_request(size + MORE, size + MORE);
    }
    const int offer = ductile_offer();
    if (offer == 0) {
      denied = 1;
      printf("denied\n");
    }
    if (offer > 0) {
      printf("is offered %d processes, and takes them\n", offer);
      ductile_request(offer, offer);
    }
    state.work = state.work * 6364136223846793005u + 1442695040888963407u;
    if (pause > 0) usleep((useconds_t)pause * 1000);
  }
  if (rank == 0) printf("result %016llx\n", (unsigned long long)state.work);
  ductile_finalize();
  return 0;
}
