// The world as the controller sees it: what runs jobs, and tells how that went. The controller
// works with any; live/local_world.hpp is the one of this machine.
//
// What a world says is final: a job that was to have two nodes and has three has three. Each start
// and each resize has exactly one answer, sooner or later: `Ended` answers whatever is open, also a
// start. While something is open, a `Resized` that does not answer it is not heeded: the change is
// put into the answer.
//
// What users elsewhere have written, and what jobs say of themselves, never ends the controller: it
// is looked at here. A world's own mistakes are another thing. What of it could not be written down
// and read again (docs/formats/log.md has the limits), or is not a world's to say, is logged and
// not heard; two holders of one node end the controller by a logic_error, for a job would be in the
// way of another one.
//
// A world need not remember anything: after a restart it finds out what there is, or is told by
// `take_up`. What runs the jobs may have a memory, and must say which life and which order it
// speaks of.
//
// The first calls are `describe`, `configure` and `take_up`; where it is out of reach at the start
// the first and the last one come once it is back. What a call throws ends the controller, with an
// order that may not have been carried out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/ids.hpp"
#include "base/node_set.hpp"
#include "base/time.hpp"
#include "job/line_socket.hpp"
#include "job/poller.hpp"
#include "job/socket.hpp"
#include "live/applications.hpp"
#include "live/schedule_clock.hpp"
#include "live/submission.hpp"
#include "model/platform.hpp"
#include "scheduling/decision.hpp"
#include "scheduling/event.hpp"
#include "scheduling/state.hpp"

namespace ductile {

/// Output of a job that could not be written, and why; docs/commands/run.md.
struct LostOutput {
  std::uint64_t bytes = 0;
  std::string why{};

  /// In words; empty if there is none.
  std::string text() const;
};

/// What happened in the world: told to the core as it is, and what people want to know besides. Of
/// starts, resizes, ends and requests of applications, of nodes, of power, and of what is believed.
struct Told {
  Event event;
  std::optional<int> exit_code{};
  std::string note{};
  std::optional<Duration> ran{};  // of an end: how long, as it was measured there
  std::string reason{};           // of a failure, a word of job/failure.hpp
  bool was_killed = false;        // by a signal, for sure
  LostOutput lost{};
  std::optional<Time> ended{};  // and when it was, where that is known and not now
};

/// What a job did at its present size, since the time before; and what it draws.
struct Measured {
  JobId job = JobId::none;
  Nodes nodes = 0;
  Observed seen{};
  std::optional<double> watts{};  // that its nodes draw together
};

/// A job has come into the world, or an array, whose tasks have the numbers from this one on. A
/// world numbers all jobs, those that `submit` has brought as well, and no two alike; there may be
/// gaps, and a lower one may come later. To the controller the how manieth job it is counts, each
/// task as one: that is its `JobId`, and the world counts on from `Past::next`.
///
/// What was submitted elsewhere and does not say its time and memory (0) has the controller's
/// defaults. What the world itself cannot do for it stands in `Submission::unkept`. All of it is
/// looked at, with a ticket or without: what `submission_from_json` does not take, or the machine
/// has no room for, is held and says why, until the world says that it has ended or is another
/// thing. An array of more than `TaskArray::kMost` tasks is one job here, with its number, and
/// stays held. A number that is none, or that a job has or has had, is refused: that is logged, who
/// waits for this ticket is told, and it counts as no job.
struct Arrived {
  std::uint64_t number = 0;  // up to 2^62
  Owner owner{};
  // Its groups and what operators gave it are the controller's to know, and not taken from here.
  Submission what{};
  std::string ticket{};  // of `submit`; empty: it was submitted elsewhere
  Time submitted{};
  // Not none: this job is known, or the first task of an array, and has become another one there.
  // As long as it waits it asks anew for all of it, at its place: it is held by its user or
  // released, too, where that is another thing than it was. When it runs, or a task does, it asks
  // for its limit alone. Number, owner, type, tasks and ticket are as before, whatever is said
  // here.
  JobId was = JobId::none;
};

/// An application stood still so long to be resized.
struct Paused {
  double seconds = 0;
};

/// An order to resize was withdrawn, for want of an answer.
struct Withdrawn {};

/// What runs in the world and is no job of this journal, as far as it knows: of a journal that is
/// lost, say, or of the time after a copy of this one was made. No job is given its nodes until it
/// has gone. It is told before anything else that is told with it, so that nothing that comes free
/// there is given away. Where the journal has a job of its own on such a node, that one has not
/// been started, or is dead: that is told with it. A job of the journal that waits and is one, too,
/// is held.
struct Stranger {
  std::string name{};  // of this one, as long as it is there: told again, it has other nodes
  NodeSet nodes{};
  std::string what{};  // in words: which job of whom
  bool is_there = true;
  std::uint64_t number = 0;  // if it is a job of this journal, as it went on elsewhere
};

/// `describe` says something else now. It is told before what is so only since then: a job on one
/// of the new nodes, say.
struct Changed {};

using WorldEvent = std::variant<Told, Arrived, Measured, Paused, Withdrawn, Stranger, Changed>;

/// A job as the world needs to know it.
struct JobFacts {
  std::uint64_t number = 0;
  Owner owner{};
  // Good during the call. Script, program and environment are there only for `carry_out` of a
  // start that is not being ended.
  const Submission* what = nullptr;
  JobNames names{};
  // Which life this is: so many have ended in waiting again. A start that failed is one of them
  // where somebody had asked that it wait again.
  std::uint32_t restarts = 0;
  // It was suspended, and goes on where it was when it is started.
  bool goes_on = false;
  // Somebody has ended it; and it waits again then.
  std::optional<EndState> end{};
  bool requeue = false;
};

/// A job that is not over, as the controller knows it.
struct Known {
  JobId id = JobId::none;
  JobFacts facts{};
  bool is_changed = false;  // here, by `change`, of which this may not have heard
  bool runs = false;        // or is being started
  Holding held{};           // what it has; of a start what it is given, of a resize what
                            // it had before
  DecisionId start = DecisionId::none;  // that it was started by, or is being
  std::optional<Decision> open{};       // about it, without an answer
  std::optional<Request> request{};     // that it has made, and has no answer
};

/// What a controller knows that begins.
struct Past {
  std::string journal{};  // its id, which goes with each start: whose jobs these are
  // That it had before it was put back: jobs of these are its own if `start` is theirs.
  std::vector<std::string> former{};
  /// Was a job that was started by the journal of this id started by this one?
  bool is_ours(const std::string& id) const {
    return id == journal || std::ranges::find(former, id) != former.end();
  }
  std::vector<Known> jobs{};  // all that are not over, by their ids
  Time seen{};                // until then it knew what there was
  // Good during the call: has this number arrived, ever? A job of which that is so, and that is not
  // in `jobs`, is over, also one that waits here: it was cancelled while this was out of reach,
  // say, and is ended. One of which it is not so arrives now.
  std::function<bool(std::uint64_t number)> knows{};
  // But these are tasks of an array that are still being added: they wait.
  struct Numbers {
    std::uint64_t first = 0, end = 0;  // without `end`
  } adding{};
  JobId next = JobId{0};       // which the next job to arrive will be
  std::uint64_t highest = 0;   // number of a job that has arrived
  std::uint32_t requests = 0;  // the next number of an evolving request
  // Nodes, as this world has told last (by `NodesChanged`: up, draining, down or off); all others
  // are up. What operators say of nodes is their own, and not among it.
  NodeSet down{}, draining{};
  std::vector<Stranger> strangers{};  // that it has told of, and that have not gone
};

/// How long the answer to an order to resize may take where nobody says: ten times what it took the
/// job at most so far, from half a minute to ten; two minutes if nothing is known.
constexpr Duration patience_with(Duration longest) {
  if (longest == Duration{}) return whole_seconds(120);
  return std::clamp(10 * longest, whole_seconds(30), whole_seconds(600));
}

/// What can be set while it serves.
struct WorldSettings {
  /// A refused or failed job is left alone so long.
  Duration retry = whole_seconds(10);
  /// From SIGTERM to SIGKILL.
  Duration patience = whole_seconds(10);
  /// A resize that takes longer is withdrawn, by the world itself; 0: by how long those of the job
  /// took before.
  Duration resize_deadline{};
  /// Programs of an MPI that can have several sizes are measured so often; never if 0.
  Duration measure{};
  /// What jobs draw is measured so often, where it is said how; never if 0.
  Duration power{};
  std::string watts_from{}, power_from{};  // as in `ServeSettings`
};

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  /// What it has and can do. Asked before anything else but `reach`, before each `take_up`, and
  /// after `Changed`; changes nothing.
  ///
  /// A number is that of one node for good. Where there are fewer than before, those above are
  /// gone: the controller ends the jobs that they have, and gives them no others. Those that are
  /// back are as they were told last; new ones are up until it is told otherwise.
  /// It cannot switch nodes yet: such orders are of no job, and do not come here.
  struct Description {
    Platform platform{};
    Capabilities capabilities{};
    std::string kind = "local";  // a word: a journal is of one kind, and another one refuses it
  };
  virtual Description describe() const = 0;

  /// Begins, or goes on after it was out of reach, with what the controller knows. What is another
  /// way in the world comes as events, and so do the answers to what is open, what comes free
  /// first. A job that waits and has ended there is told as `Ended`, one that has become another
  /// one as `Arrived` again. An order that never came is carried out now, or has failed; one that
  /// is given twice is one. Times are told by this clock, which outlives its use.
  ///
  /// What was not taken before is dropped. Where `end` is set that end is ordered again. A request
  /// that is not in `past` was denied. All that is left of jobs that do not run is removed:
  /// `forget` may never have come. Jobs that run and are not known as such are told as `Stranger`,
  /// and so is that one of `past` has gone; of nodes only what is another way than in `past`.
  /// Throws InputError if it cannot be begun: the controller does not start, or ends.
  virtual void take_up(const ScheduleClock& clock, const Past& past) = 0;
  /// From now on.
  virtual void configure(const WorldSettings& settings) = 0;

  /// Slurm's partition whose jobs these are, and to which users submit by sbatch: `submit` is not
  /// called then. Empty: by `submit`.
  virtual std::string slurm_partition() const { return {}; }
  /// A job, or an array, that a user has submitted. `Arrived` with this ticket follows, at once or
  /// later. No two users have one ticket: it begins with the number of its own. It stands in the
  /// job: one that is given twice is one job, and a job that the controller has not written down
  /// comes again with it after `take_up`. False: not possible now, and nothing with this ticket is
  /// under way.
  virtual bool submit(const Owner& owner, Submission what, const std::string& ticket) = 0;
  /// Its user, or an operator, has changed what a job asks for, or an array, with the number of its
  /// first task: name, sizes, limit, priority, dependencies, when it begins. Those of its jobs that
  /// wait ask for this now; one that runs has this limit (who ends it then is the controller).
  /// `what` is good during the call, and has no script, program and environment. Told twice it is
  /// told once. If the world has told of another change, which may not have been heard by then, or
  /// cannot do it, it tells what the job is there, by `Arrived`.
  virtual void change(std::uint64_t number, const Submission& what) = 0;
  /// Does what was decided, a start, a resize or a suspension (a requeue or a cancel comes by
  /// `end`). Answers
  /// come as what happened, some at once. A start of a job whose `end` is set is answered by
  /// StartFailed. Of a job that is gone nothing is done: its end is the answer. One that is not
  /// suspended after all is told as `Resized`, with what it holds. What is kept of one that is
  /// lasts until `forget`.
  virtual void carry_out(const Decision& decision, const JobFacts& job) = 0;
  /// When the controller will end this running job, at the earliest: for who ends jobs, too.
  virtual void set_limit([[maybe_unused]] JobId id, [[maybe_unused]] Time limit) {}
  /// Ends a running job; it will be over with this state, or wait again. Asked again, nothing more
  /// happens, but that one which was to wait again can be ended for good. Of a job that does not
  /// run here nothing happens: if its start comes after all, `end` is set in it. A job that ends by
  /// itself waits again or not as the world sees fit.
  virtual void end(JobId id, EndState state, bool requeue) = 0;
  /// Nobody else answers this request: the application is told that it is denied.
  virtual void deny(RequestId id) = 0;
  /// A life of a job is over: what it has left is removed. It waits again, whatever this has told
  /// of it (a start that failed, say); or it is over, also where it waited and was cancelled, and
  /// then it is over here as well.
  virtual void forget(std::uint64_t number, bool waits_again) = 0;

  /// A program in a job has come by the controller's door: `peer` is its user, `first` its request
  /// `{"do": "job", ...}` (docs/formats/controller.md). True: the connection is this world's from
  /// now on, moved away, with lines that have come since; it answers, also where it refuses. False:
  /// it is as it was, and the controller answers that this world runs no such jobs. Called in a
  /// turn before `look`, not while it is out of reach. What follows from it comes by `take`.
  virtual bool adopt([[maybe_unused]] LineSocket& connection, [[maybe_unused]] const Owner& peer,
                     [[maybe_unused]] const nlohmann::ordered_json& first) {
    return false;
  }

  virtual void add_to(Poller& poller) = 0;
  /// After waiting: what has happened, and times that have come.
  virtual void look() = 0;
  /// When `look` has something to do, or `reach` will be another, where no descriptor of `add_to`
  /// tells; `kNever` if not.
  virtual Time next() const = 0;
  /// What happened since the last call, in order.
  virtual std::vector<WorldEvent> take() = 0;

  enum class Reach : std::uint8_t {
    here,
    lost,  // out of reach: it is told nothing and says nothing, and no pass is made
    back   // it was lost, and waits for `take_up`; at the start of a controller `here` does as well
  };
  /// Asked at the start, and once in a turn, before anything else. Calls of a turn in which it goes
  /// away later do nothing, and `submit` returns false. While it is lost there are only `add_to`,
  /// `look`, `next`, `signs` and `configure`. A controller begins without it if it has a journal,
  /// and asks each second: before the first `take_up` it has no clock to tell by.
  virtual Reach reach() const { return Reach::here; }

  /// What people are shown of a running job.
  struct Signs {
    LostOutput lost{};       // so far
    bool is_silent = false;  // the last order to resize it was withdrawn
  };
  virtual Signs signs(JobId id) const = 0;
};

}  // namespace ductile
