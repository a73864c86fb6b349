#include "compiler/passes/tiling/slice_regions.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/live_bytes.h"
#include "compiler/passes/tiling/slices.h"

namespace dyn::passes {

namespace {

constexpr int64_t kUsualSliceSide = 224;  // of images
constexpr int64_t kLeastOfLargest = 32;   // what is that much smaller than the largest is left alone
constexpr size_t kMostRegions = 4;        // of one run
constexpr int64_t kLeastWindows = 2;      // convolutions of a region

class RegionFinder {
 public:
  RegionFinder(const Module& module, const Function& function, Dim batch, BatchRows& rows, int64_t cacheBytes)
      : module_(module),
        function_(function),
        batch_(batch),
        rows_(rows),
        cacheBytes_(cacheBytes),
        numbers_([this](SymbolId s) { return usualSize(module_, s, kUsualSliceSide); }) {}

  std::vector<SliceRun> find() {
    const auto windows = std::count_if(function_.ops.begin(), function_.ops.end(),
                                       [](const Op* op) { return isWindowed(*op); });
    if (windows < kLeastWindows) return {};
    rows_.note(function_);
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      const Op& op = *function_.ops[i];
      rows_.note(op);
      for (const ValueDef& r : op.results) makers_[r.id] = &op;
      for (ValueId v : op.operands) lastUse_[v] = i;
      if (op.def->traits.packsWeights)
        for (SymbolId s : symbolsOf(op.results[0].type)) packed_.insert(s);
    }
    for (ValueId v : function_.results) lastUse_[v] = SIZE_MAX;
    LiveBytes live(module_);
    live.describe(function_);
    for (Dim sum : live.sums(function_.ops)) {
      imageBytes_.push_back(ofOneImage(sum));
      usualBytes_.push_back(numbers_.value(imageBytes_.back()).value_or(0));
    }
    for (const Parameter& p : function_.parameters) noteSizes(p.type);
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      take(i);
      noteSizes(*function_.ops[i]);
    }
    endRun();
    return std::move(runs_);
  }

 private:
  // Of a sum over the batch, that of one image; what is there once for all images is left out.
  Dim ofOneImage(Dim d) const {
    const auto of = [&](int64_t images) {
      return substitute(d, [&](SymbolId s) {
        if (packed_.count(s)) return d.context().constant(0);
        return batch_.isSymbol() && s == batch_.symbol() ? d.context().constant(images) : Dim();
      });
    };
    return batch_.isSymbol() ? of(1) - of(0) : floorDiv(of(1), batch_);
  }
  int64_t usualBytesOf(Type type) {
    const Dim count = elementCount(module_.context->dims(), type.dims());
    return numbers_.value(ofOneImage(count)).value_or(0) * storageBytes(type.dtype());
  }

  void take(size_t i) {
    const Op& op = *function_.ops[i];
    if (rows_.readsRows(op) && rows_.whyNot(op).empty() && !makesSizes(op)) {
      if (members_.empty()) run_.begin = i;
      members_.push_back(i);
      for (const ValueDef& r : op.results) made_.insert(r.id);
    } else if (!members_.empty() && !rows_.readsRows(op) && mayStandBefore(op, made_)) {
      run_.before.push_back(i);
    } else {
      endRun();
    }
  }

  void noteSizes(Type type) {
    for (SymbolId s : symbolsOf(type)) sizes_.insert(s);
  }
  void noteSizes(const Op& op) {
    for (const ValueDef& r : op.results) noteSizes(r.type);
    if (op.def != &ops::bind_dimsOp) return;
    for (Dim d : op.attributes.dims("dims"))
      for (SymbolId s : symbolsOf(d)) sizes_.insert(s);
  }
  // A result has a size that is known by that result alone, such as that of a reshape to numbers computed:
  // neither its slices nor what is moved before the run could ask for it.
  bool makesSizes(const Op& op) const {
    for (const ValueDef& r : op.results)
      for (SymbolId s : symbolsOf(r.type))
        if (sizes_.count(s) == 0) return true;
    return false;
  }

  void endRun() {
    if (!members_.empty()) {
      run_.end = members_.back() + 1;
      std::erase_if(run_.before, [&](size_t i) { return i >= run_.end; });
      cut();
      if (!run_.regions.empty()) runs_.push_back(std::move(run_));
    }
    run_ = {};
    members_.clear();
    made_.clear();
  }

  // What is made up to member `last` and read later, in bytes of a usual image.
  int64_t crossing(size_t first, size_t last) {
    int64_t bytes = 0;
    for (size_t k = first; k <= last; ++k)
      for (const ValueDef& r : function_.ops[members_[k]]->results)
        if (lastUse_[r.id] > members_[last]) bytes += usualBytesOf(r.type);
    return bytes;
  }

  void cut() {
    int64_t largest = 0;
    for (size_t start = 0; start < members_.size() && run_.regions.size() < kMostRegions;) {
      int64_t peak = 0;
      for (size_t k = start; k < members_.size(); ++k) peak = std::max(peak, usualBytes_[members_[k]]);
      largest = std::max(largest, peak);
      if (peak < largest / kLeastOfLargest) return;
      size_t end = members_.size() - 1;
      while (end > start && usualBytes_[members_[end]] <= peak / 2) --end;
      end = narrowest(start, end);
      if (isWorthIt(start, end)) addRegion(start, end);
      start = end + 1;
    }
  }

  // Of the places behind `end`, within the next layers.
  size_t narrowest(size_t start, size_t end) {
    constexpr size_t kLayers = 8;
    size_t best = end;
    int64_t least = crossing(start, end);
    for (size_t k = end + 1; k < std::min(end + kLayers, members_.size()); ++k)
      if (const int64_t bytes = crossing(start, k); bytes < least) {
        least = bytes;
        best = k;
      }
    return best;
  }

  // Convolutions, whose images are read again: more than what the region hands on, and than the weights.
  bool isWorthIt(size_t start, size_t end) {
    int64_t inside = 0, peak = 0, windows = 0;
    std::unordered_set<ValueId> weights;
    for (size_t k = start; k <= end; ++k) {
      const Op& op = *function_.ops[members_[k]];
      peak = std::max(peak, usualBytes_[members_[k]]);
      windows += isWindowed(op);
      for (const ValueDef& r : op.results)
        if (lastUse_[r.id] <= members_[end]) inside += usualBytesOf(r.type);
      for (ValueId v : op.operands)
        if (v != kNoValue && rows_.kindOf(v) == BatchRows::Kind::none) weights.insert(v);
    }
    int64_t weightBytes = 0;
    for (ValueId v : weights) weightBytes += constantBytes(v);
    const int64_t images = std::max<int64_t>(1, cacheBytes_ / std::max<int64_t>(1, peak));
    // All of it fits.
    const Dim most = imageBytes_[members_[start]];
    if (batch_.isConstant() && most.isConstant() && peak <= cacheBytes_ / *batch_.constant()) return false;
    return windows >= kLeastWindows && inside >= 2 * crossing(start, end) &&
           inside * images >= 2 * weightBytes;
  }

  static bool isWindowed(const Op& op) {
    const auto windowed = [](const Op& o) {
      return o.def->traits.flatPositions || o.def == &ops::conv_integer_packedOp;
    };
    if (op.def != &ops::fusedOp) return windowed(op);
    const std::vector<const Op*>& inner = op.regions[0]->ops;
    return std::any_of(inner.begin(), inner.end(), [&](const Op* o) { return windowed(*o); });
  }

  int64_t constantBytes(ValueId v) const {
    auto maker = makers_.find(v);
    if (maker != makers_.end() && maker->second->def->traits.packsWeights)
      maker = makers_.find(maker->second->operands[0]);
    if (maker == makers_.end()) return 0;
    const HostTensor* tensor = maker->second->attributes.tensor("value");
    return tensor ? tensor->elementCount() * storageBytes(tensor->dtype()) : 0;
  }

  void addRegion(size_t start, size_t end) {
    SliceRegion region;
    for (size_t k = start; k <= end; ++k) {
      const size_t i = members_[k];
      region.members.push_back(i);
      if (region.imageBytes && usualBytes_[i] <= region.usualImageBytes) continue;
      region.imageBytes = imageBytes_[i];
      region.usualImageBytes = usualBytes_[i];
    }
    run_.regions.push_back(std::move(region));
  }

  const Module& module_;
  const Function& function_;
  const Dim batch_;
  std::unordered_set<SymbolId> packed_;  // sizes of packed weights
  std::unordered_set<SymbolId> sizes_;   // known before the operation in question
  BatchRows& rows_;
  const int64_t cacheBytes_;
  DimNumbers numbers_;
  std::unordered_map<ValueId, const Op*> makers_;
  std::unordered_map<ValueId, size_t> lastUse_;
  std::vector<Dim> imageBytes_;  // by operation: what lives of one image
  std::vector<int64_t> usualBytes_;
  SliceRun run_;
  std::vector<size_t> members_;
  std::unordered_set<ValueId> made_;
  std::vector<SliceRun> runs_;
};

}  // namespace

std::vector<SliceRun> findSliceRuns(const Module& module, const Function& function, Dim batch,
                                    BatchRows& rows, int64_t cacheBytes) {
  return RegionFinder(module, function, batch, rows, cacheBytes).find();
}

}  // namespace dyn::passes
