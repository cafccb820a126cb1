#include "job/fault.hpp"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <unistd.h>

#include "base/text.hpp"

namespace ductile {
namespace {

enum class Kind { exit, hang, stall, cut, half, twice, stale, garbage };
constexpr std::array<std::string_view, 8> kKinds = {"exit", "hang",  "stall", "cut",
                                                    "half", "twice", "stale", "garbage"};

struct Fault {
  std::uint32_t generation = 0;
  std::string who{};
  std::string when{};
  std::string message{};
  Kind kind = Kind::exit;
};

std::vector<Fault> parse() {
  std::vector<Fault> faults;
  const char* const text = std::getenv("DUCTILE_FAULT");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    std::string_view part = next_part(rest, ';');
    const auto generation = parse_number<std::uint32_t>(next_part(part, ':'));
    const std::string_view who = next_part(part, ':');
    const std::string_view when = next_part(part, ':');
    const std::string_view message = next_part(part, ':');
    const auto kind = from_word<Kind>(kKinds, part);
    if (generation && kind) {
      faults.push_back(
          {*generation, std::string(who), std::string(when), std::string(message), *kind});
    }
  }
  return faults;
}

/// Each fault happens once in a process.
std::optional<Kind> take(std::string_view who, std::string_view when,
                         const wire::Message& message) {
  static std::mutex mutex;
  static std::vector<Fault> faults = parse();
  const std::scoped_lock lock(mutex);
  for (auto fault = faults.begin(); fault != faults.end(); ++fault) {
    if (fault->generation == message.generation && fault->who == who && fault->when == when &&
        fault->message == wire::name_of(message.content)) {
      const Kind kind = fault->kind;
      faults.erase(fault);
      return kind;
    }
  }
  return std::nullopt;
}

std::chrono::duration<double> stall() {
  const char* const text = std::getenv("DUCTILE_FAULT_STALL");
  return std::chrono::duration<double>(text == nullptr ? 3 : std::atof(text));
}

/// True if the message must not be sent, or not be heeded.
bool suffer(Kind kind, const std::function<void()>& cut) {
  switch (kind) {
    case Kind::exit:
      _exit(9);
    case Kind::hang:
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    case Kind::stall:
      std::this_thread::sleep_for(stall());
      return false;
    case Kind::cut:
    case Kind::half:
      cut();
      return true;
    case Kind::twice:
    case Kind::stale:
    case Kind::garbage:
      break;
  }
  return false;
}

}  // namespace

void send_with_faults(std::string_view who, const wire::Message& message,
                      const std::function<void(const std::string&)>& send,
                      const std::function<void()>& cut) {
  const std::string bytes = wire::encode(message);
  if (const auto kind = take(who, "before", message)) {
    if (*kind == Kind::half) send(bytes.substr(0, bytes.size() / 2));
    if (*kind == Kind::twice) send(bytes);
    if (*kind == Kind::stale) send(wire::encode({message.generation - 1, message.content}));
    if (*kind == Kind::garbage) send(std::string(wire::kHeaderBytes, '\xff'));
    if (suffer(*kind, cut)) return;
  }
  send(bytes);
  if (const auto kind = take(who, "after", message)) suffer(*kind, cut);
}

void receive_with_faults(std::string_view who, const wire::Message& message,
                         const std::function<void()>& cut) {
  if (const auto kind = take(who, "got", message)) suffer(*kind, cut);
}

}  // namespace ductile
