// The standard input of several runs of a program, one after another: each finds all of it.
#pragma once

#include <cstdint>
#include <thread>

#include "job/socket.hpp"

namespace ductile {

/// Stands in for a standard input that can be read once, a pipe for example: keeps what a run has
/// read of it for the next one. A file is read from where it stands each time, and anything else
/// stays as it is.
class SharedInput {
 public:
  /// RunError if there is no room to keep anything.
  SharedInput();
  SharedInput(const SharedInput&) = delete;
  SharedInput& operator=(const SharedInput&) = delete;
  /// The standard input is what it was.
  ~SharedInput();

  /// The next run begins. RunError if what the one before has read could not be kept.
  void begin();

 private:
  void end();
  void feed(Descriptor to);

  off_t begin_ = -1;       // of a file
  Descriptor original_{};  // of what can be read once
  Descriptor kept_{};
  Descriptor stop_{};
  bool is_at_end_ = false;  // of the original: all is kept
  bool is_lost_ = false;    // what could not be kept
  std::thread feeder_{};
};

}  // namespace ductile
