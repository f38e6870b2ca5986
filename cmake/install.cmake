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

  install(TARGETS selfnorm_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${generated}/selfnorm.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${generated}/selfnorm.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME selfnorm)
  install(FILES ${generated}/_selfnorm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${generated}/selfnorm.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(DIRECTORY include/selfnorm runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
  PATTERN "*.hpp")
if(SELFNORM_HAS_TORCH)
  install(TARGETS selfnorm_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS ${SELFNORM_LIBRARIES} selfnorm_runtime selfnorm_runtime_shared EXPORT selfnormTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/selfnorm)
install(EXPORT selfnormTargets NAMESPACE selfnorm:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/selfnormConfig.cmake.in ${generated}/selfnormConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${generated}/selfnormConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/selfnormConfig.cmake ${generated}/selfnormConfigVersion.cmake DESTINATION ${package_dir})
