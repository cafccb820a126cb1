// The report page as a browser runs it: made of web/ when the program is built.
#pragma once

#include <cstddef>
#include <string_view>

namespace ductile {

/// CSS.
std::string_view page_style();
/// JavaScript. It draws what `html_page` has written into the page.
std::string_view page_script();

}  // namespace ductile
