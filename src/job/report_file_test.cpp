#include "job/report_file.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Files of this process grow no further.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t signal_;
};

TEST(ReportFile, EmptiesWhatWasThere) {
  const std::string path = ::testing::TempDir() + "/report";
  std::ofstream(path) << "before\n";
  ReportFile report;
  EXPECT_FALSE(report.is_open());
  report.open(path);
  EXPECT_TRUE(report.write("now"));
  EXPECT_TRUE(report.write("last", true));
  EXPECT_EQ(content(path), "now\nlast\n");
  EXPECT_THROW(report.open("/nowhere/report"), InputError);
}

TEST(ReportFile, TheLastLineFindsRoom) {
  const std::string path = ::testing::TempDir() + "/report";
  ReportFile report;
  report.open(path);
  const FileLimit limit(3 * kReportReserve);
  int written = 0;
  const std::string line(99, 'x');
  while (report.write(line)) ++written;
  EXPECT_GT(written, 0);
  EXPECT_TRUE(report.write("last", true));
  const std::string text = content(path);
  EXPECT_TRUE(text.ends_with("x\nlast\n"));
  EXPECT_EQ(text.size(), static_cast<std::size_t>(written) * 100 + 5);
}

TEST(ReportFile, ALineThatWasTornEndsBeforeTheNextOne) {
  const std::string path = ::testing::TempDir() + "/report";
  ReportFile report;
  report.open(path);
  {
    const FileLimit limit(10);
    EXPECT_FALSE(report.write("0123456789abcdef", true));
  }
  EXPECT_TRUE(report.write("last", true));
  EXPECT_EQ(content(path), "0123456789\nlast\n");
}

TEST(ReportFile, WritesToWhatIsNoFile) {
  ReportFile report;
  report.open("/dev/null");
  EXPECT_TRUE(report.write("line"));
  report.open("/dev/full");
  EXPECT_FALSE(report.write("line"));
}

}  // namespace
}  // namespace ductile
