# `troupe simulate` as lesson 8 uses it: what is found is kept, fails again, and wrong usage is refused.
# -DTROUPE= the command, -DPROGRAM= the lesson's, -DFOLDER= an empty one.
function(expect code text)
  execute_process(COMMAND ${TROUPE} simulate ${ARGN} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE result
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL code OR NOT output MATCHES "${text}")
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "simulate ${arguments}: exit code ${result} and not ${code}, or no \"${text}\" in:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
expect(0 "no addition was lost" --seeds 30 --first-seed 7 -- ${PROGRAM})
expect(1 "an acknowledged addition is lost" ${PROGRAM} --acknowledge-first)
foreach(name report.txt plan.json environment run.html run.mmd)
  if(NOT EXISTS "${FOLDER}/found/${name}")
    message(FATAL_ERROR "there is no ${FOLDER}/found/${name}")
  endif()
endforeach()
expect(1 "found in run 1, shrunk in 0 more" --again found ${PROGRAM} --acknowledge-first)
# The fault is mended: the very run is good.
expect(0 "^1 runs in" --again found ${PROGRAM})
expect(1 "found in run 1, shrunk in 0 more" --seed 4 --plan found/plan.json --found other ${PROGRAM} --acknowledge-first)

expect(2 "PROGRAM" --seeds 3)
expect(2 "plan" --plan found/plan.json ${PROGRAM})
expect(2 "excludes" --seed 3 --seeds 4 ${PROGRAM})
expect(2 "nowhere/environment" --again nowhere ${PROGRAM})
expect(2 "nowhere.json" --seed 4 --plan nowhere.json ${PROGRAM})
expect(127 "no_such_program" no_such_program)
file(WRITE "${FOLDER}/broken.json" "{")
expect(2 "no JSON" --seed 4 --plan broken.json ${PROGRAM})
