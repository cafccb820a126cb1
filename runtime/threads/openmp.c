// libductile-threads-preload: OpenMP programs follow, from their next parallel region on, without a
// change. It stands in front of the functions by which gcc's programs begin a region, and is a tool
// (OMPT) of clang's runtime, which tells it of each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ductile/threads.h"
#include "job/threads_page.h"

// ---- Functions of the OpenMP runtime ------------------------------------------------------------

// That of the runtime that is loaded, also if only a plugin of the program has loaded it.
static void *find_next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  static const char *const kRuntimes[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
  for (size_t i = 0; found == NULL && i < sizeof kRuntimes / sizeof *kRuntimes; ++i) {
    void *const library = dlopen(kRuntimes[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) found = dlsym(library, name);
  }
  return found;
}

static void end_without(const char *name) {
  fprintf(stderr, "ductile: no OpenMP runtime that is loaded has %s\n", name);
  abort();
}

// Of this process, where there is no OpenMP: a program may have found the query here by its name.
static int processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// `next` is the function of this name behind this library; where there is none it does `otherwise`.
#define FIND_NEXT(name, otherwise)                                              \
  static __typeof__(name) *found;                                               \
  __typeof__(name) *next = __atomic_load_n(&found, __ATOMIC_RELAXED);           \
  if (next == NULL) {                                                           \
    next = (__typeof__(name) *)find_next(#name);                                \
    if (next == NULL) otherwise;                                                \
    __atomic_store_n(&found, next, __ATOMIC_RELAXED);                           \
  }

static int (*level)(void);  // of regions: 0 outside of all, also of those of one thread
static void (*set_num_threads)(int);
static int (*thread_num)(void);

// ---- Following ----------------------------------------------------------------------------------

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_in_job, binds;
static bool is_a_copy;  // of a process that has attached, and has not done so itself
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static ductile_cores has;             // what this process has; under `changing`
static unsigned has_sequence;         // of that
static _Thread_local unsigned mine;   // what this thread's number of threads follows
static _Thread_local unsigned bound;  // by what this thread is bound, and to which place there
static _Thread_local int bound_place = -1;

// Another thread may have held the lock.
static void on_fork(void) {
  is_a_copy = true;
  pthread_mutex_init(&changing, NULL);
}

static void begin(void) {
  const char *const page = getenv(DUCTILE_PAGE_VARIABLE);
  if (page == NULL || *page == '\0') return;
  const char *const bind = getenv(DUCTILE_BIND_VARIABLE);
  binds = bind != NULL && *bind != '\0';
  level = (int (*)(void))find_next("omp_get_level");
  set_num_threads = (void (*)(int))find_next("omp_set_num_threads");
  thread_num = (int (*)(void))find_next("omp_get_thread_num");
  if (level == NULL || set_num_threads == NULL || thread_num == NULL) return;
  is_in_job = ductile_threads_attach() == 1;
  if (is_in_job) pthread_atfork(NULL, NULL, on_fork);
}

// Before a region: the next one has as many threads as there are cores, on these.
static void follow(void) {
  pthread_once(&once, begin);
  if (!is_in_job || level() > 0) return;
  // Only here: most copies become another program, and have no regions.
  if (is_a_copy && ductile_threads_attach() == 1) is_a_copy = false;
  ductile_cores fresh;
  const bool is_fresh = ductile_threads_poll(&fresh) == 1;
  if (is_fresh) {
    pthread_mutex_lock(&changing);
    has = fresh;
    __atomic_store_n(&has_sequence, fresh.sequence, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&changing);
  }
  if (mine != __atomic_load_n(&has_sequence, __ATOMIC_ACQUIRE)) {
    pthread_mutex_lock(&changing);
    const ductile_cores now = has;
    pthread_mutex_unlock(&changing);
    mine = now.sequence;
    set_num_threads((int)now.cores);
    ductile_threads_keep(&now);  // new threads have what this one has
  }
  if (is_fresh) ductile_threads_acknowledge(&fresh);
}

// A thread in a region: to a processor of its own, if the user wants threads bound.
static void bind_to_place(int place) {
  const unsigned sequence = __atomic_load_n(&has_sequence, __ATOMIC_ACQUIRE);
  if (bound == sequence && bound_place == place) return;
  bound = sequence;
  bound_place = place;
  pthread_mutex_lock(&changing);
  ductile_cores one = has;
  pthread_mutex_unlock(&changing);
  cpu_set_t all, chosen;
  memcpy(&all, one.cpus, sizeof all);
  const int count = CPU_COUNT(&all);
  if (count == 0) return;
  int before = place % count;
  CPU_ZERO(&chosen);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all) && before-- == 0) CPU_SET(cpu, &chosen);
  }
  sched_setaffinity(0, sizeof chosen, &chosen);
}

// ---- What the program asks ----------------------------------------------------------------------

int omp_get_max_threads(void);
int omp_get_max_threads(void) {
  FIND_NEXT(omp_get_max_threads, return 1)  // as without OpenMP
  follow();
  return next();
}

int omp_get_max_threads_(void);
int omp_get_max_threads_(void) { return omp_get_max_threads(); }

int omp_get_num_procs(void);
int omp_get_num_procs(void) {
  FIND_NEXT(omp_get_num_procs, return processors())
  follow();
  if (!is_in_job) return next();
  pthread_mutex_lock(&changing);
  const unsigned cores = has.cores;
  pthread_mutex_unlock(&changing);
  return cores > 0 ? (int)cores : next();
}

int omp_get_num_procs_(void);
int omp_get_num_procs_(void) { return omp_get_num_procs(); }

// ---- Regions of gcc's programs ------------------------------------------------------------------

typedef void (*Body)(void *);

// What a thread runs instead of the region's body, where threads are bound.
typedef struct {
  Body body;
  void *data;
} Region;

static void run_bound(void *its) {
  const Region *const region = its;
  // Threads of a region within a region have the place of the outer one's.
  bind_to_place(thread_num());
  region->body(region->data);
}

#define BEGIN_REGION(name)                       \
  FIND_NEXT(name, end_without(#name))            \
  follow();                                      \
  Region region = {.body = body, .data = data}; \
  const bool is_bound = is_in_job && binds && level() == 0;

#define BODY is_bound ? run_bound : body
#define DATA is_bound ? (void *)&region : data

void GOMP_parallel(Body body, void *data, unsigned threads, unsigned flags);
void GOMP_parallel(Body body, void *data, unsigned threads, unsigned flags) {
  BEGIN_REGION(GOMP_parallel)
  next(BODY, DATA, threads, flags);
}

// Its data is read by the runtime, too.
unsigned GOMP_parallel_reductions(Body body, void *data, unsigned threads, unsigned flags);
unsigned GOMP_parallel_reductions(Body body, void *data, unsigned threads, unsigned flags) {
  FIND_NEXT(GOMP_parallel_reductions, end_without("GOMP_parallel_reductions"))
  follow();
  return next(body, data, threads, flags);
}

void GOMP_parallel_sections(Body body, void *data, unsigned threads, unsigned count,
                            unsigned flags);
void GOMP_parallel_sections(Body body, void *data, unsigned threads, unsigned count,
                            unsigned flags) {
  BEGIN_REGION(GOMP_parallel_sections)
  next(BODY, DATA, threads, count, flags);
}

#define LOOP(name)                                                                        \
  void name(Body body, void *data, unsigned threads, long first, long end, long step,     \
            long chunk, unsigned flags);                                                  \
  void name(Body body, void *data, unsigned threads, long first, long end, long step,     \
            long chunk, unsigned flags) {                                                 \
    BEGIN_REGION(name)                                                                    \
    next(BODY, DATA, threads, first, end, step, chunk, flags);                            \
  }

LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define RUNTIME_LOOP(name)                                                                \
  void name(Body body, void *data, unsigned threads, long first, long end, long step,     \
            unsigned flags);                                                              \
  void name(Body body, void *data, unsigned threads, long first, long end, long step,     \
            unsigned flags) {                                                             \
    BEGIN_REGION(name)                                                                    \
    next(BODY, DATA, threads, first, end, step, flags);                                   \
  }

RUNTIME_LOOP(GOMP_parallel_loop_runtime)
RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

// ---- Regions of clang's programs ----------------------------------------------------------------

// As much of OMPT (OpenMP 5.0, chapter 4) as is used here.
typedef void (*ToolFunction)(void);
typedef ToolFunction (*ToolLookup)(const char *name);
typedef union {
  uint64_t value;
  void *pointer;
} ToolData;
typedef struct {
  int (*initialize)(ToolLookup lookup, int device, ToolData *data);
  void (*finalize)(ToolData *data);
  ToolData data;
} Tool;
enum { kParallelBegin = 3, kImplicitTask = 7, kScopeBegin = 1, kInitialTask = 1 };

// The runtime decides on the number of threads after this.
static void on_parallel_begin(ToolData *task, const void *frame, ToolData *parallel,
                              unsigned threads, int flags, const void *code) {
  (void)task, (void)frame, (void)parallel, (void)threads, (void)flags, (void)code;
  follow();
}

static void on_implicit_task(int endpoint, ToolData *parallel, ToolData *task, unsigned threads,
                             unsigned index, int flags) {
  (void)parallel, (void)task, (void)threads;
  const bool is_of_a_region = endpoint == kScopeBegin && (flags & kInitialTask) == 0;
  if (is_of_a_region && is_in_job && level() <= 1) bind_to_place((int)index);
}

static int on_tool_begin(ToolLookup lookup, int device, ToolData *data) {
  (void)device, (void)data;
  int (*const set_callback)(int, ToolFunction) =
      (int (*)(int, ToolFunction))lookup("ompt_set_callback");
  if (set_callback == NULL) return 0;
  set_callback(kParallelBegin, (ToolFunction)on_parallel_begin);
  const char *const bind = getenv(DUCTILE_BIND_VARIABLE);
  if (bind != NULL && *bind != '\0') set_callback(kImplicitTask, (ToolFunction)on_implicit_task);
  return 1;
}

static void on_tool_end(ToolData *data) { (void)data; }

// Called by the runtime when it begins; it has a tool only in a job.
Tool *ompt_start_tool(unsigned version, const char *runtime);
Tool *ompt_start_tool(unsigned version, const char *runtime) {
  (void)version, (void)runtime;
  const char *const page = getenv(DUCTILE_PAGE_VARIABLE);
  if (page == NULL || *page == '\0') return NULL;
  static Tool tool = {.initialize = on_tool_begin, .finalize = on_tool_end};
  return &tool;
}
