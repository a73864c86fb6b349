// What a program brings for its kernels on a device that takes no functions of the host: the text of a
// module, and for each kernel the forms that it has there. Both stand in the program's metadata.
//
//   cuda.kernels  "3 thread block narrow fault\n"
//                                            kernel 3 has both forms, either also with indices of 32 bits, and
//                                            may find a fault
//                 "6 thread units\n"         kernel 6 has a thread for each unit: no loop in a unit is dealt out
//                 "4 thread tile=u/#1,#1,8*9,1 tensor\n"
//                                            kernel 4 is a product: rows, columns, length of the sum, and how many
//                                            products; of numbers, its scalars (#1) and the units (u), from left to right
//                 "5 attention=#2,1,1,#0 tensor\n"
//                                            rows of scores, and how many of them (products)
//   "4 thread tile=u/#1,#1,8*9,1 library=... cublaslt\n"
//                                            the same, which cuBLASLt can do as well (library_product.h), and shall
//                                            where it is found
//   cuda.ptx      ".version 7.0 ..."         functions dyn_kernel_3 (thread) and dyn_kernel_3_block (block)
//   cuda.ptx.80   ".version 7.0 ..."         functions dyn_kernel_4_tensor and dyn_kernel_5_attention_tensor, for chips
//                                            from sm_80 on
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "vm/base/status.h"
#include "vm/include/abi/dyn_device.h"
#include "vm/isa/program.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn::vm {

class DeviceCode {
 public:
  // Loads what `program` has for the device. DYN_UNSUPPORTED: nothing.
  static Status load(const DynDevice& device, const Program& program, DeviceCode& code);
  void unload(const DynDevice& device);
  bool isLoaded() const { return module_ != 0; }

  // Fills in function and geometry of a launch whose units and steps are known, or the product that a library
  // is to do, which stays until the next call. The library may ask for a workspace: who launches gives it.
  Status prepare(const DynDevice& device, const Program& program, size_t kernel, DynLaunch& launch);
  DynDeviceProduct* product() { return launchesProduct_ ? &product_ : nullptr; }  // of the last launch
  const char* version() const { return version_; }  // its form, or kCublasLt: "square", "block_narrow"

  static constexpr uint64_t kMostWorkspaceBytes = uint64_t{32} << 20;

 private:
  struct Forms {
    bool thread = false, block = false, tensor = false, attention = false, mayFault = false;
    bool perUnit = false;        // a thread has a unit, not an element of its loops
    bool narrow = false;         // a form of thread and block with indices of 32 bits
    std::string sizes;           // of products and attention
    std::string library;         // how a library does the product; "": it can not
    bool byLibrary = false;      // it shall
    uint64_t functions[9] = {};  // by Form; 0: not looked up yet
  };
  enum Form { thread, block, tile, square, tensor, attention, narrowThread, narrowBlock, tensorAttention };
  struct Product {
    int64_t rows = 0, columns = 0, depth = 0, count = 0;
  };
  static Product productOf(const std::string& sizes, const DynLaunch& launch);
  Form formOf(const Forms& forms, const Product& product, const DynLaunch& launch) const;
  static bool fitsNarrow(const DynLaunch& launch);
  Status prepareProduct(const DynDevice& device, const Program& program, size_t kernel, DynLaunch& launch);
  uint64_t module_ = 0, tensorModule_ = 0;
  std::map<size_t, Forms> forms_;
  bool hasLibrary_ = true;  // until the device says that it has none
  bool launchesProduct_ = false;
  const char* version_ = "";
  DynDeviceProduct product_{};
};

}  // namespace dyn::vm
