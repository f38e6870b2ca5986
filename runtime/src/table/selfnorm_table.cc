// selfnorm_table.h: regressors and densities.
#include "selfnorm_table.h"

#include <cmath>
#include <filesystem>
#include <memory>

#include "json_value.h"
#include "open_model.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/log_sum_exp.h"
#include "table_density.h"
#include "table_network.h"
#include "table_regressor.h"

namespace selfnorm::runtime {
namespace {

constexpr double kLargestInput = 10;  // standard deviations (src/data/table/frame_encoder.h)

struct TableColumn {
  std::string name{};
  bool is_number = true, has_value = true, has_missing = false;
  double mean = 0, scale = 1;
  std::vector<std::string> levels{};
};

std::vector<TableColumn> columns_of(const LayoutReader& reader, bool& standardises) {
  using Kind = JsonValue::Kind;
  const std::string where = reader.name + ": encoder";
  const JsonValue encoder = parse_json(reader.metadata("encoder"), where);
  standardises = encoder.at("standardise", Kind::boolean, where).boolean;
  std::vector<TableColumn> out;
  for (const JsonValue& stored : encoder.at("columns", Kind::list, where).items) {
    TableColumn& column = out.emplace_back();
    column.name = stored.at("name", Kind::text, where).text;
    column.is_number = stored.at("kind", Kind::text, where).text == "numeric";
    column.has_missing = stored.at("missing", Kind::boolean, where).boolean;
    if (column.is_number) {
      column.mean = stored.at("mean", Kind::number, where).number;
      column.scale = stored.at("scale", Kind::number, where).number;
      column.has_value = stored.at("value", Kind::boolean, where).boolean;
      if (!(column.scale > 0)) reader.fail("column \"" + column.name + "\" has no positive scale");
    } else {
      for (const JsonValue& level : stored.at("levels", Kind::list, where).items)
        column.levels.push_back(level.text);
    }
  }
  return out;
}

}  // namespace
}  // namespace selfnorm::runtime

using namespace selfnorm::runtime;

struct selfnorm_table {
  MappedFile mapped{};
  Safetensors file{};
  std::string name{};
  bool is_regressor = false, standardises = true;
  std::vector<TableColumn> columns{};
  uint32_t numbers = 0, categories = 0;
  TableRegressor regressor{};
  TableNetwork energy{};
  TableDensity base{};
  double constant = 0;  // of a density: b and the volume
  std::span<const double> mean{}, scale{};

  size_t doubles() const {
    const size_t inputs = columns.size() + numbers + categories + 4;
    return inputs + (is_regressor ? regressor.workspace() : energy.scratch() + columns.size());
  }
};

namespace selfnorm::runtime {
namespace {

void read_regressor(const LayoutReader& reader, selfnorm_table& out) {
  out.is_regressor = true;
  out.columns = columns_of(reader, out.standardises);
  std::vector<uint32_t> levels;
  for (const TableColumn& column : out.columns) {
    if (column.is_number)
      out.numbers += static_cast<uint32_t>(column.has_value) + static_cast<uint32_t>(column.has_missing);
    else
      levels.push_back(static_cast<uint32_t>(1 + column.levels.size() + (column.has_missing ? 1 : 0)));
  }
  out.categories = static_cast<uint32_t>(levels.size());
  out.regressor = TableRegressor(reader, levels, out.numbers);
}

void read_density(const LayoutReader& reader, selfnorm_table& out) {
  const auto d = reader.number<uint32_t>("features");
  if (reader.file.metadata.contains("geometry"))
    reader.fail(
        "a density of angles or words, which the C runtime does not have; use the program or the library");
  out.energy = TableNetwork(reader, "energy");
  if (!out.energy.has_score() || (out.energy.inputs() != d && out.energy.inputs() != 0))
    reader.fail("the energy does not take " + std::to_string(d) + " columns");
  constexpr std::array<std::string_view, 3> bases = {"none", "proposal", "own"};
  switch (reader.choice("base", bases)) {
    case 0:
      break;
    case 1:
      out.base = TableDensity(reader, "proposal", "proposal.", d);
      break;
    default:
      out.base = TableDensity(reader, "base_kind", "base.", d);
  }
  out.constant = reader.number<double>("log_normalizer");
  if (reader.file.find("standardisation.mean") != nullptr) {
    out.mean = reader.tensor<double>("standardisation.mean", Dtype::F64, {d});
    out.scale = reader.tensor<double>("standardisation.scale", Dtype::F64, {d});
    for (const double s : out.scale) {
      if (!(s > 0)) reader.fail("the standardisation has no positive scale");
      out.constant += std::log(s);
    }
  }
  const StringTable names = reader.strings("feature_names", d);
  for (uint32_t j = 0; j < d; ++j) {
    std::string_view text;
    out.columns.push_back({.name = names.get(j, text) ? std::string(text) : ""});
  }
}

selfnorm_status open_table(MappedFile mapped, std::span<const std::byte> bytes, const std::string& name,
                           selfnorm_table** model) {
  auto out = std::make_unique<selfnorm_table>();
  out->mapped = std::move(mapped);
  out->name = name;
  out->file = parse_safetensors(bytes, name);
  const LayoutReader reader{out->file, out->name};
  reader.check_version();
  const std::string_view family = reader.metadata("family");
  if (family == "regressor")
    read_regressor(reader, *out);
  else if (family == "density")
    read_density(reader, *out);
  else
    reader.fail("family \"" + std::string(family) +
                "\", expected a regressor or a density; selfnorm_open is "
                "for the others");
  *model = out.release();
  return SELFNORM_OK;
}

selfnorm_status check_row(const selfnorm_table* model, const double* x, size_t columns, const void* workspace,
                          size_t bytes) {
  if (model == nullptr || (x == nullptr && columns > 0) || workspace == nullptr) return fail_null();
  if (columns != model->columns.size())
    return fail(SELFNORM_ERROR_DIMENSION, "found %zu columns, expected the %zu of the model", columns,
                model->columns.size());
  if (bytes < selfnorm_table_workspace(model))
    return fail(SELFNORM_ERROR_ARGUMENT, "found a workspace of %zu bytes, expected %zu", bytes,
                selfnorm_table_workspace(model));
  return SELFNORM_OK;
}

// Numbers standardised and held within bounds, missing ones 0; levels that the model does not have are 0.
selfnorm_status encode_row(const selfnorm_table* model, const double* x, WorkMemory& memory,
                           TableRegressor::Input& out) {
  double* number = memory.take(model->numbers + 1);
  auto* level = reinterpret_cast<uint32_t*>(memory.take(model->categories + 1));
  out = {number, level};
  const double limit = model->standardises ? kLargestInput : 3.4028234663852886e38;
  for (size_t j = 0; j < model->columns.size(); ++j) {
    const TableColumn& column = model->columns[j];
    const bool is_missing = std::isnan(x[j]);
    if (std::isinf(x[j])) return fail(SELFNORM_ERROR_NOT_FINITE, "column %zu is infinite", j);
    if (column.is_number) {
      if (column.has_value)
        *number++ = is_missing ? 0 : std::clamp((x[j] - column.mean) / column.scale, -limit, limit);
      if (column.has_missing) *number++ = is_missing ? 1 : 0;
      continue;
    }
    const size_t known = column.levels.size();
    if (!is_missing && !(x[j] >= 0 && x[j] <= static_cast<double>(known) && x[j] == std::floor(x[j])))
      return fail(SELFNORM_ERROR_INDEX, "column %zu is %g, expected a level of selfnorm_table_level", j,
                  x[j]);
    *level++ = is_missing ? (column.has_missing ? static_cast<uint32_t>(known) + 1 : 0)
                          : static_cast<uint32_t>(x[j]);
  }
  return SELFNORM_OK;
}

selfnorm_status check_regressor(const selfnorm_table* model) {
  return model->is_regressor ? SELFNORM_OK
                             : fail(SELFNORM_ERROR_FAMILY, "the model is a density, expected a regressor");
}

}  // namespace
}  // namespace selfnorm::runtime

extern "C" {

selfnorm_status selfnorm_table_open(const char* path, selfnorm_table** model) {
  if (path == nullptr || model == nullptr) return fail_null();
  return guarded([&] {
    std::string name = path;
    std::error_code none;
    if (std::filesystem::is_directory(name, none)) name += "/model.safetensors";  // of a run
    MappedFile mapped{name};
    const auto bytes = mapped.bytes();
    return open_table(std::move(mapped), bytes, name, model);
  });
}

selfnorm_status selfnorm_table_open_memory(const void* data, size_t size, selfnorm_table** model) {
  if (data == nullptr || model == nullptr) return fail_null();
  return guarded([&] {
    return open_table({}, {static_cast<const std::byte*>(data), size}, "model in memory", model);
  });
}

void selfnorm_table_close(selfnorm_table* model) { delete model; }

int selfnorm_table_is_regressor(const selfnorm_table* model) { return model->is_regressor ? 1 : 0; }
size_t selfnorm_table_columns(const selfnorm_table* model) { return model->columns.size(); }

const char* selfnorm_table_column(const selfnorm_table* model, size_t column, size_t* length) {
  const bool exists = column < model->columns.size() && !model->columns[column].name.empty();
  if (length != nullptr) *length = exists ? model->columns[column].name.size() : 0;
  return exists ? model->columns[column].name.data() : nullptr;
}

double selfnorm_table_level(const selfnorm_table* model, size_t column, const char* text, size_t length) {
  if (column >= model->columns.size() || model->columns[column].is_number || text == nullptr) return NAN;
  const std::vector<std::string>& levels = model->columns[column].levels;
  for (size_t i = 0; i < levels.size(); ++i)
    if (std::string_view(text, length) == levels[i]) return static_cast<double>(i + 1);
  return 0;
}

size_t selfnorm_table_workspace(const selfnorm_table* model) {
  return sizeof(double) * (model->doubles() + 1);
}

selfnorm_status selfnorm_table_log_density(const selfnorm_table* model, const double* x, size_t columns,
                                           void* workspace, size_t bytes, double* out) {
  SELFNORM_TRY(check_row(model, x, columns, workspace, bytes));
  if (out == nullptr) return fail_null();
  if (model->is_regressor) return fail(SELFNORM_ERROR_FAMILY, "the model is a regressor, expected a density");
  WorkMemory memory(workspace, bytes);
  double *u = memory.take(columns), *scratch = memory.take(model->energy.scratch());
  for (size_t j = 0; j < columns; ++j) {
    if (!std::isfinite(x[j])) return fail(SELFNORM_ERROR_NOT_FINITE, "column %zu is not a finite number", j);
    const float value = static_cast<float>(x[j]);  // as the program reads it
    u[j] = static_cast<double>(
        model->mean.empty()
            ? value
            : static_cast<float>((static_cast<double>(value) - model->mean[j]) / model->scale[j]));
  }
  const double base = model->base.log_prob(u);
  *out = std::isinf(base) ? base : base + model->energy.score(u, nullptr, scratch) - model->constant;
  return SELFNORM_OK;
}

selfnorm_status selfnorm_table_log_density_of(const selfnorm_table* model, const double* x, size_t columns,
                                              double y, int kind, void* workspace, size_t bytes,
                                              double* out) {
  SELFNORM_TRY(check_row(model, x, columns, workspace, bytes));
  SELFNORM_TRY(check_regressor(model));
  if (out == nullptr) return fail_null();
  if (kind != SELFNORM_RAW && kind != SELFNORM_EXACT)
    return fail(SELFNORM_ERROR_ARGUMENT, "kind %d, expected SELFNORM_RAW or SELFNORM_EXACT", kind);
  if (std::isnan(y)) return fail(SELFNORM_ERROR_NOT_FINITE, "y is no number");
  WorkMemory memory(workspace, bytes);
  TableRegressor::Input input{};
  SELFNORM_TRY(encode_row(model, x, memory, input));
  *out = model->regressor.log_density(input, y, kind == SELFNORM_EXACT, memory);
  return SELFNORM_OK;
}

selfnorm_status selfnorm_table_predict(const selfnorm_table* model, const double* x, size_t columns,
                                       const double* levels, size_t n, void* workspace, size_t bytes,
                                       selfnorm_prediction* prediction, double* quantiles) {
  SELFNORM_TRY(check_row(model, x, columns, workspace, bytes));
  SELFNORM_TRY(check_regressor(model));
  if (prediction == nullptr || (n > 0 && (levels == nullptr || quantiles == nullptr))) return fail_null();
  for (size_t i = 0; i < n; ++i)
    if (!(levels[i] > 0 && levels[i] < 1))
      return fail(SELFNORM_ERROR_ARGUMENT, "level %g, expected a number between 0 and 1", levels[i]);
  WorkMemory memory(workspace, bytes);
  TableRegressor::Input input{};
  SELFNORM_TRY(encode_row(model, x, memory, input));
  model->regressor.predict(input, {levels, n}, memory, *prediction, quantiles);
  return SELFNORM_OK;
}

}  // extern "C"
