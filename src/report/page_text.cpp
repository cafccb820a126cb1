#include "report/page_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace ductile {
namespace {

using Json = nlohmann::json;

constexpr const char* kRemedy = "simulate it again";

// JSON has no number that is not finite.
Json of(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
double number(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto word = json.get<std::string>();
  using Limits = std::numeric_limits<double>;
  return word == "nan"   ? Limits::quiet_NaN()
         : word == "inf" ? Limits::infinity()
                         : -Limits::infinity();
}

Json of(Time time) { return time.time_since_epoch().count(); }
Time time_of(const Json& json) { return Time(Duration(json.get<std::int64_t>())); }

// An enumerator that has one of these words.
template <class Enum, std::size_t Count>
Enum word_of(const Json& json, const std::array<std::string_view, Count>& words) {
  const auto word = json.get<std::string>();
  const auto* const at = std::ranges::find(words, word);
  if (at == words.end()) throw InputError(word + " is none of the words there are", kRemedy);
  return static_cast<Enum>(at - words.begin());
}
Json of(Occasion occasion) { return kOccasionWords.at(static_cast<std::size_t>(occasion)); }
Json of(Goal goal) { return kGoalWords.at(static_cast<std::size_t>(goal)); }
Json of(Why why) { return word(why); }

Json of(const TimeMeans& means) {
  Json sums = Json::array();
  for (const double sum : means.sums()) sums.push_back(of(sum));
  return {of(means.begin()), of(means.end()), means.step().count(), std::move(sums)};
}
TimeMeans means_of(const Json& json) {
  std::vector<double> sums;
  for (const Json& sum : json.at(3)) sums.push_back(number(sum));
  return {time_of(json.at(0)), time_of(json.at(1)), Duration(json.at(2).get<std::int64_t>()),
          std::move(sums)};
}

Json of(const GanttBar& bar) {
  return {bar.job,     bar.nodes.first, bar.nodes.last, of(bar.from), of(bar.to),
          of(bar.why), bar.size,        bar.cores,      bar.of,       bar.is_guest};
}
GanttBar bar_of(const Json& json) {
  return {.job = json.at(0).get<std::uint64_t>(),
          .nodes = {json.at(1).get<std::uint32_t>(), json.at(2).get<std::uint32_t>()},
          .from = time_of(json.at(3)),
          .to = time_of(json.at(4)),
          .why = word_of<Why>(json.at(5), kWhyWords),
          .size = json.at(6).get<Nodes>(),
          .cores = json.at(7).get<std::uint32_t>(),
          .of = json.at(8).get<std::uint32_t>(),
          .is_guest = json.at(9).get<bool>()};
}

Json of(const Gantt& gantt) {
  Json bars = Json::array();
  for (const GanttBar& bar : gantt.bars) bars.push_back(of(bar));
  return {of(gantt.begin), of(gantt.end), gantt.nodes, gantt.whole, std::move(bars)};
}
Gantt gantt_of(const Json& json) {
  Gantt gantt{.begin = time_of(json.at(0)),
              .end = time_of(json.at(1)),
              .nodes = json.at(2).get<Nodes>(),
              .whole = json.at(3).get<bool>(),
              .bars = {}};
  for (const Json& bar : json.at(4)) gantt.bars.push_back(bar_of(bar));
  return gantt;
}

Json of(const ChoiceMade& made) {
  const Choice& its = made.choice;
  Json members = Json::array();
  for (const Choice::Member& member : its.members) {
    members.push_back({member.settings, of(member.outlook.turnaround_s),
                       of(member.outlook.slowdown), of(member.outlook.longest_wait_s),
                       of(member.score)});
  }
  return {of(made.at), of(its.occasion), of(its.goal), its.jobs,
          its.passes,  its.ruled,        its.chosen,   std::move(members)};
}
ChoiceMade choice_of(const Json& json) {
  ChoiceMade made{.at = time_of(json.at(0)),
                  .choice = {.occasion = word_of<Occasion>(json.at(1), kOccasionWords),
                             .goal = word_of<Goal>(json.at(2), kGoalWords),
                             .jobs = json.at(3).get<std::uint32_t>(),
                             .passes = json.at(4).get<std::uint64_t>(),
                             .ruled = json.at(5).get<std::uint32_t>(),
                             .chosen = json.at(6).get<std::uint32_t>(),
                             .members = {}}};
  for (const Json& member : json.at(7)) {
    made.choice.members.push_back(
        {.settings = member.at(0).get<std::string>(),
         .outlook = {number(member.at(1)), number(member.at(2)), number(member.at(3))},
         .score = number(member.at(4))});
  }
  if (std::max(made.choice.ruled, made.choice.chosen) >= made.choice.members.size()) {
    throw InputError("a choice is of no member that it has", kRemedy);
  }
  return made;
}

Json of(const ResizeCounter::ByReason& by_reason) {
  Json json = Json::array();
  for (const auto& [why, counts] : by_reason) {
    json.push_back({why ? of(*why) : Json(), counts.expands, counts.shrinks, counts.moves,
                    counts.not_done, counts.gained, counts.given});
  }
  return json;
}
ResizeCounter::ByReason resizes_of(const Json& json) {
  ResizeCounter::ByReason by_reason;
  for (const Json& its : json) {
    const auto why =
        its.at(0).is_null() ? std::optional<Why>() : word_of<Why>(its.at(0), kWhyWords);
    const auto count = [&](std::size_t i) { return its.at(i).get<std::uint64_t>(); };
    by_reason[why] = {count(1), count(2), count(3), count(4), count(5), count(6)};
  }
  return by_reason;
}

Json of(const CorridorLine& line) { return {of(line.at), of(line.low_w), of(line.high_w)}; }

template <class Each>
Json all(const std::vector<Each>& list) {
  Json json = Json::array();
  for (const Each& each : list) json.push_back(of(each));
  return json;
}

}  // namespace

std::string page_text(const RunPage& page) {
  return Json{{"workload", page.workload},   {"held", of(page.held)},
              {"pending", of(page.pending)}, {"adaptive", of(page.adaptive)},
              {"power_w", of(page.power_w)}, {"corridor", all(page.corridor)},
              {"resizes", of(page.resizes)}, {"choices", all(page.choices)},
              {"gantt", of(page.gantt)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunPage page_of_text(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    RunPage page;
    page.workload = json.at("workload").get<std::string>();
    page.held = means_of(json.at("held"));
    page.pending = means_of(json.at("pending"));
    page.adaptive = means_of(json.at("adaptive"));
    page.power_w = means_of(json.at("power_w"));
    for (const Json& line : json.at("corridor")) {
      page.corridor.push_back({time_of(line.at(0)), number(line.at(1)), number(line.at(2))});
    }
    page.resizes = resizes_of(json.at("resizes"));
    for (const Json& choice : json.at("choices")) page.choices.push_back(choice_of(choice));
    page.gantt = gantt_of(json.at("gantt"));
    return page;
  } catch (const Json::exception& error) {
    throw InputError(std::string("what a page shows is damaged: ") + error.what(), kRemedy);
  }
}

}  // namespace ductile
