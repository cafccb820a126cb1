#include "cli/resize.hpp"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/live_options.hpp"
#include "job/control_clients.hpp"
#include "job/protocol.hpp"
#include "live/client.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct ResizeOptions {
  std::string socket{};
  std::vector<std::string> words{};
  bool json = false;
};

std::uint64_t size_in(const std::string& word) {
  const auto size = parse_number<std::uint64_t>(word);
  if (!size) throw InputError("'" + word + "' is no size", "give a number");
  return *size;
}

/// Of a job of the controller, in nodes: an order that stands until it is lifted.
void order_size(const ResizeOptions& options) {
  const Json answer =
      ask_controller(find_socket(options.socket), {{"do", "resize"},
                                                   {"job", job_name(options.words[0])},
                                                   {"nodes", size_in(options.words[1])}});
  if (options.json) std::cout << answer.dump() << '\n';
}

/// What it took the program.
std::string in_words(const Json& answer) {
  if (!answer.contains("processes")) {
    return fmt::format("; they paused for {:.0f} ms", 1000 * answer.value("pause_s", 0.0));
  }
  const auto processes = answer.value("processes", 0);
  const auto followed = answer.value("followed", 0);
  if (processes == 0) return "; the program does not say that it follows";
  if (followed < processes) return "; the program has not followed yet";
  return fmt::format("; the program followed after {:.1f} ms",
                     1000 * answer.value("followed_s", 0.0));
}

void resize(const ResizeOptions& options) {
  if (options.words.size() == 2) return order_size(options);
  if (options.socket.empty()) {
    throw InputError("it is not said which job", "give JOB and N, or --socket and N");
  }
  const std::uint64_t size = size_in(options.words.front());
  if (size == 0 || size > wire::kMaxProcesses) {
    throw InputError(fmt::format("{} is no number of processes", size),
                     fmt::format("use 1 to {}", wire::kMaxProcesses));
  }
  const Json order = {{"do", "resize"}, {"size", size}};
  const std::string line = ask_manager(options.socket, order.dump());
  const Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object()) throw RunError("the manager answers '" + line + "'");
  if (options.json) std::cout << line << '\n';
  if (!answer.value("ok", false)) {
    throw RunError("not resized: " + answer.value("error", std::string("no reason given")));
  }
  if (!options.json) {
    std::cout << fmt::format("resized from {} to {} {}{}\n", answer.value("from", 0),
                             answer.value("to", 0), answer.value("unit", std::string("processes")),
                             in_words(answer));
  }
}

}  // namespace

void add_resize_command(CLI::App& app) {
  const auto options = std::make_shared<ResizeOptions>();
  CLI::App* command = app.add_subcommand(
      "resize", "Change the number of nodes of a job, or of processes of a `ductile run`");
  command
      ->add_option("--socket", options->socket,
                   "what `ductile run --control` was given, then N; or, then JOB and N, of the "
                   "controller, $DUCTILE_SOCKET")
      ->type_name("SOCKET");
  command
      ->add_option(
          "N", options->words,
          "JOB N: nodes of a job, 0 to leave its size to the policy again; or N: processes")
      ->required()
      ->expected(1, 2);
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { resize(*options); });
}

}  // namespace ductile
