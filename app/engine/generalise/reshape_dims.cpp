#include "app/engine/generalise/reshape_dims.h"

#include <algorithm>

namespace dyn {
namespace {

// A dim as a number and symbolic factors: 12*batch is 12 and [batch], batch*seq + batch is [batch, seq +
// 1].
struct Factors {
  int64_t number = 1;
  std::vector<Dim> open;

  void add(Dim dim) {
    if (const auto constant = dim.constant()) {
      number *= *constant;
    } else if (dim.kind() == DimKind::mul) {
      for (const Dim part : dim.operands()) add(part);
    } else if (dim.kind() == DimKind::add) {
      addSum(dim);
    } else {
      open.push_back(dim);
    }
  }

 private:
  // A symbol that stands in each term once at least is a factor of the sum.
  void addSum(Dim sum) {
    for (const SymbolId symbol : symbolsOf(sum)) {
      const Dim factor = sum.context().symbolById(symbol);
      Dim rest = sum.context().constant(0);
      for (const Dim term : sum.operands()) {
        Dim quotient = sum.context().constant(1);
        bool has = term == factor;
        if (!has && term.kind() == DimKind::mul)
          for (const Dim part : term.operands()) {
            if (part == factor && !has) {
              has = true;
            } else {
              quotient = quotient * part;
            }
          }
        if (!has) {
          rest = Dim();
          break;
        }
        rest = rest + quotient;
      }
      if (!rest) continue;
      open.push_back(factor);
      return add(rest);
    }
    open.push_back(sum);
  }
};

class Matching {
 public:
  Matching(const Shape& from, const std::vector<int64_t>& target, const DimExample& valueOf,
           const SecondExample* second, int choice, const PartsOfAxis& partsOf)
      : target_(target),
        valueOf_(valueOf),
        second_(second),
        choice_(choice),
        context_(from.empty() ? nullptr : &from[0].context()) {
    // An axis of the number 1 says nothing of where the others are.
    for (size_t axis = 0; axis < from.size(); ++axis) {
      if (from[axis].isConstant(1)) continue;
      from_.push_back(from[axis]);
      parts_.push_back(partsOf ? partsOf(axis) : Shape());
      if (parts_.back().empty()) parts_.back().push_back(from[axis]);
    }
  }

  std::optional<ReshapeDims> run() {
    if (context_ == nullptr) return std::nullopt;
    std::vector<int64_t> sizes;
    for (const Dim dim : from_) {
      const auto value = valueOf_(dim);
      if (!value || *value < 1) return std::nullopt;
      sizes.push_back(*value);
    }
    result_.target.assign(target_.size(), Dim());
    size_t i = 0, j = 0;
    while (i < from_.size()) {
      if (j == target_.size()) {  // axes of size 1 are left over
        if (j == 0 || sizes[i] != 1) return std::nullopt;
        result_.target[j - 1] = result_.target[j - 1] * from_[i++];
        continue;
      }
      // Of size 1 in the example, it may go to either side: the left one where what follows stays an axis.
      const bool followerStays = i + 1 < sizes.size() && sizes[i + 1] == target_[j];
      if (sizes[i] == 1 && target_[j] != 1 && j > 0 && choose(2) == (followerStays ? 0 : 1)) {
        result_.target[j - 1] = result_.target[j - 1] * from_[i++];
        continue;
      }
      const size_t firstFrom = i, firstTarget = j;
      int64_t left = sizes[i++], right = target_[j++];
      while (left != right) {
        if (left < right && i < from_.size()) {
          left *= sizes[i++];
        } else if (right < left && j < target_.size()) {
          right *= target_[j++];
        } else {
          return std::nullopt;
        }
      }
      // A factor that is 1 in the example belongs to a target of 1: one that stands behind is its own.
      const bool hasOne = std::find(target_.begin() + static_cast<ptrdiff_t>(firstTarget),
                                    target_.begin() + static_cast<ptrdiff_t>(j),
                                    1) != target_.begin() + static_cast<ptrdiff_t>(j);
      if (j < target_.size() && target_[j] == 1 && !hasOne && needsOne(firstFrom, i) && choose(2) == 0) ++j;
      if (!group(firstFrom, i, firstTarget, j)) return std::nullopt;
    }
    for (; j < target_.size(); ++j) {
      if (target_[j] != 1) return std::nullopt;
      result_.target[j] = context_->constant(1);
    }
    return std::move(result_);
  }

 private:
  bool needsOne(size_t begin, size_t end) const {
    Factors factors;
    for (size_t i = begin; i < end; ++i) factors.add(from_[i]);
    return std::any_of(factors.open.begin(), factors.open.end(),
                       [&](Dim open) { return valueOf_(open) == 1; });
  }

  // What a dim is of a group's sizes multiplied in order of rows: from those before it to those with it.
  struct Span {
    int64_t first, last;

    bool meets(Span other) const { return first < other.last && other.first < last; }
  };

  bool group(size_t fromBegin, size_t fromEnd, size_t begin, size_t end) {
    Factors factors;
    std::vector<Span> spans, targets;  // of the dim that an open factor is of; of the targets
    int64_t before = 1;
    for (size_t i = fromBegin; i < fromEnd; ++i) {
      for (const Dim part : parts_[i]) {
        factors.add(part);
        const int64_t upTo = before * valueOf_(part).value_or(1);
        spans.resize(factors.open.size(), {before, upTo});
        before = upTo;
      }
    }
    before = 1;
    for (size_t k = begin; k < end; ++k) {
      targets.push_back({before, before * target_[k]});
      before *= target_[k];
    }
    std::vector<int64_t> rest(target_.begin() + static_cast<ptrdiff_t>(begin),
                              target_.begin() + static_cast<ptrdiff_t>(end));
    std::vector<int64_t> restOfSecond(rest.size(), 0);
    for (size_t k = 0; second_ != nullptr && k < rest.size(); ++k)
      restOfSecond[k] = second_->target[begin + k];
    std::vector<Dim> made(rest.size(), context_->constant(1));
    for (size_t factor = 0; factor < factors.open.size(); ++factor) {
      const Dim open = factors.open[factor];
      const auto value = valueOf_(open);
      const int64_t valueOfSecond = second_ != nullptr ? second_->valueOf(open).value_or(0) : 0;  // 0: none
      if (!value || *value < 1) return false;
      // Places that elements of the dim go to come before those that are such a size by chance.
      std::vector<size_t> exact, divided, exactElsewhere, dividedElsewhere;
      for (size_t k = 0; k < rest.size(); ++k) {
        if (rest[k] % *value != 0) continue;
        if (valueOfSecond > 0 && (restOfSecond[k] % valueOfSecond != 0 ||
                                  !agrees(rest[k] / *value, restOfSecond[k] / valueOfSecond)))
          continue;
        const bool isExact = rest[k] == *value;
        if (*value == 1 || spans[factor].meets(targets[k]))
          (isExact ? exact : divided).push_back(k);
        else
          (isExact ? exactElsewhere : dividedElsewhere).push_back(k);
      }
      const std::vector<size_t>& places = !exact.empty()            ? exact
                                          : !divided.empty()        ? divided
                                          : !exactElsewhere.empty() ? exactElsewhere
                                                                    : dividedElsewhere;
      if (places.empty()) return false;
      const size_t at = places[static_cast<size_t>(choose(static_cast<int>(places.size())))];
      rest[at] /= *value;
      if (valueOfSecond > 0) restOfSecond[at] /= valueOfSecond;
      made[at] = made[at] * open;
    }
    for (size_t k = 0; k < rest.size(); ++k) result_.target[begin + k] = made[k] * rest[k];
    int64_t product = 1;
    for (const int64_t number : rest) product *= number;
    return product == factors.number;
  }

  int choose(int count) {
    const int chosen = choice_ % count;
    choice_ /= count;
    result_.choicesCount *= count;
    return chosen;
  }

  // What is left of a target: with open factors in it still, both may differ.
  static bool agrees(int64_t first, int64_t second) { return second >= 1 && (first == second || first > 1); }

  const std::vector<int64_t>& target_;
  const DimExample& valueOf_;
  const SecondExample* second_;
  int choice_;
  DimContext* context_;
  Shape from_;
  std::vector<Shape> parts_;  // of each, from the outermost
  ReshapeDims result_;
};

}  // namespace

std::optional<ReshapeDims> reshapeDims(const Shape& from, const std::vector<int64_t>& target,
                                       const DimExample& valueOf, const SecondExample* second, int choice,
                                       const PartsOfAxis& partsOf) {
  if (std::any_of(target.begin(), target.end(), [](int64_t size) { return size < 1; })) return std::nullopt;
  if (second != nullptr && second->target.size() != target.size()) return std::nullopt;
  return Matching(from, target, valueOf, second, choice, partsOf).run();
}

}  // namespace dyn
