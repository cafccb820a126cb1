#include "job/program_requests.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.hpp"

namespace ductile {
namespace {

/// So many at once, then one every three seconds.
constexpr int kAsksAtOnce = 10;
constexpr std::chrono::seconds kAskPeriod{3};

}  // namespace

ProgramRequests::ProgramRequests(const RunSettings& settings, ProcessTable& table, Peers& peers,
                                 ResizeDriver& resizes, JobOutput& output, Report report)
    : settings_(settings),
      table_(table),
      peers_(peers),
      resizes_(resizes),
      output_(output),
      report_(std::move(report)),
      requests_(kAsksAtOnce, kAskPeriod),
      sizes_told_(kAsksAtOnce, kAskPeriod) {}

void ProgramRequests::on_sizes(const Peer& peer, const wire::Sizes& sizes) {
  if (peer.rank != 0 || sizes.min == 0 || sizes.min > sizes.max) {
    throw wire::ProtocolError("sizes that make no sense");
  }
  Generation* const generation = table_.find(*peer.generation);
  if (generation == nullptr) return;
  const ProgramSizes before = generation->sizes;
  try {
    generation->sizes = {.range = {sizes.min, sizes.max},
                         .constraint = parse_constraint(sizes.constraint)};
  } catch (const InputError& error) {
    throw wire::ProtocolError(error.what());
  }
  if (generation->sizes == before) return;
  if (!resizes_.is_new(*generation) && generation != &table_.current()) return;
  untold_sizes_of_ = generation->number;
  tell_sizes(Clock::now());
  // What was ordered before the program had said it.
  const bool is_resizing = resizes_.is_under_way();
  const std::uint32_t ordered = is_resizing ? resizes_.new_size() : generation->size;
  if (generation->sizes.allow(ordered)) return;
  const std::string why = generation->sizes.objection(ordered);
  if (is_resizing) return resizes_.give_up(why);
  spdlog::warn("{}; it has {} all the same", why, ordered);
}

void ProgramRequests::tell_sizes(Clock::time_point now) {
  if (!untold_sizes_of_) return;
  const Generation* const speaker = table_.find(*untold_sizes_of_);
  if (speaker == nullptr || (!resizes_.is_new(*speaker) && speaker != &table_.current())) {
    return untold_sizes_of_.reset();
  }
  if (!sizes_told_.take(now)) return;
  untold_sizes_of_.reset();
  report_("sizes", {{"generation", speaker->number},
                    {"size", speaker->size},
                    {"min", speaker->sizes.range.min},
                    {"max", speaker->sizes.range.max},
                    {"constraint", to_text(speaker->sizes.constraint)}});
}

void ProgramRequests::on_request(const Peer& peer, const wire::Request& request) {
  if (peer.rank != 0 || request.at_least == 0 || request.at_least > request.preferred ||
      request.preferred > wire::kMaxProcesses) {
    throw wire::ProtocolError("a request that makes no sense");
  }
  const Generation& current = table_.current();
  if (*peer.generation != current.number) return;  // it has been resized meanwhile
  if (open_ && open_->at_least == request.at_least && open_->preferred == request.preferred) {
    return;  // asked again, it is the same request
  }
  if (!requests_.take(Clock::now())) return refuse(peer);
  open_ = request;
  report_("requested", {{"generation", current.number},
                        {"size", current.size},
                        {"at_least", request.at_least},
                        {"preferred", request.preferred}});
}

/// It asks too often: this one is not heeded, and nobody else hears of it.
void ProgramRequests::refuse(const Peer& peer) {
  if (refused_++ == 0) {
    output_.say(
        fmt::format("the program asks for another number of processes too often; more than {} "
                    "requests at once, and then one every three seconds, are denied",
                    kAsksAtOnce));
  }
  // To one that is open an answer will come.
  const Generation& current = table_.current();
  if (!open_) peers_.send_to(current, peer.rank, {current.number, wire::Offer{.size = 0}});
}

void ProgramRequests::consider(bool has_ended) {
  if (!open_ || resizes_.is_busy() || resizes_.is_ordered() || has_ended ||
      settings_.evolving == Evolving::ask) {
    return;
  }
  const wire::Request request = *std::exchange(open_, std::nullopt);
  const Generation& current = table_.current();
  const std::uint32_t best =
      current.sizes.at_most(std::min({request.preferred, settings_.max, resizes_.slots()}));
  if (settings_.evolving == Evolving::deny || resizes_.objection({.size = best})) return offer(0);
  if (best < request.at_least) return offer(best > current.size ? best : 0);
  resizes_.order({.size = best, .is_requested = true});
}

void ProgramRequests::offer(std::uint32_t size) {
  const Generation& current = table_.current();
  report_("offered", {{"generation", current.number}, {"size", current.size}, {"offer", size}});
  peers_.send_to(current, 0, {current.number, wire::Offer{.size = size}});
}

}  // namespace ductile
