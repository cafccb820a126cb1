# The report page and the dashboard: their sources in web/ are bundled by esbuild and become a source of the program.

# ductile_page(TARGET): the target has what src/report/page_bundle.hpp declares.
function(ductile_page target)
  find_program(DUCTILE_ESBUILD esbuild PATHS "${PROJECT_SOURCE_DIR}/web/node_modules/.bin")
  set(web "${PROJECT_SOURCE_DIR}/web")
  if(NOT DUCTILE_ESBUILD OR NOT EXISTS "${web}/node_modules/uplot/package.json")
    message(FATAL_ERROR "esbuild or uPlot is missing; run scripts/setup, which gets both.")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${web}/src/*.ts" "${web}/src/*.css")
  set(folder "${PROJECT_BINARY_DIR}/page")
  set(bundle "${folder}/page_bundle.cpp")
  add_custom_command(
    OUTPUT "${bundle}"
    COMMAND "${DUCTILE_ESBUILD}" "${web}/src/page.ts" "${web}/src/page.css"
            "${web}/src/dashboard.ts" "${web}/src/dashboard.css" --bundle --minify
            --format=iife --target=es2020 --charset=utf8 --log-level=warning "--outdir=${folder}"
    COMMAND "${CMAKE_COMMAND}" -D "folder=${folder}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
    DEPENDS ${sources} "${web}/package-lock.json" "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
    COMMENT "Bundling the pages" VERBATIM)
  target_sources(${target} PRIVATE "${bundle}")
  set_source_files_properties("${bundle}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
