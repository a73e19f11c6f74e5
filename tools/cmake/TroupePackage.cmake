# `cmake --install` leaves a package that find_package(troupe) finds; tests/install builds an outside application on it.
include(CMakePackageConfigHelpers)

# Headers: those that are public by their place, and what they include (InstallHeaders.cmake follows the includes when
# `cmake --install` runs, so that a changed include needs no new configuration).
install(CODE "
  set(TROUPE_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
  set(TROUPE_INCLUDE_DIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
  include(\"${PROJECT_SOURCE_DIR}/tools/cmake/InstallHeaders.cmake\")" COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/troupe)
install(EXPORT troupe NAMESPACE troupe:: FILE troupe-targets.cmake DESTINATION ${package_dir})
configure_package_config_file("${PROJECT_SOURCE_DIR}/tools/cmake/troupe-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/troupe-config.cmake" INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/troupe-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/troupe-config.cmake" "${PROJECT_BINARY_DIR}/troupe-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/tools/cmake/FindCAF.cmake" "${PROJECT_SOURCE_DIR}/tools/cmake/FindGrpc.cmake"
              "${PROJECT_SOURCE_DIR}/tools/cmake/FindNCCL.cmake"
        DESTINATION ${package_dir})
