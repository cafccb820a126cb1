/* Works until a file appears, then checks every element against what it must be by then.
 * Postpones each resize once, if it is to. An iteration takes MICROSECONDS, and SHARED ones divided by
 * the number of processes. Usage: until FILE ELEMENTS [MICROSECONDS [PROBES [SHARED]]] */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t step(uint64_t value) { return value * 6364136223846793005u + 1442695040888963407u; }

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int64_t elements = atoll(argv[2]), cards = 101, block = 3;
  const int pause = (argc > 3 ? atoi(argv[3]) : 2000) + (argc > 5 ? atoi(argv[5]) / size : 0);
  const int later = argc > 4 ? atoi(argv[4]) : 0;
  int64_t meeting = -1;
  int64_t begin, end;
  ductile_block(elements, rank, size, &begin, &end);
  const int64_t mine = ductile_cyclic_count(cards, block, rank, size);
  uint64_t *values = malloc((size_t)(end - begin + 1) * sizeof *values);
  float *dealt = calloc((size_t)mine + 1, sizeof *dealt);
  struct {
    int64_t iteration;
    char text[1000];
  } state = {0, "the same everywhere"};
  ductile_add_replicated("state", &state, sizeof state);
  ductile_add_block("values", (void **)&values, sizeof *values, elements, 0);
  ductile_add_cyclic("dealt", (void **)&dealt, sizeof *dealt, cards, block);
  ductile_join();
  for (int64_t i = begin; i < end && !is_joining; ++i) values[i - begin] = (uint64_t)i;
  for (int64_t i = 0; i < mine && !is_joining; ++i)
    dealt[i] = (float)((i / block * size + rank) * block + i % block);

  for (int done = 0; !done; ++state.iteration) {
    if (ductile_probe() == DUCTILE_ADAPT) {
      if (later > 0 && state.iteration != meeting) {
        ductile_postpone(later);
        meeting = state.iteration + later;
      } else if (ductile_adapt() == DUCTILE_LEAVE) {
        ductile_finalize();
        return 0;
      }
    }
    /* A part of the elements, so that large arrays do not take long. */
    for (int64_t i = begin; i < end && i < 1000; ++i) values[i - begin] = step(values[i - begin]);
    for (int64_t i = 0; i < mine; ++i) dealt[i] += 1;
    usleep((useconds_t)pause);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, comm);
  }

  int64_t wrong[2] = {0, 0}, all[2];
  for (int64_t i = begin; i < end; ++i) {
    uint64_t value = (uint64_t)i;
    for (int64_t k = 0; k < state.iteration && i < 1000; ++k) value = step(value);
    wrong[0] += value != values[i - begin];
  }
  for (int64_t i = 0; i < mine; ++i)
    wrong[1] += dealt[i] != (float)((i / block * size + rank) * block + i % block + state.iteration);
  MPI_Reduce(wrong, all, 2, MPI_INT64_T, MPI_SUM, 0, comm);
  if (rank == 0 && all[0] + all[1] == 0 && state.iteration > 0) printf("right\n");
  if (rank == 0 && all[0] + all[1] != 0)
    printf("wrong: %lld values, %lld dealt\n", (long long)all[0], (long long)all[1]);
  ductile_finalize();
  int is_finalized[2] = {0, 0};
  MPI_Finalized(&is_finalized[0]);
  PMPI_Finalized(&is_finalized[1]);
  if (!is_finalized[0] || !is_finalized[1]) printf("not finalized\n");
  return 0;
}
