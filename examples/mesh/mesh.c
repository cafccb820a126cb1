/* A mesh on a line that refines itself where a wave passes, so that no process knows in advance how many
 * cells it will have: the program packs them itself. Cells are kept by the process that their
 * position belongs to.
 * Usage: mesh COARSE_CELLS STEPS [MILLISECONDS_PER_STEP] */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
  int64_t parent; /* coarse cell */
  int32_t level, part;
  uint64_t value;
} Cell;

typedef struct {
  int64_t coarse, count, room;
  Cell *cells;
  Cell *packed;
} Mesh;

static void add(Mesh *mesh, Cell cell) {
  if (mesh->count == mesh->room) {
    mesh->room = 2 * mesh->room + 16;
    mesh->cells = realloc(mesh->cells, (size_t)mesh->room * sizeof(Cell));
  }
  mesh->cells[mesh->count++] = cell;
}

static int pack(void *user, int to, int size, const void **data, size_t *bytes) {
  Mesh *mesh = user;
  int64_t begin, end, count = 0;
  ductile_block(mesh->coarse, to, size, &begin, &end);
  free(mesh->packed);
  mesh->packed = malloc((size_t)(mesh->count + 1) * sizeof(Cell));
  for (int64_t i = 0; i < mesh->count; ++i)
    if (mesh->cells[i].parent >= begin && mesh->cells[i].parent < end)
      mesh->packed[count++] = mesh->cells[i];
  *data = mesh->packed;
  *bytes = (size_t)count * sizeof(Cell);
  return 0;
}

static int unpack(void *user, int from, int size, const void *data, size_t bytes) {
  const Cell *cells = data;
  (void)from, (void)size;
  for (size_t i = 0; i < bytes / sizeof(Cell); ++i) add(user, cells[i]);
  return 0;
}

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 3) {
    if (rank == 0) fprintf(stderr, "usage: %s COARSE_CELLS STEPS [MILLISECONDS]\n", argv[0]);
    MPI_Abort(comm, 2);
  }
  Mesh mesh = {.coarse = atoll(argv[1])};
  const int64_t steps = atoll(argv[2]);
  const int pause = argc > 3 ? atoi(argv[3]) : 0;
  int64_t step = 0, begin, end;
  ductile_add_replicated("step", &step, sizeof step);
  ductile_add_packed("cells", pack, unpack, &mesh);
  ductile_join();
  ductile_block(mesh.coarse, rank, size, &begin, &end);
  for (int64_t i = begin; i < end && !is_joining; ++i) add(&mesh, (Cell){i, 0, 0, (uint64_t)i});

  for (; step < steps; ++step) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    /* Where the wave is, cells split in two, up to three times; what it has left melts together. */
    const int64_t wave = step % mesh.coarse, count = mesh.count;
    Cell *cells = mesh.cells;
    mesh.cells = NULL;
    mesh.count = mesh.room = 0;
    for (int64_t i = 0; i < count; ++i) {
      Cell cell = cells[i];
      cell.value = cell.value * 6364136223846793005u + (uint64_t)step;
      const int64_t distance = llabs(cell.parent - wave);
      if (distance <= 2 && cell.level < 3) {
        add(&mesh, (Cell){cell.parent, cell.level + 1, 2 * cell.part, cell.value});
        add(&mesh, (Cell){cell.parent, cell.level + 1, 2 * cell.part + 1, ~cell.value});
      } else if (distance > 2 && cell.level > 0) {
        if (cell.part % 2 == 0) add(&mesh, (Cell){cell.parent, cell.level - 1, cell.part / 2, cell.value});
      } else {
        add(&mesh, cell);
      }
    }
    free(cells);
    if (pause > 0) usleep((useconds_t)pause * 1000);
  }

  uint64_t mine[2] = {0, (uint64_t)mesh.count}, all[2];
  for (int64_t i = 0; i < mesh.count; ++i) {
    const Cell *cell = mesh.cells + i;
    mine[0] += (cell->value ^ (uint64_t)cell->parent) * (uint64_t)(8 * cell->level + cell->part + 1);
  }
  MPI_Reduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, 0, comm);
  if (rank == 0)
    printf("cells %llu checksum %016llx\n", (unsigned long long)all[1], (unsigned long long)all[0]);
  ductile_finalize();
  return 0;
}
