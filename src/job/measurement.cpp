#include "job/measurement.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace ductile {

Measurement::Measurement(std::chrono::milliseconds interval, const std::string& power_from,
                         const std::string& usual_power, Clock::time_point now)
    : interval_(interval), begun_(now) {
  if (!is_on()) return;
  EnergyMeter meter(power_from);
  if (meter.is_there()) {
    energy_ = std::move(meter);
  } else if (power_from != usual_power) {
    throw InputError("there are no counters of energy in '" + power_from + "'",
                     "give a folder as /sys/class/powercap is");
  }
}

void Measurement::add(const wire::Measured& measured) {
  looks_ += measured.looks;
  looks_in_mpi_ += measured.in_mpi;
}

void Measurement::add(const wire::Iterations& iterations) {
  iterations_.count += iterations.count;
  iterations_.total_ns += iterations.total_ns;
  iterations_.longest_ns = std::max(iterations_.longest_ns, iterations.longest_ns);
}

void Measurement::forget() {
  looks_ = 0;
  looks_in_mpi_ = 0;
  iterations_ = {};
}

Measurement::Json Measurement::report(Clock::time_point now, const std::vector<std::string>& nodes,
                                      const WattFiles::Elsewhere& elsewhere) {
  const double interval = std::chrono::duration<double>(now - begun_).count();
  begun_ = now;
  if (energy_) power_w_ = energy_->take() / interval;
  if (files_) watts_ = files_->read(nodes, elsewhere);
  const std::uint64_t computing = looks_ - looks_in_mpi_;
  if (looks_ > 0) {
    mtct_.reset();
    if (computing > 0) {
      mtct_ = static_cast<double>(looks_in_mpi_) / static_cast<double>(computing);
    }
  }
  const auto& [count, total_ns, longest_ns] = iterations_;
  if (count > 0) iteration_s_ = 1e-9 * static_cast<double>(total_ns) / count;
  Json details;
  if (looks_ > 0 || count > 0 || energy_ || files_) {
    details = {{"looks", looks_},
               {"in_mpi", looks_in_mpi_},
               {"mtct", looks_ > 0 && mtct_ ? Json(*mtct_) : Json()},
               {"iterations", count}};
    if (count > 0) {
      details["iteration_s"] = *iteration_s_;
      details["longest_iteration_s"] = 1e-9 * static_cast<double>(longest_ns);
    }
    if (energy_) details["power_w"] = *power_w_;
    if (files_) details["watts"] = watts_ ? Json(*watts_) : Json();
    if (files_ && !watts_) details["why_no_watts"] = files_->why();
  }
  forget();
  return details;
}

Measurement::Json Measurement::last() const {
  const auto known = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json last = {
      {"mtct", known(mtct_)}, {"iteration_s", known(iteration_s_)}, {"power_w", known(power_w_)}};
  if (files_) last["watts"] = known(watts_);
  return last;
}

}  // namespace ductile
