/* The first process of every generation reads all of its standard input and says how much there
 * was. Usage: reads STOP [again|empty [SAY]]; it says so when there is such a file. */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  int rank, bytes = 0;
  MPI_Comm_rank(ductile_comm(), &rank);
  while (argc > 3 && access(argv[3], F_OK) != 0) usleep(10000);
  if (argc > 2)
    ductile_stdin(strcmp(argv[2], "again") == 0 ? DUCTILE_STDIN_AGAIN : DUCTILE_STDIN_EMPTY);
  if (rank == 0) {
    while (getchar() != EOF) ++bytes;
    printf("generation %d reads %d bytes\n", ductile_generation(), bytes);
  }
  int64_t iteration = 0;
  ductile_add_replicated("iteration", &iteration, sizeof iteration);
  ductile_join();
  for (int done = 0; !done; ++iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) break;
    usleep(10000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  ductile_finalize();
  return 0;
}
