// What programs of ours have in common: their calls, `NAME COMMAND ...`, and how they end.
//
// Exit codes: 0 done; 1 the run failed or was stopped; 2 the call or its input was wrong.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace ductile {

struct Program {
  std::string name{};
  std::string what{};  // in a line
  std::function<void(CLI::App&)> add_commands{};
};

/// To be returned by `main`.
int run_program(const Program& program, int argc, char** argv);

}  // namespace ductile
