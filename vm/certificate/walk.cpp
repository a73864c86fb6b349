#include "vm/certificate/walk.h"

#include <algorithm>
#include <iterator>

#include "vm/certificate/code_text.h"
#include "vm/certificate/contract_text.h"
#include "vm/certificate/walk_state.h"

namespace dyn::certificate {

namespace {

constexpr uint64_t kMaximumSteps = 4'000'000;
constexpr size_t kMaximumCalls = 64;
constexpr int64_t kElementBytes[] = {
#define DYN_DTYPE(name, text, storageBits, class, onnxCode) (storageBits) / 8,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};
constexpr size_t kTypeCount = sizeof kElementBytes / sizeof *kElementBytes;

struct LoopHead {
  uint32_t loop = 0;
  uint32_t firstStorage = 0;         // storages from here on are made inside
  Frame frame;                       // what was assumed
  std::set<uint32_t> kept, written;  // registers, scalars first
};

class Walk {
 public:
  Walk(const ProgramText& program, const std::vector<KernelAccesses>& kernels, Judge& judge)
      : program_(program), kernels_(kernels), judge_(judge), globals_(program.globalCount) {}

  WalkResult run() {
    code_.resize(program_.functions.size());
    for (size_t i = 0; i < code_.size() && result_.refusal.empty(); ++i)
      result_.refusal = decode(program_, program_.functions[i], code_[i]);
    if (!result_.refusal.empty()) return std::move(result_);
    findRepeated();
    if (program_.initFunction >= 0) walkApart(program_.initFunction, {});
    if (program_.mainFunction >= 0) {
      std::vector<ObjectRef> arguments;
      for (const PortText& port : program_.inputs) arguments.push_back(input(port));
      isMain_ = true;
      walkApart(program_.mainFunction, arguments);
      isMain_ = false;
    }
    // The list grows while it is walked.
    for (size_t i = 0; i < queue_.size(); ++i) {
      std::vector<ObjectRef> arguments(program_.functions[static_cast<size_t>(queue_[i])].parameterCount);
      for (ObjectRef& argument : arguments) argument = unknown({}, true);
      walkApart(queue_[i], arguments);
    }
    if (judge_.isWrong() && result_.refusal.empty())
      result_.refusal = "a witness doesn't show what the program needs at " + place_;
    for (const Polynomial& p : judge_.peak()) result_.peak.push_back(printable(p) ? atoms_.print(p) : "?");
    return std::move(result_);
  }

 private:
  using Value = std::optional<Polynomial>;

  // --- values
  static NumberRef number(Polynomial p) { return std::make_shared<const Polynomial>(std::move(p)); }
  Polynomial fresh(bool isNonNegative = false) {
    return atoms_.symbol("value" + std::to_string(atoms_.size()) + place_, isNonNegative);
  }
  Polynomial orFresh(Value p) { return p ? *p : fresh(); }
  bool printable(const Polynomial& p) const {
    for (const auto& [monomial, coefficient] : p.terms)
      for (const AtomId atom : monomial)
        if (atom >= atoms_.size()) return false;
    return true;
  }
  Polynomial scalar(int32_t index) {
    NumberRef& held = frame().scalars[static_cast<size_t>(index)];
    if (!held) held = number(fresh());
    return orFresh(resolved(*held, state_.scope));
  }
  std::vector<Polynomial> scalars(std::span<const int32_t> list) {
    std::vector<Polynomial> result;
    for (const int32_t index : list) result.push_back(scalar(index));
    return result;
  }
  Frame& frame() { return state_.frames.back(); }
  const ObjectRef& object(int32_t index) {
    ObjectRef& held = frame().objects[static_cast<size_t>(index)];
    if (!held) held = unknown({}, true);
    return held;
  }
  std::vector<ObjectRef> objects(std::span<const int32_t> list) {
    std::vector<ObjectRef> result;
    for (const int32_t index : list) result.push_back(object(index));
    return result;
  }
  ObjectRef finish(Object object) {
    object.id = ++objectCount_;
    for (const ObjectRef& field : object.fields)
      object.regions.insert(object.regions.end(), field->regions.begin(), field->regions.end());
    std::sort(object.regions.begin(), object.regions.end());
    object.regions.erase(std::unique(object.regions.begin(), object.regions.end()), object.regions.end());
    return std::make_shared<const Object>(std::move(object));
  }
  // A storage, all of which the region is.
  RegionRef storage(Value sizeBytes, const std::string& why = {}) {
    storages_.push_back(sizeBytes);
    reasons_.push_back(why);
    auto region = std::make_shared<Region>();
    region->storage = static_cast<uint32_t>(storages_.size() - 1);
    region->isAnywhere = true;
    return region;
  }
  ObjectRef unknown(std::vector<RegionRef> regions, bool isNew,
                    const std::string& why = "a value of unknown size") {
    if (isNew) regions.push_back(storage(std::nullopt, why));
    Object made;
    made.regions = std::move(regions);
    return finish(std::move(made));
  }
  ObjectRef tensor(uint8_t dtype, std::vector<Polynomial> dims, std::vector<RegionRef> regions) {
    Object made;
    made.kind = ObjectKind::tensor;
    made.dtype = dtype;
    made.dims = std::move(dims);
    made.regions = std::move(regions);
    return finish(std::move(made));
  }
  ObjectRef newTensor(uint8_t dtype, const std::vector<Polynomial>& dims) {
    for (const Polynomial& dim : dims) learn(state_.scope, atoms_, dim);  // else it faults
    return tensor(dtype, dims, {storage(bytes(dtype, dims), "a tensor whose size is out of range")});
  }
  Value bytes(uint8_t dtype, const std::vector<Polynomial>& dims) const {
    Value size = Polynomial(dtype < kTypeCount ? kElementBytes[dtype] : 16);
    for (const Polynomial& dim : dims) size = size ? product(*size, dim) : size;
    return size ? resolved(*size, state_.scope) : size;
  }
  // An input: its memory is the caller's. A dim that the contract names is called so.
  ObjectRef input(const PortText& port) {
    const ObjectRef made = unknown({storage(Polynomial())}, false);
    if (port.isTensor)
      for (size_t axis = 0; axis < port.dims.size(); ++axis) {
        const std::string& text = port.dims[axis].text;
        const bool isName = port.dims[axis].value < 0 && isDimName(text) && names_.count(text) == 0;
        const Polynomial dim = atoms_.symbol(isName ? text : port.name + "." + std::to_string(axis), true);
        dims_[{made->id, axis}] = dim;
        if (isName) names_[text] = dim;
      }
    return made;
  }
  Polynomial dimOf(const ObjectRef& object, size_t axis) {
    if (object->kind == ObjectKind::tensor && axis < object->dims.size())
      return orFresh(resolved(object->dims[axis], state_.scope));
    const auto [at, isNew] = dims_.try_emplace({object->id, axis});
    if (isNew) at->second = fresh(true);
    return orFresh(resolved(at->second, state_.scope));
  }

  // --- obligations
  void leaveOpen(Obligation kind, const std::string& what) {
    if (openPlaces_.insert({kind, place_ + what}).second) result_.open.push_back({kind, place_, what});
  }
  bool demand(Obligation kind, std::span<const Value> claims, const std::string& what) {
    std::vector<Polynomial> known;
    for (const Value& claim : claims)
      if (const Value p = claim ? resolved(*claim, state_.scope) : claim) known.push_back(*p);
    const bool isShown =
        known.size() == claims.size() && judge_.firstNonNegative(atoms_, state_.scope, known) >= 0;
    if (isShown)
      ++result_.shown[static_cast<size_t>(kind)];
    else if (!judge_.isWrong())
      leaveOpen(kind, what);
    return isShown;
  }
  static Value difference(const Value& a, const Value& b) { return a && b ? scaledSum(*a, *b, -1) : Value(); }
  static Value sum(const Value& a, const Value& b) { return a && b ? scaledSum(*a, *b, 1) : Value(); }

  // Asks for what registers hold on to beside `more`, after a storage was made.
  void demandPeak(const std::vector<RegionRef>& more) {
    if (!isMain_) return;
    std::vector<bool> isLive(storages_.size());
    for (const RegionRef& region : more) isLive[region->storage] = true;
    for (const Frame& frame : state_.frames)
      for (const ObjectRef& object : frame.objects)
        if (object)
          for (const RegionRef& region : object->regions) isLive[region->storage] = true;
    Value total = Polynomial();
    for (size_t i = 0; i < isLive.size() && total; ++i)
      if (isLive[i] && !storages_[i])
        return leaveOpen(Obligation::peak, reasons_[i]);
      else if (isLive[i])
        total = sum(total, storages_[i]);
    total = total ? resolved(*total, state_.scope) : total;
    if (!total) return leaveOpen(Obligation::peak, "a size is out of range");
    judge_.live(atoms_, *total);
    std::vector<Value> claims;
    for (const Polynomial& p : judge_.peak())
      if (printable(p)) claims.push_back(difference(p, total));
    demand(Obligation::peak, claims,
           atoms_.print(*total) + " bytes are not shown to be within the stated peak");
  }

  void allocateTensor(const CodeRow& row) {
    const ObjectRef place = object(row.word(1));
    const Polynomial begin = scalar(row.word(2));
    const auto dtype = static_cast<uint8_t>(row.word(3));
    const std::vector<Polynomial> dims = scalars(row.operands[4]);
    for (const Polynomial& dim : dims) learn(state_.scope, atoms_, dim);
    const Value size = bytes(dtype, dims);
    if (place->kind != ObjectKind::storage || !size) {
      leaveOpen(Obligation::apart, "the storage of a tensor is not known");
      return set(row, 0, tensor(dtype, dims, place->regions));
    }
    const uint32_t in = place->regions[0]->storage;
    const Value end = sum(begin, size), claims[] = {begin, difference(storages_[in], end)};
    demand(Obligation::fits, {claims, 1}, "the offset is not shown to be at least 0");
    demand(Obligation::fits, {claims + 1, 1}, "the tensor is not shown to end inside of its storage");
    std::set<RegionRef> live;
    for (const Frame& each : state_.frames)
      for (size_t i = 0; i < each.objects.size(); ++i) {
        const bool isTarget = &each == &frame() && i == static_cast<size_t>(row.word(0));
        if (!each.objects[i] || isTarget || each.objects[i]->kind == ObjectKind::storage) continue;
        for (const RegionRef& region : each.objects[i]->regions)
          if (region->storage == in) live.insert(region);
      }
    // In the order of their making, which is the same in each walk.
    std::vector<RegionRef> ordered(live.begin(), live.end());
    std::sort(ordered.begin(), ordered.end(),
              [&](const RegionRef& a, const RegionRef& b) { return order_[a.get()] < order_[b.get()]; });
    for (const RegionRef& region : ordered) {
      if (judge_.isWrong()) return;
      if (region->isAnywhere) {
        leaveOpen(Obligation::apart, "a value that a loop or a call keeps may lie anywhere in the storage");
        continue;
      }
      const Value sides[] = {difference(region->begin, end),
                             difference(begin, sum(region->begin, region->size))};
      demand(Obligation::apart, sides, "two tensors are not shown to lie apart");
    }
    auto region = std::make_shared<Region>();
    region->storage = in;
    region->begin = begin;
    region->size = *size;
    order_[region.get()] = order_.size();
    regions_.push_back(region);
    set(row, 0, tensor(dtype, dims, {region}));
  }

  void launch(const CodeRow& row) {
    ++result_.launches;
    const auto index = static_cast<size_t>(row.word(0));
    const KernelText& kernel = program_.kernels[index];
    Launch launch{&kernels_[index], scalar(row.word(1)), scalars(row.operands[4]), {}, {}};
    const std::vector<ObjectRef> buffers = objects(row.operands[3]);
    for (size_t i = 0; i < buffers.size(); ++i) {
      const Object& buffer = *buffers[i];
      const bool isKnown = buffer.kind == ObjectKind::tensor && buffer.isDense;
      launch.bytes.push_back(isKnown ? bytes(buffer.dtype, buffer.dims) : Value());
      bool isStable = i < kernel.bufferCount - kernel.outputCount;
      for (size_t k = kernel.bufferCount - kernel.outputCount; k < buffers.size(); ++k)
        for (const RegionRef& region : buffers[k]->regions)
          isStable = isStable && std::count(buffer.regions.begin(), buffer.regions.end(), region) == 0;
      launch.isStable.push_back(isStable);
    }
    if (!launch.kernel->isStated)
      return leaveOpen(Obligation::access, "kernel " + kernel.name + " states no accesses");
    std::vector<std::string> open;
    if (!checkLaunch(launch, atoms_, state_.scope, judge_,
                     result_.shown[static_cast<size_t>(Obligation::access)], open) &&
        !judge_.isWrong())
      result_.refusal = "the accesses of kernel " + kernel.name + " don't fit its row";
    for (const std::string& what : open) leaveOpen(Obligation::access, "kernel " + kernel.name + ": " + what);
  }

  // --- functions
  void findRepeated() {
    const size_t count = program_.functions.size();
    std::vector<std::set<size_t>> calls(count);
    for (size_t i = 0; i < count; ++i)
      for (const CodeRow& row : code_[i]) {
        if (row.what == Instruction::makeClosure) closures_.insert(row.word(1));
        const bool isCall = row.what == Instruction::invoke || row.what == Instruction::makeClosure;
        if (isCall || row.what == Instruction::tailInvoke)
          calls[i].insert(static_cast<size_t>(row.word(isCall ? 1 : 0)));
      }
    isRepeated_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      std::vector<size_t> next(calls[i].begin(), calls[i].end());
      std::set<size_t> seen(next.begin(), next.end());
      for (; !next.empty() && seen.count(i) == 0;) {
        const size_t at = next.back();
        next.pop_back();
        for (const size_t callee : calls[at])
          if (seen.insert(callee).second) next.push_back(callee);
      }
      isRepeated_[i] = seen.count(i) != 0;
    }
  }

  void walkApart(int32_t function, const std::vector<ObjectRef>& arguments) {
    if (isDone()) return;
    State empty;
    std::swap(state_, empty);
    walkFunction(function, arguments);
  }

  void enqueue(int32_t function) {
    if (std::find(queue_.begin(), queue_.end(), function) == queue_.end()) queue_.push_back(function);
  }

  // The results; state_ goes on behind the call. False: it doesn't return.
  bool call(int32_t function, const std::vector<ObjectRef>& arguments, std::vector<ObjectRef>& results) {
    const FunctionText& callee = program_.functions[static_cast<size_t>(function)];
    if (!isRepeated_[static_cast<size_t>(function)] && depth_ < kMaximumCalls) {
      const std::optional<std::vector<ObjectRef>> given = walkFunction(function, arguments);
      if (given) results = *given;
      return given.has_value();
    }
    enqueue(function);
    giveUnknown(arguments, callee.resultCount, "function @" + callee.name + " calls itself", results);
    return true;
  }

  void giveUnknown(const std::vector<ObjectRef>& arguments, size_t count, const std::string& why,
                   std::vector<ObjectRef>& results) {
    std::vector<RegionRef> regions;
    for (const ObjectRef& argument : arguments)
      regions.insert(regions.end(), argument->regions.begin(), argument->regions.end());
    for (size_t i = 0; i < count; ++i) results.push_back(unknown(regions, true, why));
    // What a callee needs that can't be followed is not in the stated peak.
    if (isMain_) leaveOpen(Obligation::peak, why);
  }

  bool isDone() const { return judge_.isWrong() || !result_.refusal.empty(); }

  std::optional<std::vector<ObjectRef>> walkFunction(int32_t index, const std::vector<ObjectRef>& arguments) {
    const FunctionText& function = program_.functions[static_cast<size_t>(index)];
    const std::vector<CodeRow>& rows = code_[static_cast<size_t>(index)];
    Frame& frame = state_.frames.emplace_back();
    frame.scalars.resize(function.scalarCount);
    frame.objects.resize(function.objectCount);
    for (size_t i = 0; i < std::min<size_t>(arguments.size(), function.parameterCount); ++i)
      frame.objects[i] = arguments[i];
    ++depth_;
    std::map<int32_t, State> pending;  // by label
    std::map<int32_t, uint32_t> ends;  // of loops: the last jump back to a label
    std::map<int32_t, LoopHead> heads;
    std::optional<State> left;
    for (const CodeRow& row : rows)
      if (const std::optional<int32_t> label = labelOf(row);
          label && *label <= static_cast<int32_t>(row.position))
        ends[*label] = row.position;
    bool isLive = true;
    for (const CodeRow& row : rows) {
      const auto position = static_cast<int32_t>(row.position);
      place_ = "@" + function.name + ":" + std::to_string(position);
      if (const auto at = pending.find(position); at != pending.end()) {
        if (isLive)
          state_ = join(state_, at->second);
        else
          state_ = std::move(at->second);
        isLive = true;
        pending.erase(at);
      }
      if (!isLive || isDone()) continue;
      if (++steps_ > kMaximumSteps)
        result_.refusal = "unsupported: the program has more than 4,000,000 steps to check";
      if (const auto end = ends.find(position); end != ends.end())
        heads[position] = enterLoop(rows, row.position, end->second);
      if (const std::optional<int32_t> label = labelOf(row)) {
        const bool isPlain = row.what == Instruction::jump;
        const Polynomial condition = isPlain ? Polynomial(1) : scalar(row.word(0));
        const std::optional<int64_t> fixed = condition.constant();
        const bool isNegated = row.what == Instruction::jumpIfNot;
        const bool goes = !fixed || (*fixed != 0) != isNegated, falls = !isPlain && (!fixed || !goes);
        State after = state_;
        if (!fixed) learnCondition(after.scope, atoms_, condition, isNegated);
        if (goes) {
          if (!fixed) learnCondition(state_.scope, atoms_, condition, !isNegated);
          if (*label <= position) {
            if (const auto head = heads.find(*label); head != heads.end())
              endLoop(head->second);
            else
              result_.refusal = "a jump back into a place that is not reached at " + place_;
          } else if (const auto at = pending.find(*label); at != pending.end()) {
            at->second = join(at->second, state_);
          } else {
            pending.emplace(*label, state_);
          }
        }
        isLive = falls;
        state_ = std::move(after);
        continue;
      }
      if (row.what == Instruction::ret || row.what == Instruction::tailInvoke) {
        std::vector<ObjectRef> results;
        bool returns = true;
        if (row.what == Instruction::ret)
          results = objects(row.operands[0]);
        else
          returns = call(row.word(0), objects(row.operands[1]), results);
        if (returns && isMain_ && depth_ == 1) checkShapes(results);
        if (returns) {
          state_.frames.back() = {{}, results};
          left = left ? join(*left, state_) : state_;
        }
        isLive = false;
      } else if (row.what == Instruction::fatal) {
        isLive = false;
      } else {
        isLive = execute(row);
      }
    }
    --depth_;
    if (isLive && !isDone()) result_.refusal = "function @" + function.name + " runs off its end";
    if (!left) return std::nullopt;
    state_ = std::move(*left);
    std::vector<ObjectRef> results = std::move(state_.frames.back().objects);
    state_.frames.pop_back();
    return results;
  }

  static std::optional<int32_t> labelOf(const CodeRow& row) {
    if (row.what == Instruction::jump) return row.word(0);
    if (row.what == Instruction::jumpIf || row.what == Instruction::jumpIfNot) return row.word(1);
    return std::nullopt;
  }

  // --- joins and loops
  bool isSameShape(const Object& a, const Object& b) const {
    if (a.kind != ObjectKind::tensor || b.kind != ObjectKind::tensor || a.dtype != b.dtype || !a.isDense ||
        !b.isDense || a.dims.size() != b.dims.size())
      return false;
    for (size_t i = 0; i < a.dims.size(); ++i)
      if (resolved(a.dims[i], state_.scope) != resolved(b.dims[i], state_.scope)) return false;
    return true;
  }

  State join(const State& a, const State& b) {
    State result = a;
    const auto common =
        std::mismatch(a.scope.facts.begin(), a.scope.facts.end(), b.scope.facts.begin(), b.scope.facts.end());
    result.scope = {{a.scope.facts.begin(), common.first}, {}, {}};
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
        if (left == right || (left && right && *left == *right)) continue;
        const bool isNonNegative = left && right && atoms_.isPlainlyNonNegative(*left, a.scope) &&
                                   atoms_.isPlainlyNonNegative(*right, b.scope);
        frame.scalars[i] = number(fresh(isNonNegative));
      }
      for (size_t i = 0; i < frame.objects.size(); ++i) {
        const ObjectRef left = frame.objects[i], right = b.frames[f].objects[i];
        if (left == right) continue;
        std::vector<RegionRef> regions;
        for (const ObjectRef& side : {left, right})
          if (side) regions.insert(regions.end(), side->regions.begin(), side->regions.end());
        frame.objects[i] = left && right && isSameShape(*left, *right)
                               ? tensor(left->dtype, left->dims, regions)
                               : unknown(regions, false);
      }
    }
    return result;
  }

  LoopHead enterLoop(const std::vector<CodeRow>& rows, uint32_t begin, uint32_t end) {
    LoopHead head;
    head.loop = loopCount_++;
    Frame& frame = this->frame();
    const auto scalarCount = static_cast<uint32_t>(frame.scalars.size());
    for (const CodeRow& row : rows) {
      if (row.position < begin || row.position > end) continue;
      size_t operand = 0;
      for (const char* kind = operandKinds(row.what); *kind != '\0'; ++kind) {
        if (*kind == ' ' || *kind == '*') continue;
        if (*kind == 'S') head.written.insert(static_cast<uint32_t>(row.word(operand)));
        if (*kind == 'O')
          for (const int32_t index : row.operands[operand])
            head.written.insert(scalarCount + static_cast<uint32_t>(index));
        ++operand;
      }
    }
    for (const uint32_t index : head.written) {
      bool isKept = judge_.keeps(head.loop, index);
      if (index < scalarCount) {
        NumberRef& held = frame.scalars[index];
        if (isKept && (!held || !shows(*held))) isKept = false, judge_.refute(head.loop, index);
        held = number(fresh(isKept));
      } else {
        ObjectRef& held = frame.objects[index - scalarCount];
        if (held && isKept && (held->kind != ObjectKind::tensor || !held->isDense))
          isKept = false, judge_.refute(head.loop, index);
        if (held && isKept) {
          std::vector<RegionRef> regions = held->regions;
          regions.push_back(storage(bytes(held->dtype, held->dims), "a value that a loop carries"));
          held = tensor(held->dtype, held->dims, regions);
        } else if (!isKept) {
          held = unknown(held ? held->regions : std::vector<RegionRef>(), true,
                         "a value that a loop carries grows");
        }
      }
      if (isKept) head.kept.insert(index);
    }
    head.firstStorage = static_cast<uint32_t>(storages_.size());
    head.frame = frame;
    return head;
  }

  bool shows(const Polynomial& p) {
    const Value claim = resolved(p, state_.scope);
    return claim && judge_.firstNonNegative(atoms_, state_.scope, {&*claim, 1}) == 0;
  }

  // The end of a body: is what the head assumed still so?
  void endLoop(const LoopHead& head) {
    const auto scalarCount = static_cast<uint32_t>(frame().scalars.size());
    const auto count = scalarCount + static_cast<uint32_t>(frame().objects.size());
    for (uint32_t index = 0; index < count && !isDone(); ++index) {
      const bool isWritten = head.written.count(index) != 0, isKept = head.kept.count(index) != 0;
      if (index < scalarCount) {
        const NumberRef &held = frame().scalars[index], &before = head.frame.scalars[index];
        if (!isWritten && held != before && before && !(held && *held == *before))
          result_.refusal = "a loop changes a register outside of its body at " + place_;
        if (isKept && (!held || !shows(*held))) judge_.refute(head.loop, index);
        continue;
      }
      const ObjectRef &held = frame().objects[index - scalarCount],
                      &before = head.frame.objects[index - scalarCount];
      if (held == before || (!held && !isKept)) continue;
      if (!isWritten) {
        // A register that was never set may get its stand-in inside of the body.
        if (before) result_.refusal = "a loop changes a register outside of its body at " + place_;
        continue;
      }
      if (isKept && (!held || !before || !keepsShape(*held, *before, head))) {
        judge_.refute(head.loop, index);
        continue;
      }
      for (const RegionRef& region : held->regions)
        if (region->storage < head.firstStorage &&
            std::count(before->regions.begin(), before->regions.end(), region) == 0)
          leaveOpen(Obligation::apart, "a loop carries a value in a storage that was planned outside of it");
    }
  }

  bool keepsShape(const Object& held, const Object& before, const LoopHead& head) const {
    if (!isSameShape(held, before)) return false;
    for (const RegionRef& region : held.regions) {
      const bool isOld = std::count(before.regions.begin(), before.regions.end(), region) != 0;
      // A storage of its own, of the size that the head counts.
      const bool isNew = region->storage >= head.firstStorage && region->isAnywhere &&
                         storages_[region->storage] == bytes(held.dtype, held.dims);
      if (!isOld && !isNew) return false;
    }
    return true;
  }

  // --- the contract
  void checkShapes(const std::vector<ObjectRef>& results) {
    for (size_t i = 0; i < std::min(results.size(), program_.outputs.size()); ++i) {
      const PortText& port = program_.outputs[i];
      if (!port.isTensor) continue;
      for (size_t axis = 0; axis < port.dims.size(); ++axis) {
        const std::string& text = port.dims[axis].text;
        const Value stated =
            port.dims[axis].value >= 0 ? Polynomial(port.dims[axis].value) : parseDim(text, names_, atoms_);
        const std::string what = "axis " + std::to_string(axis) + " of output " + port.name;
        if (!stated && text.find('?') != std::string::npos) continue;  // nothing is stated
        if (!stated || results[i]->kind != ObjectKind::tensor ||
            results[i]->dims.size() != port.dims.size()) {
          leaveOpen(Obligation::shape,
                    what + (stated ? ": its shape is made at run time" : ": " + text + " is not read"));
          continue;
        }
        const Value more = difference(results[i]->dims[axis], stated),
                    less = difference(stated, results[i]->dims[axis]);
        if (demand(Obligation::shape, {&more, 1}, what + " is not shown to be " + text))
          demand(Obligation::shape, {&less, 1}, what + " is not shown to be " + text);
      }
    }
  }

  // --- instructions
  void set(const CodeRow& row, size_t operand, Polynomial p) {
    frame().scalars[static_cast<size_t>(row.word(operand))] = number(std::move(p));
  }
  void set(const CodeRow& row, size_t operand, ObjectRef object) {
    frame().objects[static_cast<size_t>(row.word(operand))] = std::move(object);
  }
  void setAll(std::span<const int32_t> registers, const std::vector<ObjectRef>& values) {
    for (size_t i = 0; i < std::min(registers.size(), values.size()); ++i)
      frame().objects[static_cast<size_t>(registers[i])] = values[i];
  }
  void setNew(const CodeRow& row, ObjectRef made) {
    demandPeak(made->regions);
    set(row, 0, std::move(made));
  }
  ObjectRef withFields(ObjectKind kind, const std::vector<ObjectRef>& fields, int32_t function = -1) {
    Object made;
    made.kind = kind;
    made.fields = fields;
    made.function = function;
    return finish(std::move(made));
  }

  bool execute(const CodeRow& row);
  bool executeScalar(const CodeRow& row);
  void callBuiltin(const CodeRow& row);
  bool callClosure(const CodeRow& row);

  const ProgramText& program_;
  const std::vector<KernelAccesses>& kernels_;
  Judge& judge_;
  WalkResult result_;
  Atoms atoms_;
  State state_;
  std::vector<std::vector<CodeRow>> code_;
  std::vector<bool> isRepeated_;
  std::set<int32_t> closures_;
  std::vector<int32_t> queue_;
  std::vector<ObjectRef> globals_;
  std::vector<Value> storages_;       // sizes in bytes
  std::vector<std::string> reasons_;  // of those without
  std::vector<RegionRef> regions_;    // all, so that no address is used twice
  std::map<const Region*, size_t> order_;
  std::map<std::pair<uint64_t, size_t>, Polynomial> dims_;  // of objects that are not known
  std::map<std::string, Polynomial> names_;                 // dims of the contract
  std::set<std::pair<Obligation, std::string>> openPlaces_;
  std::string place_;
  uint64_t steps_ = 0, objectCount_ = 0;
  uint32_t loopCount_ = 0;
  size_t depth_ = 0;
  bool isMain_ = false;
};

bool Walk::executeScalar(const CodeRow& row) {
  const auto compare = [&](AtomKind kind) {
    set(row, 0, orFresh(atoms_.make(kind, scalar(row.word(1)), scalar(row.word(2)), state_.scope)));
  };
  switch (row.what) {
    case Instruction::constInt:
      set(row, 0, Polynomial(row.immediate(1)));
      return true;
    case Instruction::move:
      set(row, 0, scalar(row.word(1)));
      return true;
    case Instruction::add:
      set(row, 0, orFresh(scaledSum(scalar(row.word(1)), scalar(row.word(2)), 1)));
      return true;
    case Instruction::sub:
      set(row, 0, orFresh(scaledSum(scalar(row.word(1)), scalar(row.word(2)), -1)));
      return true;
    case Instruction::mul:
      set(row, 0, orFresh(product(scalar(row.word(1)), scalar(row.word(2)))));
      return true;
    case Instruction::addImmediate:
      set(row, 0, orFresh(scaledSum(scalar(row.word(1)), Polynomial(row.immediate(2)), 1)));
      return true;
    case Instruction::mulImmediate:
      set(row, 0, orFresh(scaledSum({}, scalar(row.word(1)), row.immediate(2))));
      return true;
    case Instruction::floorDiv:
      compare(AtomKind::floorDiv);
      return true;
    case Instruction::ceilDiv: {
      const Polynomial a = scalar(row.word(1)), k = scalar(row.word(2));
      const Value up = difference(sum(a, k), Polynomial(1));
      set(row, 0, orFresh(up ? atoms_.make(AtomKind::floorDiv, *up, k, state_.scope) : up));
      return true;
    }
    case Instruction::mod: {
      const Polynomial a = scalar(row.word(1)), k = scalar(row.word(2));
      const Value quotient = atoms_.make(AtomKind::floorDiv, a, k, state_.scope);
      set(row, 0, orFresh(difference(a, quotient ? product(*quotient, k) : quotient)));
      return true;
    }
    case Instruction::minimum:
      compare(AtomKind::minimum);
      return true;
    case Instruction::maximum:
      compare(AtomKind::maximum);
      return true;
    case Instruction::equal:
      compare(AtomKind::equal);
      return true;
    case Instruction::less:
      compare(AtomKind::less);
      return true;
    case Instruction::lessEqual:
      compare(AtomKind::lessEqual);
      return true;
    case Instruction::logicalAnd:
      compare(AtomKind::both);
      return true;
    case Instruction::logicalNot:
      set(row, 0, orFresh(atoms_.make(AtomKind::negation, scalar(row.word(1)), {}, state_.scope)));
      return true;
    case Instruction::dim:
      set(row, 0, dimOf(object(row.word(1)), static_cast<size_t>(row.word(2))));
      return true;
    case Instruction::item: {
      const ObjectRef from = object(row.word(1));
      const std::optional<int64_t> index = scalar(row.word(2)).constant();
      const bool isKnown = index && *index >= 0 && static_cast<size_t>(*index) < from->numbers.size();
      set(row, 0, isKnown ? from->numbers[static_cast<size_t>(*index)] : fresh());
      return true;
    }
    case Instruction::getTag:
    case Instruction::listLength:
      set(row, 0, fresh(true));
      return true;
    case Instruction::checkEqual:
      if (const Value p = difference(scalar(row.word(0)), scalar(row.word(1))))
        learnZero(state_.scope, atoms_, *p);
      return true;
    case Instruction::checkLessEqual:
      if (const Value p = difference(scalar(row.word(1)), scalar(row.word(0))))
        learn(state_.scope, atoms_, *p);
      return true;
    case Instruction::check:
      learnCondition(state_.scope, atoms_, scalar(row.word(0)), true);
      return true;
    default:
      return false;
  }
}

// False: the path ends here.
bool Walk::execute(const CodeRow& row) {
  if (executeScalar(row)) return true;
  switch (row.what) {
    case Instruction::checkTensor: {
      const ObjectRef held = object(row.word(0));
      if (held->kind == ObjectKind::tensor) return true;
      std::vector<Polynomial> dims;
      for (int32_t axis = 0; axis < std::min(row.word(2), 32); ++axis)
        dims.push_back(dimOf(held, static_cast<size_t>(axis)));
      const ObjectRef typed = tensor(static_cast<uint8_t>(row.word(1)), dims, held->regions);
      for (ObjectRef& other : frame().objects)
        if (other == held) other = typed;
      return true;
    }
    case Instruction::fromScalars:
    case Instruction::fromScalar: {
      const std::vector<Polynomial> numbers = scalars(row.operands[2]);
      Object made;
      made.kind = ObjectKind::tensor;
      made.dtype = static_cast<uint8_t>(row.word(1));
      if (row.what == Instruction::fromScalars)
        made.dims = {Polynomial(static_cast<int64_t>(numbers.size()))};
      // A narrower type may hold another number.
      if (made.dtype < kTypeCount && kElementBytes[made.dtype] == 8) made.numbers = numbers;
      made.regions = {storage(bytes(made.dtype, made.dims))};
      setNew(row, finish(std::move(made)));
      return true;
    }
    case Instruction::allocStorage: {
      const Polynomial size = scalar(row.word(1));
      learn(state_.scope, atoms_, size);  // else it faults
      Object made;
      made.kind = ObjectKind::storage;
      made.regions = {storage(size)};
      setNew(row, finish(std::move(made)));
      return true;
    }
    case Instruction::allocTensor:
      allocateTensor(row);
      return true;
    case Instruction::newTensor:
      setNew(row, newTensor(static_cast<uint8_t>(row.word(1)), scalars(row.operands[3])));
      return true;
    case Instruction::reuseTensor: {
      const ObjectRef from = object(row.word(1)),
                      made = newTensor(static_cast<uint8_t>(row.word(2)), scalars(row.operands[4]));
      std::vector<RegionRef> regions = from->regions;
      regions.insert(regions.end(), made->regions.begin(), made->regions.end());
      setNew(row, tensor(made->dtype, made->dims, regions));
      return true;
    }
    case Instruction::reshapeTensor:
    case Instruction::stridedView: {
      const ObjectRef from = object(row.word(1));
      const bool isView = row.what == Instruction::stridedView;
      Object made;
      made.dims = scalars(row.operands[isView ? 3 : 2]);
      made.regions = from->regions;
      if (from->kind == ObjectKind::tensor) {
        made.kind = ObjectKind::tensor;
        made.dtype = from->dtype;
        made.isDense = !isView && from->isDense;
        const Value before = bytes(from->dtype, from->dims), after = bytes(from->dtype, made.dims);
        const Value change = isView ? Value() : difference(after, before);  // it faults unless they are equal
        if (change && !change->terms.empty()) learnZero(state_.scope, atoms_, *change);
      }
      set(row, 0, finish(std::move(made)));
      return true;
    }
    case Instruction::deviceCopy: {
      const ObjectRef from = object(row.word(1));
      if (from->kind == ObjectKind::tensor)
        setNew(row, newTensor(from->dtype, from->dims));
      else
        setNew(row, unknown({}, true, "a copy of a value of unknown size"));
      return true;
    }
    case Instruction::moveObject:
      set(row, 0, object(row.word(1)));
      return true;
    case Instruction::kill:
      set(row, 0, ObjectRef());
      return true;
    case Instruction::loadConstant: {
      const ConstantText& constant = program_.constants[static_cast<size_t>(row.word(1))];
      std::vector<Polynomial> dims;
      for (const int64_t dim : constant.shape) dims.emplace_back(dim);
      set(row, 0, tensor(constant.dtype, dims, {storage(Polynomial())}));
      return true;
    }
    case Instruction::loadGlobal: {
      const ObjectRef held = globals_[static_cast<size_t>(row.word(1))];
      set(row, 0, held ? held : unknown({storage(Polynomial())}, false));
      return true;
    }
    case Instruction::storeGlobal: {
      // It is made once, at load, and no part of a run.
      const ObjectRef held = object(row.word(0));
      const std::vector<RegionRef> own{storage(Polynomial())};
      globals_[static_cast<size_t>(row.word(1))] =
          held->kind == ObjectKind::tensor ? tensor(held->dtype, held->dims, own) : unknown(own, false);
      return true;
    }
    case Instruction::makeTuple:
      set(row, 0, withFields(ObjectKind::tuple, objects(row.operands[2])));
      return true;
    case Instruction::makeClosure:
      set(row, 0, withFields(ObjectKind::closure, objects(row.operands[2]), row.word(1)));
      return true;
    case Instruction::makeList:
      set(row, 0, withFields(ObjectKind::unknown, objects(row.operands[1])));
      return true;
    case Instruction::getField: {
      const ObjectRef from = object(row.word(1));
      const auto index = static_cast<size_t>(row.word(2));
      const bool isKnown = from->kind == ObjectKind::tuple && index < from->fields.size();
      set(row, 0, isKnown ? from->fields[index] : unknown(from->regions, false));
      return true;
    }
    case Instruction::listAt:
    case Instruction::listErase:
      set(row, 0, unknown(object(row.word(1))->regions, false));
      return true;
    case Instruction::listInsert:
      set(row, 0, withFields(ObjectKind::unknown, {object(row.word(1)), object(row.word(2))}));
      return true;
    case Instruction::invoke: {
      std::vector<ObjectRef> results;
      const std::string at = place_;
      if (!call(row.word(1), objects(row.operands[2]), results)) return false;
      place_ = at;
      setAll(row.operands[0], results);
      return true;
    }
    case Instruction::invokeClosure:
      return callClosure(row);
    case Instruction::launch:
      launch(row);
      return true;
    case Instruction::callBuiltin:
    case Instruction::callBuiltinInto:
      callBuiltin(row);
      return true;
    default:
      result_.refusal = "unsupported: an instruction that the checker doesn't know at " + place_;
      return false;
  }
}

void Walk::callBuiltin(const CodeRow& row) {
  ++result_.builtinCalls;
  const std::string& name = program_.builtins[static_cast<size_t>(row.word(0))];
  result_.builtins.insert(name);
  if (row.what == Instruction::callBuiltinInto) return;
  // A builtin makes its results; what is in a list may be in the result, too.
  std::vector<RegionRef> shared;
  for (const ObjectRef& argument : objects(row.operands[2]))
    if (argument->kind != ObjectKind::tensor)
      shared.insert(shared.end(), argument->regions.begin(), argument->regions.end());
  std::vector<ObjectRef> results;
  for (size_t i = 0; i < row.operands[1].size(); ++i)
    results.push_back(unknown(shared, true, "builtin " + name + " makes a result of its own size"));
  setAll(row.operands[1], results);
  demandPeak({});
}

bool Walk::callClosure(const CodeRow& row) {
  const ObjectRef closure = object(row.word(1));
  std::vector<ObjectRef> arguments = objects(row.operands[2]), results;
  const std::string at = place_;
  if (closure->kind == ObjectKind::closure) {
    arguments.insert(arguments.begin(), closure->fields.begin(), closure->fields.end());
    const FunctionText& callee = program_.functions[static_cast<size_t>(closure->function)];
    if (arguments.size() != callee.parameterCount || row.operands[0].size() != callee.resultCount)
      return false;
    if (!call(closure->function, arguments, results)) return false;
  } else {
    for (const int32_t function : closures_) enqueue(function);
    arguments.push_back(closure);
    giveUnknown(arguments, row.operands[0].size(), "a function value that is not known is called", results);
  }
  place_ = at;
  setAll(row.operands[0], results);
  return true;
}

}  // namespace

WalkResult walkProgram(const ProgramText& program, const std::vector<KernelAccesses>& kernels, Judge& judge) {
  return Walk(program, kernels, judge).run();
}

}  // namespace dyn::certificate
