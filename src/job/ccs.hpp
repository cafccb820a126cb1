// Requests to programs of Charm++ by CCS, its protocol for clients ("Converse Client-Server"; in
// Charm++'s source src/conv-ccs), always with a key: who asks proves that he has it, and so does
// who answers. All numbers are of 32 bits, big-endian.
//
//   first connection    0x80000100, challenge          ->
//                       <- challenge
//                       signature of that              ->
//                       <- signature of the first one, number of the client, its salt
//   second connection   0x80000000, number, challenge, signature of salt and header,
//                       header, data                   ->
//                       <- signature of the challenge, length, data
//
// The header is the length of the data, the processor that is asked, and the name of the handler in
// 32 bytes. A signature is the SHA-1 of 52 bytes: the key, a number, and 16 bytes of the header or
// zeros. So nobody who is not between the two can give an order; the data itself is not signed, and
// nothing is secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "job/poller.hpp"
#include "job/socket.hpp"

namespace ductile {

using CcsKey = std::array<unsigned char, 16>;

/// One that nobody can guess. Each byte is below 100: Charm++ reads two digits of its file as a
/// decimal number.
CcsKey new_ccs_key();
/// As a line of the file that `++server-auth` names.
std::string to_line(const CcsKey& key);

using CcsSignature = std::array<unsigned char, 20>;
/// Of this number and, if there is one, the beginning of a header.
CcsSignature sign(const CcsKey& key, std::uint32_t number, std::string_view header = {});

/// What is asked of processor 0.
struct CcsRequest {
  std::string handler{};
  std::string data{};
};

/// One request: asked when it is made, over when there is an answer or none will come.
class CcsCall {
 public:
  /// A socket that does not block and has been told to connect. std::system_error.
  using Connect = std::function<Descriptor()>;

  CcsCall(Connect connect, const CcsKey& key, CcsRequest request);
  CcsCall(const CcsCall&) = delete;
  CcsCall& operator=(const CcsCall&) = delete;

  /// `act` is to call `go_on`, if this is there still by then.
  void add_to(Poller& poller, std::function<void()> act) const;
  /// Something may have happened to its socket.
  void go_on();
  bool is_over() const { return !socket_; }
  /// The answer; nothing if it failed, or is not over.
  const std::optional<std::string>& answer() const { return answer_; }
  /// Why it failed.
  const std::string& error() const { return error_; }

 private:
  enum class Stage { challenge, proof, head, data };

  void open();
  void take(std::string_view bytes);
  void fail(const std::string& why);

  Connect connect_;
  CcsKey key_;
  CcsRequest request_;
  std::uint32_t challenge_;
  Stage stage_ = Stage::challenge;
  Descriptor socket_{};
  std::string out_{}, in_{};  // to be sent; what has come
  std::size_t awaited_ = 0;   // bytes of this stage
  std::optional<std::string> answer_{};
  std::string error_{};
};

}  // namespace ductile
