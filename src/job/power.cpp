#include "job/power.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>

namespace ductile {
namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "name"), name);
    // Other zones are parts of these ("core", "dram"), or hold them ("psys").
    if (name.rfind("package-", 0) != 0) continue;
    const auto now = number_in(entry.path() / "energy_uj");
    if (!now) continue;
    packages_.push_back({.counter = entry.path() / "energy_uj",
                         .range = number_in(entry.path() / "max_energy_range_uj").value_or(0),
                         .last = *now});
  }
}

double EnergyMeter::take() {
  double joules = 0;
  for (Package& package : packages_) {
    const auto now = number_in(package.counter);
    if (!now) continue;
    const bool has_wrapped = *now < package.last;
    const std::uint64_t used = has_wrapped
                                   ? package.range - std::min(package.range, package.last) + *now
                                   : *now - package.last;
    joules += 1e-6 * static_cast<double>(used);
    package.last = *now;
  }
  return joules;
}

}  // namespace ductile
