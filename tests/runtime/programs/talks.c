/* A new process 0 writes many lines before it joins: how many is told after. Then HOW: "joins";
 * "waits" for ever before it joins, "cannot" unpack its data. Usage: talks STOP LINES HOW */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* how;

static int pack(void* user, int to, int size, const void** data, size_t* bytes) {
  (void)to, (void)size;
  *data = user;
  *bytes = 1;
  return 0;
}
static int unpack(void* user, int from, int size, const void* data, size_t bytes) {
  (void)user, (void)from, (void)size, (void)data, (void)bytes;
  if (strcmp(how, "cannot") != 0) return 0;
  printf("this byte is wrong\n");
  fprintf(stderr, "no use for this byte\n");
  return 1;
}

int main(int argc, char** argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  const int lines = atoi(argv[2]);
  how = argv[3];
  int rank;
  MPI_Comm_rank(ductile_comm(), &rank);
  if (is_joining && rank == 0) {
    for (int i = 0; i < lines; ++i) printf("%d: %0*d\n", ductile_generation(), 100, i);
    if (strcmp(how, "waits") == 0) fflush(stdout);
  }
  while (is_joining && strcmp(how, "waits") == 0) pause();
  char byte = 0;
  ductile_add_packed("byte", pack, unpack, &byte);
  ductile_join();
  for (int done = 0; !done;) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) break;
    usleep(2000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  if (rank == 0) printf("generation %d ends\n", ductile_generation());
  ductile_finalize();
  return 0;
}
