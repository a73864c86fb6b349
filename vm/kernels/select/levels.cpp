// levels: an order of nodes by height, from the rows that each writes and reads.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "vm/kernels/builtins.h"

namespace dyn::vm::kernels {

namespace {

using Call = calls::Levels;

std::string at(int64_t node) { return "node " + std::to_string(node) + " "; }

// Which node writes a row. Most programs write rows side by side, node by node: these need no table.
class Writers {
 public:
  // "" or why not: a row is written twice, or does not exist.
  std::string take(const int64_t* writes, int64_t nodes, int64_t rows) {
    nodes_ = nodes;
    first_ = nodes > 0 ? writes[0] : 0;
    bool sideBySide = true;
    for (int64_t i = 0; i < nodes; ++i) {
      if (writes[i] < 0 || writes[i] >= rows) return at(i) + "writes row " + std::to_string(writes[i]);
      sideBySide = sideBySide && writes[i] - first_ == i;
    }
    if (sideBySide) return "";
    table_.assign(static_cast<size_t>(rows), -1);
    for (int64_t i = 0; i < nodes; ++i) {
      int64_t& writer = table_[static_cast<size_t>(writes[i])];
      if (writer >= 0)
        return at(i) + "writes row " + std::to_string(writes[i]) + ", as node " + std::to_string(writer);
      writer = i;
    }
    return "";
  }
  // -1: nobody.
  int64_t of(int64_t row) const {
    if (!table_.empty()) return table_[static_cast<size_t>(row)];
    return row < first_ || row - first_ >= nodes_ ? -1 : row - first_;
  }

 private:
  int64_t first_ = 0, nodes_ = 0;
  std::vector<int64_t> table_;
};

struct Reads {
  const int64_t* rows = nullptr;
  int64_t perNode = 0;
};

// The height of each node. "" or why not: one reads a row before its writer has written it, or one that
// does not exist. A node that reads its own row sees what stood there before, and so it does in any order.
std::string heightsOf(const Writers& writers, const std::vector<Reads>& reads, int64_t rows,
                      std::vector<uint32_t>& heights) {
  const auto nodes = static_cast<int64_t>(heights.size());
  for (int64_t i = 0; i < nodes; ++i) {
    uint32_t height = 0;
    for (const Reads& read : reads)
      for (int64_t k = 0; k < read.perNode; ++k) {
        int64_t row = read.rows[i * read.perNode + k];
        if (row < 0) row += rows;
        if (row < 0 || row >= rows) return at(i) + "reads row " + std::to_string(row);
        const int64_t writer = writers.of(row);
        if (writer > i)
          return at(i) + "reads row " + std::to_string(row) + ", which node " + std::to_string(writer) +
                 " writes";
        if (writer >= 0 && writer < i) height = std::max(height, heights[static_cast<size_t>(writer)] + 1);
      }
    heights[static_cast<size_t>(i)] = height;
  }
  return "";
}

// Nodes by height, those of one height as they were; `starts` gets where each height begins.
void sortByHeight(const std::vector<uint32_t>& heights, int64_t* order, std::vector<int64_t>& starts) {
  const uint32_t highest = heights.empty() ? 0 : *std::max_element(heights.begin(), heights.end());
  starts.assign(heights.empty() ? 1 : size_t{highest} + 2, 0);
  if (heights.empty()) return;
  for (uint32_t height : heights) ++starts[size_t{height} + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  for (size_t i = 0; i < heights.size(); ++i) order[next[heights[i]]++] = static_cast<int64_t>(i);
}

// Levels cut where the kind changes.
void splitByKind(const int64_t* kinds, int64_t* order, std::vector<int64_t>& starts) {
  std::vector<int64_t> finer{0};
  for (size_t level = 0; level + 1 < starts.size(); ++level) {
    int64_t *begin = order + starts[level], *end = order + starts[level + 1];
    std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return kinds[a] < kinds[b]; });
    for (int64_t* node = begin; node < end; ++node)
      if (node + 1 == end || kinds[node[0]] != kinds[node[1]]) finer.push_back(node + 1 - order);
  }
  starts = std::move(finer);
}

}  // namespace

Status levels(BuiltinCall& call) {
  const Tensor *writes = call.argument(Call::writes), *rows = call.argument(Call::rows);
  if (!rows || rows->dtype != DataType::i64 || rows->elementCount != 1)
    return badArgument("levels", Call::rows, "one i64", call.arguments[Call::rows]);
  if (!writes || writes->dtype != DataType::i64 || writes->rank != 1)
    return badArgument("levels", Call::writes, "i64 of rank 1", call.arguments[Call::writes]);
  const int64_t nodes = writes->elementCount, rowCount = *rows->as<int64_t>();
  if (nodes >= INT64_C(0xffffffff))
    return failure(DYN_UNSUPPORTED, "levels of " + std::to_string(nodes) + " nodes");
  std::vector<Reads> reads;
  for (size_t i = Call::reads; i < call.arguments.size(); ++i) {
    const Tensor* read = call.argument(i);
    if (!read || read->dtype != DataType::i64 || read->rank < 1 || read->shape()[0] != nodes)
      return badArgument("levels", i, "i64, a row for each node", call.arguments[i]);
    reads.push_back({read->as<int64_t>(), nodes > 0 ? read->elementCount / nodes : 0});
  }
  const bool kinds = call.numbersOf<Call>().kinds != 0;
  if (kinds && (reads.empty() || reads[0].perNode > 1))
    return badArgument("levels", Call::reads, "the kind of each node", call.arguments[Call::reads]);
  Tensor* order = nullptr;
  if (Status status = call.result(0, DataType::i64, {&nodes, 1}, order); !status.ok()) return status;
  Writers writers;
  std::vector<uint32_t> heights(static_cast<size_t>(nodes));
  std::vector<int64_t> starts;
  const std::vector<Reads> ofRows(reads.begin() + (kinds ? 1 : 0), reads.end());
  std::string why = writers.take(writes->as<int64_t>(), nodes, rowCount);
  if (why.empty()) why = heightsOf(writers, ofRows, rowCount, heights);
  if (why.empty()) {
    sortByHeight(heights, order->as<int64_t>(), starts);
    if (kinds) splitByKind(reads[0].rows, order->as<int64_t>(), starts);
  } else {
    std::iota(order->as<int64_t>(), order->as<int64_t>() + nodes, int64_t{0});
    starts.resize(static_cast<size_t>(nodes) + 1);
    std::iota(starts.begin(), starts.end(), int64_t{0});
  }
  const auto count = static_cast<int64_t>(starts.size());
  if (call.wantsVersion())
    call.nameVersion(why.empty() ? "levels=" + std::to_string(count - 1) : "one by one: " + why);
  Tensor* result = nullptr;
  if (Status status = call.result(1, DataType::i64, {&count, 1}, result); !status.ok()) return status;
  std::copy(starts.begin(), starts.end(), result->as<int64_t>());
  return okStatus();
}

}  // namespace dyn::vm::kernels
