#include "selfnorm/model/string_column.h"

#include "selfnorm/base/error.h"

namespace selfnorm {

StringColumn::StringColumn(const std::vector<std::string>& strings) {
  for (const std::string& text : strings) {
    bytes += text;
    offsets.push_back(bytes.size());
  }
}

void StringColumn::add_to(std::vector<runtime::Tensor>& tensors, const std::string& name) const {
  if (offsets.size() == 1) return;
  tensors.push_back(make_tensor(name + ".bytes", runtime::Dtype::U8, {bytes.size()}, std::span(bytes)));
  tensors.push_back(
      make_tensor(name + ".offsets", runtime::Dtype::U64, {offsets.size()}, std::span(offsets)));
}

std::vector<std::string> strings_of(const runtime::StringTable& table) {
  std::vector<std::string> out(table.size());
  std::string_view text;
  for (size_t i = 0; i < out.size(); ++i) {
    SELFNORM_CHECK(table.get(i, text));
    out[i] = text;
  }
  return out;
}

}  // namespace selfnorm
