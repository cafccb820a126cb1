/* A job of a workload, as it would be: it computes nothing, and takes as long as it is told for
 * each number of processes. Malleable, and evolving where it is told what to ask for. `ductile
 * workload play` runs it.
 *
 * Usage: timed SMALLEST SECONDS,SECONDS,... [DONE:MORE:AT_LEAST[:again]]...
 *
 * It takes so many seconds with SMALLEST processes, with one more, and so on. When the share DONE
 * of its work is done it asks for MORE processes (fewer, if that is negative), of which AT_LEAST
 * will do; with `again` only if its last request was not granted. */
#include <ductile/app.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Between two scheduling points. */
static const double kStep_s = 0.05;

struct request {
  double done;
  int more, at_least, is_again;
};

static void wrong(int rank, const char* what) {
  if (rank == 0)
    fprintf(stderr,
            "timed: '%s'\nusage: timed SMALLEST SECONDS,... [DONE:MORE:AT_LEAST[:again]]...\n",
            what);
  ductile_finalize();
  exit(2);
}

/* To `end_s` of the clock that nobody sets: what was slept too long is not added up. */
static void sleep_until(double end_s) {
  struct timespec end = {(time_t)end_s, 0};
  end.tv_nsec = (long)((end_s - (double)end.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
  }
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int clipped(int value, int least, int most) {
  return value < least ? least : value > most ? most : value;
}

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 3) wrong(rank, argc < 2 ? "" : argv[1]);

  const int smallest = atoi(argv[1]);
  if (smallest < 1) wrong(rank, argv[1]);
  double all_s = 0; /* of this size */
  int largest = smallest - 1;
  for (const char* at = argv[2]; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    const double seconds = strtod(at, NULL);
    if (!(seconds > 0)) wrong(rank, argv[2]);
    if (++largest == size) all_s = seconds;
  }
  if (all_s == 0) wrong(rank, "there is no time for this number of processes");
  const int count = argc - 3;
  struct request* requests = calloc((size_t)count + 1, sizeof *requests);
  for (int i = 0; i < count; ++i) {
    char again[8] = "";
    struct request* its = &requests[i];
    const int read =
        sscanf(argv[i + 3], "%lf:%d:%d:%7s", &its->done, &its->more, &its->at_least, again);
    its->is_again = read == 4;
    if (read < 3 || (read == 4 && strcmp(again, "again") != 0)) wrong(rank, argv[i + 3]);
  }

  struct {
    double done; /* of the work, 0 to 1 */
    int requests;
  } state = {0, 0};
  ductile_sizes(smallest, largest, "any");
  ductile_add_replicated("state", &state, sizeof state);
  ductile_join();

  /* Rank 0 asks and hears. Another generation begins where a request was granted. */
  int is_denied = 0;
  const double begin_s = now_s();
  double slept_s = 0;
  while (state.done < 1 - 1e-9) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    if (ductile_offer() >= 0) is_denied = 1;
    for (; state.requests < count && requests[state.requests].done <= state.done + 1e-9;
         ++state.requests) {
      const struct request* its = &requests[state.requests];
      if (its->is_again) MPI_Bcast(&is_denied, 1, MPI_INT, 0, comm);
      const int wanted = clipped(size + its->more, smallest, largest);
      if (wanted == size || (its->is_again && !is_denied)) continue;
      const int least = its->more < 0 ? wanted : clipped(size + its->at_least, size, wanted);
      is_denied = 0;
      if (rank == 0) ductile_request(least, wanted);
    }
    /* The same on all processes, so that they probe equally often. */
    const double next = state.requests < count ? fmin(requests[state.requests].done, 1) : 1;
    const double step_s = fmin(kStep_s, (next - state.done) * all_s);
    slept_s += step_s;
    sleep_until(begin_s + slept_s);
    state.done = step_s < kStep_s ? next : state.done + step_s / all_s;
  }
  free(requests);
  ductile_finalize();
  return 0;
}
