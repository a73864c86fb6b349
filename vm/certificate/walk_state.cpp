#include "vm/certificate/walk_state.h"

#include <algorithm>
#include <iterator>

#include "vm/certificate/code_text.h"

namespace dyn::certificate {

namespace {

// What `a` is where `left` holds and `b` where `right` does; nothing: they have no common formula.
Value commonFormula(const Polynomial& a, const Scope& left, const Polynomial& b, const Scope& right) {
  if (a == b) return a;
  for (const Polynomial& one : {a, b})
    if (resolved(a, left) == resolved(one, left) && resolved(b, right) == resolved(one, right)) return one;
  return std::nullopt;
}

bool holds(const Regions& regions, const RegionRef& region) {
  return std::find(regions.begin(), regions.end(), region) != regions.end();
}

}  // namespace

Polynomial WalkValues::fresh(bool isNonNegative) {
  return atoms_.symbol("value" + std::to_string(atoms_.size()) + place_, isNonNegative);
}

Value WalkValues::bytes(uint8_t dtype, const std::vector<Polynomial>& dims) const {
  Value size = Polynomial(kElementBytes[dtype]);
  for (const Polynomial& dim : dims) size = size ? product(*size, dim) : size;
  return size ? resolved(*size, state_.scope) : size;
}

ObjectRef WalkValues::finish(Object object) {
  object.id = ++objectCount_;
  for (const ObjectRef& field : object.fields)
    for (const RegionRef& region : field->regions)
      if (!holds(object.regions, region)) object.regions.push_back(region);
  return std::make_shared<const Object>(std::move(object));
}

RegionRef WalkValues::storage(const Value& sizeBytes, const std::string& why) {
  Region whole;
  whole.storage = static_cast<uint32_t>(storages_.size());
  whole.isAnywhere = true;
  storages_.push_back({sizeBytes, why, std::make_shared<const Region>(whole), std::nullopt});
  return storages_.back().whole;
}

ObjectRef WalkValues::newUnknown(const std::string& why, Regions regions) {
  regions.push_back(storage(std::nullopt, why));
  return unknown(std::move(regions));
}

ObjectRef WalkValues::tensor(uint8_t dtype, std::vector<Polynomial> dims, Regions regions) {
  Object made;
  made.kind = ObjectKind::tensor;
  made.dtype = dtype;
  made.dims = std::move(dims);
  made.regions = std::move(regions);
  return finish(std::move(made));
}

ObjectRef WalkValues::newTensor(uint8_t dtype, const std::vector<Polynomial>& dims) {
  for (const Polynomial& dim : dims) learn(state_.scope, atoms_, dim);  // else it faults
  return tensor(dtype, dims, {storage(bytes(dtype, dims), "a tensor whose size is out of range")});
}

ObjectRef WalkValues::withFields(ObjectKind kind, std::vector<ObjectRef> fields, int32_t function,
                                 Regions regions) {
  Object made;
  made.kind = kind;
  made.fields = std::move(fields);
  made.function = function;
  made.regions = std::move(regions);
  return finish(std::move(made));
}

// Each is replaced once, by the other number itself: the work grows as the polynomial does.
Value WalkValues::mostOutside(const Polynomial& p, const Head& head) const {
  std::set<AtomId> minima;
  for (const auto& [monomial, coefficient] : p.terms)
    for (const AtomId id : monomial)
      if (atoms_[id].kind == Operation::minimum && atoms_[id].newestSymbol >= head.firstAtom)
        minima.insert(id);
  Polynomial most = p;
  for (const AtomId id : minima) {
    const bool isRising = std::all_of(most.terms.begin(), most.terms.end(), [&](const auto& term) {
      if (std::count(term.first.begin(), term.first.end(), id) == 0) return true;
      return term.second > 0 && std::all_of(term.first.begin(), term.first.end(), [&](AtomId other) {
               return other == id || atoms_.isNonNegative(other, state_.scope);
             });
    });
    const Atom& atom = atoms_[id];
    const Polynomial& larger = isInside(atom.a, head) ? atom.b : atom.a;
    const Value other = isRising ? replaced(most, id, larger) : Value();
    if (!other) return std::nullopt;
    most = *other;
  }
  return isInside(most, head) ? Value() : Value(most);
}

Head WalkValues::newHead() const {
  Head head;
  head.firstStorage = static_cast<uint32_t>(storages_.size());
  head.firstAtom = static_cast<AtomId>(atoms_.size());
  head.firstObject = objectCount_ + 1;
  return head;
}

Head WalkValues::newHead(const Polynomial& iterations) {
  Head head = newHead();
  head.growth = growths_.size();
  head.iterations = iterations;
  growths_.emplace_back();
  return head;
}

Value WalkValues::sizeOf(uint32_t storage) const {
  const Storage& held = storages_[storage];
  return held.growth ? growths_[*held.growth] : held.size;
}

void WalkValues::measureGrowth(Head& head) {
  Value total = Polynomial();
  std::set<size_t> inner;
  for (const uint32_t storage : head.added) {
    const std::optional<size_t> growth = storages_[storage].growth;
    if (growth == head.growth || (growth && !inner.insert(*growth).second)) continue;
    const Value size = sizeOf(storage), most = size ? mostOutside(*size, head) : size;
    total = total && most ? sum(*total, *most) : Value();
  }
  head.added.clear();
  total = total ? product(*total, head.iterations) : total;
  if (growths_[*head.growth] == total) return;
  growths_[*head.growth] = total;
  head.isChanged = true;
}

Polynomial WalkValues::symbolOf(Head& head, bool isNonNegative) {
  const Polynomial made = fresh(isNonNegative);
  head.symbols[*made.atom()] = isNonNegative;
  head.isChanged = true;
  return made;
}

Polynomial WalkValues::mergedDim(const Merge& how, const Polynomial* a, const Polynomial& b) {
  if (a && (*a == varying_ || (how.head && a->atom() && how.head->symbols.count(*a->atom()) != 0))) return *a;
  Value same = a ? commonFormula(*a, how.left, b, how.right) : b;
  if (how.head && (a ? same != *a : isInside(b, *how.head))) same = std::nullopt;
  if (same) return *same;
  if (how.isCommon) return varying_;
  return how.head ? symbolOf(*how.head, true) : fresh(true);
}

// The region that stands for one that comes back to a head: what was made inside is another storage then.
RegionRef WalkValues::outlived(const Merge& how, const RegionRef& region) {
  if (!how.head) return region;
  if (region->storage < how.head->firstStorage) return storages_[region->storage].whole;
  RegionRef& inside = how.head->inside[how.slot].region;
  if (!inside) inside = storage(std::nullopt, "a value that a loop carries grows");
  return inside;
}

ObjectRef WalkValues::merged(const Merge& how, const ObjectRef& a, const ObjectRef& b) {
  if (a == b || !b) return a;
  if (!a && !how.head) return b;
  Object made;
  // One of several: it has no numbers and no identity.
  bool isGrown = !a || ((a->kind == ObjectKind::unknown || !a->numbers.empty()) &&
                        !(how.head && a->id >= how.head->firstObject));
  if (a) made.regions = a->regions;
  for (const RegionRef& region : b->regions) {
    if (holds(made.regions, region)) continue;
    const RegionRef kept = outlived(how, region);
    if (holds(made.regions, kept)) continue;
    made.regions.push_back(kept);
    isGrown = true;
  }
  const bool isList = b->kind == ObjectKind::list;
  const bool isAlike =
      !a || (a->kind == b->kind && a->dtype == b->dtype && a->function == b->function &&
             a->dims.size() == b->dims.size() && (isList || a->fields.size() == b->fields.size()));
  if (isAlike && b->kind != ObjectKind::storage) {
    made.kind = b->kind;
    made.dtype = b->dtype;
    made.function = b->function;
    for (size_t i = 0; i < b->dims.size(); ++i) {
      made.dims.push_back(mergedDim(how, a ? &a->dims[i] : nullptr, b->dims[i]));
      isGrown = isGrown || !(made.dims[i] == a->dims[i]);
    }
    Merge inner = how;
    inner.isCommon = how.isCommon || isList;
    const size_t count = std::max(a ? a->fields.size() : 0, b->fields.size());
    for (size_t i = 0; i < count; ++i) {
      const ObjectRef left = a && i < a->fields.size() ? a->fields[i] : nullptr,
                      right = i < b->fields.size() ? b->fields[i] : nullptr;
      made.fields.push_back(merged(inner, left, right));
      isGrown = isGrown || made.fields[i] != left;
    }
  } else {
    isGrown = isGrown || a->kind != ObjectKind::unknown;
  }
  if (!isGrown) return a;
  if (how.head) how.head->isChanged = true;
  return finish(std::move(made));
}

ObjectRef WalkValues::common(const ObjectRef& a, const ObjectRef& b) {
  return merged({state_.scope, state_.scope, nullptr, 0, true}, a, b);
}

ObjectRef WalkValues::common(Head& head, size_t slot, const ObjectRef& before, const ObjectRef& now) {
  return merged({state_.scope, state_.scope, &head, slot, true}, before, now);
}

ObjectRef WalkValues::itemOf(const ObjectRef& general) {
  if (!general || general->kind == ObjectKind::unknown)
    return unknown(general ? general->regions : Regions());
  Object made = *general;
  for (Polynomial& dim : made.dims)
    if (dim == varying_) dim = fresh(true);
  if (general->kind != ObjectKind::list)
    for (ObjectRef& field : made.fields) field = itemOf(field);
  return finish(std::move(made));
}

State WalkValues::join(const State& a, const State& b) {
  State result = a;
  const auto shared =
      std::mismatch(a.scope.facts.begin(), a.scope.facts.end(), b.scope.facts.begin(), b.scope.facts.end());
  result.scope = {{a.scope.facts.begin(), shared.first}, {}, {}};
  std::set_intersection(a.scope.nonNegative.begin(), a.scope.nonNegative.end(), b.scope.nonNegative.begin(),
                        b.scope.nonNegative.end(),
                        std::inserter(result.scope.nonNegative, result.scope.nonNegative.end()));
  for (const auto& [atom, value] : a.scope.values)
    if (const auto at = b.scope.values.find(atom); at != b.scope.values.end() && at->second == value)
      result.scope.values[atom] = value;
  for (size_t f = 0; f < result.frames.size(); ++f) {
    Frame& frame = result.frames[f];
    for (size_t i = 0; i < frame.scalars.size(); ++i) {
      const NumberRef &left = frame.scalars[i], &right = b.frames[f].scalars[i];
      if (left == right) continue;
      const Value same = left && right ? commonFormula(*left, a.scope, *right, b.scope) : Value();
      const bool isNonNegative = left && right && atoms_.isPlainlyNonNegative(*left, a.scope) &&
                                 atoms_.isPlainlyNonNegative(*right, b.scope);
      frame.scalars[i] = number(same ? *same : fresh(isNonNegative));
    }
    for (size_t i = 0; i < frame.objects.size(); ++i)
      frame.objects[i] = merged({a.scope, b.scope}, frame.objects[i], b.frames[f].objects[i]);
  }
  return result;
}

NumberRef WalkValues::grown(Head& head, const NumberRef& before, const NumberRef& now) {
  if (before == now || !now) return before;
  const bool isNonNegative = atoms_.isPlainlyNonNegative(*now, state_.scope);
  if (before && before->atom())
    if (const auto own = head.symbols.find(*before->atom()); own != head.symbols.end()) {
      if (!own->second || isNonNegative) return before;
      return number(symbolOf(head, false));
    }
  if (before && commonFormula(*before, state_.scope, *now, state_.scope) == *before) return before;
  const bool wasNonNegative = before && atoms_.isPlainlyNonNegative(*before, state_.scope);
  return number(symbolOf(head, isNonNegative && wasNonNegative));
}

ObjectRef WalkValues::grown(Head& head, size_t slot, const ObjectRef& before, const ObjectRef& now) {
  const ObjectRef made = merged({state_.scope, state_.scope, &head, slot}, before, now);
  const auto at = head.inside.find(slot);
  if (at == head.inside.end() || !now) return made;
  // A tensor in a storage of its own, whose shape stays: so much is held, whichever pass made it.
  auto& [inside, isGrowing] = at->second;
  const Value size = made->kind == ObjectKind::tensor ? bytes(made->dtype, made->dims) : Value();
  isGrowing = isGrowing || !size || isInside(*size, head);
  std::vector<uint32_t> added;
  for (const RegionRef& region : now->regions)
    if (region->storage >= head.firstStorage && region != inside) added.push_back(region->storage);
  for (const uint32_t storage : added) isGrowing = isGrowing || storages_[storage].size != size;
  storages_[inside->storage].size = isGrowing ? Value() : size;
  // Else each iteration adds to what is held.
  storages_[inside->storage].growth = isGrowing ? head.growth : std::nullopt;
  if (isGrowing) head.added.insert(added.begin(), added.end());
  return made;
}

}  // namespace dyn::certificate
