// Logs from anywhere: they must be replayed, or refused with words. Half of the inputs get a valid end
// of file, so that the fuzzer comes past the checksum to the records and into the core.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "scheduling/invariants.hpp"
#include "simulation/recording.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && text[0] == 'd') text = ductile::sealed_log(text);
  std::istringstream in(text);
  try {
    ductile::replay(in, "log");
  } catch (const ductile::InputError&) {
    // refused
  } catch (const ductile::RunError&) {
    // other decisions than recorded
  }
  return 0;
}
