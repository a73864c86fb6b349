// Internal to codegen: the value of an expression in a loop that runs several iterations (lanes) at once.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Value.h"

namespace dyn {

// uniform: the same in all lanes; held as a scalar.
// linear:  an i64 that grows by `stride` from lane to lane; held as the value of lane 0 and a uniform stride.
// varying: one vector of all lanes.
struct LaneValue {
  enum class Form { uniform, linear, varying };
  Form form = Form::uniform;
  llvm::Value* value = nullptr;
  llvm::Value* stride = nullptr;

  static LaneValue uniform(llvm::Value* v) { return {Form::uniform, v, nullptr}; }
  static LaneValue linear(llvm::Value* v, llvm::Value* stride) { return {Form::linear, v, stride}; }
  static LaneValue varying(llvm::Value* v) { return {Form::varying, v, nullptr}; }
  bool isUniform() const { return form == Form::uniform; }
  bool isLinear() const { return form == Form::linear; }
  // A linear value whose stride is the constant `n`.
  bool hasStride(int64_t n) const {
    auto* constant = isLinear() ? llvm::dyn_cast<llvm::ConstantInt>(stride) : nullptr;
    return constant && constant->getSExtValue() == n;
  }
};

}  // namespace dyn
