// The world as the controller sees it: what runs jobs, and tells how that went. The controller
// works with any; live/local_world.hpp is the one of this machine.
//
// What a world says is final: a job that was to have two nodes and has three has three. Each start
// and each resize has exactly one answer, sooner or later. A world has no memory of its own:
// after a restart it finds out what there is, or is told by `take_up`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
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

/// What happened in the world: told to the core as it is, and what people want to know besides.
struct Told {
  Event event;
  std::optional<int> exit_code{};
  std::string note{};
  std::optional<Duration> ran{};  // of an end: how long, as its manager has reported
  std::string reason{};           // of a failure, a word of job/failure.hpp
  bool was_killed = false;        // by a signal, for sure
  LostOutput lost{};
  std::optional<Time> ended{};  // and when it was, where that is known and not now
};

/// What a job did at its present size, since the time before.
struct Measured {
  JobId job = JobId::none;
  Nodes nodes = 0;
  Observed seen{};
};

/// A job has come into the world, or an array, whose tasks have the numbers from this one on: each
/// number is the next one. A world numbers all jobs, those that `submit` has brought as well.
struct Arrived {
  std::uint64_t number = 0;
  Owner owner{};
  Submission what{};
  std::string ticket{};  // of `submit`; empty: it was submitted elsewhere
  Time submitted{};
};

/// An application stood still so long to be resized.
struct Paused {
  double seconds = 0;
};

/// An order to resize was withdrawn, for want of an answer.
struct Withdrawn {};

using WorldEvent = std::variant<Told, Arrived, Measured, Paused, Withdrawn>;

/// A job as the world needs to know it.
struct JobFacts {
  std::uint64_t number = 0;
  Owner owner{};
  const Submission* what = nullptr;
  JobNames names{};
  std::uint32_t restarts = 0;
  // Somebody has ended it; and it waits again then.
  std::optional<EndState> end{};
  bool requeue = false;
};

/// A job that is not over, as the controller knows it.
struct Known {
  JobId id = JobId::none;
  JobFacts facts{};
  bool runs = false;                 // or is being started
  Holding held{};                    // what it had before `open`
  std::optional<Decision> open{};    // about it, without an answer
  std::optional<Request> request{};  // that it has made, and has no answer
};

/// What a controller knows that begins.
struct Past {
  std::string journal{};       // its id, which goes with each start: whose jobs these are
  std::vector<Known> jobs{};   // all that are not over, by their ids
  Time seen{};                 // until then it knew what there was
  std::uint64_t next = 1;      // number of a job
  std::uint32_t requests = 0;  // the next number of an evolving request
};

/// What can be set while it serves.
struct WorldSettings {
  /// A refused or failed job is left alone so long.
  Duration retry = whole_seconds(10);
  /// From SIGTERM to SIGKILL.
  Duration patience = whole_seconds(10);
  /// A resize that takes longer is withdrawn; 0: by how long those of the job took before.
  Duration resize_deadline{};
  /// Programs of an MPI that can have several sizes are measured so often; never if 0.
  Duration measure{};
};

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  /// What it has and can do. Asked before anything else, and changes nothing.
  struct Description {
    Platform platform{};
    Capabilities capabilities{};
  };
  virtual Description describe() const = 0;

  /// Begins, or goes on after it was out of reach, with what the controller knows. What is another
  /// way in the world comes as events, and so do the answers to what is open, what comes free
  /// first. An order that never came is answered as one that failed; one that is given twice is
  /// one. Times are told by this clock, which outlives its use. Throws InputError if it cannot be
  /// begun.
  virtual void take_up(const ScheduleClock& clock, const Past& past) = 0;
  /// From now on.
  virtual void configure(const WorldSettings& settings) = 0;

  /// A job, or an array, that a user has submitted. `Arrived` with this ticket follows, at once or
  /// later. The ticket stands in the job: one that is given twice is one job, and a job that the
  /// controller has not written down comes again with it after `take_up`. False: not possible now.
  virtual bool submit(const Owner& owner, Submission what, const std::string& ticket) = 0;
  /// Does what was decided. Answers come as what happened, some at once. A job that is being ended
  /// already is not started.
  virtual void carry_out(const Decision& decision, const JobFacts& job) = 0;
  /// Ends a running job; it will be over with this state, or wait again. Asked again, nothing more
  /// happens, but that one which was to wait again can be ended for good.
  virtual void end(JobId id, EndState state, bool requeue) = 0;
  /// Nobody else answers this request: the application is told that it is denied.
  virtual void deny(RequestId id) = 0;
  /// A job is over for the controller: what it has left is removed.
  virtual void forget(std::uint64_t number) = 0;

  virtual void add_to(Poller& poller) = 0;
  /// After waiting: what has happened, and times that have come.
  virtual void look() = 0;
  /// When `look` has something to do; `kNever` if not.
  virtual Time next() const = 0;
  /// What happened since the last call, in order.
  virtual std::vector<WorldEvent> take() = 0;

  enum class Reach : std::uint8_t {
    here,
    lost,  // out of reach: it is told nothing and says nothing, and no pass is made
    back   // it was lost, and waits for `take_up`
  };
  virtual Reach reach() const { return Reach::here; }

  /// What people are shown of a running job.
  struct Signs {
    LostOutput lost{};       // so far
    bool is_silent = false;  // the last order to resize it was withdrawn
  };
  virtual Signs signs(JobId id) const = 0;
};

}  // namespace ductile
