// What ElastiSim and its schedulers say to each other: JSON texts.
// docs/formats/elastisim-protocol.md says what of it there is here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"

namespace ductile {

/// Why a scheduler is asked; the numbers are those of the protocol.
enum class ElastisimCall : std::uint8_t {
  periodic = 0,
  job_submit = 1,
  job_completed = 2,
  job_killed = 3,
  scheduling_point = 4,
  evolving_request = 5,
  reconfiguration = 6,
};

/// What it wants of a job that it has changed: all nodes that the job is to have, in its order; or
/// the job's end.
struct ElastisimOrder {
  std::uint32_t job = 0;
  bool kill = false;
  std::vector<std::uint32_t> nodes{};
  std::optional<std::uint32_t> gpus{};  // of each node
  bool operator==(const ElastisimOrder&) const = default;
};

/// Reads an answer about the first so many jobs, on a machine of so many nodes. Throws InputError,
/// which names `from` and the place in the text, for all that is no answer, and for what cannot be
/// expressed here.
std::vector<ElastisimOrder> parse_elastisim_reply(std::string_view text, const std::string& from,
                                                  std::uint32_t jobs, Nodes nodes);

/// Says that the run is over; it is not answered.
std::string elastisim_farewell();

/// What every question begins with, up to the first thing that is told.
std::string elastisim_question(std::string_view time_s, ElastisimCall call);

}  // namespace ductile
