#include "report/output_file.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace ductile {

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    throw InputError({.file = folder.string()}, "is no folder to write to: " + error.message(),
                     "give another one to --out");
  }
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
