// Depthwise convolutions whose windows move by one along rows: each output row is a sum of input rows, shifted and scaled, read in place.
//
// Where input and output rows are equally long, rows follow one another like one long row. The places at the ends of the rows, whose windows reach beyond
// the input, are computed for themselves afterwards.
#include <vector>

#include "vm/kernels/convolution.h"
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
    const Places first = placesInside(-c.pad[2], 1, c.input[2]),
                 last = placesInside(c.reach(2) - c.pad[2], 1, c.input[2]);
    inner = Places{std::max(first.low, last.low), std::min(first.high, last.high)}.within(0, c.output[2]);
    running = c.input[2] == c.output[2] && c.stride[1] == 1;
    rows = evenPart(c.output[1], std::max<int64_t>(1, kPositions / std::max<int64_t>(c.output[2], 1)));
  }

  // The taps that meet input in an output row.
  struct Taps {
    std::vector<float> factors;
    std::vector<int64_t> offsets;
  };

  // Output rows [begin, end) of slice `slice` of one plane. `taps` is memory to be used again.
  void run(const float* input, const float* weights, float bias, int64_t slice, int64_t begin, int64_t end,
           float* plane, Taps& taps) const {
    float* out = plane + slice * c.output[1] * c.output[2];
    const int64_t lastWhole =
        c.input[1] - 1 - c.reach(1) + c.pad[1];  // the last row with all taps, where rows run on
    for (int64_t row = begin; row < end;) {
      const bool whole = findTaps(weights, slice, row, taps) && running;
      const int64_t next = whole ? std::min(end, lastWhole + 1) : row + 1;
      float* to = out + row * c.output[2];
      if (inner.high > inner.low)
        convolutionKernels().row(static_cast<int64_t>(taps.factors.size()), taps.factors.data(),
                                 input + inner.low, taps.offsets.data(), bias, to + inner.low,
                                 (next - 1 - row) * c.output[2] + inner.high - inner.low);
      for (int64_t column = 0; column < c.output[2]; ++column) {
        if (column == inner.low) column = std::max(column, inner.high);
        if (column < c.output[2]) border(input, taps, bias, column, next - row, to);
      }
      row = next;
    }
  }

 private:
  // True: all of them.
  bool findTaps(const float* weights, int64_t slice, int64_t row, Taps& taps) const {
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
          taps.offsets.push_back((id * c.input[1] + ih) * c.input[2] + w * c.dilation[2] - c.pad[2]);
        }
      }
    return all;
  }

  // One column of `rows` rows, without the taps that lie beyond the ends of its input rows.
  void border(const float* input, const Taps& taps, float bias, int64_t column, int64_t rows,
              float* to) const {
    const Places inside = placesInside(column - c.pad[2], c.dilation[2], c.input[2]).within(0, c.kernel[2]);
    const size_t count = taps.factors.size(), width = static_cast<size_t>(c.kernel[2]),
                 low = static_cast<size_t>(inside.low), high = static_cast<size_t>(inside.high);
    for (int64_t row = 0; row < rows; ++row) {
      const float* from = input + row * c.input[2] + column;
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
  if (call.rehearsal) return okStatus();
  const Convolution& c = work.c;
  const RowTask task(work);
  const int64_t chunks = (c.output[1] + task.rows - 1) / task.rows;
  EpilogueFault fault;
  // Units are (image, group, slice, chunk of rows).
  call.threads->split(
      c.batch * c.groups * c.output[0] * chunks, static_cast<uint32_t>(worthwhileTasks(call, c.steps())),
      [&](int64_t begin, int64_t end) {
        RowTask::Taps taps;
        for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
          const int64_t first = unit % chunks * task.rows, slice = unit / chunks % c.output[0],
                        plane = unit / chunks / c.output[0], group = plane % c.groups;
          const int64_t last = std::min(first + task.rows, c.output[1]);
          task.run(work.x + plane * c.inputSize(), work.weights + group * c.taps(),
                   work.bias ? work.bias[group] : 0.0f, slice, first, last, work.y + plane * c.outputSize(),
                   taps);
          if (!work.epilogue) continue;
          const int64_t above = slice * c.output[1];
          fault.note(work.epilogue.run(plane, plane + 1, (above + first) * c.output[2],
                                       (above + last) * c.output[2]));
        }
      });
  return fault.status();
}

}  // namespace dyn::vm::kernels
