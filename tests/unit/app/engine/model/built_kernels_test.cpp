// Most kernels of ordinary networks are compiled when Dyn is built. If this fails after a change of lowering,
// write the list of those kernels anew: ./dev kernels.
#include <gtest/gtest.h>

#include "app/engine/model/loaded_model.h"
#include "tests/support/paths.h"

#if defined(DYN_HAVE_LLVM) && defined(__x86_64__)
#include "compiler/codegen/llvm/machine_catalog.h"

namespace dyn {
namespace {

TEST(BuiltKernels, areHalfOfThoseOfOrdinaryNetworks) {
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    int64_t all = 0, compiled = 0;
    for (const char* name : {"bert", "gpt2", "ssd", "encoder", "espcn", "lstm", "gru"}) {
      LoadRequest request;
      request.path = test::sourceFolder() + "/samples/models/" + name + "/model.onnx";
      EngineOptions options;
      options.target = target;
      options.tuningFile = "none";
      Result<std::unique_ptr<LoadedModel>> model = LoadedModel::load(request, options, nullptr);
      ASSERT_TRUE(model.ok()) << model.error().toString();
      ASSERT_TRUE((*model)->ensureCompiled().ok()) << name;
      const CompileStatistics& statistics = (*model)->compiled()->statistics;
      all += statistics.kernelsCount;
      compiled += statistics.kernelsCompiledCount;
    }
    EXPECT_LE(2 * compiled, all) << target << ": " << compiled << " of " << all << " kernels are compiled";
  }
}

}  // namespace
}  // namespace dyn
#endif
