#include "job/munge.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace ductile {
namespace {

// What a munged answers is seen in tests/live/test_tcp.py.
TEST(Munge, SaysWhatItLacks) {
  const std::string nowhere = ::testing::TempDir() + "no-munged";
#ifdef DUCTILE_HAS_MUNGE
  const Credentials credentials = munge_credentials(nowhere);
  EXPECT_THROW(credentials.look_at("nonsense"), RunError);
  EXPECT_THROW(credentials.make("text"), RunError);
#else
  EXPECT_THROW(munge_credentials(nowhere), InputError);
#endif
}

}  // namespace
}  // namespace ductile
