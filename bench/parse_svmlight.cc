// Reading svmlight: MB/s with one thread and two, against a floor (memchr for line ends over the same bytes
// in memory).
//   bench_parse_svmlight [FILE]      without FILE: 64 MB of synthetic tf-idf rows
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "data/read.h"
#include "math/random.h"

namespace {

std::string synthetic(size_t bytes) {
  selfnorm::RandomStream random(1);
  std::string text;
  while (text.size() < bytes) {
    text += fmt::format("{}", random.below(150));
    uint64_t column = 0;
    for (int j = 0; j < 20; ++j) {
      column += 1 + random.below(1000);
      text += fmt::format(" {}:{:.6g}", column, random.uniform());
    }
    text += '\n';
  }
  return text;
}

// Best of five, in MB/s.
template <class Work>
double speed(size_t bytes, Work work) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(bytes) / 1e6 / seconds.count());
  }
  return best;
}

uint64_t count_lines(const std::string& text) {
  uint64_t lines = 0;
  const char* end = text.data() + text.size();
  for (const char* p = text.data();
       (p = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)))); ++p)
    ++lines;
  return lines;
}

}  // namespace

int main(int count, char** argument) {
  std::string text;
  if (count > 1) {
    std::ifstream file(argument[1], std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  } else {
    text = synthetic(64'000'000);
  }
  volatile uint64_t sink = 0;
  double floor = speed(text.size(), [&] { sink = count_lines(text); });
  fmt::print("{} bytes, {} lines\nmemchr floor   {:8.0f} MB/s\n", text.size(), static_cast<uint64_t>(sink),
             floor);
  for (int threads : {1, 2}) {
    selfnorm::ReadOptions options;
    options.format = selfnorm::Format::svmlight;
    options.threads = threads;
    double mb = speed(text.size(),
                      [&] { sink = selfnorm::read_dataset_from_memory("bench", text, options).report.rows; });
    fmt::print(
        "{} thread{}      {:8.0f} MB/s   {:6.0f} MB/s per core   {:.3f} of the floor, target >= 200 per "
        "core: {}\n",
        threads, threads > 1 ? "s" : " ", mb, mb / threads, mb / floor,
        mb / threads >= 200 ? "MET" : "MISSED");
  }
}
