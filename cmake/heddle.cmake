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

# Build a program that may use the inside of the library.
function(heddle_inside name)
  add_executable(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE HDI_MODULE="${name}")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE heddle_static)
endfunction()

# Build foo_test.c, beside what it tests, into a test of the same name.
function(heddle_test name)
  if(NOT HEDDLE_TESTS)
    return()
  endif()
  heddle_inside(${name} ${name}.c)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
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
