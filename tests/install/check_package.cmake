# Installs troupe, moves the installed files elsewhere, takes checkout and build folder away, builds the application
# against what is left, and runs it. Called by ctest with -D for each name below.
foreach(name IN ITEMS SOURCE_DIR BUILD_DIR WORK_DIR GENERATOR COMPILER BUILD_TYPE PYTHON)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "check_package.cmake needs -D${name}=...")
  endif()
endforeach()
set(tests "${SOURCE_DIR}/tests/install")

include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

# A fresh folder: files of an earlier version must not stand in for ones that are no longer installed.
file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/installed")
file(RENAME "${WORK_DIR}/installed" "${WORK_DIR}/moved")
file(COPY "${tests}/application" "${tests}/without_checkout" DESTINATION "${WORK_DIR}")
foreach(page IN ITEMS README.md examples/guide/actors.md)
  run("${tests}/page_programs" "${SOURCE_DIR}/${page}" "${WORK_DIR}/application/pages")
endforeach()

# Files are files, and none that a compiler or CMake reads names where it came from. (Libraries and programs may: their
# debug information says which sources they are made of.)
file(GLOB_RECURSE installed "${WORK_DIR}/moved/*")
foreach(file IN LISTS installed)
  if(IS_SYMLINK "${file}")
    message(FATAL_ERROR "${file} is a link")
  endif()
  if(file MATCHES "\\.(hpp|cmake|proto)$")
    file(READ "${file}" text)
    foreach(folder IN ITEMS "${SOURCE_DIR}" "${BUILD_DIR}" "${WORK_DIR}/installed")
      string(FIND "${text}" "${folder}" position)
      if(NOT position EQUAL -1)
        message(FATAL_ERROR "${file} names ${folder}")
      endif()
    endforeach()
  endif()
endforeach()

# Where no folder can be hidden, what was said above has to do.
set(root /mnt)
set(view "${WORK_DIR}/without_checkout" "${SOURCE_DIR}" "${BUILD_DIR}" "${WORK_DIR}")
execute_process(COMMAND ${view} true RESULT_VARIABLE result)
if(result EQUAL 77)
  message("This machine lets nobody hide the checkout: it stays visible to the application's build.")
  set(root "${WORK_DIR}")
  set(view "")
endif()

# Nobody who has the library needs what only its benchmarks do.
run(${view} "${CMAKE_COMMAND}" -S "${root}/application" -B "${root}/build" -G "${GENERATOR}"
    "-DCMAKE_DISABLE_FIND_PACKAGE_Gloo=ON" "-DCMAKE_PREFIX_PATH=${root}/moved" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run(${view} "${CMAKE_COMMAND}" --build "${root}/build")
run(${view} "${root}/build/application")
if(NOT output MATCHES "(^|\n)0\\.125\n")
  message(FATAL_ERROR "the application should print 0.125 but printed: ${output}")
endif()
run(${view} "${root}/build/simulated")
if(NOT output MATCHES "(^|\n)42\n")
  message(FATAL_ERROR "the simulated application should print 42 but printed: ${output}")
endif()

# So do the whole programs of the pages, as they stand there, and the one with an actor on each worker is short.
run(${view} "${root}/build/readme_1")
if(NOT output MATCHES "(^|\n)0\\.125\n")
  message(FATAL_ERROR "the README's first program should print 0.125 but printed: ${output}")
endif()
run(${view} "${root}/build/actors_1")
if(NOT output MATCHES "(^|\n)20\\.5\n")
  message(FATAL_ERROR "the sensor of examples/guide/actors.md should print 20.5 but printed: ${output}")
endif()
file(STRINGS "${WORK_DIR}/application/pages/actors_1.cpp" lines)
list(LENGTH lines length)
if(length GREATER_EQUAL 60)
  message(FATAL_ERROR "a program with an actor on each worker should take less than 60 lines, but that of "
                      "examples/guide/actors.md has ${length}")
endif()

# The pages are part of the package, with its licence, and their links lead to what is installed.
foreach(file IN ITEMS copyright README.md examples/README.md examples/counter/counter.cpp examples/reference/limits.md)
  if(NOT EXISTS "${WORK_DIR}/moved/share/doc/troupe/${file}")
    message(FATAL_ERROR "the package has no share/doc/troupe/${file}")
  endif()
endforeach()
run("${PYTHON}" -B "${SOURCE_DIR}/tests/documents/check_links.py" "${WORK_DIR}/moved" "${WORK_DIR}/moved/share/doc/troupe")

# The command comes with the package.
run(${view} "${root}/moved/bin/troupe" --version)
run(${view} "${root}/moved/bin/troupe" run --workers 2 --ps 1 "${root}/build/application")
if(NOT output MATCHES "0\\.125\n")
  message(FATAL_ERROR "the application should print 0.125 as a cluster of processes but printed: ${output}")
endif()
run(${view} "${root}/moved/bin/troupe" run --workers 2 --ps 0 "${root}/build/actors_1")
if(NOT output MATCHES "20\\.5\n")
  message(FATAL_ERROR "the sensor of examples/guide/actors.md should print 20.5 in processes but printed: ${output}")
endif()
