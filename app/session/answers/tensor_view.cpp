#include "app/session/answers/tensor_view.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "app/session/views/value_views.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

constexpr int kMostCells = 256;  // of a side of the grid
constexpr size_t kBins = 40;
constexpr int64_t kMostPictureSide = 512;

void count(const HostTensor& tensor, TensorView& view) {
  double sum = 0, least = std::numeric_limits<double>::infinity(), largest = -least;
  int64_t finite = 0;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double x = tensor.realAt(i);
    if (std::isnan(x)) {
      ++view.nanCount;
    } else if (std::isinf(x)) {
      ++view.infinityCount;
    } else {
      ++finite;
      view.zeroCount += x == 0;
      sum += x;
      least = std::min(least, x);
      largest = std::max(largest, x);
    }
  }
  if (finite == 0) return;
  view.least = least;
  view.largest = largest;
  view.mean = sum / static_cast<double>(finite);
  view.histogram.assign(kBins, 0);
  // Halves keep the width of a range that is wider than a double.
  const double half = largest / 2 - least / 2;
  double squares = 0;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double x = tensor.realAt(i);
    if (!std::isfinite(x)) continue;
    squares += (x - *view.mean) * (x - *view.mean);
    const double part = half > 0 ? (x / 2 - least / 2) / half : 0;
    ++view.histogram[std::min(kBins - 1, static_cast<size_t>(part * static_cast<double>(kBins)))];
  }
  view.deviation = std::sqrt(squares / static_cast<double>(finite));
}

Result<int64_t> chooseSlice(const HostTensor& tensor, const std::string& text, TensorView& view) {
  const std::vector<int64_t>& shape = tensor.shape();
  const size_t held = shape.size() > 2 ? shape.size() - 2 : 0;
  view.slice.assign(held, 0);
  size_t axis = 0;
  for (size_t at = 0; at < text.size(); ++axis) {
    const size_t end = std::min(text.find(',', at), text.size());
    int64_t index = 0;
    const auto [last, error] = std::from_chars(text.data() + at, text.data() + end, index);
    if (error != std::errc() || last != text.data() + end || axis >= held || index < 0 ||
        index >= shape[axis])
      return makeError(DiagnosticId::usageError, "there is no slice " + text + " of " + view.name)
          .note(held == 0 ? "it has no axes before the last two"
                          : "write an index for each of the first " + std::to_string(held) + " axes");
    view.slice[axis] = index;
    at = end + 1;
  }
  int64_t offset = 0;
  for (size_t i = 0; i < held; ++i) offset = offset * shape[i] + view.slice[i];
  view.sliceRows = shape.size() >= 2 ? shape[shape.size() - 2] : 1;
  view.sliceColumns = shape.empty() ? 1 : shape.back();
  return offset * view.sliceRows * view.sliceColumns;
}

// Of a cell's elements the one of greatest magnitude is shown; one that is no number hides the others.
bool outdoes(double x, double shown) {
  return !std::isnan(shown) && (std::isnan(x) || std::abs(x) > std::abs(shown));
}

void fillGrid(const HostTensor& tensor, int64_t offset, TensorView& view) {
  view.gridRows = static_cast<int>(std::min<int64_t>(view.sliceRows, kMostCells));
  view.gridColumns = static_cast<int>(std::min<int64_t>(view.sliceColumns, kMostCells));
  view.grid.assign(static_cast<size_t>(view.gridRows) * static_cast<size_t>(view.gridColumns), 0);
  view.gridElements.assign(view.grid.size(), -1);
  for (int64_t r = 0; r < view.sliceRows; ++r)
    for (int64_t c = 0; c < view.sliceColumns; ++c) {
      const int64_t place = r * view.sliceColumns + c;
      const double x = tensor.realAt(offset + place);
      const size_t at =
          static_cast<size_t>(r * view.gridRows / view.sliceRows) * static_cast<size_t>(view.gridColumns) +
          static_cast<size_t>(c * view.gridColumns / view.sliceColumns);
      const bool isFirst = view.gridElements[at] < 0;
      if (!isFirst && !outdoes(x, view.grid[at])) continue;
      view.grid[at] = x;
      view.gridElements[at] = place;
    }
}

void fillMaps(const HostTensor& tensor, TensorView& view) {
  const size_t rank = tensor.shape().size();
  if (rank < 3) return;
  view.mapsCount = tensor.shape()[rank - 3];
  view.firstMap = view.slice.back() / TensorView::kMostMaps * TensorView::kMostMaps;
  const int64_t shown = std::min<int64_t>(view.mapsCount - view.firstMap, TensorView::kMostMaps);
  const int64_t rows = view.sliceRows, columns = view.sliceColumns;
  view.mapRows = static_cast<int>(std::min<int64_t>(rows, TensorView::kMostMapSide));
  view.mapColumns = static_cast<int>(std::min<int64_t>(columns, TensorView::kMostMapSide));
  const int64_t cells = int64_t{view.mapRows} * view.mapColumns;
  view.maps.assign(static_cast<size_t>(shown * cells), 0);
  int64_t first = 0;  // element of the first map
  for (size_t i = 0; i + 1 < view.slice.size(); ++i) first = first * tensor.shape()[i] + view.slice[i];
  first = (first * view.mapsCount + view.firstMap) * rows * columns;
  for (int64_t m = 0; m < shown; ++m)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const auto x = static_cast<float>(tensor.realAt(first + (m * rows + r) * columns + c));
        float& cell = view.maps[static_cast<size_t>(m * cells + r * view.mapRows / rows * view.mapColumns +
                                                    c * view.mapColumns / columns)];
        if (outdoes(x, cell)) cell = x;
      }
}

// Which axes are rows, columns and channels; an axis of -1: there is none.
struct ShownAxes {
  std::string name;
  int rows = -1, columns = -1, channels = -1;
};

ShownAxes pictureAxesOf(const std::vector<int64_t>& shape) {
  const int rank = static_cast<int>(shape.size());
  const auto areChannels = [&](int axis) {
    const int64_t size = shape[static_cast<size_t>(axis)];
    return size == 1 || size == 3 || size == 4;
  };
  if (rank == 2) return {"HW", 0, 1, -1};
  if (rank != 3 && rank != 4) return {};
  const int first = rank - 3, last = rank - 1;
  if (areChannels(first)) return {rank == 4 ? "NCHW" : "CHW", first + 1, first + 2, first};
  if (areChannels(last)) return {rank == 4 ? "NHWC" : "HWC", first, first + 1, last};
  return {};
}

// Numbers from 0 to 255 are bytes, those from 0 to 1 parts of white; of others the least is black.
void fillPicture(const HostTensor& tensor, TensorView& view) {
  const ShownAxes axes = pictureAxesOf(tensor.shape());
  if (axes.name.empty() || !view.least || dtypeClass(tensor.dtype()) == DtypeClass::complex) return;
  const bool bytes = !isReal(tensor.dtype()) && *view.least >= 0 && *view.largest <= 255;
  if (!bytes && (*view.least < 0 || *view.largest > 1)) view.pictureFrom = *view.least;
  view.pictureTo = bytes ? 255 : *view.least < 0 || *view.largest > 1 ? *view.largest : 1;
  const auto sizeOf = [&](int axis) { return axis < 0 ? 1 : tensor.shape()[static_cast<size_t>(axis)]; };
  const auto strideOf = [&](int axis) {
    int64_t stride = axis < 0 ? 0 : 1;
    for (int after = axis + 1; axis >= 0 && after < tensor.rank(); ++after) stride *= sizeOf(after);
    return stride;
  };
  const int64_t rows = sizeOf(axes.rows), columns = sizeOf(axes.columns), channels = sizeOf(axes.channels);
  const int64_t batch = tensor.rank() == 4 && !view.slice.empty() ? view.slice[0] * strideOf(0) : 0;
  const int64_t thin =
      std::max<int64_t>(1, (std::max(rows, columns) + kMostPictureSide - 1) / kMostPictureSide);
  view.pictureAxes = axes.name;
  view.pictureRows = static_cast<int>((rows + thin - 1) / thin);
  view.pictureColumns = static_cast<int>((columns + thin - 1) / thin);
  view.pictureChannels = static_cast<int>(channels);
  // Halves keep the width of a range that is wider than a double.
  const double half = view.pictureTo / 2 - view.pictureFrom / 2;
  for (int64_t r = 0; r < rows; r += thin)
    for (int64_t c = 0; c < columns; c += thin)
      for (int64_t k = 0; k < channels; ++k) {
        const double x = tensor.realAt(batch + r * strideOf(axes.rows) + c * strideOf(axes.columns) +
                                       k * strideOf(axes.channels));
        const double part = half > 0 && std::isfinite(x) ? (x / 2 - view.pictureFrom / 2) / half : 0;
        view.picture.push_back(static_cast<uint8_t>(std::lround(std::clamp(part, 0.0, 1.0) * 255)));
      }
}

}  // namespace

Result<TensorView> tensorView(const std::string& name, const HostTensor& tensor, const std::string& slice) {
  if (dtypeClass(tensor.dtype()) == DtypeClass::text)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: strings have no statistics");
  TensorView view;
  view.name = name;
  view.dtype = std::string(toString(tensor.dtype()));
  view.shape = tensor.shape();
  view.elementsCount = tensor.elementCount();
  view.sizeBytes = tensor.sizeBytes();
  count(tensor, view);
  DYN_TRY(const int64_t offset, chooseSlice(tensor, slice, view));
  if (tensor.elementCount() > 0) {
    fillGrid(tensor, offset, view);
    fillMaps(tensor, view);
    fillPicture(tensor, view);
  }
  view.text = toText(Value(tensor), "", TextOptions{});
  return view;
}

}  // namespace dyn
