// Logs from anywhere: they must be replayed, or refused with words; whatever they say, the core's
// invariants hold. And each record that can be read is written and read again as the same.
//
// Inputs that begin with 'd' get a valid end of file, so that the fuzzer comes past the checksum to
// the records and into the core; those that begin with 'f' are read from a file, without the 'f'.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.hpp"
#include "scheduling/record.hpp"
#include "simulation/recording.hpp"
#include "support/random_policy.hpp"

namespace {

using ductile::InputError;
using ductile::RecordError;
using ductile::RunError;
using ductile::testing::test_policy;

// Not assert: it holds in every build.
void require(bool condition) {
  if (!condition) std::abort();
}

template <class Read>
void check_round_trip(std::string_view text, Read read) {
  std::string written;
  try {
    written = to_record(read(text));
  } catch (const RecordError&) {
    return;  // no record
  } catch (const InputError&) {
    return;  // no such policy
  }
  require(to_record(read(written)) == written);
}

// The text of an event or a pen call, as in a line of a log.
void check_line(std::string_view line) {
  if (line.starts_with("P ")) {
    check_round_trip(line.substr(2), ductile::pen_call_from_record);
  } else if (line.starts_with("E ")) {
    for (int skipped = 0; skipped < 3; ++skipped) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string_view::npos) return;
      line.remove_prefix(blank + 1);
    }
    check_round_trip(
        line, [](std::string_view text) { return ductile::event_from_record(text, test_policy); });
  }
}

void replay_as_file(std::string_view bytes) {
  const int descriptor = memfd_create("fuzz", 0);
  require(write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  try {
    ductile::replay_file("/proc/self/fd/" + std::to_string(descriptor));
  } catch (const InputError&) {
  } catch (const RunError&) {
  }
  close(descriptor);
  try {
    ductile::replay_file("no/such/file");
    std::abort();
  } catch (const InputError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && text[0] == 'f') {
    replay_as_file(text.substr(1));
    return 0;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    check_line(line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  if (size > 0 && text[0] == 'd') text = ductile::sealed_log(text);
  std::istringstream in(text);
  try {
    ductile::replay(in, "log", test_policy);
  } catch (const InputError&) {
    // refused
  } catch (const RunError&) {
    // other decisions than recorded
  }
  return 0;
}
