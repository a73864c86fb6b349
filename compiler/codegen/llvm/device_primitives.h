// Internal to codegen: what a kernel of a GPU does by instructions of its own, by the module's target:
// NVIDIA's (nvptx64) or AMD's (amdgcn, in waves of 32 lanes). Address spaces have the same numbers on both:
// 1 global, 3 shared by a block.
//
//                     nvptx64                       amdgcn
//   threadInBlock     sreg.tid.x                    workitem.id.x
//   blockInGrid       sreg.ctaid.x                  workgroup.id.x
//   blocksOfGrid      sreg.nctaid.x                 the first word of the hidden arguments
//   meetInBlock       barrier0                      s.barrier between fences of the workgroup
//   wordAcross        shfl.sync.bfly                ds.bpermute
//   wordBefore        shfl.sync.up                  ds.bpermute
//
// Products in tiles, by tensor cores, and copies that go on by themselves are NVIDIA's alone.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace dyn {

enum class DevicePlace : uint8_t { threadInBlock, blockInGrid, blocksOfGrid };

bool isAmdGpu(const llvm::Module& module);
// What the driver is to know of a kernel: how many threads a block has, and, if not 0, how many blocks
// shall fit where one runs.
void markKernel(llvm::Function& function, unsigned threads, unsigned blocks);
llvm::Value* placeOf(llvm::IRBuilderBase& b, DevicePlace place);  // i64
void meetInBlock(llvm::IRBuilderBase& b);
// `word`: i32 or float. Of the lane whose number differs in these bits; of the lane so many before, and of
// the first ones their own.
llvm::Value* wordAcross(llvm::IRBuilderBase& b, llvm::Value* word, unsigned bits);
llvm::Value* wordBefore(llvm::IRBuilderBase& b, llvm::Value* word, unsigned lanes);
// The upper half of the product of two i64.
llvm::Value* upperProduct(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y);

}  // namespace dyn
