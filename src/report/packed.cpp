#include "report/packed.hpp"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>
#include <zlib.h>

namespace ductile {
namespace {

// Differences, smallest first, seven bits a byte.
void append_number(std::string& bytes, std::int64_t difference) {
  const auto pattern = static_cast<std::uint64_t>(difference);
  std::uint64_t rest = (pattern << 1) ^ (difference < 0 ? ~std::uint64_t{0} : 0);
  for (; rest >= 0x80; rest >>= 7) bytes += static_cast<char>(0x80 | (rest & 0x7f));
  bytes += static_cast<char>(rest);
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  // A page is made more often than it is sent: the fastest level that looks for repetitions well.
  constexpr int kLevel = 6;
  const int status = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), kLevel);
  if (status != Z_OK) throw std::bad_alloc();
  result.resize(size);
  return result;
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0);
    }
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[three >> shift & 0x3f];
  }
  for (std::size_t i = bytes.size() % 3; i != 0 && i < 3; ++i) text[text.size() - 3 + i] = '=';
  return text;
}

}  // namespace

Packed::Packed(std::vector<std::string> columns)
    : columns_(std::move(columns)), values_(columns_.size()) {}

void Packed::add(std::initializer_list<std::int64_t> row) {
  if (row.size() != values_.size()) throw std::logic_error("a row has another number of columns");
  std::size_t i = 0;
  for (const std::int64_t value : row) values_[i++].push_back(value);
}

std::int64_t Packed::word(const std::string& column, std::string_view word) {
  Words& known = words_[column];
  const auto at = known.numbers.find(word);
  if (at != known.numbers.end()) return at->second;
  const auto number = static_cast<std::int64_t>(known.words.size());
  known.words.emplace_back(word);
  known.numbers.emplace(word, number);
  return number;
}

nlohmann::ordered_json Packed::json() const {
  std::string bytes;
  for (const std::vector<std::int64_t>& column : values_) {
    std::int64_t before = 0;
    for (const std::int64_t value : column) {
      append_number(bytes, value - before);
      before = value;
    }
  }
  nlohmann::ordered_json json{{"rows", rows()}, {"columns", columns_}};
  json["words"] = nlohmann::ordered_json::object();
  for (const auto& [column, known] : words_) json["words"][column] = known.words;
  json["data"] = base64(deflated(bytes));
  return json;
}

}  // namespace ductile
