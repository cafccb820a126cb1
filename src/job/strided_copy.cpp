#include "job/strided_copy.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ductile {
namespace {

/// `Size` bytes, and if the piece is longer its last ones, which may be some of them once more: two
/// moves for all lengths up to twice as many.
template <std::size_t Size>
void copy_ends(char* to, const char* from, std::size_t size) {
  std::array<char, Size> begin;
  std::array<char, Size> end;
  std::memcpy(begin.data(), from, Size);
  std::memcpy(end.data(), from + size - Size, Size);
  std::memcpy(to, begin.data(), Size);
  std::memcpy(to + size - Size, end.data(), Size);
}

/// Calls `move(to, from)` for each piece.
template <class Move>
void each(char* to, std::size_t to_step, const char* from, std::size_t from_step, std::size_t count,
          const Move& move) {
  for (std::size_t i = 0; i < count; ++i) move(to + i * to_step, from + i * from_step);
}

template <std::size_t Size>
void copy_fixed(char* to, std::size_t to_step, const char* from, std::size_t from_step,
                std::size_t count) {
  each(to, to_step, from, from_step, count,
       [](char* one, const char* other) { std::memcpy(one, other, Size); });
}

template <std::size_t Size>
void copy_up_to_twice(char* to, std::size_t to_step, const char* from, std::size_t from_step,
                      std::size_t count, std::size_t size) {
  each(to, to_step, from, from_step, count,
       [size](char* one, const char* other) { copy_ends<Size>(one, other, size); });
}

/// With one or two moves for each piece, as far as its size allows.
void copy_pieces(char* to, std::size_t to_step, const char* from, std::size_t from_step,
                 std::size_t size, std::size_t count) {
  switch (size) {
    case 1:
      return copy_fixed<1>(to, to_step, from, from_step, count);
    case 2:
      return copy_fixed<2>(to, to_step, from, from_step, count);
    case 4:
      return copy_fixed<4>(to, to_step, from, from_step, count);
    case 8:
      return copy_fixed<8>(to, to_step, from, from_step, count);
    case 16:
      return copy_fixed<16>(to, to_step, from, from_step, count);
    default:
      break;
  }
  if (size < 4) return copy_up_to_twice<2>(to, to_step, from, from_step, count, size);
  if (size < 8) return copy_up_to_twice<4>(to, to_step, from, from_step, count, size);
  if (size < 16) return copy_up_to_twice<8>(to, to_step, from, from_step, count, size);
  if (size <= 32) return copy_up_to_twice<16>(to, to_step, from, from_step, count, size);
  if (size <= 64) return copy_up_to_twice<32>(to, to_step, from, from_step, count, size);
  each(to, to_step, from, from_step, count,
       [size](char* one, const char* other) { std::memcpy(one, other, size); });
}

#if defined(__x86_64__)

constexpr std::size_t kVector = 16;
constexpr std::size_t kPage = 4096;

/// Pieces so near to each other that a vector has several: `kVector` bytes of the row are in as
/// many vectors beside each other as pieces fit into the distance.
bool is_dense(std::size_t size, std::size_t distance) {
  return (size == 1 || size == 2 || size == 4) && size <= distance && distance % size == 0 &&
         distance / size < kVector / size && __builtin_cpu_supports("ssse3") != 0;
}

/// For each of these vectors, which bytes of it go where in the row, or come from where.
struct Shuffles {
  std::array<std::array<std::int8_t, kVector>, kVector> gather{};
  std::array<std::array<std::int8_t, kVector>, kVector> scatter{};
  std::array<std::array<std::int8_t, kVector>, kVector> kept{};  // between the pieces: all bits

  Shuffles(std::size_t size, std::size_t distance) {
    for (auto* const all : {&gather, &scatter, &kept}) {
      for (auto& one : *all) one.fill(-1);  // as a place: none
    }
    for (std::size_t at = 0; at < kVector; ++at) {
      const std::size_t place = at / size * distance + at % size;
      const std::size_t vector = place / kVector;
      gather[vector][at] = static_cast<std::int8_t>(place % kVector);
      scatter[vector][place % kVector] = static_cast<std::int8_t>(at);
      kept[vector][place % kVector] = 0;
    }
  }
};

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

/// So many vectors of the row have all their bytes among the pieces.
std::size_t whole_vectors(std::size_t size, std::size_t distance, std::size_t count) {
  const std::size_t span = (count - 1) * distance + size;
  return span / (kVector * (distance / size));
}

__attribute__((target("ssse3"))) std::size_t gather_dense(char* row, const char* from,
                                                          std::size_t size, std::size_t distance,
                                                          std::size_t count) {
  const Shuffles shuffles(size, distance);
  const std::size_t width = distance / size;
  const std::size_t vectors = whole_vectors(size, distance, count);
  for (std::size_t i = 0; i < vectors; ++i) {
    __m128i sum = _mm_setzero_si128();
    for (std::size_t k = 0; k < width; ++k) {
      const __m128i part = load(from + (i * width + k) * kVector);
      sum = _mm_or_si128(sum, _mm_shuffle_epi8(part, load(shuffles.gather[k].data())));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(row + i * kVector), sum);
  }
  return vectors * (kVector / size);
}

__attribute__((target("ssse3"))) std::size_t scatter_dense(char* to, const char* row,
                                                           std::size_t size, std::size_t distance,
                                                           std::size_t count) {
  const Shuffles shuffles(size, distance);
  const std::size_t width = distance / size;
  const std::size_t vectors = whole_vectors(size, distance, count);
  // A page that is read before it is written costs the system twice.
  const std::size_t apart = kPage / distance;
  for (std::size_t i = 0; i < count; i += apart) {
    std::memcpy(to + i * distance, row + i * size, size);
  }
  for (std::size_t i = 0; i < vectors; ++i) {
    const __m128i bytes = load(row + i * kVector);
    for (std::size_t k = 0; k < width; ++k) {
      auto* const place = reinterpret_cast<__m128i*>(to + (i * width + k) * kVector);
      const __m128i kept = _mm_and_si128(load(place), load(shuffles.kept[k].data()));
      const __m128i part = _mm_shuffle_epi8(bytes, load(shuffles.scatter[k].data()));
      _mm_storeu_si128(place, _mm_or_si128(kept, part));
    }
  }
  return vectors * (kVector / size);
}

#endif

}  // namespace

void gather(char* row, const char* from, std::size_t size, std::size_t distance,
            std::size_t count) {
  std::size_t done = 0;
#if defined(__x86_64__)
  if (count > 0 && is_dense(size, distance)) done = gather_dense(row, from, size, distance, count);
#endif
  copy_pieces(row + done * size, size, from + done * distance, distance, size, count - done);
}

void scatter(char* to, const char* row, std::size_t size, std::size_t distance, std::size_t count) {
  std::size_t done = 0;
#if defined(__x86_64__)
  if (count > 0 && is_dense(size, distance)) done = scatter_dense(to, row, size, distance, count);
#endif
  scatter_among_others(to + done * distance, row + done * size, size, distance, count - done);
}

void scatter_among_others(char* to, const char* row, std::size_t size, std::size_t distance,
                          std::size_t count) {
  copy_pieces(to, distance, row, size, size, count);
}

}  // namespace ductile
