#include "compiler/passes/variants/variant_spec.h"

#include <algorithm>
#include <charconv>

namespace dyn::passes {

namespace {

constexpr int64_t kLargestSize = int64_t{1} << 31;

std::vector<std::string_view> splitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    if (const std::string_view part = text.substr(0, end); !part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<int64_t> size(std::string_view text, std::string_view whole) {
  int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && value >= 1 && value <= kLargestSize)
    return value;
  return makeError(DiagnosticId::usageError, "'" + std::string(whole) + "': '" + std::string(text) +
                                                 "' is not a size: a whole number from 1 to " +
                                                 std::to_string(kLargestSize));
}

Result<std::pair<std::string_view, std::string_view>> assignment(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return makeError(DiagnosticId::usageError, "'" + std::string(text) + "' is not of the form DIM=SIZE");
  return std::make_pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

Result<std::vector<FixedSizes>> parseVariants(std::string_view text) {
  std::vector<FixedSizes> variants;
  for (std::string_view part : splitAt(text, ';')) {
    FixedSizes sizes;
    for (std::string_view item : splitAt(part, ',')) {
      DYN_TRY(auto pair, assignment(item));
      DYN_TRY(int64_t value, size(pair.second, part));
      const bool twice = std::any_of(sizes.begin(), sizes.end(),
                                     [&](const auto& other) { return other.first == pair.first; });
      if (twice)
        return makeError(DiagnosticId::usageError,
                         "'" + std::string(part) + "' gives " + std::string(pair.first) + " two sizes")
            .note("';' separates variants; buckets have an option of their own");
      sizes.emplace_back(pair.first, value);
    }
    if (!sizes.empty()) variants.push_back(std::move(sizes));
  }
  return variants;
}

Result<std::vector<Buckets>> parseBuckets(std::string_view text) {
  std::vector<Buckets> all;
  for (std::string_view part : splitAt(text, ';')) {
    DYN_TRY(auto pair, assignment(part));
    Buckets buckets{std::string(pair.first), {}};
    for (std::string_view item : splitAt(pair.second, ',')) {
      DYN_TRY(int64_t value, size(item, part));
      buckets.sizes.push_back(value);
    }
    std::sort(buckets.sizes.begin(), buckets.sizes.end());
    buckets.sizes.erase(std::unique(buckets.sizes.begin(), buckets.sizes.end()), buckets.sizes.end());
    if (buckets.sizes.empty())
      return makeError(DiagnosticId::usageError, "'" + std::string(part) + "' names no size");
    all.push_back(std::move(buckets));
  }
  return all;
}

}  // namespace dyn::passes
