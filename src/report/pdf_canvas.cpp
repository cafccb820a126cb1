#include <initializer_list>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hpdf.h>

#include "base/error.hpp"
#include "report/canvas.hpp"

namespace ductile {
namespace {

// Told by C, through which nothing may be thrown: `finish` looks.
void note_error(HPDF_STATUS error, HPDF_STATUS, void* first) {
  auto& seen = *static_cast<HPDF_STATUS*>(first);
  if (seen == 0) seen = error;
}

// Older and newer versions of the library have other types of numbers here.
template <class Number, class Phase>
void set_dash(HPDF_STATUS (*set)(HPDF_Page, const Number*, HPDF_UINT, Phase), HPDF_Page page,
              std::initializer_list<int> lengths) {
  std::vector<Number> numbers;
  for (const int length : lengths) numbers.push_back(static_cast<Number>(length));
  set(page, numbers.data(), static_cast<HPDF_UINT>(numbers.size()), 0);
}

// The base fonts have the letters of Windows-1252. What it has not becomes a question mark; a few
// letters have a spelling that means the same.
std::string letters_of_pdf(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) -> std::uint32_t {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    };
    const auto goes_on = [&](std::size_t at) { return (byte(at) & 0xc0) == 0x80; };
    std::uint32_t code = byte(i);
    std::size_t length = 1;
    if (code >= 0xc2 && code < 0xe0 && goes_on(i + 1)) {
      code = (code & 0x1f) << 6 | (byte(i + 1) & 0x3f);
      length = 2;
    } else if (code >= 0xe0 && code < 0xf0 && goes_on(i + 1) && goes_on(i + 2)) {
      code = (code & 0xf) << 12 | (byte(i + 1) & 0x3f) << 6 | (byte(i + 2) & 0x3f);
      length = 3;
    } else if (code >= 0xf0 && goes_on(i + 1) && goes_on(i + 2) && goes_on(i + 3)) {
      code = 0xffff;
      length = 4;
    } else if (code >= 0x80) {
      code = 0xffff;
    }
    i += length;
    if (code < ' ' || code == 0x7f) {
      result += ' ';
    } else if (code < 0x7f || (code >= 0xa0 && code <= 0xff)) {
      result += static_cast<char>(code);
    } else if (code == 0x2013) {
      result += '\x96';  // en dash
    } else if (code == 0x2264) {
      result += "<=";
    } else if (code == 0x2265) {
      result += ">=";
    } else {
      result += '?';
    }
  }
  return result;
}

class PdfCanvas final : public Canvas {
 public:
  PdfCanvas(double width, double height, std::string_view title)
      : document_(HPDF_New(note_error, &error_)), height_(height) {
    if (!document_) throw std::bad_alloc();
    HPDF_SetCompressionMode(document_, HPDF_COMP_ALL);
    // No date: the same run gives the same bytes.
    HPDF_SetInfoAttr(document_, HPDF_INFO_TITLE, letters_of_pdf(title).c_str());
    page_ = HPDF_AddPage(document_);
    HPDF_Page_SetWidth(page_, real(width));
    HPDF_Page_SetHeight(page_, real(height));
    plain_ = HPDF_GetFont(document_, "Helvetica", "WinAnsiEncoding");
    bold_ = HPDF_GetFont(document_, "Helvetica-Bold", "WinAnsiEncoding");
    HPDF_Page_SetLineJoin(page_, HPDF_ROUND_JOIN);
  }
  PdfCanvas(const PdfCanvas&) = delete;
  PdfCanvas& operator=(const PdfCanvas&) = delete;
  ~PdfCanvas() override { HPDF_Free(document_); }

  void line(std::span<const Spot> through, const Pen& pen) override {
    if (through.size() < 2) return;
    take(pen);
    HPDF_Page_MoveTo(page_, real(through[0].x), up(through[0].y));
    for (const Spot& spot : through.subspan(1)) HPDF_Page_LineTo(page_, real(spot.x), up(spot.y));
    HPDF_Page_Stroke(page_);
  }

  void fill(const Area& area, Colour colour) override {
    take_fill(colour);
    rectangle(area);
    HPDF_Page_Fill(page_);
  }

  void frame(const Area& area, const Pen& pen) override {
    take(pen);
    rectangle(area);
    HPDF_Page_Stroke(page_);
  }

  void dot(const Spot& centre, double radius, Colour colour) override {
    take_fill(colour);
    HPDF_Page_Circle(page_, real(centre.x), up(centre.y), real(radius));
    HPDF_Page_Fill(page_);
  }

  void text(const Spot& at, std::string_view text, const Lettering& how) override {
    const std::string letters = letters_of_pdf(text);
    const HPDF_Font font = how.bold ? bold_ : plain_;
    take_fill(how.colour);
    HPDF_Page_BeginText(page_);
    HPDF_Page_SetFontAndSize(page_, font, real(how.size));
    // Of the font's own widths, as it is these letters that are shown.
    const double width = HPDF_Page_TextWidth(page_, letters.c_str());
    const double back = how.anchor == Anchor::middle ? width / 2
                        : how.anchor == Anchor::end  ? width
                                                     : 0;
    if (how.upwards) {
      HPDF_Page_SetTextMatrix(page_, 0, 1, -1, 0, real(at.x), up(at.y + back));
    } else {
      HPDF_Page_SetTextMatrix(page_, 1, 0, 0, 1, real(at.x - back), up(at.y));
    }
    HPDF_Page_ShowText(page_, letters.c_str());
    HPDF_Page_EndText(page_);
  }

  void clip(const Area& area) override {
    HPDF_Page_GSave(page_);
    rectangle(area);
    HPDF_Page_Clip(page_);
    HPDF_Page_EndPath(page_);
  }
  void unclip() override { HPDF_Page_GRestore(page_); }

  std::string finish() override {
    HPDF_SaveToStream(document_);
    std::string bytes(HPDF_GetStreamSize(document_), '\0');
    auto size = static_cast<HPDF_UINT32>(bytes.size());
    HPDF_ReadFromStream(document_, reinterpret_cast<HPDF_BYTE*>(bytes.data()), &size);
    bytes.resize(size);
    if (error_ != 0) throw RunError(fmt::format("libharu makes no PDF of this: {:#06x}", error_));
    return bytes;
  }

 private:
  static HPDF_REAL real(double value) { return static_cast<HPDF_REAL>(value); }
  // PDF counts from below.
  HPDF_REAL up(double y) const { return real(height_ - y); }

  void rectangle(const Area& area) {
    HPDF_Page_Rectangle(page_, real(area.left), up(area.bottom()), real(area.width),
                        real(area.height));
  }
  void take(const Pen& pen) {
    const auto part = [](std::uint8_t value) { return real(value / 255.0); };
    HPDF_Page_SetRGBStroke(page_, part(pen.colour.red), part(pen.colour.green),
                           part(pen.colour.blue));
    HPDF_Page_SetLineWidth(page_, real(pen.width));
    const auto dash = [&](std::initializer_list<int> lengths) {
      set_dash(&HPDF_Page_SetDash, page_, lengths);
    };
    switch (pen.dash) {
      case Dash::solid:
        return dash({});
      case Dash::dashed:
        return dash({4, 2});
      case Dash::dotted:
        return dash({1, 2});
      case Dash::mixed:
        return dash({5, 2, 1, 2});
    }
  }
  void take_fill(Colour colour) {
    const auto part = [](std::uint8_t value) { return real(value / 255.0); };
    HPDF_Page_SetRGBFill(page_, part(colour.red), part(colour.green), part(colour.blue));
  }

  HPDF_STATUS error_ = 0;  // the first one
  HPDF_Doc document_;
  HPDF_Page page_{};
  HPDF_Font plain_{}, bold_{};
  double height_;
};

}  // namespace

std::unique_ptr<Canvas> pdf_canvas(double width, double height, std::string_view title) {
  return std::make_unique<PdfCanvas>(width, height, title);
}

}  // namespace ductile
