#include "cli/write_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>

#include "base/error.hpp"

namespace ductile {
namespace {

// Is gone in the end unless it was given its name.
struct Part {
  std::filesystem::path path;
  ~Part() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove(path, ignored);
  }
};

[[noreturn]] void fail(const std::string& name, const char* why) {
  throw RunError(name + ": cannot be written: " + why);
}

void open(std::ofstream& file, const std::string& path, const std::string& name) {
  file.open(path, std::ios::binary);
  if (file) return;
  throw InputError({.file = name}, std::string("cannot be written: ") + std::strerror(errno),
                   "give another file to --out");
}

}  // namespace

void write_file(const std::string& name, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  // What is no regular file, as a pipe, cannot be replaced.
  const bool is_there = std::filesystem::exists(name, error);
  if (name == "-" || (is_there && !std::filesystem::is_regular_file(name, error))) {
    std::ofstream special;
    if (name != "-") open(special, name, name);
    std::ostream& out = name == "-" ? std::cout : special;
    write(out);
    out.flush();
    if (!out) fail(name, std::strerror(errno));
    return;
  }
  std::ofstream file;
  open(file, name + ".part", name);
  Part part{name + ".part"};
  write(file);
  file.close();
  if (!file) fail(name, std::strerror(errno));
  std::filesystem::rename(part.path, name, error);
  if (error) fail(name, error.message().c_str());
  part.path.clear();
}

}  // namespace ductile
