// The program: `ductile COMMAND ...`.
#include <CLI/CLI.hpp>

#include "batsim/scheduler.hpp"
#include "cli/ack.hpp"
#include "cli/check.hpp"
#include "cli/completion.hpp"
#include "cli/explain.hpp"
#include "cli/history.hpp"
#include "cli/http.hpp"
#include "cli/nodes.hpp"
#include "cli/orders.hpp"
#include "cli/policies.hpp"
#include "cli/policy_server.hpp"
#include "cli/power.hpp"
#include "cli/predict.hpp"
#include "cli/program.hpp"
#include "cli/python_policies.hpp"
#include "cli/queue.hpp"
#include "cli/replay.hpp"
#include "cli/report.hpp"
#include "cli/reproduce.hpp"
#include "cli/reserve.hpp"
#include "cli/resize.hpp"
#include "cli/run.hpp"
#include "cli/serve.hpp"
#include "cli/simulate.hpp"
#include "cli/submit.hpp"
#include "cli/update.hpp"
#include "cli/workload.hpp"
#include "elastisim/scheduler.hpp"
#include "job/affinity.hpp"
#include "live/policy_process.hpp"
#include "policies/registry.hpp"

int main(int argc, char** argv) {
  ductile::undo_openmp_binding();
  const ductile::Registry registry;
  // In a simulation, and in the log of one, who is outside may decide as well; a controller has
  // nobody else's code in its process, but in one of its own.
  ductile::Registry simulated = registry;
  simulated.policies.push_back(ductile::batsim_policy());
  simulated.policies.push_back(ductile::elastisim_scheduler_policy());
  simulated.outside.push_back(ductile::outside_python());
  ductile::Registry served = registry;
  served.outside.push_back(ductile::outside_python());
  if (const auto code = ductile::run_policy_process(argc, argv, simulated)) return *code;
  const auto add_commands = [&](CLI::App& app) {
    ductile::add_simulate_command(app, simulated);
    ductile::add_workload_command(app);
    ductile::add_policies_command(app, registry);
    ductile::add_policy_server_command(app, registry);
    ductile::add_report_command(app);
    ductile::add_reproduce_command(app, simulated);
    ductile::add_replay_command(app, simulated);
    ductile::add_run_command(app);
    ductile::add_serve_command(app, served);
    ductile::add_http_command(app);
    ductile::add_submit_command(app);
    ductile::add_queue_command(app);
    ductile::add_nodes_command(app);
    ductile::add_history_command(app, simulated);
    ductile::add_check_command(app);
    ductile::add_explain_command(app, simulated);
    ductile::add_predict_command(app);
    ductile::add_order_commands(app);
    ductile::add_reserve_command(app);
    ductile::add_power_command(app);
    ductile::add_update_command(app);
    ductile::add_resize_command(app);
    ductile::add_ack_command(app);
    ductile::add_completion_command(app, registry);
  };
  return ductile::run_program(
      {"ductile", "Ductile, an adaptive batch system for HPC clusters", add_commands}, argc, argv);
}
