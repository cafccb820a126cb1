# Finds libslurm: Slurm::slurm. Debian's package is libslurm-dev.
find_path(SLURM_INCLUDE_DIR slurm/slurm.h)
find_library(SLURM_LIBRARY slurm)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Slurm REQUIRED_VARS SLURM_LIBRARY SLURM_INCLUDE_DIR)
mark_as_advanced(SLURM_INCLUDE_DIR SLURM_LIBRARY)
if(Slurm_FOUND AND NOT TARGET Slurm::slurm)
  add_library(Slurm::slurm UNKNOWN IMPORTED)
  set_target_properties(Slurm::slurm PROPERTIES IMPORTED_LOCATION "${SLURM_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${SLURM_INCLUDE_DIR}")
endif()
