// The registered data, and its way from the old processes to the new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "job/layout.hpp"
#include "job/socket.hpp"
#include "link.hpp"

namespace ductile {

/// One call of ductile_add_...().
struct Registered {
  std::string name{};
  Layout layout{};
  std::size_t element_bytes = 0;
  /// Elements before the first own one.
  std::int64_t halo = 0;
  /// Where the program keeps the pointer to the data; or
  void** place = nullptr;
  /// the data itself.
  void* data = nullptr;
  /// Of data that the program packs itself: the two functions of ductile_add_packed().
  int (*pack)(void* user, int to, int size, const void** data, std::size_t* bytes) = nullptr;
  int (*unpack)(void* user, int from, int size, const void* data, std::size_t bytes) = nullptr;
  void* user = nullptr;

  char* own() const {
    return static_cast<char*>(place != nullptr ? *place : data) +
           static_cast<std::size_t>(halo) * element_bytes;
  }
};

/// How a hand-over ended.
enum class Verdict { committed, aborted };

/// Sends this process's data to the new generation `resize` at `addresses`, and waits for what the
/// manager decides.
Verdict hand_over(Link& link, std::uint32_t resize, const std::vector<std::string>& addresses,
                  const std::vector<Registered>& data);

/// Takes this process's data out of a file into which such processes have handed theirs over,
/// however many they were. Throws what is wrong.
void take_from_file(const std::string& path, const std::vector<Registered>& data, Seat me);

/// Takes this new process's data, and waits for what the manager decides.
Verdict take_over(Link& link, const std::vector<Registered>& data);

}  // namespace ductile
