// main() of all GoogleTest executables. Some run at the same time: so each process gets a folder of
// its own as ::testing::TempDir(), gone at its end.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

class OwnTempDir {
 public:
  OwnTempDir() {
    path_ = (std::filesystem::temp_directory_path() / "ductile_test_XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      std::perror(path_.c_str());
      std::exit(1);
    }
    setenv("TEST_TMPDIR", (path_ + "/").c_str(), 1);
  }
  ~OwnTempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnTempDir(const OwnTempDir&) = delete;
  OwnTempDir& operator=(const OwnTempDir&) = delete;

 private:
  std::string path_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const OwnTempDir temp;
  return RUN_ALL_TESTS();
}
