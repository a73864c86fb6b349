// Looks into tables of 256 bytes by bytes: instructions pick among 128 bytes in registers, where the machine
// has them (AVX-512 VBMI).
#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/llvm_target.h"
#include "compiler/loop/widened_byte.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace dyn {

using llvm::Value;
using loop::Expr;

namespace {

constexpr unsigned kTable = loop::kByteTable, kRegister = 64;

}  // namespace

bool KernelEmitter::picksByte(Expr load) const {
  if (!loop::looksUpByte(load) || !module_.machine().avx512) return false;
  if (!picksBytes_) picksBytes_ = hasFeatures(module_.machine(), "+avx512vbmi");
  return *picksBytes_;
}

// The elements are there whatever the lanes hold: no mask is needed.
Result<std::optional<LaneValue>> KernelEmitter::lookUpBytes(Expr load) {
  const std::optional<LaneValue> none;
  if (lanes_ == 1 || lanes_ > kRegister || !picksByte(load)) return none;
  DYN_TRY(LaneValue at, value(loop::widenedByte(load.operands()[0])));
  if (at.isUniform()) return none;
  llvm::Type* element = b_.getInt8Ty();
  auto* whole = llvm::FixedVectorType::get(element, kRegister);
  std::vector<int> widened, narrowed;
  for (unsigned lane = 0; lane < kRegister; ++lane) widened.push_back(static_cast<int>(lane % lanes_));
  for (unsigned lane = 0; lane < lanes_; ++lane) narrowed.push_back(static_cast<int>(lane));
  Value* places = lanes_ == kRegister ? vector(at) : b_.CreateShuffleVector(vector(at), widened);
  const auto part = [&](unsigned first) {
    Value* from = b_.CreateGEP(element, buffers_.at(load.buffer()), b_.getInt64(first));
    return b_.CreateAlignedLoad(whole, from, llvm::Align(1));
  };
  const auto among = [&](unsigned first) {
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                              {part(first), places, part(first + kRegister)});
  };
  Value *low = among(0), *high = among(kTable / 2);
  Value* picked = b_.CreateSelect(b_.CreateICmpSLT(places, llvm::Constant::getNullValue(whole)), high, low);
  if (lanes_ != kRegister) picked = b_.CreateShuffleVector(picked, narrowed);
  return std::optional(LaneValue::varying(picked));
}

}  // namespace dyn
