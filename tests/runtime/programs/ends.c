/* Computes until the file STOP appears, and is resized meanwhile. Then, and where it leaves, it
 * comes to its end as STEPS say, one letter after the other: f  ductile_finalize()            m
 * MPI_Finalize()          c  MPI_Finalize() unless MPI_Finalized() w  works for SECONDS and writes
 * what it has found to FOLDER/GENERATION.RANK; W on the last rank only F  MPI_FINALIZE of Fortran, compiled with FORTRAN a  atexit() of w b  atexit()
 * of c t  exit(CODE) in another thread  u  _exit(CODE)             r  return CODE from main()
 * Usage: ends STOP FOLDER STEPS SECONDS CODE */
#include <ductile/app.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef FORTRAN
void mpi_finalize_(int* error);
#else
static void mpi_finalize_(int* error) { *error = MPI_Finalize(); }
#endif

static char found[4096];
static int seconds, code, rank, size;

static void work(void) {
  sleep((unsigned)seconds);
  FILE* file = fopen(found, "w");
  fputs("found\n", file);
  fclose(file);
}

static void finalize_if_not(void) {
  int is_finalized;
  MPI_Finalized(&is_finalized);
  if (!is_finalized) MPI_Finalize();
}

static void* leave(void* unused) {
  (void)unused;
  exit(code);
}

static int end(const char* steps) {
  for (; *steps != '\0'; ++steps) {
    pthread_t thread;
    if (*steps == 'f') ductile_finalize();
    if (*steps == 'm') MPI_Finalize();
    int error;
    if (*steps == 'F') mpi_finalize_(&error);
    if (*steps == 'c') finalize_if_not();
    if (*steps == 'w' || (*steps == 'W' && rank == size - 1)) work();
    if (*steps == 'a') atexit(work);
    if (*steps == 'b') atexit(finalize_if_not);
    if (*steps == 't') {
      pthread_create(&thread, NULL, leave, NULL);
      for (;;) pause();
    }
    if (*steps == 'u') _exit(code);
  }
  return code;
}

int main(int argc, char** argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm_rank(ductile_comm(), &rank);
  MPI_Comm_size(ductile_comm(), &size);
  snprintf(found, sizeof found, "%s/%d.%d", argv[2], ductile_generation(), rank);
  seconds = atoi(argv[4]);
  code = atoi(argv[5]);
  int64_t iteration = 0;
  ductile_add_replicated("iteration", &iteration, sizeof iteration);
  ductile_join();
  if (rank == 0 && !is_joining) printf("begins\n");
  for (int done = 0; !done; ++iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) return end(argv[3]);
    usleep(10000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  if (rank == 0) printf("ends\n");
  return end(argv[3]);
}
