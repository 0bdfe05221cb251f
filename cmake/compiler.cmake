# The OpenCL C compiler: what it needs, and the module that holds it.
#
# LLVM is linked into the module alone, which libheddle opens when a program has
# to be compiled. clang and GNU ld are run as programs; their absolute paths are
# built in, so that nothing in a user's PATH takes their place.

pkg_check_modules(libb2 IMPORTED_TARGET libb2)
set(missing "")
if(NOT HEDDLE_COMPILER)
  list(APPEND missing "HEDDLE_COMPILER=ON")
endif()
find_program(HEDDLE_CLANG clang-19 DOC "clang 19, run to compile kernels")
# GNU ld starts in a sixth of the time that lld takes.
find_program(HEDDLE_LD ld.bfd DOC "GNU ld, run to link kernels")
find_program(HEDDLE_LLVM_CONFIG llvm-config-19)
mark_as_advanced(HEDDLE_LLVM_CONFIG)
if(NOT HEDDLE_CLANG)
  list(APPEND missing clang-19)
endif()
if(NOT HEDDLE_LD)
  list(APPEND missing binutils)
endif()
if(NOT HEDDLE_LLVM_CONFIG)
  list(APPEND missing llvm-19-dev)
endif()
if(NOT libb2_FOUND)
  list(APPEND missing libb2-dev)
endif()
list(JOIN missing ", " HDI_COMPILER_MISSING)

set(HDI_HAVE_LIBB2 ${libb2_FOUND})
if(libb2_FOUND)
  heddle_links(PkgConfig::libb2)
  heddle_requires(libb2)
endif()

if(NOT missing)
  set(HDI_HAVE_COMPILER TRUE)
  foreach(word version includedir libdir)
    execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --${word}
      OUTPUT_VARIABLE llvm_${word} OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND ${HEDDLE_CLANG} -dumpversion
    OUTPUT_VARIABLE HDI_CLANG_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set(HDI_LLVM_VERSION ${llvm_version})
  set(HDI_CLANG ${HEDDLE_CLANG})
  set(HDI_LD ${HEDDLE_LD})
endif()
set(HDI_MODULE_FILE heddle_compiler.so)
set(HDI_MODULE_BUILD ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/heddle)
set(HDI_MODULE_INSTALL ${CMAKE_INSTALL_FULL_LIBDIR}/heddle)

# What libheddle and the compiler module, which hands it structures and code,
# have to agree on: each is told by the headers that it was built with, of which
# scripts/check_border.py misses none.
set(border ${PROJECT_VERSION})
foreach(header src/backend/checks.h src/backend/device_launch.h src/backend/frame.h
    src/base/error.h src/base/memory.h src/base/text.h src/kernel/build.h
    src/kernel/compiler.h src/kernel/footprint/footprint.h src/kernel/image.h
    src/kernel/opencl.h src/kernel/rules.h include/heddle/kernel.h include/heddle/place.h
    include/heddle/priority.h include/heddle/status.h include/heddle/unit.h)
  set(header ${PROJECT_SOURCE_DIR}/${header})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(SHA256 ${header} digest)
  string(APPEND border ${digest})
endforeach()
string(SHA256 border ${border})
string(SUBSTRING ${border} 0 16 HDI_COMPILER_BORDER)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tools.h.in
  ${CMAKE_BINARY_DIR}/generated/tools.h)

if(NOT HDI_HAVE_COMPILER)
  message(STATUS "No OpenCL C compiler: missing ${HDI_COMPILER_MISSING}")
  return()
endif()

# The builtins, as bitcode.
add_subdirectory(builtins)
set(builtins_bundle ${builtins_folder}/builtins_parts)
set(device_builtins ${builtins_folder}/builtins_nvptx.bc)

# Every source is compiled once; the module and the tests are two ways to link it.
file(GLOB compiler_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/kernel/compiler/*/*.c)
list(FILTER compiler_sources EXCLUDE REGEX "_test[.]c$")
add_library(heddle_compiler_objects OBJECT ${compiler_sources})
add_library(heddle_compiler MODULE $<TARGET_OBJECTS:heddle_compiler_objects>
  ${PROJECT_SOURCE_DIR}/src/kernel/build.c ${PROJECT_SOURCE_DIR}/src/kernel/footprint/footprint.c
  ${PROJECT_SOURCE_DIR}/src/base/error.c ${PROJECT_SOURCE_DIR}/src/base/log.c
  ${PROJECT_SOURCE_DIR}/src/base/text.c)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/kernel/compiler/prepare/builtins.c
  APPEND PROPERTY OBJECT_DEPENDS ${builtins_bundle}.bc ${builtins_bundle}.index)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/kernel/compiler/nvptx/device.c
  APPEND PROPERTY OBJECT_DEPENDS ${device_builtins})
set_target_properties(heddle_compiler PROPERTIES PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${HDI_MODULE_BUILD}
  INSTALL_RPATH "" BUILD_WITH_INSTALL_RPATH ON)
target_compile_definitions(heddle_compiler_objects PRIVATE
  HDI_BUILTINS="${builtins_bundle}" HDI_DEVICE_BUILTINS="${device_builtins}")
foreach(target heddle_compiler_objects heddle_compiler)
  target_compile_definitions(${target} PRIVATE HDI_MODULE="kernel")
  target_include_directories(${target}
    PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
    ${CMAKE_BINARY_DIR}/generated)
  target_include_directories(${target} SYSTEM PRIVATE ${llvm_includedir})
endforeach()
target_link_directories(heddle_compiler PRIVATE ${llvm_libdir})
target_link_libraries(heddle_compiler PRIVATE LLVM-19 Threads::Threads)
add_dependencies(heddle_compiler_objects heddle_builtins)
# What is linked with the library runs with the module of the same sources, also where
# one program alone is built: a dependency of objects would not be waited for.
foreach(target heddle heddle_static)
  add_dependencies(${target} heddle_compiler)
endforeach()
install(TARGETS heddle_compiler
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/heddle)

# Tests beside the compiler's code: LLVM's text goes in, and nothing is run.
if(NOT HEDDLE_TESTS)
  return()
endif()
add_library(heddle_compiler_static STATIC $<TARGET_OBJECTS:heddle_compiler_objects>)
target_link_directories(heddle_compiler_static PUBLIC ${llvm_libdir})
target_link_libraries(heddle_compiler_static PUBLIC heddle_static LLVM-19)

# A program beside a module that was built with other headers.
add_library(stale_compiler MODULE ${PROJECT_SOURCE_DIR}/src/kernel/program/stale_module.c)
target_include_directories(stale_compiler PRIVATE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
set_target_properties(stale_compiler PROPERTIES PREFIX "" OUTPUT_NAME heddle_compiler
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/stale/heddle)
heddle_inside(stale_test ${PROJECT_SOURCE_DIR}/src/kernel/program/stale_test.c)
set_target_properties(stale_test PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/stale)
add_dependencies(stale_test stale_compiler)
add_test(NAME stale_test COMMAND stale_test)

function(heddle_compiler_test room name)
  heddle_inside(${name} ${PROJECT_SOURCE_DIR}/src/kernel/compiler/${room}/${name}.c)
  target_include_directories(${name} SYSTEM PRIVATE ${llvm_includedir})
  target_link_libraries(${name} PRIVATE heddle_compiler_static)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
foreach(name address affine faults linear walk wraps)
  heddle_compiler_test(analysis ${name}_test)
endforeach()
heddle_compiler_test(check marks_test)
heddle_compiler_test(driver merger_test)
foreach(name bases quotient)
  heddle_compiler_test(emit ${name}_test)
endforeach()
heddle_compiler_test(fiber suspension_test)
foreach(name dominators nest)
  heddle_compiler_test(flow ${name}_test)
endforeach()
heddle_compiler_test(ir low_test)
foreach(name jam masks)
  heddle_compiler_test(lanes ${name}_test)
endforeach()
heddle_compiler_test(loops flat_test)
heddle_compiler_test(nvptx spaces_test)
foreach(name narrow switches)
  heddle_compiler_test(prepare ${name}_test)
endforeach()
heddle_compiler_test(target entries_test)
heddle_compiler_test(tools child_test)
foreach(name early tree turn)
  heddle_compiler_test(transform ${name}_test)
endforeach()
heddle_compiler_test(touch elements_test)
heddle_compiler_test(wide shared_test)
foreach(name suits tile weigh whole)
  heddle_compiler_test(worth ${name}_test)
endforeach()
