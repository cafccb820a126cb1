// What the processes of a job write, on its way to stdout and stderr of the manager: in the order
// of the generations, nothing of one that is not the job yet, and none of it lost without a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/generation.hpp"
#include "job/poller.hpp"

namespace ductile {

class JobOutput {
 public:
  struct Settings {
    bool keep = false;            // what goes to stdout, besides passing it on
    bool pass = true;             // on
    std::string folder = "/tmp";  // where files without a name hold what may not be heard yet
  };
  explicit JobOutput(Settings settings) : settings_(std::move(settings)) {}
  void hold_in(const std::string& folder) { settings_.folder = folder; }

  /// Of a generation that may not be heard yet so much is held: it is to come to its data
  /// meanwhile.
  static constexpr std::uint64_t kMostHeld = std::uint64_t{1} << 28;

  /// The pipes that are to be read, and stdout and stderr if something waits for them. After each
  /// reading `on_read` is called.
  void add_to(Poller& poller, const Generations& generations,
              const std::function<void(Generation&)>& on_read);
  /// Is more than that held of it?
  bool is_full(const Generation& generation) const { return !has_room_for(generation); }
  /// What is in its pipes, before whatever comes then is nobody's.
  void hear_to_the_end(Generation& generation);
  /// What it wrote, and writes from now on, is nobody's: launchers complain when they are told to
  /// end.
  static void mute(Generation& generation);

  /// Passes on what may be heard: of the generations up to `current`, one after the other; and what
  /// one wrote that never became the job, as why that is. It never waits.
  void pass(const Generations& generations, std::uint32_t current);
  /// The last of it, however long it takes.
  void pass_rest();
  /// A line of the manager among what the program says on stderr: it is for who wrote it.
  void say(std::string_view line);

  /// Nobody reads stdout any more.
  bool has_lost_its_reader() const { return has_lost_its_reader_; }
  /// The end of stdout and stderr: why a program has failed may be there.
  const std::string& last_words() const { return last_words_; }
  /// What was to be kept.
  std::string take_kept() { return std::move(kept_); }
  /// Bytes that could not be written, because a disk was full or broken: no reason for a job to
  /// end. And why that was, of the last of them.
  std::uint64_t lost() const { return lost_; }
  const std::string& lost_why() const { return lost_why_; }

 private:
  bool has_room_for(const Generation& generation) const;
  bool read(Generation& generation, Descriptor& pipe);
  void pass(HeldOutput& held, std::string& to, int fd);
  void deliver(int fd, std::string& text);
  void write(int fd, std::string& text);
  void lose(std::uint64_t bytes, const std::string& why);
  bool is_removed(int fd) const;

  Settings settings_;
  std::string out_{}, err_{};  // that goes on next
  std::vector<int> files_ = named_files();
  std::string last_words_{}, kept_{};
  std::uint64_t lost_ = 0;
  std::string lost_why_{};
  bool has_lost_its_reader_ = false;

  static std::vector<int> named_files();
};

}  // namespace ductile
