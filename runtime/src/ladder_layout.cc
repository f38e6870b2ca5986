#include "selfnorm/runtime/ladder_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "selfnorm/runtime/json_cursor.h"
#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm::runtime {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"raw", "linear", "network", "nearest", "exact"};

[[noreturn]] void fail_ladder(const std::string& file, const std::string& what) {
  throw FormatError(file + ": metadata \"ladder\": " + shortened(what, 300));
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+';
  });
}

void check_rung(const Rung& rung, const std::string& file) {
  if (!is_name(rung.name))
    fail_ladder(file, "found a rung named \"" + rung.name + "\", expected 1 .. 40 of a-z, 0-9, -, + and .");
  const bool good = rung.cost >= 0 && std::isfinite(rung.cost) && rung.rms >= 0 && rung.eps >= 0 &&
                    rung.rho >= 0 && rung.rho <= 1 && rung.conf >= 0 && rung.conf <= 1 && rung.stop >= 0;
  if (!good)
    fail_ladder(
        file,
        "rung \"" + rung.name +
            "\" has a number out of range; expected cost, rms, eps and stop of at least 0, rho and conf "
            "within 0 .. 1");
}

Rung parse_rung(JsonCursor& json, const std::string& file) {
  Rung out;
  bool has_kind = false;
  json.expect('{');
  do {
    const std::string key = json.string();
    json.expect(':');
    if (key == "name") {
      out.name = json.string();
    } else if (key == "kind") {
      const std::string kind = json.string();
      const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
      if (found == kKinds.end())
        fail_ladder(file, "found the kind \"" + kind + "\", expected raw, linear, network, nearest or exact");
      out.kind = static_cast<RungKind>(found - kKinds.begin());
      has_kind = true;
    } else {
      double* const place = key == "cost"   ? &out.cost
                            : key == "rms"  ? &out.rms
                            : key == "eps"  ? &out.eps
                            : key == "rho"  ? &out.rho
                            : key == "conf" ? &out.conf
                            : key == "stop" ? &out.stop
                                            : nullptr;
      if (place == nullptr) fail_ladder(file, "found the key \"" + key + "\" of a rung, which is not known");
      *place = json.number();
    }
  } while (json.accept(','));
  json.expect('}');
  if (!has_kind) fail_ladder(file, "a rung has no kind");
  check_rung(out, file);
  return out;
}

struct TensorReader {
  const LayoutReader& reader;
  std::vector<std::string>& known;

  bool has(const std::string& key) const { return reader.file.find(key) != nullptr; }
  template <class T>
  std::span<const T> get(const std::string& key, Dtype dtype, std::vector<uint64_t> shape) const {
    known.push_back(key);
    return reader.tensor<T>(key, dtype, std::move(shape));
  }
  std::span<const float> floats(const std::string& key, std::vector<uint64_t> shape) const {
    return get<float>(key, Dtype::F32, std::move(shape));
  }
};

// b of a rung, or its tail, which has no slope and need not look at x.
void read_rung(const TensorReader& tensors, uint64_t features, RungLayout& out) {
  const std::string at = "ladder." + out.name + ".";
  const bool is_tail = out.kind == RungKind::Nearest;
  out.b.intercept = tensors.get<double>(at + "intercept", Dtype::F64, {1});
  if (!is_tail) out.b.slope = tensors.floats(at + "slope", {features});
  if (!tensors.has(at + "output")) return;
  const uint64_t m = std::max<uint64_t>(1, tensors.reader.file.find(at + "output")->elements());
  out.b.output = tensors.floats(at + "output", {m});
  out.b.hidden_bias = tensors.floats(at + "hidden_bias", {m});
  if (is_tail) out.extra = tensors.floats(at + "extra", {m, kTailExtras});
  if (!is_tail || tensors.has(at + "hidden_weight"))
    out.b.hidden_weight = tensors.floats(at + "hidden_weight", {m, features});
}

ClusterLayout read_clusters(const TensorReader& tensors, const LadderPlace& place) {
  ClusterLayout out;
  const Tensor* mass = tensors.reader.file.find("ladder.mass");
  const uint64_t n = mass == nullptr ? 1 : mass->elements();
  if (n == 0 || n > kMostClusters || n > place.classes)
    tensors.reader.fail("tensor \"ladder.mass\" has " + std::to_string(n) + " clusters, expected 1 .. " +
                        std::to_string(std::min(kMostClusters, place.classes)));
  out.mass = tensors.floats("ladder.mass", {n});
  out.scatter = tensors.floats("ladder.scatter", {n});
  out.centroid = tensors.floats("ladder.centroid", {place.features + 1, n});
  out.norm = tensors.floats("ladder.norm", {1});
  out.bias = tensors.floats("ladder.bias", {place.classes});
  out.begin = tensors.get<uint32_t>("ladder.begin", Dtype::U32, {n + 1});
  out.order = tensors.get<uint32_t>("ladder.order", Dtype::U32, {place.classes});
  if (tensors.has("ladder.rows"))
    out.rows = tensors.get<uint16_t>("ladder.rows", Dtype::BF16, {place.classes, place.features});
  return out;
}

template <class T>
void check_numbers(std::span<const T> values, const std::string& what, double least) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!(std::isfinite(values[i]) && static_cast<double>(values[i]) >= least))
      throw FormatError(what + ": out of range (element " + std::to_string(i) + ")");
}

}  // namespace

std::string_view name(RungKind kind) { return kKinds[static_cast<size_t>(kind)]; }

PromisedRungs parse_rungs(std::string_view text, const std::string& file) {
  JsonCursor json(text, file + ": metadata \"ladder\"");
  PromisedRungs all;
  std::vector<Rung>& out = all.rungs;
  json.expect('{');
  if (json.string() != "rungs") fail_ladder(file, "expected the key \"rungs\"");
  json.expect(':');
  json.expect('[');
  do {
    out.push_back(parse_rung(json, file));
    if (out.size() > kMostRungs)
      fail_ladder(file, "found more than " + std::to_string(kMostRungs) + " rungs");
    for (size_t i = 0; i + 1 < out.size(); ++i)
      if (out[i].name == out.back().name) fail_ladder(file, "two rungs are named \"" + out[i].name + "\"");
  } while (json.accept(','));
  json.expect(']');
  while (json.accept(',')) {
    const std::string key = json.string();
    json.expect(':');
    double* const place = key == "within" ? &all.promise.within
                          : key == "rho"  ? &all.promise.rho
                          : key == "conf" ? &all.promise.conf
                                          : nullptr;
    if (place == nullptr) fail_ladder(file, "found the key \"" + key + "\", expected within, rho or conf");
    *place = json.number();
    if (!(*place > 0) || !(key == "within" ? std::isfinite(*place) : *place < 1))
      fail_ladder(file, "found " + key + " " + std::to_string(*place) +
                            ", expected more than 0, and rho and conf less than 1");
  }
  json.expect('}');
  json.end();
  return all;
}

LadderLayout read_ladder(const LadderPlace& place, std::vector<std::string>& known) {
  LadderLayout out;
  const auto found = place.file.metadata.find("ladder");
  if (found == place.file.metadata.end()) return out;
  const LayoutReader reader{place.file, place.name};
  const TensorReader tensors{reader, known};
  PromisedRungs all = parse_rungs(found->second, place.name);
  out.promise = all.promise;
  for (Rung& rung : all.rungs) {
    RungLayout layout;
    static_cast<Rung&>(layout) = std::move(rung);
    if (layout.kind == RungKind::Nearest && out.clusters.clusters() == 0)
      out.clusters = read_clusters(tensors, place);
    if (layout.name == "amortised") {
      if (!place.normalizer.exists()) reader.fail("the rung \"amortised\" expects the tensors normalizer.*");
      layout.b = place.normalizer;
    } else if (layout.kind != RungKind::Raw && layout.kind != RungKind::Exact) {
      read_rung(tensors, place.features, layout);
    }
    out.rungs.push_back(std::move(layout));
  }
  return out;
}

void check_ladder(const LadderLayout& ladder, uint64_t classes, const std::string& file) {
  const std::string where = file + ": tensor ladder.";
  constexpr double kAny = -std::numeric_limits<double>::max();
  for (const RungLayout& rung : ladder.rungs) {
    check_numbers(rung.b.intercept, where + rung.name + ".intercept", kAny);
    for (const auto values :
         {rung.b.slope, rung.b.hidden_weight, rung.b.hidden_bias, rung.b.output, rung.extra})
      check_numbers(values, where + rung.name, kAny);
  }
  const ClusterLayout& c = ladder.clusters;
  if (c.clusters() == 0) return;
  check_numbers(c.centroid, where + "centroid", kAny);
  check_numbers(c.mass, where + "mass", kAny);
  check_numbers(c.bias, where + "bias", kAny);
  check_numbers(c.scatter, where + "scatter", 0);
  check_numbers(c.norm, where + "norm", 1e-30);
  if (c.begin.front() != 0 || c.begin.back() != classes || !std::is_sorted(c.begin.begin(), c.begin.end()))
    throw FormatError(where + "begin: expected offsets from 0 to " + std::to_string(classes) +
                      " that do not fall");
  for (size_t i = 0; i < c.rows.size(); ++i)
    if ((c.rows[i] & 0x7F80u) == 0x7F80u)
      throw FormatError(where + "rows: not finite (element " + std::to_string(i) + ")");
  std::vector<bool> seen(classes);
  for (const uint32_t k : c.order) {
    if (k >= classes || seen[k]) throw FormatError(where + "order: expected each class once");
    seen[k] = true;
  }
}

}  // namespace selfnorm::runtime
