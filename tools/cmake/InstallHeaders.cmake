# Installs the public headers below TROUPE_SOURCE_DIR, and every header that they include, into TROUPE_INCLUDE_DIR/troupe.
#
# Public is the facade (runtime/*.hpp) and what lies in a room of device/ and actors/; the rooms of runtime/ and folders
# named `internal` are not, and come along only where a public header needs them.
cmake_policy(VERSION 3.25)  # an installation script begins without any

file(GLOB found RELATIVE "${TROUPE_SOURCE_DIR}" "${TROUPE_SOURCE_DIR}/device/*/*.hpp" "${TROUPE_SOURCE_DIR}/actors/*/*.hpp"
     "${TROUPE_SOURCE_DIR}/runtime/*.hpp")
set(installed "")
while(found)
  list(POP_FRONT found header)
  if(header IN_LIST installed)
    continue()
  endif()
  list(APPEND installed "${header}")
  file(STRINGS "${TROUPE_SOURCE_DIR}/${header}" includes REGEX "^#include <troupe/.*>$")
  list(TRANSFORM includes REPLACE "^#include <troupe/(.*)>$" "\\1")
  list(APPEND found ${includes})
endwhile()

# The one header of all applications is <troupe/troupe.hpp>.
list(REMOVE_ITEM installed runtime/troupe.hpp)
file(INSTALL DESTINATION "${TROUPE_INCLUDE_DIR}/troupe" TYPE FILE FILES "${TROUPE_SOURCE_DIR}/runtime/troupe.hpp")
foreach(header IN LISTS installed)
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL DESTINATION "${TROUPE_INCLUDE_DIR}/troupe/${folder}" TYPE FILE FILES "${TROUPE_SOURCE_DIR}/${header}")
endforeach()
