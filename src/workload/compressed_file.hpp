// Reading a file from front to back, unpacked on the way if it is compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ductile {

/// A file that is plain or compressed with gzip, xz or Zstandard; its first bytes tell, not its
/// name. Memory is bounded whatever the file holds: fixed buffers, and what the decoder needs, for
/// which there is a limit (256 MiB; `xz -9` needs 65). Several members one after the other are read
/// as one file.
///
/// All members but `consumed` and `total` throw InputError: the file cannot be read, is damaged,
/// ends too early, needs too much memory, or is a decompression bomb (it unpacks to more than 1000
/// times its size, which no log does).
class CompressedFile {
 public:
  static CompressedFile open(const std::string& path);
  /// Reads `bytes` as if they were the content of a file called `name`; they are not copied.
  static CompressedFile in_memory(std::string_view bytes, const std::string& name);

  CompressedFile(CompressedFile&&) noexcept;
  CompressedFile& operator=(CompressedFile&&) noexcept;
  ~CompressedFile();

  /// Unpacks up to `size` > 0 bytes to `to` and returns how many, at least one; 0 at the end of the
  /// file.
  std::size_t read(char* to, std::size_t size);

  /// Bytes of the file as it is stored: how many are used up, and how many there are (0: not
  /// known, as of a pipe).
  std::uint64_t consumed() const;
  std::uint64_t total() const;

 private:
  class State;
  explicit CompressedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// All that the file unpacks to. Throws InputError.
std::string read_file(const std::string& path);

}  // namespace ductile
