#include "cli/submit_to_slurm.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/complaint.hpp"

namespace ductile {
namespace {

using Words = std::vector<std::string>;

Submission job_of(JobType type, Nodes nodes) {
  Submission job;
  job.type = type;
  job.nodes = nodes;
  job.name = "n";
  job.folder = "/w";
  job.output = "o.%j";
  job.mpi = Mpi::none;
  return job;
}

Words words_of(const Submission& job, const WrittenJob& written, const Words& program = {"a"}) {
  return sbatch_words(job, written, program, "p", "/f/a", "/bin/ductile");
}

TEST(SubmitToSlurm, WhatSbatchKnowsIsItsAndTheRestIsAComment) {
  Submission job = job_of(JobType::malleable, 4);
  job.min = 2;
  job.max = 8;
  job.sizes = parse_constraint("pof2", {});
  job.model = parse_speedup("amdahl:0.1", {});
  job.tasks_per_node = 3;
  job.is_held = job.is_requeued = true;
  job.script = "#!/bin/sh\n";
  WrittenJob written;
  written.time = "1:00:00";
  written.memory = "2G";
  written.model = "amdahl:0.1";
  written.watts = "100-250";
  written.dependency = "afterok:7";
  written.array = "0-4%2";
  written.begin = "now+10";
  written.never = "n1";
  EXPECT_EQ(words_of(job, written, {"a", "x y", "-z"}),
            (Words{"sbatch",
                   "--partition=p",
                   "--comment=ductile: --type=malleable --nodes=4 --min-nodes=2 --max-nodes=8 "
                   "--sizes=pof2 --model=amdahl:0.1 --watts=100-250",
                   "--nodes=4",
                   "--time=1:00:00",
                   "--job-name=n",
                   "--chdir=/w",
                   "--output=o.%j",
                   "--ntasks-per-node=3",
                   "--mem=2G",
                   "--exclude=n1",
                   "--dependency=afterok:7",
                   "--array=0-4%2",
                   "--begin=now+10",
                   "--requeue",
                   "--hold",
                   "--parsable",
                   "/f/a",
                   "x y",
                   "-z"}));
}

TEST(SubmitToSlurm, ProgramsAreStartedByAShell) {
  Submission job = job_of(JobType::rigid, 2);
  EXPECT_EQ(words_of(job, {}, {"a", "it's", "$b"}).back(), R"(--wrap=exec /f/a 'it'\''s' '$b')");
  job.mpi = Mpi::mpich;
  EXPECT_EQ(words_of(job, {}).back(), "--wrap=exec /bin/ductile run --mpi=mpich -- /f/a");
  job.kind = JobKind::restart;
  job.script = "#!/bin/sh\n";
  WrittenJob written;
  written.told.checkpoint = "touch stop";
  written.told.settle = 2.5;
  EXPECT_EQ(words_of(job, written).back(),
            "--wrap=exec /bin/ductile run --kind=restart '--checkpoint=touch stop' --settle=2.5 -- "
            "/f/a");
}

TEST(SubmitToSlurm, WhoWaitsHearsItFromSbatch) {
  WrittenJob written;
  written.waits = true;
  const Words words = words_of(job_of(JobType::rigid, 1), written);
  EXPECT_TRUE(std::ranges::count(words, "--wait") == 1 &&
              std::ranges::count(words, "--parsable") == 0);
}

TEST(SubmitToSlurm, WhatIsNotThereIsSaid) {
  const Submission job = job_of(JobType::rigid, 1);
  WrittenJob written;
  written.partition = "q";
  EXPECT_EQ(testing::complaint([&] { words_of(job, written); }),
            "--partition: this controller has jobs of 'p', and not of 'q'; leave it out, or call "
            "sbatch for another one");
  written.partition = "p";
  written.key = "k";
  EXPECT_EQ(testing::complaint([&] { words_of(job, written); }),
            "--key: Slurm keeps no keys of submissions; leave it out");
}

TEST(SubmitToSlurm, OurLinesOfAScriptAreReadBefore) {
  EXPECT_EQ(script_for_sbatch(
                "#!/bin/sh\n#DUCTILE -t 5\n#SBATCH --mail-user=a\n\n#DUCTILE -N2\nls\n#DUCTILE x"),
            "#!/bin/sh\n##DUCTILE -t 5\n#SBATCH --mail-user=a\n\n##DUCTILE -N2\nls\n#DUCTILE x");
  EXPECT_EQ(script_for_sbatch("#!/bin/sh"), "#!/bin/sh");
}

}  // namespace
}  // namespace ductile
