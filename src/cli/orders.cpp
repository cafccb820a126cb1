#include "cli/orders.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "cli/live_options.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct OrdersOptions {
  LiveOptions live{};
  std::vector<std::string> jobs{};
  std::string nodes{};
  std::string reason{};
  bool undoes = false;
  bool fails = false;
};

void add_job_order(CLI::App& app, const char* name, const char* what) {
  const auto options = std::make_shared<OrdersOptions>();
  CLI::App* command = app.add_subcommand(name, what);
  add_live_options(*command, options->live, false);
  command->add_option("JOB", options->jobs, "numbers of jobs or arrays, or tasks like 12_3")
      ->required();
  command->callback([options, name] {
    ask(options->live, {{"do", name}, {"jobs", job_names(options->jobs)}});
  });
}

void add_migrate_command(CLI::App& app) {
  const auto options = std::make_shared<OrdersOptions>();
  CLI::App* command = app.add_subcommand(
      "migrate", "Move a running malleable job to idle nodes, at its present size");
  add_live_options(*command, options->live, false);
  command->add_option("JOB", options->jobs, "number of a job, or a task like 12_3")
      ->required()
      ->expected(1);
  CLI::Option* undo =
      command->add_flag("--undo", options->undoes, "it may stay, if it has not moved yet");
  CLI::Option* off = command->add_option("--off", options->nodes,
                                         "the nodes that it leaves, like 0-3,7 [all it has]");
  off->type_name("NODES")->excludes(undo);
  command->callback([options, off] {
    if (off->count() > 0 && options->nodes.empty()) {
      throw InputError({.field = "--off"}, "no node is named", "leave it away to move all");
    }
    ask(options->live, {{"do", "migrate"},
                        {"job", job_name(options->jobs.front())},
                        {"off", options->nodes},
                        {"undo", options->undoes}});
  });
}

}  // namespace

void add_order_commands(CLI::App& app) {
  add_job_order(app, "cancel", "End jobs that run, and take those that wait out of the queue");
  add_job_order(app, "hold", "Do not start jobs before they are released");
  add_job_order(app, "release", "Let jobs that are held start");
  add_job_order(app, "requeue", "End jobs that run, and let them wait again");
  add_job_order(app, "suspend",
                "Have jobs leave their nodes, and keep what they did, until they are resumed");
  add_job_order(app, "resume", "Let suspended jobs go on where they were, at any size");
  add_migrate_command(app);
  const auto options = std::make_shared<OrdersOptions>();
  CLI::App* command = app.add_subcommand(
      "drain", "Give no more jobs to nodes; those that run there go on, or leave them if they can");
  add_live_options(*command, options->live, false);
  command->add_option("NODES", options->nodes, "like 0-3,7")->required();
  CLI::Option* undo = command->add_flag("--undo", options->undoes, "use them again");
  command->add_flag("--down", options->fails, "they have failed: end the jobs that run there")
      ->excludes(undo);
  command->add_option("--reason", options->reason, "why, for `ductile nodes`")->excludes(undo);
  command->callback([options] {
    const char* health = options->undoes ? "up" : options->fails ? "down" : "draining";
    const Json answer = ask(options->live, {{"do", "drain"},
                                            {"nodes", options->nodes},
                                            {"health", health},
                                            {"reason", options->reason}});
    if (answer.contains("note")) std::cout << answer["note"].get<std::string>() << '\n';
  });
}

}  // namespace ductile
