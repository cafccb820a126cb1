/* Holds an array until a file appears, then checks every byte of it. BLOCK elements are dealt to
 * the processes in turn; 0: each has one block of its own; -1: each has one, packed by the program.
 * TIMES gets lines "left GENERATION SECONDS", when the iteration before the resize was over, and
 * "joined GENERATION SECONDS", from each process. Usage: dealt FILE ELEMENTS BYTES BLOCK [TIMES] */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t elements, bytes, block, begin, end;
static int rank, size;
static unsigned char* values;

static int64_t global(int64_t i) {
  return block > 0 ? (i / block * size + rank) * block + i % block : begin + i;
}
static unsigned char byte_of(int64_t element, int64_t at) {
  return (unsigned char)((uint64_t)(element * bytes + at) * 2654435761u >> 13);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int pack(void* user, int to, int to_size, const void** data, size_t* count) {
  (void)user;
  int64_t first, last;
  ductile_block(elements, to, to_size, &first, &last);
  first = larger(first, begin), last = smaller(last, end);
  *data = values + (first - begin) * bytes;
  *count = last > first ? (size_t)((last - first) * bytes) : 0;
  return 0;
}
static int unpack(void* user, int from, int from_size, const void* data, size_t count) {
  (void)user;
  int64_t first, last;
  ductile_block(elements, from, from_size, &first, &last);
  memcpy(values + (larger(first, begin) - begin) * bytes, data, count);
  return 0;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
static void note(const char* file, const char* what, double time) {
  FILE* times = file != NULL ? fopen(file, "a") : NULL;
  if (times == NULL) return;
  fprintf(times, "%s %d %.6f\n", what, ductile_generation(), time);
  fclose(times);
}

int main(int argc, char** argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  elements = atoll(argv[2]), bytes = atoll(argv[3]), block = atoll(argv[4]);
  ductile_block(elements, rank, size, &begin, &end);
  const int64_t mine = block > 0 ? ductile_cyclic_count(elements, block, rank, size) : end - begin;
  values = malloc((size_t)(mine * bytes + 1));
  if (block > 0) ductile_add_cyclic("values", (void**)&values, (size_t)bytes, elements, block);
  if (block == 0) ductile_add_block("values", (void**)&values, (size_t)bytes, elements, 0);
  if (block < 0) ductile_add_packed("values", pack, unpack, NULL);
  ductile_join();
  const char* times = argc > 5 ? argv[5] : NULL;
  if (is_joining) note(times, "joined", now());
  for (int64_t i = 0; i < mine && !is_joining; ++i)
    for (int64_t k = 0; k < bytes; ++k) values[i * bytes + k] = byte_of(global(i), k);
  for (int done = 0; !done;) {
    const double before = now();
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      note(times, "left", before);
      ductile_finalize();
      return 0;
    }
    usleep(2000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, comm);
  }
  int64_t wrong = 0, all = 0;
  for (int64_t i = 0; i < mine; ++i)
    for (int64_t k = 0; k < bytes; ++k) wrong += values[i * bytes + k] != byte_of(global(i), k);
  MPI_Reduce(&wrong, &all, 1, MPI_INT64_T, MPI_SUM, 0, comm);
  if (rank == 0) printf(all == 0 ? "right\n" : "wrong\n");
  ductile_finalize();
  return 0;
}
