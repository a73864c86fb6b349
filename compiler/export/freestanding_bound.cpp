#include "compiler/export/freestanding_bound.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "vm/include/dynvm.h"

namespace dyn {

namespace {

constexpr int64_t kMostCombinations = 100'000;
constexpr size_t kMostChoices = 1000;   // of one way through the program
constexpr int64_t kMostWays = 200'000;  // of all sizes together

// Room that costs what is touched: heads of blocks and of objects, never elements.
class Room {
 public:
  static constexpr uint64_t kBytes = uint64_t{1} << 36;
  Room()
      : begin_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0)) {}
  ~Room() {
    if (there()) ::munmap(begin_, kBytes);
  }
  Room(const Room&) = delete;
  bool there() const { return begin_ != MAP_FAILED; }
  void* begin() const { return begin_; }

 private:
  void* begin_;
};

// One way after the other through what depends on values: first the least of all.
class Ways {
 public:
  void begin() {
    next_ = 0;
    why_.clear();
  }
  // False: that was the last one.
  bool advance() {
    while (!taken_.empty() && taken_.back().value == taken_.back().most) taken_.pop_back();
    if (taken_.empty()) return false;
    ++taken_.back().value;
    return true;
  }
  const std::string& why() const { return why_; }

  static int32_t choose(void* user, int32_t dtype, int64_t least, int64_t most, int64_t* value) {
    return static_cast<Ways*>(user)->take(dtype, least, most, value) ? 1 : 0;
  }

 private:
  struct Choice {
    int64_t value, most;
  };

  bool take(int32_t dtype, int64_t least, int64_t most, int64_t* value) {
    if (most < least && dtype != DYN_BOOL) {
      why_ = "a size or a number of iterations depends on values";
      return false;
    }
    if (next_ == taken_.size()) {
      if (taken_.size() == kMostChoices) {
        why_ = "a loop that has no bound ends by values";
        return false;
      }
      taken_.push_back(most < least ? Choice{0, 1} : Choice{least, most});
    }
    *value = taken_[next_++].value;
    return true;
  }
  std::vector<Choice> taken_;
  size_t next_ = 0;
  std::string why_;
};

int64_t firstOf(const DynFreestandingSize& size) {
  const int64_t low = std::max<int64_t>(size.low, 0), step = std::max<int64_t>(size.multiple, 1);
  return (low + step - 1) / step * step;
}
int64_t countOf(const DynFreestandingSize& size) {
  return size.high < firstOf(size) ? 0
                                   : (size.high - firstOf(size)) / std::max<int64_t>(size.multiple, 1) + 1;
}

class Trial {
 public:
  Trial(DynFreestanding* model, FreestandingBound& bound) : model_(model), bound_(bound) {}

  // All ways at these sizes. False: no bound.
  bool at(const std::vector<int64_t>& sizes) {
    Ways ways;
    do {
      if (++waysCount_ > kMostWays)
        return none("there are more than " + std::to_string(kMostWays) +
                    " ways through the program: each size that depends on values, and each branch, is tried");
      ways.begin();
      const int32_t status = dyn_freestanding_dry_run(model_, sizes.data(), nullptr, &Ways::choose, &ways);
      bound_.bytes = std::max(*bound_.bytes, dyn_freestanding_peak_bytes(model_));
      if (!ways.why().empty()) return none(ways.why());
      // Other faults end a run, too, before it takes more.
      if (status == DYN_UNSUPPORTED || status == DYN_MEMORY_LIMIT)
        return none(dyn_freestanding_message(model_));
    } while (ways.advance());
    return true;
  }

 private:
  bool none(const std::string& why) {
    bound_ = {std::nullopt, why};
    return false;
  }
  DynFreestanding* const model_;
  FreestandingBound& bound_;
  int64_t waysCount_ = 0;
};

}  // namespace

Result<FreestandingBound> freestandingBoundAt(const FreestandingLoaded& loaded,
                                              const std::vector<int64_t>& sizes) {
  const Room room;
  DynFreestanding* model = nullptr;
  if (!room.there() ||
      dyn_freestanding_create(freestandingProgramOf(loaded), room.begin(), Room::kBytes, &model) != DYN_OK)
    return makeError(DiagnosticId::memoryLimit, "the memory is too small to try the sizes");
  FreestandingBound bound{dyn_freestanding_least_bytes(), ""};
  Trial(model, bound).at(sizes);
  return bound;
}

Result<FreestandingBound> freestandingBound(const FreestandingLoaded& loaded,
                                            const std::atomic<bool>* cancelled) {
  const DynFreestandingProgram* program = freestandingProgramOf(loaded);
  int64_t combinations = 1;
  for (uint32_t i = 0; i < program->sizeCount; ++i) {
    const DynFreestandingSize& size = program->sizes[i];
    if (size.high == INT64_MAX)
      return FreestandingBound{std::nullopt, std::string("dim ") + size.name + " has no bound"};
    if (__builtin_mul_overflow(combinations, countOf(size), &combinations) ||
        combinations > kMostCombinations)
      return FreestandingBound{std::nullopt, "there are more than " + std::to_string(kMostCombinations) +
                                                 " sizes, and each would be tried"};
  }
  const Room room;
  DynFreestanding* model = nullptr;
  if (!room.there() || dyn_freestanding_create(program, room.begin(), Room::kBytes, &model) != DYN_OK)
    return makeError(DiagnosticId::memoryLimit, "the memory is too small to try the sizes");
  FreestandingBound bound{dyn_freestanding_least_bytes(), ""};
  Trial trial(model, bound);
  for (int64_t i = 0; i < combinations; ++i) {
    if (cancelled && cancelled->load()) return makeError(DiagnosticId::cancelled, "interrupted");
    std::vector<int64_t> sizes;
    int64_t rest = i;
    for (uint32_t s = 0; s < program->sizeCount; ++s) {
      const DynFreestandingSize& size = program->sizes[s];
      sizes.push_back(firstOf(size) + rest % countOf(size) * std::max<int64_t>(size.multiple, 1));
      rest /= countOf(size);
    }
    if (!trial.at(sizes)) return bound;
  }
  return bound;
}

}  // namespace dyn
