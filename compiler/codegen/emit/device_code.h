// Loop kernels as PTX: the text that a CUDA driver takes, and that tests read and run.
//
//   DYN_TRY(DeviceKernel kernel, emitDeviceKernel(loopKernel, "dyn_kernel_3"));
//   kernel.ptx;                    // functions dyn_kernel_3 and, where it pays, dyn_kernel_3_block
//   kernel.tensorPtx;              // of products: dyn_kernel_3_tensor, for chips from sm_80 on
//   joinPtx({kernel.ptx, other});  // one module of several
//
// Parameters of a function, 64 bits each: the buffers' addresses, the scalars, the number of units, the
// address of the fault word, the number of the launch (vm/include/abi/dyn_device.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/codegen/llvm/kernel_module.h"
#include "compiler/loop/kernel.h"

namespace dyn {

struct DeviceKernel {
  std::string ptx, tensorPtx;
  bool thread = false, block = false;  // the forms it has (device_mapping.h)
  bool narrow = false;   // of these there is one more each, with indices of 32 bits (kNarrowSuffix)
  bool perUnit = false;  // the form `thread` has one for each unit, whatever loops are in it
  bool mayFault = false;
  // Of products: "rows,columns,depth,products" (vm/core/device/device_code.h). Then there are functions
  // dyn_kernel_3_tile and dyn_kernel_3_square. Of attention there is dyn_kernel_3_attention alone. Else "".
  std::string sizes;
  bool attention = false;
  // Of products: how a library does it (device_library.h), or, where it can not, why.
  std::string library, noLibrary;
};

// What products of f32 may be rounded to before they are multiplied. Those of f16 and bf16 lose nothing and
// use tensor cores whatever it says.
enum class DeviceMath : uint8_t { fp32, tf32, bf16 };
DeviceMath deviceMathOf(std::string_view name);  // "tf32"
std::string_view toString(DeviceMath math);

// The least GPU that code is generated for; every later one takes it, too.
const MachineDescription& deviceMachine();

// Errors: unsupportedFeature and unsupportedDtype for what has no code there, or where LLVM has no such
// target.
Result<DeviceKernel> emitDeviceKernel(const loop::Kernel& kernel, const std::string& symbol,
                                      DeviceMath math = DeviceMath::fp32);

std::string joinPtx(std::span<const std::string> modules);

}  // namespace dyn
