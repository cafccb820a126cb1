/* Conjugate gradients for the Poisson equation on a line: three distributed vectors and two scalars go
 * over. The two dot products of an iteration are sums over the processes, so that the last bits
 * depend on the number of processes, as in every MPI program; what is printed does not.
 * Usage: cg UNKNOWNS [MILLISECONDS_PER_ITERATION] */
#include <ductile/app.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double dot(const double *a, const double *b, int64_t n, MPI_Comm comm) {
  double mine = 0, all;
  for (int64_t i = 0; i < n; ++i) mine += a[i] * b[i];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
  return all;
}

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 2) {
    if (rank == 0) fprintf(stderr, "usage: %s UNKNOWNS [MILLISECONDS]\n", argv[0]);
    MPI_Abort(comm, 2);
  }
  const int64_t unknowns = atoll(argv[1]);
  const int pause = argc > 2 ? atoi(argv[2]) : 0;
  int64_t begin, end;
  ductile_block(unknowns, rank, size, &begin, &end);
  const int64_t n = end - begin;
  double *x = calloc((size_t)n + 1, sizeof *x), *r = calloc((size_t)n + 1, sizeof *r);
  double *p = calloc((size_t)n + 2, sizeof *p); /* with a ghost on either side */
  double *q = calloc((size_t)n + 1, sizeof *q);
  struct {
    double residual;
    int iteration;
  } state = {0, 0};
  ductile_add_replicated("state", &state, sizeof state);
  ductile_add_block("x", (void **)&x, sizeof *x, unknowns, 0);
  ductile_add_block("r", (void **)&r, sizeof *r, unknowns, 0);
  ductile_add_block("p", (void **)&p, sizeof *p, unknowns, 1);
  ductile_join();
  if (!is_joining) {
    for (int64_t i = 0; i < n; ++i) p[i + 1] = r[i] = 1;
    state.residual = dot(r, r, n, comm);
  }

  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  for (; state.residual > 1e-16 * (double)unknowns; ++state.iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    p[0] = p[n + 1] = 0;
    MPI_Sendrecv(p + 1, 1, MPI_DOUBLE, left, 0, p + n + 1, 1, MPI_DOUBLE, right, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(p + n, 1, MPI_DOUBLE, right, 1, p, 1, MPI_DOUBLE, left, 1, comm, MPI_STATUS_IGNORE);
    for (int64_t i = 0; i < n; ++i) q[i] = 2 * p[i + 1] - p[i] - p[i + 2];
    const double alpha = state.residual / dot(p + 1, q, n, comm);
    for (int64_t i = 0; i < n; ++i) x[i] += alpha * p[i + 1], r[i] -= alpha * q[i];
    const double before = state.residual;
    state.residual = dot(r, r, n, comm);
    for (int64_t i = 0; i < n; ++i) p[i + 1] = r[i] + state.residual / before * p[i + 1];
    if (pause > 0) usleep((useconds_t)pause * 1000);
  }

  /* The exact solution is known. */
  double worst = 0, all;
  for (int64_t i = begin; i < end; ++i) {
    const double exact = 0.5 * (double)(i + 1) * (double)(unknowns - i);
    worst = fmax(worst, fabs(x[i - begin] - exact) / exact);
  }
  MPI_Reduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  if (rank == 0) printf("iterations %d, %s\n", state.iteration, all < 1e-9 ? "solved" : "not solved");
  ductile_finalize();
  return 0;
}
