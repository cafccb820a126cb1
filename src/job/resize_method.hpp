// How jobs are resized whose processes are not replaced by those of a new generation (resize.hpp):
// what differs from one kind of job to another. Orders, plans and reports are the same for all
// (resize_driver.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

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
  };
  /// What came of a resize.
  struct Outcome {
    std::string error{};            // why it was given up; empty: it was not
    Json details = Json::object();  // for the report and for who has ordered it
  };

  ResizeMethod() = default;
  ResizeMethod(const ResizeMethod&) = delete;
  ResizeMethod& operator=(const ResizeMethod&) = delete;
  virtual ~ResizeMethod() = default;

  // ---- The program -----------------------------------------------------------------------------
  /// What the program finds in its environment besides, and where it is started.
  virtual Variables variables(const Target& /*first*/) { return {}; }
  virtual NodeSet cpus(const Target& first) const { return first.cpus; }
  /// It has been started.
  virtual void on_started(Generation& /*generation*/) {}
  /// It can be resized now; orders wait until then.
  virtual bool is_ready() const { return true; }
  /// All of a generation have ended. Does that belong to the resize that is under way?
  virtual bool on_ended(const Generation& /*generation*/, int /*code*/) { return false; }

  // ---- A resize --------------------------------------------------------------------------------
  /// Why not, if the job cannot become so.
  virtual std::optional<std::string> objection(const Target& /*target*/) const {
    return std::nullopt;
  }
  /// There is no objection.
  virtual void begin(const Target& target, Clock::time_point now) = 0;
  /// The one that is under way is to be given up; `look` says whether it could.
  virtual void give_up(const std::string& reason) = 0;
  /// What came of it; nothing as long as it is under way.
  virtual std::optional<Outcome> look(Clock::time_point now) = 0;
  /// When to look again, if nothing happens to a descriptor before.
  virtual Clock::time_point next() const { return Clock::time_point::max(); }
  virtual void add_to(Poller& /*poller*/) {}

  // ---- What is told ----------------------------------------------------------------------------
  /// More of the job's status.
  virtual Json status() const { return Json::object(); }
};

/// That of this kind of job; null where there is none. `folder` is the job's, which no other user
/// may enter. RunError.
std::unique_ptr<ResizeMethod> make_resize_method(const RunSettings& settings,
                                                 const std::string& folder);

}  // namespace ductile
