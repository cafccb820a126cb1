#include "cli/write_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <list>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

// A file on its way. Its part is gone in the end unless it was given its name.
struct Begun {
  const FileToWrite& file;
  fs::path target{}, part{};  // no part: is written as it is
  std::ofstream stream{};

  explicit Begun(const FileToWrite& which) : file(which) {}
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun() {
    std::error_code ignored;
    if (!part.empty()) fs::remove(part, ignored);
  }
};

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw RunError(name + ": cannot be written: " + why);
}

[[noreturn]] void refuse(const FileToWrite& file, const std::string& why) {
  throw InputError({.file = file.name}, "cannot be written: " + why,
                   fmt::format("give another file to {}", file.option));
}

// What symbolic links lead to, which need not be there. Links of the system to open files stay.
fs::path behind_links(const FileToWrite& file) {
  constexpr int kMostLinks = 40;
  fs::path path = file.name;
  std::error_code error;
  for (int i = 0; fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    if (i == kMostLinks) refuse(file, std::strerror(ELOOP));
    const fs::path folder = fs::weakly_canonical(path.parent_path(), error);
    if (!error && folder.string().starts_with("/proc/")) return folder / path.filename();
    const fs::path next = fs::read_symlink(path, error);
    if (error) refuse(file, error.message());
    path = path.parent_path() / next;  // if that is absolute, it alone
  }
  return path;
}

void open(Begun& begun) {
  const FileToWrite& file = begun.file;
  if (is_standard_output(file.name)) return;
  begun.target = behind_links(file);
  std::error_code error;
  const bool is_special =
      begun.target.string().starts_with("/proc/") ||
      (fs::exists(begun.target, error) && !fs::is_regular_file(begun.target, error));
  fs::path path = begun.target;
  if (!is_special) path += ".part";
  begun.stream.open(path, std::ios::binary);
  if (!begun.stream) refuse(file, std::strerror(errno));
  if (!is_special) begun.part = path;
}

void fill(Begun& begun) {
  std::ostream& out = is_standard_output(begun.file.name) ? std::cout : begun.stream;
  begun.file.write(out);
  out.flush();
  if (begun.stream.is_open()) begun.stream.close();
  if (!out) fail(begun.file.name, std::strerror(errno));
}

}  // namespace

bool is_standard_output(const std::string& name) {
  constexpr std::array<std::string_view, 4> kNames{"-", "/dev/stdout", "/dev/fd/1",
                                                   "/proc/self/fd/1"};
  return std::ranges::find(kNames, name) != kNames.end();
}

void write_files(const std::vector<FileToWrite>& files) {
  std::list<Begun> all;
  for (const FileToWrite& file : files) open(all.emplace_back(file));
  for (Begun& each : all) {
    if (!each.part.empty()) fill(each);
  }
  for (Begun& each : all) {
    if (each.part.empty()) fill(each);
  }
  for (Begun& each : all) {
    if (each.part.empty()) continue;
    std::error_code error;
    fs::rename(each.part, each.target, error);
    if (error) fail(each.file.name, error.message());
    each.part.clear();
  }
}

void write_file(const FileToWrite& file) { write_files({file}); }

}  // namespace ductile
