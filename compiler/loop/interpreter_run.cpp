// Execution of an InterpreterProgram.
//
// Poison: a load out of range or a division by zero marks its lanes with its fault site instead of stopping,
// the mark travels along with the value, `select` drops the mark of the arm it does not choose, and the first
// statement that demands a marked value reports it.
#include <cstring>
#include <memory>

#include "compiler/loop/interpreter_program.h"
#include "compiler/loop/kernel_interpreter.h"
#include "compiler/loop/scalar_math.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn::loop {

namespace {

struct View {
  std::byte* data = nullptr;
  int64_t count = 0;
  std::vector<int64_t> shape, strides;
};

template <class T>
T readAt(const std::byte* data, int64_t at) {
  T value;
  std::memcpy(&value, data + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void writeAt(std::byte* data, int64_t at, T value) {
  std::memcpy(data + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

struct BadIndex {
  int64_t index = 0, extent = 0;
  size_t axis = 0;
};

class Machine {
 public:
  explicit Machine(const InterpreterProgram& program)
      : p_(program),
        cells_(program.cells),
        poison_(program.cells, 0),
        anyPoison_(program.cells, 0),
        badIndex_(program.sites.size()) {}

  Status prepare(std::span<const int64_t> scalars) {
    if (scalars.size() != p_.scalars.size())
      return makeError(DiagnosticId::internalError,
                       "kernel @" + p_.name + " takes " + std::to_string(p_.scalars.size()) + " scalars");
    DimBinding binding;
    for (size_t i = 0; i < scalars.size(); ++i)
      if (p_.scalars[i].isSymbol()) binding.set(p_.scalars[i], scalars[i]);
    for (const auto& [cell, value] : p_.constants) cells_[cell] = value;
    for (const auto& [cell, dim] : p_.dims) {
      bool given = false;
      for (size_t i = 0; i < scalars.size() && !given; ++i) {
        given = p_.scalars[i] == dim;
        if (given) cells_[cell].i = scalars[i];
      }
      if (given) continue;
      DYN_TRY(cells_[cell].i, evaluate(dim, binding));
    }
    return {};
  }

  Result<int64_t> unitCount() {
    DYN_CHECK(measure());
    if (uint32_t site = poisonOf(p_.unitCount, 1)) return report(site);
    return cells_[p_.unitCount.cell].i;
  }

  // Views of the buffers; the prologue (array-backed functions in shapes) reads them, so data pointers come
  // first.
  Status attach(std::span<void* const> buffers) {
    if (buffers.size() != p_.parameterCount)
      return makeError(DiagnosticId::internalError,
                       "kernel @" + p_.name + " takes " + std::to_string(p_.parameterCount) + " buffers");
    views_.resize(p_.buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) views_[i].data = static_cast<std::byte*>(buffers[i]);
    return {};
  }

  Status measure() {
    views_.resize(p_.buffers.size());
    // Shapes of arrays behind functions must be known before the prologue loads from them: constants and dims
    // are in place already.
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < views_.size(); ++i) {
        View& v = views_[i];
        v.shape.clear();
        v.strides.assign(p_.shapes[i].size(), 1);
        v.count = 1;
        for (Operand extent : p_.shapes[i]) v.shape.push_back(cells_[extent.cell].i);
        for (size_t axis = v.shape.size(); axis-- > 0;) {
          v.strides[axis] = v.count;
          if (auto product = checkedMul(v.count, v.shape[axis]); product && v.shape[axis] >= 0) {
            v.count = *product;
          } else if (round == 1) {
            return makeError(DiagnosticId::dimOverflow, "kernel @" + p_.name + ": the size of `" +
                                                            p_.buffers[i]->name + "` does not fit");
          }
        }
      }
      if (round == 0) DYN_CHECK(block(p_.prologue, 1));
    }
    return {};
  }

  void makeScratch() {
    for (size_t i = p_.parameterCount; i < views_.size(); ++i) {
      scratch_.emplace_back(static_cast<size_t>(views_[i].count * storageBytes(p_.buffers[i]->dtype)));
      views_[i].data = scratch_.back().data();
    }
  }

  Result<int32_t> run(int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      cells_[p_.unit.cell].i = u;
      DYN_CHECK(block(p_.body, 1));
      if (fault_) return fault_;
    }
    return 0;
  }

 private:
  // ---- faults ----
  Error report(uint32_t site) const {
    const FaultSite& s = p_.sites[site];
    if (!s.buffer) return makeError(DiagnosticId::runtimeError, "kernel @" + p_.name + ": division by zero");
    return makeError(DiagnosticId::internalError,
                     "kernel @" + p_.name + (s.isStore ? " stores to `" : " loads from `") + s.buffer->name +
                         "` out of range: index " + std::to_string(badIndex_[site].index) + " of axis " +
                         std::to_string(badIndex_[site].axis) + " is not in 0.." +
                         std::to_string(badIndex_[site].extent - 1));
  }
  // Stops the kernel; a division by zero is a fault code, an access out of range an error.
  Status stop(uint32_t site) {
    if (p_.sites[site].buffer) return report(site);
    fault_ = DYN_KERNEL_DIVISION_BY_ZERO;
    return {};
  }
  uint32_t poisonOf(Operand r, int n) const {
    if (!anyPoison_[r.cell]) return 0;
    for (int i = 0; i < (r.stride ? n : 1); ++i)
      if (poison_[r.cell + static_cast<uint32_t>(i)]) return poison_[r.cell + static_cast<uint32_t>(i)];
    return 0;
  }
  void noteIndex(uint32_t site, int64_t index, size_t axis, int64_t extent) {
    badIndex_[site] = {index, extent, axis};
  }
  void mark(Operand out, int lane, uint32_t site) {
    if (!anyPoison_[out.cell]) {
      anyPoison_[out.cell] = 1;
      std::fill_n(&poison_[out.cell], out.stride ? kLanes : 1, 0);
    }
    poison_[out.cell + static_cast<uint32_t>(lane) * out.stride] = site;
  }
  void inherit(Operand out, Operand from, int n) {
    if (!anyPoison_[from.cell]) return;
    for (int i = 0; i < n; ++i)
      if (uint32_t site = poison_[from.cell + static_cast<uint32_t>(i) * from.stride]) mark(out, i, site);
  }

  // ---- instructions ----
  template <class F>
  void map1(const Instruction& in, int n, F f) {
    Cell* out = &cells_[in.out.cell];
    const Cell* a = &cells_[in.a.cell];
    const uint32_t sa = in.a.stride;
    for (int i = 0; i < n; ++i) f(out[i], a[static_cast<uint32_t>(i) * sa]);
  }
  template <class F>
  void map2(const Instruction& in, int n, F f) {
    Cell* out = &cells_[in.out.cell];
    const Cell *a = &cells_[in.a.cell], *b = &cells_[in.b.cell];
    const uint32_t sa = in.a.stride, sb = in.b.stride;
    for (int i = 0; i < n; ++i) f(out[i], a[static_cast<uint32_t>(i) * sa], b[static_cast<uint32_t>(i) * sb]);
  }
  void roundLanes(Dtype dtype, Operand out, int n) {
    if (dtype == Dtype::f64) return;
    Cell* cells = &cells_[out.cell];
    if (dtype == Dtype::f32) {
      for (int i = 0; i < n; ++i) cells[i].d = static_cast<float>(cells[i].d);
    } else {
      for (int i = 0; i < n; ++i) cells[i].d = roundResult(dtype, cells[i].d);
    }
  }

  void integerBinaryLanes(const Instruction& in, int n) {
    const auto op = static_cast<BinaryOp>(in.op);
    if (in.dtype == Dtype::i64) {
      switch (op) {
        case BinaryOp::add:
          return map2(in, n, [](Cell& o, Cell a, Cell b) {
            o.i = static_cast<int64_t>(asNatural(a.i) + asNatural(b.i));
          });
        case BinaryOp::sub:
          return map2(in, n, [](Cell& o, Cell a, Cell b) {
            o.i = static_cast<int64_t>(asNatural(a.i) - asNatural(b.i));
          });
        case BinaryOp::mul:
          return map2(in, n, [](Cell& o, Cell a, Cell b) {
            o.i = static_cast<int64_t>(asNatural(a.i) * asNatural(b.i));
          });
        case BinaryOp::less:
          return map2(in, n, [](Cell& o, Cell a, Cell b) { o.i = a.i < b.i; });
        case BinaryOp::lessEqual:
          return map2(in, n, [](Cell& o, Cell a, Cell b) { o.i = a.i <= b.i; });
        case BinaryOp::equal:
          return map2(in, n, [](Cell& o, Cell a, Cell b) { o.i = a.i == b.i; });
        default:
          break;
      }
    }
    int lane = 0;
    map2(in, n, [&](Cell& o, Cell a, Cell b) {
      const auto value = integerBinary(op, in.dtype, a.i, b.i);
      o.i = value.value_or(0);
      if (!value) mark(in.out, lane, in.site);
      ++lane;
    });
  }

  void realBinaryLanes(const Instruction& in, int n) {
    switch (static_cast<BinaryOp>(in.op)) {
#define DYN_REAL(name)                                                                        \
  case BinaryOp::name:                                                                        \
    map2(in, n, [](Cell& o, Cell a, Cell b) { o.d = realBinary(BinaryOp::name, a.d, b.d); }); \
    break;
      DYN_REAL(add)
      DYN_REAL(sub)
      DYN_REAL(mul)
      DYN_REAL(div)
      DYN_REAL(min)
      DYN_REAL(max)
#undef DYN_REAL
      default:
        map2(in, n, [op = static_cast<BinaryOp>(in.op)](Cell& o, Cell a, Cell b) {
          o.d = realBinary(op, a.d, b.d);
        });
    }
    roundLanes(in.dtype, in.out, n);
  }

  void castLanes(const Instruction& in, int n) {
    const Dtype from = in.dtype, to = in.to;
    if (isReal(from) && isReal(to)) {
      map1(in, n, [&](Cell& o, Cell a) { o.d = roundReal(to, a.d); });
    } else if (isReal(from)) {
      if (to == Dtype::boolean)
        map1(in, n, [](Cell& o, Cell a) { o.i = a.d != 0; });
      else
        map1(in, n, [&](Cell& o, Cell a) { o.i = realToInteger(to, a.d); });
    } else if (isReal(to)) {
      map1(in, n, [&](Cell& o, Cell a) { o.d = integerToReal(from, to, a.i); });
    } else if (to == Dtype::boolean) {
      map1(in, n, [](Cell& o, Cell a) { o.i = a.i != 0; });
    } else {
      map1(in, n, [&](Cell& o, Cell a) { o.i = wrapInteger(to, a.i); });
    }
  }

  // Element offsets of the lanes in offsets_. A lane out of range gets -1, and its mark in `out` when given.
  void addresses(const View& view, const Operand* index, size_t rank, const Operand* out, uint32_t site,
                 int n) {
    int64_t base = 0;
    bool whole = view.data != nullptr;  // an empty tensor, or arrays not given to unitCount()
    for (size_t axis = 0; axis < rank; ++axis) {
      if (index[axis].stride) continue;
      const int64_t at = cells_[index[axis].cell].i;
      if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(view.shape[axis])) {
        if (whole) noteIndex(site, at, axis, view.shape[axis]);
        whole = false;
      } else {
        base += at * view.strides[axis];
      }
    }
    if (!whole) {
      std::fill_n(offsets_, n, -1);
      for (int i = 0; i < n && out; ++i) mark(*out, i, site);
      return;
    }
    std::fill_n(offsets_, n, base);
    bool noted = false;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (!index[axis].stride) continue;
      const Cell* at = &cells_[index[axis].cell];
      const auto extent = static_cast<uint64_t>(view.shape[axis]);
      const int64_t stride = view.strides[axis];
      for (int i = 0; i < n; ++i) {
        if (static_cast<uint64_t>(at[i].i) >= extent) {
          if (offsets_[i] >= 0) {
            if (!noted) noteIndex(site, at[i].i, axis, view.shape[axis]);
            noted = true;
            if (out) mark(*out, i, site);
          }
          offsets_[i] = -1;
        } else if (offsets_[i] >= 0) {
          offsets_[i] += at[i].i * stride;
        }
      }
    }
  }

  template <class T>
  void readIntegers(const View& view, Cell* out, int n) {
    for (int i = 0; i < n; ++i)
      out[i].i = offsets_[i] < 0 ? 0 : static_cast<int64_t>(readAt<T>(view.data, offsets_[i]));
  }
  template <class T>
  void readNarrowReals(Dtype dtype, const View& view, Cell* out, int n) {
    for (int i = 0; i < n; ++i)
      out[i].d = offsets_[i] < 0 ? 0 : decodeReal(dtype, readAt<T>(view.data, offsets_[i]));
  }

  void loadLanes(const Instruction& in, int n) {
    const View& view = views_[in.buffer];
    const Operand* index = p_.indices.data() + in.firstIndex;
    addresses(view, index, in.indexCount, &in.out, in.site, n);
    Cell* out = &cells_[in.out.cell];
    switch (in.dtype) {
      case Dtype::f32:
        for (int i = 0; i < n; ++i) out[i].d = offsets_[i] < 0 ? 0 : readAt<float>(view.data, offsets_[i]);
        break;
      case Dtype::f64:
        for (int i = 0; i < n; ++i) out[i].d = offsets_[i] < 0 ? 0 : readAt<double>(view.data, offsets_[i]);
        break;
      case Dtype::i64:
      case Dtype::u64:
        readIntegers<int64_t>(view, out, n);
        break;
      case Dtype::i32:
        readIntegers<int32_t>(view, out, n);
        break;
      case Dtype::u32:
        readIntegers<uint32_t>(view, out, n);
        break;
      case Dtype::i16:
        readIntegers<int16_t>(view, out, n);
        break;
      case Dtype::u16:
        readIntegers<uint16_t>(view, out, n);
        break;
      case Dtype::i8:
      case Dtype::i4:
      case Dtype::i2:
        readIntegers<int8_t>(view, out, n);
        break;
      case Dtype::boolean:
        for (int i = 0; i < n; ++i)
          out[i].i = offsets_[i] < 0 ? 0 : readAt<uint8_t>(view.data, offsets_[i]) != 0;
        break;
      case Dtype::u8:
      case Dtype::u4:
      case Dtype::u2:
        readIntegers<uint8_t>(view, out, n);
        break;
      default:
        if (storageBytes(in.dtype) == 2)
          readNarrowReals<uint16_t>(in.dtype, view, out, n);
        else
          readNarrowReals<uint8_t>(in.dtype, view, out, n);
    }
  }

  void writeLane(Dtype dtype, const View& view, int64_t at, Cell value) {
    switch (dtype) {
      case Dtype::f32:
        return writeAt<float>(view.data, at, static_cast<float>(value.d));
      case Dtype::f64:
        return writeAt<double>(view.data, at, value.d);
      default:
        break;
    }
    const uint64_t bits = isReal(dtype) ? encodeReal(dtype, value.d) : asNatural(value.i);
    switch (storageBytes(dtype)) {
      case 1:
        return writeAt<uint8_t>(view.data, at, static_cast<uint8_t>(bits));
      case 2:
        return writeAt<uint16_t>(view.data, at, static_cast<uint16_t>(bits));
      case 4:
        return writeAt<uint32_t>(view.data, at, static_cast<uint32_t>(bits));
      default:
        return writeAt<uint64_t>(view.data, at, bits);
    }
  }

  void execute(const Instruction& in, int lanes) {
    const int n = in.out.stride ? lanes : 1;
    anyPoison_[in.out.cell] = 0;
    switch (in.code) {
      case Code::intUnary:
        map1(in, n, [&](Cell& o, Cell a) { o.i = integerUnary(static_cast<UnaryOp>(in.op), in.dtype, a.i); });
        break;
      case Code::realUnary:
        map1(in, n, [op = static_cast<UnaryOp>(in.op)](Cell& o, Cell a) { o.d = realUnary(op, a.d); });
        roundLanes(in.dtype, in.out, n);
        break;
      case Code::realTest:
        map1(in, n, [op = static_cast<UnaryOp>(in.op)](Cell& o, Cell a) { o.i = realUnary(op, a.d) != 0; });
        break;
      case Code::intBinary:
        integerBinaryLanes(in, n);
        break;
      case Code::realBinary:
        realBinaryLanes(in, n);
        break;
      case Code::realCompare:
        map2(in, n, [op = static_cast<BinaryOp>(in.op)](Cell& o, Cell a, Cell b) {
          o.i = realCompare(op, a.d, b.d);
        });
        break;
      case Code::select:
        selectLanes(in, n);
        return;
      case Code::cast:
        castLanes(in, n);
        break;
      case Code::load:
        loadLanes(in, n);
        for (uint32_t k = 0; k < in.indexCount; ++k) inherit(in.out, p_.indices[in.firstIndex + k], n);
        return;
    }
    inherit(in.out, in.a, n);
    if (in.code == Code::intBinary || in.code == Code::realBinary || in.code == Code::realCompare)
      inherit(in.out, in.b, n);
  }

  void selectLanes(const Instruction& in, int n) {
    Cell* out = &cells_[in.out.cell];
    const Cell *a = &cells_[in.a.cell], *b = &cells_[in.b.cell], *c = &cells_[in.c.cell];
    for (int i = 0; i < n; ++i) {
      const auto u = static_cast<uint32_t>(i);
      out[i] = a[u * in.a.stride].i ? b[u * in.b.stride] : c[u * in.c.stride];
    }
    if (anyPoison_[in.b.cell] || anyPoison_[in.c.cell]) {
      for (int i = 0; i < n; ++i) {
        const auto u = static_cast<uint32_t>(i);
        const Operand chosen = a[u * in.a.stride].i ? in.b : in.c;
        if (!anyPoison_[chosen.cell]) continue;
        if (uint32_t site = poison_[chosen.cell + u * chosen.stride]) mark(in.out, i, site);
      }
    }
    inherit(in.out, in.a, n);
  }

  // ---- steps ----
  Status block(const CodeBlock& code, int lanes) {
    for (const Step& s : code.steps) {
      for (uint32_t k = s.firstInstruction; k < s.endInstruction; ++k) execute(p_.instructions[k], lanes);
      switch (s.kind) {
        case StepKind::evaluate:
          break;
        case StepKind::demand:
          if (uint32_t site = poisonOf(s.value, lanes)) DYN_CHECK(stop(site));
          break;
        case StepKind::store:
          DYN_CHECK(storeStep(s, lanes));
          break;
        case StepKind::check:
          if (uint32_t site = poisonOf(s.value, lanes)) DYN_CHECK(stop(site));
          for (int i = 0; i < (s.value.stride ? lanes : 1) && !fault_; ++i)
            if (!cells_[s.value.cell + static_cast<uint32_t>(i)].i) fault_ = faultOf(s, i);
          break;
        case StepKind::branch:
          if (uint32_t site = poisonOf(s.value, lanes)) DYN_CHECK(stop(site));
          if (!fault_ && cells_[s.value.cell].i) DYN_CHECK(block(s.body, lanes));
          break;
        case StepKind::loop:
          DYN_CHECK(loopStep(s, lanes));
          break;
        case StepKind::accumulate:
          DYN_CHECK(accumulateStep(s, lanes));
          break;
      }
      if (fault_) return {};
    }
    return {};
  }

  Status storeStep(const Step& s, int lanes) {
    if (uint32_t site = poisonOf(s.value, lanes)) return stop(site);
    const Operand* index = p_.indices.data() + s.firstIndex;
    bool varying = s.value.stride != 0;
    for (uint32_t k = 0; k < s.indexCount; ++k) {
      varying |= index[k].stride != 0;
      if (uint32_t site = poisonOf(index[k], lanes)) return stop(site);
    }
    const int n = varying ? lanes : 1;
    const View& view = views_[s.buffer];
    addresses(view, index, s.indexCount, nullptr, s.site, n);
    for (int i = 0; i < n; ++i) {
      if (offsets_[i] < 0) return report(s.site);
      writeLane(s.dtype, view, offsets_[i], cells_[s.value.cell + static_cast<uint32_t>(i) * s.value.stride]);
    }
    return {};
  }

  Status loopStep(const Step& s, int lanes) {
    if (uint32_t site = poisonOf(s.extents[0], lanes)) return stop(site);
    const int64_t extent = cells_[s.extents[0].cell].i;
    Cell* variable = &cells_[s.variables[0].cell];
    const int64_t step = s.lanes ? kLanes : 1;
    for (int64_t at = 0; at < extent && !fault_; at += step) {
      int n = lanes;
      if (s.lanes) {
        n = static_cast<int>(std::min<int64_t>(kLanes, extent - at));
        for (int i = 0; i < n; ++i) variable[i].i = at + i;
      } else {
        variable->i = at;
      }
      DYN_CHECK(block(s.body, n));
    }
    return {};
  }

  void combine(const Step& s, Cell& into, Cell value) {
    const BinaryOp op = combineOp(s.reduceOp);
    if (isReal(s.dtype))
      into.d = roundResult(s.dtype, realBinary(op, into.d, value.d));
    else
      into.i = *integerBinary(op, s.dtype, into.i, value.i);  // none of these divides
  }

  Status accumulateStep(const Step& s, int lanes) {
    std::vector<int64_t> extents, at(s.extents.size(), 0);
    bool empty = false;
    for (Operand e : s.extents) {
      if (uint32_t site = poisonOf(e, lanes)) return stop(site);
      extents.push_back(cells_[e.cell].i);
      empty |= extents.back() <= 0;
    }
    const int results = s.target.stride ? lanes : 1;
    Cell* result = &cells_[s.target.cell];
    anyPoison_[s.target.cell] = 0;
    for (int i = 0; i < results; ++i) {
      if (isReal(s.dtype))
        result[i].d = roundReal(s.dtype, realNeutral(s.reduceOp));
      else
        result[i].i = integerNeutral(s.reduceOp, s.dtype);
    }
    const size_t last = extents.size() - 1;
    while (!empty) {
      int n = lanes;
      for (size_t k = 0; k < extents.size(); ++k) cells_[s.variables[k].cell].i = at[k];
      if (s.lanes) {
        n = static_cast<int>(std::min<int64_t>(kLanes, extents[last] - at[last]));
        for (int i = 0; i < n; ++i)
          cells_[s.variables[last].cell + static_cast<uint32_t>(i)].i = at[last] + i;
      }
      DYN_CHECK(block(s.body, n));
      if (fault_) return {};
      if (uint32_t site = poisonOf(s.value, n)) return stop(site);
      const Cell* value = &cells_[s.value.cell];
      if (s.lanes) {
        for (int i = 0; i < n; ++i) combine(s, result[0], value[static_cast<uint32_t>(i) * s.value.stride]);
      } else {
        for (int i = 0; i < results; ++i)
          combine(s, result[i], value[static_cast<uint32_t>(i) * s.value.stride]);
      }
      at[last] += s.lanes ? n : 1;
      size_t k = last;
      while (k > 0 && at[k] >= extents[k]) {
        at[k] = 0;
        ++at[--k];
      }
      if (at[0] >= extents[0]) break;
    }
    return {};
  }

  int32_t faultOf(const Step& check, int lane) const {
    if (!check.subject) return check.fault;
    const int64_t found =
        cells_[check.subject->cell + static_cast<uint32_t>(check.subject->stride ? lane : 0)].i;
    const int64_t value = std::clamp<int64_t>(found, -DYN_FAULT_MOST, DYN_FAULT_MOST);
    return check.fault | static_cast<int32_t>(value) * (1 << 8);
  }

  const InterpreterProgram& p_;
  std::vector<Cell> cells_;
  std::vector<uint32_t>
      poison_;  // fault site per cell; meaningful while anyPoison_ of the register's first cell is set
  std::vector<uint8_t> anyPoison_;
  std::vector<BadIndex> badIndex_;  // per site, the first one of the last lanes met
  std::vector<View> views_;
  std::vector<std::vector<std::byte>> scratch_;
  int64_t offsets_[kLanes];
  int32_t fault_ = 0;
};

}  // namespace

Result<int64_t> KernelInterpreter::unitCount(std::span<const int64_t> scalars,
                                             std::span<void* const> buffers) const {
  Machine machine(*program_);
  DYN_CHECK(machine.prepare(scalars));
  if (!buffers.empty()) DYN_CHECK(machine.attach(buffers));
  return machine.unitCount();
}

Result<int32_t> KernelInterpreter::run(std::span<void* const> buffers, std::span<const int64_t> scalars,
                                       int64_t begin, int64_t end) const {
  Machine machine(*program_);
  DYN_CHECK(machine.prepare(scalars));
  DYN_CHECK(machine.attach(buffers));
  DYN_CHECK(machine.measure());
  machine.makeScratch();
  return machine.run(begin, end);
}

}  // namespace dyn::loop
