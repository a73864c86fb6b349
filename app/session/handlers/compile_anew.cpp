#include "app/session/handlers/compile_anew.h"

namespace dyn {

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
