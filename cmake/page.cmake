# The page of the reports (report/, TypeScript) as bytes of the rung `page`: built by npm when that rung is.
set(page ${PROJECT_BINARY_DIR}/generated/page.html)
set(package ${PROJECT_SOURCE_DIR}/report)
file(GLOB page_sources CONFIGURE_DEPENDS ${package}/src/*)
add_custom_command(OUTPUT ${page} VERBATIM
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
  COMMAND ${PROJECT_SOURCE_DIR}/cmake/page.sh ${package} ${page}
  DEPENDS ${page_sources} ${package}/package.json ${package}/package-lock.json ${package}/build.mjs
          ${PROJECT_SOURCE_DIR}/cmake/page.sh
  COMMENT "The page of the reports")
set(embedded ${PROJECT_SOURCE_DIR}/src/page/page.S)
target_sources(selfnorm_page PRIVATE ${embedded})
set_source_files_properties(${embedded} PROPERTIES OBJECT_DEPENDS ${page} COMPILE_DEFINITIONS "SELFNORM_PAGE=\"${page}\"")
