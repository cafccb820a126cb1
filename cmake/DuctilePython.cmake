# Is the Python module to be built (DUCTILE_WITH_PYTHON), and can it be? Sets DUCTILE_HAS_PYTHON.

include_guard()

set(DUCTILE_PYTHON_DIR "lib/python3/dist-packages" CACHE STRING
    "Where the Python module is installed, within the prefix")
set(DUCTILE_HAS_PYTHON FALSE)
if(DUCTILE_WITH_PYTHON STREQUAL "OFF" OR CMAKE_CROSSCOMPILING)
  return()
endif()

set(needed)
if(DUCTILE_WITH_PYTHON STREQUAL "ON")
  set(needed REQUIRED)
endif()
# Debian's, for which its numpy and pandas are, and not the first one in PATH.
if(NOT Python_EXECUTABLE)
  find_program(Python_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
endif()
find_package(Python 3.9 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS
             Development.Embed ${needed} QUIET)
find_package(pybind11 2.10 CONFIG ${needed} QUIET)
if(NOT Python_FOUND OR NOT pybind11_FOUND)
  message(STATUS "No Python module: python3-dev or pybind11-dev is missing (scripts/setup --python)")
  return()
endif()
set(DUCTILE_HAS_PYTHON TRUE)
# All floors become parts of a shared library. Nobody puts other functions in the place of theirs.
add_compile_options(-fPIC)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fno-semantic-interposition)
endif()
