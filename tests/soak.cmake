# Tests whose failures need luck, many times over: ./check --long.
function(heddle_soak name rounds)
  add_test(NAME soak_${name} CONFIGURATIONS long COMMAND sh -c
    "i=0; while [ \$i -lt ${rounds} ]; do \"$<TARGET_FILE:${name}>\" >/dev/null || exit \$?; i=\$((i + 1)); done")
  set_tests_properties(soak_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 3600
    LABELS long)
endfunction()

foreach(name fork_join_test job_test pool_test stack_test idle_test)
  heddle_soak(${name} 100)
endforeach()
foreach(name launch_test run_test golden_test program_test)
  heddle_soak(${name} 20)
endforeach()
