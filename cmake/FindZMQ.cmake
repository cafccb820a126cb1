# ZeroMQ's library, by which Batsim and its schedulers speak: ZMQ::ZMQ. Debian's package is
# libzmq3-dev.

find_path(ZMQ_INCLUDE_DIR zmq.h)
find_library(ZMQ_LIBRARY zmq)
mark_as_advanced(ZMQ_INCLUDE_DIR ZMQ_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZMQ REQUIRED_VARS ZMQ_LIBRARY ZMQ_INCLUDE_DIR)

if(ZMQ_FOUND AND NOT TARGET ZMQ::ZMQ)
  add_library(ZMQ::ZMQ UNKNOWN IMPORTED)
  set_target_properties(
    ZMQ::ZMQ
    PROPERTIES IMPORTED_LOCATION "${ZMQ_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${ZMQ_INCLUDE_DIR}"
               INTERFACE_COMPILE_DEFINITIONS DUCTILE_HAS_ZMQ)
endif()
