#include "cli/power_options.hpp"

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/number_range.hpp"
#include "simulation/corridor.hpp"
#include "simulation/power_caps.hpp"

namespace ductile {
namespace {

constexpr double kLongest = 1e9;

Duration read_seconds(const std::string& option, std::string_view text) {
  const auto value = parse_number<double>(text);
  if (value && *value >= 0 && *value <= kLongest) return seconds(*value);
  throw InputError({.field = option}, fmt::format("'{}' is no duration", text),
                   "write seconds from 0 to 1e9");
}

// "idle=71,busy=250,boot=60"; busy nodes of jobs that do not say their watts draw what idle ones
// do, if it does not say otherwise.
void read_node_power(std::string_view text, Platform& platform) {
  constexpr double kMost = 1e6;
  const std::string option = "--node-power";
  std::optional<double> busy;
  std::set<std::string, std::less<>> keys;
  std::string_view rest = text;
  for (bool more = true; more;) {
    more = rest.find(',') != std::string_view::npos;
    std::string_view value = next_part(rest, ',');
    const std::string key(next_part(value, '='));
    if (!keys.insert(key).second) {
      throw InputError({.field = option}, fmt::format("'{}' is there twice", key), "write it once");
    }
    if (key == "boot") {
      platform.boot_time = read_seconds(option + ": boot", value);
      continue;
    }
    const auto watts = parse_number<double>(value);
    if (key != "idle" && key != "busy" && key != "off") {
      throw InputError({.field = option}, fmt::format("there is no '{}'", key),
                       "write idle=W,busy=W,off=W,boot=S");
    }
    if (!watts || *watts < 0 || *watts > kMost) {
      throw InputError({.field = option + ": " + key}, fmt::format("'{}' is no power", value),
                       "write watts from 0 to 1e6");
    }
    if (key == "idle") platform.idle_w = *watts;
    if (key == "busy") busy = *watts;
    if (key == "off") platform.off_w = *watts;
  }
  platform.busy_w = busy.value_or(platform.idle_w);
  if (platform.off_w > platform.idle_w) {
    throw InputError({.field = option}, "nodes that are off draw more than idle ones",
                     "let off be less than idle");
  }
}

// "SIGMA" or "SIGMA:PERIOD".
void read_drift(std::string_view text, MtctMeasurement& how) {
  const auto sigma = parse_number<double>(next_part(text, ':'));
  if (!sigma || *sigma < 0 || *sigma > 100) {
    throw InputError({.field = "--mtct-drift"}, "the first part is no number from 0 to 100",
                     "write SIGMA or SIGMA:SECONDS");
  }
  how.drift = *sigma;
  if (text.empty()) return;
  how.period = read_seconds("--mtct-drift", text);
  if (how.period < whole_seconds(1)) {
    throw InputError({.field = "--mtct-drift"}, "the period is below a second",
                     "write SIGMA:SECONDS with at least 1");
  }
}

}  // namespace

void add_power_options(CLI::App& command, SimulationSettings& settings) {
  const auto add = [&](const char* name, const char* type, const char* help, auto read) {
    command.add_option_function<std::string>(name, read, help)->type_name(type);
  };
  add("--node-power", "idle=W[,busy=W][,off=W][,boot=S]",
      "what a node draws that is idle, that runs a job which does not say its own (as idle), that "
      "is off (0); and how long it boots [0 W]",
      [&settings](const std::string& text) { read_node_power(text, settings.platform); });
  add("--power-cap", "WATTS|FILE",
      "so many watts are drawn at most, idle nodes included, as far as is believed; or the "
      "caps of a file with lines TIME_S WATTS. What is drawn say --node-power, the classes of "
      "--platform, or the jobs of --adaptive [none]",
      [&settings](const std::string& text) {
        settings.power_caps = read_power_caps(text, {.field = "--power-cap"});
      });
  command.add_flag("--slow-for-power", settings.rules.slow_for_power,
                   "a job that lacks nothing but watts starts at a lower step of frequency of "
                   "--platform, if it ends sooner so");
  add("--corridor", "LOWER..UPPER|FILE",
      "between so many watts shall be drawn; or the bounds of a file with lines TIME_S LOWER_W "
      "UPPER_W. Kept by power_aware and power_ahead, watched under other policies [none]",
      [&settings](const std::string& text) {
        settings.corridor = read_corridor(text, {.field = "--corridor"});
      });
  add("--violation-grace", "SECONDS",
      "to be outside of the corridor for longer is a violation of it [30]",
      [&settings](const std::string& text) {
        settings.violation_grace = read_seconds("--violation-grace", text);
      });
  add("--node-off-after", "SECONDS",
      "nodes that were idle for so long are switched off while nobody waits, and on again when the "
      "first waiting job lacks nodes [never]",
      [&settings](const std::string& text) {
        settings.rules.node_off_after = read_seconds("--node-off-after", text);
        if (settings.rules.node_off_after == Duration{}) {
          throw InputError({.field = "--node-off-after"}, "nodes would go off at once",
                           "write more than 0 seconds");
        }
      });
  add("--power-delay", "SECONDS",
      "so long after its start what a job truly draws is measured, where --adaptive says watts of "
      "LEAST..MOST:DRAWN [10]",
      [&settings](const std::string& text) {
        settings.power_delay = read_seconds("--power-delay", text);
      });
  add("--mtct", "FILE",
      "time in MPI over time in computation, as it is measured: lines JOB,SIZE,MTCT. For jobs and "
      "sizes that are not there the models tell",
      [&settings](const std::string& text) { settings.mtct.table = read_mtct(text); });
  add("--mtct-delay", "SECONDS", "so long after a start or a resize it is measured [10]",
      [&settings](const std::string& text) {
        settings.mtct.delay = read_seconds("--mtct-delay", text);
      });
  command
      .add_option("--mtct-noise", settings.mtct.noise,
                  "the values of the models are multiplied by e^(SIGMA z), z standard normal for "
                  "each job")
      ->type_name("SIGMA")
      ->check(NumberRange(0.0, 100.0))
      ->capture_default_str();
  add("--mtct-drift", "SIGMA[:SECONDS]",
      "codes change as they run: each SECONDS (600) their exponent moves by SIGMA z [0]",
      [&settings](const std::string& text) { read_drift(text, settings.mtct); });
}

}  // namespace ductile
