#include "compiler/ops/contraction/contraction_version.h"

namespace dyn::contraction {

namespace {

constexpr std::string_view kAutomatic = "auto";

std::optional<Version> parseCommon(std::string_view text) {
  if (text == kAutomatic) return Automatic{};
  if (text == kOneDnn) return Library{};
  return std::nullopt;
}

}  // namespace

Version scheduleVersion(size_t schedule) {
  return Dispatch{{DispatchPiece{static_cast<int32_t>(schedule), INT32_MAX}}};
}

Version versionAt(const Version& version, int64_t rows) {
  const auto* dispatch = std::get_if<Dispatch>(&version);
  if (!dispatch) return version;
  for (const DispatchPiece& piece : dispatch->pieces)
    if (rows <= piece.mostRows) {
      if (piece.schedule < 0) break;
      return scheduleVersion(static_cast<size_t>(piece.schedule));
    }
  return Automatic{};
}

std::string textOf(const Version& version) {
  if (isLibrary(version)) return std::string(kOneDnn);
  if (const auto* way = std::get_if<Way>(&version)) return std::string(kWayNames[static_cast<size_t>(*way)]);
  if (const auto* dispatch = std::get_if<Dispatch>(&version)) return dispatchText(dispatch->pieces);
  return std::string(kAutomatic);
}

std::optional<Version> parseConvolutionVersion(std::string_view text) {
  for (size_t i = 0; i < kWayNames.size(); ++i)
    if (kWayNames[i] == text) return static_cast<Way>(i);
  return parseCommon(text);
}

std::optional<Version> parseProductVersion(std::string_view text) {
  if (std::optional<Version> common = parseCommon(text)) return common;
  std::optional<std::vector<DispatchPiece>> pieces = parseDispatch(text);
  if (!pieces) return std::nullopt;
  return Dispatch{*std::move(pieces)};
}

}  // namespace dyn::contraction
