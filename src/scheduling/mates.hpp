// Guests and mates: a waiting job starts on nodes of running ones, which leave some of the cores of
// each to it and have them back when it ends (D'Amico, Jokanovic and Corbalan 2019, paper 004).
// Which running jobs could be its mates, and which of them lose the least.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/decimal.hpp"
#include "base/function_ref.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "base/wide.hpp"
#include "model/contention.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/pass.hpp"
#include "scheduling/timeline.hpp"

namespace ductile {

/// How many cores a guest is given: as many as may be taken, or of that and of what mates cannot
/// use that with which it and its mates lose the least together.
enum class Split : std::uint8_t { most, least_loss };

/// How nodes are shared.
struct Sharing {
  Decimal factor{0.5};             // at most this share of a node's cores is taken from a mate
  std::uint32_t mates = 2;         // of a guest, at most
  std::uint32_t guests = 1;        // of a mate at the same time, at most
  std::uint32_t candidates = 100;  // only so many are looked at, those of the least penalty
  bool inside = true;              // a guest has to be believed to end before its mates do
  bool whole_sockets = true;       // are taken, where one may be; else any cores
  Split split = Split::most;
  bool operator==(const Sharing&) const = default;
};

/// A waiting job as a guest.
struct Guest {
  JobId job = JobId::none;
  Bound bound = Bound::mixed;  // what it loses by others
  Nodes nodes = 0;
  std::uint32_t cores = 0;  // that it gets of each node it shares; 0: it cannot share any
  Duration length{};        // on nodes of its own, as believed
  /// How much of its work per core it still does there, per mille: beside mates beside which it
  /// does no less.
  std::uint16_t efficiency = kPerMille;
  /// So many cores of each of their nodes its mates have at least, before it comes.
  std::uint32_t of = 0;
  Duration shared{};  // on shared nodes, from the first to the last moment
};

/// The slowdown by which paper 004 judges: from a job's submission to its end, over the time that
/// it asked for.
inline double slowdown(const JobSpec& job, Time end) {
  return static_cast<double>((end - job.submitted).count()) /
         static_cast<double>(job.walltime.count());
}

/// What a candidate loses, and by when it ends with the guest, as believed.
struct Mate {
  JobId job = JobId::none;
  Nodes nodes = 0;
  std::uint32_t keeps = 0;  // so many cores of each node
  double penalty = 0;       // to be small: of the mates together, too
  Time end{};               // with the guest
  Duration loss{};          // so much later than without
  bool operator==(const Mate&) const = default;
};

/// Who is chosen for a guest, in the order of candidates; nobody if there are none. They have these
/// nodes together.
struct ChosenMates {
  std::vector<Mate> mates;
  Nodes nodes = 0;
  double penalty = 0;  // of all of them
  double guests = 0;   // what its guest loses by its length on shared nodes, if that counts
  /// The search among more than two mates was ended before it had seen all sets.
  bool was_cut = false;

  double sum() const { return penalty + guests; }
  bool operator==(const ChosenMates&) const = default;
};

/// A guest and its mates; it has none if there are none.
struct Match {
  Guest guest;
  ChosenMates chosen;

  bool empty() const { return chosen.mates.empty(); }
};

/// When a running job may end at the latest with a guest: one that would end later is nobody's
/// mate. `kNever`: that does not matter.
using LatestEnd = FunctionRef<Time(JobId)>;

/// The running jobs of a pass that could be mates: malleable, started before this instant, and
/// alone on all of their nodes, or there before fewer guests than there may be. Nothing of it may
/// change while it is in use but that jobs start.
class MateFinder {
 public:
  MateFinder(const Pass& pass, const Sharing& sharing,
             std::optional<LatestEnd> latest_end = std::nullopt);

  bool empty() const { return mates_.empty(); }
  /// How much of its work per core a waiting job would do beside one or the other of them, per
  /// mille: the most first, each once. Each is a guest of its own: one that loses less has fewer
  /// mates to choose from, and ends earlier.
  std::span<const std::uint16_t> efficiencies(JobId id) const {
    return efficiencies_[static_cast<std::size_t>(pass_.job(id).spec.bound)];
  }
  /// What it would be as a guest, beside mates beside which it does as much and that have `of`
  /// cores of each of their nodes, or more, with no more than `most` of them; `cores` is 0 if it is
  /// not malleable or needs more cores for its processes than it would get.
  Guest guest(JobId id, std::uint16_t efficiency, std::uint32_t of, std::uint32_t most) const;
  Guest guest(JobId id, std::uint16_t efficiency) const {
    return guest(id, efficiency, whole_, whole_);
  }
  /// Could there be mates for it, with up to so many idle nodes besides? Says no only if there are
  /// none; costs next to nothing where there are none.
  bool may_have_mates(const Guest& guest, Nodes idle);
  /// All waiting jobs for which there could be mates so, in order, or all that wait where there are
  /// many such. With K kinds of waiting jobs (`Queue::Kind`) O(K log K), and for those that it
  /// finds.
  std::vector<JobId> waiting_that_may(Nodes idle);
  /// Says what a candidate's penalty is; nothing: it is none.
  using Penalty = FunctionRef<std::optional<double>(const Mate&)>;
  /// Up to `Sharing::mates` of them, which have all but `idle` of the guest's nodes and whose
  /// penalties have the least sum; ties: fewer, then those of less penalty, that end later, that
  /// came first. Nobody if there are none.
  ChosenMates choose(const Guest& guest, Nodes idle, Penalty penalty);
  /// The same, looked for once for all guests that are alike. For penalties that are the same for
  /// two guests of as many nodes and cores that take as long, whichever jobs they are, and whatever
  /// has been planned or started since.
  const ChosenMates& choose_once(const Guest& guest, Nodes idle, Penalty penalty);
  /// Of the guests that a waiting job would be beside one or the other mates the one whose mates,
  /// as `mates_for` says, have the least penalty, with what it loses itself. Up to `idle` of its
  /// nodes may be others.
  Match best(JobId id, Nodes idle, FunctionRef<ChosenMates(const Guest&)> mates_for);
  /// The cuts and the gain by which it starts.
  bool start(Pass& pass, const Match& match) const;

 private:
  struct Candidate {
    JobId job = JobId::none;
    Nodes nodes = 0;
    std::uint32_t cores = 0;  // that it can use of a node
    std::uint32_t has = 0;    // of each
    std::uint32_t ranks = 1;  // that it keeps
    Bound bound = Bound::mixed;
    std::vector<Bound> beside{};  // of its guests
    Work left = 0;                // core-microseconds, as believed
    Time end{};                   // without a guest
    Time latest = kNever;         // with one
  };
  /// Of guests that take so many cores of a node and lose as much by their mates, and these by
  /// them: who could have one, and, by ascending numbers of nodes, the longest one that a mate of
  /// so many could have, and that two of them could.
  struct Hosts {
    struct Host {
      const Candidate* its;
      Duration longest{};  // guest of it
    };
    struct OfSize {
      Nodes nodes = 0;
      Duration longest{}, of_two{};
    };
    std::vector<Host> all;
    std::vector<OfSize> by_nodes;
    std::map<Nodes, Duration> known;  // with no idle nodes: what was asked before
  };
  Hosts& hosts(const Guest& guest);
  /// From the first search on that was in vain: whoever can have no guest for its latest end is no
  /// candidate. To know that costs about as much as two searches.
  void leave_out_late();
  /// The longest one with mates of so many nodes together.
  Duration longest_of(const Hosts& hosts, Nodes least, Nodes most) const;
  /// The longest one that this candidate could have.
  Duration longest_of(const Candidate& candidate, const Guest& guest) const;
  /// So many cores of each node a job that uses so many would have as a guest beside mates that
  /// have `of`, of no more than `most` of them.
  std::uint32_t given(std::uint32_t uses, std::uint32_t of, std::uint32_t most) const;
  /// Of guests that are like this one but for their lengths there the longest for which there could
  /// be mates.
  Duration longest_guest(const Guest& guest, Nodes idle);
  /// No job of this kind that takes longer on nodes of its own could have mates.
  Duration longest_job(const Queue::Kind& kind, Nodes idle);
  /// The speed of a candidate that has this guest besides those that it has, or with those alone,
  /// in thousandths of cores.
  Wide speed(const Candidate& candidate, const Guest& guest) const;
  Wide speed(const Candidate& candidate) const;
  /// What a job so bound still does beside all of these, of so much, per mille.
  std::uint16_t beside_all(Bound bound, std::span<const Bound> others,
                           std::uint16_t efficiency) const;
  /// The same beside a candidate and its guests.
  std::uint16_t efficiency_beside(Bound bound, const Candidate& candidate) const;
  /// Has it enough cores, also for its own processes, and does the guest lose no more by it than is
  /// said?
  bool suits(const Candidate& candidate, const Guest& guest) const {
    if (candidate.has < guest.of || candidate.has < guest.cores + candidate.ranks) return false;
    return efficiency_beside(guest.bound, candidate) >= guest.efficiency;
  }
  /// Can it be one? Then says what it would be, but for its penalty.
  bool can_be_mate(const Candidate& candidate, const Guest& guest, Mate& mate) const;
  /// How many cores of a node it can use.
  std::uint32_t usable(std::uint16_t cores) const {
    return cores == 0 ? whole_ : std::min<std::uint32_t>(cores, whole_);
  }
  /// It has room for both of them beside each other, and the guest may run there.
  bool fits(const Candidate& candidate, const Guest& guest) const;

  const Pass& pass_;
  Sharing sharing_;
  std::optional<LatestEnd> latest_end_;
  bool was_in_vain_ = false;  // a search
  std::uint32_t whole_ = 1;   // cores of a node; on nodes that have others nobody shares
  std::uint32_t socket_ = 1;  // cores of one
  std::vector<Candidate> mates_;
  std::vector<std::uint32_t> have_;  // cores of each of their nodes: the most first, each once
  /// The most that a guest may have, to be tried: all, then what one or the other mate cannot use.
  /// Nothing between is better: with c cores for the guest, it and its mates together lose a + b /
  /// c, with another a and b from where it, or a mate, begins to lack cores.
  std::vector<std::uint32_t> most_;
  // By what a guest is bound by.
  std::array<std::vector<std::uint16_t>, kBoundWords.size()> efficiencies_;
  // By the cores that a guest takes, of how many, what it is bound by, and its efficiency.
  std::map<std::tuple<std::uint32_t, std::uint32_t, Bound, std::uint16_t>, Hosts> hosts_;
  /// Guests with one such key are alike: who could be a mate of one could be one of the other.
  using Kind = std::tuple<LaneId, Cells, Bound, Nodes, std::uint32_t, std::uint32_t, std::uint16_t,
                          Duration, Nodes>;
  std::map<Kind, ChosenMates> chosen_;
};

/// On which terms a job becomes a guest that would end earlier as one.
struct Terms {
  bool free_nodes = false;  // it may have idle nodes besides those of its mates
  /// What a candidate's penalty is, if so much is gained; nothing: it is no mate.
  FunctionRef<std::optional<double>(const Guest&, Duration gain, const Mate&)> penalty;
  /// Is so much of a gain worth it?
  FunctionRef<bool(const Guest&, Duration gain, const ChosenMates&)> pays;
  /// The penalty is one for which `MateFinder::choose_once` may be asked.
  bool are_alike = false;
  /// What its time on shared nodes costs the guest, in penalties; where it has one number of cores
  /// only that says nothing, and may be left out.
  std::optional<FunctionRef<double(const Guest&)>> guests{};
};
/// Starts a waiting job as a guest, if it finds mates on these terms. `at`: when the plan has nodes
/// for it; `kNever` if nobody has looked yet.
bool start_as_guest(Pass& pass, MateFinder& finder, Timeline& plan, JobId id, Time at,
                    const Terms& terms);

/// Says whether it has started the job inside of others; `at` as in `start_as_guest`.
using StartInside = FunctionRef<bool(MateFinder&, Timeline& plan, JobId id, Time at)>;
/// Does something with what is idle and nobody who waits can use, in the plan that has all who
/// started or are reserved; says whether it has.
using MoveOn = FunctionRef<bool(Timeline& plan)>;
/// How jobs start inside of others.
struct GuestStarts {
  StartInside start;
  bool free_nodes;  // as in `Terms`
  std::optional<MoveOn> move_on{};
  std::optional<LatestEnd> latest_end{};  // that `Terms::penalty` leaves them
};
/// Goes through the queue in order: a job starts if it can now, else inside of others, else it is
/// reserved as far as `how` says. Ends, and is true, as soon as a guest has started, or has moved
/// on when nobody starts any more: the ends of its mates have moved, and all is to be planned anew.
bool start_or_share(Pass& pass, const Backfill& how, const Sharing& sharing,
                    const GuestStarts& guests);
/// A guest leaves the nodes that it shares for idle ones, where the plan has these until its end
/// and it ends earlier there: the one that gains most over its requested time, of such the one that
/// came first. Is there one?
bool move_a_guest_on(Pass& pass, Timeline& plan);

}  // namespace ductile
