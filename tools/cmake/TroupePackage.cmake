# `cmake --install` leaves a package that find_package(troupe) finds and that may be moved as a whole: the component
# `runtime` is the command, `development` all else. `cpack` makes a Debian package of each. tests/install builds an
# outside application on both.
include(CMakePackageConfigHelpers)

# Headers: those that are public by their place, and what they include (InstallHeaders.cmake follows the includes when
# `cmake --install` runs, so that a changed include needs no new configuration).
install(CODE "
  set(TROUPE_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
  set(TROUPE_INCLUDE_DIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
  include(\"${PROJECT_SOURCE_DIR}/tools/cmake/InstallHeaders.cmake\")" COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
install(EXPORT troupe NAMESPACE troupe:: FILE troupe-targets.cmake DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/tools/cmake/troupe-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/troupe-config.cmake" INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/troupe-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/troupe-config.cmake" "${PROJECT_BINARY_DIR}/troupe-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/tools/cmake/FindCAF.cmake" "${PROJECT_SOURCE_DIR}/tools/cmake/FindElfutils.cmake"
              "${PROJECT_SOURCE_DIR}/tools/cmake/FindGrpc.cmake" "${PROJECT_SOURCE_DIR}/tools/cmake/FindNCCL.cmake"
        DESTINATION ${package_dir} COMPONENT development)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# The licence, by the name and in the folders that Debian wants, and the pages with the lessons (install_pages.py makes
# their links fit the installed files).
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/troupe
        COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libtroupe-dev COMPONENT development)
install(CODE "
  execute_process(COMMAND \"${Python3_EXECUTABLE}\" -B \"${PROJECT_SOURCE_DIR}/tools/cmake/install_pages.py\"
                          \"${PROJECT_SOURCE_DIR}\"
                          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATAROOTDIR}/doc/troupe\"
                          \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/troupe\"
                  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT development)

# troupe_VERSION_ARCHITECTURE.deb and libtroupe-dev_VERSION_ARCHITECTURE.deb. Programs depend on the libraries that they
# load (dpkg-shlibdeps), the development package also on what its users compile and link against.
execute_process(COMMAND bash -c "source tools/packages && IFS=, && echo \"\${library_packages[*]}\""
                WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE library_packages
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "," ", " library_packages "${library_packages}")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the troupe authors")
set(CPACK_PACKAGE_VENDOR "the troupe authors")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME troupe)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION net)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Runs programs as clusters of processes on this machine")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtroupe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_packages}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS troupe)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}: libraries, headers and benchmarks")
include(CPack)
