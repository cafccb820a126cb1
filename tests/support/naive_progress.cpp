#include "support/naive_progress.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace ductile::testing {
namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();
// The world rounds times to microseconds, of many nodes at times, and what happens to a job often
// happens when it is somewhere: what is as near as this is at the same place. What is neither
// clearly there nor clearly elsewhere is told.
constexpr double kSame_s = 2e-5, kClearly_s = 5e-7, kElsewhere_s = 2e-4;

/// An iteration of a phase.
struct Piece {
  double left_s = 0;  // at the preferred size
  const Speedup* speedup = nullptr;
  bool point_follows = false;
};

std::vector<Piece> pieces_of(const WorkloadJob& job, const AdaptiveJob& more,
                             const ResizeBehaviour& how) {
  std::vector<Phase> phases = more.phases;
  if (phases.empty()) phases = {{1, more.speedup, how.phases, true}};
  std::vector<Piece> pieces;
  double from = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const double until = i + 1 < phases.size() ? phases[i].until : 1;
    const double share = (until - from) / phases[i].iterations;
    from = until;
    for (std::uint32_t n = 0; n < phases[i].iterations; ++n) {
      pieces.push_back({share * to_seconds(job.runtime),
                        more.phases.empty() ? &more.speedup : &more.phases[i].speedup,
                        phases[i].scheduling_points});
    }
  }
  pieces.back().point_follows = false;  // it is over then
  return pieces;
}

/// Takes the first `done_s` of them away; returns the first with something left: more than sums
/// lose, or its end would come twice.
std::size_t skip(std::vector<Piece>& pieces, double done_s) {
  constexpr double kLost_s = 1e-9;
  std::size_t piece = 0;
  for (; piece < pieces.size() && pieces[piece].left_s <= done_s + kLost_s; ++piece) {
    done_s -= pieces[piece].left_s;
  }
  if (piece < pieces.size()) pieces[piece].left_s -= done_s;
  return piece;
}

double cost_s(const ReconfigurationCost& cost, Nodes from, Nodes to) {
  const double difference = std::abs(static_cast<double>(from) - static_cast<double>(to));
  if (difference == 0) return 0;
  const double once =
      cost.alpha_s * difference + cost.beta_s / (double{} + from + to) + cost.b_s * difference;
  const double times = cost.transfer_s == 0 ? 1 : cost.transfer_s / (from < to ? from : to);
  return cost.scale * once * times + cost.fixed_s;
}

}  // namespace

NaiveRun naive_run(const WorkloadJob& job, const AdaptiveJob& more, const ResizeBehaviour& how,
                   const Life& life, double step_s) {
  NaiveRun run;
  std::vector<Piece> pieces = pieces_of(job, more, how);
  const bool anywhere = how.apply_at == ResizeBehaviour::ApplyAt::immediate;
  std::size_t piece = 0, act = 0, asked = 0;
  double now = life.start_s, done_s = 0;
  Nodes size = life.size;
  double since_point_s = kForEver;  // of work
  double heard_s = kForEver;        // when it will have heard of the order to resize
  Nodes to = 0;
  double unpaid_s = 0;
  bool granted = false;  // it asked for what it gets
  bool refused = false;
  bool suspends = false;  // what it was told
  bool rests = false;     // it is suspended
  double answered_s = -kForEver;
  const auto is_same = [&](double apart_s) {
    run.is_unsure = run.is_unsure || (apart_s > kClearly_s && apart_s < kElsewhere_s);
    return apart_s < kSame_s;
  };
  const auto resized = [&](double at_s) {
    answered_s = at_s;
    if (refused) return;
    run.resized_s.push_back(at_s);
    rests = suspends;
    if (rests) return;
    size = to;
    if (!granted) return;
    const double all_s = to_seconds(job.runtime);
    done_s = std::clamp(done_s + more.steps.at(0).saves * all_s, 0.0, all_s);
    pieces = pieces_of(job, more, how);
    piece = skip(pieces, done_s);
  };

  for (double step = step_s; piece < pieces.size();) {
    // What was done to it by now.
    while (act < life.acts.size() && life.acts[act].at_s <= now) {
      const Life::Act& it = life.acts[act];
      // One order at a time: the next one may seem to come a microsecond too early.
      if (!it.lost && (unpaid_s > 0 || heard_s < kForEver)) break;
      ++act;
      if (it.lost || it.goes_on) {
        size = it.size;
        heard_s = kForEver;
        unpaid_s = 0;
        rests = false;
        if (it.goes_on) answered_s = it.at_s;
      } else {
        suspends = it.suspends;
        to = it.refused || suspends ? size : it.size;
        refused = it.refused;
        granted = it.grants;
        heard_s = it.at_s + to_seconds(how.delay.a);
      }
    }
    if (rests && act == life.acts.size()) {
      now = kForEver;
      break;
    }
    // A step ends early where something happens.
    double span = step;
    if (act < life.acts.size() && life.acts[act].at_s > now) {
      span = std::min(span, life.acts[act].at_s - now);
    }
    if (heard_s > now) span = std::min(span, heard_s - now);

    if (rests) {
      // Nothing is done, and nothing lost.
    } else if (unpaid_s > 0) {
      span = std::min(span, unpaid_s);
      unpaid_s -= span;
      if (unpaid_s <= 0) resized(now + span);
    } else if (heard_s <= now && (anywhere || is_same(since_point_s))) {
      heard_s = since_point_s = kForEver;  // the next order is later
      unpaid_s = cost_s(more.cost, size, to);
      span = 0;
      if (unpaid_s == 0) resized(now);
    } else {
      Piece& at = pieces[piece];
      const double slow = at.speedup->relative_time(size, job.nodes);
      span = std::min(span, at.left_s * slow);
      if (asked < more.steps.size()) {
        const double until_s = more.steps[asked].progress * to_seconds(job.runtime) - done_s;
        const bool is_inside = until_s * slow > kSame_s && (at.left_s - until_s) * slow > kSame_s;
        if (is_inside) span = std::min(span, until_s * slow);
      }
      const bool over = span >= at.left_s * slow;
      const double worked_s = over ? at.left_s : span / slow;
      at.left_s -= worked_s;
      done_s += worked_s;
      since_point_s += span;
      if (over) {
        // The next order comes a microsecond after an answer: it meets none that is no later.
        if (at.point_follows && !is_same(now + span - answered_s)) since_point_s = 0;
        ++piece;
      }
    }
    now += span;
    step -= span;
    if (step <= 0) step = step_s;
    // It answers before it asks, at one instant: also if iterations that take no time come first.
    std::size_t next = piece;
    while (next < pieces.size() && pieces[next].left_s == 0 && !pieces[next].point_follows) ++next;
    const bool point_comes = next < pieces.size() && pieces[next].left_s == 0;
    const bool resizes_first = heard_s <= now && cost_s(more.cost, size, to) == 0 &&
                               (anywhere || is_same(since_point_s) || point_comes);
    if (resizes_first) continue;
    while (!rests && asked < more.steps.size() && unpaid_s == 0 && piece < pieces.size()) {
      const double until_s = more.steps[asked].progress * to_seconds(job.runtime) - done_s;
      if (!is_same(until_s * pieces[piece].speedup->relative_time(size, job.nodes))) break;
      run.asked_s.push_back(now);
      ++asked;
    }
    if (now > life.end_s + 1e7) throw std::logic_error("a job that never ends");
  }
  run.end_s = now;
  return run;
}

}  // namespace ductile::testing
