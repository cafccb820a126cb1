// Jobs of threads: one program, whose cores on this host change while it runs. Its threads are kept
// to them, and it finds on a page what it has (threads_page.hpp): who reads that has so many
// threads from then on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job/affinity.hpp"
#include "job/cpuset.hpp"
#include "job/resize_method.hpp"
#include "job/threads_page.hpp"

namespace ductile {

/// The cores that such a job can have: those of --cpus, or on which this process may run.
NodeSet cpus_for_threads(const NodeSet& said);

class ThreadsMethod : public ResizeMethod {
 public:
  /// InputError if there are not so many cores.
  ThreadsMethod(const RunSettings& settings, const std::string& folder);

  Variables variables(const Target& first) override;
  NodeSet cpus(const Target& first) const override { return choose(first); }
  void on_started(Generation& generation) override;

  std::optional<std::string> objection(const Target& target) const override;
  void begin(const Target& target, Clock::time_point now) override;
  void give_up(const std::string& reason) override;
  std::optional<Outcome> look(Clock::time_point now) override;
  Clock::time_point next() const override;

  Json status() const override;

 private:
  NodeSet choose(const Target& target) const;
  std::optional<std::string> keep_to_cpus(const NodeSet& cpus, Affinity which = Affinity::all);
  std::optional<std::string> change(std::uint32_t size, const NodeSet& cpus);

  const RunSettings& settings_;
  ThreadsPage page_;
  bool is_bound_;  // the user wants each thread on a processor of its own
  Generation* generation_ = nullptr;
  std::optional<Cpuset> cpuset_{};  // where this user may have one

  // ---- A resize --------------------------------------------------------------------------------
  std::optional<Clock::time_point> begun_{};
  Clock::time_point look_at_{};
  std::uint32_t sequence_ = 0;
  double affinity_s_ = 0;
  std::optional<std::string> refusal_{};  // why it could not be done
  bool is_waited_for_ = true;             // by who has ordered it
};

}  // namespace ductile
