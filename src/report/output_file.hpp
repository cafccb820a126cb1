// Files that are complete or not there.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ductile {

/// Makes the folder, with those above it. Throws InputError, which names the option, if that is
/// not possible.
void make_folder(const std::filesystem::path& folder, const char* option = "--out");

/// A file to be written from the front. It has a temporary name, PATH.part, until `commit`; without
/// it nothing is left. Throws RunError where the system refuses, as on a full disk.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(OutputFile&&) = delete;

  /// What is to be written next: append to it, and say so now and then.
  std::string& text() { return text_; }
  void appended() {
    if (text_.size() >= kEnough) flush();
  }
  /// Writes what is left and gives the file its name, in place of an older one.
  void commit();

 private:
  static constexpr std::size_t kEnough = 1 << 18;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void flush();
  [[noreturn]] void fail() const;

  std::filesystem::path path_, part_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string text_;
};

/// The whole of a file.
void write_file(const std::filesystem::path& path, std::string text);

/// A name for each of these, no two the same, also where upper and lower case are: letters,
/// digits, "+-.=_" and what is not ASCII stay, all else becomes '_'; what is taken gets a number.
std::vector<std::string> folder_names(const std::vector<std::string>& names);

/// Appends a field of a CSV file: in quotes where it has to be (RFC 4180).
void append_field(std::string& text, const std::string& field);

}  // namespace ductile
