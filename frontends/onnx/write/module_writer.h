// The walk over a module that is being written: functions in functions are frames on a stack of its own,
// never calls. Internal to model_writer.cpp and module_writer.cpp.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/write/model_writer.h"
#include "frontends/onnx/write/node_writer.h"
#include "frontends/onnx/write/scope.h"

namespace dyn::onnx {

class ModuleWriter {
 public:
  ModuleWriter(const Module& module, const SaveOptions& options);
  void run();
  ModelParts& parts() { return parts_; }
  const GraphMessage& graph() const { return graph_; }

 private:
  struct Frame {
    enum class Kind : uint8_t { main, inlined, body };
    Kind kind = Kind::main;
    const Function* function = nullptr;
    const Op* owner = nullptr;  // of inlined functions and bodies
    size_t next = 0;
    Scope* scope = nullptr;
    std::unique_ptr<Scope> ownScope;
    std::unique_ptr<GraphMessage> ownGraph;
    std::vector<std::string> bodies;  // of the `if` or `loop` at hand: messages so far
  };

  void learnTypes(const Module& module);
  void openMain();
  void closeMain(Frame& frame);
  void step(const Op& op);
  void stepWalker(const Op& op);
  void openGroup(const Op& op);  // fused, into
  void openCall(const Op& op);
  void closeInlined();
  void openBody(const Op& op, size_t region);
  void closeBody();
  void finishControl(const Op& op);
  void bindDims(const Op& op);
  void bindResults(const Op& op, const std::vector<std::string>& names);
  void bind(Scope& scope, ValueId id, Bound bound, Type type);
  void addInput(GraphMessage& graph, const std::string& name, Type type, ValueId id);
  std::vector<std::string> resultNames(const Op& op);
  // The tensor of a value where `owner` asks for it; "" after a problem.
  std::string tensorOf(Scope& scope, ValueId id, const Op* owner);
  std::string copied(GraphMessage& graph, const std::string& tensor, const std::string& name);

  const Module& module_;
  const SaveOptions& options_;
  ModelParts parts_;
  GraphMessage graph_;
  std::vector<Frame> frames_;
  std::unordered_map<ValueId, std::string> wanted_;   // names that results are to have
  std::unordered_map<ValueId, std::string> outputs_;  // of results of @main that its operations make
};

}  // namespace dyn::onnx
