# Bundle bitcode files into parts that are read one by one, when a program uses
# a function of theirs:
#
#     cmake -D OPT= -D SPLIT= -D NM= -D OUTPUT= -P parts.cmake -- FILE...
#
# OUTPUT.bc holds one part after the other, each a whole file of bitcode that has
# been simplified. OUTPUT.index is sorted text: "FUNCTION OFFSET SIZE" is a line.
cmake_minimum_required(VERSION 3.25)
set(part_size 65536) # about; larger files are split [bytes]
set(simplify "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)")
set(work ${OUTPUT}.parts)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_VARIABLE output ERROR_VARIABLE messages)
  set(output "${output}" PARENT_SCOPE)
endfunction()

math(EXPR last "${CMAKE_ARGC} - 1")
set(files "")
foreach(i RANGE ${last})
  if(collect)
    list(APPEND files ${CMAKE_ARGV${i}})
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(collect TRUE)
  endif()
endforeach()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(parts "")
foreach(file ${files})
  cmake_path(GET file STEM name)
  run(${OPT} -passes=${simplify} ${file} -o ${work}/${name}.bc)
  file(SIZE ${work}/${name}.bc size)
  math(EXPR count "${size} / ${part_size} + 1")
  run(${SPLIT} --preserve-locals -j ${count} ${work}/${name}.bc -o ${work}/${name}.)
  math(EXPR count "${count} - 1")
  foreach(i RANGE ${count})
    run(${OPT} -passes=strip-dead-prototypes ${work}/${name}.${i}
      -o ${work}/${name}.${i})
    list(APPEND parts ${work}/${name}.${i})
  endforeach()
endforeach()

set(offset 0)
set(lines "")
foreach(part ${parts})
  file(SIZE ${part} size)
  run(${NM} --extern-only --defined-only --format=just-symbols ${part})
  string(REGEX REPLACE "([^\n]+)\n" "\\1 ${offset} ${size};" symbols "${output}")
  list(APPEND lines ${symbols})
  math(EXPR offset "${offset} + ${size}")
endforeach()
list(SORT lines COMPARE STRING)
list(JOIN lines "\n" text)
file(WRITE ${OUTPUT}.index "${text}\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${parts}
  OUTPUT_FILE ${OUTPUT}.bc COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${work})
