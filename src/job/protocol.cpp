#include "job/protocol.hpp"

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstring>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "job/system_random.hpp"

namespace ductile::wire {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kTypes = std::variant_size_v<Content>;
constexpr std::uint16_t kHello = 1;
constexpr std::uint16_t kRefusal = 16;
// They are what they are in every version.
static_assert(std::is_same_v<std::variant_alternative_t<kHello - 1, Content>, Hello>);
static_assert(std::is_same_v<std::variant_alternative_t<kRefusal - 1, Content>, Abort>);

// Numbers are little-endian, texts and lists have their length before them.
class Writer {
 public:
  explicit Writer(std::string& bytes) : bytes_(bytes) {}

  template <std::unsigned_integral Number>
  void operator()(Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) {
      bytes_.push_back(static_cast<char>(number >> (8 * i) & 0xff));
    }
  }
  void operator()(const Token& token) { bytes_.append(token.data(), token.size()); }
  void operator()(const std::string& text) {
    const std::string_view kept = std::string_view(text).substr(0, kMaxText);
    (*this)(static_cast<std::uint16_t>(kept.size()));
    bytes_.append(kept);
  }
  void operator()(const std::vector<std::string>& texts) {
    if (texts.size() > kMaxProcesses) throw ProtocolError("too many processes for one message");
    (*this)(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) (*this)(text);
  }

 private:
  std::string& bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral Number>
  void operator()(Number& number) {
    const std::string_view bytes = take(sizeof number);
    number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) {
      number = static_cast<Number>(
          number | static_cast<Number>(Number{static_cast<unsigned char>(bytes[i])} << (8 * i)));
    }
  }
  void operator()(Token& token) {
    const std::optional<Token> read = parse_token(take(token.size()));
    if (!read) throw ProtocolError("a token of another form");
    token = *read;
  }
  void operator()(std::string& text) {
    std::uint16_t size = 0;
    (*this)(size);
    if (size > kMaxText) throw ProtocolError("a text that is too long");
    text = take(size);
  }
  void operator()(std::vector<std::string>& texts) {
    std::uint32_t size = 0;
    (*this)(size);
    if (size > kMaxProcesses) throw ProtocolError("a list that is too long");
    texts.clear();
    for (std::uint32_t i = 0; i < size; ++i) (*this)(texts.emplace_back());
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (rest_.size() < size) throw ProtocolError("a message that ends too early");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
};

template <std::size_t... Index>
std::vector<std::string_view> names(std::index_sequence<Index...>) {
  return {std::variant_alternative_t<Index, Content>::kName...};
}

template <std::size_t... Index>
Content content_of(std::size_t index, std::index_sequence<Index...>) {
  Content content;
  ((Index == index ? void(content.emplace<Index>()) : void()), ...);
  return content;
}

}  // namespace

Token new_token() {
  std::array<unsigned char, std::tuple_size_v<Token> / 2> random{};
  fill_with_random(std::as_writable_bytes(std::span(random)));
  Token token{};
  for (std::size_t i = 0; i < random.size(); ++i) {
    token[2 * i] = kDigits[random[i] >> 4];
    token[2 * i + 1] = kDigits[random[i] & 0xf];
  }
  return token;
}

std::optional<Token> parse_token(std::string_view text) {
  Token token{};
  if (text.size() != token.size() || text.find_first_not_of(kDigits) != std::string_view::npos) {
    return std::nullopt;
  }
  std::ranges::copy(text, token.begin());
  return token;
}

std::string text_of(const Token& token) { return {token.data(), token.size()}; }

bool same(const Token& left, const Token& right) {
  int difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == 0;
}

const std::vector<std::string_view>& message_names() {
  static const std::vector<std::string_view> all = names(std::make_index_sequence<kTypes>{});
  return all;
}

std::string_view name_of(const Content& content) { return message_names()[content.index()]; }

std::string encode(const Message& message) {
  std::string body;
  std::visit(
      [&](auto content) {
        std::apply([&](auto&... field) { (Writer(body)(std::as_const(field)), ...); },
                   content.fields());
      },
      message.content);
  if (body.size() > kMaxBody) throw ProtocolError("a message that is too large");
  std::string bytes;
  Writer header(bytes);
  header(static_cast<std::uint32_t>(body.size()));
  header(kVersion);
  header(static_cast<std::uint16_t>(message.content.index() + 1));
  header(message.generation);
  return bytes + body;
}

Header decode_header(std::string_view bytes) {
  Reader read(bytes);
  Header header;
  std::uint16_t version = 0;
  read(header.body_bytes);
  read(version);
  read(header.type);
  read(header.generation);
  if (version != kVersion) {
    const std::string what =
        "version " + std::to_string(version) + " of the protocol, not " + std::to_string(kVersion);
    if (header.type == kHello || header.type == kRefusal) throw OtherVersion(what);
    throw ProtocolError(what);
  }
  if (header.type == 0 || header.type > kTypes) throw ProtocolError("a message of unknown type");
  if (header.body_bytes > kMaxBody) throw ProtocolError("a message that is too large");
  return header;
}

Message decode_body(const Header& header, std::string_view body) {
  Message message{.generation = header.generation,
                  .content = content_of(header.type - 1U, std::make_index_sequence<kTypes>{})};
  Reader read(body);
  std::visit(
      [&](auto& content) {
        std::apply([&](auto&... field) { (read(field), ...); }, content.fields());
      },
      message.content);
  if (!read.at_end()) throw ProtocolError("a message with something behind its end");
  return message;
}

std::optional<Message> MessageReader::next() {
  if (buffer_.size() < kHeaderBytes) return std::nullopt;
  const Header header = decode_header(std::string_view(buffer_).substr(0, kHeaderBytes));
  if (buffer_.size() < kHeaderBytes + header.body_bytes) return std::nullopt;
  Message message =
      decode_body(header, std::string_view(buffer_).substr(kHeaderBytes, header.body_bytes));
  buffer_.erase(0, kHeaderBytes + header.body_bytes);
  return message;
}

}  // namespace ductile::wire
