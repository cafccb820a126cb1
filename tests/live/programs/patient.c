// Preloaded into a program that does a fixed number of steps with a pause in each: it pauses as it
// likes until the file $PATIENT_UNTIL is there, and then no more. So it works for as long as a test
// needs it, and no longer; where it cannot be resized, it never pauses. Only the program's own
// pauses are meant, not those of its libraries. It leaves out its first $PATIENT_FROM pauses, so
// that it comes soon to what it does after a part of its steps, however many these are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char* file = NULL;
static long left_out = 0;

// The library of the program takes the variables of its manager away.
__attribute__((constructor)) static void begin(void) {
  const char *const manager = getenv("DUCTILE_MANAGER"), *const until = getenv("PATIENT_UNTIL");
  const char* const from = getenv("PATIENT_FROM");
  if (manager != NULL && *manager != '\0' && until != NULL) file = strdup(until);
  if (from != NULL) left_out = atol(from);
}

static int must_hurry(void) { return file == NULL || access(file, F_OK) == 0; }

static int is_of_the_program(const void* caller) {
  Dl_info info;
  // The headers of the program are in its first page.
  return dladdr(caller, &info) != 0 &&
         (uintptr_t)info.dli_fbase == (getauxval(AT_PHDR) & ~(uintptr_t)0xfff);
}

static int rest(const void* caller, struct timespec time, struct timespec* left) {
  if (!is_of_the_program(caller)) return (int)syscall(SYS_nanosleep, &time, left);
  if (left_out > 0) {
    --left_out;
    return 0;
  }
  const long long slice = 20 * 1000 * 1000;
  long long nanoseconds = 1000000000LL * time.tv_sec + time.tv_nsec;
  for (; nanoseconds > 0 && !must_hurry(); nanoseconds -= slice) {
    const struct timespec part = {0, nanoseconds < slice ? nanoseconds : slice};
    syscall(SYS_nanosleep, &part, NULL);
  }
  return 0;
}

int usleep(useconds_t microseconds) {
  const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  return rest(__builtin_return_address(0), time, NULL);
}

int nanosleep(const struct timespec* time, struct timespec* left) {
  return rest(__builtin_return_address(0), *time, left);
}
