// What was true when something was decided about a job and is in no record of it: who was ahead,
// which releases a plan counted on, what a claim was made of. `ductile explain` puts it into words.
// A controller writes it beside its records, so that one job is explained by looking up its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "scheduling/core.hpp"

namespace ductile {

/// One of them. Jobs have the numbers that people know, and the nodes that they had then; one that
/// waited, those that it asked for.
struct Circumstance {
  enum class What : std::uint8_t {
    start,   // the jobs ahead of one that is backfilled that have a plan, each with its time;
             // `count` are ahead in all; `flag`: the nodes were freed for it by others
    resize,  // from `count` nodes; the job for whose sake, with its submission if it waits
    deny,    // `count` nodes are idle
    plan,    // for `at`; from whom nodes are expected until then, or power (`flag`), and when; the
             // last one first. Or the reservation whose end it waits for
    claim,   // room is made, for a start (`flag`) or a growth: who gives so many; `count` are kept
    dissolved,  // it is not: `count` is one of `Dissolved`
    for_it,     // who goes from so many nodes to so many
    delays,     // whom the grant of its request delays, by how many microseconds
    delayed,    // by `count` microseconds, for a request of the other one
    refused     // what was ordered did not come; it is left alone until `at`
  };
  enum Dissolved : std::uint8_t { gave_up, waits_again, stays, is_busy };
  struct Other {
    enum class Kind : std::uint8_t { job, shrinking, boot, reservation };
    Kind kind = Kind::job;
    std::uint64_t number = 0;  // 0: it is over, or no job
    std::int64_t nodes = 0;
    std::int64_t count = 0;  // how many it gives, it goes to, microseconds, ...
    Time at = kNever;
    bool operator==(const Other&) const = default;
  };
  /// So many are named in a sentence if there are more than one more.
  static constexpr std::size_t kMostNamed = 4;

  What what = What::start;
  std::uint64_t job = 0;
  std::string why{};  // a word of `kWhyWords`, of what has no decision
  bool flag = false;
  std::int64_t count = 0;
  Time at = kNever;
  std::vector<Other> others{};  // the first ones
  std::size_t total = 0;        // how many there are

  bool operator==(const Circumstance&) const = default;
};

/// As one line, and read again: docs/formats/journal.md. Nothing if it is none.
std::string to_record(const Circumstance& circumstance);
std::optional<Circumstance> circumstance_from_record(std::uint64_t job, std::string_view text);

/// Whom an event is about; none if it is no job, or is one that is just submitted.
JobId job_of(const Event& event);
/// Does it concern each job: another policy, machine or power cap?
bool is_about_all(const Event& event);
/// A job as it is now; number 0 if it is over.
Circumstance::Other named(JobId id, const Core& core);
/// One more; those after the first ones are only counted.
void add(Circumstance& circumstance, Circumstance::Other other);
/// What a claim is made of, and (`at`) when that is expected.
Circumstance claim_of(const Claim& claim, const Core& core);
/// Who is expected to release how many nodes of these cells, and when.
struct ExpectedRelease {
  Time at;
  ReleaseTag who;
  std::int64_t nodes;
};
/// In order of time. What is claimed comes from the job that claims it.
std::vector<ExpectedRelease> releases_in(Cells cells, const State& state);
/// Of a planned start: who is expected to release nodes that the job can use until then.
Circumstance plan_of(JobId id, Time at, const Core& core);

/// Collects them, of all jobs or of one, from what happens to a core.
class Circumstances {
 public:
  /// Of all, for a core between two instants.
  explicit Circumstances(const Core& core);
  /// Of all or of this one only, from the beginning of a run.
  explicit Circumstances(std::optional<JobId> only) : only_(only) {}
  void only(JobId id) { only_ = id; }

  /// After an event that was taken.
  std::vector<Circumstance> after(const Event& event, const Core& core);
  /// After the close that decided this. However many jobs are started and planned, the queue and
  /// the releases are walked through once at most; of many plans only the first have their
  /// releases.
  std::vector<Circumstance> at_close(std::span<const Decision> decisions, const Core& core);

 private:
  struct Waits {  // for the nodes of a claim
    JobId job = JobId::none;
    RequestId request = RequestId::none;
  };
  bool wants(JobId id) const { return !only_ || *only_ == id; }
  void note_claims(const Core& core);
  class Ahead;
  void decided(const Decision& decision, const Core& core, std::optional<Ahead>& ahead,
               std::vector<Circumstance>& found) const;
  void of_claims(std::span<const Decision> decisions, const Core& core,
                 std::vector<Circumstance>& found);
  void of_calls(const Core& core, std::vector<Circumstance>& found) const;

  std::optional<JobId> only_{};
  std::map<ClaimId, Waits> claims_{};      // as of the last close
  std::map<RequestId, JobId> requests_{};  // that are open, or were in this instant
  std::vector<JobId> gave_up_{};  // in this instant: they wait no longer, for a reason of their own
};

}  // namespace ductile
