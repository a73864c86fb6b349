// Walks the table of the ONNX writer: every operator of the IR has a row, and what the row says ONNX has.
#include "frontends/onnx/write/write_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "frontends/onnx/import/operator_schemas.h"

namespace dyn::onnx {
namespace {

// "kernel_shape" of "auto_pad:s kernel_shape:I!"
bool knows(std::string_view attributes, std::string_view name) {
  return (" " + std::string(attributes)).find(" " + std::string(name) + ":") != std::string::npos;
}

// What the row calls an attribute there; "" where it leaves it out.
std::string nameThere(const WriteRow& row, std::string_view name) {
  const std::string words = " " + std::string(row.attributes) + " ";
  if (words.find(" -" + std::string(name) + " ") != std::string::npos) return "";
  const size_t at = words.find(" " + std::string(name) + "=");
  if (at == std::string::npos) return std::string(name);
  const size_t begin = at + name.size() + 2;
  return words.substr(begin, words.find(' ', begin) - begin);
}

TEST(WriteTable, EveryOperatorHasARow) {
  for (const OpDef* op : opTable())
    EXPECT_NE(findWriteRow(op->name), nullptr)
        << op->name << " has no row in frontends/onnx/write/write_table.cpp: how does ONNX say it?";
  for (const WriteRow& row : writeTable())
    EXPECT_NE(findOp(row.op), nullptr) << row.op << " is not an operator";
}

TEST(WriteTable, RowsAreSortedAndComplete) {
  const auto rows = writeTable();
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].op, rows[i].op);
  for (const WriteRow& row : rows) {
    SCOPED_TRACE(std::string(row.op));
    EXPECT_EQ(row.saying == Saying::node, !row.onnx.empty());
    EXPECT_EQ(row.saying == Saying::steps, row.write != nullptr);
    EXPECT_EQ(row.saying == Saying::leftOut || row.saying == Saying::never, !row.reason.empty());
  }
}

TEST(WriteTable, OperatorsAndAttributesAreThoseOfTheStandard) {
  for (const WriteRow& row : writeTable()) {
    if (row.saying != Saying::node) continue;
    SCOPED_TRACE(std::string(row.op) + " as " + std::string(row.onnx));
    const auto schemas = schemasOf("", row.onnx);
    ASSERT_FALSE(schemas.empty());
    const OpDef& op = *findOp(row.op);
    for (const AttributeSpec& attribute : op.attributes) {
      const std::string there = nameThere(row, attribute.name);
      EXPECT_TRUE(there.empty() || knows(schemas.back().attributes, there)) << attribute.name;
    }
  }
}

}  // namespace
}  // namespace dyn::onnx
