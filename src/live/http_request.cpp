#include "live/http_request.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace ductile {
namespace {

constexpr std::size_t kMostQuery = 32;  // parts of a query
constexpr std::size_t kMostSteps = 16;  // of a path
constexpr std::size_t kMostTarget = 4096;
constexpr std::size_t kJournalDigits = 16;

bool is_token_byte(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_byte);
}

/// Nothing that could end a line.
bool is_value(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

[[noreturn]] void no_request(const std::string& what) {
  throw HttpError(400, "this is no request of HTTP: " + what, "see docs/formats/http.md");
}

std::string decoded_or_refused(std::string_view text, bool is_query) {
  auto result = decoded(text, is_query);
  if (!result || !is_printable(*result)) no_request("its address has what cannot be decoded");
  return std::move(*result);
}

void read_target(std::string_view target, HttpRequest& request) {
  if (target.size() > kMostTarget) throw HttpError(414, "the address is too long", "ask for less");
  const auto is_strange = [](char c) { return c <= ' ' || static_cast<unsigned char>(c) >= 0x7f; };
  if (!target.starts_with('/') || std::ranges::any_of(target, is_strange)) {
    no_request("its address does not begin with '/', or has what no address has");
  }
  std::string_view rest = target;
  std::string_view path = next_part(rest, '?');
  request.path = path;
  path.remove_prefix(1);
  while (!path.empty()) {
    if (request.steps.size() == kMostSteps)
      throw HttpError(414, "the address is too long", "ask for less");
    request.steps.push_back(decoded_or_refused(next_part(path, '/'), false));
  }
  while (!rest.empty()) {
    std::string_view value = next_part(rest, '&');
    if (value.empty()) continue;
    std::string name = decoded_or_refused(next_part(value, '='), true);
    if (request.query.size() == kMostQuery)
      throw HttpError(414, "the query is too long", "ask for less");
    if (!request.query.emplace(name, decoded_or_refused(value, true)).second) {
      throw HttpError(400, "the query says '" + name + "' twice", "say it once");
    }
  }
}

void read_request_line(std::string_view line, HttpRequest& request) {
  const std::string_view method = next_part(line, ' ');
  const std::string_view target = next_part(line, ' ');
  constexpr std::size_t kLongestMethod = 16;
  if (!is_token(method) || method.size() > kLongestMethod || target.empty()) {
    no_request("the first line is not METHOD ADDRESS HTTP/1.1");
  }
  if (line != "HTTP/1.1" && line != "HTTP/1.0") {
    if (!line.starts_with("HTTP/")) no_request("the first line does not end with HTTP/1.1");
    throw HttpError(505, "only HTTP/1.1 is spoken here", "use that");
  }
  request.method = method;
  request.stays = line == "HTTP/1.1";
  read_target(target, request);
}

void read_field(std::string_view line, HttpRequest& request) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    no_request("a line of the head is not NAME: VALUE");
  }
  std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_value(value)) no_request("a value of the head has control characters");
  if (request.fields.size() == HttpReader::kMostFields) {
    throw HttpError(431, "the head has too many lines", "send fewer");
  }
  // Lists may come in several lines.
  const auto [field, is_new] = request.fields.emplace(name, value);
  if (!is_new) {
    constexpr std::array<std::string_view, 6> kOnce{"host",          "content-length",
                                                    "authorization", "transfer-encoding",
                                                    "content-type",  "last-event-id"};
    if (std::ranges::find(kOnce, name) != kOnce.end()) no_request("it says '" + name + "' twice");
    field->second.append(", ").append(value);
  }
}

HttpRequest head_from(std::string_view head) {
  HttpRequest request;
  const auto line = [&head] {
    const std::string_view next = head.substr(0, head.find("\r\n"));
    head.remove_prefix(next.size() + 2);
    return next;
  };
  read_request_line(line(), request);
  while (!head.empty()) read_field(line(), request);
  const bool is_newest = request.stays;  // HTTP/1.1
  std::string_view wishes = request.field("connection");
  while (!wishes.empty()) {
    if (lower(trimmed(next_part(wishes, ','))) == "close") request.stays = false;
  }
  const std::string expected = lower(request.field("expect"));
  if (is_newest && !expected.empty() && expected != "100-continue") {
    throw HttpError(417, "nothing but 100-continue can be expected", "leave out Expect");
  }
  request.awaits_word = is_newest && !expected.empty();
  if (is_newest && !request.fields.contains("host")) no_request("it has no Host");
  return request;
}

std::size_t length_of(const HttpRequest& request) {
  if (request.fields.contains("transfer-encoding")) {
    throw HttpError(501, "bodies in chunks are not read here", "send Content-Length");
  }
  const std::string_view text = request.field("content-length");
  if (!request.fields.contains("content-length")) return 0;
  const auto length = parse_number<std::uint64_t>(text);
  if (!length || text.front() == '-' || text.front() == '+')
    no_request("Content-Length is no number");
  if (*length > HttpReader::kMostBody) {
    throw HttpError(413, "the body is too long", "send at most 1 MiB");
  }
  return static_cast<std::size_t>(*length);
}

}  // namespace

std::optional<HttpRequest> HttpReader::next(const Check& check) {
  if (!head_) {
    while (searched_ == 0 && come_.starts_with("\r\n")) come_.erase(0, 2);  // after a body
    const std::size_t end = come_.find("\r\n\r\n", searched_);
    if (std::min(end, come_.size()) > kMostHead) {
      throw HttpError(431, "the head is too long", "send at most 16 KiB");
    }
    if (end == std::string::npos) {
      searched_ = come_.size() < 3 ? 0 : come_.size() - 3;
      return std::nullopt;
    }
    searched_ = 0;
    HttpRequest request = head_from(std::string_view(come_).substr(0, end + 2));
    length_ = length_of(request);
    check(request);
    come_.erase(0, end + 4);
    head_ = std::move(request);
  }
  if (come_.size() < length_) return std::nullopt;
  HttpRequest request = std::move(*head_);
  head_.reset();
  request.body = come_.substr(0, length_);
  come_.erase(0, length_);
  return request;
}

std::optional<std::string> decoded(std::string_view text, bool is_query) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+' && is_query) {
      result += ' ';
    } else if (text[at] != '%') {
      result += text[at];
    } else {
      if (text.size() - at < 3) return std::nullopt;
      const auto high = hex_digit(text[at + 1]), low = hex_digit(text[at + 2]);
      if (!high || !low) return std::nullopt;
      result += static_cast<char>(*high * 16 + *low);
      at += 2;
    }
  }
  return result;
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  std::string_view rest = trimmed(authorization);
  if (lower(next_part(rest, ' ')) != "bearer") return std::nullopt;
  return trimmed(rest);
}

std::string media_type(std::string_view content_type) {
  return lower(trimmed(content_type.substr(0, content_type.find(';'))));
}

bool are_same_secret(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const char of_a = a.empty() ? '\0' : a[i % a.size()];
    differ |= static_cast<unsigned char>(of_a) ^ static_cast<unsigned char>(b[i]);
  }
  return differ == 0;
}

bool is_name_of_this_host(std::string_view host, std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  if (host.starts_with('[')) {  // IPv6
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view port = host.substr(end + 1);
    return host.substr(1, end - 1).find_first_not_of("0123456789abcdefABCDEF:.") ==
               std::string_view::npos &&
           (port.empty() ||
            (port.front() == ':' && port.find_first_not_of(kDigits, 1) == std::string_view::npos));
  }
  std::string_view port = host;
  const std::string_view alone = next_part(port, ':');
  if (port.find_first_not_of(kDigits) != std::string_view::npos || alone.empty()) return false;
  const std::string low = lower(alone);
  // A name whose last part is a number is no name, for browsers either.
  const bool is_number =
      low.find_first_not_of("0123456789.") == std::string::npos && low.back() != '.';
  return is_number || low == "localhost" || (!name.empty() && low == lower(name));
}

std::string to_text(const EventPosition& position) {
  return position.journal + "." + std::to_string(position.record);
}

std::optional<EventPosition> parse_event_position(std::string_view text) {
  std::string_view rest = text;
  const std::string_view journal = next_part(rest, '.');
  const auto is_digit = [](char c) { return hex_digit(c) && !(c >= 'A' && c <= 'F'); };
  if (journal.size() != kJournalDigits || !std::ranges::all_of(journal, is_digit))
    return std::nullopt;
  const auto record = parse_number<std::uint64_t>(rest);
  // As SQLite counts.
  if (!record || rest.front() == '+' || *record > (std::uint64_t{1} << 62)) return std::nullopt;
  return EventPosition{std::string(journal), *record};
}

}  // namespace ductile
