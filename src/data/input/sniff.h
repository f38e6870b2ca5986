// Which format a file has: by magic bytes, then extension, then content.
#pragma once

#include <string_view>

#include "data/input/source.h"
#include "data/read.h"

namespace selfnorm {

// What is said of a file of 0 bytes, and of one without rows.
inline constexpr const char* kEmptyFile =
    "the file is empty; expected rows of data: write it again, or give another file";
inline constexpr const char* kNoRows =
    "found no rows of data; expected at least one: add some, or give another file";

// By the first 9 bytes.
bool is_npy_head(std::string_view head);
bool is_zip_head(std::string_view head);
bool is_pickle_head(std::string_view head);       // as torch.save wrote before version 1.6
bool is_safetensors_head(std::string_view head);  // a length that a header may have, and a brace

Format detect_format(Input& input, const ReadOptions& options);  // throws DataError when nothing fits

// The data of a path. Of several files, the first says whether they are of a format that has headers.
std::unique_ptr<Input> open_rows(const std::string& path, const ReadOptions& options);

// Bytes of the header line of a text file, or 0. Automatic: label (target, class, y) <TAB> text.
uint64_t text_header(Input& input, Header header);

}  // namespace selfnorm
