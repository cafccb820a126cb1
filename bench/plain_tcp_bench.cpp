// The yardstick of hand-overs: bytes per second of plain TCP over the loopback, from as many
// processes to as many others. The senders have touched their memory, that of the receivers is
// fresh, as in a hand-over. Usage: plain_tcp_bench MEGABYTES CONNECTIONS; prints GB/s.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/socket.hpp"

namespace {

using ductile::Descriptor;

/// Says when all has come: giving its memory back takes a while, too.
void receive(const Descriptor& listener, std::size_t bytes, int say) {
  const Descriptor socket(accept(listener.get(), nullptr, nullptr));
  const std::unique_ptr<char[]> memory(new char[bytes]);
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t more = recv(socket.get(), memory.get() + got, bytes - got, 0);
    if (more <= 0) _exit(1);
    got += static_cast<std::size_t>(more);
  }
  if (write(say, "", 1) != 1) _exit(1);
}

/// Says when its memory is there and begins when told.
void send(const std::string& address, std::size_t bytes, int say, int hear) {
  const std::string memory(bytes, 'x');
  char byte = 0;
  if (write(say, &byte, 1) != 1 || read(hear, &byte, 1) != 0) _exit(1);
  const Descriptor socket = ductile::connect_to(address, std::chrono::seconds(10));
  ductile::set_blocking(socket, true);
  if (!ductile::send_all(socket, memory)) _exit(1);
}

template <class Work>
pid_t in_a_process(const Work& work) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  work();
  _exit(0);
}

/// A byte from each of so many.
void wait_for(int pipe, std::size_t count) {
  char byte = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (read(pipe, &byte, 1) != 1) std::abort();
  }
}

std::array<int, 2> new_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::abort();
  return ends;
}

double gigabytes_per_second(std::size_t bytes, std::size_t connections) {
  const Descriptor listener = ductile::listen_tcp("127.0.0.1");
  ductile::set_blocking(listener, true);
  const std::string address = ductile::local_address(listener);
  const auto done = new_pipe();
  const auto ready = new_pipe();
  std::vector<pid_t> processes;
  for (std::size_t i = 0; i < connections; ++i) {
    processes.push_back(in_a_process([&] { receive(listener, bytes / connections, done[1]); }));
  }
  const auto start = new_pipe();  // which the receivers do not hold open
  for (std::size_t i = 0; i < connections; ++i) {
    processes.push_back(in_a_process([&] {
      close(start[1]);
      send(address, bytes / connections, ready[1], start[0]);
    }));
  }
  wait_for(ready[0], connections);
  const auto begin = std::chrono::steady_clock::now();
  close(start[1]);
  wait_for(done[0], connections);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (const pid_t pid : processes) {
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) std::abort();
  }
  return static_cast<double>(bytes / connections * connections) / took.count() / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const std::size_t connections = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  if (megabytes == 0 || connections == 0 || connections > 1000) {
    std::fprintf(stderr, "usage: plain_tcp_bench MEGABYTES CONNECTIONS\n");
    return 2;
  }
  alarm(300);  // whatever goes wrong, it does not stay
  std::printf("%.3f\n", gigabytes_per_second(megabytes * 1'000'000, connections));
  return 0;
}
