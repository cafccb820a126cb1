// What may come by a connection of HTTP: any bytes, whole and in pieces, which are the same
// requests both ways, or the same error; and what of these is read further: hosts, tokens, places
// in a journal.
//
// Readers: src/live/http_request.cpp
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "live/http_request.hpp"

namespace {

using namespace ductile;

std::vector<std::string> requests_in(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> found;
  HttpReader reader;
  try {
    while (!bytes.empty()) {
      reader.add(bytes.substr(0, piece));
      bytes.remove_prefix(piece < bytes.size() ? piece : bytes.size());
      while (const auto request = reader.next([](const HttpRequest&) {})) {
        std::string text = request->method + " " + request->path + " " + request->body;
        for (const std::string& step : request->steps) text += "/" + step;
        for (const auto& [name, value] : request->query) text += "?" + name + "=" + value;
        for (const auto& [name, value] : request->fields) {
          if (name.find_first_of("\r\n:") != std::string::npos) std::abort();
          if (value.find_first_of("\r\n") != std::string::npos) std::abort();
          text += "\n" + name + ":" + value;
        }
        found.push_back(text);
      }
    }
  } catch (const HttpError& error) {
    if (error.status() < 400 || error.status() > 599 || error.remedy().empty()) std::abort();
    found.push_back(std::to_string(error.status()));
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // What is too long is noticed as soon as that is known.
  if (size < HttpReader::kMostHead && requests_in(bytes, size) != requests_in(bytes, 3))
    std::abort();
  requests_in(bytes, size == 0 ? 1 : size);
  if (const auto text = decoded(bytes, true); text && text->size() > size) std::abort();
  is_name_of_this_host(bytes, "host");
  if (bearer_token(bytes).value_or("").size() > size || media_type(bytes).size() > size)
    std::abort();
  if (!are_same_secret(bytes, bytes)) std::abort();
  if (are_same_secret(bytes, std::string(bytes) + "x")) std::abort();
  if (const auto at = parse_event_position(bytes); at && parse_event_position(to_text(*at)) != at) {
    std::abort();
  }
  return 0;
}
