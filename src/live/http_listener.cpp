#include "live/http_listener.hpp"

#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "live/metrics_server.hpp"

namespace ductile {
namespace {

constexpr std::string_view kUnix = "unix:";

/// As of `parse_address`; port 0 is a free one.
std::pair<std::string, std::uint16_t> tcp_address(const std::string& text) {
  const bool is_free = text == "0" || text.ends_with(":0");
  auto [host, port] = parse_address(is_free ? text.substr(0, text.size() - 1) + "1" : text);
  return {std::move(host), is_free ? std::uint16_t{0} : port};
}

}  // namespace

void check_http_address(const std::string& address) {
  if (address.starts_with(kUnix) && address.size() > kUnix.size()) return;
  tcp_address(address);
}

std::string http_address(const Descriptor& listener) {
  const std::string address = local_address(listener);
  return address.starts_with(kUnix) ? address : "http://" + address;
}

Descriptor listen_for_http(const std::string& address, const std::string& field) {
  if (address.starts_with(kUnix)) return listen_unix(address.substr(kUnix.size()));
  const auto [host, port] = tcp_address(address);
  try {
    return listen_tcp(host, port);
  } catch (const std::system_error& error) {
    throw InputError({.field = field}, error.what(),
                     "give a numeric address of this host and a port that is free");
  }
}

}  // namespace ductile
