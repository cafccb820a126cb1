// What a page shows of a run, as text, so that the page can be made later.
#pragma once

#include <string>

#include "report/page.hpp"

namespace ductile {

/// All of it but the folder and the summary, as JSON: `page_of_text` gives the same page back, bit
/// for bit.
std::string page_text(const RunPage& page);

/// Throws InputError if the text is none that `page_text` has written.
RunPage page_of_text(const std::string& text);

}  // namespace ductile
