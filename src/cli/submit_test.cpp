#include "cli/submit.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/complaint.hpp"

namespace ductile {
namespace {

using Words = std::vector<std::string>;

Words options_in(const std::string& line) {
  Words ignored;
  return script_options("job.sh", "#!/bin/sh\n" + line + "\n", ignored);
}

std::string error_of(const std::string& line) {
  return testing::complaint([&] { options_in(line); });
}

TEST(Submit, AQuoteIsClosed) {
  EXPECT_EQ(options_in("#SBATCH -J 'a b' -N 2"), (Words{"-J", "a b", "-N", "2"}));
  EXPECT_EQ(options_in("#SBATCH -N 2  # it's a comment"), (Words{"-N", "2"}));
  for (const char* mark : {"#SBATCH", "#DUCTILE", "#PBS"}) {
    EXPECT_EQ(error_of(std::string(mark) + " -N \"2 -t 5"),
              std::string("job.sh:2: ") + mark +
                  ": the quote \" is not closed; close it, or put what has such a character in the "
                  "other quotes");
  }
}

TEST(Submit, AWordMayBeEmpty) {
  EXPECT_EQ(options_in("#SBATCH -J \"\" -N 2"), (Words{"-J", "", "-N", "2"}));
  EXPECT_EQ(options_in("#SBATCH \"\" -N 2"), (Words{"-N", "2"}));
  EXPECT_EQ(error_of("#DUCTILE \"\""),
            "job.sh:2: #DUCTILE: no option follows; write it like #DUCTILE --nodes=4");
}

TEST(Submit, APartitionMeansNothingWhereThereAreNone) {
  const std::string script =
      "#!/bin/sh\n#SBATCH -p a -N 2\n#SBATCH --partition=b -pc\n#PBS -q d -N name\n";
  Words ignored;
  EXPECT_EQ(script_options("job.sh", script, ignored, false),
            (Words{"-N", "2", "--job-name=name"}));
  EXPECT_EQ(ignored, (Words{"#SBATCH -p a", "#SBATCH --partition=b", "#SBATCH -pc", "#PBS -q d"}));
  ignored.clear();
  EXPECT_EQ(script_options("job.sh", script, ignored),
            (Words{"-p", "a", "-N", "2", "--partition=b", "-p", "c", "--partition=d",
                   "--job-name=name"}));
  EXPECT_EQ(ignored, Words{});
}

}  // namespace
}  // namespace ductile
