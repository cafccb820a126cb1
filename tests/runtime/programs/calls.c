/* Runs a command from a process of a malleable job. Usage: calls COMMAND */
#include <ductile/app.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  ductile_join();
  const int status = system(argv[1]);
  ductile_finalize();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
