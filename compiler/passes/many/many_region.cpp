#include "compiler/passes/many/many_region.h"

namespace dyn::passes {

namespace {

std::string keyOf(const std::vector<Layout>& layouts) {
  std::string key;
  for (Layout layout : layouts) key += "sbl"[static_cast<size_t>(layout)];
  return key;
}

}  // namespace

std::vector<Layout> resultLayouts(ManyModule& module, const Function& of,
                                  const std::vector<Layout>& parameters) {
  const auto key = std::pair(&of, keyOf(parameters));
  if (const auto known = module.layouts.find(key); known != module.layouts.end()) return known->second;
  const ManyModule::UniformScope scope(module);
  module.beginDraft();
  ManyBody body(module, Dim());
  body.setCount(module.ir().newValue());
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    if (parameters[i] != Layout::listed) module.addUniform(of.parameters[i].type);
    body.hold(of.parameters[i].id, {parameters[i], module.ir().newValue()});
  }
  body.translate(of);
  std::vector<Layout> layouts;
  for (ValueId v : of.results) layouts.push_back(body.layoutOf(v));
  module.endDraft();
  return module.layouts[key] = layouts;
}

ValueId ManyRegion::parameter(Type type) {
  parameters_.push_back({body_.ir().newValue(), type});
  return parameters_.back().id;
}

ValueId ManyRegion::parameter(ValueId old, Layout layout) {
  ManyModule& module = body_.module();
  const Type type = module.typeOf(old);
  if (layout != Layout::listed) module.addUniform(type);
  // Sizes keep the names by which operations of the body call them.
  parameters_.push_back({module.idFor(old), layout == Layout::shared    ? type
                                            : layout == Layout::batched ? body_.batchedType(type)
                                                                        : Type()});
  body_.hold(old, {layout, parameters_.back().id});
  return parameters_.back().id;
}

const Function* ManyRegion::finish(std::string_view name) {
  Function function;
  function.name = body_.ir().uniqueFunctionName(name);
  function.place = of_.place;
  function.parameters = std::move(parameters_);
  function.results = std::move(results_);
  function.resultTypes.resize(function.results.size());
  function.ops = body_.takeOps();
  return body_.ir().own(std::move(function));
}

}  // namespace dyn::passes
