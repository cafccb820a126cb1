#include "simulation/recording.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "scheduling/record.hpp"

namespace ductile {

void LogSeal::add(std::string_view line) {
  sum_.add(line).add("\n");
  ++lines_;
}

std::string LogSeal::line() const { return "end " + std::to_string(lines_) + ' ' + sum_.text(); }

Recorder::Recorder(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".part"), file_(temporary_, std::ios::binary) {
  if (!file_) {
    throw InputError({path_}, "the log cannot be written", "use a folder that you may write to");
  }
}

Recorder::~Recorder() {
  if (!file_.is_open()) return;
  file_.close();
  std::remove(temporary_.c_str());
}

void Recorder::line(const std::string& text) {
  seal_.add(text);
  file_ << text << '\n';
}

void Recorder::on_begin(const Core& core) {
  const State& state = core.state();
  line(std::string(kFirstLogLine));
  line("platform " + to_record(state.platform));
  line("world " + to_record(state.capabilities));
  line("rules " + to_record(state.rules));
  line("policy " + to_record(state.traits));
}

void Recorder::on_event(Time now, const Event& event, bool taken, const Core&) {
  line("E " + to_record(now) + (taken ? " 1 " : " 0 ") + to_record(event));
}

void Recorder::on_decision(Time, const Decision& decision, const Core&) {
  decisions_ += "D " + to_record(decision) + '\n';
}

void Recorder::on_close(Time now, const Core& core) {
  line("C " + to_record(Closed{now, core.was_asked()}));
  for (const PenCall& call : core.pen_calls()) line("P " + to_record(call));
  for (std::string_view rest = decisions_; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    line(std::string(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  decisions_.clear();
}

void Recorder::on_finish(Time, const Core&) {
  file_ << seal_.line() << '\n';
  file_.close();
  std::error_code error;
  if (file_) std::filesystem::rename(temporary_, path_, error);
  if (!file_ || error) {
    std::remove(temporary_.c_str());
    throw RunError(path_ + ": the log could not be written; is the disk full?");
  }
}

std::string sealed_log(std::string lines) {
  if (!lines.empty() && lines.back() != '\n') lines += '\n';
  LogSeal seal;
  for (std::string_view rest = lines; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    seal.add(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return lines + seal.line() + '\n';
}

}  // namespace ductile
