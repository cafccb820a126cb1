#include "workload/compressed_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/packing.hpp"

namespace ductile {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string read_all(CompressedFile file, std::size_t at_a_time = 1000) {
  std::string text;
  std::vector<char> part(at_a_time);
  while (const std::size_t size = file.read(part.data(), part.size())) {
    text.append(part.data(), size);
  }
  EXPECT_EQ(file.read(part.data(), part.size()), 0u) << "the end stays the end";
  EXPECT_EQ(file.consumed(), file.total());
  return text;
}

std::string unpacked(std::string_view bytes, std::size_t at_a_time = 1000) {
  return read_all(CompressedFile::in_memory(bytes, "log"), at_a_time);
}

// Text that is neither all alike nor incompressible.
std::string sample(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    text += std::to_string(i) + " " + std::to_string(i * 7919 % 1000) + "\n";
  }
  return text;
}

struct Packing {
  const char* name;
  std::size_t magic;  // bytes it takes to know the format; 0: it has none
  std::string (*pack)(std::string_view);
};

class PackedFile : public ::testing::TestWithParam<Packing> {};

TEST_P(PackedFile, IsReadWhateverTheSizeOfTheParts) {
  const std::string text = sample(5000);
  const std::string packed = GetParam().pack(text);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size(), 2 * text.size()}) {
    EXPECT_EQ(unpacked(packed, size), text) << size;
  }
}

TEST_P(PackedFile, MayBeEmpty) { EXPECT_EQ(unpacked(GetParam().pack("")), ""); }

TEST_P(PackedFile, MayHaveSeveralMembers) {
  const std::string packed =
      GetParam().pack("one\n") + GetParam().pack("") + GetParam().pack("two\n");
  EXPECT_EQ(unpacked(packed), "one\ntwo\n");
  EXPECT_EQ(unpacked(packed, 1), "one\ntwo\n");
}

TEST_P(PackedFile, IsReadFromDiskUnderAnyName) {
  const std::string text = sample(200'000);  // more than one buffer, also when packed
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / (std::string("packed_") + GetParam().name);
  std::ofstream(path, std::ios::binary) << GetParam().pack(text);
  EXPECT_EQ(read_all(CompressedFile::open(path), 100'000), text);
  std::filesystem::remove(path);
}

TEST_P(PackedFile, ThatEndsTooEarlyIsAnErrorWhereverItEnds) {
  const std::string packed = GetParam().pack(sample(50));
  if (GetParam().magic == 0) return;
  for (std::size_t size = GetParam().magic; size < packed.size(); ++size) {
    EXPECT_THAT([&] { unpacked(packed.substr(0, size)); },
                ThrowsMessage<InputError>(HasSubstr("log: the compressed file ends too early")))
        << size;
  }
}

TEST_P(PackedFile, ThatIsFollowedBySomethingElseIsAnError) {
  if (GetParam().magic == 0) return;
  EXPECT_THAT([&] { unpacked(GetParam().pack("one\n") + "garbage garbage garbage"); },
              ThrowsMessage<InputError>(HasSubstr("log: the compressed file is damaged")));
}

INSTANTIATE_TEST_SUITE_P(
    All, PackedFile,
    ::testing::Values(Packing{"plain", 0, [](std::string_view text) { return std::string(text); }},
                      Packing{"gzip", 2, [](std::string_view text) { return testing::gzip(text); }},
                      Packing{"xz", 6, [](std::string_view text) { return testing::xz(text); }},
                      Packing{"zstd", 4,
                              [](std::string_view text) { return testing::zstd(text); }}),
    [](const auto& test) { return test.param.name; });

TEST(CompressedFile, DamageIsNoticed) {
  // gzip and xz carry checksums; whatever bit is flipped, wrong text is never returned.
  const std::string text = sample(100);
  for (const std::string& packed : {testing::gzip(text), testing::xz(text)}) {
    for (std::size_t at = 6; at < packed.size(); ++at) {
      std::string damaged = packed;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      try {
        EXPECT_EQ(unpacked(damaged), text) << at;  // the header of gzip has bytes without meaning
      } catch (const InputError&) {
      }
    }
  }
}

TEST(CompressedFile, SkippableFramesOfZstandardAreSkipped) {
  using namespace std::string_literals;
  const std::string frame = "\x50\x2a\x4d\x18\x04\x00\x00\x00skip"s;
  EXPECT_EQ(unpacked(frame + testing::zstd("one\n")), "one\n");
}

TEST(CompressedFile, AZstandardHeaderThatEndsTooEarlyIsNotWaitedFor) {
  EXPECT_THAT([] { unpacked("\x28\xb5\x2f\xfd\x43\x04\x25"); },
              ThrowsMessage<InputError>(HasSubstr("ends too early")));
}

TEST(CompressedFile, FewBytesArePlain) {
  for (const char* text : {"", "\x1f", "\x28", "P*M",
                           "\xfd"
                           "7zXZ"}) {
    EXPECT_EQ(unpacked(text), text);
  }
}

TEST(CompressedFile, DecoderMemoryIsLimited) {
  EXPECT_THAT([] { unpacked(testing::xz("text", 1u << 30)); },
              ThrowsMessage<InputError>(HasSubstr("more than 256 MiB")));
  EXPECT_THAT([] { unpacked(testing::zstd("text", 30)); },
              ThrowsMessage<InputError>(HasSubstr("more than 256 MiB")));
  EXPECT_EQ(unpacked(testing::xz("text", 64u << 20)), "text");  // xz -9
  EXPECT_EQ(unpacked(testing::zstd("text", 27)), "text");       // zstd --ultra -22
}

TEST(CompressedFile, BombsDoNotGoOff) {
  const std::string zeros(4 << 20, '\0');
  EXPECT_THAT([&] { unpacked(testing::xz(zeros)); },
              ThrowsMessage<InputError>(HasSubstr("more than 1000 times its size")));
  EXPECT_THAT([&] { unpacked(testing::zstd(zeros)); },
              ThrowsMessage<InputError>(HasSubstr("more than 1000 times its size")));
}

TEST(CompressedFile, WhatCannotBeReadIsAnError) {
  EXPECT_THAT(
      [] { CompressedFile::open("no/such/file.swf"); },
      ThrowsMessage<InputError>("no/such/file.swf: cannot be read: No such file or "
                                "directory; check the name and that you may read the file"));
  EXPECT_THAT([] { CompressedFile::open(::testing::TempDir()); },
              ThrowsMessage<InputError>(HasSubstr("cannot be read: Is a directory")));
}

TEST(CompressedFile, CanBeMoved) {
  CompressedFile file = CompressedFile::in_memory("one\n", "log");
  CompressedFile other = std::move(file);
  file = std::move(other);
  EXPECT_EQ(read_all(std::move(file)), "one\n");
}

}  // namespace
}  // namespace ductile
