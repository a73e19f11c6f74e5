# Builds the program with one compiler and linker, and runs it on processes, as it was linked and stripped. Called by
# ctest with -D for each name below. Prints "skipped: " and why where this compiler or linker is not installed.
cmake_policy(VERSION 3.25)
foreach(name IN ITEMS PREFIX PROGRAM_DIR WORK_DIR GENERATOR COMPILERS FLAGS LINKER_FLAGS FOLDED)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "check_linking.cmake needs -D${name}=...")
  endif()
endforeach()

include("${CMAKE_CURRENT_LIST_DIR}/../support/run.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
file(WRITE "${WORK_DIR}/nothing.cpp" "int main() {}\n")
find_program(compiler NAMES ${COMPILERS})
separate_arguments(all_flags UNIX_COMMAND "${FLAGS} ${LINKER_FLAGS}")
execute_process(COMMAND "${compiler}" ${all_flags} -o "${WORK_DIR}/nothing" "${WORK_DIR}/nothing.cpp"
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message("skipped: no program can be built here with ${COMPILERS} ${FLAGS} ${LINKER_FLAGS}: ${result} ${output}")
  return()
endif()

run("${CMAKE_COMMAND}" -S "${PROGRAM_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${PREFIX}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_FLAGS=-O2 ${FLAGS}" "-DCMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
set(program "${WORK_DIR}/build/closures")
run(strip --strip-all -o "${program}_stripped" "${program}")
set(expected_output "elsewhere: true" "results: 2 3 4 5 6 12 14 10 11 troupe 2")
if(FOLDED)
  list(APPEND expected_output "folded: true")
endif()
foreach(each IN ITEMS "${program}" "${program}_stripped")
  run("${PREFIX}/bin/troupe" run --workers 2 --ps 1 "${each}")
  foreach(expected IN LISTS expected_output)
    if(NOT output MATCHES "${expected}\n")
      message(FATAL_ERROR "${each} should print \"${expected}\"")
    endif()
  endforeach()
endforeach()
