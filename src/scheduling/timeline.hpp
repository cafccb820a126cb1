// What is believed to be free over time: the releases that are expected, and on top of them the
// reservations and imagined grants of one plan. A value of the pass; nothing is written until it is
// decided.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "scheduling/queue.hpp"
#include "scheduling/releases.hpp"
#include "scheduling/spread.hpp"

namespace ductile {

/// What one plan adds to the free nodes, as a step function of time, 0 at first: a reservation of 4
/// nodes during [10 s, 20 s) is a step to -4 at 10 s and one back to 0 at 20 s. The steps are kept
/// in blocks. Each block knows its least and its highest level, so that a search skips it whole,
/// and what is to be added to all of its steps, so that a long reservation touches few of them:
/// many reservations cost far less than the square of their number.
class Overlay {
 public:
  struct Step {
    Time from;
    std::int64_t level;
  };
  class Block {
   public:
    static constexpr std::uint32_t kCapacity = 56;

    Block() {}  // NOLINT(modernize-use-equals-default): leaves the array as it is
    std::uint32_t size() const { return size_; }
    Time from() const { return steps_[0].from; }
    Step step(std::uint32_t i) const { return {steps_[i].from, steps_[i].level + waiting_}; }
    std::int64_t least() const { return least_ + waiting_; }
    std::int64_t most() const { return most_ + waiting_; }

   private:
    friend class Overlay;
    void refresh();

    std::uint32_t size_ = 0;
    std::int64_t waiting_ = 0;  // to be added to every level
    std::int64_t least_ = 0, most_ = 0;
    std::array<Step, kCapacity> steps_;
  };

  bool empty() const { return blocks_.empty(); }
  std::size_t blocks() const { return blocks_.size(); }
  const Block& block(std::size_t i) const { return blocks_[i]; }
  /// The highest level anywhere.
  std::int64_t most() const { return most_; }
  /// The block that holds the step in force at `time`; the first one if all steps come later.
  std::size_t block_at(Time time) const;
  /// Adds `amount` during [from, to); `to` may be `kNever`.
  void add(Time from, Time to, std::int64_t amount);
  /// The first changes: from the time of each of `falls`, which are sorted, so much less for ever.
  void fall(std::span<const Step> falls);

 private:
  // Makes a step begin at `time`, and returns its block and place.
  std::pair<std::size_t, std::uint32_t> cut_at(Time time);

  std::vector<Block> blocks_;
  std::int64_t most_ = 0;
};

/// One resource over time: nodes or milliwatts.
class Profile {
 public:
  /// `free` now, and `releases` to come. The releases must outlive the profile; what is started
  /// while it is in use is seen through them, and must be told with `took`.
  Profile(const Releases& releases, std::int64_t free, Time now)
      : releases_(&releases), free_(free), now_(now) {}

  /// The earliest time from `not_before` on at which `need` is free for the whole of `length`;
  /// `kNever` if there is none.
  Time earliest(std::int64_t need, Duration length, Time not_before);
  /// A reservation during [from, to) if `amount` is negative; else nodes that are only imagined.
  void add(Time from, Time to, std::int64_t amount);
  /// So much more is free from now on, each until its time: the first changes of a plan. All of it
  /// is added to the free nodes of now, and falls away at its time. So the overlay is nowhere above
  /// 0, and a search begins where the releases alone suffice.
  void free_until(std::vector<Overlay::Step> falls);
  /// A job was really started: `amount` less is free now.
  void took(std::int64_t amount) {
    free_ -= amount;
    released_ = {};
  }
  /// What can be taken now.
  void from_now(FreeSteps& free);

  /// The least that is free during some time. Before `until`, when its last step ends, no time of
  /// the same length has more.
  struct Least {
    std::int64_t free = 0;
    Time until = kNever;
  };
  /// Looks at ever later times.
  class Window;
  /// The latest earliest start found so far for demands no larger and no longer: later demands of
  /// the same plan cannot start before it, since within a plan what is free only falls. A Fenwick
  /// tree of maxima over the logarithms of both; and for demands that come again as they were, like
  /// those of the tasks of an array, what was found the last time.
  class Hints {
   public:
    Time at_least(std::int64_t need, Duration length) const;
    void found(std::int64_t need, Duration length, Time start);
    void clear() {
      table_.clear();
      same_.clear();
    }

   private:
    struct Same {
      std::int64_t need = 0;
      Duration length{};
      Time start{};
    };
    static constexpr unsigned kSize = 64;
    static std::size_t place_of(std::int64_t need, Duration length);

    std::vector<Time> table_;
    std::vector<Same> same_;  // the newest demand of each place
  };
  /// Is what is free nowhere more than what the releases alone would give?
  bool only_less() const { return overlay_.most() <= 0 && !(newest_ && newest_->amount > 0); }
  std::int64_t free() const { return free_; }

 private:
  friend class Window;
  struct Change {
    Time from, to;
    std::int64_t amount;
  };

  Time search(std::int64_t need, Duration length, Time start);
  void flush();

  const Releases* releases_;
  std::int64_t free_;
  Time now_;
  Overlay overlay_;
  std::optional<Change>
      newest_;  // not in the overlay yet: most plans make one reservation and no more
  /// How much is released by the start that was found last, if no job was started since.
  struct Released {
    Time at = Time::min();
    std::int64_t nodes = 0;
  };
  Released released_;
  Hints hints_;
  std::uint32_t searches_ = 0;
};

/// Looks at a profile, which must not change meanwhile. Each `start` is no earlier than the one
/// before.
class Profile::Window {
 public:
  Window(Profile& profile, std::uint32_t cell);

  std::uint32_t cell() const { return cell_; }
  /// At this time; `until`: when that changes.
  Least at(Time start);
  /// During [start, start + length).
  Least during(Time start, Duration length);
  /// What would be free at `start` without reservations.
  std::int64_t without(Time start) { return profile_->free_ + base_.until(start); }
  /// The first time before `end` at which so much more than at the last time is released; `kNever`
  /// if there is none.
  Time reach(std::int64_t more, Time end) const;
  /// A plan that reserves this time will ask what is released by then.
  void remember(Time start);

 private:
  void move_to(Time start);
  Time step_end() const;

  Profile* profile_;
  std::uint32_t cell_;
  Releases::Cursor base_;
  Least last_{0, Time::min()};  // what `at` said last
  // Of the overlay's steps the one in force; before the first of them: none.
  std::size_t block_ = 0;
  std::uint32_t step_ = 0;
  bool before_all_ = true;
};

/// Nodes, and power when there is a budget for it. Where there are several cells they have a
/// profile each. A job keeps its nodes: it can have the sum over its cells of each one's least
/// during its length.
class Timeline {
 public:
  Timeline(const Releases& releases, std::int64_t free, std::optional<Profile> power, Time now)
      : nodes_(releases, free, now), power_(std::move(power)), now_(now) {}
  /// Of several cells, by their number; `order`, which must outlive it: in which they are taken.
  /// `together`: the releases of all of them, or null.
  Timeline(std::vector<Profile> cells, std::span<const std::uint32_t> order,
           const Releases* together, std::optional<Profile> power, Time now)
      : nodes_(Releases::none(), 0, now),
        several_(Several{.cells = std::move(cells), .order = order, .together = together}),
        power_(std::move(power)),
        now_(now) {}

  Time now() const { return now_; }
  /// Does it count nodes by cell?
  bool by_cell() const { return several_.has_value(); }
  /// `at`: of which cells it has how many then; nothing where it does not count by cell.
  Time earliest(const Demand& need, Duration length, Time not_before, Spread& at);
  Time earliest(const Demand& need, Duration length, Time not_before) {
    Spread at;
    return earliest(need, length, not_before, at);
  }
  /// Reserves `need` during [from, to), of the cells that `earliest` said.
  void reserve(Time from, Time to, const Demand& need, const Spread& in);
  /// Of one cell.
  void reserve(Time from, Time to, const Demand& need) { reserve(from, to, need, Spread{}); }
  /// Does a reservation begin now? It would begin later if it were made later.
  bool begins_now() const { return begins_now_; }
  /// Nodes of a cell that are free as well from now on, each until its time: the first changes of a
  /// plan.
  void free_until(std::uint32_t cell, std::vector<Overlay::Step> nodes) {
    (several_ ? several_->cells[cell] : nodes_).free_until(std::move(nodes));
  }
  /// Changes the free nodes, and the free power, during [from, to): what is only imagined. Of one
  /// cell.
  void add(Time from, Time to, std::int64_t nodes, std::int64_t power_mw = 0) {
    nodes_.add(from, to, nodes);
    if (power_ && power_mw != 0) power_->add(from, to, power_mw);
  }
  /// More (`sign` 1), or fewer (-1), nodes of several cells.
  void add(Time from, Time to, const Spread& nodes, int sign, std::int64_t power_mw = 0);
  /// A job was really started, in these cells.
  void took(const Demand& need, const Spread& in);
  void took(const Demand& need) { took(need, Spread{}); }
  /// Jobs of a booking, by its place from 1, see these profiles by cell instead: of those of it.
  void book(std::uint32_t booking, std::vector<Profile> cells);
  /// What can be taken now.
  void from_now(FreeCells& free);
  void from_now(FreeProfile& free);

 private:
  /// Of nodes alone, in several cells.
  Time earliest_nodes(const Demand& need, Duration length, Time not_before, Spread& at);
  Time earliest_without_reservations(const Demand& need, Time start);
  Time search(const Demand& need, Duration length, Time start, Spread& at);
  Profile::Hints& hints_of(Cells cells);

  struct Several {
    std::vector<Profile> cells;
    std::vector<std::vector<Profile>> booked{};  // for jobs of bookings instead, by their place
    std::span<const std::uint32_t> order{};
    const Releases* together = nullptr;
    std::vector<Profile::Window> windows{};  // of one search; here for its memory
    std::vector<std::pair<Cells, Profile::Hints>> hints{};
    std::uint32_t searches = 0;

    std::vector<Profile>& of(const Demand& need) {
      return need.booking == 0 ? cells : booked[need.booking - 1];
    }
  };

  Profile nodes_;                     // where there is one cell
  std::optional<Several> several_{};  // where there are several
  std::optional<Profile> power_;
  Time now_;
  bool begins_now_ = false;
};

}  // namespace ductile
