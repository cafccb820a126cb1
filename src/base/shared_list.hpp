// A list that is written once and shared by its copies.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ductile {

/// Rows that never change. A copy costs a reference, an empty list nothing; equal lists have equal
/// rows, whether they are shared or not.
template <class Row>
class SharedList {
 public:
  SharedList() = default;
  explicit SharedList(std::vector<Row> rows)
      : rows_(rows.empty() ? nullptr : std::make_shared<const std::vector<Row>>(std::move(rows))) {}

  std::span<const Row> rows() const {
    return rows_ ? std::span<const Row>(*rows_) : std::span<const Row>();
  }
  bool operator==(const SharedList& other) const {
    return rows_ == other.rows_ || std::ranges::equal(rows(), other.rows());
  }

 private:
  std::shared_ptr<const std::vector<Row>> rows_;
};

}  // namespace ductile
