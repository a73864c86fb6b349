#include "app/engine/serving/joined_calls.h"

#include <algorithm>
#include <cstring>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/inputs/padded_sequences.h"
#include "compiler/pass/pipeline.h"
#include "compiler/passes/analysis/batch_independence.h"
#include "compiler/passes/pass_table.h"

namespace dyn {

namespace {

using Sizes = std::vector<int64_t>;

// Copies the box of `extents` elements at `from` in `source` to the place `to` in `target`, which has room.
struct Box {
  Sizes from, to, extents;
};
void copyBox(const HostTensor& source, HostTensor& target, const Box& box) {
  const auto width = static_cast<size_t>(storageBytes(source.dtype()));
  std::byte* out = target.mutableData();
  const std::byte* in = source.data();
  if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) return;
  if (box.extents.empty()) {
    std::memcpy(out, in, width);
    return;
  }
  const size_t last = box.extents.size() - 1;
  auto offset = [&](const Sizes& shape, const Sizes& origin, const Sizes& index) {
    int64_t flat = 0;
    for (size_t axis = 0; axis <= last; ++axis) flat = flat * shape[axis] + origin[axis] + index[axis];
    return static_cast<size_t>(flat) * width;
  };
  Sizes index(box.extents.size(), 0);  // of rows along the last axis, which stays 0
  for (;;) {
    std::memcpy(out + offset(target.shape(), box.to, index), in + offset(source.shape(), box.from, index),
                static_cast<size_t>(box.extents[last]) * width);
    size_t axis = last;
    while (axis > 0 && ++index[axis - 1] == box.extents[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// Where `dim` alone is the size of an axis of a tensor.
struct JoinedDimPlace {
  std::optional<size_t> axis;
  bool elsewhere = false;  // it is part of another size, or of two
};
JoinedDimPlace placeOf(Dim dim, Type type) {
  JoinedDimPlace place;
  if (!dim || !type || type.kind() != TypeKind::tensor) return place;
  for (size_t axis = 0; axis < type.dims().size(); ++axis) {
    const Dim size = type.dims()[axis];
    const std::vector<SymbolId> symbols = symbolsOf(size);
    if (std::find(symbols.begin(), symbols.end(), dim.symbol()) == symbols.end()) continue;
    if (size != dim || place.axis) place.elsewhere = true;
    place.axis = axis;
  }
  return place;
}

Error unsupported(const std::string& why) {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: calls of this model cannot be joined: " + why);
}

// Puts the calls behind each other along a batch whose rows stay apart.
class JointMaker {
 public:
  JointMaker(const Module& module, const Signature& signature)
      : module_(module), dims_(module.context->dims()), signature_(signature) {}

  // Of a program of many instances: these stay apart by how it is made.
  Result<CallJoint> ofInstances(const std::vector<bool>& instanceInputs) const {
    DYN_CHECK(looksPlain());
    const Function& main = *module_.main();
    CallJoint joint;
    for (size_t i = 0; i < main.parameters.size(); ++i) {
      joint.inputs.emplace_back();
      if (!instanceInputs[i]) continue;
      joint.inputs.back().batch = 0;
      joint.batch = main.parameters[i].type.dims()[0].toString();
    }
    joint.outputs.resize(main.results.size());
    for (CallJoint::Axes& axes : joint.outputs) axes.batch = 0;
    return joint;
  }

  Result<CallJoint> make(const std::string& lengths, const std::string& sequence) {
    DYN_CHECK(looksPlain());
    DYN_TRY(const InferredModule inferred, inferTypes(module_));
    DYN_TRY(CallJoint joint, alongBatch(inferred, lengths));
    if (!lengths.empty() && !sequence.empty() && sequence != joint.batch && dims_.hasSymbol(sequence))
      alongSequence(dims_.symbol(sequence), joint);
    return joint;
  }

 private:
  Status looksPlain() const {
    const Function& main = *module_.main();
    for (const std::vector<Port>* ports : {&signature_.inputs, &signature_.outputs})
      for (const Port& port : *ports) {
        if (port.info.kind != "tensor") return unsupported(port.info.name + " is not a tensor");
        if (dtypeClass(port.dtype) == DtypeClass::text) return unsupported(port.info.name + " holds strings");
        if (!port.length.empty()) return unsupported(port.info.name + " is ragged");
      }
    if (signature_.inputs.size() != main.parameters.size() ||
        signature_.outputs.size() != main.resultTypes.size())
      return unsupported("its inputs are not those of its program");
    return {};
  }

  // The dims that are the size of an input's axis; that of the lengths' first axis before all.
  std::vector<Dim> candidates(const std::string& lengths) const {
    std::vector<Dim> found;
    auto add = [&](Dim dim) {
      if (dim.isSymbol() && std::find(found.begin(), found.end(), dim) == found.end()) found.push_back(dim);
    };
    const Function& main = *module_.main();
    for (size_t i = 0; i < signature_.inputs.size(); ++i)
      if (signature_.inputs[i].info.name == lengths) add(main.parameters[i].type.dims()[0]);
    for (const bool first : {true, false})
      for (const Parameter& parameter : main.parameters)
        for (size_t axis = 0; axis < parameter.type.dims().size(); ++axis)
          if ((axis == 0) == first) add(parameter.type.dims()[axis]);
    return found;
  }

  Result<CallJoint> alongBatch(const InferredModule& inferred, const std::string& lengths) const {
    std::string firstReason;
    for (const Dim dim : candidates(lengths)) {
      const passes::BatchIndependence apart = passes::batchIndependence(
          inferred, dim.symbol(), passes::RowsInBodies::looked, passes::RowNumbers::changed);
      std::string why = apart.whyNot;
      for (size_t i = 0; why.empty() && i < apart.results.size(); ++i)
        if (!apart.results[i])
          why = "result " + signature_.outputs[i].info.name + " has no axis of " + dim.toString();
      if (!why.empty()) {
        if (firstReason.empty()) firstReason = "along " + dim.toString() + ": " + why;
        continue;
      }
      CallJoint joint;
      joint.batch = dim.toString();
      DimBinding oneRow;
      oneRow.set(dim, 1);
      auto axes = [&](const std::vector<std::optional<passes::RowAxis>>& rows) {
        std::vector<CallJoint::Axes> all;
        for (const std::optional<passes::RowAxis>& row : rows) {
          all.emplace_back();
          if (!row) continue;
          all.back().batch = static_cast<size_t>(row->axis);
          const Result<int64_t> perRow = evaluate(row->extent, oneRow);
          all.back().perRow = perRow.ok() ? *perRow : 0;
        }
        return all;
      };
      joint.inputs = axes(apart.parameters);
      joint.outputs = axes(apart.results);
      return joint;
    }
    return unsupported(firstReason.empty() ? "no input has an open size" : firstReason);
  }

  // Where each tensor of the batch that has the sequence has it as an axis of its own; else nothing changes.
  void alongSequence(Dim sequence, CallJoint& joint) const {
    const Function& main = *module_.main();
    std::vector<CallJoint::Axes> inputs = joint.inputs, outputs = joint.outputs;
    auto fill = [&](Type type, CallJoint::Axes& axes) {
      const JoinedDimPlace place = placeOf(sequence, type);
      axes.sequence = place.axis;
      return !place.elsewhere && (!place.axis || (axes.batch && axes.batch != place.axis));
    };
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!fill(main.parameters[i].type, inputs[i])) return;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!fill(main.resultTypes[i], outputs[i])) return;
    joint.inputs = std::move(inputs);
    joint.outputs = std::move(outputs);
    joint.sequence = sequence.toString();
  }

  const Module& module_;
  DimContext& dims_;
  const Signature& signature_;
};

bool mayShare(const HostTensor& one, const HostTensor& other) {
  return one.bytes() == other.bytes() ? one.shape() == other.shape() : one.identical(other);
}

int64_t dimOf(const CallInputs& call, const std::string& dim) {
  const auto found = call.dims.find(dim);
  return found == call.dims.end() ? 0 : found->second;
}

// The module with the sum in the dim's place.
Module withSum(const Module& module, const DimSum& sum) {
  DimContext& dims = module.context->dims();
  Dim total = dims.constant(0);
  for (const std::string& term : sum.terms) {
    if (!dims.hasSymbol(term)) return module;
    total = total + dims.symbol(term);
  }
  if (!dims.hasSymbol(sum.dim)) return module;
  const SymbolId replaced = dims.symbol(sum.dim).symbol();
  return substituteDims(module, [&](SymbolId symbol) { return symbol == replaced ? total : Dim(); });
}

}  // namespace

Result<CallJoint> callJoint(LoadedModel& model, const std::string& lengths, const std::string& sequence,
                            const std::optional<DimSum>& sum) {
  if (!model.hasModule()) return unsupported("a package does not contain the definitions of its kernels");
  DYN_CHECK(model.ensurePasses());
  if (!model.instanceInputs().empty())
    return JointMaker(model.typed(), model.signature()).ofInstances(model.instanceInputs());
  // What exporters write around rows, such as masks looked up by running numbers, is plain after these.
  ScratchProgram program(model.typed());
  ScratchCopy& copy = program.copy();
  DYN_TRY(const Pipeline pipeline, parsePipeline("infer,fold,simplify,cse,dce", passTable(), {}));
  Trace trace;
  const Module module = sum ? withSum(copy.module, *sum) : copy.module;
  DYN_TRY(const Module simple, runPipeline(module, pipeline, trace));
  return JointMaker(simple, model.signature()).make(lengths, sequence);
}

void CallJoint::onlyEqualSizes() {
  sequence.clear();
  for (std::vector<Axes>* all : {&inputs, &outputs})
    for (Axes& axes : *all) axes.sequence.reset();
}

SequenceLengths sequenceLengthsOf(const Signature& signature, const std::vector<std::string>& given) {
  SequenceLengths found;
  for (const Port& port : signature.inputs) {
    const bool says = std::any_of(signature.inputs.begin(), signature.inputs.end(), [&](const Port& input) {
      return sequencesBy(input, port, LengthsKnown::nothing).has_value();
    });
    if (!says || std::find(given.begin(), given.end(), port.info.name) != given.end()) continue;
    if (found.port) return {};
    found.port = port;
  }
  if (!found.port) return found;
  // What lengths would make of one sequence names the dims.
  const Result<LengthsOfCall> call = lengthsOfCall(signature, BatchLengths{found.port->info.name, {1}}, {});
  if (!call.ok()) return {};
  for (const DimSpec& dim : call->dims)
    if (dim.name != found.port->info.shape[0]) found.sequence = dim.name;
  return found;
}

std::optional<DimValues> dimsOfCall(const CallJoint& joint, const Signature& signature,
                                    const std::vector<Value>& values) {
  DimValues dims;
  const auto agrees = [&](const std::string& dim, int64_t size) {
    return dims.try_emplace(dim, size).first->second == size;
  };
  if (values.size() != joint.inputs.size()) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i) {
    const Port& port = signature.inputs[i];
    if (!values[i].isTensor() || values[i].tensor().dtype() != port.dtype) return std::nullopt;
    const Sizes& shape = values[i].tensor().shape();
    if (port.rankIsOpen || shape.size() != port.info.shape.size()) return std::nullopt;
    const CallJoint::Axes& axes = joint.inputs[i];
    if (axes.batch) {
      const int64_t size = shape[*axes.batch];
      if (axes.perRow < 1 || size % axes.perRow != 0) return std::nullopt;
      if (!agrees(joint.batch, size / axes.perRow)) return std::nullopt;
    }
    if (axes.sequence && !agrees(joint.sequence, shape[*axes.sequence])) return std::nullopt;
  }
  return dims;
}

void JoinedGroup::add(const CallInputs& call) {
  const JoinedPositions after = positionsWith(call);
  own_ = after.own;
  rows_ += dimOf(call, joint_.batch);
  longest_ = std::max(longest_, joint_.sequence.empty() ? 1 : dimOf(call, joint_.sequence));
  calls_.push_back(&call);
}

JoinedPositions JoinedGroup::positionsWith(const CallInputs& next) const {
  const int64_t batch = dimOf(next, joint_.batch),
                length = joint_.sequence.empty() ? 1 : dimOf(next, joint_.sequence);
  return {own_ + batch * length, (rows_ + batch) * std::max(longest_, length)};
}

int64_t JoinedGroup::rowsWith(const CallInputs& next) const { return rows_ + dimOf(next, joint_.batch); }

bool mayJoin(const CallJoint& joint, const CallInputs& first, const CallInputs& second) {
  if (!first.overrides.empty() || !second.overrides.empty()) return false;
  for (size_t i = 0; i < joint.inputs.size(); ++i) {
    const HostTensor &a = first.values[i].tensor(), &b = second.values[i].tensor();
    const CallJoint::Axes& axes = joint.inputs[i];
    if (!axes.batch) {
      if (!mayShare(a, b)) return false;
      continue;
    }
    if (a.dtype() != b.dtype() || a.rank() != b.rank()) return false;
    for (size_t axis = 0; axis < a.shape().size(); ++axis)
      if (axis != axes.batch && axis != axes.sequence && a.shape()[axis] != b.shape()[axis]) return false;
  }
  return true;
}

std::vector<std::vector<int64_t>> joinedShapes(const CallJoint& joint,
                                               const std::vector<const CallInputs*>& calls) {
  int64_t longest = 0;
  for (const CallInputs* call : calls) longest = std::max(longest, dimOf(*call, joint.sequence));
  std::vector<Sizes> shapes;
  for (size_t i = 0; i < joint.inputs.size(); ++i) {
    const CallJoint::Axes& axes = joint.inputs[i];
    Sizes& shape = shapes.emplace_back(calls[0]->values[i].tensor().shape());
    if (axes.sequence) shape[*axes.sequence] = longest;
    if (!axes.batch) continue;
    shape[*axes.batch] = 0;
    for (const CallInputs* call : calls) shape[*axes.batch] += call->values[i].tensor().shape()[*axes.batch];
  }
  return shapes;
}

Result<CallInputs> joined(const CallJoint& joint, const std::vector<const CallInputs*>& calls) {
  CallInputs all;
  all.dims = calls[0]->dims;
  int64_t rows = 0, longest = 0;
  for (const CallInputs* call : calls) {
    rows += dimOf(*call, joint.batch);
    longest = std::max(longest, dimOf(*call, joint.sequence));
  }
  all.dims[joint.batch] = rows;
  if (!joint.sequence.empty()) all.dims[joint.sequence] = longest;
  std::vector<Sizes> shapes = joinedShapes(joint, calls);
  for (size_t i = 0; i < joint.inputs.size(); ++i) {
    const CallJoint::Axes& axes = joint.inputs[i];
    const HostTensor& first = calls[0]->values[i].tensor();
    if (!axes.batch) {
      all.values.emplace_back(first);
      continue;
    }
    Sizes from(shapes[i].size(), 0), to = from;
    DYN_TRY(HostTensor value, HostTensor::create(first.dtype(), std::move(shapes[i])));
    for (const CallInputs* call : calls) {
      const HostTensor& part = call->values[i].tensor();
      copyBox(part, value, {from, to, part.shape()});
      to[*axes.batch] += part.shape()[*axes.batch];
    }
    all.values.emplace_back(std::move(value));
  }
  return all;
}

Result<std::vector<std::vector<HostTensor>>> apart(const CallJoint& joint,
                                                   const std::vector<const CallInputs*>& calls,
                                                   const std::vector<const HostTensor*>& results) {
  std::vector<std::vector<HostTensor>> all(calls.size());
  int64_t rows = 0;
  for (const CallInputs* call : calls) rows += dimOf(*call, joint.batch);
  for (size_t i = 0; i < results.size(); ++i) {
    const CallJoint::Axes& axes = joint.outputs[i];
    const Sizes& whole = results[i]->shape();
    const int64_t size = whole[*axes.batch], each = rows == 0 ? 0 : size / rows;
    if (each * rows != size)
      return makeError(DiagnosticId::internalError, "a result of " + std::to_string(size) +
                                                        " rows is not that of " + std::to_string(rows) +
                                                        " rows of the inputs");
    Sizes from(whole.size(), 0);
    const Sizes to = from;
    for (size_t c = 0; c < calls.size(); ++c) {
      Sizes shape = whole;
      shape[*axes.batch] = each * dimOf(*calls[c], joint.batch);
      if (axes.sequence) shape[*axes.sequence] = dimOf(*calls[c], joint.sequence);
      DYN_TRY(HostTensor part, HostTensor::create(results[i]->dtype(), shape));
      copyBox(*results[i], part, {from, to, shape});
      from[*axes.batch] += shape[*axes.batch];
      all[c].push_back(std::move(part));
    }
  }
  return all;
}

}  // namespace dyn
