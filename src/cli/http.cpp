#include "cli/http.hpp"

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"
#include "cli/serve.hpp"
#include "live/client.hpp"
#include "live/http_api.hpp"
#include "live/http_child.hpp"
#include "live/http_listener.hpp"
#include "live/http_token.hpp"

namespace ductile {
namespace {

struct HttpOptions {
  std::string socket{}, state{}, listen{}, token{};
  bool writes = false;
  int inherited = -1;  // the descriptor at which a controller whose child this is listens
  pid_t parent = 0;    // that controller
};

volatile std::sig_atomic_t is_told_to_end = 0;

void end(int) { is_told_to_end = 1; }

Descriptor listener_of_parent(int descriptor) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
    throw InputError("--inherited is no socket that listens", "leave it out, and give --listen");
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return Descriptor(descriptor);
}

void answer_http(const HttpOptions& options) {
  set_up_serve_log(0);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, end);
  std::signal(SIGINT, end);
  const bool is_child = options.inherited >= 0;
  if (!is_child && options.listen.empty()) {
    throw InputError("it is not said where it listens", "give --listen [HOST:]PORT or unix:PATH");
  }
  const std::string state = options.state.empty() ? default_state() : options.state;
  const HttpTokenFiles files = http_token_files(options.token, state, options.writes);
  HttpSettings settings{.socket = options.socket.empty() ? state + "/socket" : options.socket,
                        .journal = state + "/journal.db",
                        .token = token_in(files.read),
                        .write_token = files.write.empty() ? "" : token_in(files.write)};
  Descriptor listener = is_child ? listener_of_parent(options.inherited)
                                 : listen_for_http(options.listen, "--listen");
  if (!is_child) {
    spdlog::info("answering HTTP at {}; its token is in {}", http_address(listener), files.read);
  }
  HttpApi api(std::move(settings), std::move(listener));
  while (is_told_to_end == 0 && (!is_child || getppid() == options.parent)) {
    api.turn(std::chrono::seconds(1));
  }
}

}  // namespace

void add_http_command(CLI::App& app) {
  const auto options = std::make_shared<HttpOptions>();
  CLI::App* command = app.add_subcommand(
      "http",
      "Answer HTTP for a controller that does not do so itself: its state, and a page of it");
  command
      ->add_option("--listen", options->listen,
                   "where: a numeric address; PORT alone: of this machine; or a Unix socket")
      ->type_name("[HOST:]PORT|unix:PATH");
  command->add_option("--socket", options->socket,
                      "of the controller; socket in the folder of its state if not given");
  command->add_option("--state", options->state,
                      "folder of the controller's state, as `ductile serve` was given it");
  command
      ->add_option(
          "--token", options->token,
          "file of the token by which clients may ask, made if it is not there; http-token in "
          "the folder of the state if not given")
      ->type_name("FILE");
  command->add_flag("--write", options->writes,
                    "jobs may be changed, too, with another token: that in FILE.write");
  CLI::Option* const parent = command->add_option("--parent", options->parent)->group("");
  command->add_option("--inherited", options->inherited)->group("")->needs(parent);
  command->callback([options] { answer_http(*options); });
}

}  // namespace ductile
