/* Says other sizes that it can have TIMES times at once, the last ones up to TIMES + 2, and waits
 * for a file. Usage: fickle STOP TIMES */
#include <ductile/app.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  for (int i = 1; i <= atoi(argv[2]); ++i) ductile_sizes(1, 2 + i, "any");
  ductile_join();
  while (access(argv[1], F_OK) != 0) usleep(10000);
  ductile_finalize();
  return 0;
}
