#include "vm/kernels/conv/convolution.h"

#include "vm/base/checked.h"
#include "vm/kernels/four.h"

namespace dyn::vm::kernels {
namespace {

// Positions are sums of four numbers of this size.
constexpr int64_t kFarthest = int64_t{1} << 60;

}  // namespace

double Convolution::steps() const {
  return static_cast<double>(batch * groups * filters) * static_cast<double>(outputSize()) *
         static_cast<double>(std::max<int64_t>(depth(), 1));
}

Status describeWindow(const WindowFields& window, std::span<const int64_t> w, bool transposed,
                      Convolution& c) {
  c.rank = window.axes;
  if (c.rank < 1 || c.rank > 3) return failure(DYN_UNSUPPORTED, std::to_string(c.rank) + " spatial dims");
  const auto rank = static_cast<size_t>(c.rank);
  if (!window.complete) return failure(DYN_BAD_PROGRAM, "strides or dilations are missing");
  c.groups = window.group;
  if (w.size() != rank + 2 || c.groups < 1 || w[0] % c.groups != 0)
    return failure(DYN_BAD_INPUT, "the weights' shape does not fit " + std::to_string(c.groups) +
                                      " groups and " + std::to_string(rank) + " spatial dims");
  c.channels = transposed ? w[0] / c.groups : w[1];
  c.filters = transposed ? w[1] : w[0] / c.groups;
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = 3 - rank + i;
    c.kernel[to] = w[2 + i];
    c.stride[to] = window.strides[i];
    c.dilation[to] = window.dilations[i];
    int64_t span = 0;
    if (c.stride[to] < 1 || c.dilation[to] < 1 || !checkedMul(c.kernel[to], c.dilation[to], span) ||
        span > kFarthest)
      return failure(DYN_BAD_INPUT, "stride or dilation out of range");
  }
  // Where there are no channels no bytes stand behind the other dims.
  int64_t count = 0;
  if (!checkedElementCount(c.kernel.data(), 3, count) || !checkedMul(count, c.channels, count) ||
      !checkedMul(count, w[0], count) || count > kFarthest / 64)
    return failure(DYN_BAD_INPUT, "the weights have too many elements");
  return okStatus();
}

Status describePositions(const WindowFields& window, const TensorView* x, const TensorView* y,
                         bool transposed, Convolution& c) {
  if (x->dtype() != y->dtype())
    return failure(DYN_BAD_INPUT, "element types differ: " + describe(x) + " -> " + describe(y));
  return describeShapes(window, x, y, transposed, c);
}

Status describeShapes(const WindowFields& window, const TensorView* x, const TensorView* y, bool transposed,
                      Convolution& c) {
  const auto rank = static_cast<size_t>(c.rank);
  if (window.pads.size() < rank) return failure(DYN_BAD_PROGRAM, "pads are missing");
  const bool lastX = c.readsChannelsLast(), lastY = c.makesChannelsLast();
  const auto holds = [&](const TensorView* tensor, bool last, int64_t perGroup) {
    const size_t axis = last ? rank + 1 : 1;
    return tensor->rank == rank + 2 && tensor->shape()[axis] % c.groups == 0 &&
           tensor->shape()[axis] / c.groups == perGroup;
  };
  if (!holds(x, lastX, c.channels) || !holds(y, lastY, c.filters) || y->shape()[0] != x->shape()[0])
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(x) + " with " + std::to_string(c.groups) +
                                      " groups of " + std::to_string(c.channels) + " channels and " +
                                      std::to_string(c.filters) + " filters -> " + describe(y));
  c.batch = x->shape()[0];
  double staged = 1;
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = 3 - rank + i;
    c.input[to] = x->shape()[(lastX ? 1 : 2) + i];
    c.output[to] = y->shape()[(lastY ? 1 : 2) + i];
    c.pad[to] = window.pads[i];
    const int64_t stepped = transposed ? c.input[to] : c.output[to],
                  other = transposed ? c.output[to] : c.input[to];
    int64_t reach = 0;
    if (c.pad[to] < -kFarthest || c.pad[to] > kFarthest || other > kFarthest ||
        !checkedMul(stepped, c.stride[to], reach) || reach > kFarthest)
      return failure(DYN_BAD_INPUT, "stride or pad out of range");
    staged *= static_cast<double>(c.output[to]) * static_cast<double>(c.stride[to]) +
              static_cast<double>(c.kernel[to]) * static_cast<double>(c.dilation[to]);
  }
  if (!transposed && staged * static_cast<double>(c.channels) > 0x1p50)
    return failure(DYN_BAD_INPUT, "stride or dilation out of range");
  int64_t count = 0;
  if (!checkedElementCount(c.input.data(), 3, count) || !checkedMul(count, c.channels, count))
    return failure(DYN_BAD_INPUT, "the input has too many elements");
  return okStatus();
}

Status wayOf(int32_t named, const Convolution& c, Way& way, FilterWidths widths) {
  if (named == 0) {
    way = contraction::wayByRule(c, widths.narrow);
    return okStatus();
  }
  if (named < 0 || static_cast<size_t>(named) > contraction::kWayNames.size())
    return failure(DYN_BAD_PROGRAM, "there is no way " + std::to_string(named - 1));
  way = static_cast<Way>(named - 1);
  if (!contraction::canGo(way, c))
    return failure(DYN_BAD_PROGRAM, "the way " +
                                        std::string(contraction::kWayNames[static_cast<size_t>(way)]) +
                                        " cannot do this window");
  return okStatus();
}

void nameVersion(const CallInputs& call, const Convolution& c, std::string_view version,
                 std::string_view chosen) {
  if (!call.wantsVersion()) return;
  const auto joined = [&](const std::array<int64_t, 3>& sizes) {
    std::string text;
    for (auto i = static_cast<size_t>(3 - c.rank); i < 3; ++i)
      text += (text.empty() ? "" : "x") + std::to_string(sizes[i]);
    return text;
  };
  call.nameVersion(std::string(version) + " for channels=" + std::to_string(c.channels) +
                   " filters=" + std::to_string(c.filters) + " groups=" + std::to_string(c.groups) +
                   " window=" + joined(c.kernel) + " stride=" + joined(c.stride) +
                   " output=" + joined(c.output) + ", " + std::string(chosen));
}

void nameVersion(const CallInputs& call, const Convolution& c, Way way, int32_t named) {
  nameVersion(call, c, contraction::kWayNames[static_cast<size_t>(way)], named == 0 ? "by rule" : "named");
}

// Depthwise weights lie [group of as many channels as a vector has lanes, taps, lanes]; beyond the last
// channel, zeros.
static int64_t channelGroups(const Convolution& c, int64_t lanes) { return (c.groups + lanes - 1) / lanes; }

static void packChannels(const Convolution& c, int64_t lanes, const float* w, int64_t group, float* packed) {
  const int64_t depth = c.depth();
  float* to = packed + group * lanes * depth;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t channel = group * lanes + lane;
    for (int64_t k = 0; k < depth; ++k)
      to[k * lanes + lane] = channel < c.groups ? floatAnywhere(w + channel * depth + k) : 0.0f;
  }
}

int64_t packedElementCount(const Convolution& c, Way way, FilterWidths widths) {
  switch (way) {
    case Way::rows:
      return channelGroups(c, widths.narrow) * widths.narrow * c.depth();
    case Way::staged:
      return c.groups * c.filters * c.depth();
    case Way::direct:
      return c.groups * FilterPanels(c, widths).lanes() * c.depth();
    case Way::winograd:
      return winogradElements(c, widths);
  }
  return 0;
}

int64_t packUnits(const Convolution& c, Way way, FilterWidths widths) {
  switch (way) {
    case Way::rows:
      return channelGroups(c, widths.narrow);
    case Way::staged:
      return c.groups * c.filters;
    case Way::direct:
      return c.groups * FilterPanels(c, widths).count();
    case Way::winograd:
      return FilterPanels(c, widths).count();
  }
  return 0;
}

void packUnit(const Convolution& c, Way way, FilterWidths widths, const float* w, int64_t unit,
              float* packed) {
  const int64_t depth = c.depth();
  if (way == Way::rows) return packChannels(c, widths.narrow, w, unit, packed);
  if (way == Way::staged) {
    for (int64_t k = unit * depth; k < (unit + 1) * depth; ++k) packed[k] = floatAnywhere(w + k);
    return;
  }
  if (way == Way::winograd) return packWinograd(c, widths, w, unit, packed);
  const FilterPanels panels(c, widths);
  const int64_t group = unit / panels.count(), panel = unit % panels.count(), width = panels.width(panel),
                first = panels.first(panel);
  float* to = packed + (group * panels.lanes() + first) * depth;
  // Channel after channel with its taps; of sparse windows tap after tap with its channels.
  const bool tapsOutside = c.isSparse();
  const int64_t taps = tapsOutside ? c.taps() : 1, channels = tapsOutside ? c.channels : depth;
  for (int64_t lane = 0; lane < width; ++lane) {
    const float* from = w + (group * c.filters + first + lane) * depth;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t i = 0; i < channels; ++i)
        to[(tap * channels + i) * width + lane] =
            first + lane < c.filters ? floatAnywhere(from + i * taps + tap) : 0.0f;
  }
}

// The same for whole fours of `filters` filters and four positions at least: how many filters are done. The
// last positions may overlap those before.
static int64_t writeFours(const float* tile, int64_t leading, int64_t positions, int64_t filters,
                          const float* bias, float* y, int64_t strideY) {
  int64_t filter = 0;
  for (; filter + 4 <= filters; filter += 4) {
    const Four added = bias ? four(bias + filter) : Four{};
    for (int64_t at = 0; at < positions; at += 4) {
      const int64_t block = std::min(at, positions - 4);
      Four rows[4];
      for (int64_t i = 0; i < 4; ++i) rows[i] = four(tile + (block + i) * leading + filter) + added;
      transpose(rows);
      for (int64_t i = 0; i < 4; ++i) four(y + (filter + i) * strideY + block) = rows[i];
    }
  }
  return filter;
}

void writeTransposed(const float* tile, int64_t leading, int64_t positions, int64_t filters,
                     const float* bias, float* y, int64_t strideY) {
  constexpr int64_t kAhead =
      64;  // positions; the lines of many filters are no pattern that hardware foresees
  const ConvolutionKernels& kernels = convolutionKernels();
  const int64_t lanes = kernels.narrow;
  for (int64_t begin = 0; begin < positions; begin += lanes) {
    const int64_t end = std::min(begin + lanes, positions);
    int64_t filter = 0;
    for (; end - begin == lanes && filter + lanes <= filters; filter += lanes) {
      float* to = y + filter * strideY + begin;
      for (int64_t i = 0; i < lanes; ++i) __builtin_prefetch(to + i * strideY + kAhead, 1);
      kernels.turn(tile + begin * leading + filter, leading, bias ? bias + filter : nullptr, to, strideY);
    }
    if (end - begin >= 4)
      filter += writeFours(tile + begin * leading + filter, leading, end - begin, filters - filter,
                           bias ? bias + filter : nullptr, y + filter * strideY + begin, strideY);
    for (; filter < filters; ++filter)
      for (int64_t at = begin; at < end; ++at)
        y[filter * strideY + at] = tile[at * leading + filter] + (bias ? bias[filter] : 0.0f);
  }
}

int32_t finishRows(const ConvolutionCall& work, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                   int64_t columnEnd, int64_t length) {
  if (!work.epilogue) return DYN_KERNEL_OK;
  const TileEnd* end = work.epilogue.closed();
  if (!end) return work.epilogue.runRows(rowBegin, rowEnd, columnBegin, columnEnd, length);
  const FinishKernel finish = convolutionKernels().finish;
  constexpr int64_t kVectorsAtOnce = 4;  // by the kernel, of one row
  const int64_t rows = rowEnd - rowBegin, columns = columnEnd - columnBegin;
  float* first = work.y + rowBegin * length + columnBegin;
  // The kernel goes down columns; long rows that lie far apart are better done one by one.
  if (columns == length && !end->bias)  // one row as well
    finish(1, rows * length, first, length, *end);
  else if (end->bias || columns < kVectorsAtOnce * convolutionKernels().narrow)
    finish(rows, columns, first, length, end->from(columnBegin));
  else
    for (int64_t row = 0; row < rows; ++row) finish(1, columns, first + row * length, length, *end);
  return DYN_KERNEL_OK;
}

}  // namespace dyn::vm::kernels
