#include "report/html.hpp"

#include <iterator>

#include <fmt/format.h>

namespace ductile {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #d5dce3; --page: #ffffff;
  --panel: #f5f7f9; --c0: #2f6fd0; --c1: #d9761a; --c2: #2a936b; --c3: #a44ac0; --c4: #c93f4c;
  --c5: #5c7285; --c6: #8a7a17; --c7: #1a8fa8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --soft: #9aa8b5; --line: #38434e; --page: #14191f; --panel: #1c232b;
    --c0: #6ea4f5; --c1: #f0a35c; --c2: #5cc79b; --c3: #cf8de6; --c4: #f07f88; --c5: #9db1c3;
    --c6: #cdbb52; --c7: #5cc3da; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p { margin: .4rem 0; } .soft, figcaption { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { font-weight: 600; background: var(--panel); }
th:first-child, td:first-child { text-align: left; }
th small { display: block; color: var(--soft); font-weight: 400; }
figure { margin: 1rem 0; } svg { width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.grid { stroke: var(--line); stroke-width: 1; } .frame { fill: var(--panel); }
.curve { fill: none; stroke-width: 1.5; } .bound { fill: none; stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; } .bar { stroke: var(--page); stroke-width: .4; }
.guest { stroke: var(--ink); stroke-width: .8; stroke-dasharray: 3 2; }
.key .guest { outline: 1px dashed var(--ink); }
.key { display: inline-block; margin-right: 1.2rem; }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
a { color: var(--c0); }
)";

}  // namespace

std::string page_head(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Ductile: {0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escaped(title), kStyle);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string fixed(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

void open_svg(std::string& html, double height, std::string_view label) {
  fmt::format_to(std::back_inserter(html),
                 "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n"
                 "<rect class=\"frame\" x=\"{}\" y=\"8\" width=\"{}\" height=\"{}\"/>\n",
                 kLeft + kWidth + 8, fixed(height + kBottom + 8), escaped(label), kLeft, kWidth,
                 fixed(height));
}

void y_label(std::string& html, double y, const std::string& text) {
  fmt::format_to(std::back_inserter(html),
                 "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>"
                 "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                 kLeft, kLeft + kWidth, fixed(y), fixed(y), kLeft - 8, fixed(y + 4), text);
}

}  // namespace ductile
