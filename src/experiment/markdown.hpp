// Tables of pages in Markdown.
#pragma once

#include <string>
#include <vector>

namespace ductile {

inline void append_row(std::string& text, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    text += "| ";
    for (const char each : cell) {
      if (each == '|') text += '\\';
      text += each == '\n' ? ' ' : each;
    }
    text += ' ';
  }
  text += "|\n";
}

inline void append_head(std::string& text, const std::vector<std::string>& cells) {
  append_row(text, cells);
  for (std::size_t i = 0; i < cells.size(); ++i) text += "|---";
  text += "|\n";
}

}  // namespace ductile
