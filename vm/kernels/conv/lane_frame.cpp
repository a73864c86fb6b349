#include "vm/kernels/conv/lane_frame.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kFrameElements = 1 << 16;  // of a chunk, about: in the L2 cache
// Of chunks that are cut for tasks: each is filled with its neighbours' rows, too.
constexpr int64_t kLeastRows = 4;
// Longer output rows fill vectors by themselves; of windows of many taps each vector is read so often that it
// pays to have it aligned.
constexpr int64_t kMostColumns = 64, kMostColumnsOfMany = 256, kManyTaps = 16;

}  // namespace

int64_t mostRowsFor(const Convolution& c, int64_t groups, int64_t tasks) {
  if (tasks <= 1 || groups == 0 || groups >= 4 * tasks) return INT64_MAX;
  return std::max(kLeastRows, partsOf(c.output[1], partsOf(4 * tasks, groups)));
}

TapWindow tapWindow(const Convolution& c, size_t axis) {
  const int64_t last = (c.output[axis] - 1) * c.stride[axis];
  const Places before = placesInside(last - c.pad[axis], c.dilation[axis], INT64_MAX / 4),
               behind = placesInside(-c.pad[axis], c.dilation[axis], c.input[axis]);
  const Places live = Places{before.low, behind.high}.within(0, c.kernel[axis]);
  if (live.high == live.low) return {};
  return {live, c.pad[axis] - live.low * c.dilation[axis], (live.high - live.low - 1) * c.dilation[axis]};
}

LaneFrame::LaneFrame(const Convolution& convolution, float outside, int64_t mostRows, int64_t lanes)
    : c(convolution), outside_(outside), down_(tapWindow(c, 1)), right_(tapWindow(c, 2)), lanes_(lanes) {
  columns_ = (c.output[2] - 1) * c.stride[2] + right_.reach + 1;
  const int64_t held = kFrameElements / (std::max(columns_, c.input[2]) * lanes_);
  const int64_t most = std::max<int64_t>((held - down_.reach - 1) / c.stride[1] + 1, 1);
  rows_ = evenPart(c.output[1], std::min(most, mostRows));
}

bool LaneFrame::suits() const {
  const int64_t most = down_.count() * right_.count() >= kManyTaps ? kMostColumnsOfMany : kMostColumns;
  return c.kernel[0] == 1 && c.input[0] == 1 && c.output[0] == 1 && c.pad[0] == 0 && c.input[1] > 0 &&
         c.input[2] > 0 && c.output[2] < most && c.input[2] < 4 * most;
}

void LaneFrame::prepare(int64_t begin, int64_t end, float* scratch) const {
  const int64_t first = begin * c.stride[1] - down_.pad,
                held = (end - 1 - begin) * c.stride[1] + down_.reach + 1;
  std::fill_n(scratch, held * columns_ * lanes_, outside_);
  int64_t *places = reinterpret_cast<int64_t*>(scratch + placesAt()),
          *planes = reinterpret_cast<int64_t*>(scratch + planesAt());
  const Places inside = Places{first, first + held}.within(0, c.input[1]);
  for (int64_t row = inside.low; row < inside.high; ++row)
    for (int64_t column = 0; column < c.input[2]; ++column) {
      const int64_t at = column + right_.pad;
      *places++ = at >= 0 && at < columns_ ? ((row - first) * columns_ + at) * lanes_ : outsideAt();
    }
  for (int64_t lane = 0; lane < lanes_; ++lane) planes[lane] = lane * c.outputSize();
}

LaneRows LaneFrame::fill(const float* input, int64_t count, int64_t begin, int64_t end, float* scratch,
                         LaneChunk& made) const {
  if (made.begin != begin || made.end != end) {
    prepare(begin, end, scratch);
    made = {begin, end};
  }
  const int64_t* places = reinterpret_cast<const int64_t*>(scratch + placesAt());
  const int64_t first = begin * c.stride[1] - down_.pad,
                held = (end - 1 - begin) * c.stride[1] + down_.reach + 1;
  const Places inside = Places{first, first + held}.within(0, c.input[1]);
  const int64_t positions = (inside.high - inside.low) * c.input[2];
  const float* from = input + inside.low * c.input[2];
  const auto turn = convolutionKernels().turnTo;
  if (positions > 0 && positions < lanes_) turn(from, c.inputSize(), count, positions, places, scratch);
  // The last block may overlap the one before it.
  for (int64_t at = 0; positions >= lanes_ && at < positions; at += lanes_) {
    const int64_t block = std::min(at, positions - lanes_);
    turn(from + block, c.inputSize(), count, lanes_, places + block, scratch);
  }
  return {scratch, columns_, lanes_};
}

LaneRows LaneFrame::fillLast(const float* image, int64_t pitch, int64_t count, int64_t begin, int64_t end,
                             float* scratch) const {
  const int64_t first = begin * c.stride[1] - down_.pad,
                held = (end - 1 - begin) * c.stride[1] + down_.reach + 1;
  const int64_t before = std::max<int64_t>(right_.pad, 0),
                skipped = std::clamp<int64_t>(-right_.pad, 0, c.input[2]),
                kept = std::clamp<int64_t>(columns_ - before, 0, c.input[2] - skipped);
  const ConvolutionKernels& kernels = convolutionKernels();
  const auto gather = lanes_ == kLineLanes ? kernels.gatherLine : kernels.gather;
  if (count == lanes_ && before == 0 && kept == columns_ && first >= 0 && first + held <= c.input[1])
    return {image + (first * c.input[2] + skipped) * pitch, c.input[2], pitch};
  for (int64_t line = 0; line < held; ++line) {
    float* to = scratch + line * columns_ * lanes_;
    const int64_t row = first + line;
    if (row < 0 || row >= c.input[1] || kept == 0) {
      std::fill_n(to, columns_ * lanes_, outside_);
      continue;
    }
    const float* from = image + (row * c.input[2] + skipped) * pitch;
    std::fill_n(to, before * lanes_, outside_);
    if (count == lanes_)
      gather(from, pitch, kept, to + before * lanes_);
    else
      for (int64_t column = 0; column < kept; ++column) {
        float* place = to + (before + column) * lanes_;
        std::copy_n(from + column * pitch, count, place);
        std::fill(place + count, place + lanes_, 0.0f);
      }
    std::fill(to + (before + kept) * lanes_, to + columns_ * lanes_, outside_);
  }
  return {scratch, columns_, lanes_};
}

void LaneFrame::write(const float* tile, int64_t count, int64_t begin, int64_t end, const float* scratch,
                      float* output) const {
  const ConvolutionKernels& kernels = convolutionKernels();
  const int64_t positions = (end - begin) * c.output[2], plane = c.outputSize();
  const int64_t* planes = reinterpret_cast<const int64_t*>(scratch + planesAt());
  float* to = output + begin * c.output[2];
  if (positions < lanes_) return writeTransposed(tile, lanes_, positions, count, nullptr, to, plane);
  // The last block may overlap the one before it.
  for (int64_t at = 0; at < positions; at += lanes_) {
    const int64_t block = std::min(at, positions - lanes_);
    if (count == lanes_)
      kernels.turn(tile + block * lanes_, lanes_, nullptr, to + block, plane);
    else
      kernels.turnTo(tile + block * lanes_, lanes_, lanes_, count, planes, to + block);
  }
}

}  // namespace dyn::vm::kernels
