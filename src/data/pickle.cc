#include "selfnorm/data/pickle.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "selfnorm/base/error.h"
#include "selfnorm/data/array_file.h"
#include "sniff.h"
#include "zip.h"

namespace selfnorm {

bool is_pickle_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char head[kArrayHead] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  if (is_pickle_head({head, sizeof head})) return true;
  if (!is_zip_head({head, sizeof head})) return false;
  try {
    return ZipArchive(path, file_storage(path)).holds(".pkl");
  } catch (const Error&) {
    return false;
  }
}

void refuse_pickle(const std::string& name) {
  throw DataError(
      name, 0,
      fmt::format("found a file of torch.save (a pickle, which can run code when it is read); expected "
                  "safetensors; make it, if you trust the file, by python3 -c \"import torch; from "
                  "safetensors.torch import save_file; m = torch.load('{0}', map_location='cpu'); "
                  "save_file({{k: v.contiguous() for k, v in m.items()}}, '{1}.safetensors')\"",
                  name, std::filesystem::path(name).stem().string()));
}

}  // namespace selfnorm
