#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "report/canvas.hpp"
#include "report/html.hpp"
#include "report/text.hpp"

namespace ductile {
namespace {

constexpr std::string_view kFont = "Helvetica, Arial, 'Nimbus Sans', 'Liberation Sans', sans-serif";

std::string colour_text(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

std::string_view dash_text(Dash dash) {
  switch (dash) {
    case Dash::dashed:
      return " stroke-dasharray=\"4 2\"";
    case Dash::dotted:
      return " stroke-dasharray=\"1 2\"";
    case Dash::mixed:
      return " stroke-dasharray=\"5 2 1 2\"";
    case Dash::solid:
      break;
  }
  return "";
}

// XML has no control characters, and no bytes that are not UTF-8.
std::string xml_text(std::string_view text) {
  std::string visible;
  for (const char c : text) {
    visible += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  }
  const std::string quoted = json_text(visible);
  std::string plain;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] == '\\') ++i;
    plain += quoted[i];
  }
  return escaped(plain);
}

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(double width, double height, std::string_view title) {
    fmt::format_to(out(),
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}pt\" height=\"{1}pt\" "
                   "viewBox=\"0 0 {0} {1}\" font-family=\"{2}\">\n<title>{3}</title>\n",
                   fixed(width), fixed(height), kFont, xml_text(title));
    fill({0, 0, width, height}, kWhite);
  }

  void line(std::span<const Spot> through, const Pen& pen) override {
    if (through.size() < 2) return;
    if (through.size() == 2) {
      fmt::format_to(out(), "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", fixed(through[0].x),
                     fixed(through[0].y), fixed(through[1].x), fixed(through[1].y));
    } else {
      text_ += "<polyline fill=\"none\" stroke-linejoin=\"round\" points=\"";
      for (std::size_t i = 0; i < through.size(); ++i) {
        fmt::format_to(out(), "{}{},{}", i == 0 ? "" : " ", fixed(through[i].x),
                       fixed(through[i].y));
      }
      text_ += '"';
    }
    stroke(pen);
  }

  void fill(const Area& area, Colour colour) override {
    open_rectangle(area);
    fmt::format_to(out(), " fill=\"{}\"/>\n", colour_text(colour));
  }

  void frame(const Area& area, const Pen& pen) override {
    open_rectangle(area);
    text_ += " fill=\"none\"";
    stroke(pen);
  }

  void dot(const Spot& centre, double radius, Colour colour) override {
    fmt::format_to(out(), "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", fixed(centre.x),
                   fixed(centre.y), fixed(radius), colour_text(colour));
  }

  void text(const Spot& at, std::string_view text, const Lettering& how) override {
    fmt::format_to(out(), "<text x=\"{}\" y=\"{}\" font-size=\"{}\"", fixed(at.x), fixed(at.y),
                   fixed(how.size));
    if (how.anchor == Anchor::middle) text_ += " text-anchor=\"middle\"";
    if (how.anchor == Anchor::end) text_ += " text-anchor=\"end\"";
    if (how.colour != kInk) fmt::format_to(out(), " fill=\"{}\"", colour_text(how.colour));
    if (how.bold) text_ += " font-weight=\"bold\"";
    if (how.upwards) {
      fmt::format_to(out(), " transform=\"rotate(-90 {} {})\"", fixed(at.x), fixed(at.y));
    }
    fmt::format_to(out(), ">{}</text>\n", xml_text(text));
  }

  void clip(const Area& area) override {
    ++clips_;
    fmt::format_to(out(), "<clipPath id=\"c{}\">", clips_);
    open_rectangle(area);
    fmt::format_to(out(), "/></clipPath>\n<g clip-path=\"url(#c{})\">\n", clips_);
  }
  void unclip() override { text_ += "</g>\n"; }

  std::string finish() override { return std::move(text_ += "</svg>\n"); }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }
  void open_rectangle(const Area& area) {
    fmt::format_to(out(), "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", fixed(area.left),
                   fixed(area.top), fixed(area.width), fixed(area.height));
  }
  void stroke(const Pen& pen) {
    fmt::format_to(out(), " stroke=\"{}\" stroke-width=\"{}\"{}/>\n", colour_text(pen.colour),
                   fixed(pen.width), dash_text(pen.dash));
  }

  std::string text_;
  int clips_ = 0;
};

}  // namespace

std::unique_ptr<Canvas> svg_canvas(double width, double height, std::string_view title) {
  return std::make_unique<SvgCanvas>(width, height, title);
}

}  // namespace ductile
