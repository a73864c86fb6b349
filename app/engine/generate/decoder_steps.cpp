#include "app/engine/generate/decoder_steps.h"

#include <algorithm>

#include "app/engine/model/vm_value.h"
#include "vm/include/dyn_results.h"

namespace dyn {

namespace {

// A tensor of `shape` whose elements, in order, `valueAt(row, column)` says.
template <typename ValueAt>
Result<HostTensor> matrixOf(const Port& port, size_t rowCount, size_t columnCount, const ValueAt& valueAt) {
  std::vector<int64_t> shape;
  if (port.info.shape.size() > 1) shape.push_back(static_cast<int64_t>(rowCount));
  shape.push_back(static_cast<int64_t>(columnCount));
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, shape));
  const bool isReal = dtypeClass(port.dtype) == DtypeClass::real;
  for (size_t row = 0; row < rowCount; ++row)
    for (size_t column = 0; column < columnCount; ++column) {
      const auto at = static_cast<int64_t>(row * columnCount + column);
      const int64_t value = valueAt(row, column);
      isReal ? tensor.setReal(at, static_cast<double>(value)) : tensor.setInt(at, value);
    }
  return tensor;
}

// The values of a step but for the caches: (input, value).
Result<std::vector<std::pair<size_t, HostTensor>>> stepValues(const Signature& signature,
                                                              const DecoderPorts& ports,
                                                              const std::vector<std::vector<int64_t>>& tokens,
                                                              const std::vector<int64_t>& padding,
                                                              int64_t pastLength) {
  const size_t rows = tokens.size(), count = tokens[0].size();
  const auto past = static_cast<size_t>(pastLength);
  std::vector<std::pair<size_t, HostTensor>> values;
  const auto add = [&](std::optional<size_t> input, size_t columns, const auto& valueAt) -> Status {
    if (!input) return {};
    DYN_TRY(HostTensor value, matrixOf(signature.inputs[*input], rows, columns, valueAt));
    values.emplace_back(*input, std::move(value));
    return {};
  };
  DYN_CHECK(add(ports.ids, count, [&](size_t row, size_t column) { return tokens[row][column]; }));
  DYN_CHECK(add(ports.mask, past + count, [&](size_t row, size_t column) -> int64_t {
    return static_cast<int64_t>(column) >= padding[row];
  }));
  DYN_CHECK(add(ports.positions, count, [&](size_t row, size_t column) {
    return std::max<int64_t>(0, pastLength + static_cast<int64_t>(column) - padding[row]);
  }));
  DYN_CHECK(add(ports.types, count, [](size_t, size_t) -> int64_t { return 0; }));
  if (ports.cacheSwitch) {
    const size_t rank = signature.inputs[*ports.cacheSwitch].info.shape.size();
    DYN_TRY(HostTensor flag,
            HostTensor::create(signature.inputs[*ports.cacheSwitch].dtype, std::vector<int64_t>(rank, 1)));
    flag.setInt(0, pastLength > 0);
    values.emplace_back(*ports.cacheSwitch, std::move(flag));
  }
  return values;
}

// The shape of a cache that holds nothing yet.
Result<std::vector<int64_t>> emptyCacheShape(const Port& port, const CachePort& cache,
                                             const DecoderPorts& ports, size_t rowCount) {
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < port.info.shape.size(); ++axis) {
    const std::string& dim = port.info.shape[axis];
    if (axis == cache.axis)
      shape.push_back(0);
    else if (ports.isRowAxis(axis, dim))
      shape.push_back(static_cast<int64_t>(rowCount));
    else if (!isOpenDim(dim))
      shape.push_back(std::stoll(dim));
    else
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: cache " + port.info.name + ": " +
                                                             port.info.type + ": nothing says how large " +
                                                             dim + " is");
  }
  return shape;
}

}  // namespace

Result<CallInputs> firstInputs(const Signature& signature, const DecoderPorts& ports,
                               const std::vector<std::vector<int64_t>>& tokens) {
  CallInputs inputs;
  inputs.values.resize(signature.inputs.size());
  DYN_TRY(auto values, stepValues(signature, ports, tokens, std::vector<int64_t>(tokens.size(), 0), 0));
  for (auto& [input, value] : values) inputs.values[input] = Value(std::move(value));
  for (const CachePort& cache : ports.caches) {
    const Port& port = signature.inputs[cache.input];
    DYN_TRY(std::vector<int64_t> shape, emptyCacheShape(port, cache, ports, tokens.size()));
    DYN_TRY(HostTensor empty, HostTensor::create(port.dtype, std::move(shape)));
    inputs.values[cache.input] = Value(std::move(empty));
  }
  return inputs;
}

DecoderSteps::DecoderSteps(const DecoderProgram& program, const DecoderPorts& ports, DecoderBatch batch)
    : program_(program), ports_(ports), batch_(std::move(batch)), all_(batch_.padding.size()) {}

Result<std::unique_ptr<DecoderSteps>> DecoderSteps::begin(const DecoderProgram& program,
                                                          const DecoderPorts& ports, DecoderBatch batch) {
  std::unique_ptr<DecoderSteps> made(new DecoderSteps(program, ports, std::move(batch)));
  DYN_TRY(made->context_, makeContext(program.module, *program.options, Purpose::running));
  DYN_CHECK(made->makeCaches());
  return made;
}

Status DecoderSteps::makeCaches() {
  caches_.clear();
  for (const CachePort& cache : ports_.caches) {
    const Port& port = program_.signature->inputs[cache.input];
    DYN_TRY(const std::vector<int64_t> shape, emptyCacheShape(port, cache, ports_, batch_.padding.size()));
    const auto dtype = static_cast<int32_t>(port.dtype), rank = static_cast<int32_t>(shape.size());
    dyn_value* made = nullptr;
    const dyn_status status =
        growsInPlace_ ? dyn_value_growing(context_.get(), dtype, rank, shape.data(),
                                          static_cast<int32_t>(cache.axis), batch_.room, nullptr, 0, &made)
                      : dyn_value_tensor(context_.get(), dtype, rank, shape.data(), nullptr, 0, &made);
    if (status != DYN_OK) return vmError(status);
    caches_.emplace_back(made);
  }
  return {};
}

Result<std::vector<std::vector<float>>> DecoderSteps::run(const std::vector<std::vector<int64_t>>& tokens,
                                                          Interruption& interruption) {
  if (ports_.caches.empty()) {
    for (size_t row = 0; row < tokens.size(); ++row)
      all_[row].insert(all_[row].end(), tokens[row].begin(), tokens[row].end());
    return runOnce(all_, interruption);
  }
  if (ports_.fixedLength != 1) return runOnce(tokens, interruption);
  // The model takes one token a step.
  std::vector<std::vector<float>> scores;
  for (size_t i = 0; i < tokens[0].size(); ++i) {
    std::vector<std::vector<int64_t>> one;
    for (const std::vector<int64_t>& row : tokens) one.push_back({row[i]});
    DYN_TRY(scores, runOnce(one, interruption));
  }
  return scores;
}

Status DecoderSteps::setInput(size_t input, const HostTensor& value) {
  DYN_TRY(const VmValue handle,
          toVm(context_.get(), Value(value), program_.signature->inputs[input].type, program_.types));
  const dyn_status status = dyn_context_set_input(context_.get(), static_cast<int32_t>(input), handle.get());
  return status == DYN_OK ? Status() : Status(vmError(status));
}

Status DecoderSteps::setInputs(const std::vector<std::vector<int64_t>>& tokens) {
  DYN_TRY(const auto values, stepValues(*program_.signature, ports_, tokens, batch_.padding, pastLength_));
  for (const auto& [input, value] : values) DYN_CHECK(setInput(input, value));
  for (size_t i = 0; i < caches_.size(); ++i) {
    const dyn_status status =
        dyn_context_set_input(context_.get(), static_cast<int32_t>(ports_.caches[i].input), caches_[i].get());
    if (status != DYN_OK) return vmError(status);
  }
  return {};
}

Result<std::vector<std::vector<float>>> DecoderSteps::runOnce(const std::vector<std::vector<int64_t>>& tokens,
                                                              Interruption& interruption) {
  DYN_CHECK(setInputs(tokens));
  dyn_status status = DYN_OK;
  DYN_CHECK(interruption.guard(context_.get(), [&] { status = dyn_context_run(context_.get()); }));
  if (status == DYN_UNSUPPORTED && growsInPlace_ && pastLength_ == 0 && !caches_.empty()) {
    growsInPlace_ = false;  // the program needs dense caches
    DYN_CHECK(makeCaches());
    return runOnce(tokens, interruption);
  }
  if (status != DYN_OK) return vmError(status);
  if (!caches_.empty()) pastLength_ += static_cast<int64_t>(tokens[0].size());
  return takeResults();
}

Result<std::vector<std::vector<float>>> DecoderSteps::takeResults() {
  for (size_t i = 0; i < caches_.size(); ++i) {
    dyn_value* present = nullptr;
    const dyn_status status =
        dyn_context_take_output(context_.get(), static_cast<int32_t>(ports_.caches[i].output), &present);
    if (status != DYN_OK) return vmError(status);
    caches_[i].reset(present);
  }
  dyn_value* raw = nullptr;
  const dyn_status status = dyn_context_get_output(context_.get(), static_cast<int32_t>(ports_.logits), &raw);
  if (status != DYN_OK) return vmError(status);
  const VmValue handle(raw);
  DYN_TRY(const Value value,
          fromVm(handle.get(), program_.signature->outputs[ports_.logits].type, program_.types));
  const HostTensor& logits = value.tensor();
  const int64_t vocabulary = logits.shape().empty() ? 0 : logits.shape().back();
  const auto rows = static_cast<int64_t>(batch_.padding.size());
  if (vocabulary == 0 || logits.elementCount() % (rows * vocabulary) != 0 || logits.elementCount() == 0)
    return makeError(DiagnosticId::internalError, "the scores do not have the shape that the model declares");
  const int64_t positions = logits.elementCount() / (rows * vocabulary);
  std::vector<std::vector<float>> scores(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = ((row + 1) * positions - 1) * vocabulary;
    std::vector<float>& target = scores[static_cast<size_t>(row)];
    target.resize(static_cast<size_t>(vocabulary));
    for (int64_t i = 0; i < vocabulary; ++i)
      target[static_cast<size_t>(i)] = static_cast<float>(logits.realAt(begin + i));
  }
  return scores;
}

}  // namespace dyn
