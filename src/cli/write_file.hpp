// Files that a command was told to write.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace ductile {

struct FileToWrite {
  std::string name;  // "-": the standard output
  std::function<void(std::ostream&)> write;
  const char* option = "--out";  // which named it, for errors
};

/// Fills the files. Each has a temporary name, NAME.part, until all of all of them is written: what
/// fails leaves nothing, and older files as they were. Behind a symbolic link it is the file that
/// it names which is written. What is no regular file, as a pipe, is written as it is, after the
/// others. Throws InputError if one cannot be made, RunError if it cannot be written.
void write_files(const std::vector<FileToWrite>& files);

/// The same of one file.
void write_file(const FileToWrite& file);

/// "-", or a name that the system has for it.
bool is_standard_output(const std::string& name);

}  // namespace ductile
