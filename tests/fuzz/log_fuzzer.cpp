// Logs from anywhere: they must be replayed, or refused with words. Whatever the world tells a
// core, its invariants hold, and folding its pen calls gives its decisions. And each record that
// can be read is written and read again as the same.
//
// Inputs that begin with 'd' get a valid end of file, so that the fuzzer comes past the checksum to
// the records and into the core; then their events alone are told to a core that may decide what it
// likes. Those that begin with 'f' are read from a file, without the 'f'.
//
// Readers: src/scheduling/record.cpp src/simulation/replay.cpp src/model/fairness.cpp
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "memory_file.hpp"
#include "scheduling/core.hpp"
#include "scheduling/invariants.hpp"
#include "scheduling/record.hpp"
#include "simulation/recording.hpp"
#include "simulation/replay.hpp"
#include "support/random_policy.hpp"

namespace ductile {
namespace {

using testing::test_policy;

// Not assert: it holds in every build.
void require(bool condition, int line = __builtin_LINE()) {
  if (!condition) std::fprintf(stderr, "line %d does not hold\n", line);
  if (!condition) std::abort();
}

template <class Read>
auto round_trip(std::string_view text, Read read) {
  auto value = read(text);
  const std::string written = to_record(value);
  require(to_record(read(written)) == written);
  return value;
}

// The lines of a log, without a look at what was decided: a core is told the events.
class Told {
 public:
  // False: nothing more can be told.
  bool line(std::string_view line) {
    try {
      return read(line);
    } catch (const RecordError&) {
      return true;  // skipped
    } catch (const InputError&) {
      return true;  // no such policy
    } catch (const InvariantViolation&) {
      throw;
    } catch (const std::logic_error&) {
      return false;  // the world contradicts itself
    }
  }

 private:
  static constexpr Nodes kMostNodes = 512;

  static std::string_view word(std::string_view& rest) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return word;
  }

  bool read(std::string_view rest) {
    const std::string_view head = word(rest);
    if (head == "E") {
      const Time now = time_from_record(word(rest));
      word(rest);
      Event event = round_trip(rest, event_from_record);
      if (!core_) return true;
      if (auto* changed = std::get_if<event::MachineChanged>(&event)) {
        changed->platform.nodes = std::min(changed->platform.nodes, kMostNodes);
      }
      auto next = policy_;
      if (const auto* changed = std::get_if<event::ConfigChanged>(&event)) {
        next = test_policy(changed->traits.settings);
      }
      const bool taken = core_->apply(now, event);
      require(taken == folds_->apply(now, event));
      if (taken) policy_ = next;
    } else if (head == "C") {
      const Closed closed = round_trip(rest, closed_from_record);
      if (core_) close(closed.at);
    } else if (head == "P") {
      round_trip(rest, pen_call_from_record);
    } else if (head == "platform") {
      platform_ = round_trip(rest, platform_from_record);
      platform_.nodes = std::min(platform_.nodes, kMostNodes);
    } else if (head == "world") {
      can_ = round_trip(rest, capabilities_from_record);
    } else if (head == "rules") {
      rules_ = round_trip(rest, rules_from_record);
    } else if (head == "policy" && !core_) {
      rules_.record = rules_.check = true;
      const Traits traits = round_trip(rest, traits_from_record);
      policy_ = test_policy(traits.settings);
      core_.emplace(platform_, can_, rules_, traits);
      folds_ = core_;
    }
    return true;
  }

  // Nothing may be thrown here.
  void close(Time now) noexcept {
    const auto decisions = core_->close(now, *policy_);
    const std::vector<PenCall> calls(core_->pen_calls().begin(), core_->pen_calls().end());
    const auto folded = follow(*folds_, now, core_->was_asked(), calls);
    require(std::ranges::equal(decisions, folded));
    require(core_->next_wake() > core_->state().now);
  }

  Platform platform_{.nodes = 8};
  Capabilities can_;
  Rules rules_;
  std::shared_ptr<const Policy> policy_;
  std::optional<Core> core_, folds_;
};

void replay_as_file(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    replay(*open_log_file(file.path()), file.path(), test_policy);
  } catch (const InputError&) {
  } catch (const RunError&) {
  }
  try {
    open_log_file("no/such/file");
    std::abort();
  } catch (const InputError&) {
  }
}

}  // namespace
}  // namespace ductile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && text[0] == 'f') {
    ductile::replay_as_file(text.substr(1));
    return 0;
  }
  if (size > 0 && text[0] == 'd') text = ductile::sealed_log(text);
  std::istringstream in(text);
  try {
    ductile::replay(in, "log", ductile::testing::test_policy);
  } catch (const ductile::InputError&) {
    // refused
  } catch (const ductile::RunError&) {
    // other decisions than recorded
  }
  ductile::Told told;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!told.line(line)) break;
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return 0;
}
