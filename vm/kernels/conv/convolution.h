// What a call of `conv`, `conv_packed` or `conv_transpose` asks for, its sizes checked, and the ways to do
// it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "vm/base/flat_call.h"
#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/epilogue.h"
#include "vm/shared/dyn_contraction.h"
#include "vm/shared/dyn_layout.h"

namespace dyn::vm::kernels {

using contraction::Way;

// The window is known before there is an input. In conv, output o and tap t meet at input o * stride + t *
// dilation - pad; in conv_transpose input and output change places.
struct Convolution : contraction::ConvolutionWindow {
  int64_t batch = 0;
  ImageLayout layout = ImageLayout::planes;
  std::array<int64_t, 3> input{1, 1, 1}, output{1, 1, 1}, pad{0, 0, 0};

  bool readsChannelsLast() const { return layout == ImageLayout::channelsLast; }
  bool makesChannelsLast() const { return layout != ImageLayout::planes; }
  int64_t inputSize() const { return input[0] * input[1] * input[2]; }
  int64_t outputSize() const { return output[0] * output[1] * output[2]; }
  double steps() const;  // multiply-adds of all images
  // Are windows single places, and the output's places the input's?
  bool isPointwise() const {
    const std::array<int64_t, 3> ones{1, 1, 1};
    return kernel == ones && stride == ones && pad == std::array<int64_t, 3>{} && input == output;
  }
  // Are the taps so far apart, with enough channels each, that they are summed one by one (conv_taps.cpp)?
  // Known before there is an input, for the way direct packs its weights accordingly.
  bool isSparse() const {
    constexpr int64_t kFarApart = 4, kChannels = 16;
    bool far = false;
    for (size_t i = 0; i < 3; ++i) far |= kernel[i] > 1 && dilation[i] >= kFarApart;
    return far && channels >= kChannels;
  }
  // Input places that the taps reach beyond the first.
  int64_t reach(size_t axis) const { return std::max<int64_t>(kernel[axis] - 1, 0) * dilation[axis]; }
};

// What all calls of convolutions say of their window.
struct WindowFields {
  int32_t axes = 0, group = 1;
  std::span<const int32_t> strides, dilations;
  std::span<const int64_t> pads;  // before; none where weights are packed
  bool complete = false;
};
template <typename Call, typename Numbers>
WindowFields windowOf(const CallInputs& call, const Numbers& n) {
  WindowFields fields{n.axes, n.group, n.strides, n.dilations, {}, n.complete};
  const auto s = call.scalarsOf<Call>(n);
  if constexpr (requires { s.pads; }) fields.pads = s.pads;
  return fields;
}

// For weights of the shape `w`: [groups * filters, channels, kernel...], in conv_transpose [groups *
// channels, filters, kernel...]. Every extent of the window can then be computed without overflow.
Status describeWindow(const WindowFields& window, std::span<const int64_t> w, bool transposed,
                      Convolution& c);
// Then the rest, for these tensors of one element type: every position is below 2^62. Errors name the shapes.
Status describePositions(const WindowFields& window, const TensorView* x, const TensorView* y,
                         bool transposed, Convolution& c);
// The same for tensors of any element types.
Status describeShapes(const WindowFields& window, const TensorView* x, const TensorView* y, bool transposed,
                      Convolution& c);

// A call of conv_packed. Errors call it `name`.
Status describePackedShapes(const FlatCall& call, const char* name, Convolution& c);
// Bias and epilogue, too.
Status describePacked(const FlatCall& call, const char* name, Convolution& c, Epilogue& epilogue);

// conv_packed of f32; that of bytes is in byte/byte_conv_last.cpp.
Status convPackedFloatsScratch(const FlatCall& call, int64_t& elements);
Status convPackedFloats(FlatCall& call);

// The places p >= 0 for which 0 <= p * stride + shift < size: [low, high).
struct Places {
  int64_t low = 0, high = 0;
  Places within(int64_t begin, int64_t end) const {
    const int64_t from = std::clamp(low, begin, end);
    return {from, std::clamp(high, from, end)};
  }
};
inline Places placesInside(int64_t shift, int64_t stride, int64_t size) {
  if (stride == 1) return {std::max<int64_t>(0, -shift), std::max<int64_t>(0, size - shift)};
  return {shift >= 0 ? 0 : (-shift + stride - 1) / stride,
          shift >= size ? 0 : (size - shift + stride - 1) / stride};
}

// How many parts of the size `part` > 0 cover `whole` >= 0.
inline int64_t partsOf(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
// The size of the parts when `whole` is cut into as few nearly equal ones as parts of at most `most` allow.
inline int64_t evenPart(int64_t whole, int64_t most) {
  const int64_t parts = std::max<int64_t>(1, partsOf(whole, most));
  return std::max<int64_t>(1, partsOf(whole, parts));
}

// The same in a number of parts that `tasks` tasks share evenly, where there are several, but few: seven
// parts keep the second of two tasks waiting for an eighth of the time.
inline int64_t sharedPart(int64_t whole, int64_t most, int64_t tasks) {
  constexpr int64_t kMany = 8;  // of a task; one more or less is nothing then
  const int64_t parts = std::max<int64_t>(1, partsOf(whole, most)),
                even = (parts + tasks - 1) / tasks * tasks;
  return evenPart(whole, parts == 1 || parts >= kMany * tasks || even > whole ? most : partsOf(whole, even));
}

// How many filters lie side by side in packed weights.
struct FilterWidths {
  int32_t wide, narrow;
};
inline FilterWidths machineFilters() { return {convolutionKernels().wide, convolutionKernels().narrow}; }

// Ways of f32: conv_depthwise.cpp, conv_staged.cpp, conv_direct.cpp, winograd.cpp. Which one is taken is
// known before any input is there, so that weights can be packed for it: the one the call names (1 + a way),
// or, where that is 0, the one the window suggests. Error DYN_BAD_PROGRAM for a way that does not go.
Status wayOf(int32_t named, const Convolution& c, Way& way, FilterWidths widths = machineFilters());
// For the trace: which version runs, the values that decided it, and who chose it ("named").
void nameVersion(const CallInputs& call, const Convolution& c, std::string_view version,
                 std::string_view chosen);
void nameVersion(const CallInputs& call, const Convolution& c, Way way, int32_t named);
int64_t packedElementCount(const Convolution& c, Way way, FilterWidths widths = machineFilters());
// Packing is done unit by unit, in any order. The weights may lie at any address.
int64_t packUnits(const Convolution& c, Way way, FilterWidths widths);
void packUnit(const Convolution& c, Way way, FilterWidths widths, const float* w, int64_t unit,
              float* packed);
// The way winograd packs transformed windows, and behind them what the way direct reads in images that are
// too small for blocks: the middle tap of each window as a pointwise one, or all taps.
int64_t winogradElements(const Convolution& c, FilterWidths widths);
// Where these begin.
int64_t winogradDirectWeights(const Convolution& c, FilterWidths widths = machineFilters());
// The convolution that goes the way direct in such images. A matter of the images' size alone: one in a batch
// has the bits that it has alone.
std::optional<Convolution> winogradAsDirect(const Convolution& c);
void packWinograd(const Convolution& c, FilterWidths widths, const float* w, int64_t panel, float* packed);

// The filters of a group side by side in the lanes of vectors: panels of `wide` filters, the last perhaps of
// `narrow`; beyond the last filter, zeros.
struct FilterPanels {
  const ConvolutionKernels& kernels = convolutionKernels();
  FilterWidths widths;
  int64_t filters;

  explicit FilterPanels(const Convolution& c, FilterWidths of = machineFilters())
      : widths(of), filters(c.filters) {}
  int64_t count() const { return (filters + widths.wide - 1) / widths.wide; }
  int64_t width(int64_t panel) const {
    return filters - panel * widths.wide > widths.narrow ? widths.wide : widths.narrow;
  }
  int64_t first(int64_t panel) const { return panel * widths.wide; }  // its first filter
  int64_t end(int64_t panel) const { return std::min(filters, first(panel) + width(panel)); }
  int64_t lanes() const { return count() == 0 ? 0 : first(count() - 1) + width(count() - 1); }
  // Where the widths are this machine's.
  const PositionKernel* tiles(int64_t panel) const {
    return width(panel) == kernels.wide ? kernels.widePositions : kernels.narrowPositions;
  }
};

// y[filter * strideY + position] = tile[position * leading + filter] + bias[filter]; bias may be null.
void writeTransposed(const float* tile, int64_t leading, int64_t positions, int64_t filters,
                     const float* bias, float* y, int64_t strideY);

struct ConvolutionCall {
  const FlatCall& call;
  const Convolution& c;
  const float *x, *inputEnd;
  const float* weights;  // packed for the way
  const float* bias;     // or null
  float* y;
  const Epilogue& epilogue;
};
// The epilogue on elements [columnBegin, columnEnd) of rows [rowBegin, rowEnd) of the result, rows of
// `length` elements: planes, or places with their channels. A closed one without a call of the generated
// kernel, which takes longer than short rows do.
int32_t finishRows(const ConvolutionCall& work, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                   int64_t columnEnd, int64_t length);
// `weights` as they were given: ways that want them packed pack them for this call. `memory` is the call
// again, for its scratch memory.
Status convUnpacked(FlatCall& memory, ConvolutionCall work, Way way);
Status convRows(FlatCall& memory, const ConvolutionCall& work);
Status convStaged(FlatCall& memory, const ConvolutionCall& work);
Status convDirect(FlatCall& memory, const ConvolutionCall& work);
Status convWinograd(FlatCall& memory, const ConvolutionCall& work);
// Does the way direct copy what its steps read side by side, so that one tile has all places of an image?
bool takesSideBySide(const Convolution& c);
// The way direct, in either layout: of images of a few places where takesGathered() says so, of sparse
// windows, and of all others, by the taps that meet the input.
bool takesGathered(const Convolution& c);
Status convGathered(FlatCall& memory, const ConvolutionCall& work);
Status convTaps(FlatCall& memory, const ConvolutionCall& work);
Status convLiveTaps(FlatCall& memory, const ConvolutionCall& work);
// Does no tap but the middle one of 3x3 meet the input, at stride 1: the images are one place? Then what is
// left, a pointwise convolution.
std::optional<Convolution> middleTapOf(const Convolution& c);
// Those of tensors with their channels last, but Winograd's, which takes both.
Status convRowsLast(FlatCall& memory, const ConvolutionCall& work);
Status convDirectLast(FlatCall& memory, const ConvolutionCall& work);
// Elements of scratch memory they take.
int64_t convUnpackedScratch(const FlatCall& call, const Convolution& c, Way way);
int64_t convRowsScratch(const FlatCall& call, const Convolution& c);
int64_t convStagedScratch(const ConvolutionCall& work);
int64_t convDirectScratch(const ConvolutionCall& work);
int64_t convWinogradScratch(const ConvolutionCall& work);
int64_t convGatheredScratch(const ConvolutionCall& work);
int64_t convTapsScratch(const ConvolutionCall& work);
int64_t convLiveTapsScratch(const ConvolutionCall& work);
int64_t convRowsLastScratch(const ConvolutionCall& work);
int64_t convDirectLastScratch(const ConvolutionCall& work);

}  // namespace dyn::vm::kernels
