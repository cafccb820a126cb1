// Carries out the resizes of a job, one at a time: from an order, by a state machine (resize.hpp)
// that is told what the processes of both generations say, to the end of the generation that lost;
// or by the method of the job's kind, where it has one (resize_method.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "job/name_of_host.hpp"
#include "job/peers.hpp"
#include "job/process_table.hpp"
#include "job/resize.hpp"
#include "job/resize_method.hpp"
#include "job/resize_trace.hpp"
#include "job/run_settings.hpp"

namespace ductile {

class ResizeDriver {
 public:
  using Clock = Resize::Clock;
  using Json = nlohmann::ordered_json;

  /// What it asks of the rest of the manager.
  struct Outside {
    /// Starts the next generation there, beside the current one, which lets it have its cores.
    /// RunError.
    std::function<void(std::uint32_t size, const std::vector<Host>& hosts)> start{};
    /// To all processes of a generation.
    std::function<void(const Generation&, const wire::Message&)> send{};
    /// Something happened: "resized", "aborted".
    std::function<void(std::string_view what, const Json& details)> report{};
    /// To those who have ordered it.
    std::function<void(bool ok, const Json& details)> answer{};
    /// Another generation is the job from here on.
    std::function<void()> on_commit{};
    /// It is over: one generation is alone on its cores again.
    std::function<void(bool is_committed)> on_over{};
    /// The program had asked for what was given up.
    std::function<void()> deny{};
  };
  ResizeDriver(const RunSettings& settings, ProcessTable& table, Outside outside);
  /// Resizes are by this method, which outlives it.
  void use(ResizeMethod& method) { method_ = &method; }

  // ---- Orders ----------------------------------------------------------------------------------
  /// What is ordered.
  struct Wish {
    std::uint32_t size = 0;
    bool is_requested = false;  // it is the answer to a request
    bool moves = false;         // also at the present size: to where the next generation starts
    bool suspends = false;      // its data is kept, and it ends
    std::vector<Host> hosts{};  // where the next generation starts; empty: as before
    NodeSet cpus{};             // of this host, that the job may use; empty: any
  };
  /// Why not, if this cannot be ordered now.
  std::optional<std::string> objection(const Wish& wish) const;
  /// There is no objection. It begins once the program has: it must within the limit of a start.
  void order(const Wish& wish);
  void give_up(const std::string& reason);
  /// Who has ordered it waits no longer: it is given up, or, committed, over as soon as the nodes
  /// of the generation that lost are free.
  void withdraw();
  /// How many processes the hosts of the job take; any number if none are named.
  std::uint32_t slots() const { return slots(table_.current().hosts); }

  // ---- What happens ----------------------------------------------------------------------------
  /// A message of a process that is about a resize.
  void receive(std::uint32_t generation, std::uint32_t rank, const wire::Message& message);
  /// A process of this generation is at its end; has gone; has written more than is held.
  void on_finishing(const Generation& generation);
  void on_gone(const Generation& generation, std::uint32_t rank);
  void on_too_much_output(const Generation& generation);
  /// All of a generation have ended, with this exit code. Was it the new one of a resize?
  bool on_ended(const Generation& generation, int code);
  /// The job is to end; it has ended.
  void on_stop(const std::string& reason);
  void on_exit();

  // ---- Time ------------------------------------------------------------------------------------
  /// When something is to be done.
  Clock::time_point next() const;
  /// What has taken too long is given up.
  void keep_deadlines(Clock::time_point now);
  /// Begins what was ordered, if it can.
  void begin();
  /// Orders what is planned for now.
  void follow_plan(Clock::time_point now);
  /// A resize that is settled may be over.
  void conclude();

  // ---- What is known ---------------------------------------------------------------------------
  /// There is a resize: until the generation that lost is gone.
  bool is_busy() const { return resize_ || change_; }
  bool is_ordered() const { return ordered_.has_value(); }
  /// It may still be given up.
  bool is_under_way() const { return resize_ && !resize_->is_settled(); }
  /// Is this the new one of a resize under way?
  bool is_new(const Generation& generation) const {
    return is_under_way() && generation.number == resize_->generation();
  }
  /// Of a resize under way, the size it goes to.
  std::uint32_t new_size() const { return resize_->new_size(); }
  std::string_view phase() const;
  /// An old generation that has left in order, for another one, in a job that is not to end:
  /// whatever its program still does is its right for a while.
  bool has_left(const Generation& generation) const;
  std::uint32_t resizes() const { return resizes_; }
  /// The data of all processes is kept, and they leave.
  bool is_suspended() const { return is_suspended_; }
  /// Planned ones that were given up, or did not come.
  std::uint32_t aborted() const { return aborted_; }
  std::size_t unplanned() const { return settings_.plan.size() - planned_; }
  const ResizeTrace& trace() const { return trace_; }

 private:
  static std::uint32_t slots(const std::vector<Host>& hosts) {
    return hosts.empty() ? wire::kMaxProcesses : slots_of(hosts);
  }
  void refuse(std::uint32_t size, const std::string& why);
  void refuse_ordered(const std::string& why);
  void carry_out();
  void settle();
  void discard(Generation& generation, Clock::time_point now);
  bool has_begun() const;
  void conclude_change(Clock::time_point now);
  void end_change(const ResizeMethod::Outcome& outcome);
  void tell_who_is_missing(Clock::time_point now);
  void tell_slow_start(Clock::time_point now);
  Json details_of_commit() const;
  void add_places(Json& details) const;

  const RunSettings& settings_;
  ProcessTable& table_;
  Outside outside_;
  Clock::time_point begin_ = Clock::now();
  std::chrono::system_clock::time_point wall_begin_ = std::chrono::system_clock::now();

  std::optional<Wish> ordered_{};  // waiting for the program to begin
  Clock::time_point ordered_at_{};
  bool is_requested_ = false;  // the order is the answer to a request
  bool is_planned_ = false;    // or one of the plan
  std::size_t planned_ = 0;    // of the plan: how many were ordered
  Clock::time_point last_ = begin_;

  std::optional<Resize> resize_{};
  std::uint32_t old_ = 0;  // the generation that is resized
  /// A resize by the method.
  struct Change {
    std::uint32_t from = 1, to = 1;
    Clock::time_point begun{};
  };
  ResizeMethod* method_ = nullptr;
  std::optional<Change> change_{};
  std::optional<Clock::time_point> freed_{};
  bool is_wait_told_ = false;                    // that processes wait for others
  std::unique_ptr<NameOfHost> name_of_host_{};   // looked up when a start is slow
  bool is_ending_ = false, has_exited_ = false;  // the job
  bool is_suspended_ = false;
  std::uint32_t resizes_ = 0, aborted_ = 0;
  ResizeTrace trace_{begin_};
};

}  // namespace ductile
