#include "live/look_up.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduling/record.hpp"

namespace ductile {
namespace {

/// Takes the rows about one job, and passes on what belongs to one event or one close together.
class Instants {
 public:
  Instants(std::uint64_t job, Explainer& explainer) : job_(job), explainer_(explainer) {}

  void add(const Journal::Record& record) {
    if (record.kind == 'E') return event(record.text);
    std::optional<Circumstance> circumstance;
    if (record.kind == 'F') circumstance = circumstance_from_record(job_, record.text);
    if (circumstance && circumstance->what == Circumstance::What::refused) {
      of_event_.push_back(*circumstance);  // it comes before its event
      return;
    }
    if (record.close != close_) end();
    close_ = record.close;
    closed_ = record.closed;
    if (circumstance) {
      circumstances_.push_back(*circumstance);
    } else if (record.kind == 'P') {
      plan_ = pen_call_from_record(record.text);
    } else if (record.kind == 'D') {
      decisions_.push_back(decision_from_record(record.text));
    }
  }

  /// What belongs to the close is all there.
  void end() {
    if (plan_ && !is_told()) {
      Circumstance plan{.what = Circumstance::What::plan, .job = job_};
      plan.why = word(plan_->reason.why);
      plan.at = plan_->time;
      circumstances_.push_back(plan);
    }
    if (close_ != 0) explainer_.close(closed_, decisions_, circumstances_);
    close_ = 0;
    plan_.reset();
    decisions_.clear();
    circumstances_.clear();
  }

 private:
  void event(std::string_view text) {
    end();
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.size() < space + 3) {
      throw RecordError("record", "this is no event");
    }
    explainer_.event(time_from_record(text.substr(0, space)),
                     event_from_record(text.substr(space + 3)), of_event_);
    of_event_.clear();
  }

  /// Is the plan told with its circumstances, or has something come of it at once?
  bool is_told() const {
    return std::ranges::any_of(circumstances_,
                               [](const Circumstance& other) {
                                 return other.what == Circumstance::What::plan ||
                                        other.what == Circumstance::What::claim;
                               }) ||
           std::ranges::find(decisions_, Decision::Kind::start, &Decision::kind) !=
               decisions_.end();
  }

  std::uint64_t job_;
  Explainer& explainer_;
  std::uint64_t close_ = 0;
  Time closed_{};
  std::optional<PenCall> plan_{};
  std::vector<Decision> decisions_{};
  std::vector<Circumstance> circumstances_{}, of_event_{};
};

}  // namespace

Explainer look_up(const Journal& journal, std::uint64_t job, Explainer::TimeText clock) {
  Explainer explainer(job, std::move(clock));
  const auto [platform, capabilities, rules] = journal.beginning();
  explainer.begin(platform, capabilities, rules);
  Instants instants(job, explainer);
  journal.each_record_of(job, [&](const Journal::Record& record) { instants.add(record); });
  instants.end();
  return explainer;
}

}  // namespace ductile
