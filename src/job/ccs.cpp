#include "job/ccs.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "job/system_random.hpp"

namespace ductile {
namespace {

constexpr std::uint32_t kNewClient = 0x8000'0100, kSignedRequest = 0x8000'0000;
constexpr std::size_t kHandlerBytes = 32, kSignedBytes = 52, kSignedHeader = 16;
/// More than any handler of ours answers with.
constexpr std::uint32_t kMostAnswer = 1 << 20;

std::string in_bytes(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

std::string in_bytes(const CcsSignature& signature) { return {signature.begin(), signature.end()}; }

std::uint32_t number_in(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

/// Of a message that fits into one block with its length (FIPS 180-4).
CcsSignature sha1_of_block(std::string_view message) {
  std::array<unsigned char, 64> block{};
  std::ranges::copy(message, block.begin());
  block[message.size()] = 0x80;
  const auto bits = static_cast<std::uint32_t>(8 * message.size());
  std::ranges::copy(in_bytes(bits), block.end() - 4);

  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = number_in({reinterpret_cast<const char*>(block.data()) + 4 * i, 4});
  }
  for (std::size_t i = 16; i < words.size(); ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  constexpr std::array<std::uint32_t, 5> kBegin = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                                   0xc3d2e1f0};
  auto [a, b, c, d, e] = kBegin;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [mixed, constant] = i < 20   ? std::pair{(b & c) | (~b & d), 0x5a827999U}
                                   : i < 40 ? std::pair{b ^ c ^ d, 0x6ed9eba1U}
                                   : i < 60 ? std::pair{(b & c) | (b & d) | (c & d), 0x8f1bbcdcU}
                                            : std::pair{b ^ c ^ d, 0xca62c1d6U};
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
    e = std::exchange(d, std::exchange(c, std::rotl(std::exchange(b, a), 30)));
    a = next;
  }
  std::string bytes;
  const std::array<std::uint32_t, 5> added = {a, b, c, d, e};
  for (std::size_t i = 0; i < added.size(); ++i) bytes += in_bytes(kBegin[i] + added[i]);
  CcsSignature signature{};
  std::ranges::copy(bytes, signature.begin());
  return signature;
}

std::string header_of(const CcsRequest& request) {
  std::string name = request.handler;
  name.resize(kHandlerBytes);
  return in_bytes(static_cast<std::uint32_t>(request.data.size())) + in_bytes(0U) + name;
}

}  // namespace

CcsKey new_ccs_key() {
  CcsKey key{};
  for (unsigned char& byte : key) {
    constexpr unsigned kBelow = 100;
    do {  // each equally likely
      fill_with_random(std::as_writable_bytes(std::span(&byte, 1)));
    } while (byte >= 2 * kBelow);
    byte = static_cast<unsigned char>(byte % kBelow);
  }
  return key;
}

std::string to_line(const CcsKey& key) {
  std::string line = "0 ";
  for (const unsigned char byte : key) line += fmt::format("{:02}", byte);
  return line + "\n";
}

CcsSignature sign(const CcsKey& key, std::uint32_t number, std::string_view header) {
  std::string message(key.begin(), key.end());
  message += in_bytes(number);
  message += header.substr(0, kSignedHeader);
  message.resize(kSignedBytes);
  return sha1_of_block(message);
}

CcsCall::CcsCall(Connect connect, const CcsKey& key, CcsRequest request)
    : connect_(std::move(connect)), key_(key), request_(std::move(request)) {
  fill_with_random(std::as_writable_bytes(std::span(&challenge_, 1)));
  open();
  out_ = in_bytes(kNewClient) + in_bytes(challenge_);
  awaited_ = 4;
}

void CcsCall::open() {
  try {
    socket_ = connect_();
  } catch (const std::system_error& error) {
    fail(error.what());
  }
}

void CcsCall::fail(const std::string& why) {
  error_ = why;
  socket_.reset();
}

void CcsCall::add_to(Poller& poller, std::function<void()> act) const {
  if (is_over()) return;
  const auto events = static_cast<short>(out_.empty() ? POLLIN : POLLOUT);
  poller.add(socket_, events, std::move(act));
}

void CcsCall::go_on() {
  if (is_over()) return;
  if (!out_.empty()) {
    const ssize_t sent = send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      out_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      fail(std::strerror(errno));
    }
    return;
  }
  std::array<char, 4096> buffer{};
  const std::size_t most = std::min(buffer.size(), awaited_ - in_.size());
  const ssize_t got = recv(socket_.get(), buffer.data(), most, 0);
  if (got == 0) return fail("it has closed the connection");
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) fail(std::strerror(errno));
    return;
  }
  in_.append(buffer.data(), static_cast<std::size_t>(got));
  if (in_.size() == awaited_) take(std::exchange(in_, {}));
}

/// All bytes of a stage.
void CcsCall::take(std::string_view bytes) {
  constexpr std::size_t kSigned = std::tuple_size_v<CcsSignature>;
  const bool is_signed = stage_ == Stage::proof || stage_ == Stage::head;
  if (is_signed && bytes.substr(0, kSigned) != in_bytes(sign(key_, challenge_))) {
    return fail("who answers does not have the key");
  }
  switch (stage_) {
    case Stage::challenge:
      out_ = in_bytes(sign(key_, number_in(bytes)));
      stage_ = Stage::proof;
      awaited_ = kSigned + 8;
      return;
    case Stage::proof: {
      const std::string client(bytes.substr(kSigned, 4));
      const std::string header = header_of(request_);
      const CcsSignature signature = sign(key_, number_in(bytes.substr(kSigned + 4)), header);
      ++challenge_;  // what has been seen is not to be shown again
      open();
      out_ = in_bytes(kSignedRequest) + client + in_bytes(challenge_) + in_bytes(signature) +
             header + request_.data;
      stage_ = Stage::head;
      awaited_ = kSigned + 4;
      return;
    }
    case Stage::head: {
      const std::uint32_t length = number_in(bytes.substr(kSigned));
      if (length > kMostAnswer) return fail("its answer is too long");
      stage_ = Stage::data;
      awaited_ = length;
      if (length == 0) take({});
      return;
    }
    case Stage::data:
      answer_ = std::string(bytes);
      socket_.reset();
      return;
  }
}

}  // namespace ductile
