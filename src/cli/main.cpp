// The program: `ductile COMMAND ...`.
//
// Exit codes: 0 done; 1 the run failed or was stopped; 2 the call or its input was wrong.
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "cli/check.hpp"
#include "cli/completion.hpp"
#include "cli/explain.hpp"
#include "cli/history.hpp"
#include "cli/nodes.hpp"
#include "cli/orders.hpp"
#include "cli/policies.hpp"
#include "cli/power.hpp"
#include "cli/predict.hpp"
#include "cli/process.hpp"
#include "cli/queue.hpp"
#include "cli/replay.hpp"
#include "cli/report.hpp"
#include "cli/reserve.hpp"
#include "cli/resize.hpp"
#include "cli/run.hpp"
#include "cli/serve.hpp"
#include "cli/simulate.hpp"
#include "cli/submit.hpp"
#include "cli/update.hpp"
#include "cli/workload.hpp"
#include "policies/registry.hpp"

namespace {

enum Exit { kDone = 0, kFailed = 1, kWrongCall = 2 };

/// Warnings are no part of the answer, which others may read as JSON.
void warn_on_stderr() {
  auto log = std::make_shared<spdlog::logger>("ductile",
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("ductile: %v");
  log->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(log));
}

int fail(Exit code, const char* message) {
  std::cerr << "ductile: " << message << std::endl;
  return code;
}

int run(int argc, char** argv) {
  const ductile::Registry registry;
  CLI::App app("Ductile, an adaptive batch system for HPC clusters", "ductile");
  app.set_version_flag("--version", "ductile " DUCTILE_VERSION);
  app.require_subcommand(1);
  ductile::add_simulate_command(app, registry);
  ductile::add_workload_command(app);
  ductile::add_policies_command(app, registry);
  ductile::add_report_command(app);
  ductile::add_replay_command(app, registry);
  ductile::add_run_command(app);
  ductile::add_serve_command(app, registry);
  ductile::add_submit_command(app);
  ductile::add_queue_command(app);
  ductile::add_nodes_command(app);
  ductile::add_history_command(app);
  ductile::add_check_command(app);
  ductile::add_explain_command(app, registry);
  ductile::add_predict_command(app);
  ductile::add_order_commands(app);
  ductile::add_reserve_command(app);
  ductile::add_power_command(app);
  ductile::add_update_command(app);
  ductile::add_resize_command(app);
  ductile::add_completion_command(app, registry);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // a command with an exit code of its own
    std::cout.flush();
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    const CLI::App* command = &app;
    std::string call = "ductile";
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      call += " " + command->get_name();
    }
    fail(kWrongCall, error.what());
    std::cerr << "See '" << call << " --help'." << std::endl;
    return kWrongCall;
  }
  std::cout.flush();
  if (!std::cout) return fail(kFailed, "the standard output cannot be written");
  return kDone;
}

}  // namespace

int main(int argc, char** argv) {
  ductile::process_seconds();
  std::ios::sync_with_stdio(false);
  warn_on_stderr();
  try {
    return run(argc, argv);
  } catch (const ductile::InputError& error) {
    return fail(kWrongCall, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kFailed, "out of memory; run fewer jobs, or fewer --threads");
  } catch (const std::logic_error& error) {
    return fail(kFailed,
                (std::string("a defect of ductile, please report it: ") + error.what()).c_str());
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}
