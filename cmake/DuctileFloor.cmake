# How the parts of Ductile become targets. Nothing here keeps a list of files: every part is the
# sources found in its folder, looked up again at each build.

include_guard()

# What holds for every target of ours: the language, the warnings, and that a build computes the
# same numbers whatever the compiler fuses.
function(ductile_settings target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
                                             CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -ffp-contract=off -Wall -Wextra -Wpedantic -Wconversion
                                           -Wshadow)
  # Designated initializers leave out what they mean to leave out.
  target_compile_options(${target} PRIVATE -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Part of -Wconversion for clang, not for gcc.
    target_compile_options(${target} PRIVATE -Wno-sign-conversion)
  endif()
  if(DUCTILE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Sources that run for a moment but take long to translate: not optimized in debug builds, where with
# the sanitizers optimizing is most of the compile time. Warnings that need the optimizer come from
# the release build.
function(ductile_translate_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O0>)
endfunction()

# Sources that do not compute: in release builds -O3 and optimizing them together with the core would
# be half of the build, and nobody would notice.
function(ductile_optimize_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # It has to see more than that to be right.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
  endif()
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endfunction()

# ductile_precompiled(TARGET SET [FAST]): the target's sources begin with the headers of that set,
# translated once for all targets that name it and are optimized alike (FAST: as after
# ductile_translate_fast). It only saves time: each source still includes what it needs, as clang-tidy
# and the release build see; of the tests tests/lint/style.py. With gcc there is one set for all floors
# with libraries, which have to be optimized alike: in the preset quick, where floors are single sources,
# several sets would cost more than they save.
set(DUCTILE_PRECOMPILED_standard
    <algorithm> <array> <charconv> <cmath> <cstdint> <functional> <map> <memory> <optional> <set>
    <span> <string> <string_view> <utility> <variant> <vector>)
set(DUCTILE_PRECOMPILED_libraries
    ${DUCTILE_PRECOMPILED_standard} <chrono> <filesystem> <fmt/format.h> <fstream> <iostream>
    <nlohmann/json.hpp> <sstream>)
set(DUCTILE_PRECOMPILED_libraries_LINK fmt::fmt nlohmann_json::nlohmann_json)
set(DUCTILE_PRECOMPILED_commands ${DUCTILE_PRECOMPILED_libraries} <CLI/CLI.hpp>)
set(DUCTILE_PRECOMPILED_commands_LINK ${DUCTILE_PRECOMPILED_libraries_LINK} CLI11::CLI11)
set(DUCTILE_PRECOMPILED_tests
    ${DUCTILE_PRECOMPILED_libraries} <gmock/gmock.h> <gtest/gtest.h>)
set(DUCTILE_PRECOMPILED_tests_LINK ${DUCTILE_PRECOMPILED_libraries_LINK} GTest::gmock)

function(ductile_precompiled target set)
  if(NOT DUCTILE_PRECOMPILED_HEADERS OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang|GNU")
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(set STREQUAL "standard")
      return()
    endif()
    set(set commands)
    list(REMOVE_ITEM ARGN FAST)
  endif()
  set(owner precompiled_${set})
  if("FAST" IN_LIST ARGN)
    string(APPEND owner _fast)
  endif()
  if(NOT TARGET ${owner})
    set(source "${PROJECT_BINARY_DIR}/precompiled/${owner}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// ${set}\n")
    add_library(${owner} OBJECT "${source}")
    ductile_settings(${owner})
    if("FAST" IN_LIST ARGN)
      ductile_translate_fast(${owner})
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # The times of the headers' files are no part of it, for ccache.
      target_compile_options(${owner} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    target_link_libraries(${owner} PRIVATE ${DUCTILE_PRECOMPILED_${set}_LINK})
    target_precompile_headers(${owner} PRIVATE ${DUCTILE_PRECOMPILED_${set}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# The sources of a floor as one: most of a translation is headers of libraries and their templates,
# which then are read and made once. So names outside of classes, those of anonymous namespaces as
# well, are unique in a floor.
function(ductile_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  # What is local in one source has the name of something global in another, and types that only this
  # source has seem to come from a header. Other builds look at each source alone.
  target_compile_options(${target} PRIVATE -Wno-shadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# ductile_floor(NAME [FAST] [DEPENDS floor...] [LIBRARIES target...])
#
# FAST                  see ductile_translate_fast; in release builds optimized a little only, by itself
# src/NAME/*.cpp        library ductile_NAME, alias Ductile::NAME; an INTERFACE library while there are
#                       only headers, or nothing yet; main.cpp is left to ductile_program()
# src/NAME/*_test.cpp   one executable NAME_test, ctest's unit/NAME
function(ductile_floor name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAST" "" "DEPENDS;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ductile_floor(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()

  set(folder "${PROJECT_SOURCE_DIR}/src/${name}")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")

  set(library ductile_${name})
  list(TRANSFORM arg_DEPENDS PREPEND "ductile_" OUTPUT_VARIABLE lower)

  if(sources)
    set(scope PUBLIC)
    add_library(${library} STATIC ${sources})
    ductile_settings(${library})
    set(headers libraries)
    if(name IN_LIST DUCTILE_CORE_FLOORS)
      set(headers standard)
    elseif("CLI11::CLI11" IN_LIST arg_LIBRARIES)
      set(headers commands)
    endif()
    # The mutations of tests/mutations replace single objects of the core.
    if(DUCTILE_UNITY AND NOT (DUCTILE_BUILD_TESTS AND name IN_LIST DUCTILE_CORE_FLOORS))
      ductile_unite(${library})
    endif()
    if(arg_FAST)
      ductile_translate_fast(${library})
      ductile_optimize_little(${library})
      ductile_precompiled(${library} ${headers} FAST)
    else()
      ductile_precompiled(${library} ${headers})
    endif()
  else()
    set(scope INTERFACE)
    add_library(${library} INTERFACE)
  endif()
  add_library(Ductile::${name} ALIAS ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${library} ${scope} cxx_std_20)
  target_include_directories(
    ${library}
    ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
             "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ductile>")
  target_link_libraries(${library} ${scope} ${lower} ${arg_LIBRARIES})
  if(DUCTILE_CHECK_INVARIANTS)
    target_compile_definitions(${library} ${scope} DUCTILE_CHECK_INVARIANTS=1)
  endif()
  set_property(GLOBAL APPEND PROPERTY DUCTILE_FLOORS ${library})

  if(tests AND DUCTILE_BUILD_TESTS)
    ductile_gtest(${name}_test SOURCES ${tests} LINK ${library} ENTRY unit/${name} LABEL unit
                  TIMEOUT 1200)
    ductile_translate_fast(${name}_test)
    ductile_precompiled(${name}_test tests FAST)
  endif()
endfunction()

# ductile_program(NAME FLOOR floor): the executable NAME in the root of the build folder, from the
# floor's main.cpp.
function(ductile_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FLOOR" "")
  file(GLOB main CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${arg_FLOOR}/main.cpp")
  if(NOT main)
    return()
  endif()
  add_executable(${name} ${main})
  ductile_settings(${name})
  target_link_libraries(${name} PRIVATE ductile_${arg_FLOOR})
  target_compile_definitions(${name} PRIVATE DUCTILE_VERSION="${PROJECT_VERSION}")
  ductile_translate_fast(${name})
  ductile_precompiled(${name} commands FAST)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  if(DUCTILE_INSTALL)
    install(TARGETS ${name} COMPONENT program)
  endif()
endfunction()

function(ductile_all_floors variable)
  get_property(floors GLOBAL PROPERTY DUCTILE_FLOORS)
  list(REVERSE floors) # the highest first, as a linker wants static libraries
  set(${variable} ${floors} PARENT_SCOPE)
endfunction()

# ductile_gtest(NAME SOURCES file... LINK target... ENTRY name LABEL label TIMEOUT seconds)
#
# One GoogleTest executable, which is one test of ctest's, by the name ENTRY: with sanitizers a process
# of its own for each case takes longer to start than to run. It runs in the source root. The
# definition DUCTILE_SOURCE_DIR is the source root, for runs by hand from elsewhere. Each process has
# its own ::testing::TempDir().
function(ductile_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENTRY;LABEL;TIMEOUT" "SOURCES;LINK")
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  if(NOT TARGET ductile_test_main)
    add_library(ductile_test_main STATIC "${PROJECT_SOURCE_DIR}/tests/test_main.cpp")
    ductile_settings(ductile_test_main)
    target_link_libraries(ductile_test_main PUBLIC GTest::gmock)
  endif()
  add_executable(${name} ${arg_SOURCES})
  ductile_settings(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE DUCTILE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} rapidcheck ductile_test_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  add_test(NAME ${arg_ENTRY} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${arg_ENTRY} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} COST 150)
endfunction()

# ductile_link_everything(TARGET): all floors but the command line and the site's libslurm, and the helpers of tests/support
# where there are any.
function(ductile_link_everything target)
  ductile_all_floors(floors)
  list(REMOVE_ITEM floors ductile_cli ductile_libslurm)
  set(folder "${PROJECT_SOURCE_DIR}/tests/support")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(sources AND NOT TARGET ductile_test_support)
    find_package(GTest REQUIRED GLOBAL)
    find_package(rapidcheck REQUIRED GLOBAL)
    add_library(ductile_test_support STATIC EXCLUDE_FROM_ALL ${sources})
    ductile_settings(ductile_test_support)
    ductile_precompiled(ductile_test_support tests)
    target_compile_definitions(ductile_test_support
                               PRIVATE DUCTILE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(ductile_test_support PUBLIC ${floors} rapidcheck GTest::gmock)
    target_include_directories(ductile_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
  endif()
  if(sources)
    target_link_libraries(${target} PRIVATE ductile_test_support)
  endif()
  # "support/...", and "bench/..." for tests of what the benchmarks compare with.
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests"
                                               "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${floors})
endfunction()

# Is the header the first thing that its source or its test includes? Then these show already that it
# compiles alone.
function(ductile_included_first variable file name)
  string(REGEX REPLACE "\\.hpp$" "" stem "${file}")
  set(${variable} FALSE PARENT_SCOPE)
  foreach(source IN ITEMS "${stem}.cpp" "${stem}_test.cpp")
    if(EXISTS "${source}")
      file(STRINGS "${source}" first REGEX "^#include " LIMIT_COUNT 1)
      if(first STREQUAL "#include \"${name}\"")
        set(${variable} TRUE PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Every header compiles alone. One generated source for each that no source begins with.
function(ductile_header_checks)
  ductile_all_floors(floors)
  if(NOT floors)
    return()
  endif()
  set(root "${PROJECT_BINARY_DIR}/header_checks")
  set(checks)
  foreach(base IN ITEMS src include tests/support)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/${base}"
         "${PROJECT_SOURCE_DIR}/${base}/*.hpp")
    # It needs an MPI; examples/heat includes it.
    list(REMOVE_ITEM headers ductile/app.hpp)
    foreach(header IN LISTS headers)
      if(base STREQUAL "tests/support")
        set(include "support/${header}")
      else()
        set(include "${header}")
      endif()
      ductile_included_first(shown "${PROJECT_SOURCE_DIR}/${base}/${header}" "${include}")
      if(shown)
        continue()
      endif()
      string(REPLACE "/" "__" stem "${base}/${header}")
      set(check "${root}/${stem}.cpp")
      # Written only when its text changes, so that nothing is compiled again for nothing.
      file(CONFIGURE OUTPUT "${check}" @ONLY CONTENT "#include \"@include@\"\n")
      list(APPEND checks "${check}")
    endforeach()
  endforeach()
  if(NOT checks)
    return()
  endif()
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  add_library(header_checks OBJECT ${checks})
  ductile_settings(header_checks)
  target_include_directories(header_checks PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(header_checks PRIVATE -O0 -g0 -fno-sanitize=all)
  target_link_libraries(header_checks PRIVATE ${floors} rapidcheck GTest::gmock)
endfunction()
