# Finds elfutils' library that reads debug information. Provides Elfutils::dw.
include(FindPackageHandleStandardArgs)

find_path(ELFUTILS_INCLUDE_DIR elfutils/libdwfl.h HINTS ${ELFUTILS_ROOT} PATH_SUFFIXES include)
find_library(ELFUTILS_dw_LIBRARY dw HINTS ${ELFUTILS_ROOT})
mark_as_advanced(ELFUTILS_INCLUDE_DIR ELFUTILS_dw_LIBRARY)

find_package_handle_standard_args(Elfutils REQUIRED_VARS ELFUTILS_dw_LIBRARY ELFUTILS_INCLUDE_DIR)

if(Elfutils_FOUND AND NOT TARGET Elfutils::dw)
  add_library(Elfutils::dw UNKNOWN IMPORTED)
  set_target_properties(Elfutils::dw PROPERTIES
    IMPORTED_LOCATION "${ELFUTILS_dw_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${ELFUTILS_INCLUDE_DIR}")
endif()
