#include "document/section/sparkline.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "data/input/characters.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr std::array<const char*, 9> kUnicode = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 8> kAscii = {" ", ".", ":", "-", "=", "+", "*", "#"};
constexpr size_t kSparklineColumns = 40, kMostColumns = 80;

bool is_utf8(std::string_view codeset) {
  std::string name = lowercase(codeset);
  std::erase(name, '-');
  return name.starts_with("utf8");
}

// POSIX: the first of these that is set and not empty.
std::string locale_name() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return "C";
}

std::string end_text(double value) { return fmt::format("{:.4g}", value + 0.0); }

// Neighbours added up until they fit.
std::vector<uint64_t> fitting_counts(const std::vector<HistogramBin>& bins) {
  const size_t together = (bins.size() + kMostColumns - 1) / kMostColumns;
  std::vector<uint64_t> counts((bins.size() + together - 1) / together);
  for (size_t i = 0; i < bins.size(); ++i) counts[i / together] += bins[i].count;
  return counts;
}

// The cells under a sparkline over [low, high].
class Ruler {
 public:
  Ruler(double low, double high, size_t columns) : low_(low), high_(high), cells_(columns, " ") {}

  // False when none of it is in the range.
  bool draw_band(double band, Glyphs glyphs) {
    if (-band > high_ || band < low_) return false;
    const bool unicode = glyphs == Glyphs::unicode;
    const size_t first = column(-band), last = column(band);
    for (size_t i = first; i <= last; ++i) cells_[i] = unicode ? "─" : "-";
    cells_[first] = -band < low_ ? "<" : unicode ? "├" : "|";
    cells_[last] = band > high_ ? ">" : unicode ? "┤" : "|";
    return true;
  }
  void draw_zero() {
    if (low_ > 0)
      cells_.front() = "<";
    else if (high_ < 0)
      cells_.back() = ">";
    else
      cells_[column(0)] = "0";
  }
  std::string text() const {
    std::string out;
    for (const char* cell : cells_) out += cell;
    return out;
  }

 private:
  size_t column(double value) const {
    const double share = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
    return std::min(static_cast<size_t>(share * static_cast<double>(cells_.size())), cells_.size() - 1);
  }

  double low_, high_;
  std::vector<const char*> cells_;
};

}  // namespace

Glyphs locale_glyphs() {
  const std::string name = locale_name();
  bool utf8 = false;
  if (const locale_t locale = newlocale(LC_CTYPE_MASK, name.c_str(), nullptr); locale != nullptr) {
    utf8 = is_utf8(nl_langinfo_l(CODESET, locale));
    freelocale(locale);
  } else if (const size_t dot = name.find('.'); dot != std::string::npos) {
    utf8 = is_utf8(std::string_view(name).substr(dot + 1));
  }
  return utf8 ? Glyphs::unicode : Glyphs::ascii;
}

std::string sparkline(const std::vector<uint64_t>& counts, Glyphs glyphs) {
  const uint64_t most = counts.empty() ? 0 : *std::ranges::max_element(counts);
  const size_t levels = glyphs == Glyphs::unicode ? kUnicode.size() - 1 : kAscii.size() - 1;
  std::string out;
  for (const uint64_t count : counts) {
    const double share = most == 0 ? 0 : static_cast<double>(count) / static_cast<double>(most);
    const auto level = static_cast<size_t>(std::ceil(share * static_cast<double>(levels)));
    out += glyphs == Glyphs::unicode ? kUnicode[level] : kAscii[level];
  }
  return out;
}

std::string histogram_lines(const std::vector<HistogramBin>& bins, std::optional<double> band,
                            Glyphs glyphs) {
  SELFNORM_CHECK(!bins.empty());
  const double low = bins.front().from, high = bins.back().to;
  if (!(low < high)) return fmt::format("  nearly all are {}\n", end_text(low));
  const std::vector<uint64_t> counts = fitting_counts(bins);
  const size_t wide = std::max<size_t>(1, kSparklineColumns / counts.size());
  std::vector<uint64_t> columns;
  for (const uint64_t count : counts) columns.insert(columns.end(), wide, count);

  Ruler ruler(low, high, columns.size());
  std::string words = high < 0 ? "0" : "";
  if (band) {
    if (high < 0) words += "  ";
    words += ruler.draw_band(*band, glyphs) ? "certified band" : "certified band: nearer to 0";
  }
  ruler.draw_zero();
  const std::string from = end_text(low);
  const size_t margin = std::max<size_t>(from.size(), 9);
  std::string below = fmt::format("  {:>{}} {} {}", low > 0 ? "0" : "", margin, ruler.text(), words);
  below.erase(below.find_last_not_of(' ') + 1);
  return fmt::format("  {:>{}} {} {} and beyond\n", from, margin, sparkline(columns, glyphs),
                     end_text(high)) +
         below + "\n";
}

}  // namespace selfnorm
