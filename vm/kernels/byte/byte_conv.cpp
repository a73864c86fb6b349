// byteconv: convolution of bytes as the product of the filters with panels of the window's elements.
#include "vm/kernels/byte/byte_conv.h"

#include <algorithm>

#include "vm/kernels/builtins.h"

namespace dyn::vm::kernels {
namespace {

template <typename Word>
void copyEverySecond(Word* to, const Word* from, int64_t count) {
  constexpr int64_t kWords = 16 / sizeof(Word);
  typedef Word Words __attribute__((vector_size(16), aligned(1), may_alias));
  int64_t i = 0;
  for (; i + kWords < count; i += kWords) {  // what is read ends before the last word's neighbour
    const Words low = *reinterpret_cast<const Words*>(from + 2 * i),
                high = *reinterpret_cast<const Words*>(from + 2 * i + kWords);
    if constexpr (kWords == 4)
      *reinterpret_cast<Words*>(to + i) = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    else
      *reinterpret_cast<Words*>(to + i) = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}

// With what panels of positions are made of.
struct PanelledConvolution : ByteConvolution {
  int64_t mixedChannels = 0;  // of an input whose channels stand side by side: whole words of four
  // A tap's inputs for output positions [begin, end), row after row of the output: visit(begins, before,
  // within, after, from): so many positions outside of the input, inside of it, and outside again, the first
  // inside at `from` of a channel's elements.
  template <typename Visit>
  void forEachRun(int64_t tap, int64_t begin, int64_t end, const Visit& visit) const {
    const int64_t tapD = tap / (c.kernel[1] * c.kernel[2]), tapH = tap / c.kernel[2] % c.kernel[1],
                  shift = tap % c.kernel[2] * c.dilation[2] - c.pad[2], width = c.output[2];
    const Places inside = placesInside(shift, c.stride[2], c.input[2]);
    int64_t column = begin % width, row = begin / width % c.output[1], slice = begin / width / c.output[1];
    for (int64_t at = begin; at < end; ++row) {
      if (row == c.output[1]) {
        row = 0;
        ++slice;
      }
      const int64_t count = std::min(width - column, end - at);
      const int64_t d = slice * c.stride[0] + tapD * c.dilation[0] - c.pad[0],
                    h = row * c.stride[1] + tapH * c.dilation[1] - c.pad[1];
      const bool none = d < 0 || d >= c.input[0] || h < 0 || h >= c.input[1];
      const Places here = none ? Places{column, column} : inside.within(column, column + count);
      const int64_t before = here.low - column, within = here.high - here.low;
      visit(at - begin, before, within, count - before - within,
            (d * c.input[1] + h) * c.input[2] + here.low * c.stride[2] + shift);
      at += count;
      column = 0;
    }
  }

  // One tap of one channel for output positions [begin, end): the input's bytes, `padding` outside of it.
  void stage(const uint8_t* channel, int64_t tap, int64_t begin, int64_t end, uint8_t padding,
             uint8_t* to) const {
    forEachRun(tap, begin, end, [&](int64_t at, int64_t before, int64_t within, int64_t after, int64_t from) {
      fillRun(to + at, padding, before);
      if (within > 0 && c.stride[2] == 1)
        copyRun(to + at + before, channel + from, within);
      else
        for (int64_t i = 0; i < within; ++i) to[at + before + i] = channel[from + i * c.stride[2]];
      fillRun(to + at + before + within, padding, after);
    });
  }

  // Output positions [begin, end) as one panel, tap after tap, of an input whose channels stand side by side
  // in words.
  template <typename Word>
  void fillPanel(const Word* mixed, Word padding, int64_t begin, int64_t end, Word* panel) const {
    const int64_t perTap = mixedChannels / static_cast<int64_t>(sizeof(Word)), width = family.panelWidth,
                  stride = c.stride[2];
    if (end - begin < width) std::fill_n(panel, c.taps() * perTap * width, Word{0});
    for (int64_t tap = 0; tap < c.taps(); ++tap, panel += perTap * width)
      forEachRun(tap, begin, end,
                 [&](int64_t at, int64_t before, int64_t within, int64_t after, int64_t from) {
                   const Word* source = mixed + from;
                   Word* to = panel + at;
                   for (int64_t word = 0; word < perTap; ++word, source += c.inputSize(), to += width) {
                     std::fill_n(to, before, padding);
                     if (within > 0 && stride == 1)
                       copyRun(reinterpret_cast<uint8_t*>(to + before),
                               reinterpret_cast<const uint8_t*>(source), within * int64_t{sizeof(Word)});
                     else if (stride == 2)
                       copyEverySecond(to + before, source, within);
                     else
                       for (int64_t i = 0; i < within; ++i) to[before + i] = source[i * stride];
                     std::fill_n(to + before + within, after, padding);
                   }
                 });
  }

  // The last channels, fewer than a word holds, and the zero point for those that are not there.
  void mixFew(const uint8_t* from, int64_t there, uint8_t* to) const {
    constexpr int64_t kColumns = 256;
    const int64_t size = c.inputSize();
    uint8_t rows[4 * kColumns];
    std::fill(std::begin(rows), std::end(rows), static_cast<uint8_t>(zeroOfX()));
    for (int64_t at = 0; at < size; at += kColumns) {
      const int64_t count = std::min(kColumns, size - at);
      for (int64_t i = 0; i < there; ++i) copyRun(rows + i * kColumns, from + i * size + at, count);
      mixChannels(family, rows, kColumns, count, rightFlip(x->dtype()), to + at * family.group);
    }
  }

  // Panels of output positions [first, first + count) of an input of `plane`.
  void fillPanels(const uint8_t* mixed, int64_t first, int64_t count, int8_t* panels) const {
    const int64_t width = family.panelWidth, depth = mixedChannels * c.taps(),
                  words = wordCount(family, depth);
    const auto byte = static_cast<uint8_t>(zeroOfX() ^ rightFlip(x->dtype()));
    for (int64_t at = 0; at < count; at += width, panels += panelBytes(family, depth)) {
      const int64_t begin = first + at, end = first + std::min(at + width, count);
      if (family.group == 4)
        fillPanel(reinterpret_cast<const uint32_t*>(mixed), byte * uint32_t{0x01010101}, begin, end,
                  reinterpret_cast<uint32_t*>(panels));
      else
        fillPanel(reinterpret_cast<const uint16_t*>(mixed), static_cast<uint16_t>(byte * 0x0101), begin, end,
                  reinterpret_cast<uint16_t*>(panels));
      sumPanel(family, words, panels);
    }
  }
};

// Blocks of output positions, and scratch memory in elements of four bytes.
struct PanelPlan {
  int64_t tasks, blockPanels, blocks, leading;
  int64_t wordElements, termElements, mixedElements, stageElements, packElements, zeroElements, tileElements;
  bool pointwise, mixes;
  int64_t mixedChannels, depth;

  PanelPlan(const ByteGemmFamily& family, const FlatCall& call, const Convolution& c) {
    constexpr int64_t kBlockBytes = 1 << 18;
    pointwise = c.isPointwise();
    // Channels are filled up to words, whose last bytes count nothing, unless that were half of the work
    // again.
    mixedChannels = (c.channels + 3) / 4 * 4;
    mixes = !pointwise && c.channels > 0 && 2 * mixedChannels <= 3 * c.channels;
    depth = mixes ? mixedChannels * c.taps() : c.depth();
    const int64_t width = family.panelWidth, filters = c.groups * c.filters,
                  allPanels = panelCount(family, c.outputSize());
    leading = leadingWords(family, depth);
    tasks = worthwhileTasks(call, c.steps() / family.group);
    blockPanels = std::clamp<int64_t>(kBlockBytes / panelBytes(family, depth), 1, allPanels);
    while (blockPanels > 1 && c.batch * c.groups * ((allPanels + blockPanels - 1) / blockPanels) < tasks)
      blockPanels = (blockPanels + 1) / 2;
    blocks = (allPanels + blockPanels - 1) / blockPanels;
    wordElements = filters * leading;
    termElements = wholeLines(2 * filters);
    zeroElements = wholeLines(width);
    mixedElements = mixes ? wholeLines(c.batch * c.groups * mixedChannels * c.inputSize() / 4 + 1) : 0;
    stageElements = pointwise || mixes ? 0 : wholeLines((depth * blockPanels * width + 3) / 4);
    packElements =
        std::max(wholeLines(blockPanels * panelBytes(family, depth) / 4), wholeLines(depth / 4 + 1));
    tileElements = isApart(call.result(0)) ? ByteProduct::kTileElements : 0;
  }
  int64_t shared() const { return wordElements + termElements + zeroElements + mixedElements; }
  int64_t own() const { return stageElements + packElements + tileElements; }
};

// Units are (image, group, block of output positions): the block's windows become panels, all filters are
// multiplied with them.
Status byPanels(FlatCall& memory, const ByteConvolution& asked) {
  const Convolution& c = asked.c;
  const ByteGemmFamily& family = asked.family;
  const PanelPlan plan(family, asked.call, c);
  const PanelledConvolution p{asked, plan.mixedChannels};
  // Weights as they are read, in this order already.
  const bool ordered = p.channelsLast || !plan.mixes || c.taps() == 1,
             inPlace = ordered && plan.depth == c.depth() && areWords(family, p.w, plan.depth);
  const int64_t depth = plan.depth, width = family.panelWidth, leading = inPlace ? depth / 4 : plan.leading,
                filters = c.groups * c.filters, tasks = plan.tasks, blocks = plan.blocks,
                block = plan.blockPanels * width, planeBytes = plan.mixedChannels * c.inputSize(),
                wordElements = plan.wordElements, termElements = plan.termElements,
                stageElements = plan.stageElements;
  const bool pointwise = plan.pointwise, mixes = plan.mixes;
  Scratch scratch(memory, plan.shared(), tasks, plan.own());
  if (!scratch) return scratch.status();
  auto* words = reinterpret_cast<uint32_t*>(scratch.shared());
  auto* terms = reinterpret_cast<int32_t*>(words + wordElements);
  int32_t* zeros = terms + termElements;
  std::fill_n(zeros, width, rightZero(p.x->dtype(), p.zeroOfX()));
  p.call.split(filters, tasks, [&](int64_t begin, int64_t end) {
    // Channels stand last in what they are multiplied with.
    auto* turned = reinterpret_cast<uint8_t*>(scratch.next());
    for (int64_t filter = begin; filter < end; ++filter) {
      const uint8_t* row = p.w->as<uint8_t>() + filter * c.depth();
      const int32_t zero = leftZero(p.w->dtype(), zeroAt(p.zeroW, filter));
      if (inPlace) {
        setRowTerms(sumLeftRow(row, depth), depth, zero, terms + 2 * filter);
        continue;
      }
      if (mixes && !p.channelsLast) {
        if (plan.mixedChannels != c.channels) std::fill_n(turned, depth, uint8_t{0});
        for (int64_t channel = 0; channel < c.channels; ++channel)
          for (int64_t tap = 0; tap < c.taps(); ++tap)
            turned[tap * plan.mixedChannels + channel] = row[channel * c.taps() + tap];
        row = turned;
      }
      const int32_t sum =
          copyLeftRow(family, row, depth, 1, leftFlip(p.w->dtype()), words + filter * leading);
      setRowTerms(sum, depth, zero, terms + 2 * filter);
    }
  });

  const uint32_t* leftWords = inPlace ? reinterpret_cast<const uint32_t*>(p.w->data) : words;
  scratch.rewind();
  auto* mixed = reinterpret_cast<uint8_t*>(zeros + wholeLines(width));
  const uint8_t flip = rightFlip(p.x->dtype());
  if (mixes) {
    const int64_t rows = plan.mixedChannels / family.group, size = c.inputSize();
    p.call.split(c.batch * c.groups * rows, tasks, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t plane = row / rows, channel = row % rows * family.group,
                      there = std::clamp<int64_t>(c.channels - channel, 0, family.group);
        const uint8_t* from = p.x->as<uint8_t>() + (plane * c.channels + channel) * size;
        uint8_t* to = mixed + row * family.group * size;
        if (there == family.group)
          mixChannels(family, from, size, size, flip, to);
        else
          p.mixFew(from, there, to);
      }
    });
  }

  EpilogueFault fault;
  const auto padding = static_cast<uint8_t>(p.zeroOfX());
  p.call.split(c.batch * c.groups * blocks, tasks, [&](int64_t begin, int64_t end) {
    auto* staged = reinterpret_cast<uint8_t*>(scratch.next());
    auto* panels = reinterpret_cast<int8_t*>(staged + stageElements * 4);
    auto* tile = reinterpret_cast<int32_t*>(panels + plan.packElements * 4);
    for (int64_t unit = begin; unit < end && !p.call.cancelled(); ++unit) {
      const int64_t plane = unit / blocks, first = unit % blocks * block,
                    count = std::min(block, c.outputSize() - first), group = plane % c.groups,
                    image = plane / c.groups, used = panelCount(family, count);
      const uint8_t* input = p.inputOf(image, group);
      if (pointwise) {
        packBytePanels(family, input + first, depth, count, c.inputSize(), 1, flip, 0, used, panels);
      } else if (mixes) {
        p.fillPanels(mixed + plane * planeBytes, first, count, panels);
      } else {
        for (int64_t k = 0; k < depth; ++k)
          p.stage(input + k / c.taps() * c.inputSize(), k % c.taps(), first, first + count, padding,
                  staged + k * block);
        packBytePanels(family, staged, depth, count, block, 1, flip, 0, used, panels);
      }
      ByteProduct product;
      product.family = &family;
      product.columns = count;
      product.depth = depth;
      product.words = leftWords + group * c.filters * leading;
      product.leading = leading;
      product.rowTerms = terms + group * c.filters * 2;
      product.panels = panels;
      product.zeros = zeros;
      product.c = plan.tileElements > 0 ? tile : p.y + plane * c.filters * c.outputSize() + first;
      product.leadingC = c.outputSize();
      product.firstRow = plane * c.filters;
      product.firstColumn = first;
      if (p.epilogue) product.epilogue = &p.epilogue;
      fault.note(product.run(0, c.filters, 0, used));
    }
  });
  return fault.status();
}

using Call = calls::Byteconv;

Status readCall(const FlatCall& call, Convolution& c) {
  const TensorView *x = call.argument(Call::x), *w = call.argument(Call::weights),
                   *zeroX = call.argument(Call::zeroX), *zeroW = call.argument(Call::zeroW),
                   *y = call.result(0);
  if (!x || !isByte(x->dtype())) return badArgument("byteconv", Call::x, "u8 or i8", x);
  if (!w || !isByte(w->dtype())) return badArgument("byteconv", Call::weights, "u8 or i8", w);
  const auto n = call.numbersOf<Call>();
  const WindowFields window = windowOf<Call>(call, n);
  std::array<int64_t, 5> turned;  // as [M, C/group, kernel...]
  std::span<const int64_t> weights = w->sizes();
  if (n.channelsLast && w->rank > 2 && w->rank <= turned.size()) {
    std::copy(weights.begin(), weights.end(), turned.begin());
    std::rotate(turned.begin() + 1, turned.begin() + w->rank - 1, turned.begin() + w->rank);
    weights = std::span(turned).first(w->rank);
  }
  if (Status status = describeWindow(window, weights, false, c); !status.ok()) return status;
  if (n.channelsLast && c.channels % 4 != 0)
    return badArgument("byteconv", Call::weights, "a multiple of four channels, as they stand last", w);
  if (Status status = describeShapes(window, x, y, false, c); !status.ok()) return status;
  if (Status status = checkProductResult(y, n.epilogue != 0); !status.ok()) return status;
  if (zeroX && (zeroX->dtype() != x->dtype() || zeroX->elements != 1))
    return badArgument("byteconv", Call::zeroX, "one zero point of the input's element type", zeroX);
  if (zeroW &&
      (zeroW->dtype() != w->dtype() || (zeroW->elements != 1 && zeroW->elements != c.groups * c.filters)))
    return badArgument("byteconv", Call::zeroW, "one zero point, or one for each output channel", zeroW);
  return okStatus();
}

}  // namespace

Status byteConvScratchBy(const ByteGemmFamily& family, const FlatCall& call, int64_t& elements) {
  Convolution c;
  if (Status status = readCall(call, c); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  if (isDepthwise(c)) {
    elements = byteDepthwiseScratch(call, c);
    return okStatus();
  }
  const PanelPlan plan(family, call, c);
  elements = scratchElements(plan.shared(), plan.tasks, plan.own());
  return okStatus();
}

Status byteConvBy(const ByteGemmFamily& family, FlatCall& call) {
  Convolution c;
  if (Status status = readCall(call, c); !status.ok()) return status;
  TensorView* y = call.result(0);
  const auto n = call.numbersOf<Call>();
  Epilogue epilogue;
  if (Status status = epilogue.bindOf<Call>(call, n); !status.ok()) return status;
  if (y->elements == 0) return okStatus();
  const ByteConvolution p{call,
                          family,
                          c,
                          call.argument(Call::x),
                          call.argument(Call::weights),
                          call.argument(Call::zeroX),
                          call.argument(Call::zeroW),
                          y->as<int32_t>(),
                          epilogue,
                          n.channelsLast};
  return isDepthwise(c) ? byteDepthwise(call, p) : byPanels(call, p);
}

Status byteconvScratch(const FlatCall& call, int64_t& elements) {
  return byteConvScratchBy(*byteGemmFamilies().front(), call, elements);
}
Status byteconv(FlatCall& call) { return byteConvBy(*byteGemmFamilies().front(), call); }

}  // namespace dyn::vm::kernels
