// libductile-threads: what a program of `ductile run --kind threads` has (include/ductile/threads.h),
// and who follows.
#define _GNU_SOURCE
#include "ductile/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "job/threads_page.h"

_Static_assert(DUCTILE_PAGE_WORDS == DUCTILE_THREADS_WORDS, "one set of processors");
_Static_assert(sizeof(((ductile_cores *)0)->cpus) == sizeof(cpu_set_t), "1024 processors");

typedef struct ductile_page Page;
typedef struct ductile_page_slot Slot;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// ---- The page ------------------------------------------------------------------------------------

// NULL, with errno. That of another user is none: he would say where this process runs.
static Page *map_page(const char *path) {
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return NULL;
  struct stat its;
  Page *page = NULL;
  if (fstat(file, &its) != 0 || !S_ISREG(its.st_mode) || its.st_uid != geteuid() ||
      (its.st_mode & 077) != 0) {
    errno = EACCES;
  } else if (its.st_size < (off_t)sizeof(Page)) {
    errno = EPROTO;
  } else {
    void *const at = mmap(NULL, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) page = at;
  }
  const int why = errno;
  close(file);
  if (page != NULL && (page->magic != DUCTILE_PAGE_MAGIC || page->version != DUCTILE_PAGE_VERSION)) {
    munmap(page, sizeof(Page));
    page = NULL;
    errno = EPROTO;
    return NULL;
  }
  errno = why;
  return page;
}

// What was written as a whole. The writer may be stopped in between: then what is there is read again,
// and after a while left for the next time.
static bool read_page(const Page *page, ductile_cores *cores) {
  for (int tries = 0; tries < 1000; ++tries) {
    const uint32_t before = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
    if (before % 2 == 0) {
      cores->cores = __atomic_load_n(&page->cores, __ATOMIC_RELAXED);
      for (int i = 0; i < DUCTILE_PAGE_WORDS; ++i) {
        cores->cpus[i] = __atomic_load_n(&page->cpus[i], __ATOMIC_RELAXED);
      }
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      if (__atomic_load_n(&page->sequence, __ATOMIC_RELAXED) == before) {
        cores->sequence = before;
        return cores->cores > 0;  // else nobody has written it yet, or nonsense
      }
    }
    sched_yield();
  }
  return false;
}

// ---- Of the program ------------------------------------------------------------------------------

static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;
static Page *own;       // the job's, once it is known; stays for the life of the process
static Slot *slot;      // of this process; NULL: not attached
static uint32_t known;  // acknowledged last
static bool is_told_of_forks;

static void forget_parent(void) {
  pthread_mutex_init(&attaching, NULL);
  slot = NULL;
}

// Its process has gone without giving it back.
static bool is_left(uint32_t pid) {
  return (int32_t)pid < 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

// A free one; then one that was left.
static Slot *find_slot(uint32_t pid) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < DUCTILE_PAGE_SLOTS; ++i) {
      Slot *const its = &own->slots[i];
      uint32_t holder = __atomic_load_n(&its->pid, __ATOMIC_ACQUIRE);
      // It was another program before, which has attached.
      if (holder == pid) return its;
      if (round == 0 ? holder != 0 : !is_left(holder)) continue;
      if (__atomic_compare_exchange_n(&its->pid, &holder, pid, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
        return its;
      }
    }
  }
  return NULL;
}

static int take_slot(void) {
  Slot *const its = find_slot((uint32_t)getpid());
  if (its == NULL) {
    errno = ENOSPC;
    return -1;
  }
  // It finds what it has as a change.
  known = 0;
  __atomic_store_n(&its->seen, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&slot, its, __ATOMIC_RELEASE);
  return 1;
}

int ductile_threads_attach(void) {
  pthread_mutex_lock(&attaching);
  const char *const path = getenv(DUCTILE_PAGE_VARIABLE);
  int result = 0;
  if (slot != NULL) {
    result = 1;
  } else if (path != NULL && *path != '\0') {
    if (own == NULL) own = map_page(path);
    if (own != NULL && !is_told_of_forks) {
      is_told_of_forks = pthread_atfork(NULL, NULL, forget_parent) == 0;
    }
    // The job may have gone, and this process have stayed.
    result = own != NULL ? take_slot() : errno == ENOENT ? 0 : -1;
  }
  pthread_mutex_unlock(&attaching);
  return result;
}

void ductile_threads_detach(void) {
  pthread_mutex_lock(&attaching);
  Slot *const its = slot;
  __atomic_store_n(&slot, NULL, __ATOMIC_RELEASE);
  if (its != NULL) __atomic_store_n(&its->pid, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&attaching);
}

__attribute__((destructor)) static void leave(void) { ductile_threads_detach(); }

int ductile_threads_poll(ductile_cores *cores) {
  if (__atomic_load_n(&slot, __ATOMIC_ACQUIRE) == NULL) return 0;
  const uint32_t last = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (__atomic_load_n(&own->sequence, __ATOMIC_RELAXED) == last) return 0;
  return read_page(own, cores) && cores->sequence != last ? 1 : 0;
}

void ductile_threads_acknowledge(const ductile_cores *cores) {
  Slot *const its = __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
  if (its == NULL) return;
  __atomic_store_n(&known, cores->sequence, __ATOMIC_RELAXED);
  __atomic_store_n(&its->seen_ns, now_ns(), __ATOMIC_RELAXED);
  __atomic_store_n(&its->seen, cores->sequence, __ATOMIC_RELEASE);
}

int ductile_threads_keep(const ductile_cores *cores) {
  cpu_set_t set;
  memcpy(&set, cores->cpus, sizeof set);
  return CPU_COUNT(&set) == 0 ? 0 : sched_setaffinity(0, sizeof set, &set);
}

// ---- From outside --------------------------------------------------------------------------------

struct ductile_threads_job {
  Page *page;
};

ductile_threads_job *ductile_threads_open(const char *path) {
  if (path == NULL) path = getenv(DUCTILE_PAGE_VARIABLE);
  if (path == NULL || *path == '\0') {
    errno = ENOENT;
    return NULL;
  }
  Page *const page = map_page(path);
  if (page == NULL) return NULL;
  ductile_threads_job *const job = malloc(sizeof *job);
  if (job == NULL) {
    munmap(page, sizeof(Page));
    return NULL;
  }
  job->page = page;
  return job;
}

void ductile_threads_close(ductile_threads_job *job) {
  if (job == NULL) return;
  munmap(job->page, sizeof(Page));
  free(job);
}

int ductile_threads_list(const ductile_threads_job *job, int *pids, int most) {
  int count = 0;
  for (int i = 0; i < DUCTILE_PAGE_SLOTS; ++i) {
    const uint32_t pid = __atomic_load_n(&job->page->slots[i].pid, __ATOMIC_ACQUIRE);
    if (pid == 0) continue;
    if (count < most) pids[count] = (int)pid;
    ++count;
  }
  return count;
}

int ductile_threads_get(const ductile_threads_job *job, ductile_cores *cores) {
  if (read_page(job->page, cores)) return 0;
  errno = EAGAIN;
  return -1;
}

int ductile_threads_has_followed(const ductile_threads_job *job, int pid) {
  for (int i = 0; pid > 0 && i < DUCTILE_PAGE_SLOTS; ++i) {
    const Slot *const its = &job->page->slots[i];
    if (__atomic_load_n(&its->pid, __ATOMIC_ACQUIRE) != (uint32_t)pid) continue;
    return __atomic_load_n(&its->seen, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(&job->page->sequence, __ATOMIC_ACQUIRE);
  }
  errno = ESRCH;
  return -1;
}

// The order as the manager takes it: docs/commands/run.md.
static int write_order(const ductile_cores *cores, char *text, size_t room) {
  size_t length = (size_t)snprintf(text, room, "{\"do\": \"resize\", \"size\": %u, \"move\": true, \"cpus\": \"",
                                   cores->cores);
  const char *separator = "";
  for (int cpu = 0; cpu < 64 * DUCTILE_THREADS_WORDS; ++cpu) {
    if ((cores->cpus[cpu / 64] >> (cpu % 64) & 1) == 0) continue;
    length += (size_t)snprintf(text + length, room - length, "%s%d", separator, cpu);
    separator = ",";
  }
  length += (size_t)snprintf(text + length, room - length, "\"}\n");
  return (int)length;
}

// The text after "error": in an answer, as it is written there; all of it if there is none.
static void copy_error(const char *answer, char *why, size_t room) {
  if (why == NULL || room == 0) return;
  static const char kBegin[] = "\"error\":";
  const char *begin = strstr(answer, kBegin);
  begin = begin == NULL ? answer : begin + sizeof kBegin - 1;
  begin += strspn(begin, " \"");
  const size_t length = strcspn(begin, "\"\n");
  snprintf(why, room, "%.*s", (int)length, begin);
}

int ductile_threads_set(ductile_threads_job *job, const ductile_cores *cores, char *why,
                        size_t room) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, job->page->control, sizeof address.sun_path - 1);
  if (address.sun_path[0] == '\0') {
    errno = ENOTSUP;
    return -1;
  }
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  char text[8192];
  const int length = write_order(cores, text, sizeof text);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
      send(connection, text, (size_t)length, MSG_NOSIGNAL) != length) {
    const int error = errno;
    close(connection);
    errno = error;
    return -1;
  }
  size_t got = 0;
  for (ssize_t more = 1; more > 0 && got < sizeof text - 1 && memchr(text, '\n', got) == NULL;) {
    more = recv(connection, text + got, sizeof text - 1 - got, 0);
    if (more > 0) got += (size_t)more;
    if (more < 0 && errno == EINTR) more = 1;
  }
  close(connection);
  text[got] = '\0';
  if (strstr(text, "\"ok\":true") != NULL || strstr(text, "\"ok\": true") != NULL) return 0;
  copy_error(text, why, room);
  errno = ECANCELED;
  return -1;
}
