// A program without OpenMP that asks for it if it is there.
#include <stdio.h>

int omp_get_max_threads(void) __attribute__((weak));
int omp_get_num_procs(void) __attribute__((weak));

int main(void) {
  printf("%d %d\n", omp_get_max_threads ? omp_get_max_threads() : 1,
         omp_get_num_procs ? omp_get_num_procs() : 1);
  return 0;
}
