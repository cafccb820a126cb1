#include "cli/workload_fetch.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "simulation/checksum.hpp"
#include "workload/archive.hpp"
#include "workload/compressed_file.hpp"
#include "workload/swf.hpp"

namespace ductile {
namespace {

namespace fs = std::filesystem;

struct FetchOptions {
  std::string name, url, out;
  bool list = false;
};

// What is to be fetched, from where, to where.
struct Download {
  std::string url;
  fs::path out, part;
  fs::path from;                   // beside the part: the address that it is of
  std::optional<ArchivedLog> log;  // where it is one that is known
};

Download download_of(const FetchOptions& options) {
  Download download;
  const bool is_file = !options.url.empty() && !options.url.ends_with('/');
  if (is_file) {
    for (const ArchivedLog& log : archived_logs()) {
      if (log.name == options.name) download.log = log;
    }
    download.url = options.url;
  } else {
    download.log = archived_log(options.name);
    download.url = options.url.empty() ? url_of(*download.log) : url_of(*download.log, options.url);
  }
  if (!download.url.starts_with("https://") && !download.url.starts_with("http://")) {
    throw InputError({.field = "--url"}, fmt::format("'{}' is no address", printable(download.url)),
                     "give one that begins with https:// or http://");
  }
  const std::string name = download.log ? std::string(download.log->name) : options.name;
  if (options.out.empty() && (name.find('/') != std::string::npos || name.empty())) {
    throw InputError(fmt::format("'{}' is no name of a file", printable(name)), "give --out");
  }
  download.out = options.out.empty() ? name + ".swf.gz" : options.out;
  download.part = download.out;
  download.part += ".part";
  download.from = download.part;
  download.from += ".from";
  return download;
}

// Lets curl get the file, from where an earlier call was cut off. Returns its exit code.
int run_curl(const Download& download) {
  const bool is_watched = isatty(STDERR_FILENO) != 0;
  std::vector<std::string> words = {"curl",
                                    "--fail",
                                    "--location",
                                    "--proto",
                                    "=http,https",
                                    is_watched ? "--progress-bar" : "--silent",
                                    "--show-error",
                                    "--connect-timeout",
                                    "30",
                                    "--continue-at",
                                    "-",
                                    "--output",
                                    download.part.string(),
                                    "--url",
                                    download.url};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int error = posix_spawnp(&child, "curl", nullptr, nullptr, arguments.data(), environ);
  if (error != 0) {
    throw RunError(fmt::format("curl, which fetches files, cannot be started: {}; install it",
                               std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw RunError(std::string("curl is lost: ") + std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// Unpacks all of it, and compares it with what is known. Throws InputError or RunError.
void check(const fs::path& path, const std::optional<ArchivedLog>& log) {
  CompressedFile file = CompressedFile::open(path.string());
  std::vector<char> piece(std::size_t{1} << 20);
  Checksum sum;
  std::uint64_t bytes = 0;
  while (const std::size_t size = file.read(piece.data(), piece.size())) {
    sum.add(piece.data(), size);
    bytes += size;
  }
  if (log && log->bytes > 0 && (bytes != log->bytes || sum.value() != log->checksum)) {
    throw RunError(fmt::format(
        "{}: is not {}: it unpacks to {} bytes with the sum {}, and should to {} with {:016x}",
        path.string(), log->name, bytes, sum.text(), log->bytes, log->checksum));
  }
  // An error page is no log, and no line may be anything else. No job is kept in memory.
  const Skipped seen =
      read_swf(path.string(), {.min_size = std::numeric_limits<Nodes>::max()}).skipped;
  if (seen.total() + seen.filtered == 0) {
    throw InputError({.file = path.string()}, "has no job", "look at the address");
  }
}

// Goes on only with what came from the same address. Throws InputError if nothing can be written.
void begin(const Download& download) {
  std::string from;
  std::getline(std::ifstream(download.from), from);
  std::error_code ignored;
  if (from != download.url) fs::remove(download.part, ignored);
  std::ofstream file(download.from);
  file << download.url << '\n' << std::flush;
  if (file) return;
  const int error = errno;
  fs::remove(download.from, ignored);
  throw InputError({.file = download.out.string()},
                   std::string("cannot be written: ") + std::strerror(error),
                   "give another file to --out");
}

void forget(const Download& download) {
  std::error_code ignored;
  fs::remove(download.part, ignored);
  fs::remove(download.from, ignored);
}

void get(const Download& download) {
  begin(download);
  std::error_code ignored;
  const bool resumes = fs::exists(download.part, ignored);
  int code = run_curl(download);
  // The server cannot begin in the middle, or there is nothing after what is here.
  constexpr int kRefused = 22, kNoRange = 33, kBadResume = 36;
  if (resumes && (code == kRefused || code == kNoRange || code == kBadResume)) {
    fs::remove(download.part, ignored);
    code = run_curl(download);
  }
  if (code != 0) {
    const bool is_begun = fs::exists(download.part, ignored);
    if (!is_begun) forget(download);
    throw RunError(fmt::format("{}: cannot be fetched (curl: exit code {}); {}", download.url, code,
                               is_begun ? "call again to go on with what is there of it"
                                        : "look at the address, or give a mirror's with --url"));
  }
  try {
    check(download.part, download.log);
  } catch (const std::exception&) {
    forget(download);  // to go on with it would bring the same
    throw;
  }
  std::error_code error;
  fs::rename(download.part, download.out, error);
  if (error) throw RunError(download.out.string() + ": cannot be written: " + error.message());
  forget(download);
}

std::string list_of_logs() {
  std::string text;
  for (const ArchivedLog& log : archived_logs()) {
    text += fmt::format("{:<26}{}\n", log.name, url_of(log));
  }
  return text;
}

void fetch(const FetchOptions& options) {
  if (options.list) {
    std::cout << list_of_logs();
    return;
  }
  if (options.name.empty()) {
    throw InputError({.field = "name"}, "is missing", "give the name of a log; --list shows them");
  }
  const Download download = download_of(options);
  const bool is_there = fs::exists(download.out);
  if (is_there) {
    check(download.out, download.log);
  } else {
    get(download);
  }
  const bool is_known = download.log && download.log->bytes > 0;
  std::cout << fmt::format("{}: {}, {}\n", download.out.string(),
                           is_there ? "is there already" : "fetched from " + download.url,
                           is_known ? "its sum is right" : "no sum of it is known");
}

}  // namespace

void add_fetch(CLI::App& workload) {
  CLI::App& command =
      *workload.add_subcommand("fetch", "get a log of the Parallel Workloads Archive, by its name");
  const auto options = std::make_shared<FetchOptions>();
  command.add_option("name", options->name, "of the log, or the beginning of it");
  command.add_flag("--list", options->list,
                   "show the names that are known, and where the logs are");
  command
      .add_option("--url", options->url,
                  "another address: of the file, or, with / at its end, of a mirror of the archive")
      ->type_name("URL");
  command.add_option("--out", options->out, "the file to write [NAME.swf.gz]")->type_name("FILE");
  command.callback([options] { fetch(*options); });
}

}  // namespace ductile
