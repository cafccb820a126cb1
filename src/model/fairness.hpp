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

/// Whose jobs are delayed.
struct Party {
  enum class Kind : std::uint8_t { user, group };
  Kind kind = Kind::user;
  std::uint32_t number = 0;
  bool operator==(const Party&) const = default;
};

constexpr std::array<std::string_view, 2> kPartyWords{"user", "group"};

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
  /// What a user's sets goes before everybody's; a group's holds besides.
  std::vector<Exception> exceptions;
  Duration interval = whole_seconds(21'600);  // what was delayed in one interval ...
  double decay = 0.4;                         // ... counts so much in the next one, 0 .. 1
  /// How many jobs that cannot start now are looked at; 0: as many as the policy reserves for.
  std::uint32_t depth = 0;
  bool own_jobs = false;  // do the delays of the requesting user's own jobs count?

  bool operator==(const Fairness&) const = default;
};

constexpr std::array<std::string_view, 4> kFairnessWords{"none", "single", "target", "both"};

/// "both,single=600,target=3600,user7.single=0,group3.permitted=no,interval=21600,decay=0.4,depth=5,
/// own=yes": the policy, then what is not as by default; times in seconds.
std::string to_text(const Fairness& fairness);
/// The other way round. Throws InputError, which names `place`.
Fairness parse_fairness(std::string_view text, const Place& place = {});

}  // namespace ductile
