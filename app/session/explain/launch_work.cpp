#include "app/session/explain/launch_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "app/engine/run/run_result.h"
#include "compiler/loop/expr.h"
#include "compiler/loop/scalar_math.h"
#include "vm/shared/dyn_builtin_calls.h"
#include "vm/shared/dyn_epilogue_form.h"
#include "vm/shared/dyn_recurrence.h"

namespace dyn {

namespace {

struct Tensor {
  std::vector<double> shape;
  double elements = 1, bytes = 0;
  std::optional<Dtype> dtype;
  bool ofBytes() const { return dtype == Dtype::u8 || dtype == Dtype::i8; }
};

// "f32[2,3] f32[3]" as the profile writes them; what is no tensor has no bytes.
std::vector<Tensor> tensorsOf(const std::string& shapes) {
  std::vector<Tensor> tensors;
  for (size_t at = 0; at < shapes.size();) {
    const size_t open = shapes.find('[', at);
    const size_t close = open == std::string::npos ? open : shapes.find(']', open);
    if (close == std::string::npos) break;
    Tensor tensor;
    const std::string dtype = shapes.substr(shapes.rfind(' ', open) + 1, open - shapes.rfind(' ', open) - 1);
    for (size_t digit = open + 1; digit < close;) {
      const size_t end = std::min(close, shapes.find(',', digit));
      tensor.shape.push_back(std::strtod(shapes.c_str() + digit, nullptr));
      tensor.elements *= tensor.shape.back();
      digit = end + 1;
    }
    tensor.dtype = parseDtype(dtype);
    tensor.bytes = tensor.elements * (tensor.dtype ? static_cast<double>(storageBytes(*tensor.dtype)) : 0.0);
    tensors.push_back(std::move(tensor));
    at = close + 1;
  }
  return tensors;
}

std::string launchSizesText(const std::vector<double>& sizes) {
  std::string text;
  for (double size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(static_cast<int64_t>(size));
  return text;
}

// --- loop kernels

// Whose dims a kernel's scalars are named by: those of this launch, or of another that shares the kernel.
enum class DimNames : uint8_t { own, ofAnother };

class KernelCounter {
 public:
  KernelCounter(const loop::Kernel& kernel, const std::vector<int64_t>& scalars,
                DimNames names = DimNames::own)
      : kernel_(kernel), names_(names) {
    for (size_t i = 0; i < kernel.scalars.size() && i < scalars.size(); ++i) {
      values_[kernel.scalars[i].id()] = scalars[i];
      if (kernel.scalars[i].isSymbol()) binding_.set(kernel.scalars[i].symbol(), scalars[i]);
    }
  }

  LaunchWork count(double units) {
    if (kernel_.body) walk(units);
    LaunchWork work = work_;
    work.kind = LaunchKind::loop;
    for (const auto& [buffer, touched] : touched_) {
      if (buffer->role == loop::BufferRole::scratch) continue;
      double elements = 1;
      for (loop::Expr extent : buffer->shape) elements *= extentOf(extent);
      work.bytes += std::min(touched, elements) * static_cast<double>(storageBytes(buffer->dtype));
    }
    for (size_t i = 0; i < kernel_.scalars.size(); ++i)
      if (kernel_.scalars[i].isSymbol() && values_.count(kernel_.scalars[i].id()))
        work.dims += (work.dims.empty() ? "" : ", ") +
                     (names_ == DimNames::own ? kernel_.scalars[i].toString() + " = " : "") +
                     std::to_string(values_.at(kernel_.scalars[i].id()));
    return work;
  }

 private:
  // Values of variables, by id: at a step of the innermost vector loop, and at the next one.
  struct Place {
    std::unordered_map<uint32_t, double> here, next;
    bool vector = false;  // inside of such a loop
  };

  // Something to do: a statement and how often it runs, or, without one, a variable that has a value from
  // here on.
  struct Visit {
    const loop::Stmt* stmt = nullptr;
    double times = 0;
    bool vector = false;
    uint32_t variable = 0;
    double value = 0, next = 0;
  };

  // An explicit stack.
  void walk(double units) {
    std::vector<Visit> stack;
    const loop::Stmt* body[] = {kernel_.body.get()};
    pushLoop(stack, kernel_.unit, units, 1, false, false, body);
    while (!stack.empty()) {
      const Visit visit = stack.back();
      stack.pop_back();
      if (!visit.stmt) {
        place_.here[visit.variable] = visit.value;
        place_.next[visit.variable] = visit.next;
        continue;
      }
      const loop::Stmt& stmt = *visit.stmt;
      place_.vector = visit.vector;
      std::vector<const loop::Stmt*> children;
      for (const auto& child : stmt.children) children.push_back(child.get());
      if (!visit.vector && (stmt.kind == loop::StmtKind::loop || stmt.kind == loop::StmtKind::accumulate ||
                            stmt.kind == loop::StmtKind::store))
        work_.visits += visit.times;
      if (stmt.kind == loop::StmtKind::loop) {
        pushLoop(stack, stmt.variable, extentOf(stmt.extent), visit.times,
                 visit.vector || stmt.loopKind == loop::LoopKind::vector, visit.vector, children);
        continue;
      }
      double inner = visit.times;
      if (stmt.kind == loop::StmtKind::accumulate) {
        inner = enter(stmt, visit.times);
        work_.operations += inner;
      }
      if (!stmt.value.isNull()) countExpr(stmt.value, inner);
      if (!stmt.condition.isNull()) countExpr(stmt.condition, visit.times);
      if (stmt.kind == loop::StmtKind::let) {
        place_.here[stmt.variable.id()] = valueOf(stmt.value, place_.here);
        place_.next[stmt.variable.id()] = valueOf(stmt.value, place_.next);
      }
      if (stmt.kind == loop::StmtKind::store) touch(stmt.buffer, stmt.index, visit.times, false);
      push(stack, children, inner, place_.vector);
    }
  }

  // Into the nest of an accumulation; how often its value is computed.
  double enter(const loop::Stmt& stmt, double times) {
    for (size_t k = 0; k < stmt.variables.size(); ++k) {
      const double extent = extentOf(stmt.extents[k]), middle = std::floor(std::max(0.0, (extent - 1) / 2));
      const bool innermost = k + 1 == stmt.variables.size() && stmt.loopKind == loop::LoopKind::vector;
      if (!innermost && !place_.vector) work_.visits += times * extent;
      place_.here[stmt.variables[k].id()] = middle;
      place_.next[stmt.variables[k].id()] = middle + (innermost ? 1 : 0);
      place_.vector |= innermost;
      times *= extent;
    }
    return times;
  }

  static void push(std::vector<Visit>& stack, std::span<const loop::Stmt* const> children, double times,
                   bool vector) {
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      stack.push_back({*child, times, vector});
  }

  // The last step by itself, for it may be a part of one; the others as so many at the middle of them. That
  // is exact for what is linear in the variable and for what is cut into pieces.
  static void pushLoop(std::vector<Visit>& stack, loop::Expr variable, double extent, double times,
                       bool vector, bool already, std::span<const loop::Stmt* const> children) {
    if (!(extent > 0)) return;
    const double step = vector && !already ? 1 : 0;
    if (step > 0) {  // what is inside a vector loop does not depend on where it is
      push(stack, children, times * extent, vector);
      const double middle = std::floor((extent - 1) / 2);
      stack.push_back({nullptr, 0, vector, variable.id(), middle, middle + 1});
      return;
    }
    push(stack, children, times, vector);
    stack.push_back({nullptr, 0, vector, variable.id(), extent - 1, extent - 1});
    if (!(extent > 1)) return;
    push(stack, children, times * (extent - 1), vector);
    stack.push_back({nullptr, 0, vector, variable.id(), (extent - 2) / 2, (extent - 2) / 2});
  }

  double extentOf(loop::Expr extent) { return std::max(0.0, valueOf(extent, place_.here)); }

  void touch(const loop::Buffer* buffer, std::span<const loop::Expr> index, double times, bool maybe) {
    touched_[buffer] += times;
    if (!place_.vector) return;
    bool together = !maybe;
    for (size_t axis = 0; axis < index.size() && together; ++axis) {
      const double step = valueOf(index[axis], place_.next) - valueOf(index[axis], place_.here);
      bool loads = false;
      for (loop::Expr e : loop::postorder({&index[axis], 1})) loads |= e.kind() == loop::ExprKind::load;
      together = !loads && (step == 0 || (step == 1 && axis + 1 == index.size()));
    }
    if (!together) work_.scattered += maybe ? times / 2 : times;
  }

  // Loads in the arms of a select are made one by one, those of one arm: the other's may lie outside.
  void countExpr(loop::Expr root, double times) {
    std::unordered_map<uint32_t, bool> inArm;
    const std::vector<loop::Expr> order = loop::postorder({&root, 1});
    for (auto e = order.rbegin(); e != order.rend(); ++e) {
      const bool arm = inArm[e->id()];
      for (size_t i = 0; i < e->operands().size(); ++i)
        inArm[e->operands()[i].id()] |= arm || (e->kind() == loop::ExprKind::select && i > 0);
    }
    for (loop::Expr e : order) {
      switch (e.kind()) {
        case loop::ExprKind::load:
          touch(e.buffer(), e.operands(), times, inArm[e.id()] && !e.operands().empty());
          break;
        case loop::ExprKind::unary:
          (loop::isFunction(e.unaryOp()) ? work_.calls : work_.operations) += times;
          break;
        case loop::ExprKind::binary:  // arithmetic of indexes goes along with the loops
          if (e.binaryOp() == loop::BinaryOp::pow)
            work_.calls += times;
          else if (e.dtype() != Dtype::i64)
            work_.operations += times;
          else if (place_.vector && isDivision(e.binaryOp()))  // no machine divides vectors of integers
            work_.scattered += times;
          break;
        case loop::ExprKind::select:
        case loop::ExprKind::cast:
          work_.operations += times;
          break;
        default:
          break;
      }
    }
  }

  static bool isDivision(loop::BinaryOp op) {
    using loop::BinaryOp;
    return op == BinaryOp::div || op == BinaryOp::floorDiv || op == BinaryOp::mod || op == BinaryOp::rem;
  }

  // What only the elements say counts as 1.
  double valueOf(loop::Expr root, const std::unordered_map<uint32_t, double>& variables) {
    std::unordered_map<uint32_t, double> known;
    for (loop::Expr e : loop::postorder({&root, 1})) {
      double value = 1;
      const auto at = [&](size_t i) { return known[e.operands()[i].id()]; };
      switch (e.kind()) {
        case loop::ExprKind::intConstant:
          value = static_cast<double>(e.intValue());
          break;
        case loop::ExprKind::dim:
          value = dimOf(e.dimValue());
          break;
        case loop::ExprKind::variable:
          if (auto known = variables.find(e.id()); known != variables.end()) value = known->second;
          break;
        case loop::ExprKind::call:
          if (e.function()->backing == loop::FunctionBacking::dimExpression) value = dimOf(e.function()->dim);
          break;
        case loop::ExprKind::cast:
          value = at(0);
          break;
        case loop::ExprKind::select:
          value = std::max(at(1), at(2));
          break;
        case loop::ExprKind::binary:
          value = binary(e.binaryOp(), at(0), at(1));
          break;
        default:
          break;
      }
      known[e.id()] = value;
    }
    return known[root.id()];
  }

  // Of indexes, which are whole numbers. Comparisons and the like count as 1, a division by 0 as 0.
  static double binary(loop::BinaryOp op, double a, double b) {
    using loop::BinaryOp;
    if (isDivision(op) && b == 0) return 0;
    switch (op) {
      case BinaryOp::add:
      case BinaryOp::sub:
      case BinaryOp::mul:
      case BinaryOp::floorDiv:
      case BinaryOp::mod:
      case BinaryOp::rem:
      case BinaryOp::min:
      case BinaryOp::max:
        return loop::realBinary(op, a, b);
      case BinaryOp::div:
        return loop::realBinary(BinaryOp::floorDiv, a, b);
      default:
        return 1;
    }
  }

  double dimOf(Dim dim) {
    auto given = values_.find(dim.id());
    if (given != values_.end()) return static_cast<double>(given->second);
    const Result<int64_t> value = evaluate(dim, binding_);
    return value.ok() ? static_cast<double>(*value) : 1;
  }

  const loop::Kernel& kernel_;
  const DimNames names_;
  DimBinding binding_;
  std::map<uint32_t, int64_t> values_;  // of the kernel's scalars, by id of the dim
  Place place_;
  std::map<const loop::Buffer*, double> touched_;  // elements, some of them again
  LaunchWork work_;
};

// --- builtins

double wholePanels(double columns, double panelColumns) {
  return std::ceil(columns / panelColumns) * panelColumns;
}

// The fields of the call, whose lists lie in `words`.
template <typename Call>
typename Call::template Numbers<calls::Borrowed> numbersOf(const TimelineEvent& event, calls::Owned& words) {
  words.assign(event.numbers.begin(), event.numbers.end());
  return calls::readNumbers<Call>(words);
}

// Size of the axis that an order puts at `place`.
double orderedSize(calls::Borrowed order, size_t place, const Tensor& tensor) {
  if (place >= order.size()) return 1;
  const auto axis = static_cast<size_t>(order[place]);
  return axis < tensor.shape.size() ? tensor.shape[axis] : 1;
}

// What a kernel inside of a builtin does to `rows` rows of `columns` elements. It gets the call's scalars
// and, when it works on a part of a row at a time, its two ends.
void countInner(const TimelineEvent& event, const LoweredModule& lowered, int64_t index, double rows,
                double columns, LaunchWork& work) {
  if (index < 0 || static_cast<size_t>(index) >= lowered.kernels.size()) return;
  const loop::Kernel& kernel = lowered.kernels[static_cast<size_t>(index)];
  std::vector<int64_t> scalars = event.scalars;
  if (kernel.scalars.size() == scalars.size() + 2) {
    scalars.push_back(0);
    scalars.push_back(static_cast<int64_t>(columns));
  }
  const LaunchWork inner = KernelCounter(kernel, scalars).count(rows);
  work.operations += inner.operations;
  work.calls += inner.calls;
  work.scattered += inner.scattered;
  work.visits += inner.visits;
}

// Of `work.rows` rows, with what fills up the last panel.
void countProducts(bool packed, double depth, double columns, const Tensor& b, LaunchWork& work) {
  double made = columns;
  if (packed) {
    work.weightBytes = b.bytes;
    if (depth > 0) made = std::max(made, b.elements / depth);
  } else {
    work.packed = b.elements;
  }
  work.results = work.rows * made;
  work.products = 2 * work.results * depth;
}

void countGemm(const TimelineEvent& event, const LoweredModule& lowered, const std::vector<Tensor>& tensors,
               LaunchWork& work) {
  const auto results = static_cast<size_t>(event.resultsCount);
  if (tensors.size() < results + 2 || event.numbers.empty()) return;
  using Call = calls::Gemm;
  const Tensor &c = tensors[0], &a = tensors[results + Call::a], &b = tensors[results + Call::b];
  calls::Owned words;
  const auto n = numbersOf<Call>(event, words);
  const size_t rank = a.shape.size();
  if (rank == 0 || c.shape.empty()) return;
  double depth = a.shape.back();
  if (n.ordered)
    depth = orderedSize(n.orders, rank - 1, a);
  else if (n.transposedA && rank >= 2)
    depth = a.shape[rank - 2];
  const double columns = c.shape.back();
  work.rows = columns > 0 ? c.elements / columns : 0;
  // Those that are only kept narrow are widened.
  if (n.packedB && !n.narrowB && b.dtype == Dtype::bf16) work.productsOf = ProductsOf::pairs;
  countProducts(n.packedB, depth, columns, b, work);
  countInner(event, lowered, EpilogueNumber::parted(n.epilogue).kernelPlusOne - 1, work.rows, columns, work);
  work.dims = launchSizesText({work.rows, depth, columns});
}

void countByteGemm(const TimelineEvent& event, const LoweredModule& lowered,
                   const std::vector<Tensor>& tensors, LaunchWork& work) {
  const auto results = static_cast<size_t>(event.resultsCount);
  if (tensors.size() < results + 2) return;
  using Call = calls::Bytegemm;
  const Tensor &c = tensors[0], &a = tensors[results + Call::a], &b = tensors[results + Call::b];
  if (a.shape.empty() || c.shape.empty()) return;
  calls::Owned words;
  const auto n = numbersOf<Call>(event, words);
  const double depth = a.shape.back(), columns = c.shape.back();
  work.rows = columns > 0 ? c.elements / columns : 0;
  work.productsOf = ProductsOf::bytes;
  countProducts(n.packedB, depth, columns, b, work);
  countInner(event, lowered, EpilogueNumber::parted(n.epilogue).kernelPlusOne - 1, work.rows, columns, work);
  work.dims = launchSizesText({work.rows, depth, columns});
}

void countAttention(const TimelineEvent& event, const LoweredModule& lowered,
                    const std::vector<Tensor>& tensors, double panelColumns, LaunchWork& work) {
  if (tensors.size() < 4) return;
  using Call = calls::Attention;
  const Tensor &z = tensors[0], &q = tensors[1 + Call::q], &k = tensors[1 + Call::k];
  calls::Owned words;
  const auto n = numbersOf<Call>(event, words);
  const size_t rank = q.shape.size();
  if (rank < 2) return;
  const double depth = orderedSize(n.orderQ, rank - 1, q), rows = orderedSize(n.orderQ, rank - 2, q),
               columns = orderedSize(n.orderK, rank - 1, k);
  const double scores = depth > 0 ? q.elements / depth * columns : 0;
  work.rows = columns > 0 ? scores / columns : 0;
  const double width = work.rows > 0 ? z.elements / work.rows : 0;
  const double scoresMade = wholePanels(columns, panelColumns), widthMade = wholePanels(width, panelColumns);
  work.results = work.rows * (scoresMade + widthMade);
  work.products = 2 * work.rows * (depth * scoresMade + columns * widthMade);
  const double keys = rows > 0 ? work.rows / rows * columns : 0;  // of all batches
  const bool transposed = !n.orderK.empty() && n.orderK.back() != static_cast<int32_t>(rank) - 1;
  (transposed ? work.scattered : work.packed) += keys * depth;
  work.packed += keys * width;
  if (n.complete) countInner(event, lowered, n.kernel, work.rows, columns, work);
  const double batch = rows > 0 && depth > 0 ? q.elements / depth / rows : 0;
  work.dims = launchSizesText({batch, rows, columns, depth});
}

// Of all steps and directions: products as of so many matrices, and what becomes of the gates.
void countRecurrence(const TimelineEvent& event, const std::vector<Tensor>& tensors, double panelColumns,
                     LaunchWork& work) {
  using Call = calls::Recurrence;
  const auto results = static_cast<size_t>(event.resultsCount);
  if (tensors.size() < results + 3) return;
  calls::Owned words;
  const auto cell = static_cast<recurrence::Cell>(numbersOf<Call>(event, words).kind);
  const Tensor &gates = tensors[results + Call::gates], &weights = tensors[results + Call::weights],
               &state = tensors[results + Call::state];
  if (gates.shape.size() != 3 || state.shape.size() != 2 || state.elements == 0) return;
  const double steps = gates.shape[0], rows = state.shape[0], units = state.shape[1],
               columns = gates.shape[2];
  double directions = 0;
  for (size_t i = results; i < tensors.size(); ++i) directions += tensors[i].shape.size() == 3;
  const double second = resetsFirst(cell) ? units : 0;  // columns of a second product
  const double made = wholePanels(columns - second, panelColumns) +
                      (second > 0 ? wholePanels(second, panelColumns) : 0),
               times = steps * directions;
  work.rows = rows;
  work.weightBytes = directions * weights.bytes * (second > 0 ? columns / (columns - second) : 1);
  work.weightReads = std::max(1.0, steps);
  if (weights.dtype == Dtype::bf16) work.productsOf = ProductsOf::pairs;
  work.results = times * rows * made;
  work.products = 2 * work.results * units;
  work.calls = times * state.elements * static_cast<double>(callsOf(cell));
  work.operations = times * rows * columns;
  // A panel of each tile begins anew, as does the cell of each row.
  work.visits = times * (made / panelColumns + rows);
  work.dims = launchSizesText({steps, rows, units, columns});
}

void countConvolution(const TimelineEvent& event, const std::vector<Tensor>& tensors, bool packed,
                      LaunchWork& work) {
  const auto results = static_cast<size_t>(event.resultsCount);
  if (tensors.size() < results + 2 || event.numbers.size() < 2) return;
  static_assert(int{calls::Conv::weights} == int{calls::ConvPacked::weights});
  const Tensor& weights = tensors[results + calls::Conv::weights];
  if (tensors[results + calls::Conv::x].ofBytes()) work.productsOf = ProductsOf::bytes;
  work.kind = LaunchKind::convolution;
  std::vector<double> window(weights.shape.begin(), weights.shape.end());
  if (packed) {
    calls::Owned words;
    const calls::Borrowed sizes = numbersOf<calls::ConvPacked>(event, words).sizes;
    window.assign(sizes.begin(), sizes.end());
    work.weightBytes = weights.bytes;
  }
  double steps = 1;
  for (size_t i = 1; i < window.size(); ++i) steps *= window[i];
  work.products = 2 * tensors[0].elements * steps;
  work.filters = window.empty() ? 0 : window[0];
  work.results = tensors[0].elements;
  work.dims = launchSizesText(tensors[0].shape) + " by " + launchSizesText(window);
  if (event.name != "byteconv") return;
  // Windows are written one after the other and multiplied as a matrix.
  work.kind = LaunchKind::gemm;
  work.rows = work.filters > 0 ? work.results / work.filters : 0;
}

}  // namespace

LaunchWork workOf(const TimelineEvent& event, const LoweredModule& lowered, double panelColumns) {
  if (event.kind == "kernel" && event.index >= 0 &&
      static_cast<size_t>(event.index) < lowered.kernels.size() && event.scalars.size() >= 2) {
    const std::vector<int64_t> own(event.scalars.begin() + 2, event.scalars.end());  // after units and steps
    const auto index = static_cast<size_t>(event.index);
    return KernelCounter(lowered.kernels[index], own,
                         lowered.kernelServesOthers[index] ? DimNames::ofAnother : DimNames::own)
        .count(static_cast<double>(event.scalars[0]));
  }
  LaunchWork work;
  const std::vector<Tensor> tensors = tensorsOf(event.shapes);
  work.bytes = static_cast<double>(event.bytes);
  if (!tensors.empty()) work.dims = launchSizesText(tensors[0].shape);
  switch (launchKindOf(event)) {
    case LaunchKind::gemm:
      work.kind = LaunchKind::gemm;
      (event.name == "bytegemm" ? countByteGemm : countGemm)(event, lowered, tensors, work);
      break;
    case LaunchKind::attention:
      work.kind = LaunchKind::attention;
      countAttention(event, lowered, tensors, panelColumns, work);
      break;
    case LaunchKind::recurrence:
      work.kind = LaunchKind::recurrence;
      countRecurrence(event, tensors, panelColumns, work);
      break;
    case LaunchKind::convolution:
      countConvolution(event, tensors, event.name != "conv" && event.name != "byteconv", work);
      break;
    case LaunchKind::loop:
    case LaunchKind::other:
      break;
  }
  return work;
}

}  // namespace dyn
