// What the tests of experiments share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "experiments/experiment.h"

namespace selfnorm::test {

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline size_t column(const Table& table, const std::string& name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  EXPECT_NE(found, table.columns.end()) << name;
  return static_cast<size_t>(found - table.columns.begin());
}

inline ExperimentOptions reduced(const std::string& data = {}, uint64_t seed = 1) {
  ExperimentOptions out;
  out.seed = seed;
  out.extent = Extent::reduced;
  out.data = data;
  return out;
}

}  // namespace selfnorm::test
