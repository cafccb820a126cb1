#include "job/threads_method.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"
#include "job/affinity.hpp"
#include "job/process.hpp"
#include "job/threads_page.h"

namespace ductile {
namespace {

/// Its cores are free, or there, already; a program that does not come to a parallel region for so
/// long follows when it does.
constexpr std::chrono::seconds kFollowLimit{1};

/// A runtime of OpenMP that binds by itself knows the processors of the beginning only. So it does
/// not hear of that, and the library does it instead. True if the user wants threads bound.
bool take_binding() {
  static const bool is_wanted = [] {
    const auto take = [](const char* name) -> std::optional<std::string> {
      const char* const value = std::getenv(name);
      if (value == nullptr) return std::nullopt;
      std::string word = value;
      std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
      unsetenv(name);
      return word;
    };
    const auto bind = take("OMP_PROC_BIND"), of_intel = take("KMP_AFFINITY"),
               places = take("OMP_PLACES"), of_gcc = take("GOMP_CPU_AFFINITY");
    if (bind) return !bind->empty() && *bind != "false";
    const auto names = [&](const char* word) { return of_intel->find(word) != std::string::npos; };
    const bool has_type =
        of_intel && !names("none") && !names("disabled") && *of_intel != "verbose";
    return places || of_gcc || has_type;
  }();
  return is_wanted;
}

std::string whole_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

double seconds_between(ResizeMethod::Clock::time_point from, ResizeMethod::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

NodeSet cpus_for_threads(const NodeSet& said) {
  return said.empty() ? own_cpus() : allowed_cpus(said);
}

ThreadsMethod::ThreadsMethod(const RunSettings& settings, const std::string& folder)
    : settings_(settings),
      page_(folder + "/threads", whole_path(settings.control)),
      is_bound_(take_binding()) {
  if (const auto why = objection({.size = settings.size, .cpus = settings.cpus})) {
    throw InputError({.field = "-n"}, *why, "change -n or --cpus, or add --oversubscribe");
  }
  if (settings.launcher.cores > 0) {
    throw InputError({.field = "--cores-per-process"}, "the size of a job of threads is its cores",
                     "say -n instead");
  }
}

// ---- The program --------------------------------------------------------------------------------

Variables ThreadsMethod::variables(const Target& first) {
  Variables variables{{DUCTILE_PAGE_VARIABLE, page_.path()},
                      {"OMP_NUM_THREADS", std::to_string(first.size)}};
  if (is_bound_) variables.emplace_back(DUCTILE_BIND_VARIABLE, "1");
  page_.publish(first.size, choose(first));
  const auto library = threads_library();
  if (!library) {
    spdlog::warn("there is no libductile-threads-preload.so: OpenMP programs do not follow");
    return variables;
  }
  const char* const own = std::getenv("LD_PRELOAD");
  const auto rest = inherited("LD_PRELOAD", own != nullptr ? own : "");
  variables.emplace_back("LD_PRELOAD", rest->empty() ? *library : *library + ":" + *rest);
  return variables;
}

void ThreadsMethod::on_started(Generation& generation) {
  generation_ = &generation;
  cpuset_ = Cpuset::make(generation.group);
  // It was started on these processors, and may have bound its threads by now.
  if (const auto why = keep_to_cpus(generation.cpus, Affinity::outside)) spdlog::warn("{}", *why);
  // It may have begun to start others meanwhile; who is being started just now escapes.
  if (cpuset_ && !cpuset_->take(generation.process.pid)) cpuset_.reset();
  for (const pid_t pid : descendants({})) {
    if (cpuset_) cpuset_->take(pid);
  }
  // Who comes into a cpuset may run on all of it: threads are bound again.
  if (cpuset_) page_.publish(generation.size, generation.cpus);
  spdlog::info("the program is kept to processors {} by {}", to_string(generation.cpus),
               cpuset_ ? "a cpuset and its affinity" : "its affinity");
}

// ---- A resize -----------------------------------------------------------------------------------

std::optional<std::string> ThreadsMethod::objection(const Target& target) const {
  const Nodes most = cpus_for_threads(target.cpus).count();
  if (most == 0) return "there are no such processors";
  if (target.size <= most || settings_.oversubscribes) return std::nullopt;
  return fmt::format("there are {} cores for the job, not {}", most, target.size);
}

/// Those that it has already first, the lowest ones of the others then.
NodeSet ThreadsMethod::choose(const Target& target) const {
  NodeSet free = cpus_for_threads(target.cpus);
  NodeSet kept = generation_ != nullptr ? intersection(generation_->cpus, free) : NodeSet{};
  NodeSet chosen = kept.take_lowest(std::min<Nodes>(target.size, kept.count()));
  free.erase(chosen);
  const Nodes missing = target.size - chosen.count();
  chosen.insert(free.take_lowest(std::min(missing, free.count())));
  return chosen;
}

/// Why not.
std::optional<std::string> ThreadsMethod::keep_to_cpus(const NodeSet& cpus, Affinity which) {
  if (cpuset_ && !cpuset_->keep_to(cpus)) {
    spdlog::warn("the cpuset cannot be changed: from now on it is the affinity alone");
    cpuset_.reset();
  }
  return set_affinity_of_descendants(cpus, which);
}

/// Why not.
std::optional<std::string> ThreadsMethod::change(std::uint32_t size, const NodeSet& cpus) {
  if (auto why = keep_to_cpus(cpus)) return why;
  try {
    sequence_ = page_.publish(size, cpus);
  } catch (const RunError& error) {
    return error.what();
  }
  generation_->cpus = cpus;
  return std::nullopt;
}

void ThreadsMethod::begin(const Target& target, Clock::time_point now) {
  refusal_ = change(target.size, choose(target));
  // As before, as far as it goes.
  if (refusal_) change(generation_->size, generation_->cpus);
  affinity_s_ = seconds_between(now, Clock::now());
  begun_ = look_at_ = now;
  is_waited_for_ = true;
}

/// What it has, it has: only nobody waits for the program any more.
void ThreadsMethod::give_up(const std::string& /*reason*/) { is_waited_for_ = false; }

std::optional<ResizeMethod::Outcome> ThreadsMethod::look(Clock::time_point now) {
  if (!begun_) return std::nullopt;
  if (refusal_) {
    begun_.reset();
    return Outcome{.error = *std::exchange(refusal_, std::nullopt)};
  }
  const auto followers = page_.followers();
  const auto has_followed = [&](const auto& its) { return its.seen == sequence_; };
  const auto count = std::ranges::count_if(followers, has_followed);
  const bool are_all = count == std::ssize(followers);
  if (!are_all && is_waited_for_ && now < *begun_ + kFollowLimit) {
    // Often at first: most programs follow within a millisecond.
    const auto waited = now - *begun_;
    look_at_ = now + std::clamp<Clock::duration>(waited / 4, std::chrono::microseconds(100),
                                                 std::chrono::milliseconds(20));
    return std::nullopt;
  }
  begun_.reset();
  // Threads that were started by one that had not followed yet.
  set_affinity_of_descendants(generation_->cpus, Affinity::outside);
  Outcome outcome;
  outcome.details["unit"] = unit_of(settings_.kind);
  outcome.details["affinity_s"] = affinity_s_;
  outcome.details["processes"] = followers.size();
  outcome.details["followed"] = count;
  if (count > 0) {
    double last = 0;
    for (const auto& its : followers) last = std::max(last, has_followed(its) ? its.seen_s : 0.0);
    outcome.details["followed_s"] = last;
  }
  return outcome;
}

ResizeMethod::Clock::time_point ThreadsMethod::next() const {
  return begun_ ? std::min(look_at_, *begun_ + kFollowLimit) : Clock::time_point::max();
}

ResizeMethod::Json ThreadsMethod::status() const {
  return {{"page", page_.path()},
          {"kept_by", cpuset_ ? "cpuset" : "affinity"},
          {"processes", page_.followers().size()}};
}

}  // namespace ductile
