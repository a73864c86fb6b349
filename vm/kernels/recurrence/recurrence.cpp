// recurrence: all steps of an LSTM, a GRU or an RNN. A step is the product of the states with panels packed
// by gemmpack, on the micro-kernels of products, and the cell on what they leave.
//
// The panels are read as they lie in memory, one run for the caches to fetch ahead, and the cells come behind
// all of them: finishing a block of units at a time, its panels of all gates, keeps the sums near, but jumps,
// and takes 5 % longer (8 rows, 512 units).
//
// With lengths the states lie in the order of these, the longest first: the sequences that run at a step are
// the first rows, and nothing is multiplied for the others.
//
// Two directions go to two threads, which never wait for each other; else threads share the panels of each
// step. Every sum is made by the same kernel either way: the same bits.
#include <algorithm>
#include <array>
#include <numeric>

#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm/bf16_gemm.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/recurrence/recurrence_kernel.h"
#include "vm/kernels/tile/held_tiles.h"
#include "vm/shared/dyn_recurrence.h"

extern const dyn::vm::kernels::CellKernels dynCellsPortable, dynCellsAvx2, dynCellsAvx512, dynCellsNeon;

namespace dyn::vm::kernels {
namespace {

using Call = calls::Recurrence;
static_assert(int{Call::lengths} == recurrence::kLengths && int{Call::secondGates} == recurrence::kSecond);
using recurrence::Cell;

constexpr int64_t kStepsOfCall = 8;  // a function of an element takes as long as so many multiply-adds
constexpr int64_t kCellLanes = 16;   // threads share units by whole vectors

const CellKernels& cellKernels() {
#if defined(__x86_64__)
  static const CellKernels* const kernels = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return &dynCellsAvx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &dynCellsAvx2
                                                                           : &dynCellsPortable;
  }();
  return *kernels;
#elif defined(__aarch64__)
  return dynCellsNeon;
#else
  return dynCellsPortable;
#endif
}

// One direction. Null: not there.
struct Direction {
  const TensorView *gates = nullptr, *weights = nullptr, *state = nullptr, *cell = nullptr, *second = nullptr,
                   *bias = nullptr;
  size_t firstResult = 0;
  bool backward = false;
};

struct Problem {
  Cell cell = Cell::lstm;
  int64_t steps = 0, rows = 0, units = 0, gates = 0;
  bool stacks = false;
  bool packs = false, transposed = false;  // the weights are not packed
  const int64_t* lengths = nullptr;
  int64_t directionCount = 1;
  std::array<Direction, 2> directions;
  const Bf16Family* rounded = nullptr;  // the weights are packed in bf16, for this family
  int64_t width = 0, maxRows = 0;

  int64_t columns() const { return gates * units; }
  // Those of the product of the state; the others are of a second one.
  int64_t productColumns() const { return productGatesOf(cell) * units; }
  int64_t panelsOf(int64_t columns) const { return (columns + width - 1) / width; }
  double stepsOfOne() const {
    return static_cast<double>(rows) * static_cast<double>(columns()) * static_cast<double>(units);
  }
  // From row to row of the states, in f32 and in words of two bf16.
  int64_t leading() const { return oddLineStride(units); }
  int64_t leadingWords() const { return oddLineStride(bf16Words(units)); }
  // Scratch memory of a direction: two states that take turns, one that was reset, the state rounded, the
  // products of a step, and which sequence each row is.
  int64_t stateElements() const { return rows * leading(); }
  int64_t wordElements() const { return rounded ? rows * leadingWords() : 0; }
  int64_t productElements() const { return wholeLines(rows * columns()); }
  int64_t orderElements() const { return lengths ? wholeLines(rows) : 0; }
  // Weights that the direction packs: those of the state's product, and of a second one.
  int64_t packedElements() const { return packs ? wholeLines(packedOf(productColumns())) : 0; }
  int64_t secondElements() const { return packs && resetsFirst(cell) ? wholeLines(packedOf(units)) : 0; }
  int64_t packedOf(int64_t columns) const { return panelsOf(columns) * width * units; }
  int64_t elementsOfOne() const {
    return packedElements() + secondElements() + (resetsFirst(cell) ? 3 : 2) * stateElements() +
           wordElements() + productElements() + orderElements();
  }
};

bool is(const TensorView* tensor, DataType dtype, std::initializer_list<int64_t> shape) {
  return tensor && tensor->dtype() == dtype && tensor->rank == shape.size() &&
         std::equal(shape.begin(), shape.end(), tensor->shape());
}

Status readDirection(const FlatCall& call, Problem& p, size_t which) {
  const size_t at = which == 0 ? size_t{Call::gates} : size_t{Call::secondGates};
  Direction& d = p.directions[which];
  d.gates = call.argument(at);
  d.weights = call.argument(at + 1);
  d.state = call.argument(at + 2);
  (resetsFirst(p.cell) ? d.second : d.cell) = call.argument(at + 3);
  d.bias = call.argument(at + 4);
  if (!is(d.gates, DataType::f32, {p.steps, p.rows, p.columns()}))
    return badArgument("recurrence", at, "gates of the steps, the rows and the units", d.gates);
  if (!is(d.state, DataType::f32, {p.rows, p.units}))
    return badArgument("recurrence", at + 2, "a state of the rows and the units", d.state);
  if (hasCell(p.cell) != (d.cell != nullptr) || (d.cell && !is(d.cell, DataType::f32, {p.rows, p.units})))
    return badArgument("recurrence", at + 3, "the cell of an LSTM, as its state", d.cell);
  if (d.bias && (!takesBias(p.cell) || !is(d.bias, DataType::f32, {p.columns()})))
    return badArgument("recurrence", at + 4, "the bias of a GRU's product", d.bias);
  const bool rounded = d.weights && d.weights->dtype() == DataType::bf16;
  const bool isPlain = d.weights && d.weights->rank == 2;
  if (which == 1 && (rounded != (p.rounded != nullptr) || isPlain != p.packs))
    return badArgument("recurrence", at + 1, "weights packed as those of the first direction", d.weights);
  p.packs = isPlain;
  if (rounded) p.rounded = bf16Families().front();
  p.width = rounded ? p.rounded->panelWidth : call.gemmFamily->panelWidth;
  p.maxRows = rounded ? p.rounded->maxRows : call.gemmFamily->maxRows;
  const auto isPacked = [&](const TensorView* weights, int64_t columns) {
    if (isPlain && p.transposed) return is(weights, DataType::f32, {columns, p.units});
    if (isPlain) return is(weights, DataType::f32, {p.units, columns});
    const int64_t packed = rounded ? bf16ElementCount(*p.rounded, p.units, columns)
                                   : packedElementCount(*call.gemmFamily, p.units, columns);
    return is(weights, rounded ? DataType::bf16 : DataType::f32, {packed});
  };
  if (!isPacked(d.weights, p.productColumns()))
    return badArgument("recurrence", at + 1, "weights of the units and the gates", d.weights);
  if (resetsFirst(p.cell) && !isPacked(d.second, p.units))
    return badArgument("recurrence", at + 3, "weights of the units, packed as the first", d.second);
  size_t result = d.firstResult = which * static_cast<size_t>(resultsOf(p.cell, p.stacks));
  for (int i = 0; i < (hasCell(p.cell) ? 2 : 1); ++i)
    if (Status status = call.checkResult(result++, DataType::f32, std::array{p.rows, p.units}); !status.ok())
      return status;
  if (!p.stacks) return okStatus();
  return call.checkResult(result, DataType::f32, std::array{p.steps, p.rows, p.units});
}

Status readProblem(const FlatCall& call, Problem& p) {
  const auto n = call.numbersOf<Call>();
  if (n.kind < 0 || static_cast<size_t>(n.kind) >= recurrence::kCellNames.size())
    return failure(DYN_BAD_PROGRAM, "recurrence: there is no cell " + std::to_string(n.kind));
  p.cell = static_cast<Cell>(n.kind);
  p.stacks = n.stacks != 0;
  p.transposed = n.transposed != 0;
  const TensorView *gates = call.argument(Call::gates), *state = call.argument(Call::state);
  if (!gates || gates->rank != 3) return badArgument("recurrence", Call::gates, "three axes", gates);
  if (!state || state->rank != 2) return badArgument("recurrence", Call::state, "two axes", state);
  p.steps = gates->shape()[0];
  p.rows = state->shape()[0];
  p.units = state->shape()[1];
  p.gates = gatesOf(p.cell);
  p.directionCount = call.argument(Call::secondGates) ? 2 : 1;
  p.directions[0].backward = n.backward != 0;
  p.directions[1].backward = n.secondBackward != 0;
  const auto results = static_cast<size_t>(p.directionCount * resultsOf(p.cell, p.stacks));
  if (call.resultCount != results)
    return failure(DYN_BAD_PROGRAM, "recurrence: " + std::to_string(call.resultCount) + " results where " +
                                        std::to_string(results) + " are made");
  if (const TensorView* lengths = call.argument(Call::lengths)) {
    if (!is(lengths, DataType::i64, {p.rows}))
      return badArgument("recurrence", Call::lengths, "a length for each row", lengths);
    p.lengths = lengths->as<int64_t>();
  }
  for (size_t which = 0; which < static_cast<size_t>(p.directionCount); ++which)
    if (Status status = readDirection(call, p, which); !status.ok()) return status;
  return okStatus();
}

// How the threads share the work.
struct Sharing {
  bool overDirections = false;
  int64_t tasks = 1;  // of a step

  Sharing(const FlatCall& call, const Problem& p) {
    const int64_t perStep = worthwhileTasks(call, p.stepsOfOne());
    overDirections = p.directionCount == 2 && perStep <= 2 && call.threadCount() > 1 &&
                     worthwhileTasks(call, p.stepsOfOne() * static_cast<double>(2 * p.steps)) > 1;
    tasks = overDirections ? 1 : perStep;
  }
  int64_t taskCount() const { return overDirections ? 2 : tasks; }
};

// The steps of one direction.
class Run {
 public:
  Run(FlatCall& call, const Problem& p, const Direction& d, int64_t tasks, float* scratch)
      : call_(call),
        p_(p),
        d_(d),
        kernel_(cellKernels().of[static_cast<size_t>(p.cell)]),
        tasks_(tasks),
        reset_(resetsFirst(p.cell) ? scratch + 2 * p.stateElements() : nullptr),
        state_{scratch, scratch + p.stateElements()},
        words_(reinterpret_cast<uint32_t*>(scratch + (reset_ ? 3 : 2) * p.stateElements())),
        product_(reinterpret_cast<float*>(words_) + p.wordElements()),
        order_(p.lengths ? reinterpret_cast<int32_t*>(product_ + p.productElements()) : nullptr),
        packed_(product_ + p.productElements() + p.orderElements()),
        running_(p.rows),
        cell_(hasCell(p.cell) ? call.result(d.firstResult + 1)->as<float>() : nullptr),
        stacked_(p.stacks ? call.result(d.firstResult + (cell_ ? 2 : 1))->as<float>() : nullptr) {}

  void run() {
    if (p_.packs) {
      pack(d_.weights, p_.productColumns(), packed_);
      if (d_.second) pack(d_.second, p_.units, packed_ + p_.packedElements());
    }
    if (order_) {
      std::iota(order_, order_ + p_.rows, 0);
      std::sort(order_, order_ + p_.rows, [&](int32_t a, int32_t b) {
        return p_.lengths[a] != p_.lengths[b] ? p_.lengths[a] > p_.lengths[b] : a < b;
      });
    }
    const float* first = d_.state->as<float>();
    for (int64_t i = 0; i < p_.rows; ++i)
      std::copy_n(first + sequenceOf(i) * p_.units, p_.units, state_[0] + i * p_.leading());
    if (cell_) std::copy_n(d_.cell->as<float>(), p_.rows * p_.units, cell_);
    for (int64_t i = 0; i < p_.steps && !call_.cancelled(); ++i) step(i);
    float* last = call_.result(d_.firstResult)->as<float>();
    for (int64_t i = 0; i < p_.rows; ++i)
      std::copy_n(state_[0] + i * p_.leading(), p_.units, last + sequenceOf(i) * p_.units);
  }

 private:
  void pack(const TensorView* weights, int64_t columns, float* to) {
    const int64_t strideK = p_.transposed ? 1 : columns, strideN = p_.transposed ? p_.units : 1;
    call_.split(p_.panelsOf(columns), tasks_, [&](int64_t begin, int64_t end) {
      packPanels(*call_.gemmFamily, weights->as<float>(), p_.units, columns, strideK, strideN, begin, end,
                 to);
    });
  }
  // Of f32.
  const float* packedWeights() const { return p_.packs ? packed_ : d_.weights->as<float>(); }
  const float* secondWeights() const {
    return p_.packs ? packed_ + p_.packedElements() : d_.second->as<float>();
  }

  int64_t sequenceOf(int64_t row) const { return order_ ? order_[row] : row; }

  void step(int64_t i) {
    time_ = d_.backward ? p_.steps - 1 - i : i;
    stackedNow_ = stacked_ ? stacked_ + i * p_.rows * p_.units : nullptr;
    const int64_t before = running_;
    if (order_) countRunning();
    if (running_ > 0) productsAndCells();
    // Rows that did not run before are the same in both states.
    for (int64_t row = running_; row < before; ++row)
      std::copy_n(state_[0] + row * p_.leading(), p_.units, state_[1] + row * p_.leading());
    for (int64_t row = running_; row < p_.rows && stackedNow_; ++row)
      std::fill_n(stackedNow_ + sequenceOf(row) * p_.units, p_.units, 0.0f);
    std::swap(state_[0], state_[1]);
  }

  // Sequences with a step at this time: fewer and fewer forwards, more and more backwards.
  void countRunning() {
    while (running_ > 0 && p_.lengths[order_[running_ - 1]] <= time_) --running_;
    while (running_ < p_.rows && p_.lengths[order_[running_]] > time_) ++running_;
  }

  void productsAndCells() {
    multiplyAll({state_[0], packedWeights(), 0, p_.productColumns()});
    if (reset_) {
      cellsOf(cellKernels().reset, reset_, 1);
      multiplyAll({reset_, secondWeights(), p_.productColumns(), p_.units});
    }
    cellsOf(kernel_, state_[1], callsOf(p_.cell));
  }

  // Rows times packed weights: columns [first, first + count) of the products.
  struct Product {
    const float *left, *weights;  // weights: of f32 or of words of two bf16
    int64_t first, count;
  };
  void multiplyAll(const Product& product) {
    for (int64_t row = 0; row < running_ && p_.rounded; ++row)
      p_.rounded->round(product.left + row * p_.leading(), p_.units, words_ + row * p_.leadingWords());
    call_.split(p_.panelsOf(product.count), tasks_, [&](int64_t begin, int64_t end) {
      const HeldTiles held(p_.rounded ? p_.rounded->releaseTiles : nullptr);
      for (int64_t panel = begin; panel < end; ++panel) multiply(product, panel);
    });
  }

  void cellsOf(CellKernel kernel, float* after, int64_t callsOfOne) {
    const int64_t vectors = (p_.units + kCellLanes - 1) / kCellLanes;
    const double calls = static_cast<double>(running_ * p_.units * callsOfOne * kStepsOfCall);
    call_.split(vectors, std::min(tasks_, worthwhileTasks(call_, calls)), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kCellLanes;
      cells(kernel, after, first, std::min(end * kCellLanes, p_.units) - first);
    });
  }

  void multiply(const Product& product, int64_t panel) {
    const int64_t all = p_.columns(), column = panel * p_.width,
                  columns = std::min(p_.width, product.count - column);
    float* to = product_ + product.first + column;
    if (p_.rounded) {
      const auto* right =
          reinterpret_cast<const uint32_t*>(product.weights) + panel * bf16Words(p_.units) * p_.width;
      forEachRowTile(p_.maxRows, running_, [&](int64_t row, int64_t height) {
        p_.rounded->microKernels[height - 1](bf16Words(p_.units), words_ + row * p_.leadingWords(),
                                             p_.leadingWords(), right, to + row * all, all, columns, 0);
      });
      return;
    }
    runRowTiles(*call_.gemmFamily, running_, p_.units, product.left, p_.leading(),
                product.weights + panel * p_.units * p_.width, to, all, columns, false);
  }

  // The cells of units [first, first + count). States that are only reset are not stacked.
  void cells(CellKernel kernel, float* target, int64_t first, int64_t count) {
    for (int64_t row = 0; row < running_; ++row) {
      const int64_t sequence = sequenceOf(row);
      const float* before = state_[0] + row * p_.leading() + first;
      float *after = target + row * p_.leading() + first,
            *stacked = stackedNow_ && target != reset_ ? stackedNow_ + sequence * p_.units + first : nullptr;
      const float* inputs = d_.gates->as<float>() + (time_ * p_.rows + sequence) * p_.columns() + first;
      kernel(count, {inputs, p_.units, product_ + row * p_.columns() + first, p_.units,
                     d_.bias ? d_.bias->as<float>() + first : nullptr, before,
                     cell_ ? cell_ + sequence * p_.units + first : nullptr, after, stacked});
    }
  }

  FlatCall& call_;
  const Problem& p_;
  const Direction& d_;
  const CellKernel kernel_;
  const int64_t tasks_;
  float* reset_;                 // the state times the gate r; null: nothing is reset
  std::array<float*, 2> state_;  // before and after the step
  uint32_t* words_;
  float* product_;
  int32_t* order_;   // which sequence a row is; null: the same
  float* packed_;    // weights that were not packed
  int64_t running_;  // rows that a step computes, the first ones
  float *cell_, *stacked_;
  float* stackedNow_ = nullptr;
  int64_t time_ = 0;  // the step of the inputs
};

std::string versionText(const Problem& p, const Sharing& sharing) {
  return std::string(recurrence::kCellNames[static_cast<size_t>(p.cell)]) +
         " for rows=" + std::to_string(p.rows) + " units=" + std::to_string(p.units) +
         " threads=" + std::to_string(sharing.taskCount()) +
         (sharing.overDirections ? ", one a direction" : "");
}

}  // namespace

Status recurrenceScratch(const FlatCall& call, int64_t& elements) {
  Problem p;
  if (Status status = readProblem(call, p); !status.ok()) return status;
  if (p.rows * p.units == 0) return okStatus();
  const Sharing sharing(call, p);
  if (call.wantsVersion()) call.nameVersion(versionText(p, sharing));
  elements = scratchElements(0, p.directionCount, p.elementsOfOne());
  return okStatus();
}

Status recurrence(FlatCall& call) {
  Problem p;
  if (Status status = readProblem(call, p); !status.ok()) return status;
  if (p.rows * p.units == 0) return okStatus();
  const Sharing sharing(call, p);
  Scratch scratch(call, 0, p.directionCount, p.elementsOfOne());
  if (!scratch) return scratch.status();
  const auto run = [&](int64_t which) {
    Run(call, p, p.directions[static_cast<size_t>(which)], sharing.tasks,
        scratch.shared() + which * p.elementsOfOne())
        .run();
  };
  if (sharing.overDirections)
    call.split(2, 2, [&](int64_t begin, int64_t end) {
      for (int64_t which = begin; which < end; ++which) run(which);
    });
  else
    for (int64_t which = 0; which < p.directionCount; ++which) run(which);
  return okStatus();
}

}  // namespace dyn::vm::kernels
