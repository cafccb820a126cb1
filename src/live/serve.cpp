#include "live/serve.hpp"

#include "job/socket.hpp"
#include "live/controller.hpp"
#include "live/local_world.hpp"
#include "live/state_lock.hpp"

namespace ductile {

void serve(const ServeSettings& settings, const Registry& registry,
           const std::function<ServeSettings()>& reload) {
  const Descriptor lock = lock_state(settings.state);
  LocalWorld world(settings.platform, {.folder = settings.state + "/jobs",
                                       .program = settings.program,
                                       .cgroups = settings.cgroups,
                                       .max_processes_per_node = settings.max_processes_per_node});
  Controller(settings, registry, reload, world).run();
}

}  // namespace ductile
