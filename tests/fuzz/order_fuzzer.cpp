// What may come to the control socket of a job, and to that of the controller: any bytes, in any
// pieces. Lines come whole, or the connection is closed; every line is an order or is told why not,
// and what is answered is one line again.
//
// Readers: src/job/line_socket.cpp src/job/order.cpp src/job/json_line.hpp
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <unistd.h>

#include "job/line_socket.hpp"
#include "job/order.hpp"
#include "job/protocol.hpp"

namespace {

constexpr std::size_t kLongest = 4096;

void answer(ductile::LineSocket& socket, const std::string& line) {
  using nlohmann::json;
  if (line.find('\n') != std::string::npos) std::abort();
  const auto read = ductile::parse_order(line);
  json reply;
  if (const auto* order = std::get_if<ductile::Order>(&read)) {
    if (order->size > ductile::wire::kMaxProcesses) std::abort();
    reply = {{"ok", true}, {"id", order->id}, {"cpus", to_string(order->cpus)}};
  } else {
    const auto& bad = std::get<ductile::BadOrder>(read);
    if (bad.why.empty()) std::abort();
    reply = {{"ok", false}, {"error", bad.why}, {"id", bad.id}};
  }
  const std::string text = reply.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.find('\n') != std::string::npos) std::abort();
  socket.send(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) return 0;
  const ductile::Descriptor client(ends[1]);
  ductile::LineSocket socket(ductile::Descriptor(ends[0]), kLongest, std::size_t{1} << 16);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // The first byte is the size of the pieces.
  const std::size_t piece = std::size_t{16} * data[0] + 1;
  for (std::size_t at = 1; at < size && !socket.is_closed(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    if (write(client.get(), part.data(), part.size()) < 0) break;
    socket.work();
    while (const auto line = socket.next()) answer(socket, *line);
  }
  return 0;
}
