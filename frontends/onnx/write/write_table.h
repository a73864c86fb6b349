// How each operator of the IR is said in ONNX: one table, a row for each operator of ops.def, sorted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dyn::onnx {

class NodeWriter;

enum class Saying : uint8_t {
  node,     // one node, attributes and operands as they are but for `attributes` and `integers`
  steps,    // `write` makes its nodes
  walker,   // module_writer.cpp: bodies, constants, sizes, memory
  leftOut,  // nothing is written; `reason`: why the results stay the same
  never,    // an error; `reason`: what ONNX lacks
};

struct WriteRow {
  std::string_view op;
  Saying saying = Saying::node;
  std::string_view onnx;             // of `node`
  std::string_view attributes = {};  // of `node`: "block=blocksize -way", renamed and left out ones
  std::string_view integers = {};    // of `node`: operands that ONNX wants in i64, as digits: "13"
  void (*write)(NodeWriter&) = nullptr;
  std::string_view reason = {};
};

std::span<const WriteRow> writeTable();
const WriteRow* findWriteRow(std::string_view op);
// Writes the operation of `writer` as its row says; rows of the walker aside.
void runWriteRow(const WriteRow& row, NodeWriter& writer);

}  // namespace dyn::onnx
