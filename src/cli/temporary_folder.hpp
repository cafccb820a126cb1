// A folder that is gone when nobody needs it any more.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace ductile {

/// A folder for a while, in the one for temporary files (TMPDIR). Throws RunError where none can be
/// made.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ductile-XXXXXX").string();
    if (!mkdtemp(name.data())) {
      throw RunError(name + ": no such folder can be made: " + std::strerror(errno));
    }
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ductile
