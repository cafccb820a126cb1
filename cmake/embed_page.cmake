# cmake -D folder=FOLDER -P embed_page.cmake: makes FOLDER/page_bundle.cpp of page.js, page.css, dashboard.js
# and dashboard.css there.
set(text "// Made by cmake/embed_page.cmake.\n#include \"report/page_bundle.hpp\"\n\nnamespace ductile {\nnamespace {\n\n")
set(functions "")
foreach(page IN ITEMS page dashboard)
  foreach(part IN ITEMS "css style" "js script")
    string(REPLACE " " ";" part "${part}")
    list(POP_FRONT part kind)
    file(READ "${folder}/${page}.${kind}" bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "constexpr unsigned char ${page}_${kind}[] = {${bytes}};\n")
    string(APPEND functions "std::string_view ${page}_${part}() { return as_text(${page}_${kind}, sizeof ${page}_${kind}); }\n")
  endforeach()
endforeach()
string(APPEND text
       "\nstd::string_view as_text(const unsigned char* bytes, std::size_t size) {\n"
       "  return {reinterpret_cast<const char*>(bytes), size};\n}\n\n}  // namespace\n\n"
       "${functions}\n}  // namespace ductile\n")
file(WRITE "${folder}/page_bundle.cpp" "${text}")
