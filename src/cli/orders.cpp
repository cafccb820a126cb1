#include "cli/orders.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "live/client.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket{};
  std::vector<std::uint64_t> jobs{};
  std::string nodes{};
  bool undoes = false;
};

CLI::App* add_order(CLI::App& app, const char* name, const char* what,
                    const std::shared_ptr<Options>& options) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("--socket", options->socket, "of the controller; $DUCTILE_SOCKET");
  return command;
}

void add_job_order(CLI::App& app, const char* name, const char* what) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_order(app, name, what, options);
  command->add_option("JOB", options->jobs, "numbers of the jobs")->required();
  command->callback([options, name] {
    ask_controller(find_socket(options->socket), {{"do", name}, {"jobs", options->jobs}});
  });
}

}  // namespace

void add_order_commands(CLI::App& app) {
  add_job_order(app, "cancel", "End jobs that run, and take those that wait out of the queue");
  add_job_order(app, "hold", "Do not start jobs before they are released");
  add_job_order(app, "release", "Let jobs that are held start");
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      add_order(app, "drain", "Give no more jobs to nodes; those that run there go on", options);
  command->add_option("NODES", options->nodes, "like 0-3,7")->required();
  command->add_flag("--undo", options->undoes, "use them again");
  command->callback([options] {
    ask_controller(find_socket(options->socket), {{"do", "drain"},
                                                  {"nodes", options->nodes},
                                                  {"health", options->undoes ? "up" : "draining"}});
  });
}

}  // namespace ductile
