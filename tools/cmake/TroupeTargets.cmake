# How troupe's targets are made: warnings are errors, a library is a folder of rooms, headers lie beside their sources and
# are included as <troupe/LIBRARY/ROOM/NAME.hpp>, in the build tree (through links) and once installed, and each
# compiles alone.

include(TroupeCuda)

set(TROUPE_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined or thread")
option(TROUPE_UNITY_BUILD "Compile a room's sources together, eight at a time: less for a whole build, more for one changed line" OFF)
option(TROUPE_QUICK_REBUILD "Compile each source of the libraries alone and unoptimised, for tools/mutation" OFF)
set(TROUPE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")

file(MAKE_DIRECTORY "${TROUPE_INCLUDE_DIR}/troupe")
foreach(library IN ITEMS device actors runtime)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${library}" "${TROUPE_INCLUDE_DIR}/troupe/${library}" SYMBOLIC)
endforeach()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/runtime/troupe.hpp" "${TROUPE_INCLUDE_DIR}/troupe/troupe.hpp" SYMBOLIC)

add_library(troupe_compile_options INTERFACE)
# Designated initialisers leave out on purpose what keeps its default. What nvcc generates is not pedantic.
set(warnings -Wall -Wextra -Wshadow -Werror -Wno-missing-field-initializers)
# GCC 12 takes strings for uninitialised or endless where -O3 inlines them. The presets, which CI builds, use -O2.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  list(APPEND warnings -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=restrict)
endif()
list(JOIN warnings "," nvcc_warnings)
set(unity_options "")
if(TROUPE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A class of one source with a member from its anonymous namespace is still of that one source. And GCC begins to
  # collect garbage at 512 MiB: earlier it costs up to a tenth of the time.
  set(unity_options -Wno-subobject-linkage --param=ggc-min-heapsize=524288)
endif()
target_compile_options(troupe_compile_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings};-Wpedantic;${unity_options}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=${nvcc_warnings}>")
if(TROUPE_SANITIZE)
  # CAF 0.17 binds a null reference in init_fun_factory; everything else of UBSan stays on, and ends the process, as
  # what AddressSanitizer finds does: a test that goes on would have passed. Only what it says of an object's class is no
  # more than said: it looks through a pipe whether there is an object, and in some tests no descriptor is left for one.
  set(sanitizer_options "-fsanitize=${TROUPE_SANITIZE};-fno-sanitize=null;-fno-sanitize-recover=all;-fsanitize-recover=vptr")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitizer_options};-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${TROUPE_SANITIZE})
endif()

# What most sources of a library or test begin with, compiled once. Only others' headers, which never change here; ours
# come as they are included.
set(TROUPE_PRECOMPILED_STANDARD <algorithm> <chrono> <functional> <map> <memory> <mutex> <span> <string> <unordered_map>
                                <vector> <fmt/format.h>)
set(TROUPE_PRECOMPILED_ACTORS <caf/actor_system.hpp> <caf/scoped_actor.hpp> <caf/stateful_actor.hpp>
                              <caf/typed_event_based_actor.hpp>)

# troupe_group_sources(TARGET NAME COUNT SOURCE ...)
# With TROUPE_UNITY_BUILD these sources of a target are compiled together, so many at a time: what they include and the
# templates that they share are compiled once. Those with compile options of their own stay alone.
function(troupe_group_sources target name count)
  set(number 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${number} / ${count}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${group}")
    math(EXPR number "${number} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TROUPE_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
endfunction()

# troupe_add_library(NAME ROOMS ... [EXCEPT REGEX ...] PRECOMPILE ... | PRECOMPILED_BY TARGET DEPENDS ...)
# A library of all sources and headers in the rooms and their folders `internal`, but those whose name matches an
# exception. The room "." is the folder of the rooms itself. tools/cmake/TroupePackage.cmake installs the headers.
function(troupe_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PRECOMPILED_BY" "ROOMS;EXCEPT;PRECOMPILE;DEPENDS")
  set(sources "")
  set(headers "")
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB room_sources CONFIGURE_DEPENDS "${room}/*.cpp" "${room}/*.cu" "${room}/internal/*.cpp" "${room}/internal/*.cu")
    file(GLOB room_headers CONFIGURE_DEPENDS "${room}/*.hpp" "${room}/internal/*.hpp")
    list(APPEND sources ${room_sources})
    set(sources_of_${room} ${room_sources})
    list(APPEND headers ${room_headers})
  endforeach()
  foreach(exception IN LISTS arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/${exception}$")
    list(FILTER headers EXCLUDE REGEX "/${exception}$")
  endforeach()
  add_library(troupe_${name} STATIC ${sources})
  add_library(troupe::${name} ALIAS troupe_${name})
  target_include_directories(troupe_${name} PUBLIC "$<BUILD_INTERFACE:${TROUPE_INCLUDE_DIR}>"
                                                   "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(troupe_${name} PUBLIC cxx_std_20)
  target_link_libraries(troupe_${name} PUBLIC ${arg_DEPENDS} PRIVATE $<BUILD_INTERFACE:troupe_compile_options>)
  if(arg_PRECOMPILED_BY)
    target_precompile_headers(troupe_${name} REUSE_FROM ${arg_PRECOMPILED_BY})
  else()
    target_precompile_headers(troupe_${name} PRIVATE ${arg_PRECOMPILE})
  endif()
  if(TROUPE_QUICK_REBUILD)
    target_compile_options(troupe_${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-O0;-g0>")
  else()
    foreach(room IN LISTS arg_ROOMS)
      troupe_group_sources(troupe_${name} "${name}_${room}" 8 ${sources_of_${room}})
    endforeach()
  endif()
  set_target_properties(troupe_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  install(TARGETS troupe_${name} EXPORT troupe ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

  # all_verify_interface_header_sets compiles each header alone.
  list(TRANSFORM headers REPLACE "^${PROJECT_SOURCE_DIR}/" "${TROUPE_INCLUDE_DIR}/troupe/")
  add_library(troupe_${name}_headers INTERFACE)
  target_sources(troupe_${name}_headers INTERFACE FILE_SET HEADERS BASE_DIRS "${TROUPE_INCLUDE_DIR}" FILES ${headers})
  target_link_libraries(troupe_${name}_headers INTERFACE troupe_${name} $<TARGET_PROPERTY:troupe_${name},LINK_LIBRARIES>)
  target_compile_definitions(troupe_${name}_headers INTERFACE $<TARGET_PROPERTY:troupe_${name},COMPILE_DEFINITIONS>)
  target_include_directories(troupe_${name}_headers SYSTEM INTERFACE $<TARGET_PROPERTY:troupe_${name},INCLUDE_DIRECTORIES>)
  set_target_properties(troupe_${name}_headers PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# troupe_add_program(NAME SOURCES ... [DEPENDS ...])
function(troupe_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE troupe::runtime ${arg_DEPENDS} troupe_compile_options)
endfunction()

# troupe_add_protocol(TARGET FILE.proto [FOLDER NAME])
# Compiles what gRPC's generator makes of the protocol into the target, whose sources include it as "FOLDER/FILE.pb.h". A
# protocol's name is known to the whole process (protobuf refuses a second one), so a library's has a folder. The
# generated code obeys its generator's rules, not ours.
function(troupe_add_protocol target source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "FOLDER" "")
  set(root "${CMAKE_CURRENT_BINARY_DIR}/proto")
  cmake_path(GET source STEM name)
  cmake_path(APPEND arg_FOLDER "${name}" OUTPUT_VARIABLE stem)
  cmake_path(GET stem PARENT_PATH folder)
  file(MAKE_DIRECTORY "${root}/${folder}")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${source}" "${root}/${stem}.proto" SYMBOLIC)
  set(sources "${root}/${stem}.pb.cc" "${root}/${stem}.grpc.pb.cc")
  add_custom_command(
    OUTPUT ${sources} "${root}/${stem}.pb.h" "${root}/${stem}.grpc.pb.h"
    COMMAND "${GRPC_PROTOC}" "--proto_path=${root}" "--cpp_out=${root}" "--grpc_out=${root}"
            "--plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN}" "${stem}.proto"
    DEPENDS "${source}" VERBATIM)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -w)
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} SYSTEM PRIVATE "${root}")
  target_link_libraries(${target} PRIVATE Grpc::grpc++)
endfunction()

# troupe_add_tests(LABEL PROGRAM [SOURCES ...] [DEPENDS ...] [TIMEOUT SECONDS] [MAIN SOURCE])
# One Boost.Test program of all sources in this folder (or of those named), and one test LABEL.NAME for each source
# NAME.cpp that holds a suite NAME_suite, under that label (unit, simulation, cluster, hosts, gpu). The target LABEL_tests
# builds all programs of a label. MAIN stands in for Boost's own main.
function(troupe_add_tests label program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT;MAIN" "SOURCES;DEPENDS")
  set(target ${label}_${program})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  if(arg_MAIN)
    set_source_files_properties(${arg_MAIN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  else()
    set(arg_MAIN $<TARGET_OBJECTS:test_main>)
  endif()
  add_executable(${target} ${arg_SOURCES} ${arg_MAIN})
  target_precompile_headers(${target} REUSE_FROM test_main)
  troupe_group_sources(${target} ${target} 8 ${arg_SOURCES})
  target_compile_definitions(${target} PRIVATE BOOST_TEST_DYN_LINK)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE ${arg_DEPENDS} troupe::runtime Boost::unit_test_framework troupe_compile_options)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(NOT TARGET ${label}_tests)
    add_custom_target(${label}_tests)
  endif()
  add_dependencies(${label}_tests ${target})
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM name)
    file(STRINGS "${source}" suite REGEX "^BOOST_AUTO_TEST_SUITE\\(${name}_suite" LIMIT_COUNT 1)
    if(suite)
      troupe_add_suite(${label} ${name} ${target} ${arg_TIMEOUT})
    endif()
  endforeach()
endfunction()

# troupe_add_gpu_suite(NAME PROGRAM [TIMEOUT])
# A suite that is written for any devices (tests/support/test_devices.hpp), besides on CPUs: as gpu.NAME on emulated GPUs, and
# where there are real ones when the build is configured, as gpu.NAME_on_real_gpus.
function(troupe_add_gpu_suite name target)
  if(NOT TARGET gpu_tests)
    add_custom_target(gpu_tests)
  endif()
  add_dependencies(gpu_tests ${target})
  troupe_add_suite(gpu ${name} ${target} ${ARGN})
  set_tests_properties(gpu.${name} PROPERTIES ENVIRONMENT "TROUPE_TEST_DEVICES=GPU;TROUPE_EMULATED_GPUS=8")
  if(EXISTS /dev/nvidiactl)
    add_test(NAME gpu.${name}_on_real_gpus
             COMMAND ${target} --run_test=${name}_suite --log_level=test_suite --color_output=no)
    set_tests_properties(gpu.${name}_on_real_gpus PROPERTIES LABELS gpu TIMEOUT 300 ENVIRONMENT TROUPE_TEST_DEVICES=GPU
                                                             SKIP_RETURN_CODE 77 RESOURCE_LOCK gpu)
  endif()
endfunction()

# troupe_add_suite(LABEL NAME PROGRAM [TIMEOUT])
# The suite NAME_suite of a test program as the test LABEL.NAME.
function(troupe_add_suite label name target)
  set(timeout ${ARGN})
  if(NOT timeout)
    set(timeout 120)
  endif()
  if(TROUPE_SANITIZE)
    # Ten to twenty times as slow, and without optimisation.
    math(EXPR timeout "${timeout} * 5")
  endif()
  add_test(NAME ${label}.${name} COMMAND ${target} --run_test=${name}_suite --log_level=test_suite --color_output=no)
  set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout})
  if(label STREQUAL "cluster")
    set_tests_properties(${label}.${name} PROPERTIES PROCESSORS 2)
  elseif(label STREQUAL "hosts")
    set_tests_properties(${label}.${name} PROPERTIES PROCESSORS 2 SKIP_RETURN_CODE 77)
  endif()
endfunction()
