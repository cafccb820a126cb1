#include "live/state_lock.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>

#include "base/error.hpp"

namespace ductile {

Descriptor lock_state(const std::string& folder, const StateOwner& owner) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/lock";
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    throw InputError("the folder '" + folder + "' cannot be used: " + std::strerror(errno),
                     std::string("give another one with ") + owner.option);
  }
  // Not one of flock: processes that this one starts would have that, too, and keep it a while when
  // this one is gone.
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  if (fcntl(lock.get(), F_SETLK, &all) != 0) {
    throw InputError(std::string("another ") + owner.who + " uses the folder '" + folder + "'",
                     std::string("end it, or give another one with ") + owner.option);
  }
  return lock;
}

}  // namespace ductile
