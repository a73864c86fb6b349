// dft: discrete Fourier transforms along one axis, by the plans of fourier_plan.h; of reals at half the cost
// where the length is even. In f64 for f64, else in f32. Rows are transformed side by side in the lanes of
// vectors where there are enough of them, else one by one.
#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/fourier/fourier_plan.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// What transforms of reals of an even length 2h go through: those of h complex numbers, of which the even
// reals are the real parts.
enum class Form : uint8_t { whole, halfForward, halfBack };

struct Transform {
  int64_t length = 1;                     // of the transform, in elements of the longer side
  int64_t rows = 0, inner = 1, size = 0;  // of the operand: [rows / inner, size, inner, parts]
  int64_t outputs = 0, parts = 1, partsOut = 2;
  bool isInverse = false, makesReals = false;
  Form form = Form::whole;

  int64_t half() const { return length / 2; }
  int64_t complexLength() const { return form == Form::whole ? length : half(); }
  // Complex numbers of a row as it is read and as it is written.
  int64_t rowsIn() const { return form == Form::halfBack ? half() + 1 : complexLength(); }
  int64_t rowsOut() const { return form == Form::halfForward ? half() + 1 : complexLength(); }
  // The inverse is the transform with real and imaginary parts exchanged on both sides; of reals it is the
  // conjugate.
  bool isExchanged() const { return isInverse && form != Form::halfForward; }
};

using Call = calls::Dft;

Status integerArgument(const FlatCall& call, size_t index, int64_t& value) {
  const TensorView* tensor = call.argument(index);
  if (!tensor) return okStatus();
  if (tensor->elements != 1) return badArgument("dft", index, "one integer", call.argument(index));
  bool isInteger = false;
  visitNumbers(tensor->dtype(), [&]<typename N>() {
    isInteger = std::is_integral_v<N>;
    if constexpr (std::is_integral_v<N>) value = static_cast<int64_t>(*tensor->as<N>());
  });
  return isInteger ? okStatus() : badArgument("dft", index, "one integer", call.argument(index));
}

Status describeTransform(const FlatCall& call, const TensorView* x, const TensorView* y, Transform& t) {
  const auto n = call.numbersOf<Call>();
  t.isInverse = n.inverse;
  t.makesReals = n.inverse && n.oneSided;
  if (x->rank < 2) return failure(DYN_BAD_INPUT, "dft: parts have an axis of their own: " + describe(x));
  int64_t axis = -2;
  if (Status status = integerArgument(call, Call::axis, axis); !status.ok()) return status;
  if (!normalizeAxis(axis, x->rank) || axis == x->rank - 1)
    return failure(DYN_BAD_INPUT, "dft: no such axis of " + describe(x));
  t.size = x->shape()[axis];
  t.length = t.makesReals ? 2 * (t.size - 1) : t.size;
  if (Status status = integerArgument(call, Call::length, t.length); !status.ok()) return status;
  t.parts = x->shape()[x->rank - 1];
  t.partsOut = t.makesReals ? 1 : 2;
  const bool isOneSided = n.oneSided && !t.isInverse;
  if (t.length < 1 || t.length > INT64_MAX / 64) return failure(DYN_BAD_INPUT, "dft: length out of range");
  t.outputs = isOneSided ? t.half() + 1 : t.length;
  bool fits = x->rank == y->rank && y->dtype() == x->dtype() && t.parts >= 1 &&
              t.parts <= (isOneSided ? 1 : 2) && y->shape()[y->rank - 1] == t.partsOut;
  for (uint32_t i = 0; fits && i + 1 < x->rank; ++i)
    fits = y->shape()[i] == (static_cast<int64_t>(i) == axis ? t.outputs : x->shape()[i]);
  if (!fits) return failure(DYN_BAD_INPUT, "dft: shapes do not fit: " + describe(x) + " -> " + describe(y));
  t.inner = axisView(y->shape(), y->rank, axis).inner / t.partsOut;
  t.rows = y->elements / (t.outputs * t.partsOut);
  if (t.length % 2 == 0 && t.makesReals) t.form = Form::halfBack;
  if (t.length % 2 == 0 && t.parts == 1 && !t.makesReals) t.form = Form::halfForward;
  return okStatus();
}

// --- rows as they stand in tensors

// Elements of E, computed in T.
template <typename E, typename T>
struct Rows {
  const Transform& t;
  const E* x;
  E* y;

  static constexpr bool kIsPlain = std::is_same_v<E, T>;
  const E* rowOf(int64_t row) const {
    return x + (row / t.inner * t.size * t.inner + row % t.inner) * t.parts;
  }

  // count complex numbers, each `step` elements behind the one before.
  void readComplex(const E* from, int64_t step, int64_t count, T* real, T* imaginary) const {
    if constexpr (kIsPlain)
      if (step == 2 && t.parts == 2) return fourierKernels<T>().split(count, from, real, imaginary);
    for (int64_t i = 0; i < count; ++i) {
      real[i] = static_cast<T>(from[i * step]);
      imaginary[i] = t.parts == 2 ? static_cast<T>(from[i * step + 1]) : T(0);
    }
  }
  void readPairs(const E* from, int64_t count, T* real, T* imaginary) const {
    if constexpr (kIsPlain)
      if (t.inner == 1) return fourierKernels<T>().split(count, from, real, imaginary);
    for (int64_t i = 0; i < count; ++i) {
      real[i] = static_cast<T>(from[2 * i * t.inner]);
      imaginary[i] = static_cast<T>(from[(2 * i + 1) * t.inner]);
    }
  }
  // rowsIn complex numbers; what the operand does not have is 0.
  void read(int64_t row, T* real, T* imaginary) const {
    const E* from = rowOf(row);
    const int64_t step = t.inner * t.parts, wanted = t.rowsIn();
    int64_t have = 0;
    if (t.form == Form::halfForward) {
      const int64_t terms = std::min(t.size, t.length);
      have = terms / 2;
      readPairs(from, have, real, imaginary);
      if (terms % 2 != 0) {
        real[have] = static_cast<T>(from[(terms - 1) * step]);
        imaginary[have++] = 0;
      }
    } else {
      have = std::min(t.size, t.makesReals ? t.half() + 1 : t.length);
      readComplex(from, step, have, real, imaginary);
    }
    std::fill(real + have, real + wanted, T(0));
    std::fill(imaginary + have, imaginary + wanted, T(0));
    if (!t.makesReals || t.form == Form::halfBack) return;
    imaginary[0] = 0;
    for (int64_t k = 1; k < have; ++k) {
      real[t.length - k] = real[k];
      imaginary[t.length - k] = -imaginary[k];
    }
  }

  void writeComplex(E* to, int64_t step, int64_t count, const T* real, const T* imaginary, T scale,
                    T imaginaryScale) const {
    if constexpr (kIsPlain)
      if (step == 2) return fourierKernels<T>().join(count, real, imaginary, scale, imaginaryScale, to);
    for (int64_t i = 0; i < count; ++i) {
      to[i * step] = static_cast<E>(real[i] * scale);
      to[i * step + 1] = static_cast<E>(imaginary[i] * imaginaryScale);
    }
  }
  void writeReals(E* to, const T* real, const T* imaginary, T scale) const {
    if (t.form == Form::whole) {
      for (int64_t i = 0; i < t.length; ++i) to[i * t.inner] = static_cast<E>(real[i] * scale);
      return;
    }
    if constexpr (kIsPlain)
      if (t.inner == 1) return fourierKernels<T>().join(t.half(), real, imaginary, scale, scale, to);
    for (int64_t i = 0; i < t.half(); ++i) {
      to[2 * i * t.inner] = static_cast<E>(real[i] * scale);
      to[(2 * i + 1) * t.inner] = static_cast<E>(imaginary[i] * scale);
    }
  }
  void write(int64_t row, const T* real, const T* imaginary) const {
    E* to = y + (row / t.inner * t.outputs * t.inner + row % t.inner) * t.partsOut;
    const T scale = t.isInverse ? static_cast<T>(1 / static_cast<double>(t.length)) : T(1);
    if (t.makesReals) return writeReals(to, real, imaginary, scale);
    const T imaginaryScale = t.isInverse && !t.isExchanged() ? -scale : scale;
    const int64_t step = 2 * t.inner, given = std::min(t.outputs, t.rowsOut());
    writeComplex(to, step, given, real, imaginary, scale, imaginaryScale);
    for (int64_t k = given; k < t.outputs; ++k) {  // the other side of a spectrum of reals
      to[k * step] = static_cast<E>(real[t.length - k] * scale);
      to[k * step + 1] = static_cast<E>(-imaginary[t.length - k] * imaginaryScale);
    }
  }
};

// --- plans

template <typename T>
struct KeptPlan {
  std::vector<T> memory;
  std::unique_ptr<const FourierPlan<T>> plan;
};

// The plan of a transform and the turns that join its halves.
template <typename T>
struct Tables {
  const FourierPlan<T>* plan = nullptr;
  const T* turns = nullptr;
};

int64_t turnElements(const Transform& t) { return t.form == Form::whole ? 0 : 2 * (t.half() + 1); }

template <typename T>
std::unique_ptr<const FourierPlan<T>> makePlan(const Transform& t, FourierShape shape, T* tables,
                                               T* scratch) {
  if (t.form != Form::whole) {
    const FourierRoots roots(t.length);
    for (int64_t k = 0; k <= t.half(); ++k) {
      *tables++ = static_cast<T>(roots(k).cosine);
      *tables++ = static_cast<T>(roots(k).sine);
    }
  }
  return std::make_unique<const FourierPlan<T>>(std::move(shape), fourierKernels<T>(), tables, scratch);
}

// --- running

template <typename E, typename T>
class Runner {
 public:
  Runner(const Transform& t, Rows<E, T> rows, const FourierShape& shape)
      : t_(t),
        rows_(rows),
        kernels_(fourierKernels<T>()),
        longest_(padded(std::max(t.rowsIn(), t.rowsOut()))) {
    inLanes_ = shape.doesColumns() && t.rows * 2 >= kernels_.lanes;
    elements_ = inLanes_ ? 6 * longest_ * kernels_.lanes
                         : 4 * longest_ + padded(FourierPlan<T>::rowElements(shape, kernels_.lanes));
  }
  int64_t scratchElements() const { return elements_; }
  int64_t units() const { return inLanes_ ? (t_.rows + kernels_.lanes - 1) / kernels_.lanes : t_.rows; }
  void run(const Tables<T>& tables, int64_t unit, T* scratch) const {
    if (inLanes_)
      lanes(tables, unit * kernels_.lanes, scratch);
    else
      one(tables, unit, scratch);
  }

 private:
  int64_t padded(int64_t count) const {
    return (count + kernels_.lanes - 1) / kernels_.lanes * kernels_.lanes;
  }

  void one(const Tables<T>& tables, int64_t row, T* scratch) const {
    T *real = scratch, *imaginary = real + longest_, *otherReal = imaginary + longest_,
      *otherImaginary = otherReal + longest_, *work = otherImaginary + longest_;
    rows_.read(row, real, imaginary);
    if (t_.form == Form::halfBack) {
      kernels_.tangle(t_.half(), 1, tables.turns, real, imaginary, otherReal, otherImaginary);
      std::swap(real, otherReal);
      std::swap(imaginary, otherImaginary);
    }
    if (t_.isExchanged())
      tables.plan->row(imaginary, real, work);
    else
      tables.plan->row(real, imaginary, work);
    if (t_.form == Form::halfForward) {
      kernels_.untangle(t_.half(), 1, tables.turns, real, imaginary, otherReal, otherImaginary);
      std::swap(real, otherReal);
      std::swap(imaginary, otherImaginary);
    }
    rows_.write(row, real, imaginary);
  }

  void lanes(const Tables<T>& tables, int64_t first, T* scratch) const {
    const int64_t width = kernels_.lanes, count = std::min(width, t_.rows - first), in = t_.rowsIn(),
                  out = t_.rowsOut(), length = t_.complexLength(), part = length * width;
    T *rowsReal = scratch, *rowsImaginary = rowsReal + longest_ * width,
      *a = rowsImaginary + longest_ * width, *b = a + 2 * longest_ * width;
    for (int64_t l = 0; l < count; ++l)
      rows_.read(first + l, rowsReal + l * longest_, rowsImaginary + l * longest_);
    // The transform takes `at` [real parts, imaginary parts]; an inverse one the other way round.
    const auto partsOf = [&](T* at, int64_t size) {
      return t_.isExchanged() ? std::pair(at + size, at) : std::pair(at, at + size);
    };
    const bool goesBack = t_.form == Form::halfBack;
    auto [real, imaginary] = goesBack ? std::pair(b, b + in * width) : partsOf(a, part);
    kernels_.transpose(count, in, rowsReal, longest_, real, width);
    kernels_.transpose(count, in, rowsImaginary, longest_, imaginary, width);
    if (goesBack) {
      const auto [zReal, zImaginary] = partsOf(a, part);
      kernels_.tangle(t_.half(), width, tables.turns, real, imaginary, zReal, zImaginary);
    }
    T* done = tables.plan->columns(width, a, b);
    std::tie(real, imaginary) = partsOf(done, part);
    if (t_.form == Form::halfForward) {
      T* whole = done == a ? b : a;
      kernels_.untangle(t_.half(), width, tables.turns, real, imaginary, whole, whole + out * width);
      real = whole;
      imaginary = whole + out * width;
    }
    kernels_.transpose(out, width, real, width, rowsReal, longest_);
    kernels_.transpose(out, width, imaginary, width, rowsImaginary, longest_);
    for (int64_t l = 0; l < count; ++l)
      rows_.write(first + l, rowsReal + l * longest_, rowsImaginary + l * longest_);
  }

  const Transform& t_;
  const Rows<E, T> rows_;
  const FourierKernels<T>& kernels_;
  const int64_t longest_;
  bool inLanes_ = false;
  int64_t elements_ = 0;
};

// Tables up to this size are kept by the caller; larger ones are made for the call.
constexpr int64_t kMostKeptBytes = int64_t{1} << 20;

// How rows share the threads, and the scratch memory of a transform.
template <typename E, typename T>
struct TransformPlan {
  static constexpr int64_t kFloats = sizeof(T) / sizeof(float);
  FourierShape shape;
  int64_t tableElements, tasks, helpFloats, shared, own;
  bool isKept;

  TransformPlan(const FlatCall& call, const Transform& t)
      : shape(t.complexLength(), fourierKernels<T>().lanes) {
    const int64_t lanes = fourierKernels<T>().lanes;
    const Runner<E, T> runner(t, {t, nullptr, nullptr}, shape);
    tableElements = turnElements(t) + FourierPlan<T>::tableElements(shape, lanes);
    const double steps = static_cast<double>(t.rows) * static_cast<double>(t.length) *
                         (8 + std::log2(static_cast<double>(t.length))) / 4;
    tasks = std::min(runner.units(), worthwhileTasks(call, steps));
    isKept = call.context->findPlan && tableElements * static_cast<int64_t>(sizeof(T)) <= kMostKeptBytes;
    // A plan with a convolution is made with the help of a transform of its own.
    helpFloats = shape.isSmooth ? 0 : wholeLines(FourierPlan<T>::rowElements(shape, lanes) * kFloats);
    shared = helpFloats + (isKept ? 0 : wholeLines(tableElements * kFloats));
    own = wholeLines(runner.scratchElements() * kFloats);
  }
};

// The tables of a transform as the caller keeps them. `help`: scratch memory. Null: no memory for them.
template <typename T>
const KeptPlan<T>* keptPlan(const FlatCall& call, const Transform& t, const FourierShape& shape,
                            int64_t tableElements, T* help) {
  const DynBuiltinContext* context = call.context;
  const int32_t kind = (t.form == Form::whole ? 0 : 1) + (std::is_same_v<T, double> ? 2 : 0);
  if (const void* found = context->findPlan(context, kind, t.length))
    return static_cast<const KeptPlan<T>*>(found);
  auto made = std::make_unique<KeptPlan<T>>();
  made->memory.resize(static_cast<size_t>(tableElements));
  made->plan = makePlan<T>(t, shape, made->memory.data(), help);
  return static_cast<const KeptPlan<T>*>(context->keepPlan(
      context, kind, t.length, made.release(), [](void* plan) { delete static_cast<KeptPlan<T>*>(plan); },
      static_cast<uint64_t>(tableElements) * sizeof(T)));
}

template <typename E, typename T>
Status transform(FlatCall& call, const Transform& t, const TensorView* x, TensorView* y) {
  const TransformPlan<E, T> plan(call, t);
  const Runner<E, T> runner(t, {t, x->as<E>(), y->as<E>()}, plan.shape);
  const int64_t tasks = plan.tasks;
  Scratch scratch(call, plan.shared, tasks, plan.own);
  if (!scratch) return scratch.status();
  Tables<T> tables;
  std::unique_ptr<const FourierPlan<T>> own;
  T* const help = reinterpret_cast<T*>(scratch.shared());
  if (!plan.isKept) {
    T* const memory = reinterpret_cast<T*>(scratch.shared() + plan.helpFloats);
    own = makePlan<T>(t, plan.shape, memory, help);
    tables = {own.get(), memory};
  } else {
    const KeptPlan<T>* kept = keptPlan<T>(call, t, plan.shape, plan.tableElements, help);
    if (!kept) return failure(DYN_OUT_OF_MEMORY, "no room for the tables of a transform");
    tables = {kept->plan.get(), kept->memory.data()};
  }
  call.split(runner.units(), tasks, [&](int64_t begin, int64_t end) {
    T* own = reinterpret_cast<T*>(scratch.next());
    for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) runner.run(tables, unit, own);
  });
  return okStatus();
}

}  // namespace

Status dftScratch(const FlatCall& call, int64_t& elements) {
  const TensorView *x = call.argument(Call::x), *y = call.result(0);
  if (!x) return badArgument("dft", Call::x, "a tensor", x);
  Transform t;
  if (Status status = describeTransform(call, x, y, t); !status.ok()) return status;
  if (y->elements == 0) return okStatus();
  const auto needed = [&](const auto& plan) { return scratchElements(plan.shared, plan.tasks, plan.own); };
  switch (x->dtype()) {
    case DataType::f16:
      elements = needed(TransformPlan<HalfElement<DataType::f16>, float>(call, t));
      break;
    case DataType::bf16:
      elements = needed(TransformPlan<HalfElement<DataType::bf16>, float>(call, t));
      break;
    case DataType::f32:
      elements = needed(TransformPlan<float, float>(call, t));
      break;
    case DataType::f64:
      elements = needed(TransformPlan<double, double>(call, t));
      break;
    default:
      return badArgument("dft", Call::x, "real numbers", x);
  }
  return okStatus();
}

Status dft(FlatCall& call) {
  const TensorView* x = call.argument(Call::x);
  if (!x) return badArgument("dft", Call::x, "a tensor", x);
  TensorView* y = call.result(0);
  Transform t;
  if (Status status = describeTransform(call, x, y, t); !status.ok()) return status;
  if (y->elements == 0) return okStatus();
  switch (x->dtype()) {
    case DataType::f16:
      return transform<HalfElement<DataType::f16>, float>(call, t, x, y);
    case DataType::bf16:
      return transform<HalfElement<DataType::bf16>, float>(call, t, x, y);
    case DataType::f32:
      return transform<float, float>(call, t, x, y);
    case DataType::f64:
      return transform<double, double>(call, t, x, y);
    default:
      return badArgument("dft", Call::x, "real numbers", x);
  }
}

}  // namespace dyn::vm::kernels
