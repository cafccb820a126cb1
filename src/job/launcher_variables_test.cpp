#include "job/launcher_variables.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace ductile {
namespace {

TEST(LauncherVariables, AreNoSettingsOfUsers) {
  unsetenv("OMPI_COMM_WORLD_RANK");
  for (const char* const name : {"PMI_FD", "PMI_RANK", "HYDI_CONTROL_FD", "PMIX_RANK",
                                 "PMIX_SERVER_URI41", "OMPI_UNIVERSE_SIZE", "DUCTILE_MANAGER"}) {
    EXPECT_TRUE(ties_to_launcher(name)) << name;
  }
  for (const char* const name :
       {"PATH", "OMPI_CC", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_MCA_btl", "OMPI_MCA_orte_tmpdir_base",
        "PMIX_MCA_gds", "HYDRA_LAUNCHER", "MPIR_CVAR_DEBUG", "SLURM_JOB_ID", "DUCTILE_SOCKET",
        "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    EXPECT_FALSE(ties_to_launcher(name)) << name;
  }
}

TEST(LauncherVariables, ParametersOfMpirunAreItsOwnBelowIt) {
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  EXPECT_TRUE(ties_to_launcher("OMPI_MCA_orte_hnp_uri"));
  EXPECT_TRUE(ties_to_launcher("OMPI_MCA_ess_base_jobid"));
  EXPECT_FALSE(ties_to_launcher("OMPI_MCA_btl"));
  unsetenv("OMPI_COMM_WORLD_RANK");
}

}  // namespace
}  // namespace ductile
