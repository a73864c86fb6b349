// Loop IR statements and kernels: what code generation takes.
//
//   kernel @softmax(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (m*n) about "stitch" {
//     accumulate top: f32 = maximum over j < m vector {   // u runs over [begin, end) of the units
//       x[u, j]
//     }
//     accumulate total: f32 = sum over k < m vector {
//       exp(x[u, k] - top)
//     }
//     for i < m vector {
//       y[u, i] = exp(x[u, i] - top) / total
//     }
//   }
//
// Constants carry their dtype (3:i32, 0.5:f64) unless i64 or f32; `dim(2*n + 1)` is a dim that is not a plain
// symbol; `f32(e)` is a cast. Names may be used once in a kernel: no variable shadows another. Expressions
// and statements nested past 100 levels are not read back. A kernel computes units [begin, end) of its unit
// count; units are independent, so the VM may split them over threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/expr.h"

namespace dyn::loop {

// tile: a serial loop whose body is a vector loop, where something read lies along the outer variable: code
// may go over both in squares, which it reads along the one and writes along the other. Iterations of either
// are independent.
enum class LoopKind : uint8_t { serial, vector, unroll, tile };
enum class StmtKind : uint8_t { block, loop, store, let, accumulate, branch, check };

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;

// One statement; fields by kind:
//   block       children in order
//   loop        for variable < extent (0-based), children = body
//   store       buffer[index] = value
//   let         variable := value, visible to the end of the enclosing block
//   accumulate  variable := reduction `reduceOp` of `value` over `variables` < `extents` (a loop nest with an accumulator), visible like let;
//               children run inside the nest before `value` (lets, accumulates, checks), loopKind `vector` allows partial accumulators on the last variable
//   branch      if condition { children }
//   check       fault `fault` (dyn_kernel.h) with the value of `subject`, if it has one, unless condition
struct Stmt {
  StmtKind kind = StmtKind::block;
  std::vector<StmtRef> children;
  Expr variable;  // loop, let, accumulate
  Expr extent;    // loop
  LoopKind loopKind = LoopKind::serial;
  const Buffer* buffer = nullptr;  // store
  std::vector<Expr> index;         // store
  Expr value;                      // store, let, accumulate
  Expr condition;                  // branch, check
  ReduceOp reduceOp = ReduceOp::sum;
  std::vector<Expr> variables, extents;  // accumulate
  int32_t fault = 0;                     // check
  Expr subject;                          // check: i64, or null
};

StmtRef block(std::vector<StmtRef> children);
StmtRef loopOver(Expr variable, Expr extent, LoopKind kind, StmtRef body);
StmtRef store(const Buffer* buffer, std::vector<Expr> index, Expr value);
StmtRef let(Expr variable, Expr value);
StmtRef accumulate(Expr variable, ReduceOp op, std::vector<Expr> variables, std::vector<Expr> extents,
                   LoopKind kind, StmtRef inner, Expr value);
StmtRef branch(Expr condition, StmtRef body);
StmtRef check(Expr condition, int32_t fault, Expr subject = {});
// The fault of a check without a subject.
int32_t faultWithoutValue(const Stmt& check);
// The expressions a statement itself holds (not those of its children).
std::vector<Expr> expressionsOf(const Stmt& stmt);

struct Kernel {
  std::string name;
  std::shared_ptr<LoopContext> context;
  std::vector<const Buffer*> buffers;  // parameters: inputs first, then outputs (order of DynKernelFunction)
  std::vector<const Buffer*> scratch;  // constant-size or dim-sized, private to a call
  std::vector<Dim> scalars;            // scalar parameters: symbols or dim expressions, in order
  std::vector<const UninterpretedFunction*> functions;
  Expr unit;  // i64 variable
  Expr unitCount;
  Dim stepsPerKernel;  // estimate of elementary steps of the whole launch, for splitting; may be null
  StmtRef body;
  std::string description;  // "loop · 3 ops"
};

// Text form; parse(print(k)) prints the same.
std::string print(const Kernel& kernel);
Result<Kernel> parseKernel(DimContext& dims, std::string_view text);
// Buffers used with their rank, variables defined before use, dtypes agree, stores only to outputs and
// scratch, no reduce expressions left, every dim used is computable from `scalars`.
Status verify(const Kernel& kernel);
// Proves that every load and store lies inside its buffer (uses facts of dims, functions, guards and checks);
// returns the accesses it cannot prove. Sound, not complete; `solver` adds what is known about the dims.
std::vector<std::string> unprovenAccesses(const Kernel& kernel, const DimSolver* solver = nullptr);

}  // namespace dyn::loop
