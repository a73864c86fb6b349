// Which images lie with their channels last: regions of convolutions, and of what stands between them, that
// hang together by their values; and what each operation of such a region becomes.
//
//   const ImageRegions regions(function, ir, lanes, /*always=*/false);
//   if (regions.turnedConvolutions() > 0) ... switch (regions.roleOf(op)) ...
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ops/rules/window_rules.h"
#include "compiler/passes/layout/layout_cost.h"
#include "compiler/passes/layout/spread_window.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn::passes {

// spread: a transposed convolution (spread_window.h); bytes: a convolution of them; lookup: an element of a
// constant vector for each of an image.
enum class Role : uint8_t {
  none,
  pointwise,
  window,
  spread,
  bytes,
  pool,
  elementwise,
  lookup,
  norm,
  concat,
  sum
};

contraction::ConvolutionWindow windowOf(const Op& conv, const Shape& weights, const Window& window);

class ImageRegions {
 public:
  static constexpr int kRank = 4;

  // `lanes`: of a vector of f32. Unless `always`, a region is turned only where that costs less.
  ImageRegions(const Function& function, const IrContext& ir, int64_t lanes, bool always);

  int64_t turnedConvolutions() const { return turned_; }
  // What was decided of each region, and by what cost.
  const std::vector<std::string>& remarks() const { return remarks_; }

  // none: the operation is in no region that is turned.
  Role roleOf(const Op& op) const;

  const Type& typeOf(ValueId v) const { return types_.at(v); }
  const HostTensor* constantOf(ValueId v) const;
  // An image of one place: both layouts are the same memory.
  bool isOnePlace(ValueId v) const;
  // Less their zero points; nothing where these are not known or the differences are not of 8 bits.
  std::optional<HostTensor> signedWeights(const Op& op) const;
  // Of an operation whose role is spread.
  const SpreadWindow& spreadOf(const Op& op) const { return spreads_.at(&op); }

 private:
  struct Region {
    explicit Region(int64_t lanes) : cost(lanes) {}
    int64_t convolutions = 0, byteConvolutions = 0, borders = 0;
    std::string first;  // its first convolution's result
    LayoutCost cost;
  };

  bool isImage(ValueId v) const;
  Role kindOf(const Op& op);
  bool spreads(const Op& op);
  // Along an axis go vectors: single numbers do not.
  bool knowsAxes(const Op& op) const;
  // Over both spatial axes, and no other.
  bool foldsPlaces(const Op& op) const;
  Role kindOfConvolution(const Op& op) const;
  const HostTensor* constantWeights(const Op& op) const;
  // Of one group, or depthwise, with weights that are i8 once their zero points are taken off.
  bool takesBytes(const Op& op) const;
  // The images that an operation reads and makes, weights and constants aside.
  std::vector<ValueId> imagesOf(const Op& op) const;

  void findRegions();
  ValueId root(ValueId v);
  void addConvolution(Region& region, const Op& op, Role role) const;

  const Function& function_;
  const IrContext& ir_;
  const int64_t lanes_;
  const bool always_;
  std::vector<std::string> remarks_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<const Op*, Role> roles_;  // once regions are found: of those that are turned
  std::unordered_map<const Op*, SpreadWindow> spreads_;
  std::unordered_map<ValueId, ValueId> region_;  // union-find over images
  int64_t turned_ = 0;
};

}  // namespace dyn::passes
