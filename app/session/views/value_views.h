// Views of values: a tensor to be looked at, what an expression gives, and the variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/run/run_result.h"

namespace dyn {

// A tensor to be looked at: what it holds, in numbers that fit on a screen.
struct TensorView {
  std::string name, dtype;
  std::string from;  // "of the last run", "bound", "by the reference, after fuse"
  std::vector<int64_t> shape;
  int64_t elementsCount = 0, sizeBytes = 0;
  int64_t nanCount = 0, infinityCount = 0, zeroCount = 0;
  std::optional<double> least, largest, mean, deviation;  // of the finite elements
  std::vector<int64_t> histogram;                         // finite elements between least and largest
  // One slice of the last two axes: each cell the element of greatest magnitude of those it stands for.
  std::vector<int64_t> slice;  // where the axes before are held
  int64_t sliceRows = 0, sliceColumns = 0;
  int gridRows = 0, gridColumns = 0;
  std::vector<double> grid;           // row by row; NaN where one is not a number
  std::vector<int64_t> gridElements;  // of each cell: where its element stands in the slice
  // The slice's batch as a picture, where the axes allow it: an axis of 1, 3 or 4 channels in front of rows
  // and columns or behind them, or rows and columns alone. Larger ones are thinned out.
  std::string pictureAxes;  // "NCHW", "CHW", "NHWC", "HWC", "HW"; "": it is none
  int pictureRows = 0, pictureColumns = 0, pictureChannels = 0;
  double pictureFrom = 0, pictureTo = 1;  // the values that are black and white
  std::vector<uint8_t> picture;           // channels of a pixel side by side
  // Slices along the axis before the last two: feature maps of [batch, channels, rows, columns], attention
  // maps of [batch, heads, queries, keys]. Larger ones are thinned as the grid is; of many, some around the
  // slice are kept.
  static constexpr int kMostMaps = 64, kMostMapSide = 64;
  int64_t mapsCount = 0, firstMap = 0;  // 0: it has no such axis
  int mapRows = 0, mapColumns = 0;
  std::vector<float> maps;  // one after the other, row by row; NaN where one is not a number
  std::string text;         // the elements, long axes cut
  std::string file;         // where it was written, or ""
};

struct EvalResult {
  std::vector<NamedValue> values;
  bool bound = false;  // it was an assignment
  bool quiet = false;  // it ended in `;`
};

struct TypeView {
  std::string expression, type;
};

struct VariableTable {
  struct Row {
    std::string name, type;
    int64_t sizeBytes = 0;
  };
  std::vector<Row> rows;
};

}  // namespace dyn
