// The importer's work list: graphs in graphs are frames on a stack of its own, never calls.
#pragma once

#include <deque>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/onnx/emit/function_builder.h"
#include "frontends/onnx/emit/tensor_loader.h"
#include "frontends/onnx/emit/type_importer.h"
#include "frontends/onnx/emit/type_probe.h"
#include "frontends/onnx/import/graph_order.h"
#include "frontends/onnx/import/importer.h"
#include "frontends/onnx/import/written_graph.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {

// As messages and definitions name an operator: "com.acme::Swish", "Gelu".
std::string opLabel(const NodeProto& node);

// A weight: where it is, the tensor once loaded, and its constant in each function that uses it.
struct WeightBinding {
  const TensorProto* dense = nullptr;
  const SparseTensorProto* sparse = nullptr;
  std::optional<HostTensor> tensor;
  std::vector<std::pair<uint32_t, ValueId>> constants;
};

// What a name of the file stands for: small, since a graph of a million nodes has as many.
struct Binding {
  // absent: an output that its operator does not give, which is a fault once it is read.
  enum class Kind : uint8_t { value, weight, leftOut, absent, failed };
  Kind kind = Kind::value;
  ValueId value = kNoValue;
  std::shared_ptr<WeightBinding> weight;  // of a weight
  const NodeProto* node = nullptr;        // of an absent output: whose it is
  uint32_t output = 0;
};

struct NameScope {
  NameScope* outer = nullptr;  // null for the model's graph and the bodies of functions
  // Of the names, given back as a whole: between operations, which stay, they would leave holes.
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<Text, Binding> names{&memory};
  std::unordered_map<Text, Binding*>
      around;  // names of outer scopes that were looked up from here or further in
};

// What holds for the nodes of one function of the file (or of the model's graph) and all graphs inside of
// them.
struct FunctionEnvironment {
  const FunctionProto* function = nullptr;
  std::shared_ptr<const FunctionEnvironment> caller;
  std::unordered_map<std::string, int64_t> opsets;  // by domain
  AttributeEnvironment attributes;
  std::string path;  // "caller node / "
};

// An If, Loop, Scan, SequenceMap or FlexAttention whose bodies are being imported.
struct ControlNode {
  enum class Kind : uint8_t { branch, loop, scan, sequenceMap, flexAttention };
  struct Body {
    std::unique_ptr<FunctionBuilder> builder;
    std::vector<ValueId> results;
  };
  Kind kind = Kind::branch;
  const NodeProto* node = nullptr;
  SourceLocation place;
  std::vector<ValueId> inputs;
  std::vector<const GraphProto*> graphs;
  size_t next = 0;
  bool failed = false;
  CaptureList captures;
  std::vector<Body> bodies;
  // Scan
  size_t stateCount = 0;
  std::vector<int64_t> inputAxes, inputDirections, outputAxes, outputDirections;
  // FlexAttention: how far it has come, and the scores or probabilities there.
  enum class FlexStage : uint8_t { inputs, scores, probabilities, result };
  FlexStage flexStage = FlexStage::inputs;
  ValueId flexValue = kNoValue;
  std::vector<FlexStage> flexBodies;  // what each body changes
};

struct Frame {
  enum class Kind : uint8_t { main, function, body };
  Kind kind = Kind::main;
  FunctionBuilder* builder = nullptr;
  std::unique_ptr<FunctionBuilder> ownBuilder;  // of a body
  NameScope scope;
  std::shared_ptr<const FunctionEnvironment> environment;
  std::span<const NodeProto> nodes;
  const GraphProto* graph = nullptr;    // null for functions
  const NodeProto* callNode = nullptr;  // of a function
  std::vector<uint32_t> order;
  size_t next = 0;
  std::unique_ptr<ControlNode> control;
};

class GraphImporter : private TypeProbe {
 public:
  GraphImporter(IrContext& ir, const Model& model, const ImportOptions& options);
  ImportResult run();

 private:
  // graph_importer.cpp
  void openMain();
  void addInitializers(Frame& frame, const GraphProto& graph);
  void addWeight(Frame& frame, Text name, WeightBinding weight, Text bytes);
  void addDefault(Binding& binding, const ValueInfoProto& input, const SourceLocation& place);
  // An input that is a map: two parameters, its keys and its values.
  void openMap(Frame& frame, const ValueInfoProto& input, const SourceLocation& place);
  void orderFrame(Frame& frame);
  void step(Frame& frame, const NodeProto& node);
  // False, and reported: the node has a fault.
  bool hasForm(Frame& frame, const NodeProto& node, std::optional<Diagnostic> fault);
  void mapNode(Frame& frame, const NodeProto& node, const MapRow& row, int64_t version);
  // `seesAround`: the function's nodes may use the names of the graph around the call.
  void openFunction(Frame& frame, const NodeProto& node, const FunctionProto& function,
                    bool seesAround = false);
  // GreedySearch, BeamSearch, and Scan of operator set 8.
  void openSearch(Frame& frame, const NodeProto& node);
  void openBatchedScan(Frame& frame, const NodeProto& node);
  // Nodes in place of this one, which use the operators that `steps` gives.
  void openWritten(Frame& frame, const NodeProto& node, Result<std::shared_ptr<WrittenGraph>> graph,
                   std::string_view stepName, Result<text::OperatorFile> (*steps)());
  std::vector<OperatorSetId> opsetsOf(const Frame& frame) const;
  void closeFunction();
  std::vector<std::string> outputNames() const;
  void closeMain();
  const FunctionProto* findFunction(const NodeProto& node) const;
  std::optional<int64_t> versionOf(Frame& frame, const NodeProto& node);

  // user_operators.cpp
  bool definesOperator(const NodeProto& node) const;
  void expandOperator(Frame& frame, const NodeProto& node);
  MapContext contextOf(Frame& frame, const NodeProto& node, std::vector<ValueId> inputs, int64_t version,
                       const SourceLocation& place);
  std::optional<text::OperatorBody> expansionOf(MapContext& node, const text::OperatorFile& file,
                                                const text::OperatorDefinition& definition);
  void addFunctionsOf(const text::OperatorFile& file, const SourceLocation& place);
  Module moduleOf(const Function* main) const;

  // type_probe.cpp
  void learn() override;

  // graph_names.cpp
  bool define(Frame& frame, Text name, Binding binding, const SourceLocation& place);
  void bindOutput(Frame& frame, const NodeProto& node, size_t index, ValueId value);
  void bindFailed(Frame& frame, const NodeProto& node);
  // nullopt: failed, and reported already.
  Binding* find(Frame& frame, Text name);
  std::optional<ValueId> resolve(Frame& frame, Text name, const SourceLocation& place, Text op);
  std::optional<std::vector<ValueId>> resolveInputs(Frame& frame, const NodeProto& node);
  std::optional<ValueId> weight(Frame& frame, Binding& binding, Text name, const SourceLocation& place);
  SourceLocation placeOf(const Frame& frame, const NodeProto& node) const;
  void report(Diagnostic diagnostic, const SourceLocation& place, Text op);
  void report(DiagnosticId id, std::string message, const SourceLocation& place, Text op = {},
              std::string advice = "");
  void warn(std::string message, const SourceLocation& place);

  // control_importer.cpp
  void openControl(Frame& frame, const NodeProto& node);
  void openBody(Frame& frame);
  void bindBodyInputs(Frame& body, ControlNode& control);
  void bindLoopInputs(Frame& body, ControlNode& control);
  void bindScanInputs(Frame& body, ControlNode& control);
  void bindMapInputs(Frame& body, ControlNode& control);
  void prepareScan(ControlNode& control);
  void closeBody();
  void closeControl(Frame& frame);
  void finishBranch(Frame& frame, ControlNode& control);
  void finishLoop(Frame& frame, ControlNode& control);
  std::vector<ValueId> emitLoop(Frame& frame, ControlNode& control, ValueId trip, ValueId condition,
                                const std::vector<ValueId>& carried, size_t stackedCount);
  void finishScan(Frame& frame, ControlNode& control);
  ValueId scanLength(Frame& frame, const ControlNode& control, size_t k);
  void requireSameLengths(Frame& frame, const ControlNode& control, ValueId trip);
  void finishMap(Frame& frame, ControlNode& control);

  // flex_importer.cpp
  std::vector<Text> openFlex(ControlNode& control);
  void bindFlexInput(Frame& body, ControlNode& control);
  void advanceFlex(Frame& frame, ControlNode& control, ControlNode::FlexStage to);
  void finishFlex(Frame& frame, ControlNode& control);
  ValueId emit(Frame& frame, std::string_view op, std::vector<ValueId> operands, Attributes attributes,
               const SourceLocation& place);

  IrContext& ir_;
  const Model& model_;
  const ImportOptions& options_;
  TensorLoader tensors_;
  TypeImporter types_;
  ValueTable values_;
  FreeNames freeNames_;
  ImportResult result_;
  FunctionBuilder main_;
  std::deque<Frame> frames_;
  std::unordered_map<std::string, std::vector<const FunctionProto*>> functions_;  // by "domain:name"
  std::unordered_set<std::string> reportedOnce_;
  std::vector<std::shared_ptr<const text::OperatorFile>> operators_;  // the user's, and Dyn's own
  std::vector<std::shared_ptr<WrittenGraph>> written_;                // by the importer itself
  // What the bodies of the user's operators refer to: functions and data types of the module.
  std::unordered_set<const text::OperatorFile*> usedFiles_;
  std::vector<const Function*> userFunctions_;
  std::vector<std::shared_ptr<const DataType>> userTypes_;
  size_t hiddenProblems_ = 0;
  uint64_t nodeCount_ = 0;
  bool stopped_ = false;
  // type_probe.cpp: what is known of the values from firstValue_ on, and the node at which that was asked.
  uint32_t firstValue_ = 0;
  std::vector<KnownType> known_;
  uint64_t learntAt_ = 0;
  int probesLeft_ = kMaxTypeProbes;
  bool isProbe_ = false;
  uint64_t stopAt_ = 0;  // of a probe: the node before which it stops
};

}  // namespace dyn::onnx
