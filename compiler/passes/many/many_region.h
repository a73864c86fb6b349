// Bodies of branches and loops over many instances.
#pragma once

#include "compiler/passes/many/many_body.h"

namespace dyn::passes {

// How the results of a body are held where its parameters are held so. Nothing is kept of the walk.
std::vector<Layout> resultLayouts(ManyModule& module, const Function& body,
                                  const std::vector<Layout>& parameters);

// A function in the making: parameters that stand for operands of the operation around it.
class ManyRegion {
 public:
  ManyRegion(ManyModule& module, const Function& of) : body_(module, Dim()), of_(of) {}

  ManyBody& body() { return body_; }
  OpMaker& make() { return body_.make(); }
  ValueId parameter(Type type = {});
  // The parameter `old` of the body of one instance.
  ValueId parameter(ValueId old, Layout layout);
  void translate() { body_.translate(of_); }
  void result(ValueId v) { results_.push_back(v); }
  const Function* finish(std::string_view name);

 private:
  ManyBody body_;
  const Function& of_;
  std::vector<Parameter> parameters_;
  std::vector<ValueId> results_;
};

}  // namespace dyn::passes
