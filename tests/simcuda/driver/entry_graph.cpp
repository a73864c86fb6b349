// Entry points: capture of a stream as a graph, and its launch. A graph is the list of commands with their
// order; a launch issues them anew.
#include <algorithm>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

SIMCUDA_ENTRY cuStreamBeginCapture_v2(void* handle, int) {
  return enter("cuStreamBeginCapture_v2", Needs::Context, [&](Driver& d) {
    Stream* s = handle ? d.stream(handle) : nullptr;
    if (!s) return d.fail(kInvalidHandle, "cuStreamBeginCapture: that is not a stream that can capture");
    if (s->capture) return d.fail(kCaptureUnsupported, "cuStreamBeginCapture: it is capturing");
    d.trace("begin capture stream " + std::to_string(s->number));
    s->capture = std::make_shared<Capture>();
    s->capture->origin = s;
    s->capture->branches[s] = 0;
    s->captureAfter.clear();
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuStreamEndCapture(void* handle, void** graph) {
  return enter("cuStreamEndCapture", Needs::Context, [&](Driver& d) {
    Stream* s = d.stream(handle);
    if (!s || !s->capture || s->capture->origin != s)
      return d.fail(kCaptureUnmatched, "cuStreamEndCapture: it did not begin one");
    std::shared_ptr<Capture> capture = s->capture;
    // What other streams did must have come back: from the end of this one all nodes are reached.
    std::vector<bool> reached(capture->graph.nodes.size());
    std::vector<size_t> open = s->captureAfter;
    while (!open.empty()) {
      size_t i = open.back();
      open.pop_back();
      if (reached[i]) continue;
      reached[i] = true;
      open.insert(open.end(), capture->graph.nodes[i].after.begin(), capture->graph.nodes[i].after.end());
    }
    for (auto& [stream, branch] : capture->branches) stream->capture = nullptr;
    if (std::find(reached.begin(), reached.end(), false) != reached.end()) {
      return d.fail(kCaptureUnjoined, "cuStreamEndCapture: the work of another stream was not waited for");
    }
    d.trace("end capture stream " + std::to_string(s->number) + ", " + std::to_string(reached.size()) +
            " nodes");
    auto made = std::make_unique<Graph>(std::move(capture->graph));
    *graph = made.get();
    d.graphs[*graph] = std::move(made);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  return enter("cuGraphInstantiateWithFlags", Needs::Context, [&](Driver& d) {
    auto it = d.graphs.find(graph);
    if (it == d.graphs.end()) return d.fail(kInvalidHandle, "cuGraphInstantiate: that is not a graph");
    auto made = std::make_unique<GraphExec>();
    made->graph = *it->second;
    int branches = 0;
    for (const GraphNode& node : made->graph.nodes) branches = std::max(branches, node.branch);
    for (int i = 0; i < branches; i++) {
      auto stream = std::make_unique<Stream>();
      stream->number = d.queue.nextStreamNumber();
      stream->device = currentDevice;
      stream->blocking = false;
      made->branches.push_back(std::move(stream));
    }
    d.trace("instantiate graph");
    *executable = made.get();
    d.executables[*executable] = std::move(made);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuGraphLaunch(void* executable, void* stream) {
  return enter("cuGraphLaunch", Needs::Context, [&](Driver& d) {
    auto it = d.executables.find(executable);
    Stream* s = d.stream(stream);
    if (it == d.executables.end() || !s)
      return d.fail(kInvalidHandle, "cuGraphLaunch: that is not an executable graph, or no stream");
    if (s->capture) return d.fail(kCaptureUnsupported, "cuGraphLaunch: unsupported in a capture");
    d.trace("launch graph of " + std::to_string(it->second->graph.nodes.size()) + " nodes stream " +
            std::to_string(s->number));
    d.queue.launch(*s, *it->second);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuGraphExecDestroy(void* executable) {
  return enter("cuGraphExecDestroy", Needs::Context, [&](Driver& d) {
    if (d.executables.erase(executable) == 0)
      return d.fail(kInvalidHandle, "cuGraphExecDestroy: that is not an executable graph");
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuGraphDestroy(void* graph) {
  return enter("cuGraphDestroy", Needs::Context, [&](Driver& d) {
    if (d.graphs.erase(graph) == 0) return d.fail(kInvalidHandle, "cuGraphDestroy: that is not a graph");
    return kSuccess;
  });
}
