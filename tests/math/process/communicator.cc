#include "math/process/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <numeric>

#include "base/interruption.h"
#include "math/process/link.h"
#include "math/process/shared_loop.h"
#include "math/process/thread_job.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(Communicator, SharesCoverAllUnitsInOrder) {
  for (const int processes : {1, 2, 3, 4, 7})
    run_as_processes(processes, [&](int rank) {
      const Communicator& all = *current_communicator();
      EXPECT_EQ(all.rank(), rank);
      EXPECT_EQ(all.size(), processes);
      for (const size_t units : {0u, 1u, 5u, 64u}) {
        size_t end = 0;
        for (int r = 0; r < processes; ++r) {
          EXPECT_EQ(all.share(units, r).begin, end);
          EXPECT_LE(all.share(units, r).size(), units / static_cast<size_t>(processes) + 1);
          end = all.share(units, r).end;
        }
        EXPECT_EQ(end, units);
      }
    });
}

// Every unit runs in one process, and everybody has what it wrote; also with more processes than units.
TEST(Communicator, EverybodyHasWhatTheUnitsWrote) {
  for (const int processes : {1, 2, 3, 4, 6})
    for (const size_t n : {0u, 1u, 9u, 10u, 41u, 1000u}) {
      std::vector<std::atomic<int>> runs(n);
      run_as_processes(processes, [&](int) {
        std::vector<double> squares(n);
        std::vector<int> pairs(2 * n);
        shared_ranges(
            n, 10,
            [&](size_t begin, size_t end) {
              for (size_t i = begin; i < end; ++i) {
                ++runs[i];
                squares[i] = static_cast<double>(i * i);
                pairs[2 * i] = static_cast<int>(i);
                pairs[2 * i + 1] = -static_cast<int>(i);
              }
            },
            owned(squares), owned(pairs, 2));
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(squares[i], static_cast<double>(i * i));
          EXPECT_EQ(pairs[2 * i] + pairs[2 * i + 1], 0);
          EXPECT_EQ(pairs[2 * i], static_cast<int>(i));
        }
      });
      for (const auto& count : runs)
        EXPECT_EQ(count, n > 10 ? 1 : processes);  // one unit is not worth a word
    }
}

// Parts of very different sizes, whose sum depends on the order: the bits are those of one process, in
// segments and without any, and also where some processes have no part.
TEST(Communicator, SumsKeepTheirOrder) {
  constexpr size_t kParts = 13;
  for (const size_t n : {0u, 1u, 1000u, 200'000u}) {
    std::vector<std::vector<float>> part(kParts, std::vector<float>(n));
    for (size_t p = 0; p < kParts; ++p) {
      RandomStream random(p + 1);
      for (float& v : part[p]) v = static_cast<float>(random.normal() * std::exp(4 * random.normal()));
    }
    const auto sum_of = [&](size_t parts) {
      std::vector<float> sum(n, 0.1f);
      const UnitShare own = own_units(parts);
      add_in_order(parts, std::span(sum), 4096, [&](size_t begin, size_t end) {
        for (size_t p = own.begin; p < own.end; ++p)
          for (size_t i = begin; i < end; ++i) sum[i] += part[p][i];
      });
      return sum;
    };
    for (const size_t parts : {size_t{0}, size_t{1}, size_t{2}, kParts}) {
      const std::vector<float> expected = sum_of(parts);
      for (const int processes : {1, 2, 3, 4, 5})
        run_as_processes(processes, [&](int) { EXPECT_EQ(sum_of(parts), expected); });
    }
  }
}

TEST(Communicator, OneIsEnoughForAny) {
  run_as_processes(3, [](int rank) {
    EXPECT_TRUE(any_process(rank == 2));
    EXPECT_FALSE(any_process(false));
    EXPECT_EQ(is_first_process(), rank == 0);
  });
  EXPECT_TRUE(any_process(true));
  EXPECT_TRUE(is_first_process());
}

TEST(Communicator, TextsOfTheFirstReachAll) {
  run_as_processes(3, [](int rank) {
    EXPECT_EQ(current_communicator()->from_first(rank == 0 ? "a directory" : "x"), "a directory");
    EXPECT_EQ(current_communicator()->from_first(""), "");
  });
}

TEST(Communicator, DifferencesAreErrorsEverywhere) {
  std::atomic<int> thrown{0};
  run_as_processes(3, [&](int rank) {
    current_communicator()->require_same("options", "the same");
    try {
      current_communicator()->require_same("options", rank == 1 ? "--seed 2" : "--seed 1");
    } catch (const Error& error) {
      ++thrown;
      EXPECT_NE(std::string(error.what()).find("the processes differ in options"), std::string::npos);
    }
    EXPECT_FALSE(any_process(false));  // they go on together
  });
  EXPECT_EQ(thrown, 3);
}

template <class Thrown, class Throw>
void expect_everywhere(const Throw& fail, const std::string& text) {
  std::atomic<int> thrown{0};
  run_as_processes(4, [&](int) {
    std::vector<int> seen(40);
    try {
      shared_ranges(
          seen.size(), 10,
          [&](size_t begin, size_t) {
            if (begin == 20) fail();
          },
          owned(seen));
    } catch (const Thrown& error) {
      ++thrown;
      if constexpr (std::is_base_of_v<std::exception, Thrown>) {
        EXPECT_EQ(std::string(error.what()), text);
      }
    }
    EXPECT_FALSE(any_process(false));
  });
  EXPECT_EQ(thrown, 4);
}

TEST(Communicator, WhatIsThrownInOneIsThrownInAll) {
  expect_everywhere<Error>([] { throw Error("row 20 has no label"); }, "row 20 has no label");
  expect_everywhere<Interrupted>([] { throw Interrupted{}; }, "");
}

// Of a process that has no memory its neighbours say which one it is.
TEST(Communicator, OthersSayWhoHadNoMemory) {
  std::atomic<int> own{0}, others{0};
  run_as_processes(4, [&](int) {
    std::vector<int> seen(4);
    try {
      shared_ranges(
          4, 1,
          [](size_t begin, size_t) {
            if (begin == 2) throw std::bad_alloc();
          },
          owned(seen));
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "process 2 has not enough memory");
      ++others;
    } catch (const std::bad_alloc&) {
      ++own;
    }
  });
  EXPECT_EQ(own, 1);
  EXPECT_EQ(others, 3);
}

// An error outweighs an interruption elsewhere, and the first process with one speaks.
TEST(Communicator, TheFirstErrorSpeaks) {
  run_as_processes(4, [&](int) {
    std::vector<int> seen(4);
    std::string said;
    try {
      shared_ranges(
          4, 1,
          [](size_t begin, size_t) {
            if (begin == 0) throw Interrupted{};
            if (begin == 2) throw Error("two");
            if (begin == 3) throw Error("three");
          },
          owned(seen));
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_EQ(said, "two");
  });
}

// Also by code that works around errors.
TEST(Communicator, ProcessesOutOfStepAreNoticed) {
  for (const bool in_size : {true, false})
    EXPECT_THROW(run_as_processes(2,
                                  [&](int rank) {
                                    try {
                                      if (!in_size && rank == 1) any_process(false);
                                      std::vector<int> values(in_size && rank == 1 ? 30 : 20);
                                      shared_ranges(
                                          values.size(), 10, [](size_t, size_t) {}, owned(values));
                                      any_process(false);
                                    } catch (const std::exception& error) {
                                      ADD_FAILURE() << error.what();
                                    }
                                  }),
                 BrokenJob);
}

// One of two processes, whose neighbour sends nothing but zeros: what was sent, and where.
class ZerosLink final : public Link {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  uint64_t send(int, std::span<const std::byte> bytes) override {
    place = bytes;
    sent.assign(bytes.begin(), bytes.end());
    return 0;
  }
  uint64_t receive(int, std::span<std::byte>) override { return 0; }
  void wait(uint64_t) override {}

  std::span<const std::byte> place;
  std::vector<std::byte> sent;
};

// MPI may still read it.
TEST(Communicator, WhatIsBeingSentStaysWhenProcessesAreOutOfStep) {
  ZerosLink link;
  Communicator all(link);
  EXPECT_THROW(all.any(true), BrokenJob);
  EXPECT_TRUE(std::ranges::equal(link.place, link.sent));
}

TEST(Communicator, AProcessThatEndsLeavesNobodyWaiting) {
  EXPECT_THROW(run_as_processes(3,
                                [](int rank) {
                                  if (rank == 1) throw Error("gone");
                                  any_process(false);
                                }),
               Error);
}

// The work of one process is not shared again.
TEST(Communicator, LoopsInsideLoopsStayInTheirProcess) {
  std::vector<std::atomic<int>> runs(4);
  run_as_processes(2, [&](int) {
    std::vector<int> seen(4);
    shared_ranges(
        4, 1,
        [&](size_t begin, size_t) {
          EXPECT_EQ(current_communicator(), nullptr);
          std::vector<int> inner(8);
          shared_ranges(
              8, 1, [&](size_t i, size_t) { inner[i] = 1; }, owned(inner));
          EXPECT_EQ(std::accumulate(inner.begin(), inner.end(), 0), 8);
          ++runs[begin];
        },
        owned(seen));
    parallel_units(3, [](size_t) { EXPECT_EQ(current_communicator(), nullptr); });
    EXPECT_NE(current_communicator(), nullptr);
  });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

// docs/guide/scale.md: a gather sends everything but what the next process owns, and a header of 24 bytes a
// step; a fold sends the sum once (the first, the last) or twice.
TEST(Communicator, TrafficIsThatOfTheFormulas) {
  constexpr uint64_t kHeader = 24, kProcesses = 4, kValues = 40;
  run_as_processes(kProcesses, [&](int rank) {
    const Traffic& traffic = current_communicator()->traffic();
    std::vector<double> values(kValues);
    shared_ranges(
        kValues, 10, [](size_t, size_t) {}, owned(values));
    EXPECT_EQ(traffic.bytes, (kProcesses - 1) * (kHeader + kValues / kProcesses * sizeof(double)));
    EXPECT_EQ(traffic.exchanges, 1u);
    const uint64_t before = traffic.bytes;
    add_in_order(kProcesses, std::span(values), 10, [](size_t, size_t) {});
    EXPECT_EQ(traffic.bytes - before, kValues * sizeof(double) * (rank == 0 || rank == 3 ? 1 : 2));
    EXPECT_GE(traffic.seconds, 0);
  });
}

TEST(Communicator, InterruptionsCanBePutOff) {
  request_interruption();
  {
    const InterruptionScope all(Interruptions::put_off);
    EXPECT_NO_THROW(poll_interruption());
    run_as_processes(2, [](int) {
      std::vector<int> seen(4);
      EXPECT_THROW(shared_ranges(
                       4, 1, [](size_t, size_t) {}, owned(seen)),
                   Interrupted);
    });
    EXPECT_NO_THROW(poll_interruption());
  }
  EXPECT_THROW(poll_interruption(), Interrupted);
  withdraw_interruption();
}

}  // namespace
}  // namespace selfnorm
