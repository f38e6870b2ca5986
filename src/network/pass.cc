#include "network/pass.h"

#include <algorithm>

#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kUnitRows = 4 * kTileRows;  // of work that keeps nothing
constexpr size_t kMostParts = 16;

// Parts of whole contexts, each but the last of at least 2 kTileRows rows: at most 16, and fewer where their
// gradients would take more than 2^26 floats; in tiles of tile_rows, but the last of every part.
RowCut cut_by_contexts(const Network& network, const NetworkRows& rows, uint64_t tile_rows) {
  const uint64_t n = rows.x.rows, tiles = (n + kTileRows - 1) / kTileRows;
  const uint64_t most = std::clamp<uint64_t>((uint64_t{1} << 26) / network.theta.size(), 1, kMostParts);
  const uint64_t least = kTileRows * std::max<uint64_t>(2, (tiles + most - 1) / most);
  RowCut cut;
  for (uint64_t begin = 0; begin < n;) {
    uint64_t end = std::min<uint64_t>(n, begin + least);
    while (rows.row && end < n && rows.row[end] == rows.row[end - 1]) ++end;
    for (; begin < end; begin = cut.tile.back()) cut.tile.push_back(std::min(end, begin + tile_rows));
    cut.part.push_back(cut.tile.size() - 1);
  }
  return cut;
}

// Tiles of nearly equal sizes, kTileRows or more rows, and at most 16 parts of nearly as many tiles.
RowCut cut_evenly(uint64_t n) {
  const size_t tiles = std::max<size_t>(n / kTileRows, n > 0), parts = std::min(tiles, kMostParts);
  RowCut cut;
  for (size_t t = 1; t <= tiles; ++t) cut.tile.push_back(n * t / tiles);
  for (size_t p = 1; p <= parts; ++p) cut.part.push_back(tiles * p / parts);
  return cut;
}

void check_rows(const Network& network, const NetworkRows& rows) {
  const NetworkShape& shape = network.shape;
  SELFNORM_CHECK(rows.x.columns == shape.inputs && rows.categorical == shape.levels.size());
  if (rows.row == nullptr || rows.x.rows == 0) return;
  SELFNORM_CHECK(rows.context.columns == shape.width(1));
  SELFNORM_CHECK(std::is_sorted(rows.row, rows.row + rows.x.rows));
  SELFNORM_CHECK(rows.row[rows.x.rows - 1] < rows.context.rows);
}

// c_1 += what the contexts of the rows [begin, end) were summed to.
void add_contexts_to_bias(const NetworkRows& rows, uint64_t begin, uint64_t end, NetworkGradient& gradient) {
  if (gradient.context == nullptr) return;
  const size_t width = rows.context.columns;
  for (size_t r = rows.row[begin]; r <= rows.row[end - 1]; ++r)
    add_scaled(1.0f, gradient.context + r * width, gradient.bias(0), width);
}

// Of the contexts, the first that part p has rows of; where the last one ends.
uint64_t first_context(const NetworkRows& rows, const RowCut& cut, size_t p) {
  return p + 1 < cut.part.size() ? rows.row[cut.begin(p)] : rows.context.rows;
}

// Rows of an array, `width` floats each, of which part p writes those from begin_of(p) to begin_of(p + 1).
template <class BeginOf>
struct Slices {
  float* data;
  size_t width;
  BeginOf begin_of;
};
template <class BeginOf>
Slices(float*, size_t, BeginOf) -> Slices<BeginOf>;

template <class Body, class... S>
void share_parts(size_t parts, const Body& body, const S&... slices) {
  if (Communicator* const all = sharing(parts))
    share_units(*all, parts, body, shared_array(*all, parts, slices.data, [&](size_t p) {
      return slices.begin_of(p) * slices.width;
    })...);
  else
    parallel_units(parts, body);
}

// dE_k[level] += D_1, row after row.
void add_embedding_gradient(const NetworkShape& shape, const NetworkRows& rows,
                            const std::vector<float>& first, std::span<float> gradient) {
  const size_t width = shape.width(1);
  for (size_t i = 0; !first.empty() && i < rows.x.rows; ++i)
    for (size_t k = 0; k < rows.categorical; ++k) {
      const size_t level = rows.level[i * rows.categorical + k];
      add_scaled(1.0f, first.data() + i * width, gradient.data() + shape.embeddings[k] + level * width,
                 width);
    }
}

// body(begin, end) over [begin, end) in tiles of at most `rows`.
template <class Body>
void in_tiles(uint64_t begin, uint64_t end, uint64_t rows, const Body& body) {
  for (uint64_t i = begin; i < end; i += rows) body(i, std::min(end, i + rows));
}

}  // namespace

template <class Out>
std::span<const Out> NetworkPass<Out>::forward(const NetworkRows& rows) {
  constexpr bool gives_scores = std::is_same_v<Out, double>;
  check_rows(network_, rows);
  const size_t width = gives_scores ? 1 : network_.shape.width();
  rows_ = rows;
  cut_ = gives_scores ? cut_by_contexts(network_, rows, kTileRows) : cut_evenly(rows.x.rows);
  out_.resize(rows.x.rows * width);
  const size_t tiles = cut_.tile.size() - 1;
  while (tiles_.size() < tiles) tiles_.emplace_back(network_);
  const auto forward_tile = [&](size_t t) {
    tiles_[t].forward(rows.slice(cut_.tile[t], cut_.tile[t + 1]));
    tiles_[t].outputs(out_.data() + cut_.tile[t] * width);
  };
  const size_t parts = cut_.part.size() - 1;
  if (Communicator* const all = sharing(parts))  // by parts, as on the way back
    all->share_work(
        [&] {
          const UnitShare own = all->share(parts);
          const size_t first = cut_.part[own.begin];
          parallel_units(cut_.part[own.end] - first, [&](size_t t) { forward_tile(first + t); });
        },
        {shared_array(*all, parts, out_.data(), [&](size_t p) { return cut_.begin(p) * width; })});
  else
    parallel_units(tiles, forward_tile);
  return out_;
}

template <class Out>
void NetworkPass<Out>::backward(std::span<const Out> d, std::span<float> gradient, std::span<float> other) {
  constexpr bool gives_scores = std::is_same_v<Out, double>;
  const bool has_contexts = rows_.row != nullptr;
  SELFNORM_CHECK(d.size() == out_.size());
  SELFNORM_CHECK(has_contexts ? other.size() == rows_.context.size()
                              : other.empty() || (!gives_scores && other.size() == rows_.x.size()));
  const size_t parts = cut_.part.size() - 1, width = network_.shape.width();
  while (parts_.size() < parts) parts_.emplace_back(network_.shape);
  scratch_.resize(std::max(scratch_.size(), parts));
  if (has_contexts) std::fill(other.begin(), other.end(), 0.0f);
  const auto begin_of = [&](size_t p) {
    return has_contexts ? first_context(rows_, cut_, p) : other.empty() ? 0 : cut_.begin(p);
  };
  const size_t first_width = network_.shape.width(1);
  first_.resize(rows_.categorical > 0 ? rows_.x.rows * first_width : 0);
  share_parts(
      parts,
      [&](size_t p) {
        NetworkGradient& part = parts_[p];
        part.clear();
        part.context = has_contexts ? other.data() : nullptr;
        for (size_t t = cut_.part[p]; t < cut_.part[p + 1]; ++t) {
          const uint64_t begin = cut_.tile[t];
          if constexpr (gives_scores)
            tiles_[t].backward({.value = d.data() + begin}, scratch_[p], part);
          else
            tiles_[t].backward(d.data() + begin * width, scratch_[p], part,
                               other.empty() ? nullptr : other.data() + begin * rows_.x.columns);
          if (!first_.empty()) tiles_[t].first_derivative(first_.data() + begin * first_width);
        }
        add_contexts_to_bias(rows_, cut_.begin(p), cut_.end(p), part);
      },
      Slices{other.data(), has_contexts ? rows_.context.columns : rows_.x.columns, begin_of},
      Slices{first_.data(), first_width, [&](size_t p) { return first_.empty() ? 0 : cut_.begin(p); }});
  network_.add_gradient(std::span(parts_).first(parts), gradient);
  add_embedding_gradient(network_.shape, rows_, first_, gradient);
}

template class NetworkPass<float>;
template class NetworkPass<double>;

template <class Out>
void evaluate(const Network& network, const NetworkRows& rows, std::span<Out> out) {
  check_rows(network, rows);
  const size_t width = std::is_same_v<Out, double> ? 1 : network.shape.width();
  SELFNORM_CHECK(out.size() == rows.x.rows * width);
  const auto evaluate_unit = [&](size_t begin, size_t end) {
    NetworkTile tile(network, 1, false);
    in_tiles(begin, end, kTileRows, [&](uint64_t i, uint64_t j) {
      tile.forward(rows.slice(i, j));
      tile.outputs(out.data() + i * width);
    });
  };
  shared_ranges(rows.x.rows, kUnitRows, evaluate_unit, owned(out, width));
}

template void evaluate(const Network&, const NetworkRows&, std::span<float>);
template void evaluate(const Network&, const NetworkRows&, std::span<double>);

void score_gradient(const Network& network, const NetworkRows& rows, std::span<double> s,
                    std::span<float> dx) {
  check_rows(network, rows);
  SELFNORM_CHECK(s.size() == rows.x.rows && dx.size() == rows.x.size());
  const auto score_unit = [&](size_t begin, size_t end) {
    NetworkTile tile(network);
    NetworkTile::Scratch scratch;
    in_tiles(begin, end, kTileRows, [&](uint64_t i, uint64_t j) {
      tile.forward(rows.slice(i, j));
      tile.outputs(&s[i]);
      tile.input_gradient(scratch, dx.data() + i * rows.x.columns);
    });
  };
  shared_ranges(rows.x.rows, kUnitRows, score_unit, owned(s), owned(dx, rows.x.columns));
}

void directional(const Network& network, const NetworkRows& rows, const Points& v, std::span<double> first,
                 std::span<double> second) {
  check_rows(network, rows);
  SELFNORM_CHECK(v.columns == rows.x.columns && v.rows == rows.x.rows && first.size() == v.rows);
  SELFNORM_CHECK(second.empty() || second.size() == v.rows);
  const auto derive_unit = [&](size_t begin, size_t end) {
    NetworkTile jet(network, second.empty() ? 2 : 3);
    in_tiles(begin, end, kJetRows, [&](uint64_t i, uint64_t j) {
      jet.forward(rows.slice(i, j), v.slice(i, j));
      jet.derivative(1, &first[i]);
      if (!second.empty()) jet.derivative(2, &second[i]);
    });
  };
  shared_ranges(v.rows, kUnitRows, derive_unit, owned(first), owned(second));
}

void directional_backward(const Network& network, const NetworkRows& rows, const Points& v,
                          const DirectionalDerivatives& d) {
  check_rows(network, rows);
  SELFNORM_CHECK(v.columns == rows.x.columns && v.rows == rows.x.rows && d.first.size() == v.rows);
  SELFNORM_CHECK(d.second.empty() || d.second.size() == v.rows);
  SELFNORM_CHECK(d.context.size() == (rows.row ? rows.context.size() : 0));
  const RowCut cut = cut_by_contexts(network, rows, kJetRows);
  std::vector<NetworkGradient> parts;
  while (parts.size() + 1 < cut.part.size()) parts.emplace_back(network.shape);
  std::fill(d.context.begin(), d.context.end(), 0.0f);
  const auto backward_part = [&](size_t p) {
    parts[p].context = rows.row ? d.context.data() : nullptr;
    NetworkTile jet(network, d.second.empty() ? 2 : 3);
    NetworkTile::Scratch scratch;
    in_tiles(cut.begin(p), cut.end(p), kJetRows, [&](uint64_t i, uint64_t j) {
      jet.forward(rows.slice(i, j), v.slice(i, j));
      jet.backward({.first = &d.first[i], .second = d.second.empty() ? nullptr : &d.second[i]}, scratch,
                   parts[p]);
    });
    add_contexts_to_bias(rows, cut.begin(p), cut.end(p), parts[p]);
  };
  share_parts(parts.size(), backward_part, Slices{d.context.data(), rows.context.columns, [&](size_t p) {
                                                    return rows.row ? first_context(rows, cut, p) : 0;
                                                  }});
  network.add_gradient(parts, d.gradient);
}

}  // namespace selfnorm
