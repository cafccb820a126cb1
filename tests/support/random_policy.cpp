#include "support/random_policy.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "policies/registry.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/event.hpp"
#include "scheduling/queue.hpp"
#include "support/fingerprint.hpp"

namespace ductile::testing {
namespace {

thread_local const State* watched = nullptr;

constexpr JobId kUnknownJob{1'000'000};

/// One pass of the policy.
class Scribble {
 public:
  Scribble(Pass& pass, const RandomPolicy::Settings& chosen) : pass_(pass), chosen_(chosen) {}

  void all() {
    for (std::uint32_t n = chosen_.shares ? below(4) : 0; n > 0; --n) share();
    if (chosen_.shares && below(2) == 0) move_on();
    if (chosen_.blocks && below(6) == 0) use_blocks();
    for (std::uint32_t n = below(chosen_.calls + 1); n > 0; --n) call();
    for (std::uint32_t n = pass_.frequency_steps() > 0 ? below(4) : 0; n > 0; --n) {
      below(2) == 0 ? start_slowed() : raise();
    }
    if (chosen_.blocks && below(10) == 0) use_blocks();
  }

 private:
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(pass_.random() % n); }
  Nodes between(Nodes low, Nodes high) { return low + below(std::uint64_t{high} - low + 1); }
  template <class T>
  T any_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  /// A call of the pen, which changes something only if it returns true.
  template <class Call>
  bool write(const char* what, Call call, bool must = false) {
    const std::uint64_t before = watched ? fingerprint(*watched) : 0;
    const bool done = call();
    if (!done && must) throw std::logic_error(std::string(what) + ": possible, but refused");
    if (!done && watched && fingerprint(*watched) != before) {
      throw std::logic_error(std::string(what) + ": refused, but something changed");
    }
    return done;
  }
  template <class Call>
  void refuse(const char* what, Call call) {
    if (write(what, call)) throw std::logic_error(std::string(what) + ": impossible, but done");
  }

  std::vector<JobId> pending() const {
    std::vector<JobId> ids;
    for (JobId id = pass_.first_pending(); id != JobId::none; id = pass_.next_pending(id)) {
      ids.push_back(id);
    }
    return ids;
  }
  std::vector<JobId> running() const { return {pass_.running().begin(), pass_.running().end()}; }
  std::vector<JobId> resizable() const {
    std::vector<JobId> ids = running();
    std::erase_if(ids, [&](JobId id) { return !pass_.resizable(id); });
    return ids;
  }

  // The nearest size the job may have.
  Nodes allowed_size(JobId id, Nodes n) {
    const SizeRange range = pass_.job(id).spec.size;
    return std::max(pass_.sizes(id).at_most(std::clamp(n, range.min, range.max)), Nodes{1});
  }

  SizeRange random_range(JobId id) {
    const JobSpec& spec = pass_.job(id).spec;
    if (!sizes_at_start(spec.type) || below(4) == 0) return exactly(spec.preferred);
    const Nodes a = between(spec.size.min, spec.size.max);
    const Nodes b = between(spec.size.min, spec.size.max);
    return {std::min(a, b), std::max(a, b)};
  }

  // Cuts of a few jobs; now and then one that is not possible.
  std::vector<Cut> random_cuts(std::uint32_t most) {
    std::vector<Cut> cuts;
    std::vector<JobId> from = below(16) == 0 ? running() : resizable();
    for (std::uint32_t n = below(most + 1); n > 0 && !from.empty(); --n) {
      const JobId victim = any_of(from);
      if (below(16) != 0) std::erase(from, victim);
      const Job& job = pass_.job(victim);
      const Nodes to = below(16) == 0
                           ? between(0, job.size())
                           : allowed_size(victim, between(0, std::max(job.size(), Nodes{1}) - 1));
      const bool possible = to < job.size() && job.spec.size.contains(to);
      if (possible || below(16) == 0) cuts.push_back({victim, to});
    }
    // A job that this pass cut may be named again.
    if (below(2) == 0) {
      for (const JobId id : running()) {
        const Job& job = pass_.job(id);
        if (job.doing == Doing::resizing && job.size() < job.holding.count && below(2) == 0) {
          cuts.push_back({id, job.size()});
        }
      }
    }
    return cuts;
  }
  Sources random_sources(const std::vector<Cut>& cuts) { return {cuts, below(3) == 0}; }

  void call() {
    switch (below(23)) {
      case 0:
      case 1:
        return start();
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
        return start_with_cuts();
      case 7:
        return shrink();
      case 8:
        return expand();
      case 9:
      case 10:
      case 11:
        return expand_with_cuts();
      case 12:
      case 13:
      case 14:
        return answer_request();
      case 15:
        return below(3) == 0 ? withdraw() : notes();
      case 16:
        return notes();
      case 17:
        return power();
      case 18:
      case 19:
        return carry_out();
      case 20:
        return below(3) == 0 ? reject() : start_on();
      case 22:
        return chosen_.stops ? stop() : impossible();
      default:
        return impossible();
    }
  }

  /// Has its application this size?
  bool is_allowed(JobId id, Nodes n) const {
    const JobSpec& spec = pass_.job(id).spec;
    return !sizes_at_start(spec.type) || (spec.size.contains(n) && pass_.sizes(id).allows(n));
  }

  void start() {
    const std::vector<JobId> waiting = pending();
    if (waiting.empty()) return;
    const JobId id = any_of(waiting);
    const SizeRange range = random_range(id);
    const bool must = pass_.fits(id, range.max) && is_allowed(id, range.max);
    const Nodes idle = pass_.idle();
    write(
        "start", [&] { return pass_.start(id, range, {Why::in_order}); }, must);
    if (must && pass_.idle() != idle - range.max) throw std::logic_error("start: other nodes");
  }

  // At a lower frequency; now and then at one that there is not.
  void start_slowed() {
    const std::vector<JobId> waiting = pending();
    if (waiting.empty()) return;
    const JobId id = any_of(waiting);
    const auto step = static_cast<std::uint8_t>(1 + below(pass_.frequency_steps() + 1U));
    const Nodes n = random_range(id).max;
    const auto start = [&] { return pass_.start(id, exactly(n), {Why::in_order}, {.step = step}); };
    if (step > pass_.frequency_steps()) return refuse("start at no frequency", start);
    // For as long as it takes then, something may be booked.
    const bool must = is_allowed(id, n) && pass_.job(id).not_before <= pass_.now() &&
                      n <= pass_.idle(id) && !pass_.has_bookings() && watched &&
                      pass_.slowed(id, n, step).power_mw <= watched->free_power_mw();
    if (!write("start at a lower frequency", start, must)) return;
    if (pass_.job(id).step != step) throw std::logic_error("a start at another frequency");
  }

  // One that was slowed, or any.
  void raise() {
    const std::vector<JobId> from = below(4) == 0 ? running() : pass_.slowed_jobs();
    if (from.empty()) return;
    const JobId id = any_of(from);
    const Job& job = pass_.job(id);
    const auto step = static_cast<std::uint8_t>(below(job.step + 1U));
    const auto raise = [&] { return pass_.raise_frequency(id, step, {Why::hand_out}); };
    const bool is_free = job.doing == Doing::nothing && job.claim == ClaimId::none;
    if (step == job.step || !is_free) return refuse("a frequency that is no higher", raise);
    const bool must = pass_.raise_mw(id, step) <= pass_.spare_power_mw(id);
    if (write("raise", raise, must) && job.step != step)
      throw std::logic_error("raise: not to this frequency");
  }

  // Exactly some nodes, of which some may not be idle or not be there.
  void start_on() {
    const std::vector<JobId> waiting = pending();
    if (waiting.empty() || !chosen_.names_nodes) return;
    const JobId id = any_of(waiting);
    const SizeRange range = random_range(id);
    NodeSet on;
    for (Nodes n = between(range.min, range.max); on.count() < n && on.count() < 64;) {
      const std::uint32_t first = below(std::uint64_t{pass_.platform().nodes} + 1);
      on.insert(first, first + below(n - on.count()));
    }
    const Nodes idle = pass_.idle();
    const bool done = write("start on nodes",
                            [&] { return pass_.start(id, range, {Why::outside}, {.on = &on}); });
    if (!done) return;
    if (pass_.job(id).holding.nodes != on) throw std::logic_error("start on nodes: on others");
    if (pass_.idle() != idle - on.count())
      throw std::logic_error("start on nodes: other idle ones");
  }

  void reject() {
    const std::vector<JobId> waiting = pending();
    if (waiting.empty() || !chosen_.stops) return;
    const JobId id = any_of(waiting);
    write(
        "reject", [&] { return pass_.reject(id, {Why::outside}); }, true);
    refuse("reject", [&] { return pass_.reject(id, {Why::outside}); });
  }

  void start_with_cuts() {
    const std::vector<JobId> waiting = pending();
    if (waiting.empty()) return;
    const JobId id = any_of(waiting);
    const std::vector<Cut> cuts = random_cuts(3);
    const Sources sources = random_sources(cuts);
    write("start with cuts", [&] {
      return pass_.start(id, random_range(id), {Why::shrunk_for, id}, sources);
    });
  }

  void shrink() {
    const std::vector<JobId> from = resizable();
    if (from.empty()) return;
    const JobId id = any_of(from);
    const Job& job = pass_.job(id);
    if (job.size() < 2) return;
    const Nodes to = allowed_size(id, between(1, job.size() - 1));
    const bool must = to < job.size() && job.spec.size.contains(to) && pass_.sizes(id).allows(to);
    write(
        "shrink", [&] { return pass_.resize(id, to, {Why::corridor}); }, must);
  }

  // Now and then somebody waits for what it gives.
  void stop() {
    const std::vector<JobId> from = running();
    if (from.empty()) return;
    const JobId id = any_of(from);
    const auto how = static_cast<Stop>(below(kStopWords.size()));
    const bool must = pass_.stoppable(id, how);
    const Nodes before = pass_.incoming(), gives = pass_.job(id).holding.count;
    write(
        "stop", [&] { return pass_.stop(id, how, {Why::shrunk_for}); }, must);
    if (!must) return refuse("stop", [&] { return pass_.stop(id, how, {Why::shrunk_for}); });
    if (pass_.incoming() > before + gives) throw std::logic_error("stop: more comes than it had");
    if (const auto waiting = pending(); !waiting.empty() && below(2) == 0) {
      const JobId next = any_of(waiting);
      write("start behind a stop", [&] {
        return pass_.start(next, random_range(next), {Why::shrunk_for, id}, {{}, true});
      });
    }
  }

  void expand() {
    const std::vector<JobId> from = below(3) == 0 ? running() : resizable();
    if (from.empty()) return;
    const JobId id = any_of(from);
    const Nodes size = pass_.job(id).size();
    const Nodes to = allowed_size(id, size + between(1, pass_.idle() + 1));
    write("expand", [&] { return pass_.resize(id, to, {Why::hand_out}); });
  }

  void expand_with_cuts() {
    std::vector<JobId> from = below(3) == 0 ? running() : resizable();
    for (const Claim& claim : pass_.claims()) {
      if (claim.start) from.push_back(claim.job);
    }
    if (from.empty()) return;
    const JobId id = any_of(from);
    const Nodes size = pass_.job(id).size();
    const Nodes to = allowed_size(id, size + between(1, pass_.idle() + 4));
    const std::vector<Cut> cuts = random_cuts(3);
    const Sources sources = random_sources(cuts);
    write("expand with cuts", [&] {
      return pass_.resize(id, to, {Why::dependency_expand, id}, sources);
    });
  }

  void answer_request() {
    const std::vector<Request> open = pass_.requests();
    if (open.empty()) return;
    const RequestId id = any_of(open).id;
    if (below(3) == 0) {
      write(
          "deny", [&] { return pass_.deny(id, {Why::fairness}); }, true);
      return;
    }
    const std::vector<Cut> cuts = random_cuts(2);
    const Sources sources = random_sources(cuts);
    std::vector<Delay> delays;
    if (const auto waiting = pending(); !waiting.empty()) {
      delays.push_back({any_of(waiting), whole_seconds(below(1000))});
    }
    write("grant", [&] { return pass_.grant(id, {Why::evolving}, sources, delays); });
  }

  // Some get nodes together; now and then one twice, or one that cannot.
  void carry_out() {
    std::vector<Gain> gains;
    const std::vector<JobId> waiting = pending(), from = below(8) == 0 ? running() : resizable();
    const std::vector<Request> open = pass_.requests();
    for (std::uint32_t n = below(8) == 0 ? 1 : 2 + below(2); n > 0; --n) {
      switch (below(6)) {
        case 0:
          if (!open.empty()) gains.push_back({.request = any_of(open).id});
          break;
        case 1:
        case 2:
          if (!from.empty()) {
            const JobId id = any_of(from);
            const Job& job = pass_.job(id);
            const Nodes a = std::min(job.size() + between(1, 4), job.spec.size.max);
            gains.push_back({id, {std::min(job.size() + 1, a), a}});
          }
          break;
        default:
          if (!waiting.empty()) {
            const JobId id = any_of(waiting);
            SizeRange size = random_range(id);
            if (sizes_at_start(pass_.job(id).spec.type) && below(2) == 0) {
              size.min = pass_.job(id).spec.size.min;
            }
            gains.push_back({id, size});
          }
      }
    }
    if (gains.empty()) return;
    const std::vector<Cut> cuts = random_cuts(3);
    const Time mark{Duration{1 + below(1'000'000)}};  // to know these decisions by
    write("carry out", [&] {
      return pass_.carry_out(cuts, gains, {Why::corridor, JobId::none, mark}, below(3) == 0);
    });
  }

  // Who has parts of nodes leaves these for idle ones.
  void move_on() {
    std::vector<JobId> from(pass_.parted().begin(), pass_.parted().end());
    if (from.empty() || below(8) == 0) from = running();
    if (from.empty()) return;
    for (std::uint32_t n = 3; n > 0; --n) {
      const JobId id = any_of(from);
      const NodeSet before = pass_.job(id).holding.nodes, leaves = pass_.not_alone(id);
      const bool can = pass_.can_move_on(id);
      if (!write("move on", [&] { return pass_.move_on(id, {Why::guest}); })) continue;
      const NodeSet& now = pass_.job(id).holding.nodes;
      if (!can || !now.contains(before) || now.count() != before.count() + leaves.count()) {
        throw std::logic_error(
            "move on: to other nodes than idle ones in place of those it leaves");
      }
    }
  }

  // A waiting job starts inside of some that run; now and then that is not possible.
  void share() {
    const std::vector<JobId> waiting = pending();
    std::vector<JobId> from = running();
    if (waiting.empty() || from.empty()) return;
    const JobId guest = any_of(waiting);
    const JobSpec& spec = pass_.job(guest).spec;
    const bool wild = below(8) == 0;
    std::vector<Cut> cuts;
    Gain gain{.job = guest, .size = random_range(guest)};
    if (below(2) == 0 && sizes_at_start(spec.type)) gain.size = spec.size;
    bool all_alone = true;
    for (std::uint32_t n = 1 + below(2); n > 0 && !from.empty(); --n) {
      const JobId mate = any_of(from);
      std::erase(from, mate);
      const Job& job = pass_.job(mate);
      if (!wild && (!pass_.can_share(mate) || job.holding.nodes.intersects(gain.on) ||
                    job.holding.count + gain.on.count() > gain.size.max)) {
        continue;
      }
      all_alone &= pass_.is_alone(mate);
      // Some of its own cores, and memory for somebody.
      Slice each = pass_.whole(job.holding.nodes.parts.front().first);
      for (const Part& part : job.holding.parts) {
        if (part.has.cores < each.cores) each = part.has;
      }
      if (each.cores < 2 && !wild) continue;
      each.cores =
          static_cast<std::uint16_t>(wild ? below(each.cores + 2u) : 1 + below(each.cores - 1u));
      each.memory_mb /= 2;
      gain.on.insert(job.holding.nodes);
      // Who has a part already may leave what others left.
      if (job.holding.parts.empty() || below(2) == 0) cuts.push_back({mate, job.size(), each});
    }
    if (gain.on.empty()) return;
    if (wild && below(2) == 0) gain.on.insert(0, below(pass_.platform().nodes + 1));
    const Nodes idle = pass_.idle();
    const Reason reason{Why::guest};
    if (!write("share", [&] { return pass_.carry_out(cuts, {&gain, 1}, reason); })) return;
    if (!all_alone && wild) return;
    const Nodes shared = gain.on.count();
    if (idle - pass_.idle() != pass_.job(guest).size() - shared) {
      throw std::logic_error("share: other nodes than idle ones besides");
    }
    // The view has it there, and goes on.
    for (const Cut& cut : cuts) {
      if (pass_.is_alone(cut.victim) || pass_.resizable(cut.victim)) {
        throw std::logic_error("share: a mate is believed to be alone");
      }
    }
  }

  void withdraw() {
    if (pass_.claims().empty()) return;
    const ClaimId id = pass_.claims()[below(pass_.claims().size())].id;
    write(
        "withdraw", [&] { return pass_.withdraw(id, {Why::resources}); }, true);
  }

  void notes() {
    const Time then = pass_.now() + whole_seconds(1 + below(30));
    write(
        "wake_by", [&] { return pass_.wake_by(then); }, true);
    if (const auto waiting = pending(); !waiting.empty()) {
      const JobId id = any_of(waiting);
      write(
          "reserve", [&] { return pass_.reserve(id, then, {Why::resources}); }, true);
      write(
          "tag", [&] { return pass_.tag(id, any_of(waiting)); }, true);
    }
  }

  void power() {
    const Nodes n = between(0, 3);
    write("power_off", [&] { return pass_.power_off(n, {Why::corridor}); });
    write("power_on", [&] { return pass_.power_on(n, {Why::corridor}); });
  }

  // What must never be possible.
  void impossible() {
    const Reason reason{Why::in_order};
    const std::vector<JobId> busy = running();
    switch (below(10)) {
      case 0:
        return refuse("withdraw of nothing",
                      [&] { return pass_.withdraw(ClaimId{999'999'999}, reason); });
      case 1:
        return refuse("deny of nothing",
                      [&] { return pass_.deny(RequestId{999'999'999}, reason); });
      case 2:
        return refuse("a grant of nothing",
                      [&] { return pass_.grant(RequestId{999'999'999}, reason); });
      case 3:
        return refuse("a wake in the past", [&] { return pass_.wake_by(pass_.now()); });
      case 4:
        return refuse("too many off", [&] { return pass_.power_off(pass_.idle() + 1, reason); });
      case 5:
        return refuse("an unknown job", [&] {
          PenCall call{.verb = static_cast<PenCall::Verb>(below(2)), .job = kUnknownJob};
          call.size = exactly(1);
          return pass_.call(call);
        });
      default:
        break;
    }
    if (const auto waiting = pending(); !waiting.empty()) {
      const JobId id = any_of(waiting);
      const Nodes total = pass_.platform().nodes;
      refuse("a start of nothing", [&] { return pass_.start(id, exactly(0), reason); });
      refuse("a range upside down", [&] { return pass_.start(id, {2, 1}, reason); });
      refuse("a start beyond the machine",
             [&] { return pass_.start(id, exactly(total + 1), reason); });
      refuse("a resize of a waiting job", [&] { return pass_.resize(id, 1, reason); });
      const std::vector<Cut> cuts{{id, 1}};
      refuse("a cut of a waiting job", [&] {
        return pass_.start(id, exactly(pass_.job(id).spec.preferred), reason, {cuts, false});
      });
    }
    if (busy.empty()) return;
    const JobId id = any_of(busy);
    const Job& job = pass_.job(id);
    refuse("a start of a running job", [&] { return pass_.start(id, job.spec.size, reason); });
    refuse("a resize to nothing", [&] { return pass_.resize(id, 0, reason); });
    refuse("a resize to the same", [&] { return pass_.resize(id, job.size(), reason); });
    refuse("a reservation of a running job",
           [&] { return pass_.reserve(id, pass_.now(), reason); });
    if (!pass_.resizable(id)) {
      const std::vector<JobId> waiting = pending();
      const std::vector<Cut> twice{{id, job.size()}, {id, job.size()}};
      if (waiting.empty()) return;
      refuse("a victim named twice", [&] {
        return pass_.start(waiting[0], random_range(waiting[0]), reason, {twice, false});
      });
    }
  }

  void use_blocks() {
    if (below(2) == 0) {
      start_in_order(pass_, {.strict = below(2) == 0});
    } else {
      backfill(pass_, {.reservation_depth = below(3) == 0 ? Backfill::kUnlimited : 1 + below(4)});
    }
  }

  Pass& pass_;
  const RandomPolicy::Settings& chosen_;
};

}  // namespace

void RandomPolicy::Settings::draw_traits(Draws& draws) {
  order = static_cast<QueueOrder>(draws.below(kQueueOrderWords.size()));
  answers_requests = draws.chance(0.7);
  start_size = draws.chance(0.3) ? StartSize::smallest : StartSize::preferred;
  if (draws.chance(0.3)) priority_period_s = static_cast<std::uint32_t>(draws.below(100));
  if (draws.chance(0.2)) {
    wakes = kind_of<event::Submitted>() | kind_of<event::Ended>() | kind_of<event::ConfigChanged>();
  }
}

RandomPolicy::RandomPolicy(const Settings& chosen)
    : Policy({.wakes = chosen.wakes,
              .answers_requests = chosen.answers_requests,
              .order = chosen.order,
              .priority_period = whole_seconds(chosen.priority_period_s),
              .start_size = chosen.start_size,
              .needs = {.resizes_per_job = chosen.needed_resizes, .parts = chosen.shares}}),
      chosen_(chosen) {
  traits.settings = "random:" + std::to_string(chosen.calls) + ',' + std::to_string(chosen.wakes) +
                    ',' + (chosen.blocks ? '1' : '0') + ',' +
                    std::string(kQueueOrderWords[static_cast<std::size_t>(chosen.order)]) + ',' +
                    (chosen.answers_requests ? '1' : '0') + ',' +
                    (chosen.start_size == StartSize::smallest ? '1' : '0') + ',' +
                    std::to_string(chosen.priority_period_s);
  if (chosen.needed_resizes != 0 || chosen.shares || !chosen.names_nodes) {
    traits.settings += ',' + std::to_string(chosen.needed_resizes);
  }
  if (chosen.shares || !chosen.names_nodes) traits.settings += chosen.shares ? ",1" : ",0";
  if (!chosen.names_nodes) traits.settings += ",0";
  traits.multifactor = {.weight_age = 1000,
                        .weight_fairshare = 800,
                        .weight_size = 600,
                        .weight_partition = 400,
                        .max_age = whole_seconds(60)};
}

void RandomPolicy::schedule(Pass& pass) const { Scribble(pass, chosen_).all(); }

RandomPolicy::Watch::Watch(const State& state) { watched = &state; }
RandomPolicy::Watch::~Watch() { watched = nullptr; }

std::shared_ptr<const Policy> test_policy(std::string_view text) {
  constexpr std::string_view kHead = "random:";
  if (!text.starts_with(kHead)) return make_policy(text);
  std::string_view rest = text.substr(kHead.size());
  const auto next = [&] {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return word;
  };
  const auto number = [&](std::uint32_t most) {
    const std::string_view word = next();
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value > most) {
      throw InputError("'" + std::string(text) + "' is no random policy", "");
    }
    return value;
  };
  constexpr std::uint32_t kMostCalls = 64;
  RandomPolicy::Settings chosen;
  chosen.calls = number(kMostCalls);
  chosen.wakes = number(kEveryEvent);
  chosen.blocks = number(1) != 0;
  const auto order = std::ranges::find(kQueueOrderWords, next());
  if (order == kQueueOrderWords.end()) {
    throw InputError("'" + std::string(text) + "' is no random policy", "");
  }
  chosen.order = static_cast<QueueOrder>(order - kQueueOrderWords.begin());
  chosen.answers_requests = number(1) != 0;
  chosen.start_size = number(1) != 0 ? StartSize::smallest : StartSize::preferred;
  chosen.priority_period_s = number(100);
  if (!rest.empty()) chosen.needed_resizes = number(kEveryEvent);
  if (!rest.empty()) chosen.shares = number(1) != 0;
  if (!rest.empty()) chosen.names_nodes = number(1) != 0;
  if (!rest.empty()) throw InputError("'" + std::string(text) + "' is no random policy", "");
  return std::make_shared<RandomPolicy>(chosen);
}

}  // namespace ductile::testing
