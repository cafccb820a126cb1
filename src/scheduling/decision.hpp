// What the core wants done, and the pen calls it came from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/size_range.hpp"
#include "base/time.hpp"
#include "scheduling/parts.hpp"
#include "scheduling/reason.hpp"
#include "scheduling/spread.hpp"

namespace ductile {

/// What somebody holds: always a count, the nodes too while identities are on.
struct Holding {
  Nodes count = 0;
  NodeSet nodes;
  std::vector<Part> parts{};  // of some of them, which are shared; he has the others whole
  bool operator==(const Holding&) const = default;
};

/// How many nodes a resize from `before` to `after` replaces by others, with identities.
inline Nodes replaced(const Holding& before, const Holding& after) {
  const Nodes join = difference(after.nodes, before.nodes).count();
  const Nodes leave = difference(before.nodes, after.nodes).count();
  return join < leave ? join : leave;
}

/// How a running job leaves its nodes: for good; to wait again and begin anew; to wait again and go
/// on from where it was, with as many nodes as it may have.
enum class Stop : std::uint8_t { cancel, requeue, suspend };
constexpr std::array<std::string_view, 3> kStopWords{"cancel", "requeue", "suspend"};

/// What the world shall do. A start, a resize and a stop get exactly one answer each, unless the
/// world starts jobs instantly; power changes are answered by `NodesChanged`; the rest by nothing.
/// Where cores change instantly (`Capabilities`) that is no resize, but `cores`.
struct Decision {
  enum class Kind : std::uint8_t {
    start,
    resize,
    deny,
    set_limit,
    power_on,
    power_off,
    reject,
    cores,      // a job that shares nodes has these parts of them from now on
    frequency,  // a job computes at this step from now on
    cancel,
    requeue,
    suspend
  };

  DecisionId id = DecisionId::none;
  Kind kind = Kind::start;
  JobId job = JobId::none;
  Holding after;                        // what the job holds when it is done; for power: the nodes
  Time limit{};                         // start, set_limit: when the world may kill it
  RequestId request = RequestId::none;  // resize that grants, deny: which request
  Reason reason;
  /// start, frequency: the place in `Platform::steps` from 1; 0: the full frequency.
  std::uint8_t step = 0;

  bool operator==(const Decision&) const = default;
  /// Does the world owe an answer that quotes `id`?
  bool answered() const { return kind == Kind::start || kind == Kind::resize || stops(); }
  /// Does its job leave all of its nodes?
  bool stops() const { return kind >= Kind::cancel; }
};

constexpr std::array<std::string_view, 12> kDecisionWords{
    "start",  "resize", "deny",      "set-limit", "power-on", "power-off",
    "reject", "cores",  "frequency", "cancel",    "requeue",  "suspend"};
constexpr Decision::Kind kind_of(Stop how) {
  return static_cast<Decision::Kind>(static_cast<int>(Decision::Kind::cancel) +
                                     static_cast<int>(how));
}
constexpr std::string_view word(Decision::Kind kind) {
  return kDecisionWords[static_cast<std::size_t>(kind)];
}

/// A victim and its size afterwards.
struct Cut {
  JobId victim = JobId::none;
  Nodes to = 0;
  /// It keeps its nodes, and so much of each of them: fewer cores, and no more of anything.
  std::optional<Slice> each{};
  bool operator==(const Cut&) const = default;
};

/// A job that gets nodes: it starts, or grows, to a size of the range, the largest there is enough
/// for. With a request it is granted that, which says the job and the sizes.
struct Gain {
  JobId job = JobId::none;
  SizeRange size{};
  RequestId request = RequestId::none;
  /// Of which cells its idle nodes are: no more of each than this. Empty: of any that it may use.
  Spread in{};
  /// It starts inside: on these nodes, which others hold, and has what they leave of them; besides
  /// on idle ones.
  NodeSet on{};
  bool operator==(const Gain&) const = default;
};

/// How much an evolving grant delays another job.
struct Delay {
  JobId job = JobId::none;
  Duration by{};
  Time from{};  // its planned start without the grant
  bool operator==(const Delay&) const = default;
};

/// One successful call of the pen with its arguments: what a journal keeps, so that recovery can
/// fold it without asking the policy.
struct PenCall {
  enum class Verb : std::uint8_t {
    start,
    resize,
    grant,
    deny,
    withdraw,
    reserve,
    tag,
    wake_by,
    power_on,
    power_off,
    carry_out,
    cancel,
    requeue,
    suspend,
    reject,
    frequency
  };

  Verb verb = Verb::start;
  JobId job = JobId::none;              // whom it is about
  JobId other = JobId::none;            // tag: the value
  RequestId request = RequestId::none;  // grant, deny
  ClaimId claim = ClaimId::none;        // withdraw
  SizeRange size{};                     // start, resize: range; power: count
  Reason reason{};
  std::vector<Cut> cuts{};
  bool incoming = false;
  Time time{};                  // reserve, wake_by
  std::vector<Delay> delays{};  // grant
  std::vector<Gain> gains{};    // carry_out
  Spread in{};                  // start, resize, grant: of which cells the idle nodes are
  NodeSet on{};                 // start: exactly these nodes
  std::uint8_t step = 0;        // start, frequency

  bool operator==(const PenCall&) const = default;
};

constexpr std::array<std::string_view, 16> kVerbWords{
    "start",    "resize",    "grant",     "deny",   "withdraw", "reserve", "tag",    "wake-by",
    "power-on", "power-off", "carry-out", "cancel", "requeue",  "suspend", "reject", "frequency"};

}  // namespace ductile
