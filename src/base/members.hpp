// How many members an aggregate has: for a static_assert beside a list of them, so that who adds
// one comes by the list.
#pragma once

#include <cstddef>

namespace ductile {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): that is what it is for
};

template <class T, class... Members>
constexpr std::size_t members() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return members<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace ductile
