// Dynamic fairness: how much the grants of evolving requests may delay waiting jobs (Prabhakaran,
// Iqbal, Rinke, Windisch and Wolf, ICPP 2014, used in paper 001). The papers at hand name the idea
// and not the parameters: these are ours, after those of the Maui scheduler.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"

namespace ductile {

struct JobSpec;

/// Whose jobs are delayed, or who delays them.
struct Party {
  enum class Kind : std::uint8_t { user, group, account };
  Kind kind = Kind::user;
  std::uint32_t number = 0;
  bool operator==(const Party&) const = default;
};

constexpr std::array<std::string_view, 3> kPartyWords{"user", "group", "account"};

/// The user, the group and the account of a job, in this order. Account 0 is none.
std::array<Party, kPartyWords.size()> parties_of(const JobSpec& job);

/// What is not set limits nothing.
struct DelayLimits {
  std::optional<Duration> single;  // of one job, by all grants together
  std::optional<Duration> target;  // of all its jobs together, faded; see `Fairness::interval`
  bool permitted = true;           // false: none of its jobs is ever delayed

  bool operator==(const DelayLimits&) const = default;
};

/// The rules of one run.
struct Fairness {
  /// `none`: requests are granted whenever there are nodes, and nobody asks whom that delays.
  enum class Policy : std::uint8_t { none, single, target, both };

  struct Exception {
    Party party;
    DelayLimits limits;
    bool operator==(const Exception&) const = default;
  };

  Policy policy = Policy::none;
  DelayLimits everybody;  // each user by itself
  /// What a user's sets goes before everybody's; a group's and an account's hold besides.
  std::vector<Exception> exceptions;
  /// The accounts among them by name: the number of each is its place here plus 1.
  std::vector<std::string> accounts;
  Duration interval = whole_seconds(21'600);  // what was delayed in one interval ...
  double decay = 0.4;                         // ... counts so much in the next one, 0 .. 1
  /// How many jobs that cannot start now are looked at; 0: as many as the policy reserves for.
  std::uint32_t depth = 0;
  bool own_jobs = false;  // do the delays of the requesting user's own jobs count?

  bool operator==(const Fairness&) const = default;
};

constexpr std::array<std::string_view, 4> kFairnessWords{"none", "single", "target", "both"};

/// Numbers for the names of accounts: those of the rules have the numbers they have there, others
/// get the next one when they are first asked for.
class Accounts {
 public:
  explicit Accounts(const Fairness& rules) : names_(rules.accounts) {}

  /// 0 for no name.
  std::uint32_t number(std::string_view name);
  /// The name of a number that was given; empty for 0.
  const std::string& name(std::uint32_t number) const;
  /// In the order of their numbers.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// 1 to 64 letters, digits, '_', '-' and '.', so that it can stand in all files.
bool is_account_name(std::string_view name);
/// The name, if it is one. Else throws InputError, which names `place`.
std::string account_name(std::string_view name, const Place& place = {});

/// "both,single=600,target=3600,user7.single=0,group3.permitted=no,account:physics.target=600,
/// interval=21600,decay=0.4,depth=5,own=yes": the policy, then what is not as by default; times in
/// seconds.
std::string to_text(const Fairness& fairness);
/// The other way round. Throws InputError, which names `place`.
Fairness parse_fairness(std::string_view text, const Place& place = {});

}  // namespace ductile
