// What Batsim (3.x and 4.x) and its schedulers say to each other: JSON texts, each with the time
// and a list of events. docs/formats/batsim-protocol.md says what of it there is here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_set.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "model/platform.hpp"
#include "workload/json.hpp"

namespace ductile {

/// One thing that a scheduler wants.
struct BatsimOrder {
  enum class Kind : std::uint8_t {
    execute,  // `jobs[0]` on exactly `nodes`
    reject,   // `jobs[0]`, which waits
    kill,     // all of `jobs`, together
    call,     // to be called at `call`
    energy,   // to know how much energy was used so far
  };
  Time at{};  // when it wants that
  Kind kind = Kind::execute;
  std::vector<std::string> jobs{};
  NodeSet nodes{};
  Time call{};
  bool operator==(const BatsimOrder&) const = default;
};

/// An answer of a scheduler: what it wants, by time, and when it can be asked again.
struct BatsimReply {
  Time now{};
  std::vector<BatsimOrder> orders{};
  Remarks skipped{};  // what is not taken, and changes no schedule

  bool operator==(const BatsimReply&) const = default;
};

/// Reads an answer to what was said at `asked`, on a machine of so many nodes. Throws InputError,
/// which names `from` and the place in the text, for all that is no answer, and for what cannot be
/// expressed here.
BatsimReply parse_batsim_reply(std::string_view text, const std::string& from, Time asked,
                               Nodes nodes);

/// One thing that Batsim tells a scheduler.
struct BatsimNews {
  enum class Kind : std::uint8_t {
    begins,     // of `nodes` machines, which have these numbers there
    ends,       // of the simulation
    submitted,  // `job`, of `size` nodes
    completed,  // `job`, however it ended
    called,     // as it wanted
    up,         // the machines `nodes`
    down,       //   likewise
    other,      // nothing that a policy has to know
  };
  Time at{};
  Kind kind = Kind::other;
  std::string job{};
  Nodes size = 0;
  Duration walltime{};     // 0: none
  std::uint32_t user = 0;  // 0: not known
  bool succeeded = true;
  NodeSet nodes{};
};

struct BatsimMessage {
  Time now{};
  std::string now_text{};  // as it was written
  std::vector<BatsimNews> news{};
};

/// Reads what Batsim says. Throws InputError.
BatsimMessage parse_batsim_message(std::string_view text, const std::string& from);

/// Puts a message together.
class BatsimWriter {
 public:
  bool empty() const { return events_.empty(); }
  /// An event; `data` is a JSON object. Times are in seconds.
  void add(std::string_view at, std::string_view type, std::string_view data);
  void add(Time at, std::string_view type, std::string_view data) {
    add(seconds_text(at), type, data);
  }
  /// The message with all of them, at a time; it is empty again.
  std::string take(std::string_view now);
  std::string take(Time now) { return take(seconds_text(now)); }

 private:
  std::string events_;
};

}  // namespace ductile
