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
configure_file(${PROJECT_SOURCE_DIR}/cmake/tools.h.in
  ${CMAKE_BINARY_DIR}/generated/tools.h)

if(NOT HDI_HAVE_COMPILER)
  message(STATUS "No OpenCL C compiler: missing ${HDI_COMPILER_MISSING}")
  return()
endif()

# The builtins, as bitcode.
add_subdirectory(builtins)
set(builtins_bundle ${CMAKE_BINARY_DIR}/generated/builtins_parts)
set(device_builtins ${CMAKE_BINARY_DIR}/generated/builtins_nvptx.bc)

file(GLOB module_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/kernel/compiler/*/*.c)
list(FILTER module_sources EXCLUDE REGEX "_test[.]c$")
add_library(heddle_compiler MODULE ${module_sources}
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
target_compile_definitions(heddle_compiler PRIVATE HDI_MODULE="kernel"
  HDI_BUILTINS="${builtins_bundle}" HDI_DEVICE_BUILTINS="${device_builtins}")
target_include_directories(heddle_compiler
  PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
  ${CMAKE_BINARY_DIR}/generated)
target_include_directories(heddle_compiler SYSTEM PRIVATE ${llvm_includedir})
target_link_directories(heddle_compiler PRIVATE ${llvm_libdir})
target_link_libraries(heddle_compiler PRIVATE LLVM-19 Threads::Threads)
add_dependencies(heddle_compiler heddle_builtins)
add_dependencies(heddle_objects heddle_compiler)
install(TARGETS heddle_compiler
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/heddle)

# Tests beside the compiler's code: LLVM's text goes in, and nothing is run. The
# folders of what they need are given: those below the folder of what is tested.
function(heddle_compiler_test room name)
  if(NOT HEDDLE_TESTS)
    return()
  endif()
  set(sources ${PROJECT_SOURCE_DIR}/src/kernel/compiler/${room}/${name}.c)
  foreach(folder ${ARGN})
    file(GLOB some CONFIGURE_DEPENDS
      ${PROJECT_SOURCE_DIR}/src/kernel/compiler/${folder}/*.c)
    list(FILTER some EXCLUDE REGEX "_test[.]c$")
    list(APPEND sources ${some})
  endforeach()
  heddle_inside(${name} ${sources})
  target_include_directories(${name} SYSTEM PRIVATE ${llvm_includedir})
  target_link_directories(${name} PRIVATE ${llvm_libdir})
  target_link_libraries(${name} PRIVATE LLVM-19)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
heddle_compiler_test(analysis address_test analysis flow ir target)
heddle_compiler_test(analysis affine_test analysis flow ir target)
heddle_compiler_test(analysis faults_test analysis flow ir target)
heddle_compiler_test(analysis walk_test analysis flow ir target)
heddle_compiler_test(emit quotient_test emit analysis flow ir target)
heddle_compiler_test(flow dominators_test flow ir target)
heddle_compiler_test(ir low_test ir target)
heddle_compiler_test(lanes jam_test analysis flow ir target)
if(TARGET jam_test)
  target_sources(jam_test PRIVATE
    ${PROJECT_SOURCE_DIR}/src/kernel/compiler/lanes/jam.c)
endif()
heddle_compiler_test(target entries_test target)
heddle_compiler_test(transform early_test transform worth analysis flow ir target)
heddle_compiler_test(transform turn_test transform worth analysis flow ir target)
heddle_compiler_test(worth suits_test worth analysis flow ir target)
heddle_compiler_test(worth tile_test worth analysis flow ir target)
heddle_compiler_test(worth weigh_test worth analysis flow ir target)
heddle_compiler_test(worth whole_test worth analysis flow ir target)
