// A reference to anything that can be called with these arguments. It owns nothing and allocates
// nothing: what it refers to has to live as long as it is used.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace ductile {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, FunctionRef> &&
           std::is_invocable_r_v<Result, Function&, Arguments...>)
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      FunctionRef(Function&& function)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Arguments... arguments) -> Result {
          auto& its = *static_cast<std::remove_reference_t<Function>*>(object);
          if constexpr (std::is_void_v<Result>) {
            static_cast<void>(its(std::forward<Arguments>(arguments)...));
          } else {
            return its(std::forward<Arguments>(arguments)...);
          }
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace ductile
