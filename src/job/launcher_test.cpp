#include "job/launcher.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

using Words = std::vector<std::string>;

TEST(Launcher, HostsAreFilledInTheirOrder) {
  const std::vector<Host> hosts = parse_hosts("h1:4,h2,h3:2");
  const auto placed = [&](std::uint32_t size) {
    std::string text;
    for (const Host& host : place(hosts, size))
      text += host.name + std::to_string(host.slots) + " ";
    return text;
  };
  EXPECT_EQ(placed(3), "h13 ");
  EXPECT_EQ(placed(5), "h14 h21 ");
  EXPECT_EQ(placed(7), "h14 h21 h32 ");
  EXPECT_EQ(placed(9), "h14 h21 h32 ");
}

TEST(Launcher, WrongHostsAreRefused) {
  for (const char* text : {":3", "h1:0", "h1:x", "h1:-1", "-rf:2", "h1,,h2", "h1:99999999"}) {
    EXPECT_THROW(parse_hosts(text), InputError) << text;
  }
}

TEST(Launcher, MpichIsToldItsHosts) {
  const Launcher launcher{.mpi = Mpi::mpich,
                          .mpiexec = "mpiexec",
                          .hosts = {{"h1", 2}, {"h2", 2}},
                          .agent = "rsh",
                          .arguments = {"-l"},
                          .program = {"a.out", "1"}};
  EXPECT_EQ(command_line(launcher, 3, {{"A", "secret"}}),
            (Words{"mpiexec", "-n", "3", "-hosts", "h1:2,h2:1", "-launcher", "ssh",
                   "-launcher-exec", "rsh", "-l", "a.out", "1"}));
}

TEST(Launcher, OpenMpiIsToldWhichVariablesToPassOn) {
  const Launcher launcher{.mpi = Mpi::openmpi, .mpiexec = "mpiexec", .program = {"a.out"}};
  const Words words = command_line(launcher, 2, {{"A", "secret"}});
  const auto at = std::ranges::find(words, "-x");
  ASSERT_NE(at, words.end());
  EXPECT_EQ(at[1], "A");
  EXPECT_EQ(words.back(), "a.out");
  for (const std::string& word : words) EXPECT_EQ(word.find("secret"), std::string::npos);
}

// Whoever waits on cores that others need lets them go first; on its own it would only be slower.
// Open MPI binds to the first cores of the machine, whichever a job has.
TEST(Launcher, OpenMpiBindsAndSpinsAsByItselfOnCoresOfItsOwn) {
  Launcher launcher{.mpi = Mpi::openmpi, .mpiexec = "mpiexec", .program = {"a.out"}};
  const auto has = [&](const Cores& cores, const std::string& word) {
    return std::ranges::count(command_line(launcher, 2, {}, cores), word) > 0;
  };
  EXPECT_FALSE(has({}, "--bind-to"));
  EXPECT_FALSE(has({}, "mpi_yield_when_idle"));
  EXPECT_TRUE(has({.are_chosen = true}, "--bind-to"));
  EXPECT_FALSE(has({.are_chosen = true}, "mpi_yield_when_idle"));
  EXPECT_FALSE(has({.are_shared = true}, "--bind-to"));
  EXPECT_TRUE(has({.are_shared = true}, "mpi_yield_when_idle"));
  launcher.cores = 1;
  EXPECT_TRUE(has({}, "--bind-to"));
}

// mpirun refuses a parameter that is listed twice.
TEST(Launcher, HowOpenMpiWaitsIsLeftToTheUserWhoSaysIt) {
  const auto says = [](const Launcher& launcher) {
    const Words words = command_line(launcher, 2, {}, {.are_shared = true});
    return std::ranges::count_if(words, [](const std::string& word) {
      return word.find("mpi_yield_when_idle") != std::string::npos;
    });
  };
  Launcher by_mpiexec{.mpi = Mpi::openmpi, .mpiexec = "mpiexec", .program = {"a.out"}};
  Launcher by_srun{
      .mpi = Mpi::openmpi, .starter = Starter::srun, .mpiexec = "srun", .program = {"a.out"}};
  setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
  const auto in_environment = says(by_mpiexec) + says(by_srun);
  unsetenv("OMPI_MCA_mpi_yield_when_idle");
  EXPECT_EQ(in_environment, 0);
  EXPECT_EQ(says(by_mpiexec), 1);
  EXPECT_EQ(says(by_srun), 1);
  by_mpiexec.arguments = {"--mca", "mpi_yield_when_idle", "0"};
  by_srun.arguments = {"--export=ALL,OMPI_MCA_mpi_yield_when_idle=0"};
  EXPECT_EQ(says(by_mpiexec), 1);
  EXPECT_EQ(says(by_srun), 1);
  EXPECT_TRUE(user_decides_yield(by_mpiexec));
}

TEST(Launcher, SrunStartsAStepBesideTheOthers) {
  Launcher launcher{.mpi = Mpi::mpich,
                    .starter = Starter::srun,
                    .mpiexec = "srun",
                    .hosts = {{"h1", 2}, {"h2", 2}},
                    .arguments = {"--job-name=x"},
                    .program = {"a.out", "1"}};
  EXPECT_EQ(command_line(launcher, 3, {{"A", "secret"}}),
            (Words{"srun", "--quiet", "-n", "3", "--overlap", "--overcommit", "--cpu-bind=none",
                   "--kill-on-bad-exit=1", "--mpi=pmi2", "-N", "2", "--distribution=arbitrary",
                   "--nodelist=h1,h1,h2", "--export=ALL", "--job-name=x", "a.out", "1"}));
  launcher.mpi = Mpi::openmpi;
  EXPECT_EQ(std::ranges::count(command_line(launcher, 3, {}), "--export=ALL"), 1);
  launcher.hosts.clear();
  launcher.preload = "/lib/m.so";
  launcher.arguments.clear();
  EXPECT_EQ(
      command_line(launcher, 1, {}, {.are_shared = true}),
      (Words{"srun", "--quiet", "-n", "1", "--overlap", "--overcommit", "--cpu-bind=none",
             "--kill-on-bad-exit=1", "--mpi=pmix",
             "--export=ALL,OMPI_MCA_mpi_yield_when_idle=1,LD_PRELOAD=/lib/m.so", "a.out", "1"}));
}

TEST(Launcher, ProcessesAreKeptToTheirCoresByAShellBeforeThem) {
  const Words words = command_line(
      {.mpi = Mpi::mpich, .mpiexec = "mpiexec", .cores = 2, .program = {"a.out", "a b"}}, 2, {});
  ASSERT_EQ(words.size(), 9u);
  EXPECT_EQ(words[3], "/bin/sh");
  EXPECT_EQ(Words(words.begin() + 6, words.end()), (Words{"2", "a.out", "a b"}));
}

TEST(Launcher, WithoutAnMpiTheProgramIsStartedAsItIs) {
  EXPECT_EQ(command_line({.program = {"a.out", "1"}}, 1, {}), (Words{"a.out", "1"}));
}

TEST(Launcher, TheMpiOfAProgramIsReadFromIt) {
  EXPECT_EQ(mpi_of_program("/bin/true"), Mpi::none);
  const std::string path = ::testing::TempDir() + "script";
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(mpi_of_program(path), std::nullopt);
  std::ofstream(path, std::ios::binary) << "\x7f"
                                           "ELF\x02 and nothing that makes sense";
  EXPECT_EQ(mpi_of_program(path), std::nullopt);
}

TEST(Launcher, KnowsTheLibrariesOfAllLanguages) {
  for (const char* name : {"libmpich.so.12", "libmpichfort.so.12", "libmpichcxx.so.12",
                           "libmpi.so.12", "libmpifort.so.12", "libductile-app-mpich.so.1"}) {
    EXPECT_EQ(mpi_of_libraries({"libgfortran.so.5", name, "libc.so.6"}), Mpi::mpich) << name;
  }
  for (const char* name :
       {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40",
        "libmpi_usempi_ignore_tkr.so.40", "libmpi_cxx.so.40", "libductile-app-openmpi.so.1"}) {
    EXPECT_EQ(mpi_of_libraries({"libgfortran.so.5", name, "libc.so.6"}), Mpi::openmpi) << name;
  }
  EXPECT_EQ(mpi_of_libraries({"libm.so.6", "libc.so.6"}), Mpi::none);
}

// An executable cut anywhere, or with any byte wrong, is read without harm.
TEST(Launcher, DamagedExecutablesDoNoHarm) {
  std::ifstream file("/bin/true", std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string path = ::testing::TempDir() + "damaged";
  for (std::size_t at = 0; at < 1000; at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    std::ofstream(path, std::ios::binary) << bad;
    mpi_of_program(path);
    std::ofstream(path, std::ios::binary) << good.substr(0, at * good.size() / 1000);
    mpi_of_program(path);
  }
}

TEST(Launcher, ProgramsAreFoundAsAShellDoes) {
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_NE(find_program("sh").find("/sh"), std::string::npos);
  EXPECT_THROW(find_program("no such program"), InputError);
  EXPECT_THROW(find_program("/etc/passwd"), InputError);
}

}  // namespace
}  // namespace ductile
