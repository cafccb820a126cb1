#include "job/resize_method.hpp"

#include "job/threads_method.hpp"

namespace ductile {

std::unique_ptr<ResizeMethod> make_resize_method(const RunSettings& settings,
                                                 const std::string& folder) {
  switch (settings.kind) {
    case JobKind::threads:
      return std::make_unique<ThreadsMethod>(settings, folder);
    case JobKind::mpi:
    case JobKind::rigid:
    case JobKind::steps:
      break;
  }
  return nullptr;
}

}  // namespace ductile
