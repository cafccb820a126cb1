/* Registers data as few programs do, and says what became of it.
 * Usage: strange (empty|late|null|large|sizes) FILE; it goes on until there is such a file. */
#include <ductile/app.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  int rank, size, step = 0, one = 1, result = 0;
  MPI_Comm_rank(ductile_comm(), &rank);
  MPI_Comm_size(ductile_comm(), &size);
  const char* what = argv[1];
  double* values = NULL;
  int64_t count = 0, begin = 0, end = 0;
  ductile_add_replicated("step", &step, sizeof step);
  if (!strcmp(what, "empty")) result = ductile_add_replicated("nothing", NULL, 0);
  if (!strcmp(what, "null")) ductile_add_cyclic("lost", (void**)&values, sizeof *values, 1000, 1);
  if (!strcmp(what, "large")) { /* all in one block, which rank 0 has */
    count = ductile_cyclic_count(3, INT64_MAX, rank, size);
    values = malloc(sizeof *values * (size_t)(count + 1));
    for (int64_t i = 0; i < count && !is_joining; ++i) values[i] = 7;
    ductile_add_cyclic("large", (void**)&values, sizeof *values, 3, INT64_MAX);
  }
  if (!strcmp(what, "sizes")) {
    result = (int)ductile_cyclic_count(10, 0, 0, 2) + (int)ductile_cyclic_count(10, 1, 2, 2);
    ductile_block(10, 0, 0, &begin, &end);
    result += (int)(begin + end) + ductile_add_block("far", (void**)&values, 8, 1, INT64_MAX);
  }
  ductile_join();
  if (!strcmp(what, "late")) result = ductile_add_replicated("late", &one, sizeof one);
  if (!is_joining && rank == 0) printf("%d\n", result);

  for (int go_on = 1; go_on; ++step) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    go_on = access(argv[2], F_OK) != 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, ductile_comm());
    usleep(5000);
  }
  for (int64_t i = 0; i < count; ++i)
    if (values[i] != 7) printf("not as it was\n");
  if (rank == 0) printf("size %d, %d elements\n", size, (int)count);
  ductile_finalize();
  return 0;
}
