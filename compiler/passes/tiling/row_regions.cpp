#include "compiler/passes/tiling/row_regions.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compiler/dims/dim_numbers.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/tiling/slices.h"

namespace dyn::passes {

namespace {

constexpr int64_t kUsualSide = 512;  // of images
constexpr size_t kMostMembers = 16;  // of a region
// Windows behind each other compute the more twice; what crosses between them is narrow in networks of pairs.
constexpr int64_t kMostWindows = 1;

// Nanoseconds: a byte that is written to memory and read from there, a product of a well filled
// kernel, a launch. Only their ratios are used.
constexpr double kByteNs = 0.1, kProductNs = 0.02, kLaunchNs = 1000;
// A region must gain that share of its time.
constexpr double kLeastGain = 0.1;
// What planes cost that stay must be that much more than what is computed twice.
constexpr double kLeastOfTwice = 2;

// Which rows of a value `count` rows of the results need: perRow * count + more.
struct Needed {
  int64_t perRow = 0, more = 0;
};

class RowRegionFinder {
 public:
  RowRegionFinder(const Module& module, const Function& function, RowMembers& rows, RowLimits limits)
      : module_(module), function_(function), rows_(rows), limits_(limits), numbers_([this](SymbolId s) {
          return usualSize(module_, s, kUsualSide);
        }) {}

  std::vector<RowRun> find() {
    rows_.note(function_);
    for (size_t i = 0; i < function_.ops.size(); ++i)
      for (ValueId v : function_.ops[i]->operands) lastUse_[v] = i;
    for (ValueId v : function_.results) lastUse_[v] = SIZE_MAX;
    for (size_t i = 0; i < function_.ops.size(); ++i) take(i);
    endRun();
    return std::move(runs_);
  }

 private:
  Dim imageBytes(ValueId v) const {
    const Type type = rows_.typeOf(v);
    const Shape& dims = type.dims();
    return elementCount(module_.context->dims(), Shape(dims.begin() + 1, dims.end())) *
           storageBytes(type.dtype());
  }
  double usualOf(Dim d) { return static_cast<double>(numbers_.value(d).value_or(0)); }

  void take(size_t i) {
    const Op& op = *function_.ops[i];
    rows_.note(op);
    if (std::optional<RowMember> member = rows_.memberOf(i, op)) {
      if (members_.empty()) run_.begin = i;
      members_.push_back(*std::move(member));
      for (const ValueDef& r : op.results) made_.insert(r.id);
    } else if (!members_.empty() && mayStandBefore(op, made_)) {
      run_.before.push_back(i);
    } else {
      endRun();
    }
  }

  void endRun() {
    if (members_.size() > 1) {
      run_.end = members_.back().at + 1;
      std::erase_if(run_.before, [&](size_t i) { return i >= run_.end; });
      divide();
      if (!run_.regions.empty()) runs_.push_back(std::move(run_));
    }
    run_ = {};
    members_.clear();
    made_.clear();
  }

  ValueId resultOf(size_t k) const { return function_.ops[members_[k].at]->results[0].id; }
  // Read behind member `end`.
  bool leaves(size_t k, size_t end) const {
    const auto last = lastUse_.find(resultOf(k));
    return last == lastUse_.end() || last->second > members_[end].at;
  }

  // The division that gains most: best_[k] of the first k members.
  void divide() {
    const size_t count = members_.size();
    std::vector<double> best(count + 1, 0);
    std::vector<size_t> from(count + 1, 0);
    for (size_t end = 0; end < count; ++end) {
      best[end + 1] = best[end];
      from[end + 1] = end;
      for (size_t start = end; start-- > 0 && end - start < kMostMembers;) {
        const double gain = gainOf(start, end, nullptr);
        if (gain <= 0 || best[start] + gain <= best[end + 1]) continue;
        best[end + 1] = best[start] + gain;
        from[end + 1] = start;
      }
    }
    for (size_t k = count; k > 0; k = from[k]) {
      if (k - from[k] < 2) continue;
      RowRegion region;
      gainOf(from[k], k - 1, &region);
      for (size_t i = from[k]; i < k; ++i) region.members.push_back(members_[i]);
      run_.regions.push_back(std::move(region));
    }
    std::reverse(run_.regions.begin(), run_.regions.end());
  }

  // What rows of the results need of every value; false: not all of them have as many.
  bool followRows(size_t start, size_t end, std::unordered_map<ValueId, Needed>& needed) const {
    const RowMember& last = members_[end];
    for (size_t k = end + 1; k-- > start;) {
      const RowMember& member = members_[k];
      if (member.images != last.images) return false;
      const Op& op = *function_.ops[member.at];
      if (leaves(k, end)) {
        if (member.rows != last.rows) return false;
        Needed& own = needed.try_emplace(resultOf(k), Needed{1, 0}).first->second;
        if (own.perRow != 1) return false;
      }
      const auto own = needed.find(resultOf(k));
      if (own == needed.end()) return false;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        Needed read = own->second;
        if (member.operands[i] == RowKind::read) {
          const WindowAxis& w = *member.window;
          read.more = (read.more - 1) * w.stride + (*w.kernel.constant() - 1) * w.dilation + 1;
          read.perRow *= w.stride;
        } else if (member.operands[i] != RowKind::made) {
          continue;
        }
        Needed& all = needed.try_emplace(op.operands[i], read).first->second;
        if (all.perRow != read.perRow) return false;
        all.more = std::max(all.more, read.more);
      }
    }
    return true;
  }

  // What lives of an image while each member runs, at most.
  Dim peakOf(size_t start, size_t end, double& usualBytes) {
    std::unordered_map<ValueId, size_t> last;
    for (size_t k = start; k <= end; ++k) {
      const Op& op = *function_.ops[members_[k].at];
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (members_[k].operands[i] >= RowKind::read) last[op.operands[i]] = k;
    }
    Dim peak;
    for (size_t k = start; k <= end; ++k) {
      const Op& op = *function_.ops[members_[k].at];
      Dim bytes = imageBytes(resultOf(k));
      std::unordered_set<ValueId> seen{resultOf(k)};
      const auto add = [&](ValueId v) {
        if (seen.insert(v).second) bytes = bytes + imageBytes(v);
      };
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (members_[k].operands[i] >= RowKind::read) add(op.operands[i]);
      for (size_t before = start; before < k; ++before)
        if (const auto use = last.find(resultOf(before)); use != last.end() && use->second > k)
          add(resultOf(before));
      if (const double usual = usualOf(bytes); !peak || usual > usualBytes) {
        peak = bytes;
        usualBytes = usual;
      }
    }
    return peak;
  }

  // Nanoseconds of a usual image: planes that stay inside and that cross, all that is done, and what each
  // slice computes twice.
  struct Times {
    double kept = 0, joined = 0, all = 0, twice = 0;
  };
  Times timesOf(size_t start, size_t end, const std::unordered_map<ValueId, Needed>& needed) {
    Times times;
    for (size_t k = start; k <= end; ++k) {
      const double size = usualOf(imageBytes(resultOf(k))), made = std::max(1.0, usualOf(members_[k].rows));
      const double time = size * kByteNs + size / elementBytes(k) * members_[k].products * kProductNs;
      const int64_t more = needed.at(resultOf(k)).more;
      times.all += time;
      times.twice += time * static_cast<double>(std::max<int64_t>(0, more)) / made;
      (leaves(k, end) ? times.joined : times.kept) += size * kByteNs;
    }
    return times;
  }

  // Nanoseconds that members `start` to `end` gain of a usual image; where all are taken, how many they are.
  // `to`: what is known of the region.
  double gainOf(size_t start, size_t end, RowRegion* to) {
    const double count = static_cast<double>(end - start + 1);
    std::unordered_map<ValueId, Needed> needed;
    if (!followRows(start, end, needed)) return 0;
    double bytes = 0;
    const Dim peak = peakOf(start, end, bytes);
    const Times times = timesOf(start, end, needed);
    const double rows = usualOf(members_[end].rows);
    double least = 1, gain = count;
    if (!limits_.all) {
      const double fit = std::floor(rows * static_cast<double>(limits_.slice) / std::max(1.0, bytes));
      const bool isLarge = rows > 1 && fit < rows && bytes >= static_cast<double>(limits_.image);
      if (!isLarge || times.kept <= 0 || windowsOf(start, end) > kMostWindows) return 0;
      least = std::max(1.0, std::ceil(kLeastOfTwice * times.twice * rows / times.kept));
      const double made = std::max(fit, least);
      if (made > kMostOverCache * fit) return 0;
      gain = times.kept - times.joined - rows / made * (times.twice + count * kLaunchNs);
      if (gain < kLeastGain * times.all) return 0;
    }
    if (to) {
      to->imageBytes = peak;
      to->leastRows = static_cast<int64_t>(least);
      to->gain = limits_.all ? 0 : gain / times.all;
      for (size_t k = start; k <= end; ++k) {
        const Dim columns = rows_.typeOf(resultOf(k)).dims()[2];
        to->columns = to->columns ? min(to->columns, columns) : columns;
      }
    }
    return gain;
  }

  int64_t windowsOf(size_t start, size_t end) const {
    return std::count_if(members_.begin() + static_cast<std::ptrdiff_t>(start),
                         members_.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                         [](const RowMember& m) { return m.window && !m.window->kernel.isConstant(1); });
  }
  double elementBytes(size_t k) const {
    return static_cast<double>(storageBytes(rows_.typeOf(resultOf(k)).dtype()));
  }

  const Module& module_;
  const Function& function_;
  RowMembers& rows_;
  const RowLimits limits_;
  DimNumbers numbers_;
  std::unordered_map<ValueId, size_t> lastUse_;
  RowRun run_;
  std::vector<RowMember> members_;
  std::unordered_set<ValueId> made_;
  std::vector<RowRun> runs_;
};

}  // namespace

std::vector<RowRun> findRowRuns(const Module& module, const Function& function, RowMembers& rows,
                                RowLimits limits) {
  return RowRegionFinder(module, function, rows, limits).find();
}

}  // namespace dyn::passes
