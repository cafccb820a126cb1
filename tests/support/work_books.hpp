// What jobs had of a run, counted beside the simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "simulation/observer.hpp"
#include "support/random_policy.hpp"

namespace ductile::testing {

/// Every job that is not killed or requeued had the nodes for all of its work, and no more.
class WorkBooks final : public Observer {
 public:
  explicit WorkBooks(const Workload& workload) : rows_(workload.jobs.size()) {}

  std::uint64_t checked = 0, closes = 0, decisions = 0, suspended = 0;

  void on_begin(const Core& core) override {
    if (watched) watch_ = std::make_unique<RandomPolicy::Watch>(core.state());
  }
  void on_decision(Time now, const Decision& decision, const Core& core) override {
    ++decisions;
    digest = mixed(digest ^ static_cast<std::uint64_t>(now.time_since_epoch().count()));
    digest = mixed(digest ^ index(decision.job) ^ std::uint64_t{decision.after.count} << 32);
    if (decision.kind == Decision::Kind::start && core.state().capabilities.instant_start) {
      begin(now, decision.job, decision.after.count, core);
    }
    if (decision.kind == Decision::Kind::cores) {
      advance(now, decision.job);
      note_share(decision.job, core);
      ++rows_[index(decision.job)].resizes;
    }
  }
  bool wants_events() const override { return true; }
  void on_event(Time now, const Event& event, bool taken, const Core& core) override {
    if (const auto* started = std::get_if<event::Started>(&event); started && taken) {
      begin(now, started->job, core.job(started->job).holding.count, core);
    }
    // Nodes may change to what they are, and operators order what a job cannot do by then.
    const bool may_be_refused = std::holds_alternative<event::NodesChanged>(event) ||
                                std::holds_alternative<event::StopOrdered>(event) ||
                                std::holds_alternative<event::SizeOrdered>(event) ||
                                std::holds_alternative<event::MoveOrdered>(event);
    if (!taken && !may_be_refused) refused.push_back(event);
  }
  void on_resized(Time now, JobId id, Nodes, const Core& core) override {
    advance(now, id);
    Row& row = rows_[index(id)];
    row.size = core.job(id).holding.count;
    row.most = std::max(row.most, row.size);
    note_share(id, core);
    ++row.resizes;
  }
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core&) override {
    advance(now, id);
    Row& row = rows_[index(id)];
    ASSERT_FALSE(row.over) << "job " << job.name << " ended twice";
    row.over = !requeued;
    if (state != EndState::completed) return;
    // Each time is rounded to a microsecond.
    const Work slack = Work{row.most} * (row.resizes + 2);
    const Work work = total_work(job.nodes, job.runtime);
    ASSERT_GE(row.done + slack, work) << "job " << job.name;
    ASSERT_LE(row.done - slack, work) << "job " << job.name;
    ++checked;
  }
  void on_suspended(Time now, JobId id, const WorkloadJob&, const Core&) override {
    advance(now, id);
    rows_[index(id)].size = 0;
    ++rows_[index(id)].resizes;
    ++suspended;
  }
  void on_close(Time, const Core&) override {
    if (++closes > 100'000) throw std::runtime_error("this never ends");
  }
  void on_finish(Time, const Core&) override { watch_.reset(); }

  bool watched = false;
  std::uint64_t digest = 0;
  std::vector<Event> refused;

 private:
  struct Row {
    Work done = 0;
    Time at{};
    Nodes size = 0, most = 0;
    std::uint64_t has = 1, of = 1;  // cores
    std::uint32_t resizes = 0;
    bool over = false;
  };

  void begin(Time now, JobId id, Nodes size, const Core& core) {
    Row& row = rows_[index(id)];
    if (!core.job(id).goes_on) row.done = 0;
    row.at = now;
    row.size = size;
    row.most = std::max(row.most, size);
    note_share(id, core);
  }
  void advance(Time now, JobId id) {
    Row& row = rows_[index(id)];
    row.done += Work{row.size} * (now - row.at).count() * row.has / row.of;
    row.at = now;
  }
  /// Of the cores that it could have of its nodes.
  void note_share(JobId id, const Core& core) {
    const Job& job = core.job(id);
    const std::uint64_t whole = core.state().platform.cores_per_node;
    const std::uint64_t uses =
        job.spec.cores == 0 ? whole : std::min<std::uint64_t>(job.spec.cores, whole);
    Row& row = rows_[index(id)];
    row.of = uses * job.size();
    row.has = row.of;
    for (const Part& part : job.holding.parts) {
      row.has -= part.nodes.count() * (uses - std::min<std::uint64_t>(part.has.cores, uses));
    }
  }

  std::vector<Row> rows_;
  std::unique_ptr<RandomPolicy::Watch> watch_;
};

}  // namespace ductile::testing
