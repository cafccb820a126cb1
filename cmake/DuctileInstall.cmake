# Installs the core as the CMake package Ductile: find_package(Ductile) gives Ductile::ductile.
# runtime/CMakeLists.txt adds the components app-mpich and app-openmpi, runtime/threads/ threads.

include_guard()
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Ductile")
set(core_targets ductile_core)
foreach(floor IN LISTS DUCTILE_CORE_FLOORS)
  list(APPEND core_targets ductile_${floor})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/${floor}/"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ductile/${floor}" COMPONENT development
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT development)
install(TARGETS ${core_targets} EXPORT DuctileTargets ARCHIVE COMPONENT development)
install(EXPORT DuctileTargets NAMESPACE Ductile:: DESTINATION "${package_dir}"
        COMPONENT development)

configure_file("${PROJECT_SOURCE_DIR}/cmake/DuctileConfig.cmake.in"
               "${PROJECT_BINARY_DIR}/package/DuctileConfig.cmake" COPYONLY)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindClp.cmake" DESTINATION "${package_dir}"
        COMPONENT development)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/package/DuctileConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
foreach(component IN ITEMS development runtime)
  install(FILES "${PROJECT_BINARY_DIR}/package/DuctileConfig.cmake"
                "${PROJECT_BINARY_DIR}/package/DuctileConfigVersion.cmake"
          DESTINATION "${package_dir}" COMPONENT ${component})
endforeach()
