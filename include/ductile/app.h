/* Malleable MPI programs: the C interface of libductile-app.
 *
 * `ductile run` starts such a program and changes the number of its processes while it runs. To do
 * so it starts a new generation of processes beside the running one; at the next probe the old ones
 * hand their registered data over to the new ones and leave. docs/guide/malleable-mpi.md shows how
 * a program is made malleable. Started by a plain mpiexec, the same program is rigid.
 *
 * All functions are for the thread that called ductile_init(). Those that return int return a
 * negative number, DUCTILE_ERROR, after a wrong call, having said on stderr what is wrong with it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The C++ bindings of MPI-2 would want a library of their own. */
#if defined(__cplusplus) && !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#if defined(__cplusplus) && !defined(MPICH_SKIP_MPICXX)
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface; a library with another one is refused by ductile_init(). */
#define DUCTILE_APP_VERSION 1

#if defined(OPEN_MPI)
#define DUCTILE_APP_MPI "openmpi"
#elif defined(MPICH_VERSION)
#define DUCTILE_APP_MPI "mpich"
#else
#define DUCTILE_APP_MPI "unknown"
#endif

enum {
  DUCTILE_ERROR = -1,

  /* ductile_init() */
  DUCTILE_FRESH = 0,   /* the program begins */
  DUCTILE_JOINING = 1, /* it goes on: register the data, then ductile_join() */

  /* ductile_probe() */
  DUCTILE_NONE = 0,  /* go on */
  DUCTILE_ADAPT = 1, /* a resize: ductile_adapt(), ductile_postpone() or ductile_refuse(), all the same */

  /* ductile_adapt() */
  DUCTILE_STAY = 0, /* the resize was given up, nothing has changed: go on */
  DUCTILE_LEAVE = 1 /* the new generation has taken over: ductile_finalize() and exit */
};

/* Initialises MPI, unless the program has, and finds the manager of the job. Returns DUCTILE_FRESH
 * or DUCTILE_JOINING. Arguments as those of MPI_Init. A program of one MPI with the library, or the
 * launcher, of the other ends here with a message that says so. */
#define ductile_init(argc, argv) \
  ductile_init_checked((argc), (argv), DUCTILE_APP_VERSION, DUCTILE_APP_MPI)
int ductile_init_checked(int *argc, char ***argv, int version, const char *mpi);

/* The communicator of all processes of this generation, MPI_COMM_WORLD; never kept in data. */
MPI_Comm ductile_comm(void);

/* 0 for the first generation. */
int ductile_generation(void);

/* The numbers of processes that this program can have: from `minimum` to `maximum` (0: any), and of
 * these only "pof2" (powers of two), "even", "odd", "cubic", "multiple:4" or "list:1:2:6" ("any" or
 * NULL: all of them). Called by all processes between ductile_init() and ductile_join(), or where it
 * changes. From then on the manager refuses orders for other sizes. */
int ductile_sizes(int minimum, int maximum, const char *constraint);

/* What the next generations find on the standard input of rank 0: nothing, or all of it again, from the
 * beginning, which must be a file then. The first generation finds it as under mpiexec. Called by all
 * processes between ductile_init() and ductile_join(). A program that does not say it is told on stderr when
 * it is resized and stdin is a file. */
enum { DUCTILE_STDIN_EMPTY = 0, DUCTILE_STDIN_AGAIN = 1 };
int ductile_stdin(int what);

/* ---- Data that goes over to the next generation ----
 *
 * Every generation registers the same data in the same order, after ductile_init() and before
 * ductile_join() and the first probe. Names appear in messages. A pointer may be null where there is
 * nothing to point to. */

/* The same `bytes` bytes on every process. */
int ductile_add_replicated(const char *name, void *data, size_t bytes);

/* An array of `elements` elements of `element_bytes` bytes each, process r of n holding
 * [elements*r/n, elements*(r+1)/n), which is what ductile_block() gives. `*data`, read when a resize
 * comes, points to `halo` elements before the first own one, so that arrays with ghost cells can be
 * registered as they are and buffers may be swapped. The program allocates, before ductile_join()
 * at the latest. */
int ductile_add_block(const char *name, void **data, size_t element_bytes, int64_t elements,
                      int64_t halo);

/* The same, dealt out in blocks of `block` elements: process r of n holds blocks r, r+n, r+2n, ...,
 * one after the other; `block` = 1 is cyclic. ductile_cyclic_count() says how many elements. */
int ductile_add_cyclic(const char *name, void **data, size_t element_bytes, int64_t elements,
                       int64_t block);

/* Data that only the program knows how to distribute: particles, trees, what a refined mesh has become.
 * On an old process `pack` is called once for each new process `to` of `size` and says what to give
 * to it: `*data`, which stays valid until the next call, and `*bytes`. On a new process `unpack` is
 * called once for each old process `from` of `size`, in any order, with what that one gave, also if
 * that is nothing. Both return 0; anything else gives the resize up. */
typedef int (*ductile_pack)(void *user, int to, int size, const void **data, size_t *bytes);
typedef int (*ductile_unpack)(void *user, int from, int size, const void *data, size_t bytes);
int ductile_add_packed(const char *name, ductile_pack pack, ductile_unpack unpack, void *user);

/* First own element and the one after the last of a block-distributed array; 0 and 0 after a wrong call. */
void ductile_block(int64_t elements, int rank, int size, int64_t *begin, int64_t *end);
int64_t ductile_cyclic_count(int64_t elements, int64_t block, int rank, int size);

/* ---- Resizing ---- */

/* After DUCTILE_JOINING, when the data is registered: takes it from the old generation. Returns 0
 * when this generation is the job; if the resize is given up, the process ends in here. After
 * DUCTILE_FRESH it does nothing and returns 0. */
int ductile_join(void);

/* The scheduling point: no message of the program is on its way here, and all registered data is
 * whole. Every process calls it equally often; they need not do so at the same time. Costs a few
 * nanoseconds while nothing is asked. When a resize comes, all processes return DUCTILE_ADAPT from
 * the same probe. */
int ductile_probe(void);

/* Hands the data over. Returns DUCTILE_STAY or DUCTILE_LEAVE, on all processes the same. */
int ductile_adapt(void);

/* Not here, but `probes` probes later, where ductile_probe() returns DUCTILE_ADAPT again; who ordered
 * the resize waits, as long as `ductile run --probe-limit` says. All processes give the same number. */
int ductile_postpone(int probes);

/* Not now: this resize is given up, and whoever ordered it hears the reason. */
int ductile_refuse(const char *reason);

/* ---- Evolving programs ----
 *
 * A program that finds that it needs more processes, or fewer, asks for them. The answer comes later,
 * while it computes on: a resize to a size within the range, as any other; or an offer outside of it,
 * which the program takes by asking for exactly that size, or leaves by doing nothing. */

/* All processes may call it; that of rank 0 asks. A new request replaces one without an answer; asked
 * again, it is the same one. More than 10 at once, and then one every three seconds, are denied. */
int ductile_request(int at_least, int preferred);

/* What came instead of a resize, once: -1 nothing so far, 0 the request was denied, or else the size that
 * is offered. On rank 0 only, -1 on the others: broadcast it. */
int ductile_offer(void);

/* The end of MPI in this process, as MPI_Finalize() is, and the same: a program may call either, or
 * both. What it does from then on, for how long and with which exit code, is its own; after
 * DUCTILE_LEAVE, too, but the resize is over only when the old processes have ended. */
int ductile_finalize(void);

/* ---- For bindings to other languages ----
 *
 * ductile_app.f90 and ductile_app.py have all of the above; who binds another language begins with these. */

/* ductile_init(NULL, NULL) for who was not compiled with mpi.h, and so has whichever MPI he is linked with.
 * `version`: the DUCTILE_APP_VERSION that he knows. Two MPIs in one process end it with a message. */
int ductile_init_binding(int version);

/* The MPI of this library: "mpich" or "openmpi". */
const char *ductile_mpi(void);

/* ductile_comm() as Fortran has it. */
MPI_Fint ductile_comm_fortran(void);

#ifdef __cplusplus
}
#endif
