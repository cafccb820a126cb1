#include "job/protocol.hpp"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace ductile::wire {
namespace {

std::vector<Message> some_of_each() {
  const Token token = *parse_token("0123456789abcdef0123456789abcdef");
  return {{0, Hello{token, 3, 4, 4711, "node-1"}},
          {1, Ready{"127.0.0.1:4711"}},
          {1, At{std::uint64_t{1} << 40}},
          {1, Reached{}},
          {1, Sent{std::uint64_t{1} << 50}},
          {1, Taken{7}},
          {1, Failed{"no memory"}},
          {1, Running{}},
          {1, Finishing{}},
          {0, Welcome{}},
          {1, Prepare{}},
          {1, Meet{12}},
          {1, Take{5}},
          {1, Go{{"127.0.0.1:1", "[::1]:2"}}},
          {1, Commit{}},
          {1, Abort{"late"}},
          {1, Finish{}},
          {1, Open{token, 1, 2}},
          {1, Data{2, 1, 8, 1000, 4000}},
          {0xffffffff, Close{}},
          {1, Watch{token, 1, 2}},
          {1, Measured{250, 17}},
          {1, Request{4, 8}},
          {1, Offer{3}},
          {1, Sizes{2, 8, "pof2"}},
          {1, Postponed{40}},
          {1, Iterations{250, 1000000, 5000}},
          {1, Yield{1}},
          {1, Leaving{}},
          {1, Input{1}}};
}

TEST(Protocol, EveryMessageComesBackAsItWas) {
  const std::vector<Message> messages = some_of_each();
  ASSERT_EQ(messages.size(), std::variant_size_v<Content>);
  for (const Message& message : messages) {
    MessageReader reader;
    reader.feed(encode(message));
    const auto read = reader.next();
    ASSERT_TRUE(read) << name_of(message.content);
    EXPECT_EQ(read->content.index(), message.content.index());
    EXPECT_EQ(encode(*read), encode(message));
    EXPECT_FALSE(reader.has_part());
  }
}

TEST(Protocol, MessagesComeInAnyPieces) {
  std::string bytes;
  for (const Message& message : some_of_each()) bytes += encode(message);
  MessageReader reader;
  std::string again;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    while (const auto message = reader.next()) again += encode(*message);
  }
  EXPECT_EQ(again, bytes);
}

// The bytes that docs/formats/runtime-protocol.md shows: other builds have to understand them.
TEST(Protocol, TheBytesAreThoseOfTheDocumentation) {
  EXPECT_EQ(encode({2, Meet{0x0151}}),
            std::string("\x08\0\0\0\x02\0\x0c\0\x02\0\0\0\x51\x01\0\0\0\0\0\0", 20));
}

std::string failure_of(const std::string& bytes) {
  try {
    MessageReader reader;
    reader.feed(bytes);
    reader.next();
    return "";
  } catch (const ProtocolError& error) {
    return error.what();
  }
}

TEST(Protocol, WhatIsNoMessageIsRefused) {
  const std::string good = encode({1, Taken{7}});
  const auto with = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  EXPECT_EQ(failure_of(good), "");
  EXPECT_EQ(failure_of(with(4, 9)), "version 9 of the protocol, not 2");
  EXPECT_EQ(failure_of(with(6, 0)), "a message of unknown type");
  EXPECT_EQ(failure_of(with(6, 100)), "a message of unknown type");
  EXPECT_EQ(failure_of(with(3, 1)), "a message that is too large");
  EXPECT_EQ(failure_of(with(0, 7)), "a message that ends too early");
  EXPECT_EQ(failure_of(with(0, 9) + '\0'), "a message with something behind its end");
  std::string many = encode({1, Go{}});
  many[kHeaderBytes + 3] = 1;
  EXPECT_EQ(failure_of(many), "a list that is too long");
  EXPECT_EQ(failure_of("GET / HTTP/1.1\r\n"), "version 8239 of the protocol, not 2");
}

TEST(Protocol, AnotherVersionIsKnownAsThatAtTheBeginning) {
  const auto of_version_1 = [](const Content& content) {
    std::string bytes = encode({0, content});
    bytes[4] = 1;
    MessageReader reader;
    reader.feed(bytes);
    reader.next();
  };
  EXPECT_THROW(of_version_1(Hello{}), OtherVersion);
  EXPECT_THROW(of_version_1(Abort{}), OtherVersion);
  try {
    of_version_1(Taken{});
    FAIL();
  } catch (const ProtocolError& error) {
    EXPECT_EQ(dynamic_cast<const OtherVersion*>(&error), nullptr);
  }
}

TEST(Protocol, LongTextsAreCut) {
  MessageReader reader;
  reader.feed(encode({1, Failed{std::string(100000, 'x')}}));
  EXPECT_EQ(std::get<Failed>(reader.next()->content).reason.size(), kMaxText);
}

TEST(Protocol, TokensAreNeverTheSame) {
  EXPECT_FALSE(same(new_token(), new_token()));
  const Token token = new_token();
  EXPECT_TRUE(same(token, *parse_token(text_of(token))));
  EXPECT_FALSE(parse_token("0123456789abcdef0123456789abcdeF"));
  EXPECT_FALSE(parse_token("0123"));
}

}  // namespace
}  // namespace ductile::wire
