#include "cli/program.hpp"

#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "cli/process.hpp"

namespace ductile {
namespace {

enum Exit { kDone = 0, kFailed = 1, kWrongCall = 2 };

/// Warnings are no part of the answer, which others may read as JSON.
void warn_on_stderr(const std::string& name) {
  auto log =
      std::make_shared<spdlog::logger>(name, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern(name + ": %v");
  log->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(log));
}

int fail(const Program& program, Exit code, const std::string& message) {
  std::cerr << program.name << ": " << message << std::endl;
  return code;
}

int run(const Program& program, int argc, char** argv) {
  CLI::App app(program.what, program.name);
  app.set_version_flag("--version", program.name + " " DUCTILE_VERSION);
  app.require_subcommand(1);
  program.add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {  // a command with an exit code of its own
    std::cout.flush();
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    const CLI::App* command = &app;
    std::string call = program.name;
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      call += " " + command->get_name();
    }
    fail(program, kWrongCall, error.what());
    std::cerr << "See '" << call << " --help'." << std::endl;
    return kWrongCall;
  }
  std::cout.flush();
  if (!std::cout) return fail(program, kFailed, "the standard output cannot be written");
  return kDone;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  process_seconds();
  std::ios::sync_with_stdio(false);
  warn_on_stderr(program.name);
  try {
    return run(program, argc, argv);
  } catch (const InputError& error) {
    return fail(program, kWrongCall, error.what());
  } catch (const std::bad_alloc&) {
    return fail(program, kFailed, "out of memory; run fewer jobs, or fewer --threads");
  } catch (const std::logic_error& error) {
    return fail(program, kFailed,
                std::string("a defect of ductile, please report it: ") + error.what());
  } catch (const std::exception& error) {
    return fail(program, kFailed, error.what());
  }
}

}  // namespace ductile
