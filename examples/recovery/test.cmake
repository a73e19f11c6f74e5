# The job of lesson 11 in real processes: it survives the loss of servers and of a worker, and a second job goes on from
# the checkpoint of the first.
# -DTROUPE= the command, -DPROGRAM= the lesson's, -DFOLDER= an empty one.
function(expect text)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0 OR NOT output MATCHES "${text}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: exit code ${result} and not 0, or no \"${text}\" in:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
set(job ${PROGRAM} --checkpoint job.safetensors)
expect("steps         400.*recoveries    [1-9].*weights       2\\.00 -3\\.00 1\\.00" ${TROUPE} chaos --workers 2 --ps 2
       --plan ${CMAKE_CURRENT_LIST_DIR}/plan.json ${job} --new)
expect("goes on from step 400 of 420.*steps         420.*recoveries    0" ${TROUPE} run --workers 1 --ps 1 ${job}
       --steps 420)
