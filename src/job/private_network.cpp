#include "job/private_network.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ductile {
namespace {

constexpr int kSocketType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

bool write_text(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = write(file, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  close(file);
  return is_written;
}

/// Who is not root may have networks in a name space of users of his own, in which he is who he is.
bool enter_own_users() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return false;
  std::array<char, 64> users{}, groups{};
  std::snprintf(users.data(), users.size(), "%u %u 1", user, user);
  std::snprintf(groups.data(), groups.size(), "%u %u 1", group, group);
  return write_text("/proc/self/setgroups", "deny") &&
         write_text("/proc/self/gid_map", groups.data()) &&
         write_text("/proc/self/uid_map", users.data());
}

bool raise_loopback() {
  const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return false;
  ifreq loopback{};
  std::memcpy(loopback.ifr_name, "lo", sizeof "lo");
  loopback.ifr_flags = IFF_UP;
  const bool is_up = ioctl(handle, SIOCSIFFLAGS, &loopback) == 0;
  close(handle);
  return is_up;
}

/// Into that name space of another process, if this one is not in it. False with errno.
bool join(pid_t pid, const char* name, int type) {
  std::array<char, 64> its{}, own{};
  std::snprintf(its.data(), its.size(), "/proc/%d/ns/%s", pid, name);
  std::snprintf(own.data(), own.size(), "/proc/self/ns/%s", name);
  struct stat there {
  }, here{};
  if (stat(its.data(), &there) != 0 || stat(own.data(), &here) != 0) return false;
  if (there.st_ino == here.st_ino) return true;
  const int space = open(its.data(), O_RDONLY | O_CLOEXEC);
  const bool is_in = space >= 0 && setns(space, type) == 0;
  return is_in;
}

/// Sends a descriptor, or in its place an error.
void hand_over(int channel, int descriptor, int error) {
  iovec data{.iov_base = &error, .iov_len = sizeof error};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  sendmsg(channel, &message, MSG_NOSIGNAL);
}

Descriptor take_over(int channel) {
  int error = ECHILD;  // it has said nothing
  iovec data{.iov_base = &error, .iov_len = sizeof error};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr) {
    throw std::system_error(error, std::generic_category(), "its network cannot be entered");
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return Descriptor(descriptor);
}

/// What a process of its own does; it ends with `_exit`.
template <class Do>
pid_t in_new_process(const Do& what) {
  const pid_t pid = fork();
  if (pid == 0) {
    what();
    _exit(0);
  }
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "no process");
  return pid;
}

}  // namespace

const char* enter_private_network() {
  if (unshare(CLONE_NEWNET) != 0 && (!enter_own_users() || unshare(CLONE_NEWNET) != 0)) {
    return "the program cannot have a network of its own";
  }
  return raise_loopback() ? nullptr : "the program's own network has no loopback";
}

bool can_have_private_network() {
  const pid_t pid = in_new_process([] { _exit(enter_private_network() == nullptr ? 0 : 1); });
  int status = 0;
  return waitpid(pid, &status, 0) == pid && status == 0;
}

Descriptor socket_in_network_of(pid_t pid) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "no socket");
  }
  Descriptor here(ends[0]), there(ends[1]);
  const pid_t helper = in_new_process([&] {
    const bool is_in = join(pid, "user", CLONE_NEWUSER) && join(pid, "net", CLONE_NEWNET);
    const int made = is_in ? socket(AF_INET, kSocketType, 0) : -1;
    hand_over(there.get(), made, made < 0 ? errno : 0);
  });
  there.reset();
  waitpid(helper, nullptr, 0);
  return take_over(here.get());
}

}  // namespace ductile
