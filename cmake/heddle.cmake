# Words the folders below use to say what they add.

# Add a folder's sources to the library; HDI_MODULE is the folder in messages.
function(heddle_sources module)
  foreach(file ${ARGN})
    set(path ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    target_sources(heddle_objects PRIVATE ${path})
    set_property(SOURCE ${path} TARGET_DIRECTORY heddle_objects
      APPEND PROPERTY COMPILE_DEFINITIONS "HDI_MODULE=\"${module}\"")
  endforeach()
endfunction()

# Link the library against others.
function(heddle_links)
  target_link_libraries(heddle_objects PRIVATE ${ARGN})
  target_link_libraries(heddle PRIVATE ${ARGN})
  target_link_libraries(heddle_static PUBLIC ${ARGN})
endfunction()

# Packages of pkg-config that a program needs which links the static library.
function(heddle_requires)
  set_property(GLOBAL APPEND PROPERTY heddle_requires ${ARGN})
endfunction()

# Some 200 programs link the library and more: lld and gold take a fifth to a half of
# the default linker's time. gold warns of each symbol of a sanitizer.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=lld HEDDLE_LLD)
check_linker_flag(C -fuse-ld=gold HEDDLE_GOLD)
set(heddle_linker "")
if(HEDDLE_LLD)
  set(heddle_linker -fuse-ld=lld)
elseif(HEDDLE_GOLD AND NOT HEDDLE_SANITIZE)
  set(heddle_linker -fuse-ld=gold)
endif()

# Build a program that may use the inside of the library.
function(heddle_inside name)
  add_executable(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE HDI_MODULE="${name}")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE heddle_static)
  target_link_options(${name} PRIVATE ${heddle_linker})
endfunction()

# Build foo_test.c, beside what it tests, into a test of the same name.
function(heddle_test name)
  if(NOT HEDDLE_TESTS)
    return()
  endif()
  heddle_inside(${name} ${name}.c)
  # What is tested is compiled as it is shipped; the test itself briefly.
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

# Tests that need every core, or measure time: none runs beside them.
function(heddle_alone)
  if(HEDDLE_TESTS)
    set_tests_properties(${ARGN} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# Tests that find nothing more in some builds, which leave them out but for
# ./check --long (see CMakePresets.json), and do not make their programs but for
# HEDDLE_ALL:
#   serial  under ThreadSanitizer: none of our code in them runs on several threads
#           in a way that other tests do not have
#   plain   under any sanitizer: other tests run the same code, these run it at
#           length
#   same    in the minimal build: it compiles what they run as the release build does
set(left_out "")
if(HEDDLE_SANITIZE AND NOT HEDDLE_ALL)
  list(APPEND left_out plain)
endif()
if(HEDDLE_SANITIZE STREQUAL thread AND NOT HEDDLE_ALL)
  list(APPEND left_out serial)
endif()
foreach(label serial plain same)
  cmake_language(EVAL CODE "
    function(heddle_${label})
      if(NOT HEDDLE_TESTS)
        return()
      endif()
      foreach(test \${ARGN})
        set_property(TEST \${test} APPEND PROPERTY LABELS ${label})
        if(TARGET \${test} AND ${label} IN_LIST left_out)
          set_target_properties(\${test} PROPERTIES EXCLUDE_FROM_ALL TRUE)
        endif()
      endforeach()
    endfunction()")
endforeach()

# Build every program in a page of docs/ as a user would, and run it. A program
# begins with its file name; "// prints: " says what must come out. Those that
# compile kernels are named by KERNELS.
function(heddle_examples page)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" KERNELS)
  if(NOT HEDDLE_TESTS)
    return()
  endif()
  set(file ${PROJECT_SOURCE_DIR}/docs/${page}.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(FIND "${text}" "```c\n" begin)
  while(NOT begin EQUAL -1)
    math(EXPR begin "${begin} + 5")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "```" end)
    string(SUBSTRING "${text}" 0 ${end} program)
    math(EXPR end "${end} + 3")
    string(SUBSTRING "${text}" ${end} -1 text)
    string(FIND "${text}" "```c\n" begin)

    string(REGEX MATCH "^// ([a-z]+)[.]c\n" line "${program}")
    set(word ${CMAKE_MATCH_1})
    set(name ${page}_example_${word})
    if(word IN_LIST given_KERNELS AND NOT TARGET heddle_compiler)
      continue()
    endif()
    string(REGEX MATCH "// prints: ([^\n]*)" line "${program}")
    string(REGEX REPLACE "([()])" "[\\1]" expected "${CMAKE_MATCH_1}")
    file(CONFIGURE OUTPUT ${name}.c CONTENT "${program}" @ONLY)
    add_executable(${name} ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} PRIVATE heddle_static)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600
      PASS_REGULAR_EXPRESSION "(^|\n)${expected}\n")
  endwhile()
endfunction()

# One folder per backend or transport. `kind` is backend or transport; the call
# in the folder's own CMakeLists.txt puts it in the build and in the
# conformance suite.
function(heddle_plugin kind name)
  heddle_sources(${name} ${ARGN})
  set_property(GLOBAL APPEND_STRING PROPERTY heddle_${kind}_def "PLUGIN(${name})\n")
  set_property(GLOBAL APPEND PROPERTY heddle_${kind}_names ${name})
endfunction()

# Enter every folder of plugins and write the list of them as KINDs.def.
function(heddle_plugins kind)
  file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(file ${folders})
    cmake_path(GET file PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
  get_property(list GLOBAL PROPERTY heddle_${kind}_def)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${kind}s.def CONTENT "${list}" @ONLY)
endfunction()
