// look PAGE [CORES]: what a job of threads has, or orders another number of cores before.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ductile/threads.h>

static int fail(const char *why) {
  fprintf(stderr, "%s%s%s\n", strerror(errno), *why == '\0' ? "" : ": ", why);
  return 1;
}

int main(int count, char **words) {
  ductile_threads_job *const job = ductile_threads_open(count > 1 ? words[1] : NULL);
  if (job == NULL) return fail("");
  ductile_cores cores;
  if (count > 2) {
    memset(&cores, 0, sizeof cores);
    cores.cores = (unsigned)atoi(words[2]);
    char why[200] = "";
    if (ductile_threads_set(job, &cores, why, sizeof why) != 0) return fail(why);
  }
  int pids[8];
  const int there = ductile_threads_list(job, pids, 8);
  if (ductile_threads_get(job, &cores) != 0) return fail("");
  printf("%u cores, processes", cores.cores);
  for (int i = 0; i < there && i < 8; ++i) {
    if (ductile_threads_has_followed(job, pids[i]) != 1) return fail("it has not followed");
    printf(" %d", pids[i]);
  }
  printf("\n");
  ductile_threads_close(job);
  return 0;
}
