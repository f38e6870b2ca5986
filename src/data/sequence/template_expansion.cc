#include "template_expansion.h"

#include <fmt/format.h>

#include <algorithm>

namespace selfnorm {
namespace {

using ItemKind = TemplateItem::Kind;

constexpr uint32_t kUnknown = UINT32_MAX - 1, kAbsent = UINT32_MAX;
constexpr uint32_t kRemembered = 1u << 20;  // strings, before a stream begins anew

uint32_t& at(std::vector<uint32_t>& list, uint32_t i) {
  if (i >= list.size()) list.resize(std::max<size_t>(i + size_t{1}, 2 * list.size()), kUnknown);
  return list[i];
}

}  // namespace

TemplateExpansion::TemplateExpansion(const FeatureTemplates& templates, bool is_bigram, uint32_t missing) {
  for (const FeatureTemplate& one : templates.list) {
    if (one.is_bigram != is_bigram || (is_bigram && one.items.size() == 1)) continue;
    Template out;
    out.name = one.items[0].text;
    for (const TemplateItem& item : std::span(one.items).subspan(1)) {
      if (item.kind == ItemKind::literal) {
        out.values.back().literal = item.text;
        continue;
      }
      const uint32_t column = item.column - (item.column > missing ? 1 : 0);
      out.values.push_back({macro_number(item), column_number(column), item.row, {}});
    }
    template_.push_back(std::move(out));
  }
  cell_.resize(column_.size());
}

uint32_t TemplateExpansion::macro_number(const TemplateItem& item) {
  const auto same = std::find_if(macro_.begin(), macro_.end(), [&](const Macro& m) {
    return m.item.kind == item.kind && m.item.count == item.count && m.item.text == item.text;
  });
  if (same == macro_.end()) {
    macro_.push_back({TokenMacro(item), item, {}});
    return static_cast<uint32_t>(macro_.size() - 1);
  }
  return static_cast<uint32_t>(same - macro_.begin());
}

uint32_t TemplateExpansion::column_number(uint32_t column) {
  const auto same = std::find(column_.begin(), column_.end(), column);
  const auto number = static_cast<uint32_t>(same - column_.begin());
  if (same == column_.end()) column_.push_back(column);
  return number;
}

void TemplateExpansion::forget() {
  strings_ = {};
  for (Macro& macro : macro_) macro.value.clear();
  for (Template& one : template_) one.attribute.clear();
}

void TemplateExpansion::begin(const TokenLines& sentence) {
  if (strings_.size() > kRemembered) forget();
  for (size_t c = 0; c < column_.size(); ++c) {
    cell_[c].clear();
    for (size_t t = 0; t < sentence.size(); ++t)
      cell_[c].push_back(strings_.add(sentence.field(t, column_[c])));
  }
}

uint32_t TemplateExpansion::boundary(int64_t beyond) { return strings_.add(fmt::format("_B{:+}", beyond)); }

uint32_t TemplateExpansion::value(const Value& place, size_t position) {
  const std::vector<uint32_t>& cells = cell_[place.column];
  const auto length = static_cast<int64_t>(cells.size());
  const int64_t t = static_cast<int64_t>(position) + place.row;
  if (t < 0) return boundary(t);
  if (t >= length) return boundary(t - length + 1);
  Macro& macro = macro_[place.macro];
  const uint32_t token = cells[static_cast<size_t>(t)];
  if (macro.item.kind == ItemKind::cell) return token;
  uint32_t& known = at(macro.value, token);
  if (known == kUnknown) {
    const auto made = macro.of(strings_[token]);
    known = made ? strings_.add(*made) : kAbsent;
  }
  return known;
}

void TemplateExpansion::expand(size_t position, AttributeNumbers& numbers, std::vector<uint32_t>& out) {
  for (Template& one : template_) {
    const bool is_single = one.values.size() <= 1;
    text_ = one.name;
    uint32_t last = 0;
    for (const Value& place : one.values) {
      last = value(place, position);
      if (last == kAbsent) break;
      if (is_single && at(one.attribute, last) != kUnknown) break;
      text_.append(strings_[last]).append(place.literal);
    }
    if (last == kAbsent) continue;
    uint32_t number = is_single ? at(one.attribute, last) : kUnknown;
    if (number == kUnknown) number = numbers(text_);
    if (is_single) one.attribute[last] = number;
    if (number != AttributeNumbers::kNone) out.push_back(number);
  }
}

}  // namespace selfnorm
