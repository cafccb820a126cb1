#include "job/step.hpp"

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "base/error.hpp"
#include "job/control_clients.hpp"
#include "job/controller_connection.hpp"
#include "job/json_line.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// The manager of a script is on this host, and answers once it has heard what there is to hear.
constexpr std::chrono::hours kAsLongAsItTakes{24};

/// What comes back. RunError, also if it is a refusal.
Json ask(const Descriptor& connection, const Json& first, std::chrono::milliseconds patience) {
  send_all(connection, one_line(first) + "\n");
  Json answer = parse_json_line<Json>(read_line(connection, patience));
  if (!answer.is_object()) throw RunError("the answer makes no sense");
  if (answer.value("ok", Json()) != true) {
    const Json why = answer.value("error", Json());
    throw RunError(why.is_string() ? std::string(why) : "it does not say why");
  }
  return answer;
}

/// What it gives a step. A field of another type than it should have is a RunError.
void take(RunSettings& settings, const Json& answer, Descriptor connection) {
  try {
    settings.size = answer.value("size", 1U);
    settings.max = answer.value("max", settings.size);
    if (answer.contains("cpus")) {
      settings.cpus = parse_node_set(std::string(answer["cpus"])).value_or(NodeSet{});
    }
    settings.launcher.cores = answer.value("cores", settings.launcher.cores);
    if (const std::string hosts = answer.value("hosts", ""); !hosts.empty()) {
      settings.launcher.hosts = parse_hosts(hosts);
    }
  } catch (const Json::exception&) {
    throw RunError("the answer makes no sense");
  }
  if (settings.size < 1 || settings.size > settings.max || settings.max > wire::kMaxProcesses) {
    throw RunError("the answer has no size that can be");
  }
  settings.step_fd = connection.release();
}

}  // namespace

bool become_step(RunSettings& settings) {
  const char* const path = std::getenv(kStepsVariable);
  if (path == nullptr || *path == '\0') return false;
  Descriptor connection = connect_unix(path);
  unsetenv(kStepsVariable);  // what the step starts is none
  try {
    const Json answer = ask(connection, {{"do", "step"}}, kAsLongAsItTakes);
    take(settings, answer, std::move(connection));
  } catch (const RunError& error) {
    throw RunError(std::string("this is no step of the job: ") + error.what());
  }
  settings.evolving = Evolving::deny;
  return true;
}

std::string join_job(RunSettings& settings) {
  unsetenv(kControllerVariable);  // what the program starts is another one, of which nobody knows
  settings.evolving = Evolving::ask;
  constexpr std::chrono::seconds kPatience{10};
  const RunSettings before = settings;
  try {
    Descriptor connection = connect_to_controller(settings.in_job->controller, kPatience);
    const Json answer = ask(connection, words_of_job(*settings.in_job), kPatience);
    take(settings, answer, std::move(connection));
    return {};
  } catch (const std::runtime_error& error) {  // InputError, RunError, std::system_error
    settings = before;
    return error.what();
  }
}

Json words_of_job(const InJob& job) {
  return {{"do", "job"}, {"job", job.number}, {"pid", getpid()}};
}

}  // namespace ductile
