// Demands on values of operators that are made of several: sequence lengths, window and frame sizes, axes,
// lengths of scan inputs. Each is broken here with a value that is known when the model is read, and with one
// that is an input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/infer/infer.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/import/importer.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx::test {
namespace {

using ::testing::HasSubstr;

Msg withFields(Msg m, const Msg& more) {
  m.bytes += more.bytes;
  return m;
}
Msg integer(std::string_view name, int64_t value) {
  return Msg().sub(5, Msg().sub(1, name).num(20, 2).num(3, value));
}

struct Input {
  const char* name;
  int32_t type;  // of TensorProto
  std::vector<int64_t> shape;
  std::vector<double> values;
};

struct Demand {
  const char* says;
  Msg node;
  int64_t opset;
  std::vector<Input> inputs;  // the first is the one under test
  std::vector<double> illegal;
};

Dtype dtypeOf(int32_t type) { return type == 1 ? Dtype::f32 : type == 6 ? Dtype::i32 : Dtype::i64; }

HostTensor tensorOf(const Input& input, const std::vector<double>& values) {
  HostTensor tensor = *HostTensor::create(dtypeOf(input.type), input.shape);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double value = values.empty() ? 0.5 : values[static_cast<size_t>(i) % values.size()];
    if (isReal(tensor.dtype()))
      tensor.setReal(i, value);
    else
      tensor.setInt(i, static_cast<int64_t>(value));
  }
  return tensor;
}

// What is wrong with a run; "" when nothing is. `fixed`: the first input is known when the model is read.
std::string demandFaultOf(const Demand& demand, const std::vector<double>& values, bool fixed) {
  Msg graph = Msg().sub(1, demand.node).sub(2, "g");
  for (const Input& input : demand.inputs) {
    Msg shape;
    for (int64_t size : input.shape) shape.sub(1, Msg().num(1, size));
    graph.sub(11, valueInfo(input.name, Msg().sub(1, Msg().num(1, input.type).sub(2, shape))));
  }
  graph.sub(12, Msg().sub(1, "y"));
  const std::string bytes = Msg().num(1, 8).sub(8, Msg().num(2, demand.opset)).sub(7, graph).bytes;
  std::vector<Value> inputs;
  ImportOptions options;
  for (size_t i = 0; i < demand.inputs.size(); ++i) {
    HostTensor tensor = tensorOf(demand.inputs[i], i == 0 ? values : demand.inputs[i].values);
    if (i == 0 && fixed)
      options.fixedInputs[demand.inputs[i].name] = std::move(tensor);
    else
      inputs.emplace_back(std::move(tensor));
  }
  IrContext ir;
  Result<ImportResult> imported = importModel(ir, MappedFile::fromBytes(bytes, "m.onnx"), options);
  if (!imported.ok()) return imported.error().toString();
  Result<InferredModule> typed = inferTypes(imported->module);
  if (!typed.ok()) return typed.error().toString();
  Result<std::vector<Value>> results = interpret(typed->module, std::move(inputs));
  return results.ok() ? "" : results.error().toString();
}

const std::vector<Demand>& demands() {
  static const std::vector<Demand> rows = [] {
    const Input x{"x", 1, {4, 2, 3}, {}}, w{"w", 1, {1, 20, 3}, {}}, r{"r", 1, {1, 20, 5}, {}};
    const Input signal{"x", 1, {1, 16, 1}, {}};
    std::vector<Demand> all;
    const Msg lstm = withFields(node("LSTM", {"x", "w", "r", "", "l"}, {"y"}), integer("hidden_size", 5));
    for (double wrong : {5.0, -1.0})
      all.push_back({"sequence_lens", lstm, 17, {{"l", 6, {2}, {4, 2}}, x, w, r}, {4, wrong}});
    for (const char* op : {"HannWindow", "HammingWindow", "BlackmanWindow"})
      all.push_back({"size", node(op, {"n"}, {"y"}), 17, {{"n", 7, {}, {6}}}, {-1}});
    for (double wrong : {0.0, -2.0})
      all.push_back({"frame_step",
                     node("STFT", {"x", "s", "", "f"}, {"y"}),
                     17,
                     {{"s", 7, {}, {2}}, signal, {"f", 7, {}, {4}}},
                     {wrong}});
    for (double wrong : {0.0, -4.0, 17.0})
      all.push_back({"frame_length",
                     node("STFT", {"x", "s", "", "f"}, {"y"}),
                     17,
                     {{"f", 7, {}, {4}}, signal, {"s", 7, {}, {2}}},
                     {wrong}});
    all.push_back({"dft_length",
                   node("MelWeightMatrix", {"a", "f", "r", "l", "h"}, {"y"}),
                   17,
                   {{"f", 7, {}, {16}},
                    {"a", 7, {}, {4}},
                    {"r", 7, {}, {8000}},
                    {"l", 1, {}, {0}},
                    {"h", 1, {}, {4000}}},
                   {-1}});
    return all;
  }();
  return rows;
}

TEST(ValueDemands, AreRefusedWhereverTheValueComesFrom) {
  for (const Demand& demand : demands()) {
    SCOPED_TRACE(std::string(demand.says) + " is " + std::to_string(demand.illegal.back()));
    for (bool fixed : {false, true}) {
      EXPECT_EQ(demandFaultOf(demand, demand.inputs[0].values, fixed), "");
      EXPECT_THAT(demandFaultOf(demand, demand.illegal, fixed), HasSubstr(demand.says))
          << (fixed ? "known" : "an input");
    }
  }
}

TEST(ValueDemands, AxesOutsideTheRank) {
  struct Row {
    const char* op;
    int64_t opset, axis;
    bool legal;
  };
  for (const Row& row :
       {Row{"Flatten", 17, 3, true}, Row{"Flatten", 17, -3, true}, Row{"Flatten", 17, 4, false},
        Row{"Flatten", 17, -4, false}, Row{"Softmax", 11, 2, true}, Row{"Softmax", 11, 3, false},
        Row{"Softmax", 11, -4, false}, Row{"Softmax", 17, 3, false}, Row{"LogSoftmax", 11, 3, false},
        Row{"Hardmax", 11, -4, false}}) {
    SCOPED_TRACE(std::string(row.op) + " " + std::to_string(row.axis));
    const Demand demand{"axis",
                        withFields(node(row.op, {"x"}, {"y"}), integer("axis", row.axis)),
                        row.opset,
                        {{"x", 1, {2, 3, 4}, {}}},
                        {}};
    EXPECT_EQ(demandFaultOf(demand, {}, false) == "", row.legal) << demandFaultOf(demand, {}, false);
  }
}

TEST(ValueDemands, ScanInputsAreOfOneLength) {
  Msg body = Msg().sub(1, node("Add", {"a", "b"}, {"s"})).sub(2, "body");
  for (const char* name : {"a", "b"}) body.sub(11, valueInfo(name, tensorType(1, {"2"})));
  body.sub(12, valueInfo("s", tensorType(1, {"2"})));
  const Msg scan = withFields(withFields(node("Scan", {"x", "z"}, {"y"}), integer("num_scan_inputs", 2)),
                              Msg().sub(5, Msg().sub(1, "body").num(20, 5).sub(6, body)));
  for (int64_t other : {3, 4, 2}) {
    const Demand demand{"scan input 1", scan, 17, {{"x", 1, {3, 2}, {}}, {"z", 1, {other, 2}, {}}}, {}};
    EXPECT_EQ(demandFaultOf(demand, {}, false) == "", other == 3)
        << other << ": " << demandFaultOf(demand, {}, false);
  }
}

}  // namespace
}  // namespace dyn::onnx::test
