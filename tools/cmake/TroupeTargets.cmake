# How troupe's targets are made: warnings are errors, headers lie beside their sources and are included as
# <troupe/LIBRARY/NAME.hpp>, in the build tree (through links) and once installed, and each compiles alone.

include(TroupeCuda)

set(TROUPE_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined or thread")
set(TROUPE_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")

file(MAKE_DIRECTORY "${TROUPE_INCLUDE_DIR}/troupe")
foreach(library IN ITEMS device actors runtime)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${library}" "${TROUPE_INCLUDE_DIR}/troupe/${library}" SYMBOLIC)
endforeach()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/runtime/troupe.hpp" "${TROUPE_INCLUDE_DIR}/troupe/troupe.hpp" SYMBOLIC)

add_library(troupe_compile_options INTERFACE)
# Designated initialisers leave out on purpose what keeps its default. What nvcc generates is not pedantic.
set(warnings -Wall -Wextra -Wshadow -Werror -Wno-missing-field-initializers)
list(JOIN warnings "," nvcc_warnings)
target_compile_options(troupe_compile_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings};-Wpedantic>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=${nvcc_warnings}>")
if(TROUPE_SANITIZE)
  # CAF 0.17 binds a null reference in init_fun_factory; everything else of UBSan stays on.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TROUPE_SANITIZE};-fno-sanitize=null;-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${TROUPE_SANITIZE})
endif()

# troupe_add_library(NAME SOURCES ... HEADERS ... DEPENDS ...)
function(troupe_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;DEPENDS")
  add_library(troupe_${name} STATIC ${arg_SOURCES})
  add_library(troupe::${name} ALIAS troupe_${name})
  list(TRANSFORM arg_HEADERS PREPEND "${TROUPE_INCLUDE_DIR}/troupe/")
  target_sources(troupe_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${TROUPE_INCLUDE_DIR}" FILES ${arg_HEADERS})
  target_compile_features(troupe_${name} PUBLIC cxx_std_20)
  target_link_libraries(troupe_${name} PUBLIC ${arg_DEPENDS} PRIVATE $<BUILD_INTERFACE:troupe_compile_options>)
  set_target_properties(troupe_${name} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON
                        POSITION_INDEPENDENT_CODE ON)
  install(TARGETS troupe_${name} EXPORT troupe ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
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

# troupe_add_test(LABEL NAME SOURCES ... [DEPENDS ...] [TIMEOUT SECONDS])
# One Boost.Test program LABEL_NAME, run by ctest under the label (unit, simulation, cluster, perf). The target
# LABEL_tests builds all programs of a label.
function(troupe_add_test label name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "SOURCES;DEPENDS")
  set(target ${label}_${name})
  add_executable(${target} ${arg_SOURCES})
  target_compile_definitions(${target} PRIVATE BOOST_TEST_DYN_LINK BOOST_TEST_MODULE=${target})
  target_link_libraries(${target} PRIVATE ${arg_DEPENDS} Boost::unit_test_framework troupe_compile_options)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(NOT TARGET ${label}_tests)
    add_custom_target(${label}_tests)
  endif()
  add_dependencies(${label}_tests ${target})
  add_test(NAME ${label}.${name} COMMAND ${target} --log_level=test_suite --color_output=no)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(TROUPE_SANITIZE)
    # Ten to twenty times as slow, and without optimisation.
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
  if(label STREQUAL "cluster")
    set_tests_properties(${label}.${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()

# troupe_add_device_test(NAME SOURCES ... [DEPENDS ...] [TIMEOUT SECONDS])
# A test that is written for any devices (tests/gpu/test_devices.hpp), as two: unit.NAME on CPUs, and gpu.NAME on GPUs,
# under the label gpu, which ctest reports as skipped where there is none.
function(troupe_add_device_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPENDS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  troupe_add_test(unit ${name} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS} test_devices TIMEOUT ${arg_TIMEOUT})
  if(NOT TARGET gpu_tests)
    add_custom_target(gpu_tests)
  endif()
  add_dependencies(gpu_tests unit_${name})
  add_test(NAME gpu.${name} COMMAND unit_${name} --log_level=test_suite --color_output=no)
  set_tests_properties(gpu.${name} PROPERTIES LABELS gpu TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
                       ENVIRONMENT TROUPE_TEST_DEVICES=GPU RESOURCE_LOCK gpu)
endfunction()
