#include "job/script_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

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

std::vector<std::string> to_words(const ScriptSettings& settings, JobKind kind) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    words.push_back(fmt::format("--{}={}", option, value));
  };
  const auto seconds = [](std::chrono::milliseconds time) {
    return fmt::format("{}", std::chrono::duration<double>(time).count());
  };
  const bool is_told = kind == JobKind::script || kind == JobKind::restart;
  if (is_told && settings.signal != 0) add("signal", std::string(signal_word(settings.signal)));
  const bool answers = kind == JobKind::script || kind == JobKind::charm;
  if (answers) add("ack-timeout", seconds(settings.ack_timeout));
  if (kind != JobKind::restart) return words;
  if (!settings.checkpoint.empty()) add("checkpoint", settings.checkpoint);
  add("checkpoint-timeout", seconds(settings.checkpoint_timeout));
  add("checkpoint-exit", std::to_string(settings.stopped_exit));
  if (!settings.restart.empty()) add("restart", settings.restart);
  add("settle", seconds(settings.settle));
  return words;
}

}  // namespace ductile
