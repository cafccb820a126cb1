# libharu, which writes PDF: Haru::Haru. Debian's package is libhpdf-dev, which has no file of its own for
# CMake or pkg-config.

find_path(Haru_INCLUDE_DIR hpdf.h)
find_library(Haru_LIBRARY hpdf)
mark_as_advanced(Haru_INCLUDE_DIR Haru_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Haru REQUIRED_VARS Haru_LIBRARY Haru_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install it, on Debian as libhpdf-dev")

if(Haru_FOUND AND NOT TARGET Haru::Haru)
  add_library(Haru::Haru UNKNOWN IMPORTED)
  set_target_properties(Haru::Haru PROPERTIES IMPORTED_LOCATION "${Haru_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${Haru_INCLUDE_DIR}")
endif()
