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

}  // namespace

void write_file(const std::string& name, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  // What is no regular file, as a pipe, cannot be replaced.
  const bool is_there = std::filesystem::exists(name, error);
  if (name == "-" || (is_there && !std::filesystem::is_regular_file(name, error))) {
    std::ofstream special;
    if (name != "-") special.open(name, std::ios::binary);
    std::ostream& out = name == "-" ? std::cout : special;
    if (out) write(out);
    out.flush();
    if (!out) fail(name, std::strerror(errno));
    return;
  }
  Part part{name + ".part"};
  std::ofstream file(part.path, std::ios::binary);
  if (!file) {
    const char* const why = std::strerror(errno);
    part.path.clear();
    throw InputError({.file = name}, std::string("cannot be written: ") + why,
                     "give another file to --out");
  }
  write(file);
  file.close();
  if (!file) fail(name, std::strerror(errno));
  std::filesystem::rename(part.path, name, error);
  if (error) fail(name, error.message().c_str());
  part.path.clear();
}

}  // namespace ductile
