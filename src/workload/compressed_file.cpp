#include "workload/compressed_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.hpp"

namespace ductile {
namespace {

constexpr std::size_t kBufferSize = 256 << 10;
constexpr std::uint64_t kDecoderMemory = 256 << 20;
// Logs shrink to between a quarter and a thirtieth.
constexpr std::uint64_t kLargestRatio = 1000;
constexpr std::uint64_t kAlwaysAllowed = 1 << 20;

enum class Outcome : std::uint8_t {
  more,      // wants more input or more room
  complete,  // the file may end here
  stuck,     // damaged, or out of input in the middle
  too_big,   // needs more memory than it may have
};

struct Step {
  std::size_t consumed = 0, produced = 0;
  Outcome outcome = Outcome::more;
};

class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  /// Unpacks some of `in` to `out`, which is not empty. `last`: nothing follows `in`. Never makes
  /// no progress for ever: it ends in `stuck`.
  virtual Step step(std::span<const char> in, std::span<char> out, bool last) = 0;
};

class PlainDecoder : public Decoder {
 public:
  Step step(std::span<const char> in, std::span<char> out, bool) override {
    const std::size_t size = std::min(in.size(), out.size());
    std::copy_n(in.begin(), size, out.begin());
    return {size, size, Outcome::complete};
  }
};

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, gzip_only + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Step step(std::span<const char> in, std::span<char> out, bool) override {
    if (std::exchange(between_members_, false)) inflateReset(&stream_);
    // zlib does not write to its input, but its C interface does not say so.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    between_members_ = result == Z_STREAM_END;
    const Outcome outcome = result == Z_STREAM_END ? Outcome::complete
                            : result == Z_OK       ? Outcome::more
                                                   : Outcome::stuck;
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, outcome};
  }

 private:
  z_stream stream_{};
  bool between_members_ = false;
};

class XzDecoder : public Decoder {
 public:
  XzDecoder() {
    if (lzma_stream_decoder(&stream_, kDecoderMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~XzDecoder() override { lzma_end(&stream_); }

  Step step(std::span<const char> in, std::span<char> out, bool last) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    const Outcome outcome = result == LZMA_STREAM_END       ? Outcome::complete
                            : result == LZMA_OK             ? Outcome::more
                            : result == LZMA_MEMLIMIT_ERROR ? Outcome::too_big
                                                            : Outcome::stuck;
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out, outcome};
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() {
    if (stream_ == nullptr) throw std::bad_alloc();
    // The library itself refuses windows beyond 128 MiB, well below `kDecoderMemory`.
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  Step step(std::span<const char> in, std::span<char> out, bool) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &to, &from);
    Outcome outcome = result == 0 ? Outcome::complete : Outcome::more;
    // In the middle of a frame's header the library asks for more for ever.
    if (in.empty() && to.pos == 0 && result != 0) outcome = Outcome::stuck;
    if (ZSTD_isError(result) != 0) {
      const bool window = ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
      outcome = window ? Outcome::too_big : Outcome::stuck;
    }
    return {from.pos, to.pos, outcome};
  }

 private:
  ZSTD_DStream* stream_ = ZSTD_createDStream();
};

std::unique_ptr<Decoder> make_decoder(std::string_view beginning) {
  using namespace std::string_view_literals;
  if (beginning.starts_with("\x1f\x8b"sv)) return std::make_unique<GzipDecoder>();
  if (beginning.starts_with("\xfd\x37zXZ\0"sv)) return std::make_unique<XzDecoder>();
  // A Zstandard file may begin with a skippable frame: pzstd writes one.
  const bool skippable = beginning.size() >= 4 && (beginning[0] & 0xf0) == 0x50 &&
                         beginning.substr(1, 3) == "\x2a\x4d\x18"sv;
  if (skippable || beginning.starts_with("\x28\xb5\x2f\xfd"sv)) {
    return std::make_unique<ZstdDecoder>();
  }
  return std::make_unique<PlainDecoder>();
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

class CompressedFile::State {
 public:
  explicit State(const std::string& path) : name_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) fail_to_read();
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // `buffer_` is all it takes
    std::error_code not_known;
    const std::uintmax_t size = std::filesystem::file_size(path, not_known);
    if (!not_known) total_ = size;
    buffer_.resize(kBufferSize);
    start();
  }

  State(std::string_view bytes, const std::string& name)
      : name_(name), total_(bytes.size()), input_(bytes), at_end_(true) {
    start();
  }

  std::size_t read(char* to, std::size_t size) {
    size = std::min(size, kBufferSize);
    while (true) {
      if (input_.empty() && !at_end_) refill();
      if (input_.empty() && at_end_ && complete_) return 0;
      const Step step = decoder_->step(input_, {to, size}, at_end_);
      input_.remove_prefix(step.consumed);
      consumed_ += step.consumed;
      produced_ += step.produced;
      complete_ = step.outcome == Outcome::complete;
      check(step.outcome);
      if (step.produced > 0) return step.produced;
    }
  }

  std::uint64_t consumed() const { return consumed_; }
  std::uint64_t total() const { return total_; }

 private:
  void start() {
    if (!at_end_) refill();
    decoder_ = make_decoder(input_);
  }

  // Reads the next part of the file; the last one is all used up.
  void refill() {
    const std::size_t size = std::fread(buffer_.data(), 1, kBufferSize, file_.get());
    if (std::ferror(file_.get()) != 0) fail_to_read();
    at_end_ = size < kBufferSize;
    input_ = {buffer_.data(), size};
  }

  void check(Outcome outcome) const {
    if (outcome == Outcome::too_big) {
      throw InputError({.file = name_}, "unpacking it takes more than 256 MiB of memory",
                       "pack it again with a smaller window, as `xz -9` and `zstd -19` do");
    }
    if (outcome == Outcome::stuck && input_.empty() && at_end_) {
      throw InputError({.file = name_}, "the compressed file ends too early",
                       "it was not copied or written completely: get it again");
    }
    if (outcome == Outcome::stuck) {
      throw InputError({.file = name_}, "the compressed file is damaged", "get it again");
    }
    if (produced_ > kAlwaysAllowed + kLargestRatio * consumed_) {
      throw InputError({.file = name_},
                       "it unpacks to more than 1000 times its size, as no log does",
                       "unpack it yourself if you trust it");
    }
  }

  [[noreturn]] void fail_to_read() const {
    throw InputError({.file = name_}, std::string("cannot be read: ") + std::strerror(errno),
                     "check the name and that you may read the file");
  }

  std::string name_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::vector<char> buffer_;  // of the file; empty for bytes in memory
  std::unique_ptr<Decoder> decoder_;
  std::uint64_t total_ = 0, consumed_ = 0, produced_ = 0;
  std::string_view input_;  // read, not yet unpacked
  bool at_end_ = false;     // nothing follows `input_`
  bool complete_ = true;    // the file may end after what is unpacked
};

CompressedFile::CompressedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompressedFile::CompressedFile(CompressedFile&&) noexcept = default;
CompressedFile& CompressedFile::operator=(CompressedFile&&) noexcept = default;
CompressedFile::~CompressedFile() = default;

CompressedFile CompressedFile::open(const std::string& path) {
  return CompressedFile(std::make_unique<State>(path));
}

CompressedFile CompressedFile::in_memory(std::string_view bytes, const std::string& name) {
  return CompressedFile(std::make_unique<State>(bytes, name));
}

std::size_t CompressedFile::read(char* to, std::size_t size) { return state_->read(to, size); }
std::uint64_t CompressedFile::consumed() const { return state_->consumed(); }
std::uint64_t CompressedFile::total() const { return state_->total(); }

std::string read_file(const std::string& path) {
  CompressedFile file = CompressedFile::open(path);
  std::string text;
  constexpr std::size_t kPiece = 64 << 10;
  for (std::size_t size = kPiece; size > 0;) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    size = file.read(text.data() + before, kPiece);
    text.resize(before + size);
  }
  return text;
}

}  // namespace ductile
