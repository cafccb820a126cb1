# cmake -D folder=FOLDER -P embed_page.cmake: makes FOLDER/page_bundle.cpp of page.js and page.css there.
set(text "// Made by cmake/embed_page.cmake.\n#include \"report/page_bundle.hpp\"\n\nnamespace ductile {\nnamespace {\n\n")
foreach(kind IN ITEMS css js)
  file(READ "${folder}/page.${kind}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "constexpr unsigned char ${kind}[] = {${bytes}};\n")
endforeach()
string(APPEND text
       "\nstd::string_view as_text(const unsigned char* bytes, std::size_t size) {\n"
       "  return {reinterpret_cast<const char*>(bytes), size};\n}\n\n}  // namespace\n\n"
       "std::string_view page_style() { return as_text(css, sizeof css); }\n"
       "std::string_view page_script() { return as_text(js, sizeof js); }\n\n}  // namespace ductile\n")
file(WRITE "${folder}/page_bundle.cpp" "${text}")
