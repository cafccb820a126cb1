// What a program says of its size: which numbers of processes it can have, and which it would like
// now. A request has exactly one answer: a resize, or an offer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "job/allowance.hpp"
#include "job/job_output.hpp"
#include "job/peers.hpp"
#include "job/process_table.hpp"
#include "job/protocol.hpp"
#include "job/resize_driver.hpp"
#include "job/run_settings.hpp"

namespace ductile {

class ProgramRequests {
 public:
  using Clock = Resize::Clock;
  using Json = nlohmann::ordered_json;
  /// Something happened: "requested", "offered", "sizes".
  using Report = std::function<void(std::string_view what, const Json& details)>;

  ProgramRequests(const RunSettings& settings, ProcessTable& table, Peers& peers,
                  ResizeDriver& resizes, JobOutput& output, Report report);

  /// Of rank 0; ProtocolError if they make no sense.
  void on_sizes(const Peer& peer, const wire::Sizes& sizes);
  void on_request(const Peer& peer, const wire::Request& request);
  /// Tells the last sizes that were said: if the program says others too often, they come when it
  /// may again.
  void tell_sizes(Clock::time_point now);

  /// The one that has no answer yet.
  const std::optional<wire::Request>& open() const { return open_; }
  /// Answers it, if nobody else is to do it and the job goes on.
  void consider(bool has_ended);
  /// It is answered, or its program is another one now.
  void close() { open_.reset(); }
  /// The answer: so many can be had, outside of what was asked for; 0: none.
  void offer(std::uint32_t size);
  /// Those that came too often, and were denied.
  std::uint64_t refused() const { return refused_; }

 private:
  void refuse(const Peer& peer);

  const RunSettings& settings_;
  ProcessTable& table_;
  Peers& peers_;
  ResizeDriver& resizes_;
  JobOutput& output_;
  Report report_;
  std::optional<wire::Request> open_{};
  Allowance requests_, sizes_told_;
  std::optional<std::uint32_t> untold_sizes_of_{};  // a generation that has said others since
  std::uint64_t refused_ = 0;
};

}  // namespace ductile
