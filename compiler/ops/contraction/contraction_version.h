// How a convolution or a matrix product is made, as a value. Text stands where a person or a file says it: in
// attributes, policies, pass options and records.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vm/shared/dyn_contraction.h"

namespace dyn::contraction {

// The runtime decides at each call: convolutions by a rule, products by cost.
struct Automatic {
  bool operator==(const Automatic&) const = default;
};
// oneDNN, where a build has it.
struct Library {
  bool operator==(const Library&) const = default;
};
// Schedules of a product by its number of rows: at least one piece, and not "by cost" for all rows, which is
// Automatic.
struct Dispatch {
  std::vector<DispatchPiece> pieces;
  bool operator==(const Dispatch&) const = default;
};
// Convolutions have ways, products have dispatches.
using Version = std::variant<Automatic, Library, Way, Dispatch>;

inline bool isAutomatic(const Version& version) { return std::holds_alternative<Automatic>(version); }
inline bool isLibrary(const Version& version) { return std::holds_alternative<Library>(version); }
// Row `schedule` of kProductSchedules for all rows.
Version scheduleVersion(size_t schedule);
// The version of a product for so many rows: Automatic, or one schedule.
Version versionAt(const Version& version, int64_t rows);

// "auto", "onednn", "winograd", "auto<=59,k384r24-panels"
std::string textOf(const Version& version);
// nullopt: there is no such version of convolutions, of products.
std::optional<Version> parseConvolutionVersion(std::string_view text);
std::optional<Version> parseProductVersion(std::string_view text);

}  // namespace dyn::contraction
