#include "scheduling/portfolio.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "scheduling/policy.hpp"

namespace ductile {
namespace {

class Named final : public Policy {
 public:
  explicit Named(const std::string& settings, Portfolio its = {})
      : Policy({.settings = settings}), its_(std::move(its)) {}
  void schedule(Pass&) const override {}
  const Portfolio* portfolio() const override { return its_.members.empty() ? nullptr : &its_; }

 private:
  Portfolio its_;
};

TEST(Ruling, IsTheMemberOfTheseSettings) {
  const auto a = std::make_shared<Named>("a"), b = std::make_shared<Named>("b");
  const std::shared_ptr<const Policy> all = std::make_shared<Named>("all", Portfolio{{a, b}});
  EXPECT_EQ(ruling(all, a->traits), a);
  EXPECT_EQ(ruling(all, b->traits), b);
  // Those of another version may have other traits.
  EXPECT_EQ(ruling(all, {.settings = "b", .wakes = 5}), b);
}

TEST(Ruling, IsThePolicyItselfOtherwise) {
  const std::shared_ptr<const Policy> a = std::make_shared<Named>("a");
  const std::shared_ptr<const Policy> all = std::make_shared<Named>("all", Portfolio{{a}});
  EXPECT_EQ(ruling(all, all->traits), all);
  EXPECT_EQ(ruling(all, {.settings = "other"}), all);
  EXPECT_EQ(ruling(a, {.settings = "other"}), a);
}

}  // namespace
}  // namespace ductile
