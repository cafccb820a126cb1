#include "cli/transform_options.hpp"

#include <memory>
#include <optional>
#include <string>

#include "cli/number_range.hpp"
#include "workload/transform_text.hpp"

namespace ductile {

CLI::Option* add_flurry_option(CLI::App& command, FlurrySettings& flurry) {
  return command
      .add_option_function<std::string>(
          "--flurry",
          [&flurry](const std::string& text) { flurry = parse_flurry("--flurry", text); },
          "what a flurry is: so many jobs of a user, and such a share of all, within so many days "
          "[jobs=1000,share=0.5,days=7]")
      ->type_name("key=value,...");
}

void add_transform_options(CLI::App& command, Transform& transform) {
  const auto flurry = std::make_shared<FlurrySettings>();
  CLI::Option* const what = add_flurry_option(command, *flurry);
  auto* remove = command.add_flag_callback(
      "--remove-flurries", [&transform, flurry] { transform.without_flurries = *flurry; },
      "leave out the jobs of users' surges that dominate the workload for a while");
  what->needs(remove);
  command.add_flag("--shuffle", transform.shuffle,
                   "deal the jobs out anew over the times at which jobs come");
  auto* scale = command
                    .add_option("--arrival-scale", transform.arrival_scale,
                                "multiplies the time between submissions; below 1 the load rises")
                    ->check(NumberRange(1e-9, 1e9))
                    ->capture_default_str();
  command
      .add_option("--load", transform.load,
                  "multiplies the time between submissions so that the work is this share of what "
                  "the machine can do from the first one to the last")
      ->check(NumberRange(1e-6, 1e6))
      ->excludes(scale);
  command
      .add_option("--speed-factor", transform.speed_factor,
                  "multiplies run times and requested times: another machine's speed")
      ->check(NumberRange(1e-9, 1e9))
      ->capture_default_str();

  const auto share = [&](const char* name, std::optional<AdaptiveShare>& to, const char* about) {
    command
        .add_option_function<std::string>(
            name, [name, &to](const std::string& text) { to = parse_share(name, text); }, about)
        ->type_name("SHARE[:key=value,...]");
  };
  share("--malleable", transform.malleable, "so many of the jobs can be resized while they run");
  share("--moldable", transform.moldable, "so many of the jobs can have any size at their start");
  command
      .add_option_function<std::string>(
          "--evolving",
          [&transform](const std::string& text) {
            transform.evolving = parse_evolving("--evolving", text, transform.requests);
          },
          "so many of the jobs ask for other sizes while they run")
      ->type_name("SHARE[:key=value,...]");
  command
      .add_option_function<std::string>(
          "--reconfiguration",
          [&transform](const std::string& text) {
            transform.cost = parse_reconfiguration("--reconfiguration", text);
            transform.reconfigure = true;
          },
          "what resizes cost: full, half or free [full]")
      ->type_name("LEVEL[:key=value,...]");
  command
      .add_option_function<std::string>(
          "--estimates",
          [&transform](const std::string& text) {
            transform.estimates = parse_estimates("--estimates", text);
          },
          "requested times: as requested; perfect, the run times; f:F, up to F + 1 times as long; "
          "menu, rounded up to usual times; predicted, from what the user's last two jobs took "
          "[requested]")
      ->type_name("requested|perfect|f:F|menu|predicted");
  command
      .add_option_function<std::string>(
          "--bound",
          [&transform](const std::string& text) {
            transform.bounds = parse_bounds("--bound", text);
          },
          "what jobs are bound by, which says what they lose by each other on nodes that they "
          "share [as the files have it]")
      ->type_name("compute:SHARE,memory:SHARE,mixed:SHARE");
}

}  // namespace ductile
