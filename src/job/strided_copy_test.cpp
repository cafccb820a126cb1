#include "job/strided_copy.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

/// Bytes of which no two neighbours are the same, in memory that ends with them.
std::vector<char> bytes(std::size_t count, unsigned seed) {
  std::vector<char> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<char>((i + seed) * 2654435761U >> 7);
  return all;
}

TEST(StridedCopy, GathersAndScattersWhatOneByOneWould) {
  for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 32, 33, 64, 65, 200}) {
    for (const std::size_t distance : {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17}) {
      for (const std::size_t gap : {0, 1}) {
        const std::size_t step = distance * size + gap;
        for (const std::size_t count : {0, 1, 2, 15, 16, 17, 33, 100}) {
          const std::size_t span = count == 0 ? 0 : (count - 1) * step + size;
          const std::vector<char> spread = bytes(span, 1);
          const std::vector<char> row = bytes(count * size, 2);
          std::vector<char> expected_row(row.size());
          std::vector<char> expected_spread = spread;
          for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(expected_row.data() + i * size, spread.data() + i * step, size);
            std::memcpy(expected_spread.data() + i * step, row.data() + i * size, size);
          }
          std::vector<char> gathered(row.size());
          gather(gathered.data(), spread.data(), size, step, count);
          EXPECT_EQ(gathered, expected_row) << size << " of " << step << ", " << count;
          std::vector<char> scattered = spread;
          scatter(scattered.data(), row.data(), size, step, count);
          EXPECT_EQ(scattered, expected_spread) << size << " of " << step << ", " << count;
        }
      }
    }
  }
}

// Two who write what lies between each other's pieces, as the processes of a job do in a file.
TEST(StridedCopy, WritesAmongOthersWhatIsItsOwn) {
  for (const std::size_t size : {1, 2, 3, 4, 8}) {
    constexpr std::size_t kCount = 200'000;
    std::vector<char> shared(2 * kCount * size);
    const std::array<std::vector<char>, 2> rows = {bytes(kCount * size, 1),
                                                   bytes(kCount * size, 2)};
    std::array<std::thread, 2> writers;
    std::atomic<int> ready = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      writers[k] = std::thread([&, k] {
        ++ready;
        while (ready < 2) std::this_thread::yield();
        scatter_among_others(shared.data() + k * size, rows[k].data(), size, 2 * size, kCount);
      });
    }
    for (std::thread& writer : writers) writer.join();
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<char> read(kCount * size);
      gather(read.data(), shared.data() + k * size, size, 2 * size, kCount);
      EXPECT_TRUE(read == rows[k]) << size << " bytes of writer " << k;
    }
  }
}

TEST(StridedCopy, TakesOnePlaceAgainAndAgain) {
  for (const std::size_t size : {1, 2, 4, 8}) {
    const std::vector<char> piece = bytes(size, 1);
    const std::vector<char> row = bytes(20 * size, 2);
    std::vector<char> gathered(row.size());
    gather(gathered.data(), piece.data(), size, 0, 20);
    std::vector<char> expected;
    for (int i = 0; i < 20; ++i) expected.insert(expected.end(), piece.begin(), piece.end());
    EXPECT_EQ(gathered, expected) << size;
    std::vector<char> scattered(size);
    scatter(scattered.data(), row.data(), size, 0, 20);
    EXPECT_EQ(scattered,
              std::vector<char>(row.end() - static_cast<std::ptrdiff_t>(size), row.end()))
        << size;
  }
}

}  // namespace
}  // namespace ductile
