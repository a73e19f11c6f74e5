# FindCAF.cmake accepts CAF 0.17 only, from 0.17.6 on, and says so of others, whether they come with a package
# configuration or as headers. The versions are made up here. Called by ctest with -D for each name below.
cmake_policy(VERSION 3.25)
foreach(name IN ITEMS MODULES WORK_DIR GENERATOR)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "check_caf_version.cmake needs -D${name}=...")
  endif()
endforeach()
include(CMakePackageConfigHelpers)
set(refusal "troupe needs CAF 0\\.17\\.6 or a later 0\\.17")

# expect(NAME OUTPUT): what CMake says of the CAF in the folder NAME.
function(expect name expected)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/caf_version"
                          -B "${WORK_DIR}/${name}/build" -G "${GENERATOR}" "-DMODULES=${MODULES}"
                          "-DCMAKE_FIND_ROOT_PATH=${WORK_DIR}/${name}" -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY
                          -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "CAF as in ${WORK_DIR}/${name} should be answered with \"${expected}\", not: ${output}")
  endif()
endfunction()

# configuration(NAME VERSION COMPATIBILITY)
function(configuration name version compatibility)
  set(folder "${WORK_DIR}/${name}/usr/lib/cmake/CAF")
  file(WRITE "${folder}/CAFConfig.cmake" "add_library(CAF::core INTERFACE IMPORTED)\nadd_library(CAF::io INTERFACE IMPORTED)\n")
  write_basic_package_version_file("${folder}/CAFConfigVersion.cmake" VERSION ${version} COMPATIBILITY ${compatibility}
                                   ARCH_INDEPENDENT)
endfunction()

# headers(NAME NUMBER)
function(headers name number)
  file(WRITE "${WORK_DIR}/${name}/usr/include/caf/config.hpp" "#define CAF_VERSION ${number}\n")
  foreach(library IN ITEMS core io)
    file(WRITE "${WORK_DIR}/${name}/usr/lib/libcaf_${library}.so" "")
  endforeach()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
# That of CAF 0.18 accepts each version of 0.
configuration(newer 0.18.5 SameMajorVersion)
expect(newer "${refusal}.*seen: 0\\.18\\.5\\)")
configuration(older 0.17.5 SameMajorVersion)
expect(older "${refusal}.*seen: 0\\.17\\.5\\)")
configuration(later_0_17 0.17.7 SameMajorVersion)
expect(later_0_17 "CAF 0\\.17\\.7 will do")
# One that does not know ranges of versions.
configuration(accepting 0.18.5 SameMajorVersion)
file(WRITE "${WORK_DIR}/accepting/usr/lib/cmake/CAF/CAFConfigVersion.cmake"
     "set(PACKAGE_VERSION 0.18.5)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
expect(accepting "${refusal}.*seen: 0\\.18\\.5\\)")
headers(newer_headers 1805)
expect(newer_headers "${refusal}.*seen: 0\\.18\\.5\\)")
headers(older_headers 1705)
expect(older_headers "${refusal}.*seen: 0\\.17\\.5\\)")
