// How the controller and who comes to it by TCP show each other who they are, before anything else
// is said: each signs the other's nonce, by MUNGE. docs/formats/controller.md has the lines, and
// what this protects and what not.
#pragma once

#include <string>
#include <variant>

#include "job/munge.hpp"

namespace ductile {

/// 32 hexadecimal digits, by chance.
std::string new_nonce();

/// The controller's side of one connection.
class ServerHandshake {
 public:
  /// `credentials` outlives it.
  explicit ServerHandshake(const Credentials& credentials, std::string nonce = new_nonce())
      : credentials_(credentials), nonce_(std::move(nonce)) {}

  /// The first line.
  std::string greeting() const;
  /// What comes of the line that answers it: who that is, or why that is not known; and what is to
  /// be sent, a refusal without reasons that a stranger would like to know.
  struct Outcome {
    std::variant<Owner, std::string> who{};
    std::string answer{};
  };
  Outcome on_line(const std::string& line) const;

 private:
  const Credentials& credentials_;
  std::string nonce_;
};

/// The other side.
class ClientHandshake {
 public:
  /// `user`: as whom the controller runs, besides root and this user himself.
  ClientHandshake(const Credentials& credentials, uid_t user, std::string nonce = new_nonce())
      : credentials_(credentials), user_(user), nonce_(std::move(nonce)) {}

  /// What to answer to the first line. RunError if it is none.
  std::string on_greeting(const std::string& line) const;
  /// The second one: RunError if the controller refuses, or is none that is to be trusted.
  void on_answer(const std::string& line) const;

 private:
  const Credentials& credentials_;
  uid_t user_;
  std::string nonce_;
};

}  // namespace ductile
