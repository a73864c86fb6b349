// The node behind an Expr. Private to compiler/loop: everybody else reads it through Expr.
#pragma once

#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "compiler/loop/expr.h"

namespace dyn::loop {

struct ExprNode {
  ExprKind kind = ExprKind::intConstant;
  Dtype dtype = Dtype::i64;
  uint8_t op = 0;  // UnaryOp, BinaryOp or ReduceOp
  uint32_t id = 0;
  int32_t reduceLevel = -1;         // variable of a reduction: its level (see LoopContext::reduce)
  int64_t intValue = 0;             // intConstant; fault of checked
  double realValue = 0;             // realConstant, rounded to dtype
  Dim dim;                          // dim
  const void* reference = nullptr;  // buffer of load, function of call
  std::string name;                 // variable
  std::vector<Expr> operands;
  std::vector<Expr> variables;  // reduce
  LoopContext* context = nullptr;
};

struct NodeHash {
  size_t operator()(const ExprNode* node) const;
};
struct NodeEqual {
  bool operator()(const ExprNode* a, const ExprNode* b) const;
};

struct LoopContext::Impl {
  DimContext& dims;
  std::deque<ExprNode> nodes;
  std::unordered_set<const ExprNode*, NodeHash, NodeEqual> interned;
  std::unordered_map<std::string, const ExprNode*> variables;
  std::unordered_map<uint32_t, Expr> extents;       // by variable id
  std::unordered_set<uint32_t> sizeDims;            // ids of dims used as extents or shapes: never negative
  std::set<std::string, std::less<>> names;         // taken by variables, buffers, functions
  std::unordered_map<std::string, int> lastNumber;  // behind a name that was taken
  std::deque<Buffer> buffers;
  std::deque<UninterpretedFunction> functions;

  explicit Impl(DimContext& d) : dims(d) {}
  std::string uniqueName(std::string_view hint);
};

// What is wrong with an operation on operands of these dtypes, as a sentence; null: nothing.
const char* misuseOf(UnaryOp op, Dtype a);
const char* misuseOf(BinaryOp op, Dtype a, Dtype b);
inline bool isNumeric(Dtype dtype) { return isReal(dtype) || isInteger(dtype) || dtype == Dtype::boolean; }

// Words of the text form, which no variable, buffer or function may have as its name.
bool isReservedWord(std::string_view word);
// True for a name that the text form reads back as one word.
bool isPlainName(std::string_view name);

}  // namespace dyn::loop
