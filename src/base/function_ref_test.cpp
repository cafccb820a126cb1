#include "base/function_ref.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace ductile {
namespace {

struct Doubling {
  int operator()(int number) const { return 2 * number; }
};

int called_with_3(FunctionRef<int(int)> function) { return function(3); }

TEST(FunctionRef, CallsWhatItRefersTo) {
  const Doubling doubling;
  EXPECT_EQ(called_with_3(doubling), 6);
  int sum = 1;
  EXPECT_EQ(called_with_3([&](int number) { return sum += number; }), 4);
  EXPECT_EQ(sum, 4);
  const FunctionRef<int(int)> copy = doubling;
  EXPECT_EQ(called_with_3(copy), 6);
}

TEST(FunctionRef, PassesArgumentsOn) {
  const auto keep = [](std::unique_ptr<int> number) { return *number; };
  const FunctionRef<int(std::unique_ptr<int>)> function = keep;
  EXPECT_EQ(function(std::make_unique<int>(7)), 7);
}

TEST(FunctionRef, OfVoidDropsWhatTheCallableReturns) {
  int last = 0;
  const auto keep = [&](int number) { return last = number; };
  const FunctionRef<void(int)> function = keep;
  function(5);
  EXPECT_EQ(last, 5);
}

}  // namespace
}  // namespace ductile
