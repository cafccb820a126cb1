#include "workload/resample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/date.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "workload/precedence.hpp"

namespace ductile {
namespace {

std::int64_t week_of(Time time) {
  const std::int64_t ticks = time.time_since_epoch().count(), week = kWeek.count();
  return ticks >= 0 ? ticks / week : -((week - 1 - ticks) / week);
}

// What a user of the log did.
struct User {
  std::vector<const WorkloadJob*> jobs;  // by time of submission
  std::int64_t first_week = 0, weeks = 0;
};

struct Users {
  std::vector<User> long_term, temporary;
  std::uint64_t without_user = 0;
};

Users users_of(const Workload& log, std::uint64_t long_term_weeks) {
  std::vector<User> all;
  std::unordered_map<std::uint32_t, std::size_t> places;
  Users users;
  for (const WorkloadJob& job : log.jobs) {
    if (!job.has_user()) {
      ++users.without_user;
      continue;
    }
    const auto [place, is_new] = places.try_emplace(job.user, all.size());
    if (is_new) all.emplace_back();
    all[place->second].jobs.push_back(&job);
  }
  for (User& user : all) {
    user.first_week = week_of(user.jobs.front()->submit);
    user.weeks = week_of(user.jobs.back()->submit) - user.first_week + 1;
    const bool stays = user.jobs.back()->submit - user.jobs.front()->submit >=
                       static_cast<std::int64_t>(long_term_weeks) * kWeek;
    (stays ? users.long_term : users.temporary).push_back(std::move(user));
  }
  return users;
}

// A user of the new workload: one of the log, so many weeks later; and what of him is in it.
struct Appearance {
  const User* user;
  std::int64_t later;
};

// One who comes, or a place of long-term users, one after the other.
struct Candidate {
  std::vector<Appearance> appearances;
  bool is_long_term = false;
  double work_node_s = 0;
};

class Resampler {
 public:
  Resampler(const Users& users, std::int64_t first_week, std::int64_t log_weeks, std::int64_t weeks,
            std::uint64_t seed)
      : users_(users), first_week_(first_week), weeks_(weeks), seed_(seed) {
    std::int64_t there = 0;
    for (const User& user : users.long_term) there += user.weeks;
    for (const User& user : users.temporary) longest_ = std::max(longest_, user.weeks);
    const auto log = static_cast<double>(log_weeks);
    places_ = static_cast<double>(there) / log;
    arrivals_ = static_cast<double>(users.temporary.size()) / log *
                static_cast<double>(weeks + std::max<std::int64_t>(longest_ - 1, 0));
  }

  // How many make as many users as the log has.
  std::uint64_t usual() const {
    return static_cast<std::uint64_t>(std::llround(places_ + arrivals_));
  }

  Candidate candidate(std::uint64_t number) const {
    const double share = places_ / (places_ + arrivals_);
    const auto places_before = [&](std::uint64_t n) {
      return std::floor(static_cast<double>(n) * share + 0.5);
    };
    Draws draws(seed_, Stream::workload, number);
    Candidate result;
    result.is_long_term = places_before(number + 1) > places_before(number);
    if (result.is_long_term) {
      fill_place(result, draws);
    } else {
      const User& user = users_.temporary[draws.below(users_.temporary.size())];
      const auto choices = static_cast<std::uint64_t>(weeks_ + longest_ - 1);
      add(result, user, static_cast<std::int64_t>(draws.below(choices)) - (longest_ - 1));
    }
    return result;
  }

  // Does it belong to the new workload?
  bool has(const Appearance& appearance, const WorkloadJob& job) const {
    const std::int64_t week = week_of(job.submit) + appearance.later - first_week_;
    return 0 <= week && week < weeks_;
  }

 private:
  // The user begins in this week of the new workload.
  void add(Candidate& candidate, const User& user, std::int64_t week) const {
    const Appearance appearance{&user, first_week_ + week - user.first_week};
    bool is_there = false;
    for (const WorkloadJob* job : user.jobs) {
      if (!has(appearance, *job)) continue;
      candidate.work_node_s += job->nodes * to_seconds(job->runtime);
      is_there = true;
    }
    if (is_there) candidate.appearances.push_back(appearance);
  }

  void fill_place(Candidate& candidate, Draws& draws) const {
    // Who is met at any time: the longer one stays the more likely he is.
    std::int64_t all = 0;
    for (const User& user : users_.long_term) all += user.weeks;
    auto at = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(all)));
    std::size_t first = 0;
    while (at >= users_.long_term[first].weeks) at -= users_.long_term[first++].weeks;
    const User* user = &users_.long_term[first];
    for (std::int64_t week = -at; week < weeks_;) {
      add(candidate, *user, week);
      week += user->weeks;
      user = &users_.long_term[draws.below(users_.long_term.size())];
    }
  }

  const Users& users_;
  std::int64_t first_week_, weeks_, longest_ = 0;
  std::uint64_t seed_;
  double places_ = 0, arrivals_ = 0;
};

// Those who are there; with a load, until it is reached.
std::vector<Candidate> choose(const Resampler& resampler, std::optional<double> work_node_s) {
  std::vector<Candidate> chosen;
  if (!work_node_s) {
    for (std::uint64_t i = 0; i < resampler.usual(); ++i) chosen.push_back(resampler.candidate(i));
    return chosen;
  }
  // Enough for any load whose users are not all too large for it.
  constexpr std::uint64_t kInVain = 2000;
  double has = 0;
  std::uint64_t in_vain = 0;
  for (std::uint64_t i = 0; in_vain < kInVain; ++i) {
    if (std::abs(has / *work_node_s - 1) <= kLoadTolerance) break;
    Candidate candidate = resampler.candidate(i);
    // The last one may go beyond it, but not out of the tolerance.
    if (has + candidate.work_node_s > *work_node_s * (1 + kLoadTolerance) ||
        candidate.work_node_s <= 0) {
      ++in_vain;
      continue;
    }
    in_vain = 0;
    has += candidate.work_node_s;
    chosen.push_back(std::move(candidate));
  }
  return chosen;
}

std::size_t row_of(const Workload& log, const WorkloadJob& job) {
  return static_cast<std::size_t>(&job - log.jobs.data());
}

// What the jobs of one who appears wait for, as far as it is there: `copy_of` has the places of his
// jobs in the new workload, by their places in the log.
void copy_precedences(const Workload& log, const User& user,
                      const std::vector<std::uint32_t>& copy_of, Workload& made) {
  if (log.precedences.empty()) return;
  for (const WorkloadJob* original : user.jobs) {
    const std::size_t row = row_of(log, *original);
    if (copy_of[row] == kGone) continue;
    auto at = std::ranges::lower_bound(log.precedences, row, {}, &Precedence::job);
    for (; at != log.precedences.end() && at->job == row; ++at) {
      Precedence each = *at;
      if (copy_of[each.on] == kGone) {
        ++made.precedences_lost;
        continue;
      }
      each.job = copy_of[row];
      each.on = copy_of[each.on];
      made.precedences.push_back(each);
    }
  }
}

void sort_by_submission(Workload& workload) {
  std::vector<WorkloadJob>& jobs = workload.jobs;
  std::vector<std::uint32_t> was(jobs.size()), place(jobs.size());
  std::iota(was.begin(), was.end(), 0u);
  std::ranges::stable_sort(was, {}, [&](std::uint32_t i) { return jobs[i].submit; });
  std::vector<WorkloadJob> sorted;
  sorted.reserve(jobs.size());
  for (const std::uint32_t i : was) {
    place[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(jobs[i]);
  }
  jobs = std::move(sorted);
  renumber_precedences(workload, place);
}

std::int64_t checked_weeks(std::uint64_t weeks) {
  constexpr std::uint64_t kMost = 100'000;
  if (weeks > kMost) {
    throw InputError({.field = "--weeks"}, fmt::format("{} is more than {}", weeks, kMost),
                     "ask for fewer");
  }
  return static_cast<std::int64_t>(weeks);
}

// The first week in which there is a job begins then.
Time origin_of(const Workload& log) { return Time{week_of(log.jobs.front().submit) * kWeek}; }

}  // namespace

std::optional<std::int64_t> start_of_resampled(const Workload& log,
                                               std::optional<std::int64_t> unix_start_time) {
  if (log.jobs.empty() || !seconds_from(unix_start_time, 0)) return std::nullopt;
  return *unix_start_time + origin_of(log).time_since_epoch() / whole_seconds(1);
}

Resampled resample(const Workload& log, const Resampling& how, std::uint64_t seed) {
  if (how.load && (how.nodes == 0 || !(*how.load > 0) || !std::isfinite(*how.load))) {
    throw InputError({.field = "--load"}, "needs a number above 0, and a machine",
                     "give --nodes, or leave the load away");
  }
  const Users users = users_of(log, how.long_term_weeks);
  if (users.long_term.empty() && users.temporary.empty()) {
    throw InputError({.file = log.name}, "no job has a user (field 12)",
                     "take a log that names them; without users there is nothing to resample");
  }
  Resampled result;
  const std::int64_t first_week = week_of(log.jobs.front().submit);
  const std::int64_t log_weeks = week_of(log.jobs.back().submit) - first_week + 1;
  const std::int64_t weeks =
      checked_weeks(how.weeks == 0 ? static_cast<std::uint64_t>(log_weeks) : how.weeks);
  result.origin = origin_of(log);
  result.log_weeks = static_cast<std::uint64_t>(log_weeks);
  result.weeks = static_cast<std::uint64_t>(weeks);
  result.log_long_term = users.long_term.size();
  result.log_temporary = users.temporary.size();
  result.without_user = users.without_user;

  const auto capacity = [&](std::int64_t its_weeks) {
    return static_cast<double>(how.nodes) * static_cast<double>(its_weeks) * to_seconds(kWeek);
  };
  const Resampler resampler(users, first_week, log_weeks, weeks, seed);
  if (how.nodes > 0) {
    double log_work = 0;
    for (const WorkloadJob& job : log.jobs) log_work += job.nodes * to_seconds(job.runtime);
    result.log_load = log_work / capacity(log_weeks);
  }
  constexpr double kMostTimes = 1000;
  if (how.load && *how.load > kMostTimes * result.log_load) {
    throw InputError({.field = "--load"},
                     fmt::format("{} is more than {} times that of the log, {:.4g}", *how.load,
                                 kMostTimes, result.log_load),
                     "give a lower one, or the machine that the log is of (--nodes)");
  }
  std::optional<double> work_node_s;
  if (how.load) work_node_s = *how.load * capacity(weeks);
  const std::vector<Candidate> chosen = choose(resampler, work_node_s);

  result.workload.name = log.name;
  result.workload.accounts = log.accounts;
  result.workload.asked = log.asked;
  result.workload.where = log.where;
  std::vector<WorkloadJob>& jobs = result.workload.jobs;
  std::uint32_t user = 0;
  double has = 0;
  std::vector<std::uint32_t> copy_of(log.jobs.size(), kGone);  // of the user who appears
  for (const Candidate& candidate : chosen) {
    has += candidate.work_node_s;
    for (const Appearance& appearance : candidate.appearances) {
      ++user;
      ++(candidate.is_long_term ? result.long_term : result.temporary);
      for (const WorkloadJob* original : appearance.user->jobs) {
        if (!resampler.has(appearance, *original)) continue;
        copy_of[row_of(log, *original)] = static_cast<std::uint32_t>(jobs.size());
        WorkloadJob& job = jobs.emplace_back(*original);
        job.submit += appearance.later * kWeek - result.origin.time_since_epoch();
        job.user = user;
        if (job.adaptive == WorkloadJob::kRigid) continue;
        job.adaptive = static_cast<std::uint32_t>(result.workload.adaptive.size());
        result.workload.adaptive.push_back(log.adaptive[original->adaptive]);
      }
      copy_precedences(log, *appearance.user, copy_of, result.workload);
      for (const WorkloadJob* original : appearance.user->jobs) {
        copy_of[row_of(log, *original)] = kGone;
      }
    }
  }
  if (how.nodes > 0) result.load = has / capacity(weeks);
  if (how.load && std::abs(result.load / *how.load - 1) > kLoadTolerance) {
    throw InputError(
        {.field = "--load"},
        fmt::format("{} is out of reach with the users of this log, the nearest is {:.4g}",
                    *how.load, result.load),
        "give another load, more weeks, or another seed");
  }
  if (jobs.empty()) {
    throw InputError({.field = "--weeks"}, "nobody does anything in them",
                     "ask for more weeks, a higher load, or take another seed");
  }
  if (jobs.size() >= index(JobId::none)) {
    throw InputError({.field = "--weeks"}, "they have more than 2^32 - 2 jobs", "ask for fewer");
  }
  sort_by_submission(result.workload);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].name = i + 1;
  return result;
}

}  // namespace ductile
