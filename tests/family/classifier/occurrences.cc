#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "family/classifier/network/output_step.h"

namespace selfnorm {
namespace {

constexpr uint32_t kRows = 12;

void check_against_map(const Occurrences& occurrences, const std::vector<uint32_t>& list) {
  std::map<uint32_t, std::vector<uint32_t>> expected;
  std::vector<uint32_t> first_seen;
  for (uint32_t i = 0; i < list.size(); ++i) {
    if (expected[list[i]].empty()) first_seen.push_back(list[i]);
    expected[list[i]].push_back(i);
  }
  RC_ASSERT(occurrences.size() == first_seen.size());
  for (size_t slot = 0; slot < first_seen.size(); ++slot) {
    RC_ASSERT(occurrences.row(slot) == first_seen[slot]);
    const auto positions = occurrences.positions(slot);
    RC_ASSERT(std::vector<uint32_t>(positions.begin(), positions.end()) == expected[first_seen[slot]]);
  }
  for (uint32_t row = 0; row < kRows; ++row) {
    const auto positions = occurrences.positions_of(row);
    RC_ASSERT(std::vector<uint32_t>(positions.begin(), positions.end()) == expected[row]);
  }
}

TEST(Occurrences, AreThoseOfAMapHoweverOftenReplaced) {
  EXPECT_TRUE(rc::check("lists one after another, empty ones included", [] {
    Occurrences occurrences(kRows);
    for (int i = 0; i < 3; ++i) {
      const auto list = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange(0u, kRows));
      occurrences.group(list);
      check_against_map(occurrences, list);
    }
  }));
}

}  // namespace
}  // namespace selfnorm
