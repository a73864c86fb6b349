// Views of the trace: the graph, the text, the passes and differences of its steps.
#pragma once

#include "app/session/views/code_views.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/pass_views.h"
#include "compiler/pass/trace.h"

namespace dyn {

// The step of that name or number; "" and "placed": the last one that did not fail. Errors: textName with the
// names there are.
Result<const TraceStep*> findStep(const Trace& trace, const std::string& nameOrIndex);
GraphView graphView(const TraceStep& step);
enum class Places : uint8_t { leaveOut, show };
IrText irText(const TraceStep& step, Places places);
PassList passList(const Trace& trace, int current);
DiffView diffView(const TraceStep& from, const TraceStep& to);
// What one step did itself.
DiffView diffView(const TraceStep& step);
std::string stepTitle(const TraceStep& step);

}  // namespace dyn
