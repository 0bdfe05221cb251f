# What `cmake --install` puts where, and how others find it afterwards.
include(CMakePackageConfigHelpers)

install(TARGETS heddle EXPORT heddle)
install(TARGETS heddle_static)
install(FILES share/heddle-gdb.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle)
install(DIRECTORY include/heddle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

configure_package_config_file(cmake/heddleConfig.cmake.in
  ${CMAKE_BINARY_DIR}/heddleConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/heddleConfig.cmake
  ${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
install(EXPORT heddle NAMESPACE heddle:: FILE heddleTargets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)

file(RELATIVE_PATH HEDDLE_PC_TO_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
get_property(HEDDLE_PC_REQUIRES GLOBAL PROPERTY heddle_requires)
list(JOIN HEDDLE_PC_REQUIRES " " HEDDLE_PC_REQUIRES)
configure_file(cmake/heddle.pc.in ${CMAKE_BINARY_DIR}/heddle.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/heddle.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
