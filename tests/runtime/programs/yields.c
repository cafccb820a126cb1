/* Works until a file appears. Whether Open MPI's processes that wait let others go first, as the
 * library has it now (-1: not Open MPI), goes to the file STATE.GENERATION.RANK, a character at
 * each change. Usage: yields FILE STATE */
#include <dlfcn.h>
#include <ductile/app.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  MPI_Comm comm = ductile_comm();
  int rank, done = 0;
  MPI_Comm_rank(comm, &rank);
  ductile_add_replicated("done", &done, sizeof done);
  ductile_join();
  const volatile bool* const yields = dlsym(RTLD_DEFAULT, "opal_progress_yield_when_idle");
  char name[4096];
  snprintf(name, sizeof name, "%s.%d.%d", argv[2], ductile_generation(), rank);
  FILE* const state = fopen(name, "w");
  for (int last = -2; !done;) {
    const int now = yields == NULL ? -1 : *yields;
    if (now != last) fprintf(state, "%d ", last = now), fflush(state);
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) break;
    usleep(1000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, comm);
  }
  ductile_finalize();
  return 0;
}
