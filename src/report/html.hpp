// What all HTML pages have in common: one file that needs nothing but itself.
#pragma once

#include <string>
#include <string_view>

namespace ductile {

constexpr double kWidth = 960;  // of a chart's plot, in its own units
constexpr double kLeft = 64;    // room for the labels of the y axis,
constexpr double kBottom = 36;  // and of the x axis

/// The beginning of a page, to its heading, and its end.
std::string page_head(std::string_view title);
constexpr std::string_view kPageEnd = "</body>\n</html>\n";

/// The text as HTML shows it.
std::string escaped(std::string_view text);

/// Two decimals at most: coordinates.
std::string fixed(double value);

/// The beginning of a chart whose plot is so high: the picture, and the frame of the plot, from
/// `kLeft` and 8 on.
void open_svg(std::string& html, double height, std::string_view label);

/// A line across the plot, and what it stands for.
void y_label(std::string& html, double y, const std::string& text);

}  // namespace ductile
