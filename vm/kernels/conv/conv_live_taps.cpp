// The way direct in images so small that some taps meet nothing but padding: of a 3x3 window over one pixel,
// eight of nine.
//
// Sums over such taps are zero, and their weights are most of what would be read. The others' weights are
// copied side by side, and the window that they make is computed like any other.
#include <optional>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// Of a window that keeps more taps than this, copying costs more than it saves.
constexpr int64_t kKept = 2, kOfTaps = 3;

// The taps [low, high) of an axis that meet the input somewhere, and those between; one at least.
Places liveTaps(const Convolution& c, size_t axis) {
  const auto meets = [&](int64_t tap) {
    const Places places = placesInside(tap * c.dilation[axis] - c.pad[axis], c.stride[axis], c.input[axis])
                              .within(0, c.output[axis]);
    return places.low < places.high;
  };
  Places live{0, c.kernel[axis]};
  while (live.low + 1 < live.high && !meets(live.low)) ++live.low;
  while (live.high - 1 > live.low && !meets(live.high - 1)) --live.high;
  return live;
}

struct LiveWindow {
  Convolution c;
  std::array<int64_t, 3> first{};  // its first tap in the whole window
};

// Where it is worth it. Sparse windows pass over such taps by themselves.
std::optional<LiveWindow> liveWindow(const Convolution& c) {
  if (c.isSparse()) return std::nullopt;
  LiveWindow live{c};
  for (size_t i = 0; i < 3; ++i) {
    if (c.kernel[i] < 1) return std::nullopt;
    const Places taps = liveTaps(c, i);
    live.first[i] = taps.low;
    live.c.kernel[i] = taps.high - taps.low;
    live.c.pad[i] -= taps.low * c.dilation[i];
  }
  return live.c.taps() * kOfTaps <= c.taps() * kKept ? std::optional(live) : std::nullopt;
}

// Weights of one panel, packed for the way direct. The rows of taps lie too far apart for the processor to
// foresee them, so those of channels ahead are asked for.
void copyPanel(const Convolution& c, const LiveWindow& live, int64_t width, const float* from, float* to) {
  constexpr int64_t kAhead = 8, kLine = 64 / sizeof(float);
  const std::array<int64_t, 3>&kernel = live.c.kernel, &first = live.first;
  const int64_t ahead = kAhead * c.taps() * width, row = kernel[2] * width;
  for (int64_t channel = 0; channel < c.channels; ++channel, from += c.taps() * width)
    for (int64_t d = 0; d < kernel[0]; ++d)
      for (int64_t h = 0; h < kernel[1]; ++h) {
        const int64_t tap = ((first[0] + d) * c.kernel[1] + first[1] + h) * c.kernel[2] + first[2];
        const float* taps = from + tap * width;
        for (int64_t i = 0; i < row; i += kLine) __builtin_prefetch(taps + ahead + i);
        to = std::copy_n(taps, row, to);
      }
}

Status direct(FlatCall& memory, const ConvolutionCall& work) {
  return work.c.makesChannelsLast() ? convDirectLast(memory, work) : convDirect(memory, work);
}

int64_t directScratch(const ConvolutionCall& work) {
  return work.c.makesChannelsLast() ? convDirectLastScratch(work) : convDirectScratch(work);
}

ConvolutionCall with(const ConvolutionCall& work, const Convolution& c, const float* weights) {
  return {work.call, c, work.x, work.inputEnd, weights, work.bias, work.y, work.epilogue};
}

}  // namespace

std::optional<Convolution> middleTapOf(const Convolution& c) {
  if (c.kernel != std::array<int64_t, 3>{1, 3, 3}) return std::nullopt;
  const std::optional<LiveWindow> live = liveWindow(c);
  return live && live->first == std::array<int64_t, 3>{0, 1, 1} && live->c.isPointwise()
             ? std::optional(live->c)
             : std::nullopt;
}

int64_t convLiveTapsScratch(const ConvolutionCall& work) {
  const std::optional<LiveWindow> live = liveWindow(work.c);
  if (!live) return directScratch(work);
  return scratchElements(packedElementCount(live->c, Way::direct), 0, 0) +
         directScratch(with(work, live->c, nullptr));
}

Status convLiveTaps(FlatCall& memory, const ConvolutionCall& work) {
  const std::optional<LiveWindow> live = liveWindow(work.c);
  if (!live) return direct(memory, work);
  const Convolution& c = work.c;
  const int64_t elements = packedElementCount(live->c, Way::direct);
  Scratch scratch(memory, elements, 0, 0);
  if (!scratch) return scratch.status();
  const FilterPanels panels(c);
  const int64_t tasks = worthwhileTasks(work.call, static_cast<double>(elements));
  work.call.split(c.groups * panels.count(), static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t panel = unit % panels.count(),
                    lane = unit / panels.count() * panels.lanes() + panels.first(panel);
      copyPanel(c, *live, panels.width(panel), work.weights + lane * c.depth(),
                scratch.shared() + lane * live->c.depth());
    }
  });
  return direct(memory, with(work, live->c, scratch.shared()));
}

}  // namespace dyn::vm::kernels
