// What users have used of the machine lately, for the queue orders `fairshare` and `multifactor`:
// node-seconds that fade by half in each half-life, as with Slurm's multifactor priority.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "scheduling/multifactor.hpp"

namespace ductile {

/// A user's part of the machine, in comparison with that of others.
struct UserShare {
  std::uint32_t user = 0;
  double share = 1;
  bool operator==(const UserShare&) const = default;
};

/// How use fades, and how it is weighed.
struct FairShare {
  Duration half_life = whole_seconds(7 * 24 * 3600);  // 0: nothing fades
  std::vector<UserShare> shares{};                    // by user; all others have 1

  double share_of(std::uint32_t user) const;
  bool operator==(const FairShare&) const = default;
};

/// "1001:4+1002:0.5": numbers of users, and their shares, above 0; or "none". Throws InputError,
/// which names `place`.
std::vector<UserShare> parse_shares(std::string_view text, const Place& place = {});
std::string to_text(const std::vector<UserShare>& shares);

/// Where a user stands at some moment: its use of the machine for its share, of which who has less
/// goes first; or its factor of fair share, 0 to 1, of which who has more does.
struct Standing {
  std::uint32_t user = 0;
  double value = 0;
};

/// The use of all users. What runs counts from moment to moment, and not when it ends.
class Uses {
 public:
  /// From now on the user holds so many nodes more, or fewer. `now` never goes back.
  void change(std::uint32_t user, std::int64_t nodes, Time now, Duration half_life);
  /// A user's row as it was: what it had used up to `at`, if it has held nothing since.
  void restore(std::uint32_t user, double node_s, Time at);
  /// The user has held so many nodes more since the time of its row.
  void hold(std::uint32_t user, std::int64_t nodes);
  /// Calls `visit(user, node_s, at)` for each row, by user.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Use& use : users_) visit(use.user, use.node_s, use.at);
  }
  /// What the user holds now.
  std::int64_t nodes_of(std::uint32_t user) const;
  /// By user; who is not there has used nothing.
  std::vector<Standing> standings(Time now, const FairShare& rules) const;
  /// The factors of fair share, by user; of who is not there it is 1. All users are those who are
  /// there, and whom the rules give a share.
  std::vector<Standing> factors(Time now, const FairShare& rules, const Multifactor& how) const;

 private:
  struct Use {
    std::uint32_t user = 0;
    std::int64_t nodes = 0;  // held since `at`
    double node_s = 0;       // faded to `at`
    Time at{};

    double until(Time now, Duration half_life) const;
  };
  Use& use_of(std::uint32_t user, Time at);

  std::vector<Use> users_{};  // by user
};

}  // namespace ductile
