// The checksum of a file that selfnorm wrote: XXH3-64 of all its bytes, its own 16 digits taken as zeros. It
// is the first of the metadata, so it stands at the same place in every file:
//   u64 | {"__metadata__":{"selfnorm.checksum":"xxh3-64:0123456789abcdef", ...
// A file that begins otherwise has none: those of the first release, and those that another program wrote.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace selfnorm::runtime {

inline constexpr std::string_view kChecksumKey = "selfnorm.checksum";
inline constexpr std::string_view kBlankChecksum = "xxh3-64:0000000000000000";  // as it is hashed
inline constexpr std::string_view kBeginning = R"({"__metadata__":{"selfnorm.checksum":"xxh3-64:)";
inline constexpr size_t kChecksumOffset = 8 + kBeginning.size();  // of the digits in the file

using ChecksumDigits = std::array<char, 16>;

// Told of bytes, a piece of a few MB at a time, that they were read and are not needed for now.
using BytesRead = std::function<void(std::span<const std::byte>)>;

// Of a file in parts, the first of which holds the blank digits.
ChecksumDigits checksum_of(std::span<const std::span<const std::byte>> parts, const BytesRead& read = {});
// visit(piece) of all of them, in order, a few MB at a time.
void for_each_piece(std::span<const std::byte> bytes, const BytesRead& visit);

enum class ChecksumState { Absent, Matches, Differs };
ChecksumState verify_checksum(std::span<const std::byte> file, const BytesRead& read = {});

inline constexpr const char* kChecksumDiffers =
    "the checksum does not match: these are not the bytes that selfnorm wrote; the file is damaged, or "
    "another "
    "program changed it";

// Throws FormatError when it differs; `advice` ends the message.
void require_checksum(std::span<const std::byte> bytes, const std::string& file,
                      const char* advice = "; take another copy of it", const BytesRead& read = {});

}  // namespace selfnorm::runtime
