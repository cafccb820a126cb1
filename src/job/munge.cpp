#include "job/munge.hpp"

#include <cstdlib>

#include "base/error.hpp"

#ifdef DUCTILE_HAS_MUNGE
#include <memory>
#include <type_traits>

#include <munge.h>
#endif

namespace ductile {

#ifdef DUCTILE_HAS_MUNGE

namespace {

struct EndContext {
  void operator()(munge_ctx_t context) const { munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<std::remove_pointer_t<munge_ctx_t>, EndContext>;

Context context_of(const std::string& socket) {
  Context context(munge_ctx_create());
  if (!context) throw RunError("there is no memory for MUNGE");
  if (!socket.empty()) munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str());
  return context;
}

[[noreturn]] void fail(const Context& context, munge_err_t error) {
  const char* const its = munge_ctx_strerror(context.get());
  throw RunError(std::string("MUNGE: ") + (its != nullptr ? its : munge_strerror(error)));
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

Credentials munge_credentials(const std::string& given) {
  const char* const named = std::getenv(kMungeSocketVariable);
  const std::string socket = !given.empty() || named == nullptr ? given : named;
  Credentials credentials;
  credentials.make = [socket](const std::string& payload) {
    const Context context = context_of(socket);
    char* made = nullptr;
    const munge_err_t error =
        munge_encode(&made, context.get(), payload.data(), static_cast<int>(payload.size()));
    const std::unique_ptr<char, Free> owned(made);
    if (error != EMUNGE_SUCCESS) fail(context, error);
    return std::string(made);
  };
  credentials.look_at = [socket](const std::string& credential) {
    const Context context = context_of(socket);
    void* payload = nullptr;
    int size = 0;
    Credentials::Shown shown;
    const munge_err_t error = munge_decode(credential.c_str(), context.get(), &payload, &size,
                                           &shown.owner.user, &shown.owner.group);
    // Of one that was looked at before there is a payload all the same.
    const std::unique_ptr<void, Free> owned(payload);
    if (error != EMUNGE_SUCCESS) fail(context, error);
    shown.payload.assign(static_cast<const char*>(payload), static_cast<std::size_t>(size));
    return shown;
  };
  return credentials;
}

#else

Credentials munge_credentials(const std::string& /*socket*/) {
  throw InputError(
      "this ductile was built without MUNGE, by which a connection of TCP shows who it is",
      "build it with libmunge (Debian: libmunge-dev), or use a Unix socket");
}

#endif

}  // namespace ductile
