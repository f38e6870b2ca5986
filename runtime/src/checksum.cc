#include "selfnorm/runtime/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>

#include "selfnorm/runtime/file_error.h"

namespace selfnorm::runtime {
namespace {

// A file that begins so but for this many bytes was damaged there, and is not one without a checksum.
constexpr size_t kMostDamaged = 4;
constexpr size_t kDigits = ChecksumDigits().size();

ChecksumDigits computed_digits(std::span<const std::byte> file, const BytesRead& read) {
  const std::string_view blank = kBlankChecksum.substr(kBlankChecksum.size() - kDigits);
  const std::array<std::span<const std::byte>, 3> parts = {
      file.first(kChecksumOffset), std::as_bytes(std::span(blank)), file.subspan(kChecksumOffset + kDigits)};
  return checksum_of(parts, read);
}

}  // namespace

void for_each_piece(std::span<const std::byte> bytes, const BytesRead& visit) {
  constexpr size_t kPiece = size_t{1} << 22;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size())))
    visit(bytes.first(std::min(kPiece, bytes.size())));
}

ChecksumDigits checksum_of(std::span<const std::span<const std::byte>> parts, const BytesRead& read) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const std::span<const std::byte> part : parts)
    for_each_piece(part, [&](std::span<const std::byte> piece) {
      XXH3_64bits_update(&state, piece.data(), piece.size());
      if (read) read(piece);
    });
  ChecksumDigits out;
  out.fill('0');
  char digits[kDigits];
  const char* end = std::to_chars(digits, digits + sizeof digits, XXH3_64bits_digest(&state), 16).ptr;
  std::copy_backward(static_cast<const char*>(digits), end, out.end());
  return out;
}

ChecksumState verify_checksum(std::span<const std::byte> file, const BytesRead& read) {
  if (file.size() < kChecksumOffset + kDigits) return ChecksumState::Absent;
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string_view found = text.substr(kChecksumOffset - kBeginning.size(), kBeginning.size());
  size_t damaged = 0;
  for (size_t i = 0; i < found.size(); ++i) damaged += found[i] != kBeginning[i] ? 1 : 0;
  if (damaged > kMostDamaged) return ChecksumState::Absent;
  const ChecksumDigits digits = computed_digits(file, read);
  const bool matches = std::string_view(digits.data(), kDigits) == text.substr(kChecksumOffset, kDigits);
  return matches && damaged == 0 ? ChecksumState::Matches : ChecksumState::Differs;
}

void require_checksum(std::span<const std::byte> bytes, const std::string& file, const char* advice,
                      const BytesRead& read) {
  if (verify_checksum(bytes, read) != ChecksumState::Differs) return;
  throw FormatError(file + ": " + kChecksumDiffers + advice);
}

}  // namespace selfnorm::runtime
