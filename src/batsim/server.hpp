// One of our policies as a scheduler for Batsim: docs/guide/batsim.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "batsim/protocol.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"

namespace ductile {

/// Answers Batsim, message by message, in one simulation after the other.
class BatsimServer {
 public:
  /// Throws InputError if the policy cannot decide there. `from` is what errors call Batsim.
  BatsimServer(std::shared_ptr<const Policy> policy, std::string from);

  /// The answer to a message. Throws InputError for one that is none.
  std::string answer(std::string_view text);
  /// Was the last one about the end of a simulation?
  bool is_over() const { return !core_.has_value(); }
  std::uint64_t jobs() const { return jobs_; }  // so far, of all simulations

 private:
  void begin(const NodeSet& machines);
  void hear(const BatsimNews& news, Time now);
  void close(const BatsimMessage& message, BatsimWriter& answer);
  NodeSet nodes_of(const NodeSet& machines) const;
  NodeSet machines_of(const NodeSet& nodes) const;
  void need_beginning() const;

  std::shared_ptr<const Policy> policy_;
  std::string from_;
  std::optional<Core> core_;
  std::vector<std::uint32_t> machines_;  // Batsim's number of each node
  std::vector<std::string> names_;       // of jobs, by their number here
  std::unordered_map<std::string, JobId> ids_;
  std::set<Time> calls_;  // that were asked for
  std::uint64_t jobs_ = 0;
};

}  // namespace ductile
