// What a process of a job may send to its manager, or an old process to a new one: any bytes, in
// any pieces. What is read is written and read again as the same.
//
// Readers: src/job/protocol.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "job/protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ductile::wire;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  MessageReader reader;
  // The first byte is the size of the pieces.
  const std::size_t piece = size == 0 ? 1 : std::size_t{data[0]} + 1;
  try {
    for (std::size_t at = 1; at < size; at += piece) {
      reader.feed(bytes.substr(at, piece));
      while (const auto message = reader.next()) {
        const std::string written = encode(*message);
        MessageReader again;
        again.feed(written);
        const auto read = again.next();
        if (!read || encode(*read) != written || again.has_part()) std::abort();
      }
    }
  } catch (const ProtocolError&) {
  }
  return 0;
}
