#include "job/launcher_variables.hpp"

#include <algorithm>
#include <cstdlib>

namespace ductile {
namespace {

/// Names, or how they begin.
constexpr std::string_view kOfLaunchers[] = {
    // Hydra, and Slurm's plugins
    "PMI_", "HYDI_",
    // mpirun of Open MPI, and PMIx
    "OMPI_COMMAND", "OMPI_ARGV", "OMPI_UNIVERSE_SIZE", "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS",
    "OMPI_APP_CTX_NUM_PROCS", "OMPI_FILE_LOCATION", "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_ID",
    "PMIX_SERVER_", "PMIX_SECURITY_MODE", "PMIX_BFROP_BUFFER_TYPE", "PMIX_GDS_MODULE",
    "PMIX_SYSTEM_TMPDIR", "PMIX_DSTORE_", "PMIX_HOSTNAME", "PMIX_VERSION",
    // `ductile run`
    "DUCTILE_MANAGER", "DUCTILE_MPI", "DUCTILE_WATCH"};

/// Parameters that mpirun sets for its processes; elsewhere a user may have set them.
constexpr std::string_view kOfMpirun[] = {"OMPI_MCA_orte_",
                                          "OMPI_MCA_ess",
                                          "OMPI_MCA_pmix",
                                          "OMPI_MCA_initial_wdir",
                                          "OMPI_MCA_mpi_oversubscribe",
                                          "OMPI_MCA_shmem_RUNTIME_QUERY_hint"};

}  // namespace

bool ties_to_launcher(std::string_view name) {
  const auto is_one_of = [&](const auto& names) {
    return std::ranges::any_of(names, [&](std::string_view one) { return name.starts_with(one); });
  };
  return is_one_of(kOfLaunchers) ||
         (is_one_of(kOfMpirun) && std::getenv("OMPI_COMM_WORLD_RANK") != nullptr);
}

}  // namespace ductile
