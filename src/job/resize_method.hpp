// How jobs are resized whose processes are not replaced by those of a new generation (resize.hpp):
// what differs from one kind of job to another. Orders, plans and reports are the same for all
// (resize_driver.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "base/node_set.hpp"
#include "job/generation.hpp"
#include "job/launcher.hpp"
#include "job/poller.hpp"
#include "job/run_settings.hpp"

namespace ductile {

/// At most one resize is under way: from `begin` until `look` has told its outcome.
class ResizeMethod {
 public:
  using Clock = std::chrono::steady_clock;
  using Json = nlohmann::ordered_json;

  /// A size, and the processors of this host that the job may use for it; empty: any.
  struct Target {
    std::uint32_t size = 1;
    NodeSet cpus{};
    std::vector<Host> hosts{};  // empty: this one
  };
  /// What came of a resize.
  struct Outcome {
    std::string error{};                  // why it was given up; empty: it was not
    std::optional<std::uint32_t> size{};  // that the job has, if not what was ordered
    Json details = Json::object();        // for the report and for who has ordered it
  };

  /// What it asks of the rest of the manager.
  struct Outside {
    /// Starts the next generation of the program, which is the job from then on. RunError.
    std::function<void(const Target& target)> start{};
  };

  ResizeMethod() = default;
  ResizeMethod(const ResizeMethod&) = delete;
  ResizeMethod& operator=(const ResizeMethod&) = delete;
  virtual ~ResizeMethod() = default;

  // ---- The program -----------------------------------------------------------------------------
  /// What the program finds in its environment besides, and where it is started.
  virtual Variables variables(const Target& /*first*/) { return {}; }
  virtual NodeSet cpus(const Target& first) const { return first.cpus; }
  /// A descriptor that it has as well; none if negative.
  virtual int given() const { return -1; }
  /// How it is started, if not as the settings say.
  virtual std::optional<Launcher> launcher(const Target& /*target*/) { return std::nullopt; }
  /// Called in its new process before all else, as `begin_session` has it; nothing to do if null.
  virtual std::function<const char*()> prepare() const { return nullptr; }
  /// It has been started.
  virtual void on_started(Generation& /*generation*/) {}
  /// It can be resized now; orders wait until then.
  virtual bool is_ready() const { return true; }
  /// Why it is not.
  virtual std::string why_not_ready() const { return "the program cannot be resized yet"; }
  /// All of a generation have ended. Is that not the end of the job?
  virtual bool on_ended(const Generation& /*generation*/, int /*code*/) { return false; }
  /// Another child of this process has.
  virtual void on_child(pid_t /*pid*/, int /*code*/) {}
  /// The job is to end; with this code, if there is no process of it.
  virtual void on_stop(int /*exit_code*/) {}
  /// There is no process of the job any more, nor will be: it has ended with this code.
  virtual std::optional<int> ended_with() const { return std::nullopt; }

  // ---- A resize --------------------------------------------------------------------------------
  /// Why not, if the job cannot become so.
  virtual std::optional<std::string> objection(const Target& /*target*/) const {
    return std::nullopt;
  }
  /// Does it know a resize to 0, after which there are no processes?
  virtual bool can_suspend() const { return false; }
  /// There is no objection.
  virtual void begin(const Target& target, Clock::time_point now) = 0;
  /// The one that is under way is to be given up; `look` says whether it could.
  virtual void give_up(const std::string& reason) = 0;
  /// What came of it; nothing as long as it is under way.
  virtual std::optional<Outcome> look(Clock::time_point now) = 0;
  /// The same while none is under way: there may be something left to do.
  virtual void look_after(Clock::time_point /*now*/) {}
  /// When to look again, if nothing happens to a descriptor before.
  virtual Clock::time_point next() const { return Clock::time_point::max(); }
  virtual void add_to(Poller& /*poller*/) {}

  // ---- What is told ----------------------------------------------------------------------------
  /// More of the job's status.
  virtual Json status() const { return Json::object(); }
};

/// That of this kind of job; null where there is none. `folder` is the job's, which no other user
/// may enter. RunError, std::system_error.
std::unique_ptr<ResizeMethod> make_resize_method(const RunSettings& settings,
                                                 const std::string& folder,
                                                 ResizeMethod::Outside outside);

}  // namespace ductile
