// Compressing, for tests of what reads compressed files.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

namespace ductile::testing {

inline std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_format = 16;
  if (deflateInit2(&stream, 6, Z_DEFLATED, gzip_format + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

/// `dictionary`: bytes of it that the reader must provide; 0: those of `xz -6`.
inline std::string xz(std::string_view text, std::uint32_t dictionary = 0) {
  lzma_options_lzma options{};
  lzma_lzma_preset(&options, 6);
  if (dictionary != 0) options.dict_size = dictionary;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  const lzma_ret result = lzma_stream_buffer_encode(
      filters, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
      text.size(), reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size());
  if (result != LZMA_OK) throw std::runtime_error("lzma_stream_buffer_encode");
  packed.resize(size);
  return packed;
}

/// `window_log`: of the window that the reader must provide; 0: the library's choice.
inline std::string zstd(std::string_view text, int window_log = 0) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  // As a stream of unknown length, or the window would be cut to the length of the text.
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  const std::size_t left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  if (left != 0) throw std::runtime_error("ZSTD_compressStream2");
  packed.resize(out.pos);
  return packed;
}

}  // namespace ductile::testing
