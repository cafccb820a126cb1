#include "live/happenings.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "live/controller.hpp"
#include "live/schedule_clock.hpp"
#include "scheduling/record.hpp"

namespace ductile {
namespace {

using Json = nlohmann::ordered_json;

/// A page looks at so many records at most, so that it takes a moment; there may be more.
constexpr std::uint64_t kMostLookedAt = 20'000;

std::optional<Event> taken_event(std::string_view text, Time& time) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.size() < space + 3) {
    throw RecordError("record", "this is no event");
  }
  if (text[space + 1] != '1') return std::nullopt;
  time = time_from_record(text.substr(0, space));
  return event_from_record(text.substr(space + 3));
}

Json bound(double watts) { return watts < 1e18 ? Json(watts) : Json(); }

/// What people are told of an event; `job` is added by others. Nothing: it is not of interest.
struct Teller {
  using Told = std::optional<Json>;

  static Json holding(const char* what, const Holding& now) {
    return {{"what", what}, {"nodes", now.count}, {"nodelist", to_string(now.nodes)}};
  }
  Told operator()(const event::Submitted& its) const {
    return Json{{"what", "submitted"},           {"type", word(its.job.type)},
                {"nodes", its.job.preferred},    {"min_nodes", its.job.size.min},
                {"max_nodes", its.job.size.max}, {"time_limit_s", to_seconds(its.job.walltime)}};
  }
  Told operator()(const event::Eligible& its) const {
    return Json{{"what", its.yes ? "released" : "held"}};
  }
  Told operator()(const event::Started& its) const {
    if (its.now.count == 0) return Json{{"what", "started"}};
    return holding("started", its.now);
  }
  Told operator()(const event::StartFailed&) const { return Json{{"what", "start-failed"}}; }
  Told operator()(const event::Resized& its) const {
    Json row = holding("resized", its.now);
    row["paused_s"] = to_seconds(its.paused);
    return row;
  }
  Told operator()(const event::Ended& its) const {
    const auto state = kEndWords.at(static_cast<std::size_t>(its.state));
    return Json{{"what", its.requeue ? "requeued" : "ended"}, {"state", end_word(state)}};
  }
  Told operator()(const event::EvolvingRequested& its) const {
    return Json{{"what", "requested"}, {"more_nodes", its.delta}, {"at_least", its.at_least}};
  }
  Told operator()(const event::EvolvingWithdrawn&) const { return std::nullopt; }
  Told operator()(const event::NodesChanged& its) const {
    return Json{{"what", "nodes"},
                {"nodelist", to_string(its.nodes)},
                {"health", kHealthWords.at(static_cast<std::size_t>(its.health))}};
  }
  Told operator()(const event::CorridorChanged& its) const {
    return Json{{"what", "corridor"}, {"lower_w", its.low_w}, {"upper_w", bound(its.high_w)}};
  }
  Told operator()(const event::Believed&) const { return std::nullopt; }
  Told operator()(const event::AtPoint&) const { return std::nullopt; }
  Told operator()(const event::ContentionLearned&) const { return std::nullopt; }
  Told operator()(const event::SizeOrdered& its) const {
    return Json{{"what", "ordered"}, {"nodes", its.size == 0 ? Json() : Json(its.size)}};
  }
  Told operator()(const event::ConfigChanged& its) const {
    return Json{{"what", "policy"}, {"policy", its.traits.settings}};
  }
  Told operator()(const event::TimerFired&) const { return std::nullopt; }
  Told operator()(const event::Altered&) const { return Json{{"what", "altered"}}; }
  Told operator()(const event::MachineChanged& its) const {
    return Json{{"what", "machine"}, {"nodes", its.platform.nodes}};
  }
  Told operator()(const event::MoveOrdered& its) const {
    return Json{{"what", "move-ordered"}, {"nodelist", to_string(its.off)}};
  }
  Told operator()(const event::Suspended&) const { return Json{{"what", "suspended"}}; }
  Told operator()(const event::StopOrdered& its) const {
    const auto how = [&] { return kStopWords.at(static_cast<std::size_t>(*its.how)); };
    return Json{{"what", "stop-ordered"}, {"how", its.how ? Json(how()) : Json()}};
  }
  Told operator()(const event::Booked& its) const {
    return Json{{"what", "reservation"},
                {"name", its.booking.name},
                {"nodelist", to_string(its.booking.nodes)}};
  }
};

Json told(const Decision& decision) {
  return {{"what", "decision"},
          {"decision", word(decision.kind)},
          {"nodes", decision.after.count},
          {"nodelist", to_string(decision.after.nodes)},
          {"reason", word(decision.reason.why)}};
}

bool is_of(Happenings::Kind kind, const Json& row) {
  const std::string& what = row["what"].get_ref<const std::string&>();
  switch (kind) {
    case Happenings::Kind::decisions:
      return what == "decision";
    case Happenings::Kind::outages:
      return what == "nodes";
    case Happenings::Kind::resizes:
      return what == "resized" || (what == "decision" && row["decision"] == "resize");
    case Happenings::Kind::any:
      break;
  }
  return true;
}

}  // namespace

Happenings::Happenings(const std::string& journal) : journal_(journal, Journal::Use::read) {
  constexpr std::size_t kDigits = 16;
  const auto [id, last] = journal_.here();
  id_ = id.substr(0, kDigits);
  last_ = last;
  ahead_ = ScheduleClock(journal_.clock(), Time{}).ahead();
}

std::optional<Json> Happenings::row_of(const Journal::Record& record) const {
  std::optional<Json> row;
  Time time = record.closed;
  if (record.kind == 'E') {
    if (const auto event = taken_event(record.text, time)) row = std::visit(Teller{}, *event);
  } else if (record.kind == 'D') {
    row = told(decision_from_record(record.text));
  }
  if (!row) return std::nullopt;
  Json whole{{"record", record.number}, {"time_s", wall_s(time)}};
  whole["job"] = record.job != 0 ? Json(record.job) : Json();
  whole.update(*row);
  return whole;
}

std::vector<Happenings::Row> Happenings::after(std::uint64_t record, std::size_t records) const {
  std::vector<Row> rows;
  journal_.each_record(record, record + records, [&](const Journal::Record& each) {
    if (auto row = row_of(each)) rows.push_back({each.number, std::move(*row)});
  });
  return rows;
}

Happenings::Page Happenings::before(std::uint64_t record, std::size_t most, Kind kind) const {
  constexpr std::uint64_t kAtOnce = 1000;
  Page page;
  std::uint64_t end = std::min(record, last_ + 1);  // without it
  for (std::uint64_t looked_at = 0; end > 1; looked_at += kAtOnce) {
    if (looked_at >= kMostLookedAt) {
      page.next = end;
      break;
    }
    const std::uint64_t begin = end > kAtOnce ? end - kAtOnce : 1;
    std::vector<Row> rows = after(begin - 1, end - begin);
    std::ranges::reverse(rows);
    for (Row& row : rows) {
      if (!is_of(kind, row.row)) continue;
      if (page.rows.size() == most) return page;
      page.next = row.record;
      page.rows.push_back(std::move(row.row));
    }
    end = begin;
    if (end == 1) page.next = 0;
  }
  return page;
}

Json Happenings::allocations_of(std::uint64_t job) const {
  Json rows = Json::array();
  std::map<DecisionId, Holding> decided;
  Holding now;
  Time since{};
  const auto hold = [&](Time time, const Holding& next) {
    if (next.nodes == now.nodes) return;
    if (!now.nodes.empty() && time > since) {
      rows.push_back(
          {{"nodelist", to_string(now.nodes)}, {"from_s", wall_s(since)}, {"to_s", wall_s(time)}});
    }
    now = next;
    since = time;
  };
  journal_.each_record_of(job, [&](const Journal::Record& record) {
    if (record.kind == 'D') {
      const Decision decision = decision_from_record(record.text);
      if (decision.kind == Decision::Kind::start) hold(record.closed, decision.after);
      // While it is resized it has what it had, and what it will have.
      if (decision.kind == Decision::Kind::resize) {
        hold(record.closed, {.nodes = united(now.nodes, decision.after.nodes)});
      }
      decided[decision.id] = decision.after;
    }
    if (record.kind != 'E') return;
    Time time{};
    const auto event = taken_event(record.text, time);
    if (!event) return;
    if (const auto* started = std::get_if<event::Started>(&*event)) {
      hold(time, started->now.count > 0 ? started->now : decided[started->answers]);
    } else if (const auto* resized = std::get_if<event::Resized>(&*event)) {
      hold(time, resized->now);
    } else if (std::holds_alternative<event::StartFailed>(*event) ||
               std::holds_alternative<event::Ended>(*event) ||
               std::holds_alternative<event::Suspended>(*event)) {
      hold(time, {});
    }
  });
  if (!now.nodes.empty()) {
    rows.push_back(
        {{"nodelist", to_string(now.nodes)}, {"from_s", wall_s(since)}, {"to_s", Json()}});
  }
  return rows;
}

}  // namespace ductile
