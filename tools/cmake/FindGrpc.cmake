# Finds gRPC for C++ with protobuf and server reflection.
#
#   find_package(Grpc 1.51 REQUIRED)
#
# Provides Grpc::grpc++ with all that programs need, and GRPC_PROTOC and GRPC_CPP_PLUGIN to generate code.
#
# Why not gRPC's own package configuration: it names forty libraries of gRPC and Abseil, which every program would load
# when it starts, also those that never call anything. Here a program loads only the libraries that it uses.
include(FindPackageHandleStandardArgs)

find_path(GRPC_INCLUDE_DIR grpcpp/grpcpp.h HINTS ${GRPC_ROOT} PATH_SUFFIXES include)
find_program(GRPC_PROTOC protoc HINTS ${GRPC_ROOT} PATH_SUFFIXES bin)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin HINTS ${GRPC_ROOT} PATH_SUFFIXES bin)
mark_as_advanced(GRPC_INCLUDE_DIR GRPC_PROTOC GRPC_CPP_PLUGIN)

# Those whose symbols headers and generated code use directly.
set(_grpc_libraries "")
foreach(_grpc_name IN ITEMS grpc++_reflection grpc++ grpc gpr protobuf absl_synchronization)
  find_library(GRPC_${_grpc_name}_LIBRARY ${_grpc_name} HINTS ${GRPC_ROOT} PATH_SUFFIXES lib)
  mark_as_advanced(GRPC_${_grpc_name}_LIBRARY)
  list(APPEND _grpc_libraries GRPC_${_grpc_name}_LIBRARY)
endforeach()

if(GRPC_INCLUDE_DIR)
  file(STRINGS "${GRPC_INCLUDE_DIR}/grpcpp/version_info.h" _grpc_line REGEX "GRPC_CPP_VERSION_STRING")
  string(REGEX REPLACE "^.*\"([0-9.]+).*$" "\\1" GRPC_VERSION "${_grpc_line}")
endif()

find_package_handle_standard_args(Grpc REQUIRED_VARS GRPC_INCLUDE_DIR ${_grpc_libraries} VERSION_VAR GRPC_VERSION)

if(Grpc_FOUND AND NOT TARGET Grpc::grpc++)
  # In the cache, because a project that contains this one links its programs in a scope of its own.
  set(CMAKE_LINK_LIBRARY_USING_TROUPE_AS_NEEDED "LINKER:--push-state,--as-needed" "<LINK_ITEM>" "LINKER:--pop-state"
    CACHE INTERNAL "Libraries that only those programs load that use them")
  set(CMAKE_LINK_LIBRARY_USING_TROUPE_AS_NEEDED_SUPPORTED TRUE CACHE INTERNAL "")
  set(_grpc_paths "")
  foreach(_grpc_library IN LISTS _grpc_libraries)
    list(APPEND _grpc_paths "${${_grpc_library}}")
  endforeach()
  list(JOIN _grpc_paths "," _grpc_paths)
  find_package(Threads REQUIRED)
  add_library(Grpc::grpc++ INTERFACE IMPORTED)
  set_target_properties(Grpc::grpc++ PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${GRPC_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "$<LINK_LIBRARY:TROUPE_AS_NEEDED,${_grpc_paths}>;Threads::Threads")
endif()
