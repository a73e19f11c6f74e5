# Installs troupe into a folder of its own, builds the application against it and runs the application.
# Called by ctest with -D for each name below.
foreach(name IN ITEMS BUILD_DIR APPLICATION_DIR WORK_DIR GENERATOR COMPILER BUILD_TYPE)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "check_package.cmake needs -D${name}=...")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# A fresh folder: files of an earlier version must not stand in for ones that are no longer installed.
file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/installed")
run("${CMAKE_COMMAND}" -S "${APPLICATION_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${WORK_DIR}/installed" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/application")
if(NOT output MATCHES "(^|\n)0\\.125\n")
  message(FATAL_ERROR "the application should print 0.125 but printed: ${output}")
endif()

# The command comes with the package.
run("${WORK_DIR}/installed/bin/troupe" --version)
