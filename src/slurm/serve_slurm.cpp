#include "slurm/serve_slurm.hpp"

#include <string>

#include <spdlog/spdlog.h>

#include "job/socket.hpp"
#include "live/controller.hpp"
#include "live/state_lock.hpp"
#include "slurm/slurm_world.hpp"

namespace ductile {

void serve_slurm(const ServeSettings& settings, const Registry& registry,
                 const std::function<ServeSettings()>& reload, Slurm& slurm) {
  const Descriptor lock = lock_state(settings.state);
  SlurmWorld world(slurm, {.partition = settings.partition,
                           .names = settings.state + "/nodes",
                           .hands_over = settings.hands_over});
  for (const std::string& each : world.remarks()) spdlog::info("{}", each);
  Controller(settings, registry, reload, world).run();
}

}  // namespace ductile
