#include "report/output_file.hpp"

#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {

void make_folder(const std::filesystem::path& folder, const char* option) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    throw InputError({.file = folder.string()}, "is no folder to write to: " + error.message(),
                     std::string("give another one to ") + option);
  }
}

void write_file(const std::filesystem::path& path, std::string text) {
  OutputFile file(path);
  file.text() = std::move(text);
  file.commit();
}

std::vector<std::string> folder_names(const std::vector<std::string>& names) {
  constexpr std::string_view kept = "+-.=_";
  const auto is_between = [](char c, char low, char high) { return low <= c && c <= high; };
  std::vector<std::string> folders;
  std::set<std::string> taken;  // in lower case
  for (std::string name : names) {
    for (char& c : name) {
      const bool plain = is_between(c, '0', '9') || is_between(c, 'a', 'z') ||
                         is_between(c, 'A', 'Z') || kept.find(c) != std::string_view::npos ||
                         static_cast<unsigned char>(c) >= 0x80;
      if (!plain) c = '_';
    }
    if (name.empty() || name.front() == '.') name.insert(0, "_");  // neither hidden nor "."
    const auto take = [&](std::string folder) {
      for (char& c : folder) {
        if (is_between(c, 'A', 'Z')) c = static_cast<char>(c - 'A' + 'a');
      }
      return taken.insert(folder).second;
    };
    std::string folder = name;
    for (int i = 2; !take(folder); ++i) folder = fmt::format("{}-{}", name, i);
    folders.push_back(std::move(folder));
  }
  return folders;
}

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)), part_(path_.string() + ".part") {
  file_.reset(std::fopen(part_.c_str(), "wb"));
  if (!file_) fail();
}

OutputFile::~OutputFile() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void OutputFile::flush() {
  if (std::fwrite(text_.data(), 1, text_.size(), file_.get()) != text_.size()) fail();
  text_.clear();
}

void OutputFile::commit() {
  flush();
  // Some file systems tell only now that the disk is full.
  if (std::fflush(file_.get()) != 0) fail();
  if (std::fclose(file_.release()) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    std::remove(part_.c_str());
    errno = error;
    fail();
  }
}

void OutputFile::fail() const {
  throw RunError(path_.string() + ": cannot be written: " + std::strerror(errno));
}

void append_field(std::string& text, const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) {
    text += field;
    return;
  }
  text += '"';
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

}  // namespace ductile
