#include "app/session/handlers/read_again.h"

#include <algorithm>

#include "compiler/passes/pass_table.h"

namespace dyn {

Result<std::unique_ptr<LoadedModel>> readAgain(SessionState& state, const LoadRequest& request,
                                               std::span<const std::string_view> passes) {
  SessionOptions options = state.now.options;
  options.passes.clear();
  for (const PassDef& pass : passTable())
    if (!pass.required && std::find(passes.begin(), passes.end(), pass.name) == passes.end())
      options.passes += (options.passes.empty() ? "-" : ",-") + std::string(pass.name);
  options.variants = options.buckets = "";
  options.places.clear();
  return LoadedModel::load(request, options, state.interruption.flag());
}

}  // namespace dyn
