// What a program brings for its kernels on a device that takes no functions of the host: the text of a
// module, and for each kernel the forms that it has there. Both stand in the program's metadata.
//
//   cuda.kernels  "3 thread block fault\n"   kernel 3 has both forms and may find a fault
//                 "4 thread tile=#1/64\n"    kernel 4 is a product: groups of rows are its scalar 1, sums 64 long
//   cuda.ptx      ".version 7.0 ..."         functions dyn_kernel_3 (thread) and dyn_kernel_3_block (block)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "vm/base/status.h"
#include "vm/include/dyn_device.h"
#include "vm/isa/program.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn::vm {

class DeviceCode {
 public:
  // Loads what `program` has for the device. DYN_UNSUPPORTED: nothing.
  static Status load(const DynDevice& device, const Program& program, DeviceCode& code);
  void unload(const DynDevice& device);
  bool isLoaded() const { return module_ != 0; }

  // Fills in function and geometry of a launch whose units and steps are known.
  Status prepare(const DynDevice& device, const Program& program, size_t kernel, DynLaunch& launch);

 private:
  struct Forms {
    bool thread = false, block = false, mayFault = false;
    // Of products: rows that read the same columns, and the length of the sum; a number, "#2" or "all".
    std::string group, depth;
    uint64_t functions[3] = {};  // thread, block, tile; 0: not looked up yet
  };
  static int64_t valueOf(const std::string& text, const DynLaunch& launch);
  uint64_t module_ = 0;
  std::map<size_t, Forms> forms_;
};

}  // namespace dyn::vm
