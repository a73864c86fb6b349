#include "app/engine/generate/decoder_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/engine/model/vm_value.h"
#include "compiler/ops/rules/strided_walk.h"
#include "vm/include/dyn_results.h"

namespace dyn {

namespace {

constexpr int64_t kTrialPadding = 3;  // positions by which findPadding pads
constexpr size_t kTrialTokens = 8;    // that findPrefixes runs again

// How the positions of a step lie: of each row the padding in front of its own, or behind.
struct StepLayout {
  int64_t span = 0, count = 0;   // positions in the caches, and new ones
  std::vector<int64_t> lengths;  // of each row in the caches
  PaddingSide side = PaddingSide::front;

  // Does a position of the caches and the new ones belong to the row?
  bool isOwn(size_t row, int64_t position) const {
    if (side == PaddingSide::front) return position >= span - lengths[row];
    return position < lengths[row] + count;
  }
};

std::vector<int64_t> matrixShape(const Port& port, size_t rows, int64_t columns) {
  if (port.info.shape.size() < 2) return {columns};
  return {static_cast<int64_t>(rows), columns};
}

// A tensor [rows, columns], or [columns], whose elements valueAt(row, column) says.
template <typename ValueAt>
Result<Value> matrixOf(const Port& port, size_t rows, int64_t columns, const ValueAt& valueAt) {
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, matrixShape(port, rows, columns)));
  const bool isReal = dtypeClass(port.dtype) == DtypeClass::real;
  for (int64_t at = 0; at < tensor.elementCount(); ++at) {
    const int64_t value = valueAt(static_cast<size_t>(at / columns), at % columns);
    isReal ? tensor.setReal(at, static_cast<double>(value)) : tensor.setInt(at, value);
  }
  return Value(std::move(tensor));
}

Result<Value> oneNumber(const Port& port, int64_t number) {
  DYN_TRY(HostTensor tensor, HostTensor::create(port.dtype, std::vector<int64_t>(port.info.shape.size(), 1)));
  tensor.setInt(0, number);
  return Value(std::move(tensor));
}

// The sizes of open dims, as far as given values say them.
std::map<std::string, int64_t> givenSizes(const Signature& signature, const DecoderOptions& options) {
  std::map<std::string, int64_t> sizes;
  for (const Port& port : signature.inputs) {
    const auto found = options.given.find(port.info.name);
    if (found == options.given.end() || !found->second.isTensor()) continue;
    const std::vector<int64_t>& shape = found->second.tensor().shape();
    for (size_t axis = 0; axis < std::min(shape.size(), port.info.shape.size()); ++axis)
      if (isOpenDim(port.info.shape[axis])) sizes.try_emplace(port.info.shape[axis], shape[axis]);
  }
  return sizes;
}

// A given value for a step of so many rows: that of one sequence again for each.
Result<Value> givenForRows(const Value& value, const Port& port, const DecoderPorts& ports, size_t rows) {
  if (rows == 1 || !value.isTensor()) return value;
  const HostTensor& tensor = value.tensor();
  for (size_t axis = 0; axis < std::min(tensor.shape().size(), port.info.shape.size()); ++axis)
    if (ports.isRowAxis(axis, port.info.shape[axis]) && tensor.shape()[axis] == 1) {
      DYN_TRY(HostTensor repeated, repeatedRow(tensor, axis, static_cast<int64_t>(rows)));
      return Value(std::move(repeated));
    }
  return value;
}

// The values of a step but for the caches: (input, value).
Result<std::vector<std::pair<size_t, Value>>> stepValues(const Signature& signature,
                                                         const DecoderPorts& ports,
                                                         const DecoderOptions& options,
                                                         const StepLayout& layout, const TokenRows& tokens,
                                                         int64_t scoredCount = 1) {
  const size_t rows = tokens.size();
  std::vector<std::pair<size_t, Value>> values;
  const auto add = [&](std::optional<size_t> input, int64_t columns, const auto& valueAt) -> Status {
    if (!input) return {};
    DYN_TRY(Value value, matrixOf(signature.inputs[*input], rows, columns, valueAt));
    values.emplace_back(*input, std::move(value));
    return {};
  };
  DYN_CHECK(add(ports.ids, layout.count,
                [&](size_t row, int64_t column) { return tokens[row][static_cast<size_t>(column)]; }));
  DYN_CHECK(add(ports.mask, layout.span + layout.count,
                [&](size_t row, int64_t column) -> int64_t { return layout.isOwn(row, column); }));
  DYN_CHECK(add(ports.positions, layout.count, [&](size_t row, int64_t column) {
    return std::max<int64_t>(0, layout.lengths[row] + column);
  }));
  DYN_CHECK(
      add(ports.cachePositions, layout.count, [&](size_t, int64_t column) { return layout.span + column; }));
  DYN_CHECK(add(ports.types, layout.count, [](size_t, int64_t) -> int64_t { return 0; }));
  if (ports.sourceMask) {
    const Port& port = signature.inputs[*ports.sourceMask];
    const std::map<std::string, int64_t> sizes = givenSizes(signature, options);
    const auto found = sizes.find(port.info.shape[1]);
    if (isOpenDim(port.info.shape[1]) && found == sizes.end())
      return makeError(DiagnosticId::inputMissing, "no input says how long " + port.info.name + " is")
          .note("--input NAME=@file.npy gives what the encoder made of the source");
    DYN_CHECK(add(ports.sourceMask, found == sizes.end() ? std::stoll(port.info.shape[1]) : found->second,
                  [](size_t, int64_t) -> int64_t { return 1; }));
  }
  if (ports.cacheSwitch) {
    DYN_TRY(Value flag, oneNumber(signature.inputs[*ports.cacheSwitch], layout.span > 0));
    values.emplace_back(*ports.cacheSwitch, std::move(flag));
  }
  if (ports.scoresCount) {
    DYN_TRY(Value count, oneNumber(signature.inputs[*ports.scoresCount], scoredCount));
    values.emplace_back(*ports.scoresCount, std::move(count));
  }
  for (const size_t input : ports.given) {
    const Port& port = signature.inputs[input];
    DYN_TRY(Value value, givenForRows(options.given.at(port.info.name), port, ports, rows));
    values.emplace_back(input, std::move(value));
  }
  return values;
}

// The first value of a cache: nothing in it, zeros, or what is given.
Result<HostTensor> firstCache(const Signature& signature, const CachePort& cache, const DecoderPorts& ports,
                              const DecoderOptions& options, size_t rowCount) {
  const Port &port = signature.inputs[cache.input], &present = signature.outputs[cache.output];
  const auto given = options.given.find(port.info.name);
  if (given != options.given.end()) {
    if (cache.kind != CacheKind::state)
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: a first value of the " +
                                                             std::string(toString(cache.kind)) + " " +
                                                             port.info.name + ": only states take one");
    return given->second.tensor();
  }
  const std::map<std::string, int64_t> sizes = givenSizes(signature, options);
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < port.info.shape.size(); ++axis) {
    const std::string &dim = port.info.shape[axis], &later = present.info.shape[axis];
    const auto size = sizes.find(dim);
    if (axis == cache.axis && cache.kind == CacheKind::growing)
      shape.push_back(0);
    else if (ports.isRowAxis(axis, dim))
      shape.push_back(static_cast<int64_t>(rowCount));
    else if (!isOpenDim(dim) || !isOpenDim(later))
      shape.push_back(std::stoll(isOpenDim(dim) ? later : dim));
    else if (size != sizes.end())
      shape.push_back(size->second);
    else
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: cache " + port.info.name + ": " +
                                                             port.info.type + ": nothing says how large " +
                                                             dim + " is");
  }
  return HostTensor::create(port.dtype, std::move(shape));
}

// Numbers about 1 in size, different ones.
double noiseAt(int64_t i) { return 2 * std::sin(1.0 + 12.9898 * static_cast<double>(i)); }

// Are scores the same up to rounding?
bool agree(const std::vector<float>& one, const std::vector<float>& other, double tolerance) {
  float low = 0, high = 0, apart = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    if (std::isinf(one[i]) && one[i] == other[i]) continue;
    const float difference = std::abs(one[i] - other[i]);
    if (!(difference < std::numeric_limits<float>::infinity())) return false;
    apart = std::max(apart, difference);
    low = std::min(low, one[i]);
    high = std::max(high, one[i]);
  }
  return apart <= tolerance * (high - low);
}

}  // namespace

DecoderSteps::DecoderSteps(const DecoderProgram& program, const DecoderPorts& ports, DecoderOptions options)
    : program_(program), ports_(ports), options_(std::move(options)) {
  for (const CachePort& cache : ports.caches) grows_.push_back(cache.kind == CacheKind::growing);
}

int64_t DecoderSteps::growingCount() const { return std::count(grows_.begin(), grows_.end(), true); }

Result<std::unique_ptr<DecoderSteps>> DecoderSteps::begin(const DecoderProgram& program,
                                                          const DecoderPorts& ports, DecoderOptions options) {
  std::unique_ptr<DecoderSteps> made(new DecoderSteps(program, ports, std::move(options)));
  DYN_TRY(made->context_, makeContext(program.module, *program.options, Purpose::running));
  return made;
}

Result<CallInputs> DecoderSteps::firstInputs(const Signature& signature, const DecoderPorts& ports,
                                             const std::vector<int64_t>& prompt,
                                             const DecoderOptions& options) {
  CallInputs inputs;
  inputs.values.resize(signature.inputs.size());
  const bool isOne = ports.fixedLength == 1;
  const TokenRows tokens{isOne ? std::vector<int64_t>{prompt[0]} : prompt};
  const StepLayout layout{0, static_cast<int64_t>(tokens[0].size()), {0}};
  DYN_TRY(auto values, stepValues(signature, ports, options, layout, tokens));
  for (auto& [input, value] : values) inputs.values[input] = std::move(value);
  for (const CachePort& cache : ports.caches) {
    DYN_TRY(HostTensor first, firstCache(signature, cache, ports, options, 1));
    inputs.values[cache.input] = Value(std::move(first));
  }
  return inputs;
}

Result<VmValue> DecoderSteps::cacheValue(size_t index, const HostTensor& value, bool grows) {
  const CachePort& cache = ports_.caches[index];
  const Port& port = program_.signature->inputs[cache.input];
  if (!grows) return toVm(context_.get(), Value(value), port.type, program_.types);
  dyn_value* made = nullptr;
  const std::vector<int64_t>& shape = value.shape();
  const int64_t room = std::max(options_.room, shape[cache.axis]);
  const dyn_status status = dyn_value_growing(
      context_.get(), static_cast<int32_t>(value.dtype()), value.rank(), shape.data(),
      static_cast<int32_t>(cache.axis), room, value.data(), static_cast<size_t>(value.sizeBytes()), &made);
  if (status != DYN_OK) return vmError(status);
  return VmValue(made);
}

Result<DecoderBatch> DecoderSteps::start(size_t rowCount) {
  DecoderBatch batch;
  batch.lengths.assign(rowCount, 0);
  if (ports_.caches.empty()) batch.tokens.resize(rowCount);
  for (size_t i = 0; i < ports_.caches.size(); ++i) {
    DYN_TRY(const HostTensor first,
            firstCache(*program_.signature, ports_.caches[i], ports_, options_, rowCount));
    DYN_TRY(VmValue value, cacheValue(i, first, grows_[i]));
    batch.caches.push_back(std::move(value));
  }
  return batch;
}

Result<ScoreRows> DecoderSteps::run(DecoderBatch& batch, const TokenRows& tokens,
                                    Interruption& interruption) {
  if (ports_.caches.empty()) {
    for (size_t row = 0; row < tokens.size(); ++row)
      batch.tokens[row].insert(batch.tokens[row].end(), tokens[row].begin(), tokens[row].end());
    return runOnce(batch, batch.tokens, interruption);
  }
  if (ports_.fixedLength != 1) return runOnce(batch, tokens, interruption);
  // The model takes one token a step.
  ScoreRows scores;
  for (size_t i = 0; i < tokens[0].size(); ++i) {
    TokenRows one;
    for (const std::vector<int64_t>& row : tokens) one.push_back({row[i]});
    DYN_TRY(scores, runOnce(batch, one, interruption));
  }
  return scores;
}

Result<ScoreRows> DecoderSteps::runDraft(DecoderBatch& batch, const std::vector<int64_t>& tokens,
                                         Interruption& interruption) {
  const auto count = static_cast<int64_t>(tokens.size());
  if (!ports_.caches.empty()) return runOnce(batch, {tokens}, interruption, count);
  batch.tokens[0].insert(batch.tokens[0].end(), tokens.begin(), tokens.end());
  return runOnce(batch, batch.tokens, interruption, count);
}

Status DecoderSteps::dropLast(DecoderBatch& batch, int64_t count) {
  if (count == 0) return {};
  const int64_t left = batch.lengths[0] - count;
  const bool inPlace = std::all_of(ports_.caches.begin(), ports_.caches.end(), [&](const CachePort& cache) {
    const auto i = static_cast<size_t>(&cache - ports_.caches.data());
    return cache.kind != CacheKind::growing || dyn_value_room(batch.caches[i].get()) > 0;
  });
  if (!inPlace) {
    DYN_TRY(batch, batchOf({{&batch, 0, left}}));
    return {};
  }
  for (size_t i = 0; i < batch.caches.size(); ++i) {
    if (ports_.caches[i].kind != CacheKind::growing) continue;
    // The context refers to what the step was given, which shares the memory.
    const auto input = static_cast<int32_t>(ports_.caches[i].input);
    dyn_status status = dyn_context_set_input(context_.get(), input, nullptr);
    dyn_value* cache = batch.caches[i].release();
    if (status == DYN_OK) status = dyn_value_truncate(&cache, batch.span - count);
    batch.caches[i].reset(cache);
    if (status != DYN_OK) return vmError(status);
  }
  if (ports_.caches.empty()) batch.tokens[0].resize(static_cast<size_t>(left));
  batch.span -= ports_.caches.empty() ? 0 : count;
  batch.lengths[0] = left;
  return {};
}

Status DecoderSteps::setInput(size_t input, const Value& value) {
  DYN_TRY(const VmValue handle,
          toVm(context_.get(), value, program_.signature->inputs[input].type, program_.types));
  const dyn_status status = dyn_context_set_input(context_.get(), static_cast<int32_t>(input), handle.get());
  return status == DYN_OK ? Status() : Status(vmError(status));
}

Status DecoderSteps::setInputs(const DecoderBatch& batch, const TokenRows& tokens, int64_t scoredCount) {
  StepLayout layout{batch.span, 0, batch.lengths, side_};
  for (const std::vector<int64_t>& row : tokens)
    layout.count = std::max(layout.count, static_cast<int64_t>(row.size()));
  TokenRows padded = tokens;
  for (size_t row = 0; row < padded.size(); ++row) {
    // Without caches rows of different lengths are padded here, with any token.
    const auto missing = static_cast<size_t>(layout.count) - padded[row].size();
    padded[row].insert(padded[row].begin(), missing, padded[row][0]);
    if (ports_.caches.empty()) layout.lengths[row] = -static_cast<int64_t>(missing);
  }
  DYN_TRY(const auto values, stepValues(*program_.signature, ports_, options_, layout, padded, scoredCount));
  for (const auto& [input, value] : values) DYN_CHECK(setInput(input, value));
  for (size_t i = 0; i < batch.caches.size(); ++i) {
    const auto input = static_cast<int32_t>(ports_.caches[i].input);
    const dyn_status status = dyn_context_set_input(context_.get(), input, batch.caches[i].get());
    if (status != DYN_OK) return vmError(status);
  }
  return {};
}

Result<ScoreRows> DecoderSteps::runOnce(DecoderBatch& batch, const TokenRows& tokens,
                                        Interruption& interruption, int64_t scoredCount) {
  DYN_CHECK(setInputs(batch, tokens, scoredCount));
  dyn_status status = DYN_OK;
  DYN_CHECK(interruption.guard(context_.get(), [&] { status = dyn_context_run(context_.get()); }));
  if (status == DYN_UNSUPPORTED && growingCount() > 0 && !knowsGrowing_) {
    DYN_CHECK(makeDense(batch));  // the program needs dense caches
    return runOnce(batch, tokens, interruption, scoredCount);
  }
  if (status != DYN_OK) return vmError(status);
  const bool isFirst = batch.span == 0;
  if (!ports_.caches.empty()) {
    const auto count = static_cast<int64_t>(tokens[0].size());
    batch.span += count;
    for (int64_t& length : batch.lengths) length += count;
  } else {
    for (size_t row = 0; row < tokens.size(); ++row)
      batch.lengths[row] = static_cast<int64_t>(tokens[row].size());
  }
  return takeResults(batch, isFirst, scoredCount);
}

Status DecoderSteps::makeDense(DecoderBatch& batch) {
  for (size_t i = 0; i < batch.caches.size(); ++i) {
    if (!grows_[i]) continue;
    DYN_TRY(const HostTensor tensor, cacheTensor(i, batch.caches[i].get()));
    grows_[i] = false;
    DYN_TRY(batch.caches[i], cacheValue(i, tensor, false));
  }
  return {};
}

Result<HostTensor> DecoderSteps::cacheTensor(size_t index, const dyn_value* value) const {
  DYN_TRY(const Value read,
          fromVm(value, program_.signature->inputs[ports_.caches[index].input].type, program_.types));
  return read.tensor();
}

Result<ScoreRows> DecoderSteps::takeResults(DecoderBatch& batch, bool isFirst, int64_t scoredCount) {
  // A graph of its own for the first step makes the caches and appends to none.
  const bool isBegun = isFirst && ports_.cacheSwitch.has_value();
  for (size_t i = 0; i < batch.caches.size(); ++i) {
    const CachePort& cache = ports_.caches[i];
    if (cache.kind == CacheKind::cross && !isFirst) continue;
    dyn_value* present = nullptr;
    const dyn_status status =
        dyn_context_take_output(context_.get(), static_cast<int32_t>(cache.output), &present);
    if (status != DYN_OK) return vmError(status);
    batch.caches[i].reset(present);
    if (!grows_[i] || dyn_value_room(present) > 0) continue;
    if (isBegun) {
      DYN_TRY(const HostTensor begun, cacheTensor(i, present));
      DYN_TRY(batch.caches[i], cacheValue(i, begun, grows_[i]));
    } else if (!knowsGrowing_) {
      grows_[i] = false;  // it is a copy
    }
  }
  knowsGrowing_ = knowsGrowing_ || !isBegun;
  return readScores(static_cast<int64_t>(batch.lengths.size()), scoredCount);
}

// Behind the last `scoredCount` tokens of each row.
Result<ScoreRows> DecoderSteps::readScores(int64_t rows, int64_t scoredCount) const {
  dyn_value* raw = nullptr;
  const dyn_status status = dyn_context_get_output(context_.get(), static_cast<int32_t>(ports_.logits), &raw);
  if (status != DYN_OK) return vmError(status);
  const VmValue handle(raw);
  DYN_TRY(const Value value,
          fromVm(handle.get(), program_.signature->outputs[ports_.logits].type, program_.types));
  const HostTensor& logits = value.tensor();
  const int64_t vocabulary = logits.shape().empty() ? 0 : logits.shape().back();
  // Values inside of the model may decide the shape.
  if (vocabulary == 0 || logits.elementCount() % (rows * vocabulary) != 0 || logits.elementCount() == 0)
    return makeError(DiagnosticId::runtimeError,
                     "the model gave scores of shape " + shapeText(logits.shape()) + " for " +
                         std::to_string(rows) + (rows == 1 ? " prompt" : " prompts"));
  const int64_t positions = logits.elementCount() / (rows * vocabulary);
  if (positions < scoredCount)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: the model gives scores of " +
                                                           std::to_string(positions) + " positions, not of " +
                                                           std::to_string(scoredCount));
  ScoreRows scores(static_cast<size_t>(rows * scoredCount));
  for (int64_t i = 0; i < rows * scoredCount; ++i) {
    const int64_t row = i / scoredCount, fromEnd = scoredCount - i % scoredCount;
    const int64_t begin = ((row + 1) * positions - fromEnd) * vocabulary;
    std::vector<float>& target = scores[static_cast<size_t>(i)];
    target.resize(static_cast<size_t>(vocabulary));
    if (logits.dtype() == Dtype::f32)
      std::memcpy(target.data(), logits.as<float>() + begin, target.size() * sizeof(float));
    else
      for (int64_t token = 0; token < vocabulary; ++token)
        target[static_cast<size_t>(token)] = static_cast<float>(logits.realAt(begin + token));
  }
  return scores;
}

CacheAxes DecoderSteps::axesOf(const CachePort& cache) const {
  CacheAxes axes;
  const std::vector<std::string>& shape = program_.signature->inputs[cache.input].info.shape;
  for (size_t axis = 0; axis < shape.size() && !axes.rows; ++axis)
    if (ports_.isRowAxis(axis, shape[axis])) axes.rows = axis;
  if (cache.kind == CacheKind::growing) axes.position = cache.axis;
  return axes;
}

int64_t DecoderSteps::beginOf(int64_t span, int64_t length) const {
  return side_ == PaddingSide::front ? span - length : 0;
}

Result<DecoderBatch> DecoderSteps::batchOf(const std::vector<BatchRow>& rows) {
  int64_t span = 0;
  for (const BatchRow& row : rows) span = std::max(span, row.taken());
  return rowsInto(rows, span, true, nullptr);
}

Result<DecoderBatch> DecoderSteps::prefixOf(const BatchRow& row) {
  return rowsInto({row}, row.taken(), false, nullptr);
}

Result<DecoderBatch> DecoderSteps::rowsInto(const std::vector<BatchRow>& rows, int64_t span, bool mayGrow,
                                            double (*filler)(int64_t)) {
  DecoderBatch made;
  for (const BatchRow& row : rows) {
    made.lengths.push_back(row.taken());
    if (ports_.caches.empty()) made.tokens.push_back(row.batch->tokens[row.row]);
  }
  if (ports_.caches.empty()) return made;
  made.span = span;
  for (size_t i = 0; i < ports_.caches.size(); ++i) {
    std::vector<CacheRow> parts;
    for (const BatchRow& row : rows) {
      const int64_t begin = beginOf(row.batch->span, row.batch->lengths[row.row]);
      parts.push_back({row.batch->caches[i].get(), static_cast<int64_t>(row.row), begin, row.taken(),
                       beginOf(span, row.taken())});
    }
    DYN_TRY(const HostTensor cache, cacheOfRows(parts, axesOf(ports_.caches[i]), span, filler));
    DYN_TRY(VmValue value, cacheValue(i, cache, mayGrow && grows_[i]));
    made.caches.push_back(std::move(value));
  }
  return made;
}

// They have no positions: nothing is padded.
bool DecoderSteps::hasStatesAlone() const {
  return !ports_.caches.empty() && !ports_.hasCaches(CacheKind::growing);
}

bool DecoderSteps::mayShare(int64_t one, int64_t other) const { return one == other || pads_; }

bool DecoderSteps::mayTakePrefixes() const {
  return ports_.hasCaches(CacheKind::growing) && !ports_.hasCaches(CacheKind::state);
}

Result<bool> DecoderSteps::findPrefixes(const DecoderBatch& batch, const std::vector<int64_t>& prompt,
                                        const std::vector<float>& scores, Interruption& interruption) {
  const size_t before = prompt.size() - std::min(prompt.size() - 1, kTrialTokens);
  Result<DecoderBatch> part = batchOf({{&batch, 0, static_cast<int64_t>(before)}});
  if (!part.ok()) return false;  // it does not keep all positions
  const std::vector<int64_t> last(prompt.begin() + static_cast<ptrdiff_t>(before), prompt.end());
  const Result<ScoreRows> again = run(*part, {last}, interruption);
  if (!again.ok() && again.error().id == DiagnosticId::cancelled) return Error{again.error()};
  return again.ok() && agree(scores, (*again)[0], tolerance());
}

Result<bool> DecoderSteps::findDrafts(const DecoderBatch& batch, int64_t token, Interruption& interruption) {
  if (ports_.hasCaches(CacheKind::state) || (!ports_.caches.empty() && ports_.fixedLength == 1)) return false;
  const auto agrees = [&]() -> Result<bool> {
    DYN_TRY(DecoderBatch single, batchOf({{&batch, 0}}));
    DYN_TRY(DecoderBatch drafted, batchOf({{&batch, 0}}));
    const std::vector<int64_t> tokens{token, 0, 1};
    DYN_TRY(const ScoreRows scores, runDraft(drafted, tokens, interruption));
    for (size_t i = 0; i < tokens.size(); ++i) {
      DYN_TRY(const ScoreRows wanted, run(single, {{tokens[i]}}, interruption));
      if (!agree(wanted[0], scores[i], tolerance())) return false;
    }
    return true;
  };
  Result<bool> found = agrees();
  // Three tokens may be more than it has room for.
  return !found.ok() && found.error().id != DiagnosticId::cancelled ? Result<bool>(false) : found;
}

// Of the range of the scores.
double DecoderSteps::tolerance() const {
  return isHalf(program_.signature->outputs[ports_.logits].dtype) ? 0.03 : 1e-3;
}

Result<bool> DecoderSteps::findPadding(const DecoderBatch& batch, int64_t token, Interruption& interruption) {
  if (hasStatesAlone()) return pads_ = true;
  if (pads_ || !ports_.mask) return pads_;
  const DecoderBatch* own = &batch;
  DYN_TRY(DecoderBatch alone, batchOf({{own, 0}}));
  DYN_TRY(const ScoreRows wanted, run(alone, {{token}}, interruption));
  for (const PaddingSide side : {PaddingSide::front, PaddingSide::behind}) {
    if (side == PaddingSide::behind && (ports_.caches.empty() || ports_.cachePositions)) break;
    DecoderBatch padded;
    Result<ScoreRows> scores = ScoreRows();
    side_ = side;
    if (ports_.caches.empty()) {
      // Beside a row that is longer: its tokens twice.
      const std::vector<int64_t>& tokens = batch.tokens[0];
      padded.tokens = {tokens, tokens};
      padded.tokens[1].insert(padded.tokens[1].end(), tokens.begin(), tokens.end());
      padded.lengths.resize(2);
      scores = run(padded, {{token}, {token}}, interruption);
    } else {
      DYN_TRY(padded, rowsInto({{own, 0}}, batch.lengths[0] + kTrialPadding, true, noiseAt));
      scores = run(padded, {{token}}, interruption);
    }
    if (!scores.ok() && scores.error().id == DiagnosticId::cancelled) return Error{scores.error()};
    if (scores.ok() && agree(wanted[0], (*scores)[0], tolerance())) return pads_ = true;
  }
  side_ = PaddingSide::front;
  return false;
}

}  // namespace dyn
