#include "vm/certificate/walk.h"

#include <algorithm>

#include "vm/certificate/builtin_results.h"
#include "vm/certificate/code_text.h"
#include "vm/certificate/contract_text.h"
#include "vm/certificate/inner_launch.h"
#include "vm/certificate/walk_state.h"

namespace dyn::certificate {

namespace {

constexpr uint64_t kMaximumSteps = 4'000'000;
constexpr size_t kMaximumCalls = 64;

// A loop that is walked until its head covers all that comes back to it, and once more for its obligations.
struct Loop {
  size_t row = 0;        // of its head
  int32_t label = 0;     // the position of its head
  uint32_t end = 0;      // ... of the last jump back
  bool isFinal = false;  // the pass that asks
  Head head;
  State entry;  // its frame grows
  std::map<int32_t, State> pending;
  std::optional<State> left;
};

// A call of a function that calls itself, walked in the same way.
struct RepeatedCall {
  Head head;
  std::vector<ObjectRef> arguments, results;
  bool hasResults = false;
};

class Walk : WalkValues {
 public:
  Walk(const ProgramText& program, const std::vector<KernelAccesses>& kernels, Judge& judge)
      : program_(program), kernels_(kernels), judge_(judge), globals_(program.globalCount) {}

  WalkResult run() {
    code_.resize(program_.functions.size());
    for (size_t i = 0; i < code_.size() && result_.refusal.empty(); ++i)
      result_.refusal = decode(program_, program_.functions[i], code_[i]);
    if (!result_.refusal.empty()) return std::move(result_);
    findRepeated();
    nameLoops();
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
      for (ObjectRef& argument : arguments) argument = newUnknown("a value of unknown size");
      walkApart(queue_[i], arguments);
    }
    if (judge_.isWrong() && result_.refusal.empty())
      result_.refusal = "a witness doesn't show what the program needs at " + place_;
    for (const Polynomial& p : judge_.peak()) result_.peak.push_back(printable(p) ? atoms_.print(p) : "?");
    return std::move(result_);
  }

 private:
  // --- values
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
  ObjectRef object(int32_t index) {
    const ObjectRef& held = frame().objects[static_cast<size_t>(index)];
    return held ? held : newUnknown("a value of unknown size");
  }
  std::vector<ObjectRef> objects(std::span<const int32_t> list) {
    std::vector<ObjectRef> result;
    for (const int32_t index : list) result.push_back(object(index));
    return result;
  }
  // An input: its memory is the caller's. A dim that the contract names is called so.
  ObjectRef input(const PortText& port) {
    const ObjectRef made = unknown({storage(Polynomial())});
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
    if (dry_ == 0 && openPlaces_.insert({kind, place_ + what}).second)
      result_.open.push_back({kind, place_, what});
  }
  bool demand(Obligation kind, std::span<const Value> claims, const std::string& what) {
    if (dry_ > 0) return true;
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
  // Asks for what registers hold on to beside `more`, after a storage was made.
  void demandPeak(const Regions& more) {
    if (!isMain_ || dry_ > 0) return;
    std::vector<bool> isLive(storages_.size());
    for (const RegionRef& region : more) isLive[region->storage] = true;
    for (const Frame& frame : state_.frames)
      for (const ObjectRef& object : frame.objects)
        if (object)
          for (const RegionRef& region : object->regions) isLive[region->storage] = true;
    Value total = Polynomial();
    std::set<size_t> grown;
    for (size_t i = 0; i < isLive.size() && total; ++i) {
      const std::optional<size_t> growth = storages_[i].growth;
      if (!isLive[i] || (growth && !grown.insert(*growth).second)) continue;
      const Value size = sizeOf(static_cast<uint32_t>(i));
      if (!size) return leaveOpen(Obligation::peak, storages_[i].why);
      total = sum(total, size);
    }
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
    // Only values of this function, and globals, can lie in a storage that it has made itself.
    const uint32_t in = place->regions[0]->storage;
    if (in < frame().firstStorage) leaveOpen(Obligation::apart, "the storage is another function's");
    const Value end = sum(begin, size), claims[] = {begin, difference(storages_[in].size, end)};
    demand(Obligation::fits, {claims, 1}, "the offset is not shown to be at least 0");
    demand(Obligation::fits, {claims + 1, 1}, "the tensor is not shown to end inside of its storage");
    Regions live;
    const auto note = [&](const ObjectRef& held) {
      if (held && held->kind != ObjectKind::storage)
        for (const RegionRef& region : held->regions)
          if (region->storage == in && std::count(live.begin(), live.end(), region) == 0)
            live.push_back(region);
    };
    for (size_t i = 0; i < frame().objects.size(); ++i)
      if (i != static_cast<size_t>(row.word(0))) note(frame().objects[i]);
    for (const ObjectRef& held : globals_) note(held);
    for (const RegionRef& region : live) {
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
    set(row, 0, tensor(dtype, dims, {region}));
  }

  // Numbers that the walk knows may not be written over.
  void demandWritable(const std::vector<ObjectRef>& outputs) {
    for (const ObjectRef& output : outputs)
      for (const RegionRef& region : output->regions)
        if (numbers_.count(region->storage) != 0)
          return leaveOpen(Obligation::access, "a kernel may write over the numbers of a shape");
  }

  void launch(const CodeRow& row) {
    const std::vector<ObjectRef> buffers = objects(row.operands[3]);
    std::vector<Value> sizes;
    for (const ObjectRef& buffer : buffers) sizes.push_back(bytesOf(buffer));
    launch(static_cast<size_t>(row.word(0)), scalar(row.word(1)), scalars(row.operands[4]), buffers, sizes);
  }

  // A view that is not dense faults.
  Value bytesOf(const ObjectRef& buffer) const {
    return buffer->kind == ObjectKind::tensor ? bytes(buffer->dtype, buffer->dims) : Value();
  }

  void launch(size_t index, const Polynomial& units, std::vector<Polynomial> scalars,
              const std::vector<ObjectRef>& buffers, std::vector<Value> sizes, bool isOneRow = false) {
    if (dry_ > 0) return;
    if (!isOneRow) ++result_.launches;
    const KernelText& kernel = program_.kernels[index];
    Launch launch{&kernels_[index], units, std::move(scalars), std::move(sizes), {}, isOneRow};
    const size_t firstOutput = kernel.bufferCount - kernel.outputCount;
    demandWritable({buffers.begin() + static_cast<std::ptrdiff_t>(firstOutput), buffers.end()});
    for (size_t i = 0; i < buffers.size(); ++i) {
      bool isStable = i < firstOutput;
      for (size_t k = firstOutput; k < buffers.size(); ++k)
        for (const RegionRef& region : buffers[k]->regions)
          isStable =
              isStable && std::count(buffers[i]->regions.begin(), buffers[i]->regions.end(), region) == 0;
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

  // The generated kernel that a builtin calls for rows of its result.
  void launchInside(const CodeRow& row, const std::string& name) {
    std::vector<ObjectRef> arguments = objects(row.operands[2]), results = objects(row.operands[1]);
    if (dry_ > 0 || results.empty()) return;
    const auto inner = innerLaunch(name, row.operands[4], arguments, *results[0]);
    if (!inner) return;
    std::vector<Polynomial> given = scalars(row.operands[3]);
    const bool isRow = inner->kernel < kernels_.size() && arguments.size() >= inner->firstArgument &&
                       given.size() >= inner->firstScalar;
    if (!isRow) return;  // it faults
    const KernelText& kernel = program_.kernels[inner->kernel];
    if (!inner->rows || !inner->columns)
      return leaveOpen(Obligation::access, "kernel " + kernel.name + " inside of builtin " + name);
    given.erase(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(inner->firstScalar));
    const Value elements = product(*inner->rows, *inner->columns),
                elsewhere = elements ? scaledSum({}, *elements, 4) : elements;
    std::vector<ObjectRef> buffers;
    std::vector<Value> sizes;
    const auto add = [&](const ObjectRef& buffer, bool isElsewhere) {
      buffers.push_back(buffer);
      sizes.push_back(isElsewhere ? elsewhere : bytesOf(buffer));
    };
    const ObjectRef rows = newUnknown("rows of a product");
    for (size_t i = inner->firstArgument; i < arguments.size(); ++i) {
      const bool isEmpty = !frame().objects[static_cast<size_t>(row.operands[2][i])];
      const bool isRows =
          (inner->isElsewhere && isEmpty) || (inner->readsElsewhere && i + 1 == arguments.size());
      add(isRows ? rows : arguments[i], isRows);
    }
    if (inner->isElsewhere)
      add(rows, true);
    else
      for (const ObjectRef& result : results) add(result, false);
    const auto launchRows = [&](const Polynomial& count, const Value& columns, bool isOneRow) {
      const State before = state_;
      std::vector<Polynomial> all = given;
      if (inner->takesColumns) {
        const Polynomial first = fresh(true), end = fresh(true);
        all.push_back(first);
        all.push_back(end);
        if (const Value room = difference(columns, end)) learn(state_.scope, atoms_, *room);
      }
      if (kernel.bufferCount == buffers.size() && kernel.scalarCount == all.size())
        launch(inner->kernel, count, all, buffers, sizes, isOneRow);
      state_ = before;
    };
    launchRows(*inner->rows, inner->columns, false);
    if (inner->isEven) launchRows(Polynomial(1), elements, true);
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

  // For each loop the most jumps back to its head after it was entered: one number for all of a run, so that
  // a loop around it sees the same in each iteration.
  void nameLoops() {
    for (size_t i = 0; i < code_.size(); ++i)
      for (const CodeRow& row : code_[i])
        if (const std::optional<int32_t> label = labelOf(row);
            label && *label <= static_cast<int32_t>(row.position)) {
          const std::string place = "@" + program_.functions[i].name + ":" + std::to_string(*label);
          if (iterations_.count(place) == 0)
            iterations_.emplace(place, atoms_.symbol("iterations" + place, true));
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
    if (const auto outer = repeated_.find(function); outer != repeated_.end())
      return callAgain(outer->second, arguments, results);
    if (depth_ >= kMaximumCalls) {
      enqueue(function);
      giveUnknown(arguments, callee.resultCount, "calls are nested too deeply", results);
      return true;
    }
    if (isRepeated_[static_cast<size_t>(function)]) return callRepeated(function, arguments, results);
    const std::optional<std::vector<ObjectRef>> given = walkFunction(function, arguments);
    if (given) results = *given;
    return given.has_value();
  }

  bool callAgain(RepeatedCall& outer, const std::vector<ObjectRef>& arguments,
                 std::vector<ObjectRef>& results) {
    for (size_t i = 0; i < arguments.size(); ++i)
      outer.arguments[i] = grown(outer.head, i, outer.arguments[i], arguments[i]);
    if (isMain_) leaveOpen(Obligation::peak, "a function calls itself");
    for (const ObjectRef& result : outer.results) results.push_back(itemOf(result));
    return outer.hasResults;
  }

  bool callRepeated(int32_t function, const std::vector<ObjectRef>& arguments,
                    std::vector<ObjectRef>& results) {
    RepeatedCall& own = repeated_[function];
    own.head = newHead();
    own.arguments = arguments;
    own.results.resize(program_.functions[static_cast<size_t>(function)].resultCount);
    const State before = state_;
    std::optional<std::vector<ObjectRef>> given;
    ++dry_;
    for (bool isFinal = false; !isDone();) {
      state_ = before;
      own.head.isChanged = false;
      given = walkFunction(function, own.arguments);
      for (size_t i = 0; given && i < given->size(); ++i)
        own.results[i] = common(own.head, own.arguments.size() + i, own.results[i], (*given)[i]);
      own.head.isChanged = own.head.isChanged || (given && !own.hasResults);
      own.hasResults = given.has_value();
      if (own.head.isChanged) {
        if (isFinal) result_.refusal = "a function that calls itself has no fixed point at " + place_;
        continue;
      }
      if (isFinal) break;
      --dry_;
      isFinal = true;
      if (dry_ > 0) break;
    }
    repeated_.erase(function);
    if (given) results = *given;
    return given.has_value();
  }

  void giveUnknown(const std::vector<ObjectRef>& arguments, size_t count, const std::string& why,
                   std::vector<ObjectRef>& results) {
    Regions regions;
    for (const ObjectRef& argument : arguments)
      regions.insert(regions.end(), argument->regions.begin(), argument->regions.end());
    for (size_t i = 0; i < count; ++i) results.push_back(newUnknown(why, regions));
    // What a callee needs that can't be followed is not in the stated peak.
    if (isMain_) leaveOpen(Obligation::peak, why);
  }

  bool isDone() const { return judge_.isWrong() || !result_.refusal.empty(); }

  // Where the walk of one function is.
  struct Course {
    std::map<int32_t, State> pending;  // by label
    std::optional<State> left;         // it returned
    std::vector<Loop> loops;           // the innermost last
    bool isLive = true;
  };

  std::optional<std::vector<ObjectRef>> walkFunction(int32_t index, const std::vector<ObjectRef>& arguments) {
    const FunctionText& function = program_.functions[static_cast<size_t>(index)];
    const std::vector<CodeRow>& rows = code_[static_cast<size_t>(index)];
    Frame& frame = state_.frames.emplace_back();
    frame.scalars.resize(function.scalarCount);
    frame.objects.resize(function.objectCount);
    frame.firstStorage = static_cast<uint32_t>(storages_.size());
    for (size_t i = 0; i < std::min<size_t>(arguments.size(), function.parameterCount); ++i)
      frame.objects[i] = arguments[i];
    ++depth_;
    Course course;
    std::map<int32_t, uint32_t> ends;  // of loops: the last jump back to a label
    for (const CodeRow& row : rows)
      if (const std::optional<int32_t> label = labelOf(row);
          label && *label <= static_cast<int32_t>(row.position))
        ends[*label] = row.position;
    for (size_t i = 0; i < rows.size() && !isDone(); ++i) {
      const CodeRow& row = rows[i];
      const auto position = static_cast<int32_t>(row.position);
      place_ = "@" + function.name + ":" + std::to_string(position);
      if (const auto at = course.pending.find(position); at != course.pending.end()) {
        state_ = course.isLive ? join(state_, at->second) : std::move(at->second);
        course.isLive = true;
        course.pending.erase(at);
      }
      if (const auto end = ends.find(position); end != ends.end() && course.isLive) enter(course, i, *end);
      if (course.isLive) step(course, row);
      if (!course.loops.empty() && course.loops.back().end == row.position) i = leave(course, i);
    }
    --depth_;
    if (course.isLive && !isDone()) result_.refusal = "function @" + function.name + " runs off its end";
    if (!course.left) return std::nullopt;
    state_ = std::move(*course.left);
    std::vector<ObjectRef> results = std::move(state_.frames.back().objects);
    state_.frames.pop_back();
    return results;
  }

  void enter(Course& course, size_t row, std::pair<int32_t, uint32_t> place) {
    if (!course.loops.empty() && course.loops.back().row == row) return;  // once more
    if (!course.loops.empty() && course.loops.back().end <= place.second)
      result_.refusal = "unsupported: loops that overlap at " + place_;
    course.loops.push_back({row, place.first, place.second, false, newHead(iterations_.at(place_)), state_,
                            course.pending, course.left});
    ++dry_;
  }

  // The row from whose successor the walk goes on: behind the loop, or its head.
  size_t leave(Course& course, size_t row) {
    Loop& loop = course.loops.back();
    measureGrowth(loop.head);
    if (!loop.head.isChanged) {
      if (!loop.isFinal) --dry_;
      if (loop.isFinal || dry_ > 0) {
        course.loops.pop_back();
        return row;
      }
      loop.isFinal = true;
    } else if (loop.isFinal) {
      result_.refusal = "a loop has no fixed point at " + place_;
    }
    loop.head.isChanged = false;
    state_ = loop.entry;
    course.pending = loop.pending;
    course.left = loop.left;
    course.isLive = true;
    return loop.row - 1;
  }

  void comeBack(Course& course, int32_t label) {
    for (Loop& loop : course.loops) {
      if (loop.label != label) continue;
      Frame& before = loop.entry.frames.back();
      for (size_t i = 0; i < before.scalars.size(); ++i)
        before.scalars[i] = grown(loop.head, before.scalars[i], frame().scalars[i]);
      for (size_t i = 0; i < before.objects.size(); ++i)
        before.objects[i] = grown(loop.head, i, before.objects[i], frame().objects[i]);
      return;
    }
    result_.refusal = "a jump back into a place that is not reached at " + place_;
  }

  // One instruction of a path that is alive.
  void step(Course& course, const CodeRow& row) {
    if (++steps_ > kMaximumSteps)
      result_.refusal = "unsupported: the program has more than 4,000,000 steps to check";
    if (const std::optional<int32_t> label = labelOf(row)) return jump(course, row, *label);
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
        course.left = course.left ? join(*course.left, state_) : state_;
      }
      course.isLive = false;
    } else {
      endsPath_ = row.what == Instruction::fatal;
      if (!endsPath_) execute(row);
      course.isLive = !endsPath_;
    }
  }

  void jump(Course& course, const CodeRow& row, int32_t label) {
    const bool isPlain = row.what == Instruction::jump, isNegated = row.what == Instruction::jumpIfNot;
    const Polynomial condition = isPlain ? Polynomial(1) : scalar(row.word(0));
    const std::optional<int64_t> fixed = condition.constant();
    const bool goes = !fixed || (*fixed != 0) != isNegated;
    State after = state_;
    course.isLive = !isPlain && (!fixed || !goes);
    if (!fixed) learnCondition(after.scope, atoms_, condition, isNegated);
    if (!fixed) learnCondition(state_.scope, atoms_, condition, !isNegated);
    if (goes && label <= static_cast<int32_t>(row.position)) {
      comeBack(course, label);
    } else if (goes) {
      const auto [at, isNew] = course.pending.try_emplace(label, state_);
      if (!isNew) at->second = join(at->second, state_);
    }
    state_ = std::move(after);
  }

  static std::optional<int32_t> labelOf(const CodeRow& row) {
    if (row.what == Instruction::jump) return row.word(0);
    if (row.what == Instruction::jumpIf || row.what == Instruction::jumpIfNot) return row.word(1);
    return std::nullopt;
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

  void execute(const CodeRow& row);
  void executeObject(const CodeRow& row);
  void callBuiltin(const CodeRow& row);
  void callClosure(const CodeRow& row);

  const ProgramText& program_;
  const std::vector<KernelAccesses>& kernels_;
  Judge& judge_;
  WalkResult result_;
  std::vector<std::vector<CodeRow>> code_;
  std::vector<bool> isRepeated_;
  std::set<int32_t> closures_;
  std::vector<int32_t> queue_;
  std::vector<ObjectRef> globals_;
  std::set<uint32_t> numbers_;                              // storages of tensors whose numbers are known
  std::map<std::pair<uint64_t, size_t>, Polynomial> dims_;  // of objects that are not known
  std::map<std::string, Polynomial> names_;                 // dims of the contract
  std::map<std::string, Polynomial> iterations_;            // of loops, by place
  std::set<std::pair<Obligation, std::string>> openPlaces_;
  std::map<int32_t, RepeatedCall> repeated_;  // that run
  uint64_t steps_ = 0;
  size_t depth_ = 0;
  int dry_ = 0;  // above 0: a pass that only looks for what a head holds
  bool isMain_ = false, endsPath_ = false;
};

constexpr std::pair<Instruction, Operation> kOperations[] = {{Instruction::add, Operation::add},
                                                             {Instruction::sub, Operation::sub},
                                                             {Instruction::mul, Operation::mul},
                                                             {Instruction::floorDiv, Operation::floorDiv},
                                                             {Instruction::ceilDiv, Operation::ceilDiv},
                                                             {Instruction::mod, Operation::mod},
                                                             {Instruction::minimum, Operation::minimum},
                                                             {Instruction::maximum, Operation::maximum},
                                                             {Instruction::equal, Operation::equal},
                                                             {Instruction::less, Operation::less},
                                                             {Instruction::lessEqual, Operation::lessEqual},
                                                             {Instruction::logicalAnd, Operation::both}};

void Walk::execute(const CodeRow& row) {
  for (const auto& [instruction, operation] : kOperations)
    if (row.what == instruction) {
      const Polynomial a = scalar(row.word(1)), b = scalar(row.word(2));
      return set(row, 0, orFresh(atoms_.compute(operation, a, b, state_.scope)));
    }
  switch (row.what) {
    case Instruction::constInt:
      return set(row, 0, Polynomial(row.immediate(1)));
    case Instruction::move:
      return set(row, 0, scalar(row.word(1)));
    case Instruction::addImmediate:
      return set(row, 0, orFresh(scaledSum(scalar(row.word(1)), Polynomial(row.immediate(2)), 1)));
    case Instruction::mulImmediate:
      return set(row, 0, orFresh(scaledSum({}, scalar(row.word(1)), row.immediate(2))));
    case Instruction::logicalNot:
      return set(row, 0, orFresh(atoms_.compute(Operation::negation, scalar(row.word(1)), {}, state_.scope)));
    case Instruction::dim:
      return set(row, 0, dimOf(object(row.word(1)), static_cast<size_t>(row.word(2))));
    case Instruction::item: {
      const ObjectRef from = object(row.word(1));
      const std::optional<int64_t> index = scalar(row.word(2)).constant();
      const bool isKnown = index && *index >= 0 && static_cast<size_t>(*index) < from->numbers.size();
      return set(row, 0, isKnown ? from->numbers[static_cast<size_t>(*index)] : fresh());
    }
    case Instruction::getTag:
    case Instruction::listLength:
      return set(row, 0, fresh(true));
    case Instruction::checkEqual:
      if (const Value p = difference(scalar(row.word(0)), scalar(row.word(1))))
        learnZero(state_.scope, atoms_, *p);
      return;
    case Instruction::checkLessEqual:
      if (const Value p = difference(scalar(row.word(1)), scalar(row.word(0))))
        learn(state_.scope, atoms_, *p);
      return;
    case Instruction::check:
      return learnCondition(state_.scope, atoms_, scalar(row.word(0)), true);
    default:
      return executeObject(row);
  }
}

void Walk::executeObject(const CodeRow& row) {
  switch (row.what) {
    case Instruction::checkTensor: {
      const ObjectRef held = object(row.word(0));
      if (held->kind == ObjectKind::tensor) return;
      std::vector<Polynomial> dims;
      for (int32_t axis = 0; axis < std::min(row.word(2), 32); ++axis)
        dims.push_back(dimOf(held, static_cast<size_t>(axis)));
      const ObjectRef typed = tensor(static_cast<uint8_t>(row.word(1)), dims, held->regions);
      for (ObjectRef& other : frame().objects)
        if (other == held) other = typed;
      return;
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
      if (kElementBytes[made.dtype] == 8) made.numbers = numbers;
      made.regions = {storage(bytes(made.dtype, made.dims))};
      if (!made.numbers.empty()) numbers_.insert(made.regions[0]->storage);
      return setNew(row, finish(std::move(made)));
    }
    case Instruction::allocStorage: {
      const Polynomial size = scalar(row.word(1));
      learn(state_.scope, atoms_, size);  // else it faults
      Object made;
      made.kind = ObjectKind::storage;
      made.regions = {storage(size)};
      return setNew(row, finish(std::move(made)));
    }
    case Instruction::allocTensor:
      return allocateTensor(row);
    case Instruction::newTensor:
      return setNew(row, newTensor(static_cast<uint8_t>(row.word(1)), scalars(row.operands[3])));
    case Instruction::reuseTensor: {
      const ObjectRef from = object(row.word(1)),
                      made = newTensor(static_cast<uint8_t>(row.word(2)), scalars(row.operands[4]));
      Regions regions = from->regions;
      regions.insert(regions.end(), made->regions.begin(), made->regions.end());
      return setNew(row, tensor(made->dtype, made->dims, regions));
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
        const Value before = bytes(from->dtype, from->dims), after = bytes(from->dtype, made.dims);
        const Value change = isView ? Value() : difference(after, before);  // it faults unless they are equal
        if (change && !change->terms.empty()) learnZero(state_.scope, atoms_, *change);
      }
      return set(row, 0, finish(std::move(made)));
    }
    case Instruction::deviceCopy: {
      const ObjectRef from = object(row.word(1));
      if (from->kind == ObjectKind::tensor) return setNew(row, newTensor(from->dtype, from->dims));
      return setNew(row, newUnknown("a copy of a value of unknown size"));
    }
    case Instruction::moveObject:
      return set(row, 0, frame().objects[static_cast<size_t>(row.word(1))]);
    case Instruction::kill:
      return set(row, 0, ObjectRef());
    case Instruction::loadConstant: {
      const ConstantText& constant = program_.constants[static_cast<size_t>(row.word(1))];
      std::vector<Polynomial> dims;
      for (const int64_t dim : constant.shape) dims.emplace_back(dim);
      return set(row, 0, tensor(constant.dtype, dims, {storage(Polynomial())}));
    }
    case Instruction::loadGlobal: {
      const ObjectRef held = globals_[static_cast<size_t>(row.word(1))];
      return set(row, 0, held ? held : unknown({storage(Polynomial())}));
    }
    case Instruction::storeGlobal: {
      // It is made once, at load, and no part of a run.
      const ObjectRef held = object(row.word(0));
      Regions own = held->regions;
      own.push_back(storage(Polynomial()));
      globals_[static_cast<size_t>(row.word(1))] =
          held->kind == ObjectKind::tensor ? tensor(held->dtype, held->dims, own) : unknown(own);
      return;
    }
    case Instruction::makeTuple:
      return set(row, 0, withFields(ObjectKind::tuple, objects(row.operands[2])));
    case Instruction::makeClosure:
      return set(row, 0, withFields(ObjectKind::closure, objects(row.operands[2]), row.word(1)));
    case Instruction::makeList: {
      ObjectRef item;
      for (const ObjectRef& each : objects(row.operands[1])) item = item ? common(item, each) : each;
      return set(row, 0, withFields(ObjectKind::list, item ? std::vector{item} : std::vector<ObjectRef>()));
    }
    case Instruction::getField: {
      const ObjectRef from = object(row.word(1));
      const auto index = static_cast<size_t>(row.word(2));
      const bool isKnown = from->kind == ObjectKind::tuple && index < from->fields.size();
      return set(row, 0, isKnown ? from->fields[index] : unknown(from->regions));
    }
    case Instruction::listAt: {
      const ObjectRef from = object(row.word(1));
      const bool isKnown = from->kind == ObjectKind::list && !from->fields.empty();
      return set(row, 0, isKnown ? itemOf(from->fields[0]) : unknown(from->regions));
    }
    case Instruction::listErase:
      return set(row, 0, object(row.word(1)));
    case Instruction::listInsert: {
      const ObjectRef from = object(row.word(1)), item = object(row.word(2));
      if (from->kind == ObjectKind::list)
        return set(
            row, 0,
            withFields(ObjectKind::list, {from->fields.empty() ? item : common(from->fields[0], item)}));
      return set(row, 0, withFields(ObjectKind::unknown, {from, item}));
    }
    case Instruction::invoke: {
      std::vector<ObjectRef> results;
      const std::string at = place_;
      endsPath_ = !call(row.word(1), objects(row.operands[2]), results);
      place_ = at;
      if (!endsPath_) setAll(row.operands[0], results);
      return;
    }
    case Instruction::invokeClosure:
      return callClosure(row);
    case Instruction::launch:
      return launch(row);
    case Instruction::callBuiltin:
    case Instruction::callBuiltinInto:
      return callBuiltin(row);
    default:
      result_.refusal = "unsupported: an instruction that the checker doesn't know at " + place_;
  }
}

void Walk::callBuiltin(const CodeRow& row) {
  const std::string& name = program_.builtins[static_cast<size_t>(row.word(0))];
  if (dry_ == 0) {
    ++result_.builtinCalls;
    result_.builtins.insert(name);
  }
  if (row.what == Instruction::callBuiltinInto) {
    demandWritable(objects(row.operands[1]));
    return launchInside(row, name);
  }
  // A builtin makes its results; what is in a list may be in the result, too.
  std::vector<ObjectRef> arguments = objects(row.operands[2]), results;
  Regions shared;
  for (ObjectRef& argument : arguments) {
    if (argument->kind != ObjectKind::tensor)
      shared.insert(shared.end(), argument->regions.begin(), argument->regions.end());
    if (argument->kind == ObjectKind::list && !argument->fields.empty())
      argument = itemOf(argument->fields[0]);
  }
  const auto shapes =
      resultsOf({name, arguments, scalars(row.operands[3]), row.operands[4], [this] { return fresh(true); }});
  for (size_t i = 0; i < row.operands[1].size(); ++i)
    if (i < shapes.size() && shapes[i])
      results.push_back(newTensor(shapes[i]->dtype, shapes[i]->dims));
    else
      results.push_back(newUnknown("builtin " + name + " makes a result of its own size", shared));
  setAll(row.operands[1], results);
  demandPeak({});
}

void Walk::callClosure(const CodeRow& row) {
  const ObjectRef closure = object(row.word(1));
  std::vector<ObjectRef> arguments = objects(row.operands[2]), results;
  const std::string at = place_;
  if (closure->kind == ObjectKind::closure) {
    arguments.insert(arguments.begin(), closure->fields.begin(), closure->fields.end());
    const FunctionText& callee = program_.functions[static_cast<size_t>(closure->function)];
    endsPath_ = arguments.size() != callee.parameterCount || row.operands[0].size() != callee.resultCount ||
                !call(closure->function, arguments, results);
  } else {
    for (const int32_t function : closures_) enqueue(function);
    arguments.push_back(closure);
    giveUnknown(arguments, row.operands[0].size(), "a function value that is not known is called", results);
  }
  place_ = at;
  if (!endsPath_) setAll(row.operands[0], results);
}

}  // namespace

WalkResult walkProgram(const ProgramText& program, const std::vector<KernelAccesses>& kernels, Judge& judge) {
  return Walk(program, kernels, judge).run();
}

}  // namespace dyn::certificate
