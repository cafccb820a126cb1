#pragma once
#include <filesystem>
#include <string>
#include <vector>
#include "metrics/summary.hpp"
#include "simulation/simulation.hpp"
namespace ductile {
struct RunPage { std::string folder; Summary summary; };
class RunFolder {
 public:
  RunFolder(const std::filesystem::path&, const Workload&, const SimulationSettings&) {}
  void add_observers(std::vector<Observer*>&) {}
  RunPage finish(const Summary& s, const std::string& f) { return {f, s}; }
  void write_summary(const Summary&) {}
};
inline void write_comparison(const std::filesystem::path&, const std::vector<RunPage>&) {}
}
