# The module, beside the program: compiled by nvcc through build.sh, which needs nothing of CMake's, so that a machine with
# the CUDA toolkit alone builds the same file.
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.h ${CMAKE_CURRENT_LIST_DIR}/cuda/*)
set(cuda_module ${PROJECT_BINARY_DIR}/libselfnorm_cuda.so)
add_custom_command(OUTPUT ${cuda_module}
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/build.sh ${PROJECT_BINARY_DIR}/gpu
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_BINARY_DIR}/gpu/libselfnorm_cuda.so ${cuda_module}
  DEPENDS ${cuda_sources} ${CMAKE_CURRENT_LIST_DIR}/build.sh VERBATIM)
add_custom_target(selfnorm_cuda ALL DEPENDS ${cuda_module})
install(FILES ${cuda_module} DESTINATION ${CMAKE_INSTALL_LIBDIR})
