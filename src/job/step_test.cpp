#include "job/step.hpp"

#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.hpp"
#include "job/controller_connection.hpp"

namespace ductile {
namespace {

/// Who has the nodes: answers one that comes.
class Superior {
 public:
  Superior(const std::string& path, std::string answer)
      : listener_(listen_unix(path)), thread_([this, answer = std::move(answer)] {
          set_blocking(listener_, true);
          while (!connection_) {
            if (auto come = accept_from(listener_)) connection_ = std::move(*come);
          }
          heard_ = read_line(connection_, std::chrono::seconds(60));
          send_all(connection_, answer + "\nmore");
        }) {}
  ~Superior() { thread_.join(); }
  std::string heard() {
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return heard_;
  }

 private:
  Descriptor listener_, connection_{};
  std::string heard_{};
  std::thread thread_;
};

class Step : public ::testing::Test {
 protected:
  std::string path_ = ::testing::TempDir() + "c" + std::to_string(getpid());
  RunSettings settings_{.size = 5, .in_job = InJob{77, path_}};
  std::string why_not(const std::string& answer) {
    Superior superior(path_, answer);
    return join_job(settings_);
  }
};

TEST_F(Step, HasWhatTheControllerGives) {
  settings_.launcher.cores = 3;
  EXPECT_EQ(why_not(R"({"ok": true, "size": 2, "hosts": "n1:4,n2:4", "max": 8})"), "");
  EXPECT_EQ(settings_.size, 2u);
  EXPECT_EQ(settings_.max, 8u);
  EXPECT_EQ(settings_.launcher.cores, 3u);
  EXPECT_EQ(to_text(settings_.launcher.hosts), "n1:4,n2:4");
  EXPECT_EQ(settings_.evolving, Evolving::ask);
  // What follows the answer is for who has the connection then.
  const Descriptor connection(settings_.step_fd);
  char bytes[5] = "";
  EXPECT_EQ(read(connection.get(), bytes, 4), 4);
  EXPECT_STREQ(bytes, "more");
}

TEST_F(Step, IsAsItWasWithoutAController) {
  EXPECT_EQ(why_not(R"({"ok": false, "error": "no such job"})"), "no such job");
  EXPECT_NE(why_not(R"({"ok": true, "size": "2"})").find("no sense"), std::string::npos);
  EXPECT_NE(why_not(R"({"ok": true, "size": 9, "max": 1})").find("no size"), std::string::npos);
  EXPECT_NE(why_not("nonsense").find("no sense"), std::string::npos);
  EXPECT_NE(join_job(settings_), "");  // nobody listens
  EXPECT_EQ(settings_.size, 5u);
  EXPECT_LT(settings_.step_fd, 0);
}

TEST_F(Step, SaysWhichJobItIs) {
  EXPECT_EQ(words_of_job({77, ""}).dump(),
            R"({"do":"job","job":77,"pid":)" + std::to_string(getpid()) + "}");
}

TEST_F(Step, IsNoneWhereThereIsNoScript) {
  unsetenv(kStepsVariable);
  EXPECT_FALSE(become_step(settings_));
}

}  // namespace
}  // namespace ductile
