// The program: `ductile-slurm COMMAND ...`.
#include <CLI/CLI.hpp>

#include "cli/program.hpp"
#include "cli/serve.hpp"
#include "libslurm/libslurm.hpp"
#include "libslurm/watch_command.hpp"
#include "policies/registry.hpp"
#include "slurm/serve_slurm.hpp"

namespace {

void serve(const ductile::ServeSettings& settings, const ductile::Registry& registry,
           const std::function<ductile::ServeSettings()>& reload) {
  ductile::LibSlurm slurm(settings.partition);
  ductile::serve_slurm(settings, registry, reload, slurm);
}

}  // namespace

int main(int argc, char** argv) {
  const ductile::Registry registry;
  const auto add_commands = [&registry](CLI::App& app) {
    ductile::add_serve_command(app, registry, ductile::Cluster::slurm, serve);
    ductile::add_watch_command(app);
  };
  return ductile::run_program({"ductile-slurm", "Ductile on a partition of Slurm", add_commands},
                              argc, argv);
}
