#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "family.h"
#include "model/stored_record.h"
#include "output.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kShownLabels = 10;

std::string_view name(HeadKind kind) {
  constexpr std::string_view names[] = {"float32", "float16", "bfloat16", "float64"};
  return names[static_cast<size_t>(kind)];
}

Json info_json(const ModelHeader& header) {
  Json info = {{"path", header.path},
               {"bytes", header.bytes},
               {"family", runtime::name(header.family)},
               {"input", runtime::name(header.input)},
               {"weights", runtime::name(header.weights)},
               {"classes", header.classes},
               {"features", header.features},
               {"log_normalizer", header.log_normalizer},
               {"carrier", header.has_carrier}};
  if (header.encoder.kind != EncoderKind::None) {
    Json& encoder = info["encoder"];
    encoder = {{"kind", runtime::name(header.encoder.kind)}, {"inputs", header.schema.feature_count}};
    if (header.is_language()) encoder["order"] = header.encoder.positions + 1;
    encoder.update({{"dimension", header.encoder.width}, {"hidden", header.encoder.hidden}});
  }
  if (header.has_normalizer)
    info["normalizer"] = {{"kind", header.hidden_units > 0 ? "mlp" : "linear"},
                          {"hidden", header.hidden_units}};
  if (header.head != nullptr) {
    const Head& head = *header.head;
    info["weights"] = name(head.kind);
    info["head"] = {{"weight", head.names.weight}};
    if (head.has_bias) info["head"]["bias"] = head.names.bias;
    return info;
  }
  info["objective"] = header.objective;
  info["training"] = header.training;
  info["audit"] = header.audit;
  if (!header.schema.target.empty()) info["target"] = header.schema.target;
  const auto& labels = header.schema.labels;
  info["labels"] = labels.first(std::min(kShownLabels, labels.size()));
  return info;
}

// Of its ladder; none where it has none.
std::vector<Rung> rungs_of(const ModelHeader& header) {
  if (header.head != nullptr)
    return {header.head->model.ladder.rungs.begin(), header.head->model.ladder.rungs.end()};
  return with_plain_errors([&]() -> std::vector<Rung> {
    const runtime::MappedFile file(header.path);
    const auto metadata = runtime::parse_safetensors(file.bytes(), header.path).metadata;
    const auto found = metadata.find("ladder");
    if (found == metadata.end()) return {};
    return runtime::parse_rungs(found->second, header.path).rungs;
  });
}

// {"a": {"b": 1}} -> "a.b  1"
void add_rows(const std::string& name, const Json& value, std::vector<std::vector<std::string>>& rows) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_rows(name.empty() ? key : fmt::format("{}.{}", name, key), inner, rows);
  } else if (value.is_array()) {
    std::string list;
    for (const auto& item : value)
      list.append(list.empty() ? "" : ", ").append(item.is_string() ? item.get<std::string>() : item.dump());
    rows.push_back({name, list});
  } else {
    rows.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
}

// Throws Error when the checksum differs.
std::string verified(const std::string& path) {
  try {
    const runtime::MappedFile file(path);
    file.expect_scan();
    const runtime::ChecksumState state = runtime::verify_checksum(file.bytes(), file.gives_back());
    if (state == runtime::ChecksumState::Differs)
      throw_error("{}: {}; take another copy of it", path, runtime::kChecksumDiffers);
    return state == runtime::ChecksumState::Matches ? "matches" : "none";
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

}  // namespace

Json classifier_info(const Arguments& arguments) {
  const ModelHeader header = read_header(arguments.info_model, arguments.head);
  Json info = info_json(header);
  for (const Rung& rung : rungs_of(header)) {
    Json& shown = info["ladder"][rung.name];
    shown = {{"kind", runtime::name(rung.kind)}, {"cost", rung.cost}, {"rms", rung.rms}};
    if (std::isfinite(rung.eps)) shown.update({{"eps", rung.eps}, {"rho", rung.rho}, {"conf", rung.conf}});
  }
  return info;
}

int info_command(const Arguments& arguments) {
  const std::string path = finished_model_path(arguments.info_model);
  const std::string checksum = arguments.verify ? verified(path) : "";
  Json info = model_info(arguments);
  if (!checksum.empty()) info["checksum"] = checksum;
  if (arguments.common.json) {
    print_json(info);
    return 0;
  }
  if (info.contains("labels") && info["labels"].size() == kShownLabels && info["classes"] > kShownLabels)
    info["labels"].push_back("...");
  std::vector<std::vector<std::string>> rows;
  add_rows("", info, rows);
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row[0].size());
  for (const auto& row : rows) print(fmt::format("{:<{}}  {}\n", row[0], width, row[1]));
  return 0;
}

}  // namespace selfnorm::cli
