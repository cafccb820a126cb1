// Events, pen calls and decisions as lines of text: what a journal or a log keeps.
//
// A record is words and numbers separated by single spaces, in a fixed order; times are
// microseconds, node sets are written "0-3,7" and "-" when empty. The same value gives the same
// text, and reading it gives the same value. docs/formats/log.md has the table.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.hpp"
#include "model/platform.hpp"
#include "scheduling/event.hpp"
#include "scheduling/state.hpp"
#include "scheduling/words.hpp"

namespace ductile {

/// The words of the kinds of events, in the order of `Event`.
std::span<const std::string_view> event_words();

/// When an instant was closed, and whether that asked the policy.
struct Closed {
  Time at{};
  bool asked = false;
};

std::string to_record(Time time);
std::string to_record(const Platform& platform);
std::string to_record(const Capabilities& capabilities);
std::string to_record(const Rules& rules);  // without `record`, `check` and `counts_uses`
std::string to_record(const Traits& traits);
std::string to_record(const Event& event);
std::string to_record(const PenCall& call);
std::string to_record(const Decision& decision);
std::string to_record(const Closed& closed);

// The other way round. They throw `RecordError`.
Time time_from_record(std::string_view text);
Platform platform_from_record(std::string_view text);
Capabilities capabilities_from_record(std::string_view text);
Rules rules_from_record(std::string_view text);
Traits traits_from_record(std::string_view text);
Event event_from_record(std::string_view text);
PenCall pen_call_from_record(std::string_view text);
Decision decision_from_record(std::string_view text);
Closed closed_from_record(std::string_view text);

}  // namespace ductile
