#include "data/array/array_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unordered_set>

#include "base/failure.h"
#include "base/memory.h"
#include "data/array/array.h"
#include "data/input/characters.h"
#include "data/input/sniff.h"
#include "data/input/zip.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/safetensors.h"

namespace selfnorm {
namespace {

// Nothing for a dtype that is no number here.
std::optional<ElementType> element_type(runtime::Dtype dtype) {
  const std::string_view name = runtime::dtype_name(dtype);
  if (name.starts_with("F8") || name.starts_with('C')) return std::nullopt;
  const ElementKind kind = name == "BF16"          ? ElementKind::bfloat
                           : name == "BOOL"        ? ElementKind::boolean
                           : name.starts_with('F') ? ElementKind::real
                           : name.starts_with('I') ? ElementKind::integer
                                                   : ElementKind::natural;
  return ElementType{kind, runtime::item_size(dtype), false};
}

// Its sizes are those of the file before anything is made as large as they say.
ArrayEntry checked_entry(const Array& array) {
  check_size(array);
  ArrayEntry entry;
  entry.type = array.type;
  entry.descr = array.descr;
  entry.shape = array.shape;
  entry.fortran_order = array.fortran_order;
  entry.elements = element_count(array);
  return entry;
}

Array array_of(const ArrayEntry& entry, ByteSource& payload) {
  return {entry.place, entry.type, entry.descr, entry.shape, entry.fortran_order, &payload};
}

}  // namespace

struct ArrayFile::Contents {
  std::string name;
  ArrayFormat format = ArrayFormat::npy;
  std::shared_ptr<Storage> owner;  // of the bytes
  std::span<const std::byte> bytes;
  std::shared_ptr<Storage> storage;  // reads from the bytes
  std::vector<ArrayEntry> entries;
  runtime::Safetensors tensors;   // entries[i] is tensors.tensors[i]
  std::optional<ZipArchive> zip;  // entries[i] is zip->members()[member[i]]
  std::vector<size_t> member;

  size_t place_of(const ArrayEntry& entry) const { return static_cast<size_t>(&entry - entries.data()); }

  void read_safetensors() {
    try {
      tensors = runtime::parse_safetensors(bytes, name);
    } catch (const runtime::FormatError& error) {
      throw Error(error.what());
    }
    for (const runtime::Tensor& tensor : tensors.tensors) {
      ArrayEntry entry;
      entry.name = tensor.name;
      entry.place = fmt::format("{} {}", name, quoted_text(tensor.name));
      if (const auto type = element_type(tensor.dtype)) {
        entry.type = *type;
      } else {
        entry.problem = fmt::format("{}: found elements of type {}, expected F16, BF16, F32, F64 or integers",
                                    entry.place, runtime::dtype_name(tensor.dtype));
      }
      entry.shape = tensor.shape;
      entry.elements = tensor.elements();
      entries.push_back(std::move(entry));
    }
  }

  void read_npy() {
    auto source = storage_source(storage, 0, bytes.size());
    entries.push_back(checked_entry(open_npy(name, *source)));
    entries.back().place = name;
  }

  void read_npz() {
    zip.emplace(name, storage);
    if (zip->holds(".pkl")) refuse_pickle(name);
    std::unordered_set<std::string> names;
    for (size_t i = 0; i < zip->members().size(); ++i) {
      const ZipMember& m = zip->members()[i];
      if (!m.name.ends_with(".npy")) continue;
      ArrayEntry entry;
      const std::string place = fmt::format("{} {}", name, quoted_text(m.name));
      try {
        auto source = zip->open(m);
        entry = checked_entry(open_npy(place, *source));
      } catch (const Error& error) {
        entry.problem = error.what();
      }
      entry.name = m.name.substr(0, m.name.size() - 4);
      entry.place = place;
      if (!names.insert(entry.name).second)
        throw_at(name, 0, "found the array {} twice", quoted_text(entry.name));
      entries.push_back(std::move(entry));
      member.push_back(i);
    }
  }
};

std::string ArrayEntry::shape_text() const { return fmt::format("[{}]", fmt::join(shape, ", ")); }

void ArrayView::widen(uint64_t first, std::span<float> to) const {
  selfnorm::widen(type, bytes.subspan(first * type.size, to.size() * type.size), to);
}

void ArrayView::release(uint64_t first, uint64_t count) const {
  if (storage) storage->release(bytes.subspan(first * type.size, count * type.size));
}

ArrayFile::ArrayFile(const std::string& path) : ArrayFile(path, file_storage(path)) {}

ArrayFile::ArrayFile(std::string name, std::shared_ptr<Storage> storage)
    : contents_(std::make_unique<Contents>()) {
  Contents& c = *contents_;
  c.name = std::move(name);
  c.bytes = storage->bytes();
  c.owner = std::move(storage);
  c.storage = memory_storage(c.bytes);
  const std::string_view head(reinterpret_cast<const char*>(c.bytes.data()),
                              std::min(c.bytes.size(), kArrayHead));
  if (is_npy_head(head)) {
    c.format = ArrayFormat::npy;
    c.read_npy();
  } else if (is_zip_head(head)) {
    c.format = ArrayFormat::npz;
    c.read_npz();
  } else {
    if (is_pickle_head(head)) refuse_pickle(c.name);
    if (!is_safetensors_head(head) && !c.name.ends_with(".safetensors"))
      throw DataError(c.name, 0, "found no array file; expected npy, npz or safetensors");
    c.format = ArrayFormat::safetensors;
    c.read_safetensors();
  }
}

ArrayFile::~ArrayFile() = default;
ArrayFile::ArrayFile(ArrayFile&&) noexcept = default;
ArrayFile& ArrayFile::operator=(ArrayFile&&) noexcept = default;

ArrayFormat ArrayFile::format() const { return contents_->format; }
const std::string& ArrayFile::name() const { return contents_->name; }
std::span<const std::byte> ArrayFile::bytes() const { return contents_->bytes; }
const std::vector<ArrayEntry>& ArrayFile::entries() const { return contents_->entries; }
const std::map<std::string, std::string, std::less<>>& ArrayFile::metadata() const {
  return contents_->tensors.metadata;
}

const ArrayEntry* ArrayFile::find(std::string_view name) const {
  for (const ArrayEntry& entry : contents_->entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::unique_ptr<ByteSource> ArrayFile::source(const ArrayEntry& entry) const {
  const Contents& c = *contents_;
  if (!entry.problem.empty()) throw Error(entry.problem);
  const size_t i = c.place_of(entry);
  if (c.format == ArrayFormat::safetensors) {
    const std::span<const std::byte> data = c.tensors.tensors[i].data;
    return storage_source(c.storage, static_cast<uint64_t>(data.data() - c.bytes.data()), data.size());
  }
  auto source = c.format == ArrayFormat::npy ? storage_source(c.storage, 0, c.bytes.size())
                                             : c.zip->open(c.zip->members()[c.member[i]]);
  open_npy(entry.place, *source);
  return source;
}

ArrayView ArrayFile::view(const ArrayEntry& entry) const {
  const Contents& c = *contents_;
  auto payload = source(entry);
  const Array array = array_of(entry, *payload);
  ArrayView view{entry.place, entry.type, entry.shape, entry.fortran_order, {}, c.owner, c.owner.get()};
  if (c.format == ArrayFormat::safetensors) {
    view.bytes = c.tensors.tensors[c.place_of(entry)].data;
    return view;
  }
  if (c.format == ArrayFormat::npz) {
    const ZipMember& member = c.zip->members()[c.member[c.place_of(entry)]];
    if (member.method != 0) {
      require_memory(static_cast<double>(member.size), "the elements of " + entry.place,
                     "store the array without compression");
      auto unpacked = std::make_shared<const std::vector<std::byte>>(read_elements(array));
      view.bytes = *unpacked;
      view.owner = std::move(unpacked);
      view.storage = nullptr;
      return view;
    }
    const uint64_t end = c.zip->data_offset(member) + member.compressed_size, size = *payload->remaining();
    check_elements(array);
    view.bytes = c.bytes.subspan(end - size, size);
    c.owner->release(view.bytes);  // which check_elements has read
    return view;
  }
  const uint64_t size = *payload->remaining();
  check_size(array);
  view.bytes = c.bytes.last(size);
  return view;
}

std::string list_of_names(const std::vector<ArrayEntry>& entries) {
  constexpr size_t kMost = 12;
  std::string list;
  for (size_t i = 0; i < std::min(entries.size(), kMost); ++i)
    list += (i > 0 ? ", " : "") + quoted_text(entries[i].name);
  if (entries.size() > kMost) list += fmt::format(" and {} others", entries.size() - kMost);
  return list.empty() ? "nothing" : list;
}

bool is_array_head(std::string_view head) {
  return is_npy_head(head) || is_zip_head(head) || is_safetensors_head(head);
}

std::string array_head(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::string head(kArrayHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kArrayHead);
  return head.substr(0, static_cast<size_t>(file.gcount()));
}

bool is_pickle_file(const std::string& path) {
  const std::string head = array_head(path);
  if (is_pickle_head(head)) return true;
  if (!is_zip_head(head)) return false;
  try {
    return ZipArchive(path, file_storage(path)).holds(".pkl");
  } catch (const Error&) {
    return false;
  }
}

void refuse_pickle(const std::string& name) {
  throw_at(name, 0,
           "found a file of torch.save (a pickle, which can run code when it is read); expected safetensors; "
           "make it, if you trust the file, by python3 -c \"import torch; from safetensors.torch import "
           "save_file; m = torch.load('{0}', map_location='cpu'); save_file({{k: v.contiguous() for k, v in "
           "m.items()}}, '{1}.safetensors')\"",
           name, std::filesystem::path(name).stem().string());
}

}  // namespace selfnorm
