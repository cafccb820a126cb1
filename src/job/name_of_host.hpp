// Whether the name of this host can be looked up, which may take as long as a name server is
// silent.
#pragma once

#include <atomic>
#include <memory>
#include <string>

namespace ductile {

/// Looks it up by itself; nobody waits for it.
class NameOfHost {
 public:
  NameOfHost();
  const std::string& name() const { return name_; }
  /// There was an answer, if only that there is no such name; or it could not be looked up.
  bool is_known() const { return *is_known_; }

 private:
  std::string name_{};
  std::shared_ptr<std::atomic<bool>> is_known_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace ductile
