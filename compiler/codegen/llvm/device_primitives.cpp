#include "compiler/codegen/llvm/device_primitives.h"

#include <string>

#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

namespace dyn {

using llvm::Value;
namespace id = llvm::Intrinsic;

namespace {

constexpr unsigned kLanes = 32;

bool isAmd(const llvm::IRBuilderBase& b) { return isAmdGpu(*b.GetInsertBlock()->getModule()); }

void annotate(llvm::Function& function, const char* what, unsigned number) {
  llvm::LLVMContext& context = function.getContext();
  llvm::Metadata* parts[] = {
      llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, what),
      llvm::ValueAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), number))};
  function.getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, parts));
}

Value* amdLane(llvm::IRBuilderBase& b) {
  return b.CreateIntrinsic(id::amdgcn_mbcnt_lo, {}, {b.getInt32(~0u), b.getInt32(0)});
}

// A lane's word; the instruction counts in bytes.
Value* amdOfLane(llvm::IRBuilderBase& b, Value* word, Value* lane) {
  Value* bits = b.CreateBitCast(word, b.getInt32Ty());
  Value* moved = b.CreateIntrinsic(id::amdgcn_ds_bpermute, {}, {b.CreateShl(lane, 2), bits});
  return b.CreateBitCast(moved, word->getType());
}

Value* amdPlace(llvm::IRBuilderBase& b, DevicePlace place) {
  if (place == DevicePlace::threadInBlock) return b.CreateIntrinsic(id::amdgcn_workitem_id_x, {}, {});
  if (place == DevicePlace::blockInGrid) return b.CreateIntrinsic(id::amdgcn_workgroup_id_x, {}, {});
  Value* hidden = b.CreateIntrinsic(id::amdgcn_implicitarg_ptr, {}, {});
  return b.CreateAlignedLoad(b.getInt32Ty(), hidden, llvm::Align(4));
}

}  // namespace

bool isAmdGpu(const llvm::Module& module) { return llvm::Triple(module.getTargetTriple()).isAMDGCN(); }

void markKernel(llvm::Function& function, unsigned threads, unsigned blocks) {
  if (isAmdGpu(*function.getParent())) {
    function.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
    function.addFnAttr("amdgpu-flat-work-group-size",
                       std::to_string(threads) + "," + std::to_string(threads));
    function.addFnAttr("uniform-work-group-size", "true");
    return;
  }
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  annotate(function, "maxntidx", threads);
  if (blocks > 0) annotate(function, "minctasm", blocks);
}

Value* placeOf(llvm::IRBuilderBase& b, DevicePlace place) {
  const id::ID ofNvidia = place == DevicePlace::threadInBlock ? id::nvvm_read_ptx_sreg_tid_x
                          : place == DevicePlace::blockInGrid ? id::nvvm_read_ptx_sreg_ctaid_x
                                                              : id::nvvm_read_ptx_sreg_nctaid_x;
  Value* number = isAmd(b) ? amdPlace(b, place) : b.CreateIntrinsic(ofNvidia, {}, {});
  return b.CreateZExt(number, b.getInt64Ty());
}

void meetInBlock(llvm::IRBuilderBase& b) {
  if (!isAmd(b)) {
    b.CreateIntrinsic(id::nvvm_barrier0, {}, {});
    return;
  }
  const llvm::SyncScope::ID block = b.getContext().getOrInsertSyncScopeID("workgroup");
  b.CreateFence(llvm::AtomicOrdering::Release, block);
  b.CreateIntrinsic(id::amdgcn_s_barrier, {}, {});
  b.CreateFence(llvm::AtomicOrdering::Acquire, block);
}

Value* wordAcross(llvm::IRBuilderBase& b, Value* word, unsigned bits) {
  if (isAmd(b)) return amdOfLane(b, word, b.CreateXor(amdLane(b), bits));
  const bool real = word->getType()->isFloatTy();
  return b.CreateIntrinsic(real ? id::nvvm_shfl_sync_bfly_f32 : id::nvvm_shfl_sync_bfly_i32, {},
                           {b.getInt32(~0u), word, b.getInt32(bits), b.getInt32(kLanes - 1)});
}

Value* wordBefore(llvm::IRBuilderBase& b, Value* word, unsigned lanes) {
  if (isAmd(b)) {
    Value* own = amdLane(b);
    Value* before = b.CreateSub(own, b.getInt32(lanes));
    return amdOfLane(b, word, b.CreateSelect(b.CreateICmpUGE(own, b.getInt32(lanes)), before, own));
  }
  const bool real = word->getType()->isFloatTy();
  return b.CreateIntrinsic(real ? id::nvvm_shfl_sync_up_f32 : id::nvvm_shfl_sync_up_i32, {},
                           {b.getInt32(~0u), word, b.getInt32(lanes), b.getInt32(0)});
}

Value* upperProduct(llvm::IRBuilderBase& b, Value* x, Value* y) {
  if (!isAmd(b)) return b.CreateIntrinsic(id::nvvm_mulhi_ull, {}, {x, y});
  llvm::Type* wide = b.getInt128Ty();
  Value* product = b.CreateMul(b.CreateZExt(x, wide), b.CreateZExt(y, wide));
  return b.CreateTrunc(b.CreateLShr(product, 64), b.getInt64Ty());
}

}  // namespace dyn
