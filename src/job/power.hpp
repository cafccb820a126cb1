// The energy that this host uses, as the kernel's powercap shows it (RAPL).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ductile {

/// Sums the counters of the processor packages.
class EnergyMeter {
 public:
  /// `folder` as /sys/class/powercap is: in it a folder for each zone, "intel-rapl:0", with the
  /// files name ("package-0"), energy_uj and max_energy_range_uj. Zones that cannot be read do not
  /// count.
  explicit EnergyMeter(const std::string& folder);

  /// Can anything be read?
  bool is_there() const { return !packages_.empty(); }
  /// Joules since the last call, or since the beginning.
  double take();

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range = 0;  // of the counter, which begins again at 0 after it
    std::uint64_t last = 0;
  };
  std::vector<Package> packages_{};
};

}  // namespace ductile
