// A full machine of small jobs and a long queue, for the time of single passes: jobs end early one
// after the other, and each end is one pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "policies/registry.hpp"
#include "scheduling/core.hpp"

namespace ductile::bench {

struct FullMachineSettings {
  Nodes nodes = 500;
  std::uint32_t waiting = 10'000;
  Nodes waiting_from = 1, waiting_to = 64;     // their sizes
  std::vector<JobType> types{JobType::rigid};  // in turn
  double min = 0.5, max = 4;  // sizes of those that can have several, times preferred
  Rules rules{.check = false};
  std::uint32_t cores_per_node = 1;
  Capabilities can{};
  /// All have the same limit, and those that run began one after the other, as tasks of arrays do.
  bool alike = false;
  bool busy = false;  // with each end a job is submitted, and one that can asks for another size
};

/// What a benchmark of full machines is told: which policies, and of which jobs.
struct FullMachineOptions {
  std::vector<std::string> policies{};
  std::vector<std::string> types{kJobTypeWords.begin(), kJobTypeWords.end()};
  FullMachineSettings machine{.nodes = 8'500};

  /// The options, as a live controller has it where nothing is said.
  void add_to(CLI::App& app) {
    machine.rules.identities = machine.rules.record = true;
    machine.rules.reservations_per_plan = 2'000;
    app.add_option("--policy", policies, "as the simulator takes it; more than one");
    app.add_option("--types", types, "types of the jobs, in turn")->check(CLI::IsMember(types));
    app.add_option("--nodes", machine.nodes, "1,000 jobs fill 8,500 nodes")->capture_default_str();
    app.add_option("--waiting", machine.waiting, "waiting jobs")->capture_default_str();
    app.add_option("--waiting-to", machine.waiting_to, "their largest size")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_flag("--alike", machine.alike, "jobs of one limit that began one after the other");
  }
  /// Measures each of the policies, all if none is named. The exit code.
  int for_each_policy(const char* program, const std::function<void(const std::string&)>& measure) {
    machine.types.clear();
    for (const std::string& type : types) {
      machine.types.push_back(*from_word<JobType>(kJobTypeWords, type));
    }
    if (policies.empty()) {
      for (const PolicyInfo& policy : built_in_policies()) policies.push_back(policy.name);
    }
    try {
      std::ranges::for_each(policies, measure);
    } catch (const InputError& error) {
      std::cerr << program << ": " << error.what() << '\n';
      return 2;
    }
    return 0;
  }
};

class FullMachine {
 public:
  FullMachine(const std::string& policy, const FullMachineSettings& settings)
      : settings_(settings),
        policy_(make_policy(policy)),
        core_(Platform{.nodes = settings.nodes, .cores_per_node = settings.cores_per_node},
              settings.can, settings.rules, policy_->traits),
        draws_(settings.waiting, Stream::test, 0) {
    for (Nodes taken = 0; taken < settings.nodes;) {
      const auto size = std::min<Nodes>(
          static_cast<Nodes>(1 + draws_.below(std::min(Nodes{16}, settings.waiting_to))),
          settings.nodes - taken);
      submit(size, 3'600);
      taken += size;
      if (!settings.alike) continue;
      now_ += whole_seconds(1);
      answer(core_.close(now_, *policy_));
    }
    answer(core_.close(now_, *policy_));
    for (std::uint32_t i = 0; i < settings.waiting; ++i) submit_waiting();
  }

  /// Seconds of each pass of an instant: what the policy decides is answered at once. The first
  /// call sees all waiting jobs for the first time; at each further one a job has ended.
  std::vector<double> passes() {
    if (begun_) {
      now_ += whole_seconds(60);
      const auto running = core_.state().running;
      core_.apply(now_, event::Ended{running[running.size() / 2], EndState::completed, false});
      if (settings_.busy) happen();
    }
    begun_ = true;
    std::vector<double> times_s;
    for (bool again = true; again;) {
      std::span<const Decision> decisions;
      times_s.push_back(seconds_of([&] { decisions = core_.close(now_, *policy_); }));
      cut_short_ = cut_short_ || core_.was_cut_short();
      again = answer(decisions);
    }
    return times_s;
  }
  const Core& core() const { return core_; }
  const Policy& policy() const { return *policy_; }
  std::size_t waiting() const { return core_.state().queue.size(); }
  std::size_t running() const { return core_.state().running.size(); }
  /// Did a plan have as many reservations as the rules allow, and jobs waited for more?
  bool was_cut_short() const { return cut_short_; }

 private:
  bool answer(std::span<const Decision> decisions) {
    const std::vector<Decision> orders(decisions.begin(), decisions.end());
    bool any = false;
    for (const Decision& order : orders) {
      if (order.kind != Decision::Kind::resize) continue;
      any |= core_.apply(now_, event::Resized{order.job, order.id, order.after, {}});
    }
    return any;
  }

  void happen() {
    submit_waiting();
    const auto& running = core_.state().running;
    for (std::size_t i = 0; i < running.size(); ++i) {
      const JobId id = running[(i + draws_.below(running.size())) % running.size()];
      const JobType type = core_.job(id).spec.type;
      if (type != JobType::evolving && type != JobType::adaptive) continue;
      core_.apply(now_, event::EvolvingRequested{RequestId{requests_++}, id, 2});
      return;
    }
  }

  void submit_waiting() {
    const Nodes from = settings_.waiting_from, to = settings_.waiting_to;
    submit(static_cast<Nodes>(from + draws_.below(to - from + 1)), 600);
  }

  void submit(Nodes nodes, std::int64_t least_walltime_s) {
    JobSpec job;
    job.name = core_.state().jobs.size() + 1;
    job.type = settings_.types[job.name % settings_.types.size()];
    job.submitted = now_;
    const auto more = static_cast<std::int64_t>(draws_.below(86'400));
    job.walltime = whole_seconds(settings_.alike ? 86'400 : least_walltime_s + more);
    job.preferred = nodes;
    job.size = exactly(nodes);
    if (job.type != JobType::rigid) {
      job.size.min = static_cast<Nodes>(settings_.min * nodes + 0.5);
      job.size.max = static_cast<Nodes>(settings_.max * nodes);
    }
    core_.apply(now_, job.type == JobType::rigid ? event::Submitted{job, std::nullopt}
                                                 : event::Submitted{job, AdaptiveSpec{}});
  }

  FullMachineSettings settings_;
  std::shared_ptr<const Policy> policy_;
  Core core_;
  Draws draws_;
  Time now_{};
  bool begun_ = false;
  bool cut_short_ = false;
  std::uint32_t requests_ = 0;
};

}  // namespace ductile::bench
