#include "app/engine/serving/served_program.h"

#include <algorithm>
#include <new>

#include "app/engine/model/compare.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/run/valid_positions.h"
#include "compiler/driver/packed_weights.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

constexpr size_t kMostPeaks = 4096;    // shapes whose memory is remembered
constexpr double kMostPadding = 1.25;  // positions of joined calls over their own, where all cost

bool hasElements(const dyn_value* value) {
  if (!value || dyn_value_kind(value) != DYN_KIND_TENSOR || dyn_value_dtype(value) == DYN_STRING)
    return false;
  return dyn_value_data(value) || dyn_value_size_bytes(value) == 0;
}

// Rows times length of a call that has run.
int64_t ownPositions(const CallJoint& joint, const std::vector<VmValue>& values) {
  int64_t rows = 1, length = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const CallJoint::Axes& axes = joint.inputs[i];
    const int64_t* shape = dyn_value_shape(values[i].get());
    if (axes.batch && axes.perRow > 0) rows = shape[*axes.batch] / axes.perRow;
    if (axes.sequence) length = shape[*axes.sequence];
  }
  return rows * length;
}

// The most rows that the program takes by its declared ranges.
int64_t mostRows(const dyn_module* module, const CallJoint& joint) {
  int64_t most = INT64_MAX;
  for (size_t i = 0; i < joint.inputs.size(); ++i) {
    const CallJoint::Axes& axes = joint.inputs[i];
    dyn_contract_dim dim{};
    if (!axes.batch || axes.perRow < 1 ||
        dyn_module_input_dim(module, static_cast<int32_t>(i), static_cast<int32_t>(*axes.batch), &dim) !=
            DYN_OK)
      continue;
    most = std::min(most, (dim.value >= 0 ? dim.value : dim.high) / axes.perRow);
  }
  return most;
}

}  // namespace

class ProgramGathering : public Gathering {
 public:
  ProgramGathering(ServedProgram& program, ServedCall& first, const GatheringLimits& limits,
                   std::shared_ptr<const CallJoint> joint)
      : program_(program), limits_(limits), joint_(std::move(joint)) {
    calls_.reserve(std::min(limits.mostCalls, limits.waitingCount));
    calls_.push_back(&first);
    if (limits_.mostCalls > 1) group_.emplace(*joint_).add(*first.tensors);
    if (limits_.memoryBytes >= 0) peakBytes_ = program_.peakBytes(calls_, joint_.get());
  }
  bool add(ServedCall& next) override {
    if (isFull()) return false;
    program_.look(*joint_, next);
    if (!next.tensors) return false;
    if (!program_.mayFollow(*joint_, *group_, *next.tensors, limits_.trial)) return false;
    calls_.push_back(&next);
    if (limits_.memoryBytes >= 0) {
      const int64_t peak = program_.peakBytes(calls_, joint_.get());
      if (peak < 0 || peak > limits_.memoryBytes) {
        calls_.pop_back();
        return false;
      }
      peakBytes_ = peak;
    }
    group_->add(*next.tensors);
    return true;
  }
  int64_t peakBytes() const override { return peakBytes_; }
  bool isFull() const override { return !group_ || calls_.size() >= limits_.mostCalls; }
  const CallJoint* joint() const { return joint_.get(); }
  size_t waitingCount() const { return limits_.waitingCount; }
  int64_t positions() const {
    return group_ ? group_->positions().own : ownPositions(*joint_, calls_[0]->values);
  }

 private:
  ServedProgram& program_;
  GatheringLimits limits_;
  std::shared_ptr<const CallJoint> joint_;  // null: no call of the program is joined
  std::optional<JoinedGroup> group_;        // nothing: the call runs alone
  int64_t peakBytes_ = 0;
};

Result<std::shared_ptr<ServedProgram>> ServedProgram::of(LoadedModel& model,
                                                         std::shared_ptr<dyn_module> module,
                                                         const EngineOptions& options,
                                                         const ServingPolicy& policy,
                                                         const SequenceLengths& lengths) {
  std::shared_ptr<ServedProgram> made(new ServedProgram);
  made->module_ = std::move(module);
  made->signature_ = model.signature();
  made->options_ = options;
  made->batching_ = policy.batching;
  made->maxBatchTimeNs_ = policy.maxBatchTimeNs;
  made->maxBatch_ = policy.maxBatch;
  made->threads_ = policy.threads;
  if (model.compiled())
    made->check_ = [compiled = model.sharedCompiled()] { return checkCachedWeights(*compiled); };
  if (policy.batching == Batching::never) {
    made->whyNotJoined_ = "the policy joins none";
    return made;
  }
  Result<CallJoint> joint = callJoint(model, lengths.port ? lengths.port->info.name : "", lengths.sequence);
  if (!joint.ok()) {
    if (policy.batching == Batching::always) return joint.takeError();
    made->whyNotJoined_ = joint.error().message;
    return made;
  }
  made->maxRows_ = mostRows(made->module_.get(), *joint);
  made->computesPadding_ = !joint->sequence.empty() && !packsSequences(model);
  if (lengths.port) made->lengths_ = lengths.port->info.name;
  made->joint_ = std::make_shared<const CallJoint>(std::move(*joint));
  return made;
}

Status ServedProgram::prepare(size_t workerCount, int64_t memoryLimitBytes) {
  workers_.resize(workerCount);
  trims_ = memoryLimitBytes > 0;
  if (trims_ &&
      (options_.memoryLimitBytes == 0 || options_.memoryLimitBytes > static_cast<uint64_t>(memoryLimitBytes)))
    options_.memoryLimitBytes = static_cast<uint64_t>(memoryLimitBytes);
  return {};
}

std::shared_ptr<const CallJoint> ServedProgram::joint() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return joint_;
}

std::string ServedProgram::comparedText() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return comparedText_;
}

std::string ServedProgram::whyNotJoined() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return whyNotJoined_;
}

std::string ServedProgram::joiningText() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!joint_) return "one by one: " + whyNotJoined_;
  const bool mixed = !joint_->sequence.empty();
  return "along " + joint_->batch +
         (mixed ? ", of different " + joint_->sequence + " by " + lengths_ : ", of equal sizes");
}

Result<VmValue> ServedProgram::withContext(const std::function<Result<VmValue>(dyn_context*)>& make) {
  const std::lock_guard<std::mutex> lock(contextsMutex_);
  if (!values_) {
    EngineOptions options = options_;  // inputs that wait count for no run
    options.memoryLimitBytes = 0;
    options.threadCount = 1;
    DYN_TRY(values_, makeContext(module_.get(), options, Purpose::running));
  }
  return make(values_.get());
}

std::unique_ptr<ServedCall> ServedProgram::call(std::vector<VmValue> inputs) {
  auto made = std::make_unique<ServedCall>();
  made->values = std::move(inputs);
  return made;
}

// Reads off the tensors and sizes, at most once.
void ServedProgram::look(const CallJoint& joint, ServedCall& call) const {
  if (call.isLookedAt) return;
  CallInputs tensors;
  for (const VmValue& value : call.values) {
    Result<Value> tensor = hasElements(value.get()) ? fromVm(value.get(), Type(), nullptr) : Value();
    if (!tensor.ok()) tensor = Value();
    tensors.values.push_back(std::move(*tensor));
  }
  if (std::optional<DimValues> dims = dimsOfCall(joint, signature_, tensors.values)) {
    tensors.dims = std::move(*dims);
    call.tensors = std::move(tensors);
  }
  call.isLookedAt = true;
}

bool ServedProgram::joins(ServedCall& call) {
  const std::shared_ptr<const CallJoint> joint = this->joint();
  if (joint) look(*joint, call);
  return joint && call.tensors;
}

bool ServedProgram::mayFollow(const CallJoint& joint, const JoinedGroup& taken, const CallInputs& next,
                              JoiningTrial trial) const {
  if (!mayJoin(joint, *taken.calls()[0], next) || taken.rowsWith(next) > maxRows_) return false;
  if (trial == JoiningTrial::answers) return true;
  const JoinedPositions positions = taken.positionsWith(next);
  const auto own = static_cast<double>(positions.own), padded = static_cast<double>(positions.padded);
  if (computesPadding_ && padded > kMostPadding * own) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  return costs_.joinedNsPerPosition() * own <= static_cast<double>(maxBatchTimeNs_);
}

std::unique_ptr<Gathering> ServedProgram::gather(ServedCall& first, const GatheringLimits& limits) {
  GatheringLimits mine = limits;
  mine.waitingCount = std::min(limits.waitingCount, limits.mostCalls);
  std::shared_ptr<const CallJoint> joint;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    joint = joint_;
    const bool asks = batching_ == Batching::whereItPays && limits.trial == JoiningTrial::none;
    if (!joint || mine.waitingCount < 2 || (asks && !costs_.join(mine.waitingCount))) mine.mostCalls = 1;
  }
  if (mine.mostCalls > 1) {
    look(*joint, first);
    if (!first.tensors) mine.mostCalls = 1;
  }
  return std::make_unique<ProgramGathering>(*this, first, mine, std::move(joint));
}

Result<int64_t> ServedProgram::peakOf(const std::vector<std::vector<int64_t>>& shapes) {
  if (!dryRunner_) {
    DYN_TRY(Runner made, Runner::create(module_.get(), nullptr, signature_, options_));
    dryRunner_ = std::move(made);
  }
  Interruption none;
  return dryRunner_->predictPeak(shapes, Runner::Warmth::first, none);
}

// Highest use of memory of a run of these calls; -1 where it depends on elements.
int64_t ServedProgram::peakBytes(const std::vector<ServedCall*>& calls, const CallJoint* joint) {
  std::vector<std::vector<int64_t>> shapes;
  if (calls.size() > 1) {
    std::vector<const CallInputs*> inputs;
    for (const ServedCall* call : calls) inputs.push_back(&*call->tensors);
    shapes = joinedShapes(*joint, inputs);
  } else {
    for (const VmValue& value : calls[0]->values) {
      if (!hasElements(value.get())) return -1;
      const int64_t* sizes = dyn_value_shape(value.get());
      shapes.emplace_back(sizes, sizes + dyn_value_rank(value.get()));
    }
  }
  const std::lock_guard<std::mutex> lock(peaksMutex_);
  if (const auto known = peaks_.find(shapes); known != peaks_.end()) return known->second;
  const Result<int64_t> peak = peakOf(shapes);
  // Sizes that the program does not take fail when they run, before memory is taken.
  const bool fails = !peak.ok() && peak.error().id != DiagnosticId::unsupportedFeature;
  const int64_t bytes = peak.ok() ? *peak : fails ? 0 : -1;
  if (peaks_.size() >= kMostPeaks) peaks_.clear();
  peaks_.emplace(std::move(shapes), bytes);
  return bytes;
}

void ServedProgram::setLatency(LatencyFormula formula) {
  admissionText_ = "time = " + formula.formula();
  latency_ = std::move(formula);
}

std::optional<PredictedTime> ServedProgram::predictedTime(const ServedCall& call) const {
  if (!latency_) return std::nullopt;
  CallDims dims(signature_);
  for (size_t i = 0; i < call.values.size() && i < signature_.inputs.size(); ++i) {
    const dyn_value* value = call.values[i].get();
    if (!value || dyn_value_kind(value) != DYN_KIND_TENSOR) continue;
    const int64_t* sizes = dyn_value_shape(value);
    // What does not fit the model fails on its own.
    if (!dims.learn(signature_.inputs[i], {sizes, sizes + dyn_value_rank(value)}).ok()) return std::nullopt;
  }
  const std::optional<Latency> time = latency_->at(dims.values());
  if (!time) return std::nullopt;
  return PredictedTime{wholeNs(time->ns), wholeNs(time->lowNs)};
}

dyn_status ServedProgram::worker(size_t index, Worker*& worker) {
  const std::lock_guard<std::mutex> lock(contextsMutex_);
  VmContext& context = workers_[index].context;
  dyn_status status = DYN_OK;
  if (!context) status = createContext(module_.get(), options_, Purpose::running, threads_.get(), context);
  worker = context ? &workers_[index] : nullptr;
  return status;
}

void ServedProgram::cancel(size_t index) {
  const std::lock_guard<std::mutex> lock(contextsMutex_);
  if (workers_[index].context) dyn_context_cancel(workers_[index].context.get());
}

Status ServedProgram::checkOnce() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!check_) return {};
  DYN_CHECK(check_());
  check_ = nullptr;
  return {};
}

ServedAnswer ServedProgram::runValues(size_t index, const std::vector<VmValue>& inputs) {
  ServedAnswer answer;
  const auto failed = [&](dyn_status status, std::string message) {
    answer.kind = AnswerKind::failed;
    answer.status = status;
    answer.message = std::move(message);
  };
  Worker* worker = nullptr;
  dyn_status status = this->worker(index, worker);
  if (!worker) {
    failed(status, dyn_last_message());
    return answer;
  }
  dyn_context* context = worker->context.get();
  for (size_t i = 0; i < inputs.size() && status == DYN_OK; ++i)
    status = dyn_context_set_input(context, static_cast<int32_t>(i), inputs[i].get());
  if (status == DYN_OK) status = dyn_context_run(context);
  ++worker->runsCount;
  if (status != DYN_OK) failed(status, dyn_last_message());
  const int32_t count = status == DYN_OK ? dyn_context_result_count(context) : 0;
  answer.outputs.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    dyn_value* output = nullptr;
    status = dyn_context_get_output(context, i, &output);
    if (status != DYN_OK) {
      answer.outputs.clear();
      failed(status, dyn_last_message());
      break;
    }
    answer.outputs.emplace_back(output);
  }
  for (size_t i = 0; i < inputs.size(); ++i) dyn_context_set_input(context, static_cast<int32_t>(i), nullptr);
  if (trims_) dyn_context_trim(context);
  if (answer.kind != AnswerKind::results) return answer;
  if (const Status checked = checkOnce(); !checked.ok()) {
    answer.outputs.clear();
    failed(DYN_BAD_PROGRAM, checked.error().message);
  }
  return answer;
}

void ServedProgram::runAlone(size_t worker, ServedCall& call) {
  if (call.cancelled) return;
  try {
    call.answer = runValues(worker, call.values);
  } catch (const std::bad_alloc&) {
    call.answer.setOutOfMemory();
  }
}

// Runs the first calls alone, too. False: some answer differs, or the comparison failed.
bool ServedProgram::comparesEqual(size_t worker, const CallJoint& joint,
                                  const std::vector<ServedCall*>& calls,
                                  const std::vector<std::vector<HostTensor>>& parts) {
  bool mixed = false;
  for (const ServedCall* call : calls)
    mixed = mixed || (!joint.sequence.empty() && call->tensors->dims != calls[0]->tensors->dims &&
                      call->tensors->dims.at(joint.sequence) != calls[0]->tensors->dims.at(joint.sequence));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (mixed ? comparedMixed_ : comparedEqual_ || comparedMixed_) return true;
  }
  const size_t count = std::min(kCompared, calls.size());
  for (size_t c = 0; c < count; ++c) {
    const ServedAnswer alone = runValues(worker, calls[c]->values);
    if (alone.kind != AnswerKind::results || alone.outputs.size() != parts[c].size()) return false;
    for (size_t i = 0; i < alone.outputs.size(); ++i) {
      const Result<Value> expected = fromVm(alone.outputs[i].get(), Type(), nullptr);
      if (!expected.ok()) return false;
      const std::string difference =
          compareValues(Value(parts[c][i]), *expected, Tolerance{1e-3, 1e-5, true});
      if (difference.empty()) continue;
      const std::string where = "result " + std::to_string(i) + ": " + difference;
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!joint_) return false;
      if (mixed) {
        auto equal = std::make_shared<CallJoint>(*joint_);
        equal->onlyEqualSizes();
        joint_ = std::move(equal);
        comparedText_ = "those of different " + joint.sequence + " differ from each alone (" + where + ")";
      } else {
        joint_ = nullptr;
        whyNotJoined_ =
            "unsupported: calls of this model cannot be joined: a call alone differs from the same call "
            "joined: " +
            where;
      }
      return false;
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  (mixed ? comparedMixed_ : comparedEqual_) = true;
  if (comparedText_.empty()) comparedText_ = std::to_string(count) + " of them gave the same as each alone";
  return true;
}

// False: nothing is answered.
bool ServedProgram::runJoined(size_t worker, const CallJoint& joint, const std::vector<ServedCall*>& calls) {
  std::vector<const CallInputs*> inputs;
  for (const ServedCall* call : calls) inputs.push_back(&*call->tensors);
  Result<CallInputs> together = joined(joint, inputs);
  Worker* mine = nullptr;
  (void)this->worker(worker, mine);
  if (!together.ok() || !mine) return false;
  dyn_context* context = mine->context.get();
  std::vector<VmValue> values;
  for (const Value& value : together->values) {
    Result<VmValue> made = toVm(context, value, Type(), nullptr);
    if (!made.ok()) return false;
    values.push_back(std::move(*made));
  }
  const ServedAnswer whole = runValues(worker, values);
  if (whole.kind != AnswerKind::results || whole.outputs.size() != joint.outputs.size()) return false;
  std::vector<Value> results;
  std::vector<const HostTensor*> tensors;
  for (const VmValue& output : whole.outputs) {
    Result<Value> result = fromVm(output.get(), Type(), nullptr);
    if (!result.ok() || !result->isTensor()) return false;
    results.push_back(std::move(*result));
  }
  for (const Value& result : results) tensors.push_back(&result.tensor());
  const Result<std::vector<std::vector<HostTensor>>> parts = apart(joint, inputs, tensors);
  if (!parts.ok() || !comparesEqual(worker, joint, calls, *parts)) return false;
  std::vector<std::vector<VmValue>> outputs(calls.size());
  for (size_t c = 0; c < calls.size(); ++c)
    for (const HostTensor& part : (*parts)[c]) {
      Result<VmValue> made = toVm(context, Value(part), Type(), nullptr);
      if (!made.ok()) return false;
      outputs[c].push_back(std::move(*made));
    }
  for (size_t c = 0; c < calls.size(); ++c) calls[c]->answer.outputs = std::move(outputs[c]);
  return true;
}

void ServedProgram::run(size_t index, const Gathering& gathering) {
  const auto& mine = static_cast<const ProgramGathering&>(gathering);
  const std::vector<ServedCall*>& calls = mine.calls();
  const int64_t begin = steadyNs();
  bool joined = false;
  if (calls.size() > 1) {
    try {
      joined = runJoined(index, *mine.joint(), calls);
    } catch (const std::bad_alloc&) {  // each alone needs less
    }
  }
  if (!joined)
    for (ServedCall* call : calls) runAlone(index, *call);
  const int64_t ns = steadyNs() - begin;
  const bool failed = std::any_of(calls.begin(), calls.end(), [](const ServedCall* call) {
    return call->answer.kind != AnswerKind::results || call->cancelled;
  });
  Worker* worker = nullptr;
  (void)this->worker(index, worker);
  constexpr int64_t kWarm = 3;  // runs that make room, and fill caches
  if (!mine.joint() || failed || !worker || worker->runsCount <= kWarm) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (joined)
    costs_.ranJoined(mine.waitingCount(), static_cast<int64_t>(calls.size()), mine.positions(), ns);
  else if (calls.size() == 1)
    costs_.ranAlone(mine.positions(), ns);
}

}  // namespace dyn
