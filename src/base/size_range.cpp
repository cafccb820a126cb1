#include "base/size_range.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace ductile {
namespace {

constexpr Nodes kLargestCubeRoot = 1625;  // its cube is the last one below 2^32

Nodes cube(Nodes k) { return k * k * k; }

Nodes cube_root(Nodes n) {
  auto k = static_cast<Nodes>(std::cbrt(static_cast<double>(n)));
  while (k > 0 && std::uint64_t{k} * k * k > n) --k;
  while (std::uint64_t{k + 1} * (k + 1) * (k + 1) <= n) ++k;
  return k;
}

Nodes size_of(std::string_view text, const Place& place) {
  const auto n = parse_number<Nodes>(text);
  if (!n || *n == 0 || *n == SizeConstraint::kNone) {
    throw InputError(place, "'" + std::string(text) + "' is no number of nodes",
                     "use a whole number above 0");
  }
  return *n;
}

}  // namespace

Nodes SizeConstraint::constrained_at_most(Nodes n) const {
  switch (kind) {
    case Kind::any:
      return n;
    case Kind::power_of_two:
      return n == 0 ? 0 : Nodes{1} << (31 - __builtin_clz(n));
    case Kind::even:
      return n & ~Nodes{1};
    case Kind::odd:
      return n == 0 ? 0 : n - (n % 2 == 0 ? 1 : 0);
    case Kind::cubic:
      return cube(cube_root(n));
    case Kind::multiple:
      return n - n % multiple_of;
    case Kind::list: {
      const std::span<const Nodes> all = sizes.rows();
      const auto above = std::ranges::upper_bound(all, n);
      return above == all.begin() ? 0 : *(above - 1);
    }
  }
  return n;
}

Nodes SizeConstraint::constrained_at_least(Nodes n) const {
  if (n == kNone || allows(n)) return n;
  switch (kind) {
    case Kind::any:
      return n;
    case Kind::power_of_two:
      return n > Nodes{1} << 31 ? kNone : at_most(n) * 2;
    case Kind::even:
    case Kind::odd:
      return n + 1;
    case Kind::cubic:
      return cube_root(n) == kLargestCubeRoot ? kNone : cube(cube_root(n) + 1);
    case Kind::multiple: {
      const Nodes below = n - n % multiple_of;
      return below > kNone - multiple_of ? kNone : below + multiple_of;
    }
    case Kind::list: {
      const std::span<const Nodes> all = sizes.rows();
      const auto at = std::ranges::lower_bound(all, n);
      return at == all.end() ? kNone : *at;
    }
  }
  return n;
}

std::string to_text(const SizeConstraint& constraint) {
  std::string text(kConstraintWords[static_cast<std::size_t>(constraint.kind)]);
  const auto add = [&](Nodes n) {
    text += ':';
    append_number(text, n);
  };
  if (constraint.kind == SizeConstraint::Kind::multiple) add(constraint.multiple_of);
  if (constraint.kind == SizeConstraint::Kind::list) {
    for (const Nodes n : constraint.sizes.rows()) add(n);
  }
  return text;
}

SizeConstraint parse_constraint(std::string_view text, const Place& place) {
  using Kind = SizeConstraint::Kind;
  constexpr const char* kForms = "use any, pof2, even, odd, cubic, multiple:N or list:N:N:...";
  std::string_view rest = text;
  const std::string_view word = next_part(rest, ':');
  const bool bare = word.size() == text.size();
  const auto kind = from_word<Kind>(kConstraintWords, word);
  if (!kind) {
    throw InputError(place, "there is no constraint '" + std::string(word) + "'", kForms);
  }
  const bool has_sizes = *kind == Kind::multiple || *kind == Kind::list;
  if (bare == has_sizes) {
    throw InputError(
        place, "'" + std::string(text) + (bare ? "' lacks its sizes" : "' says too much"), kForms);
  }
  SizeConstraint constraint{*kind};
  if (*kind == Kind::multiple) constraint.multiple_of = size_of(rest, place);
  if (*kind == Kind::list) {
    std::vector<Nodes> sizes;
    for (bool more = true; more;) {
      more = rest.find(':') != std::string_view::npos;
      sizes.push_back(size_of(next_part(rest, ':'), place));
      if (sizes.size() > 1 && sizes[sizes.size() - 2] >= sizes.back()) {
        throw InputError(place, "the sizes of '" + std::string(text) + "' do not ascend",
                         "write each once, the smallest first");
      }
    }
    constraint.sizes = SharedList(std::move(sizes));
  }
  return constraint;
}

}  // namespace ductile
