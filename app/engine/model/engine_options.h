// EngineOptions: how models are compiled and run.
//
//   EngineOptions options;
//   options.math = "fast";
//   options.device = "cuda:1";
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vm/include/dynvm.h"

namespace dyn {

struct EngineOptions {
  int threadCount = 0;                  // for kernels and compilation; 0: one per core
  std::string cacheDirectory = "none";  // of compiled objects; "none": off
  std::string passes;                   // pipeline text; "" is the standard one
  std::string math = "fp32";
  std::string paddedResults = "exact";
  std::map<std::string, std::string> policies;  // "conv", "matmul" or "loop": the version to be taken
  // Variants beside the program for all sizes, and buckets (compiler/passes/variants/variant_spec.h); "":
  // none.
  std::string variants, buckets;
  // Inputs that differ between the instances of a program of many (pass `vectorize`): "x+tree", "all"; "":
  // the program is of one.
  std::string many;
  // Form of the host code: "native", "bytecode", or "auto": native where a package has it.
  std::string hostCode = "auto";
  // Of packages: whether their machine code is taken, and the file of the key that must have signed them; "":
  // none.
  bool nativeCode = true;
  std::string verifyKey;
  // Packages must have a certificate that holds and leaves no access to memory open.
  bool needsCertificate = false;
  std::string dataRoot;  // folder that symbolic links to external data may not leave; "": none is followed
  std::string operatorFiles;        // of operators that the user defines: "a.dyn;b.dyn"; "": none
  std::string tuningFile;           // of records; "" is beside the object cache, "none" off
  std::string device = "cpu";       // "cuda", "cuda:1", "simcuda": app/engine/device/device_name.h
  bool deviceIsChosen = false;      // somebody said so: a package, too, runs there and nowhere else
  std::vector<std::string> places;  // "softmax=cpu" (compiler/passes/device/placement.h)
  // Where programs run: a name or a file (compiler/driver/target_choice.h); "" is this host.
  std::string target;
  uint64_t seed = 0;              // of random inputs
  uint64_t memoryLimitBytes = 0;  // 0: none
  uint64_t deviceLimitBytes = 0;  // of each device; 0: as memoryLimitBytes
  bool deviceGraphs = true;       // launches that come again are one graph
};

// The threads of a run; 0 in the options is the cores that the process may use.
inline int threadsOf(const EngineOptions& options) {
  return options.threadCount > 0 ? options.threadCount : dyn_usable_cores();
}

}  // namespace dyn
