#include "cli/resize.hpp"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "job/manager.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket{};
  std::uint32_t size = 0;
  bool json = false;
};

void resize(const Options& options) {
  const Json order = {{"do", "resize"}, {"size", options.size}};
  const std::string line = ask_manager(options.socket, order.dump());
  const Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object()) throw RunError("the manager answers '" + line + "'");
  if (options.json) std::cout << line << '\n';
  if (!answer.value("ok", false)) {
    throw RunError("not resized: " + answer.value("error", std::string("no reason given")));
  }
  if (!options.json) {
    std::cout << fmt::format("resized from {} to {} processes; they paused for {:.0f} ms\n",
                             answer.value("from", 0), answer.value("to", 0),
                             1000 * answer.value("pause_s", 0.0));
  }
}

}  // namespace

void add_resize_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("resize", "Change the number of processes of a running job");
  command->add_option("--socket", options->socket, "what `ductile run --control` was given")
      ->required();
  command->add_option("N", options->size, "processes")
      ->required()
      ->check(CLI::Range(1U, wire::kMaxProcesses));
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { resize(*options); });
}

}  // namespace ductile
