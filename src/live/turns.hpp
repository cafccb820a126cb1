// What users want done, and whose turn it is.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include <sys/types.h>

namespace ductile {

/// Each user in turn, and of each user what has waited for the longest time: who wants much keeps
/// nobody else waiting.
template <class Item>
class Turns {
 public:
  bool empty() const { return of_.empty(); }
  void add(uid_t user, Item item) { of_[user].push_back(std::move(item)); }
  /// The next one, and whose it is. There must be one.
  std::pair<uid_t, Item> take() {
    auto user = of_.upper_bound(last_);
    if (user == of_.end()) user = of_.begin();
    last_ = user->first;
    std::pair<uid_t, Item> next{user->first, std::move(user->second.front())};
    user->second.pop_front();
    if (user->second.empty()) of_.erase(user);
    return next;
  }
  /// Whose turn it is remains.
  void clear() { of_.clear(); }

 private:
  std::map<uid_t, std::deque<Item>> of_{};
  uid_t last_ = 0;
};

}  // namespace ductile
