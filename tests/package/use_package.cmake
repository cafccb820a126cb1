# Builds and runs consumer/ against Ductile, either `installed` from the present build or as a
# `subdirectory`. Called by ctest with way, source, build, config, generator, compiler, launcher,
# flags.
cmake_minimum_required(VERSION 3.25)

set(work "${build}/package_test/${way}")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

set(options -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}"
            "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}")
if(way STREQUAL "installed")
  run("${CMAKE_COMMAND}" --install "${build}" --config "${config}" --component development
      --prefix "${work}/prefix")
  # The installed archives carry the sanitizers of this build: the program must link them, too.
  list(APPEND options "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_FLAGS=${flags}")
else()
  list(APPEND options "-DDUCTILE_SOURCE=${source}" -DDUCTILE_PRECOMPILED_HEADERS=ON -DDUCTILE_UNITY=ON)
endif()

run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${work}/build" ${options})
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")
