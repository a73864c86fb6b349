// Depthwise convolutions of bytes.
#include "vm/kernels/byte/byte_conv.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// Rows of the output that are made together, and what that takes.
struct DepthwisePlan {
  int64_t tasks, rows;             // of the output, in a step
  int64_t frameRows, frameStride;  // of the frame of one slice; bytes from row to row
  int64_t windowRows;              // rows of the window, of all its slices
  int64_t rowWords;                // words of four taps in each of them
  int64_t frameElements, listElements, wordElements, weightElements, tileElements;

  DepthwisePlan(const FlatCall& call, const Convolution& c) {
    const int64_t width = std::max<int64_t>(c.output[2], 1);
    tasks = worthwhileTasks(call, c.steps());
    rows = std::clamp<int64_t>(ByteProduct::kTileElements / width, 1, std::max<int64_t>(c.output[1], 1));
    frameRows = (rows - 1) * c.stride[1] + c.reach(1) + 1;
    frameStride = wholeLines((width - 1) * c.stride[2] + c.reach(2) + 1);
    windowRows = c.kernel[0] * c.kernel[1];
    rowWords = (c.kernel[2] + 3) / 4;
    frameElements = wholeLines((c.kernel[0] * frameRows * frameStride + kByteWindowSlack) / 4 + 1);
    listElements = wholeLines(2 * windowRows);
    wordElements = wholeLines(windowRows * rowWords);
    weightElements = wholeLines(c.taps());
    tileElements = isApart(call.result(0)) ? wholeLines(rows * width) : 0;
  }
  int64_t own() const { return frameElements + listElements + wordElements + weightElements + tileElements; }
};

// One channel's weights less their zero point, also by fours where they are small enough; returns their sum.
int32_t readWeights(const ByteConvolution& p, int64_t filter, const DepthwisePlan& plan, int32_t* weights,
                    uint32_t* words, bool& small) {
  const int64_t taps = p.c.taps(), width = p.c.kernel[2];
  const int32_t zero = zeroAt(p.zeroW, filter);
  uint32_t sum = 0;
  small = true;
  std::fill_n(words, plan.windowRows * plan.rowWords, 0u);
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int32_t weight = byteAt(p.w, filter * taps + tap) - zero;
    weights[tap] = weight;
    sum += static_cast<uint32_t>(weight);
    small &= weight >= -128 && weight <= 127;
    const int64_t row = tap / width, column = tap % width;
    words[row * plan.rowWords + column / 4] |= (static_cast<uint32_t>(weight) & 0xff) << (column % 4 * 8);
  }
  return static_cast<int32_t>(sum);
}

void copyFlipped(const uint8_t* from, int64_t count, uint8_t flip, uint8_t* to) {
  typedef uint8_t Sixteen __attribute__((vector_size(16), aligned(1), may_alias));
  if (flip == 0) return copyRun(to, from, count);
  int64_t at = 0;
  for (; at + 16 <= count; at += 16)
    *reinterpret_cast<Sixteen*>(to + at) = *reinterpret_cast<const Sixteen*>(from + at) ^ flip;
  for (; at < count; ++at) to[at] = from[at] ^ flip;
}

// A row of one channel with its padding on both sides: `length` places from place -pad on, exclusive-ored
// with `flip`. `from` null: padding only.
void frameRow(const uint8_t* from, int64_t size, int64_t pad, int64_t length, uint8_t padding, uint8_t flip,
              uint8_t* to) {
  const int64_t begin = std::clamp<int64_t>(pad, 0, length),
                end = from ? std::clamp<int64_t>(pad + size, begin, length) : begin;
  fillRun(to, padding, begin);
  fillRun(to + end, padding, length - end);
  if (begin == end) return;
  copyFlipped(from + (begin - pad), end - begin, flip, to + begin);
}

// Another image in a frame that holds one of the same size: its padding stays.
void refillFrame(const Convolution& c, const uint8_t* x, int64_t length, uint8_t flip,
                 const DepthwisePlan& plan, uint8_t* frame) {
  const int64_t begin = std::clamp<int64_t>(c.pad[2], 0, length),
                end = std::clamp<int64_t>(c.pad[2] + c.input[2], begin, length),
                low = std::clamp<int64_t>(c.pad[1], 0, plan.frameRows),
                high = std::clamp<int64_t>(c.pad[1] + c.input[1], low, plan.frameRows);
  for (int64_t i = low; i < high; ++i)
    copyFlipped(x + (i - c.pad[1]) * c.input[2] + begin - c.pad[2], end - begin, flip,
                frame + i * plan.frameStride + begin);
}

}  // namespace

int64_t byteDepthwiseScratch(const FlatCall& call, const Convolution& c) {
  const DepthwisePlan plan(call, c);
  return scratchElements(0, plan.tasks, plan.own());
}

Status byteDepthwise(FlatCall& memory, const ByteConvolution& p) {
  const Convolution& c = p.c;
  const DepthwisePlan plan(p.call, c);
  const uint8_t flip = leftFlip(p.x->dtype());
  const int32_t zero = leftZero(p.x->dtype(), p.zeroOfX());
  const auto padding = static_cast<uint8_t>(zero);
  const int64_t width = c.output[2], frameLength = (width - 1) * c.stride[2] + c.reach(2) + 1,
                sliceRows = plan.frameRows;
  Scratch scratch(memory, 0, plan.tasks, plan.own());
  if (!scratch) return scratch.status();
  EpilogueFault fault;
  p.call.split(c.batch * c.groups * c.filters, plan.tasks, [&](int64_t begin, int64_t end) {
    float* own = scratch.next();
    auto* frame = reinterpret_cast<uint8_t*>(own);
    auto* list = reinterpret_cast<const uint8_t**>(own + plan.frameElements);
    auto* words = reinterpret_cast<uint32_t*>(own + plan.frameElements + plan.listElements);
    auto* weights = reinterpret_cast<int32_t*>(words + plan.wordElements);
    auto* tile = weights + plan.weightElements;
    // The padding of a frame that holds a whole image is written once.
    const bool whole =
        plan.rows == c.output[1] && c.output[0] == 1 && c.kernel[0] == 1 && c.input[0] == 1 && c.pad[0] == 0;
    for (int64_t plane = begin; plane < end && !p.call.cancelled(); ++plane) {  // of the result
      bool small = true;
      const int32_t sum = readWeights(p, plane % (c.groups * c.filters), plan, weights, words, small);
      ByteWindow window;
      window.rows = list;
      window.rowCount = plan.windowRows;
      window.width = c.kernel[2];
      window.dilation = c.dilation[2];
      window.stride = c.stride[2];
      window.weights = weights;
      window.words = small ? words : nullptr;
      window.first = static_cast<int32_t>(0u - static_cast<uint32_t>(sum) * static_cast<uint32_t>(zero));
      const uint8_t* x = p.x->as<uint8_t>() + plane / c.filters * c.inputSize();
      for (int64_t step = 0; step < c.output[0] * c.output[1];) {
        const int64_t slice = step / c.output[1], row = step % c.output[1],
                      rows = std::min(plan.rows, c.output[1] - row), first = step * width,
                      last = first + rows * width;
        const bool framed = whole && plane > begin;
        if (framed) refillFrame(c, x, frameLength, flip, plan, frame);
        for (int64_t depth = 0; depth < c.kernel[0] && !framed; ++depth) {
          const int64_t d = slice * c.stride[0] + depth * c.dilation[0] - c.pad[0];
          for (int64_t i = 0; i < (rows - 1) * c.stride[1] + c.reach(1) + 1; ++i) {
            const int64_t h = row * c.stride[1] + i - c.pad[1];
            const bool inside = d >= 0 && d < c.input[0] && h >= 0 && h < c.input[1];
            frameRow(inside ? x + (d * c.input[1] + h) * c.input[2] : nullptr, c.input[2], c.pad[2],
                     frameLength, padding, flip, frame + (depth * sliceRows + i) * plan.frameStride);
          }
        }
        int32_t* sums = plan.tileElements > 0 ? tile : p.y + plane * c.outputSize() + first;
        for (int64_t r = 0; r < plan.windowRows; ++r)
          list[r] =
              frame + (r / c.kernel[1] * sliceRows + r % c.kernel[1] * c.dilation[1]) * plan.frameStride;
        window.outputs = rows;
        window.rowStep = c.stride[1] * plan.frameStride;
        p.family.windowKernel(window, sums, width);
        if (p.epilogue && plan.tileElements > 0)
          fault.note(p.epilogue.runApart(tile, rows * width, c.outputSize(), plane, plane + 1, first, last));
        else if (p.epilogue)
          fault.note(p.epilogue.run(plane, plane + 1, first, last));
        step += rows;
      }
    }
  });
  return fault.status();
}

}  // namespace dyn::vm::kernels
