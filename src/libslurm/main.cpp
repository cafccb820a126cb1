// The program: `ductile-slurm COMMAND ...`.
#include <CLI/CLI.hpp>

#include "cli/program.hpp"
#include "cli/python_policies.hpp"
#include "cli/serve.hpp"
#include "libslurm/libslurm.hpp"
#include "libslurm/shadow_command.hpp"
#include "libslurm/watch_command.hpp"
#include "live/policy_process.hpp"
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
  ductile::Registry registry;
  registry.outside.push_back(ductile::outside_python());
  if (const auto code = ductile::run_policy_process(argc, argv, registry)) return *code;
  const auto add_commands = [&registry](CLI::App& app) {
    ductile::add_serve_command(app, registry, ductile::Cluster::slurm, serve);
    ductile::add_watch_command(app);
    ductile::add_shadow_commands(app, registry);
  };
  return ductile::run_program({"ductile-slurm", "Ductile on a partition of Slurm", add_commands},
                              argc, argv);
}
