#include "job/resize_method.hpp"

namespace ductile {

std::unique_ptr<ResizeMethod> make_resize_method(const RunSettings& settings,
                                                 const std::string& /*folder*/) {
  switch (settings.kind) {
    case JobKind::mpi:
    case JobKind::rigid:
    case JobKind::steps:
      break;
  }
  return nullptr;
}

}  // namespace ductile
