// What the walk knows at a place of a program: registers of all frames, as polynomials and objects.
#pragma once

#include <memory>

#include "vm/certificate/atoms.h"

namespace dyn::certificate {

// Bytes [begin, begin + size) of a storage, or any of its bytes.
struct Region {
  uint32_t storage = 0;
  bool isAnywhere = false;
  Polynomial begin, size;
};
using RegionRef = std::shared_ptr<const Region>;
using Regions = std::vector<RegionRef>;

enum class ObjectKind : uint8_t { unknown, tensor, storage, tuple, closure, list };

// An immutable value of an object register. What it may lie in, or hold on to, is in `regions`, together with
// that of its fields.
struct Object {
  uint64_t id = 0;
  ObjectKind kind = ObjectKind::unknown;
  uint8_t dtype = 0;                // tensor
  std::vector<Polynomial> dims;     // tensor
  std::vector<Polynomial> numbers;  // tensor made of scalars
  // tuple; closure: captures; list: none, or one that stands for all items (WalkValues::itemOf).
  std::vector<std::shared_ptr<const Object>> fields;
  int32_t function = -1;  // closure
  Regions regions;
};
using ObjectRef = std::shared_ptr<const Object>;
using NumberRef = std::shared_ptr<const Polynomial>;

struct Frame {
  std::vector<NumberRef> scalars;  // null: never set
  std::vector<ObjectRef> objects;  // null: empty
  uint32_t firstStorage = 0;       // storages from here on are made by this function or later
};

struct State {
  std::vector<Frame> frames;  // the last one runs
  Scope scope;
};

// What registers may hold where a loop, or a function that calls itself, begins: grown until nothing changes.
struct Head {
  uint32_t firstStorage = 0;  // storages and atoms from here on are made inside
  AtomId firstAtom = 0;
  uint64_t firstObject = 0;
  std::map<AtomId, bool> symbols;  // of its own: at least 0?
  struct Inside {
    RegionRef region;  // stands for storages that are made inside
    bool isGrowing = false;
  };
  std::map<size_t, Inside> inside;  // by register
  // Of a loop: what its registers that grow hold together, in WalkValues::growths_, and the storages that
  // they take in the iteration that is walked.
  std::optional<size_t> growth;
  Polynomial iterations;
  std::set<uint32_t> added;
  bool isChanged = false;
};

// Makes values, and merges those of two paths.
class WalkValues {
 protected:
  WalkValues() : varying_(atoms_.symbol("?", true)) {}

  static NumberRef number(Polynomial p) { return std::make_shared<const Polynomial>(std::move(p)); }
  Polynomial fresh(bool isNonNegative = false);
  Polynomial orFresh(const Value& p) { return p ? *p : fresh(); }
  Value bytes(uint8_t dtype, const std::vector<Polynomial>& dims) const;

  ObjectRef finish(Object object);  // with an id, and the regions of its fields
  // A storage, all of which the region is.
  RegionRef storage(const Value& sizeBytes, const std::string& why = {});
  ObjectRef unknown(Regions regions) { return withFields(ObjectKind::unknown, {}, -1, std::move(regions)); }
  ObjectRef newUnknown(const std::string& why, Regions regions = {});
  ObjectRef tensor(uint8_t dtype, std::vector<Polynomial> dims, Regions regions);
  ObjectRef newTensor(uint8_t dtype, const std::vector<Polynomial>& dims);
  ObjectRef withFields(ObjectKind kind, std::vector<ObjectRef> fields, int32_t function = -1,
                       Regions regions = {});

  // What holds on both of two paths.
  State join(const State& a, const State& b);
  // `head`, or what covers `now`, too, of the running frame; then head.isChanged is set.
  NumberRef grown(Head& head, const NumberRef& before, const NumberRef& now);
  ObjectRef grown(Head& head, size_t slot, const ObjectRef& before, const ObjectRef& now);
  // One that stands for both: objects of a list, results of calls. itemOf() is one of those.
  ObjectRef common(const ObjectRef& a, const ObjectRef& b);
  ObjectRef common(Head& head, size_t slot, const ObjectRef& before, const ObjectRef& now);
  ObjectRef itemOf(const ObjectRef& general);
  Head newHead() const;
  // Of a loop that goes round at most so often.
  Head newHead(const Polynomial& iterations);
  // At the end of an iteration: what the registers that grow may hold; head.isChanged where that is news.
  void measureGrowth(Head& head);
  // In bytes; nothing: unknown. Storages of one growth have their bytes together.
  Value sizeOf(uint32_t storage) const;

  Atoms atoms_;
  State state_;
  std::string place_;
  struct Storage {
    Value size;       // in bytes
    std::string why;  // there is no size
    RegionRef whole;
    std::optional<size_t> growth;  // it stands for what a loop makes and keeps: its size is there
  };
  std::vector<Storage> storages_;
  std::vector<Value> growths_;  // in bytes

 private:
  // Two paths, or a head and what comes back to it.
  struct Merge {
    const Scope &left, &right;
    Head* head = nullptr;
    size_t slot = 0;
    bool isCommon = false;
  };
  ObjectRef merged(const Merge& how, const ObjectRef& a, const ObjectRef& b);
  Polynomial mergedDim(const Merge& how, const Polynomial* a, const Polynomial& b);
  Polynomial symbolOf(Head& head, bool isNonNegative);
  RegionRef outlived(const Merge& how, const RegionRef& region);
  // May it differ from one iteration to the next?
  bool isInside(const Polynomial& p, const Head& head) const { return atoms_.dependsOn(p, head.firstAtom); }
  // At least `p` in every iteration, and the same in all: the smaller of two is at most either.
  Value mostOutside(const Polynomial& p, const Head& head) const;

  Polynomial varying_;  // a dim of an object that stands for several, where they differ
  uint64_t objectCount_ = 0;
};

}  // namespace dyn::certificate
