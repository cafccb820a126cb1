/* Programs whose cores change while they run: the C interface of libductile-threads.
 *
 * `ductile run --kind threads` gives a program processors of this host, and takes some back, while
 * it runs. OpenMP programs need nothing of this: a library that is preloaded does it for them. A
 * program with a pool of its own attaches, polls where it can change its number of threads, and
 * acknowledges. Without `ductile run` nothing ever changes. docs/guide/malleable-threads.md shows
 * it.
 *
 * Any thread may call these functions. Those that fail return -1, with errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DUCTILE_THREADS_VERSION 1
#define DUCTILE_THREADS_WORDS 16

/* So many threads have something to run on, and where: processor c is bit c % 64 of cpus[c / 64]. No
 * bit: anywhere. */
typedef struct {
  unsigned cores;
  unsigned sequence; /* higher with each change */
  uint64_t cpus[DUCTILE_THREADS_WORDS];
} ductile_cores;

/* ---- Of the program ---------------------------------------------------------------------------- */

/* From now on changes wait for this process to acknowledge them. 1; 0 if no `ductile run` has started
 * it. -1: ENOSPC if 64 processes of the job have attached already, EPROTO if the page is of another
 * version. */
int ductile_threads_attach(void);
/* No change waits for it any more. */
void ductile_threads_detach(void);
/* What it has now. 1 if that is not what was acknowledged last, 0 if it is, or if it is not attached;
 * `cores` is written only with 1. Takes some nanoseconds if nothing has changed. */
int ductile_threads_poll(ductile_cores *cores);
/* It has so many threads now, and they keep to these processors. */
void ductile_threads_acknowledge(const ductile_cores *cores);
/* The calling thread, and those that it starts, keep to these processors. */
int ductile_threads_keep(const ductile_cores *cores);

/* ---- From outside, by the same user ------------------------------------------------------------ */

typedef struct ductile_threads_job ductile_threads_job;

/* A job by its page: a path, as `ductile run` tells in its status; NULL: that of the job in which this
 * process is. NULL: ENOENT if there is none, EACCES if it is another user's, EPROTO. */
ductile_threads_job *ductile_threads_open(const char *page);
void ductile_threads_close(ductile_threads_job *job);
/* The processes that have attached: how many there are, of which `most` are written. */
int ductile_threads_list(const ductile_threads_job *job, int *pids, int most);
/* What the job has. 0. */
int ductile_threads_get(const ductile_threads_job *job, ductile_cores *cores);
/* Whether this process has followed the last change: 1 or 0. -1: ESRCH if it is not attached. */
int ductile_threads_has_followed(const ductile_threads_job *job, int pid);
/* Orders other ones, and waits until the job has them: 0. They are chosen by the manager among
 * `cores->cpus`, as many as `cores->cores`. -1: ENOTSUP if the job takes no orders, ECANCELED if it
 * refuses, in words in `why`, if that is not NULL. Not for a thread on which the job waits. */
int ductile_threads_set(ductile_threads_job *job, const ductile_cores *cores, char *why,
                        size_t room);

#ifdef __cplusplus
}
#endif
