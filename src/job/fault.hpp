// Faults on purpose, for the tests of the runtime: DUCTILE_FAULT makes a process or the manager go
// wrong at a message of a chosen resize. Without the variable, none of this does anything.
//
//   DUCTILE_FAULT=GENERATION:WHO:WHEN:MESSAGE:KIND;...
//
//   GENERATION   of the message: the new one's number
//   WHO          manager, or old/RANK, new/RANK
//   WHEN         before or after it is sent; or got: after it was received
//   MESSAGE      its name in the protocol
//   KIND         exit      the process ends at once
//                hang      it does nothing any more
//                stall     it does nothing for DUCTILE_FAULT_STALL seconds, or 3
//                cut       its connection is closed
//                half      half of the message, then as cut
//                twice     the message comes twice
//                stale     before it comes the same for the generation before
//                garbage   bytes that are no message come before it
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "job/protocol.hpp"

namespace ductile {

/// Sends the message by `send`, with the faults that were asked for; `cut` closes the connection.
void send_with_faults(std::string_view who, const wire::Message& message,
                      const std::function<void(const std::string&)>& send,
                      const std::function<void()>& cut);

/// To be called with each message that was received.
void receive_with_faults(std::string_view who, const wire::Message& message,
                         const std::function<void()>& cut);

}  // namespace ductile
