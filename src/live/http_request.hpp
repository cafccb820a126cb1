// What clients of HTTP say: bytes become requests. It knows of no socket, and trusts nobody;
// docs/formats/http.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ductile {

/// What a request is answered with if it is not done: a status of HTTP, what is wrong, and what to
/// do.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& what, std::string remedy)
      : std::runtime_error(what), status_(status), remedy_(std::move(remedy)) {}
  int status() const { return status_; }
  const std::string& remedy() const { return remedy_; }

 private:
  int status_;
  std::string remedy_;
};

struct HttpRequest {
  std::string method{};
  std::string path{};                           // as it came, without the query
  std::vector<std::string> steps{};             // of the path, between its '/', decoded
  std::map<std::string, std::string> query{};   // decoded
  std::map<std::string, std::string> fields{};  // of the head, by their names in lower case
  std::string body{};
  bool stays = true;         // the connection
  bool awaits_word = false;  // before it sends its body

  /// Of the head; empty if it has none of this name.
  std::string_view field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
  }
};

/// Of one connection.
class HttpReader {
 public:
  static constexpr std::size_t kMostHead = 16384, kMostFields = 64,
                               kMostBody = std::size_t{1} << 20;
  /// Looks at a request whose head has come: throws HttpError if its body is not worth waiting for.
  using Check = std::function<void(const HttpRequest&)>;

  void add(std::string_view bytes) { come_.append(bytes); }
  /// The next whole request. Throws HttpError where it is none, or more than it may be: what
  /// follows then means nothing.
  std::optional<HttpRequest> next(const Check& check);
  /// Has something come that is no whole request?
  bool has_part() const { return head_ || !come_.empty(); }

 private:
  std::string come_{};
  std::optional<HttpRequest> head_{};  // whose body is still to come
  std::size_t length_ = 0;             // of the body
  std::size_t searched_ = 0;           // of `come_`: no end of a head before
};

/// "a%20b" is "a b"; nothing if a '%' means nothing. '+' is a blank where `is_query`.
std::optional<std::string> decoded(std::string_view text, bool is_query);

/// Of a field `Authorization`: what follows "Bearer"; nothing if it is of another kind.
std::optional<std::string_view> bearer_token(std::string_view authorization);

/// "Text/HTML; charset=utf-8" is "text/html".
std::string media_type(std::string_view content_type);

/// Are they equal? Takes as long wherever they differ.
bool are_same_secret(std::string_view a, std::string_view b);

/// Of a field `Host`: is it this machine by a name that nobody else can have given it? Those are
/// numeric addresses, localhost, and the name of this host. All others may be a page's that wants
/// to be taken for ours.
bool is_name_of_this_host(std::string_view host, std::string_view name);

/// Where a stream of events is: which journal, and the record. "0123456789abcdef.17".
struct EventPosition {
  std::string journal{};  // the first half of its id
  std::uint64_t record = 0;
  bool operator==(const EventPosition&) const = default;
};
std::string to_text(const EventPosition& position);
std::optional<EventPosition> parse_event_position(std::string_view text);

}  // namespace ductile
