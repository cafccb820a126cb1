// What is written of a job that is submitted, before anything is made of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "cli/script_options.hpp"

namespace ductile {

/// What is written on the command line or in a script; both are parsed by the same options.
struct WrittenJob {
  std::string file{};  // of the program or the script
  std::string nodes{};
  std::string type{};
  Nodes min = 0, max = 0;
  std::string time{};
  std::string name{};
  std::string folder{};
  std::string output{};
  std::string input{};
  std::string error{};
  std::uint32_t tasks_per_node = 0;
  std::uint32_t cores_per_process = 0;
  std::string memory{};
  std::string memory_per_core{};
  std::string partition{}, things{}, only{}, never{}, reservation{};
  std::string features{}, qos{};
  std::int32_t priority = 0;
  std::string account{};
  std::string model{}, sizes{}, constraint{};
  std::string watts{};
  std::string malleability{};
  std::string mpi = "auto";
  std::string kind = "mpi";
  ScriptOptions told{};
  std::string dependency{}, array{}, begin{};
  bool requeues = false;
  bool holds = false;
  bool waits = false;
  std::string key{};
};

}  // namespace ductile
