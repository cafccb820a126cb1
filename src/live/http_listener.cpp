#include "live/http_listener.hpp"

#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "live/metrics_server.hpp"

namespace ductile {
namespace {

constexpr std::string_view kUnix = "unix:";

}  // namespace

void check_http_address(const std::string& address) {
  if (address.starts_with(kUnix) && address.size() > kUnix.size()) return;
  parse_address(address);
}

Descriptor listen_for_http(const std::string& address) {
  if (address.starts_with(kUnix)) return listen_unix(address.substr(kUnix.size()));
  const auto [host, port] = parse_address(address);
  try {
    return listen_tcp(host, port);
  } catch (const std::system_error& error) {
    throw InputError({.field = "--http"}, error.what(),
                     "give a numeric address of this host and a port that is free");
  }
}

}  // namespace ductile
