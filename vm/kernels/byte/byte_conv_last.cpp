// conv_packed of bytes: images have their channels last, [n, rows, columns, channels].
//
// Positions are the rows of a product, filters its columns: what windows hold is read where it lies
// (dyn_byte_window.h), or from a copy with its padding where windows reach beyond the input. Depthwise, the
// channels are the lanes of vectors. An output's position then has all its channels side by side, and the
// epilogue sees whole positions.
#include <algorithm>
#include <array>

#include "vm/kernels/builtins.h"
#include "vm/kernels/byte/byte_conv.h"
#include "vm/kernels/byte/rescaled_sums.h"
#include "vm/kernels/tile/held_tiles.h"
#include "vm/kernels/work.h"
#include "vm/shared/dyn_byte_window.h"

namespace dyn::vm::kernels {
namespace {

using Call = calls::ConvPacked;

constexpr int64_t kTileBytes = 1 << 17;    // of the output in a chunk, about: they stay in the L2 cache
constexpr int64_t kCopiedBytes = 1 << 16;  // of input copied for a chunk, about

int64_t partsOf(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

bool isDepthwiseLast(const Convolution& c) { return c.groups > 1 && c.channels == 1 && c.filters == 1; }

// What a call works on.
struct LastConvolution {
  const FlatCall& call;
  const ByteGemmFamily& family;
  const Convolution& c;
  const TensorView* x;
  const int8_t* weights;
  int32_t zero;  // of x, without a sign
  const Epilogue& epilogue;
  const RescaledSums& rescaled;

  // Sums that lie in the result.
  int32_t* y() const { return reinterpret_cast<int32_t*>(call.result(0)->bytes()); }
  uint8_t* bytes() const { return reinterpret_cast<uint8_t*>(call.result(0)->bytes()); }
  int64_t resultSize() const { return rescaled ? 1 : int64_t{sizeof(int32_t)}; }
  bool isApart() const { return !rescaled && kernels::isApart(call.result(0)); }
};

// One chunk of output positions: some whole rows, or a piece of one.
struct Chunk {
  int64_t image, row, column, rows, columns;
  int64_t first;  // position of all images
  int64_t count() const { return rows * columns; }
};

// Chunks, and the input of each as kernels read it: elements of `size` bytes, `place` bytes from place to
// place and `line` from row to row.
class ChunkedImage {
 public:
  // `copies`: even where no window reaches beyond the input; `resultSize`: of an element; `parts`: into how
  // many a chunk may be cut, which it is sooner than that chunks are smaller.
  ChunkedImage(const Convolution& convolution, const ByteGemmFamily& family, uint8_t flip, int64_t size,
               int64_t resultSize, bool copies, int64_t leastPositions, int64_t tasks, int64_t parts)
      : c(convolution), family_(family), flip_(flip), size_(size), channels_(c.groups * c.channels) {
    inPlace_ = !copies && size == 1 && flip == 0;
    for (size_t i = 1; i < 3; ++i)
      inPlace_ &= c.pad[i] <= 0 && (c.output[i] - 1) * c.stride[i] - c.pad[i] + c.reach(i) < c.input[i];
    const int64_t most =
        std::max(leastPositions, kTileBytes / resultSize / std::max<int64_t>(c.groups * c.filters, 1));
    constexpr int64_t kMany = 4;  // parts of a task; one more or less is little then
    const int64_t least = parts % tasks == 0 || parts >= kMany * tasks ? 1 : tasks;
    const auto isTooLarge = [&] { return chunks() < least || (!inPlace_ && copiedBytes() > kCopiedBytes); };
    columns_ = sharedPart(c.output[2], most, tasks);
    rows_ =
        columns_ < c.output[2] ? 1 : sharedPart(c.output[1], std::max<int64_t>(1, most / columns_), tasks);
    while (rows_ > 1 && isTooLarge()) rows_ = sharedPart(c.output[1], rows_ / 2, tasks);
    while (columns_ > leastPositions && isTooLarge()) columns_ = evenPart(c.output[2], columns_ / 2);
    place_ = channels_ * size_;
    line_ = place_ * (inPlace_ ? c.input[2] : copiedColumns());
  }

  int64_t chunks() const { return c.batch * rowChunks() * columnChunks(); }
  int64_t positions() const { return rows_ * columns_; }  // of a chunk, at most
  int64_t place() const { return place_; }
  int64_t line() const { return line_; }
  int64_t scratchElements() const {
    // Pairs of windows look one place further.
    return inPlace_ ? 0 : wholeLines((copiedBytes() + place_ + kByteWindowSlack) / 4 + 1);
  }

  Chunk chunk(int64_t index) const {
    const int64_t column = index % columnChunks() * columns_,
                  row = index / columnChunks() % rowChunks() * rows_,
                  image = index / columnChunks() / rowChunks();
    return {image,
            row,
            column,
            std::min(rows_, c.output[1] - row),
            std::min(columns_, c.output[2] - column),
            (image * c.output[1] + row) * c.output[2] + column};
  }

  // The first place of the chunk's first window.
  const uint8_t* input(const uint8_t* x, const Chunk& chunk, uint8_t padding, float* scratch) const {
    const uint8_t* image = x + chunk.image * c.inputSize() * channels_;
    const int64_t up = chunk.row * c.stride[1] - c.pad[1], left = chunk.column * c.stride[2] - c.pad[2];
    if (inPlace_) return image + up * line_ + left * place_;
    auto* to = reinterpret_cast<uint8_t*>(scratch);
    const int64_t rows = (chunk.rows - 1) * c.stride[1] + c.reach(1) + 1,
                  columns = (chunk.columns - 1) * c.stride[2] + c.reach(2) + 1;
    const Places inside = placesInside(left, 1, c.input[2]).within(0, columns);
    for (int64_t h = 0; h < rows; ++h, to += line_) {
      const int64_t at = up + h;
      if (at < 0 || at >= c.input[1] || inside.low == inside.high) {
        pad(to, padding, columns);
        continue;
      }
      pad(to, padding, inside.low);
      copy(image + (at * c.input[2] + left + inside.low) * channels_, inside.high - inside.low,
           to + inside.low * place_);
      pad(to + inside.high * place_, padding, columns - inside.high);
    }
    return reinterpret_cast<const uint8_t*>(scratch);
  }

 private:
  int64_t rowChunks() const { return partsOf(c.output[1], rows_); }
  int64_t columnChunks() const { return partsOf(c.output[2], columns_); }
  int64_t copiedColumns() const { return (columns_ - 1) * c.stride[2] + c.reach(2) + 1; }
  int64_t copiedBytes() const {
    return ((rows_ - 1) * c.stride[1] + c.reach(1) + 1) * copiedColumns() * channels_ * size_;
  }
  void pad(uint8_t* to, uint8_t padding, int64_t places) const {
    if (size_ == 1)
      fillRun(to, padding, places * channels_);
    else
      std::fill_n(reinterpret_cast<uint16_t*>(to), places * channels_, uint16_t{padding});
  }
  void copy(const uint8_t* from, int64_t places, uint8_t* to) const {
    const int64_t count = places * channels_;
    if (size_ == 1 && flip_ == 0)
      std::copy_n(from, count, to);
    else if (size_ == 1)
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ flip_;
    else  // elements of 16 bits are those of words
      copyLeftRow(family_, from, count, 1, flip_, reinterpret_cast<uint32_t*>(to));
  }

  const Convolution& c;
  const ByteGemmFamily& family_;
  const uint8_t flip_;
  const int64_t size_, channels_;
  bool inPlace_ = true;
  int64_t rows_ = 0, columns_ = 0, place_ = 0, line_ = 0;
};

// The epilogue of a chunk's columns [begin, end) of `wide`, whose sums lie `pitch` apart from `sums` on.
int32_t finish(const LastConvolution& p, const int32_t* sums, int64_t pitch, int64_t wide, const Chunk& chunk,
               int64_t begin, int64_t end) {
  if (!p.epilogue) return DYN_KERNEL_OK;
  const int64_t last = chunk.first + chunk.count();
  return p.isApart() ? p.epilogue.runApart(sums, pitch, wide, chunk.first, last, begin, end)
                     : p.epilogue.run(chunk.first, last, begin, end);
}

// --- products

class ProductTask {
 public:
  ProductTask(const LastConvolution& convolution, int64_t tasks)
      : p_(convolution),
        c(convolution.c),
        runs_(runsOf(c)),
        panels_(kernels::panelCount(p_.family, c.filters)),
        image_(c, p_.family, leftFlip(p_.x->dtype()), elementSize(p_.family), p_.resultSize(),
               runs_.length != runs_.padded, p_.family.maxRows, tasks, panels_),
        parts_(evenParts(tasks, image_.chunks(), panels_)) {}

  static ByteRuns runsOf(const Convolution& c) {
    return ByteRuns::of(c.kernel[1], c.kernel[2], c.dilation[2], c.channels);
  }
  static int64_t elementSize(const ByteGemmFamily& family) { return 4 / family.group; }
  // Into how many parts a chunk is cut: as many as there are tasks where whole chunks leave some of them
  // idle.
  static int64_t evenParts(int64_t tasks, int64_t chunks, int64_t panels) {
    constexpr int64_t kMany = 8;  // chunks of a task; one more or less is nothing then
    const int64_t parts = partsFor(tasks, chunks, panels);
    return chunks * parts % tasks == 0 || chunks >= kMany * tasks ? parts : std::min(panels, parts * tasks);
  }

  int64_t units() const { return image_.chunks() * parts_; }
  int64_t parts() const { return parts_; }
  int64_t sharedElements() const {
    return tableElements<int64_t>(runs_.count()) + wholeLines(2 * p_.family.maxRows) +
           wholeLines(p_.family.panelWidth) +
           (p_.rescaled ? 2 * wholeLines(panels_ * p_.family.panelWidth) : 0);
  }
  int64_t ownElements() const {
    return image_.scratchElements() + (p_.isApart() ? wholeLines(image_.positions() * mostColumns()) : 0);
  }

  void makeTables(float* shared) {
    offsets_ = Table<int64_t>(shared);
    for (int64_t h = 0; h < runs_.rows; ++h)
      for (int64_t w = 0; w < runs_.columns; ++w)
        offsets_.add(h * c.dilation[1] * image_.line() + w * c.dilation[2] * image_.place());
    auto* terms = reinterpret_cast<int32_t*>(shared + tableElements<int64_t>(runs_.count()));
    for (int64_t i = 0; i < p_.family.maxRows; ++i) {
      terms[2 * i] = 0;  // weights have no zero point
      terms[2 * i + 1] = p_.zero;
    }
    int32_t* zeros = terms + wholeLines(2 * p_.family.maxRows);
    std::fill_n(zeros, p_.family.panelWidth, 0);
    terms_ = terms;
    zeros_ = zeros;
    if (p_.rescaled) makeColumns(zeros + wholeLines(p_.family.panelWidth));
  }

  // Parts [partBegin, partEnd) of the panels of a chunk.
  int32_t run(int64_t index, int64_t partBegin, int64_t partEnd, float* scratch) const {
    const Chunk chunk = image_.chunk(index);
    const uint8_t* input = image_.input(p_.x->as<uint8_t>(), chunk, static_cast<uint8_t>(p_.zero), scratch);
    auto* tile = reinterpret_cast<int32_t*>(scratch + image_.scratchElements());
    const HeldTiles held(p_.family.releaseTiles);
    for (int64_t part = partBegin; part < partEnd; ++part) {
      const int64_t width = p_.family.panelWidth, panelBegin = panels_ * part / parts_,
                    panelEnd = panels_ * (part + 1) / parts_, begin = panelBegin * width,
                    end = std::min(panelEnd * width, c.filters);
      if (begin >= end || p_.call.cancelled()) continue;
      const int64_t pitch = p_.isApart() ? end - begin : c.filters, first = chunk.first * c.filters + begin;
      int32_t* sums = p_.isApart() ? tile : p_.rescaled ? nullptr : p_.y() + first;
      for (int64_t panel = panelBegin; panel < panelEnd; ++panel) {
        const int64_t column = panel * width - begin;
        if (p_.rescaled)
          multiply(input, chunk, panel, p_.bytes() + first + column, pitch);
        else
          multiply(input, chunk, panel, sums + column, pitch);
      }
      if (const int32_t fault = finish(p_, sums, pitch, c.filters, chunk, begin, end)) return fault;
    }
    return DYN_KERNEL_OK;
  }

 private:
  int64_t mostColumns() const { return std::min(c.filters, partsOf(panels_, parts_) * p_.family.panelWidth); }

  // What the sums of all columns begin with, and their scales.
  void makeColumns(int32_t* first) {
    const int64_t width = p_.family.panelWidth, bytesPerPanel = panelBytes(p_.family, runs_.depth());
    auto* scales = reinterpret_cast<float*>(first + wholeLines(panels_ * width));
    const auto zero = static_cast<uint32_t>(p_.zero);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t begin = panel * width, there = std::min(width, c.filters - begin);
      const auto* totals = reinterpret_cast<const int32_t*>(p_.weights + (panel + 1) * bytesPerPanel) - width;
      int32_t* to = first + begin;
      p_.rescaled.copyBiases(begin, there, to);
      p_.rescaled.copyScales(begin, there, scales + begin);
      std::fill(to + there, to + width, 0);
      std::fill(scales + begin + there, scales + begin + width, 0.0F);
      for (int64_t i = 0; i < width; ++i)
        to[i] = static_cast<int32_t>(static_cast<uint32_t>(to[i]) - static_cast<uint32_t>(totals[i]) * zero);
    }
    saturates_ = p_.rescaled.saturatesBy(scales, panels_ * width);
    first_ = first;
    scales_ = scales;
  }

  void tile(int64_t height, int64_t words, const uint8_t* a, int64_t pitch, const int8_t* panel, int64_t,
            int32_t* sums, int64_t leading, int64_t columns) const {
    p_.family.runKernels[height - 1](runs_.count(), offsets_.data(), words, a, pitch, panel, terms_, zeros_,
                                     sums, leading, columns);
  }
  void tile(int64_t height, int64_t words, const uint8_t* a, int64_t pitch, const int8_t* panel,
            int64_t first, uint8_t* bytes, int64_t leading, int64_t columns) const {
    p_.family.rescaledKernels[height - 1](
        runs_.count(), offsets_.data(), words, a, pitch, panel,
        p_.rescaled.of(first_ + first, scales_ + first, bytes - p_.bytes(), saturates_), bytes, leading,
        columns);
  }

  // To sums, or to bytes.
  template <typename Result>
  void multiply(const uint8_t* input, const Chunk& chunk, int64_t panel, Result* to, int64_t pitch) const {
    const ByteGemmFamily& family = p_.family;
    const int64_t depth = runs_.depth(), words = runs_.padded / family.group,
                  columns = std::min<int64_t>(family.panelWidth, c.filters - panel * family.panelWidth);
    const int8_t* from = p_.weights + panel * panelBytes(family, depth);
    const int64_t stepDown = c.stride[1] * image_.line(), stepRight = c.stride[2] * image_.place();
    // Tiles run along the longer side.
    const bool down = chunk.rows > chunk.columns;
    const int64_t along = down ? chunk.rows : chunk.columns, across = down ? chunk.columns : chunk.rows,
                  stepAlong = down ? stepDown : stepRight, stepAcross = down ? stepRight : stepDown,
                  toAlong = (down ? chunk.columns : 1) * pitch, toAcross = (down ? 1 : chunk.columns) * pitch;
    for (int64_t line = 0; line < across; ++line)
      forEachRowTile(family.maxRows, along, [&](int64_t first, int64_t height) {
        tile(height, words, input + line * stepAcross + first * stepAlong, stepAlong, from,
             panel * family.panelWidth, to + line * toAcross + first * toAlong, toAlong, columns);
      });
  }

  const LastConvolution& p_;
  const Convolution& c;
  const ByteRuns runs_;
  const int64_t panels_;
  const ChunkedImage image_;
  const int64_t parts_;
  Table<int64_t> offsets_;
  const int32_t *terms_ = nullptr, *zeros_ = nullptr, *first_ = nullptr;
  const float* scales_ = nullptr;
  bool saturates_ = false;
};

// --- depthwise

class LanesTask {
 public:
  LanesTask(const LastConvolution& convolution, int64_t tasks)
      : p_(convolution),
        c(convolution.c),
        image_(c, p_.family, leftFlip(p_.x->dtype()), 1, p_.resultSize(), true, 1, tasks, 1),
        lanes_(p_.family.lanes),
        blocks_(partsOf(c.groups, lanes_)),
        byRows_(p_.family.group == 4 && c.kernel[2] == 3),
        tapGroups_(byRows_ ? c.kernel[1] : partsOf(c.taps(), p_.family.group)) {}

  int64_t units() const { return image_.chunks(); }
  int64_t parts() const { return 1; }
  int64_t sharedElements() const {
    return tableElements<int64_t>(tapGroups_ * p_.family.group) + 2 * wholeLines(blocks_ * lanes_) +
           wholeLines(blocks_ * blockBytes() / 4 + 1);
  }
  int64_t ownElements() const {
    return image_.scratchElements() + (p_.isApart() ? wholeLines(image_.positions() * c.groups) : 0);
  }

  void makeTables(float* shared) {
    const int64_t group = p_.family.group, taps = c.taps(), perRow = byRows_ ? group : c.kernel[2];
    offsets_ = Table<int64_t>(shared);
    for (int64_t slot = 0; slot < tapGroups_ * group; ++slot) {
      const bool isTap = byRows_ ? slot % group < c.kernel[2] : slot < taps;
      offsets_.add(isTap ? slot / perRow * c.dilation[1] * image_.line() +
                               slot % perRow * c.dilation[2] * image_.place()
                         : 0);
    }
    auto* first = reinterpret_cast<int32_t*>(shared + tableElements<int64_t>(tapGroups_ * group));
    auto* scales = reinterpret_cast<float*>(first + wholeLines(blocks_ * lanes_));
    auto* weights = reinterpret_cast<int8_t*>(scales + wholeLines(blocks_ * lanes_));
    first_ = first;
    scales_ = scales;
    weights_ = weights;
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t channel = block * lanes_, there = std::min(lanes_, c.groups - channel);
      int32_t* sums = first + channel;
      float* own = scales + channel;
      std::fill_n(sums, lanes_, 0);
      std::fill_n(own, lanes_, 0.0F);
      for (int64_t i = 0; i < tapGroups_; ++i) spreadGroup(channel, there, i, weights, sums);
      weights += blockBytes();
      std::array<int32_t, kMostLanes> biases;
      p_.rescaled.copyBiases(channel, there, biases.data());
      if (p_.rescaled) p_.rescaled.copyScales(channel, there, own);
      for (int64_t lane = 0; lane < there; ++lane)
        sums[lane] = static_cast<int32_t>(static_cast<uint32_t>(biases[static_cast<size_t>(lane)]) -
                                          static_cast<uint32_t>(sums[lane]) * static_cast<uint32_t>(p_.zero));
    }
  }

  int32_t run(int64_t index, int64_t, int64_t, float* scratch) const {
    if (p_.call.cancelled()) return DYN_KERNEL_OK;
    const Chunk chunk = image_.chunk(index);
    const uint8_t* input = image_.input(p_.x->as<uint8_t>(), chunk, static_cast<uint8_t>(p_.zero), scratch);
    int32_t* sums = p_.isApart()  ? reinterpret_cast<int32_t*>(scratch + image_.scratchElements())
                    : p_.rescaled ? nullptr
                                  : p_.y() + chunk.first * c.groups;
    ByteLaneWindow window;
    window.step = c.stride[2] * image_.place();
    window.offsets = offsets_.data();
    window.groups = tapGroups_;
    window.pairs = byRows_ && c.dilation[2] == c.stride[2];
    for (int64_t row = 0; row < chunk.rows; ++row)
      for (int64_t block = 0; block < blocks_; ++block) {
        const int64_t channel = block * lanes_;
        window.at = input + row * c.stride[1] * image_.line() + channel;
        window.weights = weights_ + block * blockBytes();
        window.first = first_ + channel;
        const int64_t to = row * chunk.columns * c.groups + channel,
                      some = std::min(lanes_, c.groups - channel);
        if (p_.rescaled)
          p_.family.rescaledLaneKernel(window, p_.rescaled.of(window.first, scales_ + channel, 0),
                                       p_.bytes() + chunk.first * c.groups + to, c.groups, chunk.columns,
                                       some);
        else
          p_.family.laneKernel(window, sums + to, c.groups, chunk.columns, some);
      }
    return finish(p_, sums, c.groups, c.groups, chunk, 0, c.groups);
  }

 private:
  static constexpr int64_t kMostLanes = 16;

  // The weights of a group of taps, those of a channel side by side, and added to their sums.
  void spreadGroup(int64_t channel, int64_t count, int64_t index, int8_t* block, int32_t* sums) const {
    const int64_t group = p_.family.group,
                  inside = byRows_ ? c.kernel[2] : std::min(group, c.taps() - index * group);
    const int8_t* from = p_.weights + index * (byRows_ ? c.kernel[2] : group) * c.groups + channel;
    int8_t* to = block + index * lanes_ * group;
    if (group == 4 && count == kMostLanes) {
      static constexpr int8_t kNone[kMostLanes] = {};
      const std::array<const int8_t*, 4> taps{from, inside > 1 ? from + c.groups : kNone,
                                              inside > 2 ? from + 2 * c.groups : kNone,
                                              inside > 3 ? from + 3 * c.groups : kNone};
      for (int64_t lane = 0; lane < kMostLanes; ++lane) {
        for (size_t tap = 0; tap < 4; ++tap) to[lane * 4 + static_cast<int64_t>(tap)] = taps[tap][lane];
        sums[lane] += taps[0][lane] + taps[1][lane] + taps[2][lane] + taps[3][lane];
      }
      return;
    }
    std::fill_n(to, lanes_ * group, int8_t{0});
    for (int64_t tap = 0; tap < inside; ++tap)
      for (int64_t lane = 0; lane < count; ++lane) {
        to[lane * group + tap] = from[tap * c.groups + lane];
        sums[lane] += from[tap * c.groups + lane];
      }
  }
  int64_t blockBytes() const { return tapGroups_ * lanes_ * p_.family.group; }

  const LastConvolution& p_;
  const Convolution& c;
  const ChunkedImage image_;
  const int64_t lanes_, blocks_;
  const bool byRows_;  // rows of three taps and a fourth of no weight each, instead of all taps in fours
  const int64_t tapGroups_;
  Table<int64_t> offsets_;
  const int32_t* first_ = nullptr;
  const float* scales_ = nullptr;
  const int8_t* weights_ = nullptr;
};

// --- calls

Status readCall(const ByteGemmFamily& family, const FlatCall& call, Convolution& c, RescaledSums& rescaled) {
  const char* name = "conv_packed";
  const TensorView *x = call.argument(Call::x), *packed = call.argument(Call::weights),
                   *zeroX = call.argument(Call::bias), *y = call.result(0);
  if (!x || !isByte(x->dtype())) return badArgument(name, Call::x, "u8 or i8", x);
  if (!packed || packed->dtype() != DataType::i8 || packed->rank != 1)
    return badArgument(name, Call::weights, "packed weights", packed);
  if (zeroX && (zeroX->dtype() != x->dtype() || zeroX->elements != 1))
    return badArgument(name, Call::bias, "one zero point of the input's element type", zeroX);
  const auto n = call.numbersOf<Call>();
  constexpr size_t kRank = 4;
  std::array<int64_t, kRank> sizes{};
  const LaidNumber laid = LaidNumber::parted(n.way);
  if (!ByteRescaleForm::isKnown(laid.number) || laid.layout != ImageLayout::channelsLast)
    return failure(DYN_BAD_PROGRAM, "bytes are convolved with their channels last, in no way of their own");
  if (n.axes != 2) return failure(DYN_UNSUPPORTED, std::to_string(n.axes) + " spatial dims");
  if (n.sizes.size() != kRank ||
      std::any_of(n.sizes.begin(), n.sizes.end(), [](int32_t size) { return size < 0; }))
    return failure(DYN_BAD_PROGRAM, "the weights' shape is missing");
  std::copy(n.sizes.begin(), n.sizes.end(), sizes.begin());
  const WindowFields window = windowOf<Call>(call, n);
  if (Status status = describeWindow(window, sizes, false, c); !status.ok()) return status;
  if (c.groups > 1 && !isDepthwiseLast(c))
    return failure(DYN_UNSUPPORTED, "groups of several channels with channels last");
  c.layout = ImageLayout::channelsLast;
  if (Status status = describeShapes(window, x, y, false, c); !status.ok()) return status;
  const int64_t depth = ProductTask::runsOf(c).depth();
  const int64_t elements =
      isDepthwiseLast(c) ? c.taps() * c.groups : panelCount(family, c.filters) * panelBytes(family, depth);
  if (packed->elements != elements)
    return failure(DYN_BAD_INPUT, "the weights are not packed for this convolution: " + describe(packed));
  if (Status status = RescaledSums::read(call, laid.number, Call::epilogue, c.groups * c.filters, rescaled);
      !status.ok())
    return status;
  if (rescaled.hasShortcut() && isDepthwiseLast(c))
    return failure(DYN_UNSUPPORTED, "a shortcut behind a convolution of single channels");
  return rescaled ? okStatus() : checkProductResult(y, n.epilogue != 0);
}

// A pointwise convolution sees all places of all images as one row.
void flatten(Convolution& c) {
  if (!c.isPointwise()) return;
  c.input = c.output = {1, 1, c.batch * c.inputSize()};
  c.batch = 1;
}

template <typename Task>
Status runTask(FlatCall& memory, const LastConvolution& p, int64_t tasks) {
  Task task(p, tasks);
  Scratch scratch(memory, task.sharedElements(), tasks, task.ownElements());
  if (!scratch) return scratch.status();
  task.makeTables(scratch.shared());
  EpilogueFault fault;
  p.call.split(task.units(), tasks, [&](int64_t begin, int64_t end) {
    float* own = scratch.next();
    forEachWhole(begin, end, task.parts(), [&](int64_t chunk, int64_t partBegin, int64_t partEnd) {
      fault.note(task.run(chunk, partBegin, partEnd, own));
    });
  });
  return fault.status();
}

template <typename Task>
int64_t scratchOf(const LastConvolution& p, int64_t tasks) {
  const Task task(p, tasks);
  return scratchElements(task.sharedElements(), tasks, task.ownElements());
}

int64_t tasksOf(const ByteGemmFamily& family, const FlatCall& call, const Convolution& c) {
  // A product of one channel takes a lane of a vector, and its places are copied.
  constexpr double kOneChannel = 4;
  return worthwhileTasks(call, isDepthwiseLast(c) ? kOneChannel * c.steps() : c.steps() / family.group);
}

}  // namespace

Status byteConvPackedScratchBy(const ByteGemmFamily& family, const FlatCall& call, int64_t& elements) {
  Convolution c;
  RescaledSums rescaled;
  if (Status status = readCall(family, call, c, rescaled); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  flatten(c);
  const Epilogue none{};
  const LastConvolution p{call, family, c, call.argument(Call::x), nullptr, 0, none, rescaled};
  const int64_t tasks = tasksOf(family, call, c);
  elements = isDepthwiseLast(c) ? scratchOf<LanesTask>(p, tasks) : scratchOf<ProductTask>(p, tasks);
  return okStatus();
}

Status byteConvPackedBy(const ByteGemmFamily& family, FlatCall& call) {
  Convolution c;
  RescaledSums rescaled;
  if (Status status = readCall(family, call, c, rescaled); !status.ok()) return status;
  TensorView* y = call.result(0);
  Epilogue epilogue;
  const auto numbers = call.numbersOf<Call>();
  if (Status status = epilogue.bind(call, numbers.epilogue, Call::epilogue + rescaled.argumentCount(),
                                    call.scalarsOf<Call>(numbers).epilogue, static_cast<bool>(rescaled));
      !status.ok())
    return status;
  if (y->elements == 0) return okStatus();
  flatten(c);
  const TensorView* x = call.argument(Call::x);
  const LastConvolution p{call,
                          family,
                          c,
                          x,
                          call.argument(Call::weights)->as<int8_t>(),
                          leftZero(x->dtype(), zeroAt(call.argument(Call::bias), 0)),
                          epilogue,
                          rescaled};
  const int64_t tasks = tasksOf(family, call, c);
  return isDepthwiseLast(c) ? runTask<LanesTask>(call, p, tasks) : runTask<ProductTask>(call, p, tasks);
}

Status convPackedScratch(const FlatCall& call, int64_t& elements) {
  const TensorView* x = call.argument(Call::x);
  return x && isByte(x->dtype()) ? byteConvPackedScratchBy(*byteGemmFamilies().front(), call, elements)
                                 : convPackedFloatsScratch(call, elements);
}
Status convPacked(FlatCall& call) {
  const TensorView* x = call.argument(Call::x);
  return x && isByte(x->dtype()) ? byteConvPackedBy(*byteGemmFamilies().front(), call)
                                 : convPackedFloats(call);
}

}  // namespace dyn::vm::kernels
