// A model file in memory whose tensors and metadata can be changed.
#pragma once

#include <cstring>
#include <string>

#include "model/model_file.h"
#include "model/safetensors_writer.h"
#include "selfnorm/error.h"

namespace selfnorm::test {

struct Editable {
  std::string bytes;
  runtime::Safetensors file;

  explicit Editable(const ModelFile& model) : Editable(model_bytes(model, "m.st")) {}
  explicit Editable(std::string written)
      : bytes(std::move(written)),
        file(runtime::parse_safetensors(std::as_bytes(std::span(bytes)), "m.st")) {}
  Editable(Editable&&) = default;  // tensors point into bytes
  Editable& operator=(Editable&&) = default;

  runtime::Tensor& tensor(const std::string& name) {
    for (runtime::Tensor& t : file.tensors)
      if (t.name == name) return t;
    throw Error("no tensor " + name);
  }
  void drop(const std::string& name) {
    std::erase_if(file.tensors, [&](const runtime::Tensor& t) { return t.name == name; });
  }
  // Element i of a tensor of 4-byte items.
  void set(const std::string& name, size_t i, uint32_t value) {
    std::memcpy(const_cast<std::byte*>(tensor(name).data.data()) + 4 * i, &value, 4);
  }
  std::string written() const {
    std::vector<runtime::Tensor> tensors = file.tensors;
    std::string out = safetensors_header(tensors, {file.metadata.begin(), file.metadata.end()});
    for (const runtime::Tensor& t : tensors)
      out.append(reinterpret_cast<const char*>(t.data.data()), t.data.size());
    return out;
  }
};

}  // namespace selfnorm::test
