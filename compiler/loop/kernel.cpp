#include "compiler/loop/kernel.h"

#include "vm/include/abi/dyn_kernel.h"

namespace dyn::loop {

StmtRef block(std::vector<StmtRef> children) {
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::block, .children = std::move(children)});
}

StmtRef loopOver(Expr variable, Expr extent, LoopKind kind, StmtRef body) {
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::loop,
                                     .children = {std::move(body)},
                                     .variable = variable,
                                     .extent = extent,
                                     .loopKind = kind});
}

StmtRef store(const Buffer* buffer, std::vector<Expr> index, Expr value) {
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::store, .buffer = buffer, .index = std::move(index), .value = value});
}

StmtRef let(Expr variable, Expr value) {
  return std::make_shared<Stmt>(Stmt{.kind = StmtKind::let, .variable = variable, .value = value});
}

StmtRef accumulate(Expr variable, ReduceOp op, std::vector<Expr> variables, std::vector<Expr> extents,
                   LoopKind kind, StmtRef inner, Expr value) {
  Stmt s{.kind = StmtKind::accumulate,
         .variable = variable,
         .loopKind = kind,
         .value = value,
         .reduceOp = op,
         .variables = std::move(variables),
         .extents = std::move(extents)};
  if (inner) s.children.push_back(std::move(inner));
  return std::make_shared<Stmt>(std::move(s));
}

StmtRef branch(Expr condition, StmtRef body) {
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::branch, .children = {std::move(body)}, .condition = condition});
}

StmtRef check(Expr condition, int32_t fault, Expr subject) {
  return std::make_shared<Stmt>(
      Stmt{.kind = StmtKind::check, .condition = condition, .fault = fault, .subject = subject});
}

int32_t faultWithoutValue(const Stmt& check) {
  return DYN_FAULT_CHECK(check.fault) == 0 ? check.fault : check.fault | DYN_FAULT_NO_VALUE * (1 << 8);
}

std::vector<Expr> expressionsOf(const Stmt& s) {
  std::vector<Expr> out;
  for (Expr e : {s.extent, s.condition, s.subject})
    if (e) out.push_back(e);
  out.insert(out.end(), s.extents.begin(), s.extents.end());
  out.insert(out.end(), s.index.begin(), s.index.end());
  if (s.value) out.push_back(s.value);
  return out;
}

}  // namespace dyn::loop
