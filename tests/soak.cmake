# ./check --long: tests of concurrency 200 times each, with load beside. Sanitizers
# take ten times as long and get a tenth.
set(rounds 200)
if(HEDDLE_SANITIZE)
  set(rounds 20)
endif()

# heddle_soak(PROGRAM [ARGUMENT...])
function(heddle_soak name)
  if(NOT TARGET ${name})
    return()
  endif()
  string(JOIN _ test soak ${name} ${ARGN})
  add_test(NAME ${test} CONFIGURATIONS long COMMAND
    ${PROJECT_SOURCE_DIR}/tests/soak.sh ${rounds} $<TARGET_FILE:${name}> ${ARGN})
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 14400
    RUN_SERIAL ON LABELS long)
endfunction()

foreach(name
    deque_test fork_join_test gang_test home_test idle_test job_test
    loop_test pool_test scope_test stack_test
    broker_test resources_test fault_test grid_test launch_test port_test stop_test units_test
    mailbox_test meeting_test team_test trace_test
    cache_test program_test run_test run_memory_test run_parts_test
    run_started_test runtime_test golden_test)
  heddle_soak(${name})
endforeach()
heddle_soak(steal_stress 300000)
heddle_soak(backend_conformance cpu 2 3)
heddle_soak(backend_conformance cpu 3 2 doorbell)
