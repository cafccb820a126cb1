// Any bytes, read as what a scheduler for Batsim answers, and as what Batsim says: it is one, or an
// InputError. A policy answers whatever Batsim says, and can read its own answer.
//
// Readers: src/batsim/protocol.cpp, src/batsim/server.cpp
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "batsim/protocol.hpp"
#include "batsim/server.hpp"
#include "policies/registry.hpp"

namespace {

using namespace ductile;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

constexpr Nodes kNodes = 8;

void check(const BatsimReply& reply, Time asked) {
  Time last = asked;
  for (const BatsimOrder& order : reply.orders) {
    require(order.at >= last && order.at <= reply.now);
    last = order.at;
    if (order.kind != BatsimOrder::Kind::execute) continue;
    require(order.jobs.size() == 1 && !order.nodes.empty());
    require(order.nodes.parts.back().last < kNodes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Time asked{whole_seconds(data[0])};
  try {
    check(parse_batsim_reply(bytes, "fuzz", asked, kNodes), asked);
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  // Messages of a simulation, one a line.
  BatsimServer server(make_policy("easy"), "fuzz");
  BatsimWriter writer;
  writer.add(Time{}, "SIMULATION_BEGINS",
             R"({"compute_resources":[{"id":0},{"id":1},{"id":2},{"id":3}]})");
  (void)server.answer(writer.take(Time{}));
  std::string_view rest = bytes;
  try {
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const BatsimMessage message = parse_batsim_message(line, "fuzz");
      (void)parse_batsim_reply(server.answer(line), "fuzz", message.now, kNodes);
    }
  } catch (const InputError&) {  // NOLINT(bugprone-empty-catch)
  }
  return 0;
}
