#include "job/resize_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ductile {

void ResizeTrace::add(const Resize& resize, std::optional<Clock::time_point> freed) {
  const Resize::Times& times = resize.times();
  const auto us = [](Clock::duration duration) {
    return std::chrono::duration<double>(duration).count() * 1e6;
  };
  const auto span = [&](std::string_view name, std::uint32_t row, Clock::time_point from,
                        Clock::time_point to) {
    if (from == Clock::time_point{} || to == Clock::time_point{}) return;
    events_.push_back({{"name", name},
                       {"ph", "X"},
                       {"pid", resize.generation()},
                       {"tid", row},
                       {"ts", us(from - begin_)},
                       {"dur", us(to - from)}});
  };
  const auto name = [&](std::string_view what, std::uint32_t row, const std::string& text) {
    events_.push_back({{"name", what},
                       {"ph", "M"},
                       {"pid", resize.generation()},
                       {"tid", row},
                       {"args", {{"name", text}}}});
  };
  const bool is_committed = resize.phase() == Resize::Phase::committed;
  name("process_name", 0,
       fmt::format("{} to {} processes, {}", resize.old_size(), resize.new_size(),
                   word(resize.phase())));
  name("thread_name", 0, "manager");
  // Phases that were entered, each until the next one.
  using Phases = std::vector<std::pair<const char*, Clock::time_point>>;
  const auto spans = [&](std::uint32_t row, const Phases& phases) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const bool has_next = i + 1 < phases.size() && phases[i + 1].second != Clock::time_point{};
      span(phases[i].first, row, phases[i].second, has_next ? phases[i + 1].second : times.settled);
    }
  };
  spans(0, {{"starting", times.starting},
            {"agreeing", times.agreeing},
            {"gathering", times.gathering},
            {"handing over", times.handing_over}});
  std::uint32_t row = 1;
  for (std::uint32_t rank = 0; rank < resize.old_size(); ++rank, ++row) {
    name("thread_name", row, fmt::format("old process {}", rank));
    spans(row, {{"computing", times.starting},
                {"waiting for the others", resize.reached()[rank]},
                {"handing over", times.handing_over},
                {"waiting for the commit", resize.sent()[rank]}});
    if (is_committed && freed) span("leaving", row, times.settled, *freed);
  }
  for (std::uint32_t rank = 0; rank < resize.new_size(); ++rank, ++row) {
    name("thread_name", row, fmt::format("new process {}", rank));
    spans(row, {{"starting", times.starting},
                {"waiting for data", resize.ready()[rank]},
                {"taking over", times.handing_over},
                {"waiting for the commit", resize.taken()[rank]}});
    span("going on", row, times.settled, resize.running()[rank]);
  }
}

bool ResizeTrace::write(const std::string& path) const {
  std::ofstream file(path);
  file << nlohmann::ordered_json({{"traceEvents", events_}}).dump() << '\n';
  return static_cast<bool>(file.flush());
}

}  // namespace ductile
