#include "job/resize_method.hpp"

#include <utility>

#include "job/charm_method.hpp"
#include "job/restart_method.hpp"
#include "job/script_method.hpp"
#include "job/threads_method.hpp"

namespace ductile {

std::unique_ptr<ResizeMethod> make_resize_method(const RunSettings& settings,
                                                 const std::string& folder,
                                                 ResizeMethod::Outside outside) {
  switch (settings.kind) {
    case JobKind::threads:
      return std::make_unique<ThreadsMethod>(settings, folder);
    case JobKind::mpi:
    case JobKind::rigid:
    case JobKind::steps:
      break;
    case JobKind::script:
      return std::make_unique<ScriptMethod>(settings, folder);
    case JobKind::restart:
      return std::make_unique<RestartMethod>(settings, folder, std::move(outside));
    case JobKind::charm:
      return std::make_unique<CharmMethod>(settings);
  }
  return nullptr;
}

}  // namespace ductile
