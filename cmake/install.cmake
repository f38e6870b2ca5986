# cmake --install: C and C++ libraries with headers, the package that find_package(selfnorm) finds (targets
# selfnorm::selfnorm, selfnorm::runtime, selfnorm::runtime_shared) and, where it is built, the program with manual page and
# completions.
if(SELFNORM_BUILD_FUZZ)
  return()
endif()
include(CMakePackageConfigHelpers)

set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
if(TARGET selfnorm_program)
  set(documents)
  foreach(document "man|selfnorm.1" "completions bash|selfnorm.bash" "completions zsh|_selfnorm" "completions fish|selfnorm.fish")
    string(REPLACE "|" ";" parts ${document})
    list(GET parts 0 words)
    list(GET parts 1 name)
    separate_arguments(words)
    add_custom_command(OUTPUT ${generated}/${name} DEPENDS selfnorm_program VERBATIM
      COMMAND selfnorm_program ${words} > ${generated}/${name})
    list(APPEND documents ${generated}/${name})
  endforeach()
  add_custom_target(selfnorm_documents ALL DEPENDS ${documents})

  install(TARGETS selfnorm_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES ${generated}/selfnorm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${generated}/selfnorm.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME selfnorm COMPONENT program)
  install(FILES ${generated}/_selfnorm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
  install(FILES ${generated}/selfnorm.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
endif()

file(RELATIVE_PATH includes_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/selfnorm.pc.in ${generated}/selfnorm.pc @ONLY)
install(FILES ${generated}/selfnorm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
install(DIRECTORY include/selfnorm runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h"
  PATTERN "*.hpp")
if(SELFNORM_HAS_TORCH)
  install(TARGETS selfnorm_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program)
endif()
if(SELFNORM_HAS_MPI)
  install(TARGETS selfnorm_mpi_module LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program)
endif()
install(TARGETS ${SELFNORM_LIBRARIES} selfnorm_runtime selfnorm_runtime_shared EXPORT selfnormTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/selfnorm)
install(EXPORT selfnormTargets NAMESPACE selfnorm:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/selfnormConfig.cmake.in ${generated}/selfnormConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${generated}/selfnormConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/selfnormConfig.cmake ${generated}/selfnormConfigVersion.cmake DESTINATION ${package_dir}
  COMPONENT dev)

# make deb: selfnorm (the program), libselfnorm-runtime (the C library) and libselfnorm-dev (headers, static libraries).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME selfnorm)
set(CPACK_PACKAGE_CONTACT "The selfnorm developers <selfnorm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "probability models whose raw scores are already log-probabilities")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME selfnorm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libselfnorm-runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libselfnorm-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libselfnorm-runtime (= ${PROJECT_VERSION}), libtbb-dev, libopenblas-dev, libhwy-dev, libfmt-dev, libre2-dev, zlib1g-dev")
include(CPack)
