// Where a model's operations run and why, as the pass `devices` says it, for :place.
#pragma once

#include <string>
#include <vector>

#include "app/session/views/device_views.h"
#include "compiler/support/result.h"

namespace dyn {

class LoadedModel;

// Each of the form OPERATOR=cpu or OPERATOR=cuda. Error: usageError.
Status checkPlaces(const std::vector<std::string>& places);

// Of all operations, or (`what`: an operator, an ONNX node or a value) of those that it concerns. Errors:
// usageError where no device is beside the host, or nothing is called so; what the passes end in.
Result<PlacementView> placementView(LoadedModel& model, const std::string& what);

}  // namespace dyn
