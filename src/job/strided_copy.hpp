// Copies many small pieces that lie at equal distances.
#pragma once

#include <cstddef>

namespace ductile {

/// `count` pieces of `size` bytes, the first at `from` and each `distance` bytes behind the one
/// before, into one row. `size` is at least 1.
void gather(char* row, const char* from, std::size_t size, std::size_t distance, std::size_t count);

/// The other way round; where pieces overlap the last one stays. Bytes between the pieces stay as
/// they are, but may be written: nobody else may change them meanwhile.
void scatter(char* to, const char* row, std::size_t size, std::size_t distance, std::size_t count);

/// The same, writing the pieces alone: what lies between them may be written by others meanwhile.
void scatter_among_others(char* to, const char* row, std::size_t size, std::size_t distance,
                          std::size_t count);

}  // namespace ductile
