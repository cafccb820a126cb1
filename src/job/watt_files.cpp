#include "job/watt_files.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "job/socket.hpp"

namespace ductile {
namespace {

constexpr double kMostWatts = 1e6;  // as much as is believed of a node
constexpr std::size_t kLongest = 64;

}  // namespace

std::optional<double> watts_of_text(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
  const auto watts = parse_number<double>(text);
  // Not so if it is no number at all.
  if (!watts || !(*watts >= 0 && *watts <= kMostWatts)) return std::nullopt;
  return watts;
}

std::string WattFiles::file_of(std::string_view node) const {
  std::string path;
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    const char next = pattern_[i] == '%' && i + 1 < pattern_.size() ? pattern_[i + 1] : '\0';
    if (next != 'n' && next != '%') {
      path += pattern_[i];
      continue;
    }
    next == 'n' ? path += node : path += '%';
    ++i;
  }
  return path;
}

std::optional<double> WattFiles::read(const std::vector<std::string>& nodes,
                                      const Elsewhere& elsewhere) {
  std::string why = nodes.empty() ? "it has no nodes" : "";  // of the first that says nothing
  double sum = 0;
  for (const std::string& node : nodes) {  // all of them: who is asked first has to begin
    why_.clear();
    sum += read_one(node, elsewhere).value_or(0);
    if (why.empty()) why = why_;
  }
  why_ = std::move(why);
  return why_.empty() ? std::optional(sum) : std::nullopt;
}

std::optional<double> WattFiles::read_one(const std::string& node, const Elsewhere& elsewhere) {
  const std::string path = file_of(node);
  const auto watts_in = [&](std::string_view its, const std::string& where) {
    const auto watts = its.size() > kLongest ? std::nullopt : watts_of_text(its);
    if (!watts) {
      why_ = fmt::format("'{}'{} has no watts from 0 to 1e6: '{}'", path, where,
                         printable(std::string(its.substr(0, its.find_last_not_of(" \r\n") + 1))));
    }
    return watts;
  };
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT && elsewhere) {
    const auto text = elsewhere(node, path);
    if (text) return watts_in(*text, " on " + node);
    why_ = fmt::format("{} has not said yet what it draws", node);
    return std::nullopt;
  }
  struct stat found {};
  if (!file || fstat(file.get(), &found) != 0) {
    why_ = fmt::format("'{}' cannot be read: {}", path, std::strerror(errno));
    return std::nullopt;
  }
  if (!S_ISREG(found.st_mode)) {
    why_ = fmt::format("'{}' is no file", path);
    return std::nullopt;
  }
  std::array<char, kLongest + 1> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) {
    why_ = fmt::format("'{}' cannot be read: {}", path, std::strerror(errno));
    return std::nullopt;
  }
  return watts_in({text.data(), static_cast<std::size_t>(got)}, "");
}

}  // namespace ductile
