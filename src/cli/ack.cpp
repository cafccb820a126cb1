#include "cli/ack.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "job/control_clients.hpp"
#include "job/protocol.hpp"
#include "job/script_channel.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

struct AckOptions {
  std::uint32_t size = 0;  // 0: what it was told
  const CLI::Option* refusal = nullptr;
  std::string why{};
};

void ack(const AckOptions& options) {
  const char* const socket = std::getenv(kAckVariable);
  if (socket == nullptr || *socket == '\0') {
    throw InputError("this is no program of a `ductile run --kind script` or `--kind restart`",
                     "call it from one");
  }
  Json words = {{"do", "ack"}};
  if (options.size != 0) words["size"] = options.size;
  if (options.refusal->count() > 0) words["refuse"] = options.why;
  const Json answer = Json::parse(ask_manager(socket, one_line(words)), nullptr, false);
  if (!answer.is_object()) throw RunError("the answer of the manager makes no sense");
  if (answer.value("ok", Json()) == true) return;
  throw RunError("not taken: " + answer.value("error", std::string("no reason given")));
}

}  // namespace

void add_ack_command(CLI::App& app) {
  const auto options = std::make_shared<AckOptions>();
  CLI::App* command = app.add_subcommand(
      "ack", "In a program that is resized by `ductile run --kind script`: say which size it has");
  CLI::Option* size =
      command->add_option("SIZE", options->size, "what it has; if not given, what it was told")
          ->check(CLI::Range(1U, wire::kMaxProcesses));
  options->refusal =
      command
          ->add_option("--refuse", options->why, "it keeps the size that it had; why, for people")
          ->type_name("WHY")
          ->expected(0, 1)
          ->excludes(size);
  command->callback([options] { ack(*options); });
}

}  // namespace ductile
