#include "app/session/handlers/compile_anew.h"

#include "compiler/support/memory_file.h"

namespace dyn {

Status openModel(SessionState& state, LoadRequest request) {
  state.progress("reading " + shownPath(request.path));
  DYN_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::load(request, state.now.options, state.interruption.flag()));
  if (request.requireStatic && model->hasModule() && model->problems().empty())
    DYN_CHECK(model->checkStatic());
  state.debug = nullptr;
  state.now.model = std::move(model);
  state.now.runner = nullptr;
  state.now.specialisations = nullptr;
  state.now.small = nullptr;
  state.now.currentStep = 0;
  return {};
}

Status compileAnew(SessionState& state) {
  state.now.runner = nullptr;
  state.now.specialisations = nullptr;
  state.now.small = nullptr;
  if (!state.now.model || state.now.model->request().path.empty() || state.now.model->request().path == "-")
    return {};
  DYN_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::load(state.now.model->request(), state.now.options, state.interruption.flag()));
  state.now.model = std::move(model);
  state.now.currentStep = 0;
  return {};
}

}  // namespace dyn
