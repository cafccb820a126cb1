#include "report/decisions_csv.hpp"

#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace ductile {

DecisionsCsv::DecisionsCsv(const std::filesystem::path& path, const Workload& workload)
    : file_(path), workload_(workload) {}

void DecisionsCsv::on_begin(const Core& core) {
  file_.text() += "time,id,decision,job,size_before,size,nodes,reason,for_job,limit";
  has_steps_ = core.state().rules.slow_for_power;
  if (has_steps_) file_.text() += ",frequency_step";
  file_.text() += '\n';
}

void DecisionsCsv::on_decision(Time now, const Decision& decision, const Core& core) {
  std::string& text = file_.text();
  const auto out = std::back_inserter(text);
  // The core may have forgotten a job; the workload knows all of them, in the core's order.
  const auto name = [&](JobId id) {
    return id == JobId::none ? std::string() : std::to_string(workload_.jobs[index(id)].name);
  };
  const Nodes size = decision.after.count;
  Nodes before = 0;
  std::string_view what = word(decision.kind);
  if (decision.kind == Decision::Kind::resize || decision.stops()) {
    if (const Unanswered* order = core.state().find(decision.id)) before = order->before.count;
  }
  if (decision.kind == Decision::Kind::resize) {
    what = size > before ? "expand" : size < before ? "shrink" : "move";
  }
  append_seconds(text, now);
  fmt::format_to(out, ",{},{},{},{},{},{},{},{},", index(decision.id), what, name(decision.job),
                 before, size, to_string(decision.after.nodes), word(decision.reason.why),
                 name(decision.reason.job));
  const bool limited =
      decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::set_limit;
  if (limited && decision.limit < kNever) append_seconds(text, decision.limit);
  if (has_steps_) {
    text += ',';
    const bool says_step =
        decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::frequency;
    if (says_step) fmt::format_to(out, "{}", decision.step);
  }
  text += '\n';
  file_.appended();
}

}  // namespace ductile
