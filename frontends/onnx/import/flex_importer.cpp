// FlexAttention: attention whose scores and probabilities are changed by bodies of the node, which are expanded where they apply.
#include "frontends/onnx/import/graph_importer.h"
#include "frontends/onnx/map/attention_map.h"

namespace dyn::onnx {

using FlexStage = ControlNode::FlexStage;

std::vector<Text> GraphImporter::openFlex(ControlNode& control) {
  std::vector<Text> bodies;
  const auto take = [&](Text name, FlexStage stage) {
    if (control.node->attribute(name) == nullptr) return;
    bodies.push_back(name);
    control.flexBodies.push_back(stage);
  };
  take("score_mod", FlexStage::scores);
  take("prob_mod", FlexStage::probabilities);
  return bodies;
}

// Brings the value from its stage to a later one.
void GraphImporter::advanceFlex(Frame& frame, ControlNode& control, FlexStage to) {
  if (control.failed || control.flexStage >= to) return;
  const NodeProto& node = *control.node;
  MapContext c(ir_, values_, *frame.builder, tensors_, node, versionOf(frame, node).value_or(1),
               control.place, frame.environment->function ? &frame.environment->attributes : nullptr,
               control.inputs, this);
  AttentionMap a{c};
  a.q = c.input(0);
  a.k = c.input(1);
  a.v = c.input(2);
  const Dtype dtype = c.dtypeOr(a.q, Dtype::f32);
  ValueId& value = control.flexValue;
  if (control.flexStage == FlexStage::inputs) {
    const std::optional<Dtype> given = c.dtype("softmax_precision");
    const Dtype precision = given.value_or(dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32);
    a.scaleOperands();
    value = castTo(c, a.products(), precision);
    control.flexStage = FlexStage::scores;
  }
  if (control.flexStage == FlexStage::scores && to > FlexStage::scores) {
    value = c.emit("softmax", {value}, {{"axis", int64_t{-1}}});
    control.flexStage = FlexStage::probabilities;
  }
  if (to == FlexStage::result) value = a.weighted(castTo(c, value, dtype));
  control.flexStage = to;
  if (!c.failed()) return;
  report(c.failure(), control.place, node.opType);
  control.failed = true;
}

void GraphImporter::bindFlexInput(Frame& body, ControlNode& control) {
  const size_t index = control.next - 1;
  Frame& frame = frames_[frames_.size() - 2];
  advanceFlex(frame, control, control.flexBodies[index]);
  if (body.graph->inputs.size() != 1 || body.graph->outputs.size() != 1) {
    report(DiagnosticId::badOperands, "a body of FlexAttention has one input and one output", control.place,
           control.node->opType);
    control.failed = true;
  }
  Binding binding;
  binding.value = control.flexValue;
  if (control.failed) binding.kind = Binding::Kind::failed;
  for (const ValueInfoProto& input : body.graph->inputs) define(body, input.name, binding, control.place);
}

void GraphImporter::finishFlex(Frame& frame, ControlNode& control) {
  advanceFlex(frame, control, FlexStage::result);
  if (control.failed) return bindFailed(frame, *control.node);
  bindOutput(frame, *control.node, 0, control.flexValue);
}

}  // namespace dyn::onnx
