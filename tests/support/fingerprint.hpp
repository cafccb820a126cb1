// The whole state of a core as text or as one number, to compare two cores or one core before and
// after a call. Header only, for the unit tests too.
#pragma once

#include <bit>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>

#include "base/random.hpp"
#include "scheduling/state.hpp"

namespace ductile::testing {

enum class Scope : std::uint8_t {
  all,    // every field
  facts,  // without the clock, the count of stale events, and what the last close handed out
};

namespace walking {

/// Takes the fields one by one and mixes them.
class Hash {
 public:
  void line(const char*) {}
  void number(std::uint64_t value) { hash_ = mixed(hash_ ^ value) + value; }
  std::uint64_t result() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

/// Writes them down.
class Text {
 public:
  void line(const char* name) { out_ << '\n' << name; }
  void number(std::uint64_t value) { out_ << ' ' << static_cast<std::int64_t>(value); }
  std::string result() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

/// Walks through all fields of a state.
template <class Sink>
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}

  void state(const State& s, Scope scope) {
    if (scope == Scope::all) {
      row("clock", s.now, s.stale, s.handed_out);
      row("instant", s.pass_first, s.decisions.size(), s.calls.size());
      for (const Decision& decision : s.decisions) fields("decision", decision);
      for (const PenCall& call : s.calls) fields("call", call);
    }
    row("counts", s.held, s.claimed, s.out_of_service, s.idle.count(), s.next_claim, s.next_boot);
    row("numbers", s.passes, s.next_decision, s.asked, s.answered, s.woken, s.must_wake);
    row("machine", s.platform.nodes, s.platform.cores_per_node, s.platform.idle_w,
        s.platform.busy_w, s.platform.boot_time);
    row("world", s.capabilities.instant_start, s.capabilities.resizes_per_job,
        s.capabilities.power_control, s.capabilities.moves, s.capabilities.suspends,
        s.capabilities.parts, s.capabilities.instant_cores, s.rules.share, s.rules.slow_for_power);
    for (const FrequencyStep& its : s.platform.steps) row("step", its.speed, its.power);
    for (const Contention::Row& its : s.rules.contention.per_mille) {
      row("contention", its[0], its[1], its[2]);
    }
    for (const NodeClass& its : s.platform.classes) {
      row("class", its.nodes, its.has.cores, its.has.memory_mb, its.speed, its.weight);
    }
    for (const Partition& its : s.platform.partitions) {
      row("partition", its.nodes, its.max_walltime, its.priority);
    }
    for (const Lane& lane : s.lanes) {
      row("lane", lane.jobs, lane.speed, lane.where.partitions, lane.where.each.memory_mb,
          lane.where.each.cores, lane.where.only, lane.where.never, lane.where.booking);
    }
    for (std::uint32_t i = 0; i < s.cells.size(); ++i) {
      row("cell", s.cells[i].nodes, s.idle.of(i), s.cells.in_order()[i]);
    }
    const Traits& traits = s.traits;
    row("settings", traits.settings.size());
    for (const char c : traits.settings) number(c);
    row("traits", traits.wakes, traits.answers_requests, traits.order, traits.priority_period,
        traits.fair_share.half_life, traits.start_size, traits.needs.resizes_per_job,
        traits.needs.power_control, traits.needs.parts, traits.overdue.slack, traits.overdue.grace);
    const Multifactor& how = traits.multifactor;
    row("multifactor", how.weight_age, how.weight_fairshare, how.weight_size, how.weight_partition,
        how.max_age, how.favor_small, how.small_relative_to_time, how.fairshare_dampening);
    for (const UserShare& each : traits.fair_share.shares) row("share", each.user, each.share);
    row("power", s.corridor_low_w, s.budget_mw, s.jobs_mw, s.on_mw, s.claimed_mw, s.power_mw());
    row("timer", s.timer);
    row("idle", s.idle.nodes());
    row("not up", s.not_up);
    for (const Health health : s.health) number(health);
    for (const Time at : s.retries) row("retry", at);
    for (std::uint32_t i = 0; i < s.jobs.size(); ++i) {
      if (s.jobs.contains(JobId{i})) fields("job", JobId{i}, s.jobs[JobId{i}]);
    }
    for (const Adaptive& adaptive : s.adaptive) fields("adaptive", adaptive);
    for (const std::uint32_t row_of : s.free_rows) row("free row", row_of);
    row("queue", s.queue.order(), s.queue.sorted_at(), s.queue.size(), s.queue.area(),
        s.sorting.overdue);
    s.queue.for_each([&](JobId id) { number(id); });
    // As of one moment, so that it is no matter of the clock.
    for (const Standing& each : s.uses.standings(Time{}, {.half_life = Duration{}})) {
      row("use", each.user, s.uses.nodes_of(each.user), each.value);
    }
    row("running");
    for (const JobId id : s.running) number(id);
    row("ordered");
    for (const JobId id : s.ordered) number(id);
    const auto release = [&](const char* name) {
      return [this, name](Time at, ReleaseTag who, std::int64_t amount) {
        row(name, at, who.kind(), who.id(), amount);
      };
    };
    s.releases.for_each(release("release"));
    s.power_releases.for_each(release("release of power"));
    for (const Releases& its : s.releases_of) its.for_each(release("release of a cell"));
    for (const Claim& claim : s.claims) fields("claim", claim);
    for (const Unanswered& u : s.unanswered) {
      fields("unanswered", u.decision);
      row("  sizes", u.before, u.releases, u.pledged, u.releases_mw, u.pledged_mw, u.expected,
          u.decided, u.promised, u.stays);
    }
    for (const auto& [node, who] : s.sharers) {
      row("sharers", node);
      for (const JobId id : who) number(id);
    }
    row("parted");
    for (const JobId id : s.parted) number(id);
    for (const Request& r : s.requests) row("request", r.id, r.job, r.delta, r.at_least);
    for (const Delays& d : s.delays)
      row("delays", d.party.kind, d.party.number, d.interval, d.sum_s);
    for (const PlannedDelay& p : s.planned_delays) {
      row("planned delay", p.job, p.request, p.from, p.to, p.counted, p.interval);
    }
    for (const StopOrder& stop : s.stops) row("stop", stop.job, stop.how);
    for (const Booking& its : s.bookings) {
      row("booking", its.id, its.from, its.to, its.nodes, its.power_mw, its.for_jobs,
          its.has_begun);
    }
    row("bookings", s.next_booking);
    for (const Boot& boot : s.boots) row("boot", boot.batch, boot.nodes, boot.ready);
  }

 private:
  template <class... Fields>
  void row(const char* name, const Fields&... fields) {
    sink_.line(name);
    (number(fields), ...);
  }

  void fields(const char* name, JobId id, const Job& j) {
    row(name, id, j.adaptive, j.status, j.doing, j.decision, j.holding, j.target, j.claim, j.keep,
        j.started, j.limit, j.not_before, j.release, j.reserved, j.work_left, j.work_at, j.power_mw,
        j.power_class, j.running_at, j.expands, j.shrinks, j.restarts, j.gain, j.first_size,
        j.ordered, j.tag, j.delayed, j.leaves, j.refusals, j.goes_on, j.pace.has, j.pace.of,
        j.step);
    const JobSpec& spec = j.spec;
    row("  spec", spec.name, spec.user, spec.group, spec.priority, spec.type, spec.submitted,
        spec.walltime, spec.size, spec.preferred, spec.account, spec.lane, spec.cores, spec.ranks,
        spec.bound);
  }
  void fields(const char* name, const Adaptive& a) {
    const AdaptiveSpec& spec = a.spec;
    row(name, a.mtct, a.rate, spec.cost.alpha_s, spec.cost.beta_s, spec.cost.b_s, spec.cost.fixed_s,
        spec.cost.scale, spec.cost.transfer_s, spec.resize_delay, spec.watts_per_node,
        spec.least_watts_per_node, spec.walltime_for);
    const Speedup& speedup = spec.speedup;
    row("  speedup", speedup.kind, speedup.parameter, speedup.sigma);
    for (const TimeAt& point : speedup.times.rows()) row("  time", point.nodes, point.time);
    for (const TimeHad& had : a.had) row("  had", had.nodes, had.time);
    row("  constraint", spec.constraint.kind, spec.constraint.multiple_of);
    for (const Nodes size : spec.constraint.sizes.rows()) row("  size", size);
  }
  void fields(const char* name, const Claim& c) {
    row(name, c.id, c.group, c.job, c.request, c.start, c.add, c.held, c.held_mw, c.reason, c.made,
        c.expected, c.release);
    for (const Pledge& pledge : c.pledges) {
      row("  pledge", pledge.victim, pledge.shrink, pledge.count, pledge.power_mw, pledge.nodes,
          pledge.inside);
    }
    row("  inside", c.inside);
  }
  void fields(const char* name, const Decision& d) {
    row(name, d.id, d.kind, d.job, d.after, d.limit, d.request, d.reason, d.step);
  }
  void fields(const char* name, const PenCall& c) {
    row(name, c.verb, c.job, c.other, c.request, c.claim, c.size, c.reason, c.incoming, c.time,
        c.step);
    for (const Cut& cut : c.cuts) row("  cut", cut.victim, cut.to, cut.each.value_or(Slice{}));
    for (const Delay& delay : c.delays) row("  delay", delay.job, delay.by);
    for (const Gain& gain : c.gains) {
      row("  gain", gain.job, gain.size, gain.request, gain.in, gain.on);
    }
    row("  in", c.in);
  }

  template <class T>
  void number(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      sink_.number(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      sink_.number(std::bit_cast<std::uint64_t>(value));
    } else {
      sink_.number(static_cast<std::uint64_t>(value));
      if constexpr (sizeof(T) > 8) sink_.number(static_cast<std::uint64_t>(value >> 64));
    }
  }
  void number(Time time) {
    sink_.number(static_cast<std::uint64_t>(time.time_since_epoch().count()));
  }
  void number(Duration duration) { sink_.number(static_cast<std::uint64_t>(duration.count())); }
  void number(const SizeRange& size) {
    number(size.min);
    number(size.max);
  }
  void number(const NodeSet& nodes) {
    for (const Interval& part : nodes.parts) {
      number(part.first);
      number(part.last);
    }
    number(nodes.parts.size());
  }
  void number(const Spread& spread) {
    for (const Spread::Part& part : spread.parts) {
      number(part.cell);
      number(part.count);
    }
  }
  void number(const Slice& slice) {
    number(slice.cores);
    number(slice.memory_mb);
    for (const std::uint16_t thing : slice.things) number(thing);
  }
  void number(const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      number(part.nodes);
      number(part.has);
    }
  }
  void number(const Holding& holding) {
    number(holding.count);
    number(holding.nodes);
    number(holding.parts);
  }
  void number(const Reason& reason) {
    number(reason.why);
    number(reason.job);
    number(reason.until);
  }

  Sink& sink_;
};

}  // namespace walking

/// Equal states give equal numbers; different ones, different numbers but for one case in 2^64.
inline std::uint64_t fingerprint(const State& state, Scope scope = Scope::all) {
  walking::Hash hash;
  walking::Walk(hash).state(state, scope);
  return hash.result();
}

/// One line per row of the state, for messages: where two states differ, their texts do.
inline std::string describe(const State& state, Scope scope = Scope::all) {
  walking::Text text;
  walking::Walk(text).state(state, scope);
  return text.result();
}

/// The first line in which the two differ; empty if they are equal.
inline std::string difference_of(const State& a, const State& b, Scope scope = Scope::all) {
  std::istringstream left(describe(a, scope)), right(describe(b, scope));
  for (;;) {
    std::string from_a, from_b;
    const bool more_a = static_cast<bool>(std::getline(left, from_a));
    const bool more_b = static_cast<bool>(std::getline(right, from_b));
    if (!more_a && !more_b) return {};
    if (from_a != from_b) return "'" + from_a + "' against '" + from_b + "'";
  }
}

}  // namespace ductile::testing
