#include "job/script_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ductile {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 9> kSignals{{{"USR1", SIGUSR1},
                                                                    {"USR2", SIGUSR2},
                                                                    {"TERM", SIGTERM},
                                                                    {"INT", SIGINT},
                                                                    {"HUP", SIGHUP},
                                                                    {"QUIT", SIGQUIT},
                                                                    {"CONT", SIGCONT},
                                                                    {"URG", SIGURG},
                                                                    {"WINCH", SIGWINCH}}};

}  // namespace

std::optional<int> parse_signal(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  const auto* const found =
      std::ranges::find(kSignals, text, &std::pair<std::string_view, int>::first);
  return found == kSignals.end() ? std::nullopt : std::optional(found->second);
}

std::string_view signal_word(int signal) {
  const auto* const found =
      std::ranges::find(kSignals, signal, &std::pair<std::string_view, int>::second);
  return found == kSignals.end() ? "" : found->first;
}

}  // namespace ductile
