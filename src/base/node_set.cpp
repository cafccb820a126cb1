#include "base/node_set.hpp"

#include <algorithm>
#include <charconv>

namespace ductile {

Nodes NodeSet::count() const {
  Nodes sum = 0;
  for (const Interval& part : parts) sum += part.last - part.first + 1;
  return sum;
}

bool NodeSet::contains(std::uint32_t node) const {
  const auto after = std::ranges::upper_bound(parts, node, {}, &Interval::first);
  return after != parts.begin() && node <= std::prev(after)->last;
}

bool NodeSet::contains(const NodeSet& other) const { return difference(other, *this).empty(); }

bool NodeSet::intersects(const NodeSet& other) const { return !intersection(*this, other).empty(); }

void NodeSet::insert(std::uint32_t first, std::uint32_t last) {
  if (empty() || (parts.back().last < first && first - parts.back().last > 1)) {
    parts.push_back({first, last});
    return;
  }
  // The intervals that overlap or touch the new one are those from `begin` up to `end`.
  const auto begin = std::ranges::partition_point(
      parts, [&](const Interval& part) { return part.last < first && first - part.last > 1; });
  auto end = begin;
  while (end != parts.end() && (end->first <= last || end->first - last == 1)) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
    ++end;
  }
  if (begin == end) {
    parts.insert(begin, {first, last});
  } else {
    *begin = {first, last};
    parts.erase(std::next(begin), end);
  }
}

void NodeSet::append(std::uint32_t first, std::uint32_t last) {
  if (!parts.empty() && parts.back().last + 1 >= first) {
    parts.back().last = std::max(parts.back().last, last);
  } else {
    parts.push_back({first, last});
  }
}

void NodeSet::insert(const NodeSet& other) {
  if (other.parts.size() == 1) {
    insert(other.parts.front().first, other.parts.front().last);
  } else if (empty() || (!other.empty() && parts.back().last < other.parts.front().first)) {
    for (const Interval& part : other.parts) append(part.first, part.last);
  } else if (!other.empty()) {
    *this = united(*this, other);
  }
}

void NodeSet::erase(const NodeSet& other) { *this = difference(*this, other); }

NodeSet NodeSet::take_highest(Nodes n) {
  NodeSet taken;
  while (n > 0) {
    Interval& part = parts.back();
    const Nodes size = part.last - part.first + 1;
    if (size <= n) {
      taken.parts.push_back(part);
      parts.pop_back();
      n -= size;
    } else {
      taken.parts.push_back({part.last - n + 1, part.last});
      part.last -= n;
      n = 0;
    }
  }
  std::ranges::reverse(taken.parts);
  return taken;
}

NodeSet NodeSet::take_lowest(Nodes n) {
  NodeSet taken;
  std::size_t whole = 0;
  while (n > 0) {
    Interval& part = parts[whole];
    const Nodes size = part.last - part.first + 1;
    if (size <= n) {
      taken.parts.push_back(part);
      ++whole;
      n -= size;
    } else {
      taken.parts.push_back({part.first, part.first + n - 1});
      part.first += n;
      n = 0;
    }
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(whole));
  return taken;
}

NodeSet united(const NodeSet& a, const NodeSet& b) {
  NodeSet result;
  auto x = a.parts.begin();
  auto y = b.parts.begin();
  while (x != a.parts.end() || y != b.parts.end()) {
    const bool from_a = y == b.parts.end() || (x != a.parts.end() && x->first <= y->first);
    const Interval part = from_a ? *x++ : *y++;
    result.append(part.first, part.last);
  }
  return result;
}

NodeSet intersection(const NodeSet& a, const NodeSet& b) {
  NodeSet result;
  auto x = a.parts.begin();
  auto y = b.parts.begin();
  while (x != a.parts.end() && y != b.parts.end()) {
    const std::uint32_t first = std::max(x->first, y->first);
    const std::uint32_t last = std::min(x->last, y->last);
    if (first <= last) result.parts.push_back({first, last});
    x->last < y->last ? ++x : ++y;
  }
  return result;
}

NodeSet difference(const NodeSet& a, const NodeSet& b) {
  NodeSet result;
  auto cut = b.parts.begin();
  for (Interval part : a.parts) {
    while (cut != b.parts.end() && cut->last < part.first) ++cut;
    auto next = cut;
    bool left = true;
    while (left && next != b.parts.end() && next->first <= part.last) {
      if (next->first > part.first) result.parts.push_back({part.first, next->first - 1});
      left = next->last < part.last;
      if (left) part.first = next->last + 1;
      if (left) ++next;
    }
    if (left) result.parts.push_back(part);
    cut = next;
  }
  return result;
}

std::string to_string(const NodeSet& set) {
  std::string text;
  for (const Interval& part : set.parts) {
    if (!text.empty()) text += ' ';
    text += std::to_string(part.first);
    if (part.last != part.first) text.append("-").append(std::to_string(part.last));
  }
  return text;
}

std::optional<NodeSet> parse_node_set(std::string_view text) {
  std::vector<Interval> parts;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc{} && value < ~0u;
  };
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    Interval part{};
    if (!number(part.first)) return std::nullopt;
    part.last = part.first;
    if (at != end && *at == '-') {
      ++at;
      if (!number(part.last) || part.last < part.first) return std::nullopt;
    }
    if (at != end && *at != ' ' && *at != ',') return std::nullopt;
    parts.push_back(part);
  }
  // Sorted first: inserting them in any order would take quadratic time.
  std::ranges::sort(parts, {}, &Interval::first);
  NodeSet set;
  for (const Interval& part : parts) set.append(part.first, part.last);
  return set;
}

}  // namespace ductile
