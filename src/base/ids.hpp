// Strong types for counts and identities, so that they cannot be mixed up.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ductile {

/// A count of nodes.
using Nodes = std::uint32_t;

/// A job inside one core: dense, in order of submission, never reused. People and files know jobs
/// by their name (`JobSpec::name`).
enum class JobId : std::uint32_t { none = ~0u };
/// The number of a decision, from 1; its answer quotes it. `none` in an answer: nobody asked.
enum class DecisionId : std::uint64_t { none = 0 };
/// A claim, numbered from 0 in order of creation, never reused.
enum class ClaimId : std::uint32_t { none = ~0u };
/// An evolving request, numbered by the world; unique in a run.
enum class RequestId : std::uint32_t { none = ~0u };

/// Jobs that may run at the same places (`Where`) are of one lane. Lane 0: where the platform puts
/// those that ask for nothing.
enum class LaneId : std::uint16_t {};
/// Lanes whose jobs may use the same cells in the same partitions have one reach, whatever they ask
/// for. That of lane 0 is 0.
enum class ReachId : std::uint16_t {};

/// A booking, numbered from 0 in order of creation, never reused.
enum class BookingId : std::uint32_t { none = ~0u };

/// The number behind a strong id.
template <class Id>
requires std::is_enum_v<Id>
constexpr auto index(Id id) { return static_cast<std::underlying_type_t<Id>>(id); }

}  // namespace ductile
