#include "frontends/onnx/write/model_writer.h"

#include <set>

#include "compiler/dims/size_multiples.h"
#include "frontends/onnx/read/dim_metadata.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/module_writer.h"

namespace dyn::onnx {
namespace {

// What onnxruntime and the checker take these operator sets in.
int64_t irVersionOf(int64_t opset) { return opset <= 22 ? 10 : opset == 23 ? 11 : opset == 24 ? 12 : 13; }

// Of the named dims of the inputs: "1..512:8".
std::vector<std::pair<std::string, std::string>> rangesOf(const Module& module) {
  std::vector<std::pair<std::string, std::string>> ranges;
  const DimSolver& facts = module.context->facts();
  DimContext& dims = module.context->dims();
  std::set<SymbolId> seen;
  for (const Parameter& parameter : module.main()->parameters) {
    if (!parameter.type) continue;
    for (SymbolId symbol : symbolsOf(parameter.type)) {
      if (dims.isAnonymous(symbol) || !seen.insert(symbol).second) continue;
      const Dim dim = dims.symbolById(symbol);
      const Interval interval = facts.interval(dim);
      int64_t multiple = 1;
      for (const Fact& fact : facts.factsAbout(symbol))
        if (fact.kind == FactKind::multipleOf && fact.a == dim)
          multiple = commonMultiple(multiple, fact.multiple);
      if (!interval.high && interval.low.value_or(0) <= 0 && multiple == 1) continue;
      ranges.emplace_back(std::string(kRangeKey) + dims.symbolName(symbol),
                          std::to_string(interval.low.value_or(0)) + ".." +
                              (interval.high ? std::to_string(*interval.high) : "") +
                              (multiple > 1 ? ":" + std::to_string(multiple) : ""));
    }
  }
  return ranges;
}

Error unsupported(const std::vector<Diagnostic>& problems) {
  constexpr size_t kMostNotes = 8;
  Error error{problems[0]};
  for (size_t i = 1; i < problems.size() && i <= kMostNotes; ++i) {
    const std::string place = problems[i].place.toString();
    error.diagnostic().notes.push_back(problems[i].message + (place.empty() ? "" : " (" + place + ")"));
  }
  if (problems.size() > kMostNotes + 1)
    error.diagnostic().notes.push_back("and " + std::to_string(problems.size() - kMostNotes - 1) + " more");
  return error;
}

}  // namespace

Result<SavedModel> toOnnx(const Module& module, const SaveOptions& options) {
  if (module.main() == nullptr)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: a module without @main");
  ModuleWriter writer(module, options);
  writer.run();
  if (!writer.parts().problems().empty()) return unsupported(writer.parts().problems());

  SavedModel saved;
  saved.weights = writer.parts().initializers();
  for (const Initializer& weight : saved.weights)
    if (weight.tensor.dtype() != Dtype::string)
      saved.weightsBytes += static_cast<uint64_t>(weight.tensor.sizeBytes());
  saved.opsets = writer.parts().opsets();
  saved.opsets.try_emplace("", leastOpset(""));
  saved.leftOut = writer.parts().leftOut();
  saved.nodeCount = writer.graph().nodeCount;
  saved.graph = writer.graph().bytes(options.graphName);

  WireWriter head;
  head.varint(1, static_cast<uint64_t>(irVersionOf(saved.opsets.at(""))));
  head.bytes(2, "dyn");
  for (const auto& [domain, version] : saved.opsets) {
    WireWriter set;
    set.bytes(1, domain);
    set.varint(2, static_cast<uint64_t>(version));
    head.bytes(8, set.str());
  }
  for (const auto& [key, value] : options.metadata) head.bytes(14, entryMessage(key, value));
  if (!options.dimRelations.empty())
    head.bytes(14, entryMessage(std::string(kRelationsKey), options.dimRelations));
  for (const auto& [key, value] : rangesOf(module)) head.bytes(14, entryMessage(key, value));
  saved.head = head.take();
  return saved;
}

}  // namespace dyn::onnx
