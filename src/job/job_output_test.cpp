#include "job/job_output.hpp"

#include <array>
#include <csignal>
#include <memory>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ductile {
namespace {

/// Generations that the test writes for, and what comes out at stdout.
class OutputOfJob : public ::testing::Test {
 protected:
  ~OutputOfJob() override {
    if (stdout_ >= 0) {
      dup2(stdout_, STDOUT_FILENO);
      close(stdout_);
    }
  }

  Generation& add(std::uint32_t number) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    auto generation = std::make_unique<Generation>();
    generation->number = number;
    generation->process.out = Descriptor(ends[0]);
    writers_[number] = Descriptor(ends[1]);
    return *generations_.emplace(number, std::move(generation)).first->second;
  }
  void write(std::uint32_t number, const std::string& text) {
    ASSERT_EQ(::write(writers_[number].get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  /// It ends; all is read.
  void end(std::uint32_t number) {
    writers_[number].reset();
    turn();
  }
  void turn() {
    Poller poller;
    output_.add_to(poller, generations_, [](Generation&) {});
    poller.wait(std::chrono::milliseconds(10));
  }
  /// What goes on, as it was kept.
  std::string heard(std::uint32_t current) {
    turn();
    output_.pass(generations_, current);
    return output_.take_kept();
  }
  void replace_stdout(int fd) {
    stdout_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(fd, STDOUT_FILENO);
    close(fd);
  }

  JobOutput output_{{.keep = true, .pass = false}};
  Generations generations_{};
  std::map<std::uint32_t, Descriptor> writers_{};
  int stdout_ = -1;
};

TEST_F(OutputOfJob, ComesGenerationAfterGeneration) {
  add(0);
  add(1);
  write(1, "new\n");
  write(0, "old\n");
  EXPECT_EQ(heard(0), "old\n");
  EXPECT_EQ(heard(1), "");  // the old one may write more
  write(0, "last\n");
  end(0);
  EXPECT_EQ(heard(1), "last\nnew\n");
}

TEST_F(OutputOfJob, DoesNotWaitForWhoLeftLongAgo) {
  add(0).is_late = true;
  add(1);
  write(1, "new\n");
  EXPECT_EQ(heard(1), "new\n");
}

TEST_F(OutputOfJob, OfAGenerationThatDidNotComeIsNoOutput) {
  add(0);
  Generation& fresh = add(1);
  write(1, "why\n");
  turn();
  fresh.is_discarded = true;
  end(1);
  EXPECT_EQ(heard(0), "");
  EXPECT_FALSE(fresh.is_quoted);  // in its turn
  end(0);
  EXPECT_EQ(heard(0), "");
  EXPECT_TRUE(fresh.is_quoted);
  EXPECT_TRUE(fresh.held.empty());
  EXPECT_EQ(output_.last_words(), "why\n");  // it was not known then
}

TEST_F(OutputOfJob, OfWhoIsMutedIsNobodys) {
  Generation& generation = add(0);
  write(0, "before\n");
  turn();
  JobOutput::mute(generation);
  write(0, "after\n");
  EXPECT_EQ(heard(0), "");
}

TEST_F(OutputOfJob, IsFullWhenMuchIsHeld) {
  Generation& generation = add(0);
  EXPECT_FALSE(output_.is_full(generation));
  const std::string much(JobOutput::kMostHeld, 'x');
  ASSERT_TRUE(generation.held.append(much, ::testing::TempDir()));
  EXPECT_TRUE(output_.is_full(generation));
  generation.is_muted = true;
  EXPECT_FALSE(output_.is_full(generation));
}

TEST_F(OutputOfJob, EndsWithWhatIsInThePipe) {
  Generation& generation = add(0);
  write(0, std::string(60000, 'x'));
  output_.hear_to_the_end(generation);
  EXPECT_EQ(generation.held.size(), 60000u);
}

TEST_F(OutputOfJob, IsLostOnAFullDisk) {
  output_ = JobOutput({});
  add(0);
  write(0, "lost\n");
  turn();
  replace_stdout(open("/dev/full", O_WRONLY | O_CLOEXEC));
  output_.pass(generations_, 0);
  EXPECT_EQ(output_.lost(), 5u);
  EXPECT_EQ(output_.lost_why(), "No space left on device");
  EXPECT_FALSE(output_.has_lost_its_reader());
}

TEST_F(OutputOfJob, KnowsThatNobodyReads) {
  std::signal(SIGPIPE, SIG_IGN);
  output_ = JobOutput({});
  add(0);
  write(0, "unread\n");
  turn();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  replace_stdout(ends[1]);
  output_.pass(generations_, 0);
  EXPECT_TRUE(output_.has_lost_its_reader());
  EXPECT_EQ(output_.lost(), 0u);
}

}  // namespace
}  // namespace ductile
