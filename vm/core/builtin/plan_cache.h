// Tables that a builtin has made for a size and uses again when the size comes again. Of one context: its
// calls come one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace dyn::vm {

// What a kind of builtin keeps derives from this.
struct CachedPlan {
  virtual ~CachedPlan() = default;
};

// At most kPlans plans and kBytes bytes, those used last.
class PlanCache {
 public:
  // Kinds below are the Fourier transforms', by way and element type.
  static constexpr int32_t kTableOfKeys = 4;
  struct Key {
    int32_t kind;  // which builtin, and its element type
    int64_t size;  // or another number that tells one plan from the next: where a table lies in the program
    bool operator==(const Key&) const = default;
  };
  static constexpr size_t kPlans = 16, kBytes = size_t{4} << 20;

  // Null: not here.
  const CachedPlan* find(Key key) {
    const auto found =
        std::find_if(plans_.begin(), plans_.end(), [&](const Kept& kept) { return kept.key == key; });
    if (found == plans_.end()) return nullptr;
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front().plan.get();
  }
  // The plan stays until the next call of keep, however large it is.
  const CachedPlan* keep(Key key, std::unique_ptr<const CachedPlan> plan, size_t bytes) {
    size_t total = bytes, kept = 0;
    while (kept < plans_.size() && kept + 1 < kPlans && total + plans_[kept].bytes <= kBytes)
      total += plans_[kept++].bytes;
    plans_.resize(kept);
    plans_.insert(plans_.begin(), Kept{key, std::move(plan), bytes});
    return plans_.front().plan.get();
  }
  size_t count() const { return plans_.size(); }

 private:
  struct Kept {
    Key key;
    std::unique_ptr<const CachedPlan> plan;
    size_t bytes = 0;
  };
  std::vector<Kept> plans_;  // the one used last comes first
};

}  // namespace dyn::vm
