// The pages as a browser runs them: made of web/ when the program is built.
#pragma once

#include <cstddef>
#include <string_view>

namespace ductile {

/// CSS.
std::string_view page_style();
/// JavaScript. It draws what `html_page` has written into the page.
std::string_view page_script();
/// The same of the dashboard of a controller.
std::string_view dashboard_style();
std::string_view dashboard_script();

}  // namespace ductile
