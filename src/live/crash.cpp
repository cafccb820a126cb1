#include "live/crash.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "base/text.hpp"

namespace ductile {
namespace {

struct Crash {
  std::uint64_t left = 0;  // moments; 0: it never comes
  Moment moment = Moment::any;
};

Crash crash_from_environment() {
  const char* const value = std::getenv("DUCTILE_CRASH_AT");
  std::string_view text = value == nullptr ? "" : value;
  Crash crash;
  constexpr std::pair<std::string_view, Moment> kKinds[] = {{"resize:", Moment::resize},
                                                            {"change:", Moment::change},
                                                            {"commit:", Moment::commit},
                                                            {"snapshot:", Moment::snapshot},
                                                            {"child:", Moment::child_of_snapshot}};
  for (const auto& [word, moment] : kKinds) {
    if (!text.starts_with(word)) continue;
    crash.moment = moment;
    text.remove_prefix(word.size());
    break;
  }
  crash.left = parse_number<std::uint64_t>(text).value_or(0);
  return crash;
}

void (*in_place)(Moment) = nullptr;

}  // namespace

void set_crash(void (*crash)(Moment)) { in_place = crash; }

void crash_point(Moment moment) {
  if (in_place != nullptr) return in_place(moment);
  static Crash crash = crash_from_environment();
  const bool counts = crash.moment == Moment::any || crash.moment == moment;
  if (counts && crash.left > 0 && --crash.left == 0) kill(getpid(), SIGKILL);
}

}  // namespace ductile
