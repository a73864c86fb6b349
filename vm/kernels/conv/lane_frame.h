// LaneFrame: some rows of as many planes as a vector has lanes, turned so that the planes lie side by side in
// the lanes, with what lies outside of the input around them: for windows over images too small to fill
// vectors with positions.
//
//   LaneFrame frame(c, 0.0f);
//   LaneChunk made;
//   const LaneRows rows = frame.fill(x, begin, end, scratch, made);     // for output rows [begin, end)
//   // output row r, column j, tap (h, w): lanes at rows.at + ((r * stride + h * dilation) * rows.pitch + j * stride + w * dilation) * lanes,
//   // h and w counted from the first tap of down() and right()
#pragma once

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {

// The taps of an axis that meet input anywhere: a far dilation reaches into padding only.
struct TapWindow {
  Places taps;
  int64_t pad = 0, reach = 0;  // before the first place of the first of them; from there to the last
  int64_t count() const { return taps.high - taps.low; }
};
TapWindow tapWindow(const Convolution& c, size_t axis);

// At most so many output rows in a chunk, that the chunks of so many groups of planes are enough for all
// tasks.
int64_t mostRowsFor(const Convolution& c, int64_t groups, int64_t tasks);
// As long as how many planes, computed one by one, a group of so many lanes is.
inline int64_t planesOfGroup(int64_t lanes) { return (5 * lanes + 7) / 8; }

// Steps of windows of one channel each, as worthwhileTasks counts them: they take longer than those of
// products.
inline double depthwiseSteps(const Convolution& c) { return 2 * c.steps(); }

struct LaneRows {
  const float* at = nullptr;
  int64_t pitch = 0;  // places of a row
  int64_t step = 0;   // elements from place to place
};

// The output rows that the frame in scratch memory was last filled for: the same rows of other planes find
// what lies outside there. None: the memory holds anything.
struct LaneChunk {
  int64_t begin = 0, end = 0;
};

class LaneFrame {
 public:
  // A chunk has at most so many output rows. `lanes`: of a vector.
  LaneFrame(const Convolution& convolution, float outside, int64_t mostRows = INT64_MAX,
            int64_t lanes = convolutionKernels().narrow);

  // Is the image so small, and has it one slice?
  bool suits() const;
  int64_t lanes() const { return lanes_; }
  int64_t rows() const { return rows_; }  // of the output, in a chunk
  const TapWindow& down() const { return down_; }
  const TapWindow& right() const { return right_; }
  int64_t columns() const { return columns_; }  // that the windows of an output row reach over
  int64_t frameElements() const { return planesAt() + tableElements<int64_t>(lanes_); }
  int64_t tileElements() const { return rows_ * c.output[2] * lanes_; }

  // From `count` planes, at most `lanes`, each c.inputSize() elements long, from `input` on. Lanes beyond
  // hold what the last one does. `scratch` holds frameElements(), which nobody else writes until the next
  // call with the same `made`. The pitch is columns().
  LaneRows fill(const float* input, int64_t count, int64_t begin, int64_t end, float* scratch,
                LaneChunk& made) const;
  // From `count` channels, at most `lanes`, of an image that has its channels last, `pitch` of them. Whole
  // groups of channels around which nothing lies outside are read where they are. `scratch` holds
  // lastElements(). Here lanes may be those of several vectors.
  LaneRows fillLast(const float* image, int64_t pitch, int64_t count, int64_t begin, int64_t end,
                    float* scratch) const;
  int64_t lastElements() const { return heldRows() * columns_ * lanes_; }
  // Back to `count` planes of the output: `tile` is [rows, columns, lanes], `scratch` was filled.
  void write(const float* tile, int64_t count, int64_t begin, int64_t end, const float* scratch,
             float* output) const;

 private:
  int64_t heldRows() const { return (rows_ - 1) * c.stride[1] + down_.reach + 1; }
  // Where places go that no window sees.
  int64_t outsideAt() const { return heldRows() * columns_ * lanes_; }
  // Tables: where each place of the input goes, and where each plane of the output begins.
  int64_t placesAt() const { return outsideAt() + lanes_; }
  int64_t planesAt() const { return placesAt() + tableElements<int64_t>(heldRows() * c.input[2]); }
  // What lies outside, and the tables.
  void prepare(int64_t begin, int64_t end, float* scratch) const;

  const Convolution& c;
  const float outside_;
  const TapWindow down_, right_;
  const int64_t lanes_;
  int64_t columns_ = 0, rows_ = 0;
};

}  // namespace dyn::vm::kernels
