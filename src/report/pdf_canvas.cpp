#include "report/pdf_canvas.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <hpdf.h>

#include "base/error.hpp"

namespace ductile {
namespace {

float real(double value) { return static_cast<float>(value); }

float part(Colour colour, unsigned shift) {
  return static_cast<float>((colour.rgb >> shift) & 0xFFU) / 255.0F;
}

// From UTF-8.
std::string latin1(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      result += text[i];
    } else if ((byte & 0xFEU) == 0xC2U && i + 1 < text.size()) {
      const auto next = static_cast<unsigned char>(text[++i]);
      result += static_cast<char>(((byte & 0x03U) << 6U) | (next & 0x3FU));
    } else if ((byte & 0xC0U) == 0xC0U) {
      result += '?';
    }
  }
  return result;
}

}  // namespace

struct PdfCanvas::Document {
  HPDF_Doc doc = nullptr;
  HPDF_Page page = nullptr;
  HPDF_Font font = nullptr;
};

PdfCanvas::PdfCanvas(double width, double height, std::string_view title)
    : document_(std::make_unique<Document>()), height_(height) {
  Document& its = *document_;
  its.doc = HPDF_New(nullptr, nullptr);
  if (its.doc == nullptr) throw RunError("no PDF could be begun: there is no memory");
  HPDF_SetCompressionMode(its.doc, HPDF_COMP_ALL);
  HPDF_SetInfoAttr(its.doc, HPDF_INFO_TITLE, latin1(title).c_str());
  its.page = HPDF_AddPage(its.doc);
  its.font = HPDF_GetFont(its.doc, "Helvetica", "WinAnsiEncoding");
  HPDF_Page_SetWidth(its.page, real(width));
  HPDF_Page_SetHeight(its.page, real(height));
  HPDF_Page_SetLineJoin(its.page, HPDF_ROUND_JOIN);
}

PdfCanvas::~PdfCanvas() { HPDF_Free(document_->doc); }

void PdfCanvas::line(std::span<const Spot> spots, Colour colour, double width) {
  if (spots.size() < 2) return;
  const HPDF_Page page = document_->page;
  HPDF_Page_SetRGBStroke(page, part(colour, 16), part(colour, 8), part(colour, 0));
  HPDF_Page_SetLineWidth(page, real(width));
  HPDF_Page_MoveTo(page, real(spots[0].x), real(height_ - spots[0].y));
  for (const Spot& spot : spots.subspan(1)) {
    HPDF_Page_LineTo(page, real(spot.x), real(height_ - spot.y));
  }
  HPDF_Page_Stroke(page);
}

void PdfCanvas::box(Spot corner, double width, double height, Colour fill) {
  const HPDF_Page page = document_->page;
  HPDF_Page_SetRGBFill(page, part(fill, 16), part(fill, 8), part(fill, 0));
  HPDF_Page_Rectangle(page, real(corner.x), real(height_ - corner.y - height), real(width),
                      real(height));
  HPDF_Page_Fill(page);
}

void PdfCanvas::dot(Spot middle, double radius, Colour fill) {
  const HPDF_Page page = document_->page;
  HPDF_Page_SetRGBFill(page, part(fill, 16), part(fill, 8), part(fill, 0));
  HPDF_Page_Circle(page, real(middle.x), real(height_ - middle.y), real(radius));
  HPDF_Page_Fill(page);
}

void PdfCanvas::text(Spot at, std::string_view text, double size, Align align, Colour colour,
                     bool upright) {
  const HPDF_Page page = document_->page;
  const std::string shown = latin1(text);
  const double share = align == Align::left ? 0 : align == Align::middle ? 0.5 : 1;
  const double back = share * text_width(text, size);
  const double x = at.x - (upright ? 0 : back), y = height_ - at.y - (upright ? back : 0);
  HPDF_Page_SetRGBFill(page, part(colour, 16), part(colour, 8), part(colour, 0));
  HPDF_Page_BeginText(page);
  HPDF_Page_SetFontAndSize(page, document_->font, real(size));
  if (upright) {
    HPDF_Page_SetTextMatrix(page, 0, 1, -1, 0, real(x), real(y));
  } else {
    HPDF_Page_SetTextMatrix(page, 1, 0, 0, 1, real(x), real(y));
  }
  HPDF_Page_ShowText(page, shown.c_str());
  HPDF_Page_EndText(page);
}

std::string PdfCanvas::finish() {
  const HPDF_Doc doc = document_->doc;
  HPDF_SaveToStream(doc);
  if (const HPDF_STATUS error = HPDF_GetError(doc); error != HPDF_OK) {
    throw RunError(fmt::format("a PDF could not be made: libharu's error {:#x}", error));
  }
  std::string file(HPDF_GetStreamSize(doc), '\0');
  auto size = static_cast<HPDF_UINT32>(file.size());
  HPDF_ResetStream(doc);
  HPDF_ReadFromStream(doc, reinterpret_cast<HPDF_BYTE*>(file.data()), &size);
  file.resize(size);
  return file;
}

}  // namespace ductile
