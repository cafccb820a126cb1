#include "simulation/checksum.hpp"

#include <fmt/format.h>
#include <lzma.h>

namespace ductile {

Checksum& Checksum::add(const void* bytes, std::size_t size) {
  value_ = lzma_crc64(static_cast<const std::uint8_t*>(bytes), size, value_);
  return *this;
}

std::string Checksum::text() const { return fmt::format("{:016x}", value_); }

}  // namespace ductile
