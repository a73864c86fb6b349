// packed_attention: attention within runs of positions that lie behind each other. A unit of work is one head
// of one run: its keys and values are packed, its scores lie in scratch memory a block of rows at a time.
// Long runs go first, and each thread takes the next unit when it is done with one; a unit is computed the
// same way whoever takes it.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "vm/kernels/attention/attention_runs.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/gemm/number_gemm.h"

namespace dyn::vm::kernels {
namespace {

using Call = calls::PackedAttention;

constexpr int64_t kBlockElements = 64 << 10;  // scores of a block: a quarter of the L2 caches of today
constexpr int64_t kTilesPerBlock = 12;
constexpr int64_t kDepthBlock = 768;  // of the second product: the part of V that a panel reads stays in L1
constexpr int64_t kScoreLanes = 16;   // columns of scores are filled up to a multiple

// A tensor [1, a, b, c]: strides of the last three axes, in elements.
struct Strided {
  const float* data = nullptr;
  std::array<int64_t, 4> strides{};

  explicit Strided(const TensorView* tensor) : data(tensor->as<float>()) { tensor->writeStrides(strides); }
};

struct Sizes {
  int64_t heads = 0, positions = 0, keys = 0, depth = 0, width = 0, runs = 0;  // positions: of queries
  bool apart = false;  // keys are of other runs than queries, of other lengths
  int64_t most() const { return std::max(positions, keys); }
};

// The table of biases, and that each position has a place in it.
Status checkTable(const FlatCall& call, const Sizes& s) {
  const TensorView *table = call.argument(Call::table), *places = call.argument(Call::places);
  if (!table && !places) return okStatus();
  if (s.apart)
    return badArgument("packed_attention", Call::table, "no table where keys have runs of their own", table);
  const bool ofRuns = table && table->rank == 4;
  if (!table || (!ofRuns && table->rank != 3) || table->dtype() != DataType::f32 ||
      (ofRuns && table->shape()[0] != s.runs) ||
      (table->shape()[ofRuns] != 1 && table->shape()[ofRuns] != s.heads))
    return badArgument("packed_attention", Call::table,
                       "a table f32 of three axes, by heads, or of four, by runs and heads", table);
  if (!places || places->rank != 1 || places->dtype() != DataType::i64 || places->shape()[0] != s.positions)
    return badArgument("packed_attention", Call::places, "a place for each position", places);
  return okStatus();
}

Status readSizes(const FlatCall& call, Sizes& s) {
  const TensorView *q = call.argument(Call::q), *k = call.argument(Call::k), *v = call.argument(Call::v),
                   *lengths = call.argument(Call::lengths);
  for (const uint32_t i : {Call::q, Call::k, Call::v}) {
    const TensorView* tensor = call.argument(i);
    if (!tensor || tensor->rank != 4 || tensor->dtype() != DataType::f32 || tensor->shape()[0] != 1)
      return badArgument("packed_attention", i, "f32 of four axes, the first of size 1", tensor);
  }
  const bool apart = lengths && lengths->rank == 2 && lengths->shape()[0] == 2;
  if (!lengths || (lengths->rank != 1 && !apart) || lengths->dtype() != DataType::i64)
    return badArgument("packed_attention", Call::lengths, "a vector of i64, or two of queries and keys",
                       lengths);
  s = {q->shape()[1], q->shape()[2], v->shape()[2],
       q->shape()[3], v->shape()[3], lengths->shape()[apart ? 1 : 0],
       apart};
  if (!apart && s.keys != s.positions)
    return badArgument("packed_attention", Call::v, "as many positions as the queries", v);
  const std::array<int64_t, 4> ofK{1, s.heads, s.depth, s.keys}, ofV{1, s.heads, s.keys, s.width},
      ofZ{1, s.positions, s.heads, s.width};
  const auto is = [](const TensorView* tensor, const std::array<int64_t, 4>& shape) {
    return std::equal(shape.begin(), shape.end(), tensor->shape());
  };
  if (!is(k, ofK) || !is(v, ofV))
    return failure(DYN_BAD_INPUT,
                   "shapes do not fit: " + describe(q) + ", " + describe(k) + ", " + describe(v));
  for (const uint32_t i : {Call::bias, Call::allowed}) {
    const TensorView* tensor = call.argument(i);
    const DataType dtype = i == Call::bias ? DataType::f32 : DataType::boolean;
    if (tensor && (tensor->rank != 1 || tensor->dtype() != dtype || tensor->shape()[0] != s.keys))
      return badArgument("packed_attention", i, "an element for each position of the keys", tensor);
  }
  if (Status status = checkTable(call, s); !status.ok()) return status;
  if (s.apart && call.numbersOf<Call>().causal)
    return failure(DYN_BAD_INPUT, "packed_attention: causal is within a run, keys have runs of their own");
  return call.checkResult(0, DataType::f32, ofZ);
}

// What a run of `keys` positions takes, and the rows of its blocks of `queries`.
struct RunShape {
  int64_t keys, columns, leading, rows;

  RunShape(const DynGemmFamily& family, int64_t count, int64_t queries)
      : keys(count),
        columns((count + kScoreLanes - 1) / kScoreLanes * kScoreLanes),
        leading(oddLineStride(count)),
        rows(std::min(queries,
                      family.maxRows * std::clamp<int64_t>(kBlockElements / (leading * family.maxRows), 1,
                                                           kTilesPerBlock))) {}
};

// Parts of a task's own scratch memory, in elements, for runs of up to `most` positions.
struct OwnMemory {
  int64_t packedK, packedV, keep, addend, scores, rows;

  OwnMemory(const DynGemmFamily& family, const Sizes& s, int64_t most)
      : packedK(wholeLines(packedElementCount(family, s.depth, most))),
        packedV(wholeLines(packedElementCount(family, most, s.width))),
        keep(wholeLines(most)),
        addend(keep),
        scores(scoresOf(family, most)),
        rows(wholeLines(blockRows(family, most) * oddLineStride(s.depth))) {}
  int64_t elements() const { return packedK + packedV + keep + addend + scores + rows; }

 private:
  static int64_t blockRows(const DynGemmFamily& family, int64_t most) {
    return std::min<int64_t>(most, family.maxRows * kTilesPerBlock);
  }
  // A block is one tile at least, and else no larger than kBlockElements.
  static int64_t scoresOf(const DynGemmFamily& family, int64_t most) {
    const int64_t leading = oddLineStride(most);
    return wholeLines(std::max(std::min<int64_t>(most, family.maxRows) * leading,
                               std::min(kBlockElements, blockRows(family, most) * leading)));
  }
};

int64_t tasksFor(const FlatCall& call, const Sizes& s) {
  const auto most = static_cast<double>(s.positions) * static_cast<double>(s.keys);
  return std::min(s.runs * s.heads,
                  worthwhileTasks(call, most * static_cast<double>(s.heads * (s.depth + s.width))));
}

using Run = AttentionRun;

// Of one side: that the lengths sum up to its positions.
Status checkLengths(const int64_t* lengths, int64_t runs, int64_t positions, const char* of) {
  int64_t begin = 0;
  for (int64_t i = 0; i < runs; ++i) {
    if (lengths[i] < 0 || lengths[i] > positions - begin)
      return failure(DYN_OUT_OF_RANGE, "packed_attention: run " + std::to_string(i) + of + " has " +
                                           std::to_string(lengths[i]) + " of " + std::to_string(positions) +
                                           " positions");
    begin += lengths[i];
  }
  if (begin == positions) return okStatus();
  return failure(DYN_OUT_OF_RANGE, "packed_attention: the runs" + std::string(of) + " have " +
                                       std::to_string(begin) + " of " + std::to_string(positions) +
                                       " positions");
}

// The runs with any query, those with the most scores first.
Status readRuns(const FlatCall& call, const Sizes& s, Table<Run>& runs) {
  const int64_t* queries = call.argument(Call::lengths)->as<int64_t>();
  const int64_t* keys = s.apart ? queries + s.runs : queries;
  if (Status status = checkLengths(queries, s.runs, s.positions, ""); !status.ok()) return status;
  if (s.apart)
    if (Status status = checkLengths(keys, s.runs, s.keys, " of keys"); !status.ok()) return status;
  int64_t begin = 0, firstKey = 0;
  for (int64_t i = 0; i < s.runs; ++i) {
    if (queries[i] > 0) runs.add({begin, queries[i], firstKey, keys[i], i});
    begin += queries[i];
    firstKey += keys[i];
  }
  return okStatus();
}

// Is each place within the table? In a run only: a dry run has no elements.
Status checkPlaces(const FlatCall& call, const Sizes& s) {
  const TensorView *table = call.argument(Call::table), *places = call.argument(Call::places);
  for (int64_t i = 0; table && i < s.positions; ++i)
    for (const int axis : {table->rank - 2, table->rank - 1})
      if (const int64_t place = places->as<int64_t>()[i];
          place < 0 || (table->shape()[axis] != 1 && place >= table->shape()[axis]))
        return failure(DYN_OUT_OF_RANGE, "packed_attention: position " + std::to_string(i) +
                                             " has the place " + std::to_string(place) + " in a table of " +
                                             std::to_string(table->shape()[axis]));
  return okStatus();
}

class Task {
 public:
  Task(const FlatCall& call, const Sizes& s, float* z)
      : call_(call),
        family_(*call.gemmFamily),
        s_(s),
        q_(call.argument(Call::q)),
        k_(call.argument(Call::k)),
        v_(call.argument(Call::v)),
        bias_(call.argument(Call::bias)),
        allowed_(call.argument(Call::allowed)),
        table_(call.argument(Call::table)),
        places_(table_ ? call.argument(Call::places)->as<int64_t>() : nullptr),
        n_(call.numbersOf<Call>()),
        z_(z) {}

  // Head `head` of the run, in the task's own memory.
  void run(const Run& of, int64_t head, const OwnMemory& memory, float* own) const {
    if (of.keys == 0) return fillWithoutKeys(of, head);
    const RunShape shape(family_, of.keys, of.length);
    float *k = own, *v = k + memory.packedK, *addend = v + memory.packedV;
    auto* keep = reinterpret_cast<int32_t*>(addend + memory.addend);
    float* scores = addend + memory.addend + memory.keep;
    packPanels(family_, k_.data + head * k_.strides[1] + of.firstKey * k_.strides[3], s_.depth, of.keys,
               k_.strides[2], k_.strides[3], 0, panelCount(family_, of.keys), k);
    packPanels(family_, v_.data + head * v_.strides[1] + of.firstKey * v_.strides[2], of.keys, s_.width,
               v_.strides[2], v_.strides[3], 0, panelCount(family_, s_.width), v);
    describeKeys(of, shape.columns, keep, addend);
    for (int64_t first = 0; first < of.length && !call_.cancelled(); first += shape.rows)
      runBlock(of, head, shape, first, k, v, keep, addend, scores, scores + memory.scores);
  }

 private:
  // A sum over no keys.
  void fillWithoutKeys(const Run& of, int64_t head) const {
    for (int64_t i = of.begin; i < of.begin + of.length; ++i)
      std::fill_n(z_ + (i * s_.heads + head) * s_.width, s_.width, 0.0f);
  }

  void describeKeys(const Run& of, int64_t columns, int32_t* keep, float* addend) const {
    for (int64_t j = 0; j < of.keys; ++j) describeKey(of, j, keep, addend);
    std::fill(keep + of.keys, keep + columns, 0);
    std::fill(addend + of.keys, addend + columns, -std::numeric_limits<float>::infinity());
  }

  void describeKey(const Run& of, int64_t j, int32_t* keep, float* addend) const {
    const bool allowed = !allowed_ || allowed_->as<uint8_t>()[of.firstKey + j] != 0;
    keep[j] = allowed ? -1 : 0;
    addend[j] = !allowed ? n_.fill : bias_ ? bias_->as<float>()[of.firstKey + j] : 0.0f;
  }

  // Adds what the table has for query `first` + i and each key, to scaled scores.
  void addTable(const Run& of, int64_t head, int64_t first, int64_t rows, int64_t keys, float* scores,
                int64_t leading) const {
    const int64_t *shape = table_->shape() + (table_->rank - 3), *places = places_ + of.begin;
    const int64_t rowStride = shape[1] == 1 ? 0 : shape[2], keyStride = shape[2] == 1 ? 0 : 1;
    const int64_t number = (table_->rank == 4 ? of.number * shape[0] : 0) + (shape[0] == 1 ? 0 : head);
    const float* matrix = table_->as<float>() + number * shape[1] * shape[2];
    bool inOrder = keyStride == 1;  // as they are where nothing between them is left out
    for (int64_t j = 1; inOrder && j < keys; ++j) inOrder = places[j] == places[0] + j;
    for (int64_t i = 0; i < rows; ++i) {
      const float* row = matrix + places[first + i] * rowStride;
      float* to = scores + i * leading;
      if (inOrder) {
        row += places[0];
        for (int64_t j = 0; j < keys; ++j) to[j] = n_.scale * to[j] + row[j];
      } else {
        for (int64_t j = 0; j < keys; ++j) to[j] = n_.scale * to[j] + row[places[j] * keyStride];
      }
    }
  }

  // Row i of the block sees the keys up to its own: the last row first, hiding one key more for each.
  void causalSoftmax(const Run& of, int64_t first, int64_t rows, int64_t columns, float scale, int32_t* keep,
                     float* addend, float* scores, int64_t leading) const {
    const auto hide = [&](int64_t j) {
      keep[j] = 0;
      addend[j] = -std::numeric_limits<float>::infinity();
    };
    const int64_t end = std::min(columns, of.keys);
    for (int64_t j = first + rows; j < end; ++j) hide(j);
    for (int64_t i = rows - 1; i >= 0; --i) {
      if (first + i + 1 < end) hide(first + i + 1);
      numberFamilies().softmaxOfF32(1, columns, scores + i * leading, leading, scale, keep, addend);
    }
    for (int64_t j = first + 1; j < end; ++j) describeKey(of, j, keep, addend);
  }

  void runBlock(const Run& of, int64_t head, const RunShape& shape, int64_t first, const float* k,
                const float* v, int32_t* keep, float* addend, float* scores, float* copy) const {
    const int64_t rows = std::min(shape.rows, of.length - first), panel = family_.panelWidth,
                  leading = shape.leading;
    const int64_t keys = n_.causal ? first + rows : shape.keys,
                  columns = (keys + kScoreLanes - 1) / kScoreLanes * kScoreLanes;
    const float* q = q_.data + head * q_.strides[1] + (of.begin + first) * q_.strides[2];
    int64_t leadingQ = q_.strides[2];
    // Rows that would map to the same lines of the L1 cache, or that do not run through memory.
    if (q_.strides[3] != 1 || (leadingQ % 1024 == 0 && rows > 4)) {
      leadingQ = oddLineStride(s_.depth);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t d = 0; d < s_.depth; ++d)
          copy[i * leadingQ + d] = q[i * q_.strides[2] + d * q_.strides[3]];
      q = copy;
    }
    for (int64_t i = 0; i < panelCount(family_, keys); ++i)
      runRowTiles(family_, rows, s_.depth, q, leadingQ, k + i * s_.depth * panel, scores + i * panel, leading,
                  std::min(panel, keys - i * panel), false);
    for (int64_t i = 0; i < rows; ++i)
      std::fill(scores + i * leading + keys, scores + i * leading + columns, 0.0f);
    if (table_) addTable(of, head, first, rows, keys, scores, leading);
    const float scale = table_ ? 1 : n_.scale;
    if (n_.causal)
      causalSoftmax(of, first, rows, columns, scale, keep, addend, scores, leading);
    else
      numberFamilies().softmaxOfF32(rows, columns, scores, leading, scale, keep, addend);
    if (n_.nanAsZero)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < keys; ++j)
          if (scores[i * leading + j] != scores[i * leading + j]) scores[i * leading + j] = 0;
    const int64_t leadingZ = s_.heads * s_.width;
    float* z = z_ + (of.begin + first) * leadingZ + head * s_.width;
    for (int64_t key = 0; key < keys; key += kDepthBlock)
      for (int64_t i = 0; i < panelCount(family_, s_.width); ++i)
        runRowTiles(family_, rows, std::min(kDepthBlock, keys - key), scores + key, leading,
                    v + (i * shape.keys + key) * panel, z + i * panel, leadingZ,
                    std::min(panel, s_.width - i * panel), key > 0);
  }

  const FlatCall& call_;
  const DynGemmFamily& family_;
  const Sizes& s_;
  Strided q_, k_, v_;
  const TensorView *bias_, *allowed_, *table_;
  const int64_t* places_;
  Call::Numbers<calls::Borrowed> n_;
  float* z_;
};

}  // namespace

Status packedAttentionScratch(const FlatCall& call, int64_t& elements) {
  Sizes s;
  if (Status status = readSizes(call, s); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  elements = scratchElements(tableElements<Run>(s.runs), tasksFor(call, s),
                             OwnMemory(*call.gemmFamily, s, s.most()).elements());
  return okStatus();
}

Status packedAttention(FlatCall& call) {
  Sizes s;
  if (Status status = readSizes(call, s); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  const int64_t tasks = tasksFor(call, s), most = s.most();
  const OwnMemory memory(*call.gemmFamily, s, most);
  Scratch scratch(call, tableElements<Run>(s.runs), tasks, memory.elements());
  if (!scratch) return scratch.status();
  Table<Run> table(scratch.shared());
  if (Status status = readRuns(call, s, table); !status.ok()) return status;
  if (Status status = checkPlaces(call, s); !status.ok()) return status;
  Run* runs = reinterpret_cast<Run*>(scratch.shared());
  heaviestFirst(runs, table.size());
  const Task task(call, s, call.result(0)->as<float>());
  std::atomic<int64_t> next{0};
  call.split(tasks, tasks, [&](int64_t, int64_t) {
    float* own = scratch.next();
    for (int64_t unit; (unit = next.fetch_add(1, std::memory_order_relaxed)) < table.size() * s.heads;)
      if (!call.cancelled()) task.run(runs[unit / s.heads], unit % s.heads, memory, own);
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
