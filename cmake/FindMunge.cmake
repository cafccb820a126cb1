# libmunge, which asks MUNGE who wrote a credential: Munge::Munge. Debian's package is libmunge-dev.

find_path(Munge_INCLUDE_DIR munge.h)
find_library(Munge_LIBRARY munge)
mark_as_advanced(Munge_INCLUDE_DIR Munge_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Munge REQUIRED_VARS Munge_LIBRARY Munge_INCLUDE_DIR)

if(Munge_FOUND AND NOT TARGET Munge::Munge)
  add_library(Munge::Munge UNKNOWN IMPORTED)
  set_target_properties(
    Munge::Munge
    PROPERTIES IMPORTED_LOCATION "${Munge_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${Munge_INCLUDE_DIR}"
               INTERFACE_COMPILE_DEFINITIONS DUCTILE_HAS_MUNGE)
endif()
