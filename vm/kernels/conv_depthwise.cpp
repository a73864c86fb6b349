// Depthwise convolutions: each output row is a sum of input rows, shifted and scaled. Where windows move by one along rows the input is read in place.
// Where they move by s, the input rows of a chunk are first cut into s phases each (every s-th element), along which windows move by one.
//
// Where input and output rows are equally long, rows follow one another like one long row. The places at the ends of the rows, whose windows reach beyond
// the input, are computed for themselves afterwards.
#include <vector>

#include "vm/kernels/convolution.h"
#include "vm/kernels/pool_kernels.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kPositions = 8192;  // of a chunk, about

struct RowTask {
  const ConvolutionCall& work;
  const Convolution& c;
  Places inner;          // output columns whose windows lie inside the input
  bool running = false;  // rows follow one another
  int64_t rows = 0;      // of a chunk

  explicit RowTask(const ConvolutionCall& convolution) : work(convolution), c(convolution.c) {
    const Places first = placesInside(-c.pad[2], c.stride[2], c.input[2]),
                 last = placesInside(c.reach(2) - c.pad[2], c.stride[2], c.input[2]);
    inner = Places{std::max(first.low, last.low), std::min(first.high, last.high)}.within(0, c.output[2]);
    running = c.input[2] == c.output[2] && c.stride[1] == 1 && c.stride[2] == 1;
    rows = evenPart(c.output[1], std::max<int64_t>(1, kPositions / std::max<int64_t>(c.output[2], 1)));
  }

  // --- phases

  bool inPhases() const { return c.stride[2] > 1; }
  int64_t phaseLength() const { return (c.input[2] + c.stride[2] - 1) / c.stride[2]; }
  // The input rows that output rows [begin, end) read.
  Places inputRows(int64_t begin, int64_t end) const {
    return Places{begin * c.stride[1] - c.pad[1], (end - 1) * c.stride[1] + c.reach(1) - c.pad[1] + 1}.within(
        0, c.input[1]);
  }
  int64_t phaseElements() const {
    const int64_t most = std::min(c.input[1], (rows - 1) * c.stride[1] + c.reach(1) + 1);
    return inPhases() ? wholeLines(most * c.stride[2] * phaseLength()) : 0;
  }
  // The phases of row after row of one slice.
  void cut(const float* slice, Places which, float* phases) const {
    const int64_t stride = c.stride[2], length = phaseLength();
    for (int64_t row = which.low; row < which.high; ++row) {
      const float* from = slice + row * c.input[2];
      if (stride == 2) {
        const int64_t pairs = c.input[2] / 2;
        convolutionKernels().unzip(from, pairs, phases, phases + length);
        if (pairs < length) {
          phases[pairs] = from[2 * pairs];
          phases[length + pairs] = 0.0f;
        }
        phases += 2 * length;
        continue;
      }
      for (int64_t phase = 0; phase < stride; ++phase, phases += length) {
        // In vectors as far as whole groups of `stride` elements reach: nothing beyond the row is read.
        const int64_t whole = std::max<int64_t>(0, (c.input[2] - phase) / stride);
        poolKernels().sumsOfColumns(1, stride, 1, from + phase, whole, phases);
        if (whole < length)
          phases[whole] = whole * stride + phase < c.input[2] ? from[whole * stride + phase] : 0.0f;
      }
    }
  }

  // The taps that meet input in an output row.
  struct Taps {
    std::vector<float> factors;
    std::vector<int64_t> offsets;
  };

  // Output rows [begin, end) of slice `slice` of one plane. `taps` and `phases` are memory to be used again.
  void run(const float* input, const float* weights, float bias, int64_t slice, int64_t begin, int64_t end,
           float* plane, Taps& taps, float* phases) const {
    const Places held = inputRows(begin, end);
    if (inPhases()) {
      cut(input, held, phases);  // such a window has one slice
      input = phases;
    }
    float* out = plane + slice * c.output[1] * c.output[2];
    // Rows that meet all taps have the same ones, each row some elements further on.
    const int64_t lastWhole = (c.input[1] - 1 - c.reach(1) + c.pad[1]) / c.stride[1],
                  step = c.stride[1] * (inPhases() ? c.stride[2] * phaseLength() : c.input[2]);
    for (int64_t row = begin; row < end;) {
      const bool whole = findTaps(weights, slice, row, held.low, taps);
      const int64_t next = whole ? std::min(end, lastWhole + 1) : row + 1;
      inside(input, taps, bias, next - row, step, out + row * c.output[2]);
      for (int64_t column = 0; column < c.output[2]; ++column) {
        if (column == inner.low) column = std::max(column, inner.high);
        if (column < c.output[2])
          border(input, taps, bias, column, next - row, step, out + row * c.output[2]);
      }
      row = next;
    }
  }

 private:
  // Where a tap's input for output column 0 lies; input row `firstHeld` is the first of the phases.
  int64_t offsetOf(int64_t slice, int64_t row, int64_t column, int64_t firstHeld) const {
    if (!inPhases()) return (slice * c.input[1] + row) * c.input[2] + column;
    const int64_t stride = c.stride[2], phase = (column % stride + stride) % stride;
    return ((row - firstHeld) * stride + phase) * phaseLength() + (column - phase) / stride;
  }

  // True: all of them.
  bool findTaps(const float* weights, int64_t slice, int64_t row, int64_t firstHeld, Taps& taps) const {
    taps.factors.clear();
    taps.offsets.clear();
    bool all = true;
    for (int64_t d = 0; d < c.kernel[0]; ++d)
      for (int64_t h = 0; h < c.kernel[1]; ++h) {
        const int64_t id = slice * c.stride[0] + d * c.dilation[0] - c.pad[0],
                      ih = row * c.stride[1] + h * c.dilation[1] - c.pad[1];
        if (ih < 0 || ih >= c.input[1]) all = false;
        if (id < 0 || id >= c.input[0] || ih < 0 || ih >= c.input[1]) continue;
        for (int64_t w = 0; w < c.kernel[2]; ++w) {
          taps.factors.push_back(weights[(d * c.kernel[1] + h) * c.kernel[2] + w]);
          taps.offsets.push_back(offsetOf(id, ih, w * c.dilation[2] - c.pad[2], firstHeld));
        }
      }
    return all;
  }

  // The inner columns of `rows` rows.
  void inside(const float* input, const Taps& taps, float bias, int64_t rows, int64_t step, float* to) const {
    if (inner.high <= inner.low) return;
    const auto count = static_cast<int64_t>(taps.factors.size());
    const int64_t columns = inner.high - inner.low, calls = running ? 1 : rows;
    for (int64_t i = 0; i < calls; ++i)
      convolutionKernels().row(count, taps.factors.data(), input + i * step + inner.low, taps.offsets.data(),
                               bias, to + i * c.output[2] + inner.low,
                               running ? (rows - 1) * step + columns : columns);
  }

  // One column of `rows` rows, without the taps that lie beyond the ends of its input rows.
  void border(const float* input, const Taps& taps, float bias, int64_t column, int64_t rows, int64_t step,
              float* to) const {
    const Places within =
        placesInside(column * c.stride[2] - c.pad[2], c.dilation[2], c.input[2]).within(0, c.kernel[2]);
    const size_t count = taps.factors.size(), width = static_cast<size_t>(c.kernel[2]),
                 low = static_cast<size_t>(within.low), high = static_cast<size_t>(within.high);
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = input + row * step + column;
      float sum = bias;
      for (size_t first = 0; first < count; first += width)
        for (size_t k = first + low; k < first + high; ++k) sum += taps.factors[k] * from[taps.offsets[k]];
      to[row * c.output[2] + column] = sum;
    }
  }
};

}  // namespace

Status convRows(const ConvolutionCall& work) {
  BuiltinCall& call = work.call;
  const Convolution& c = work.c;
  const RowTask task(work);
  const int64_t tasks = worthwhileTasks(call, c.steps()), phaseElements = task.phaseElements();
  Scratch scratch(call.pool, 0, phaseElements > 0 ? tasks : 0, phaseElements);
  if (!scratch || call.rehearsal) return scratch.status();
  const int64_t chunks = (c.output[1] + task.rows - 1) / task.rows;
  EpilogueFault fault;
  // Units are (image, group, slice, chunk of rows).
  call.threads->split(c.batch * c.groups * c.output[0] * chunks, static_cast<uint32_t>(tasks),
                      [&](int64_t begin, int64_t end) {
                        RowTask::Taps taps;
                        float* phases = phaseElements > 0 ? scratch.next() : nullptr;
                        for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
                          const int64_t first = unit % chunks * task.rows,
                                        slice = unit / chunks % c.output[0],
                                        plane = unit / chunks / c.output[0], group = plane % c.groups;
                          const int64_t last = std::min(first + task.rows, c.output[1]);
                          task.run(work.x + plane * c.inputSize(), work.weights + group * c.taps(),
                                   work.bias ? work.bias[group] : 0.0f, slice, first, last,
                                   work.y + plane * c.outputSize(), taps, phases);
                          if (!work.epilogue) continue;
                          const int64_t above = slice * c.output[1];
                          fault.note(work.epilogue.run(plane, plane + 1, (above + first) * c.output[2],
                                                       (above + last) * c.output[2]));
                        }
                      });
  return fault.status();
}

}  // namespace dyn::vm::kernels
