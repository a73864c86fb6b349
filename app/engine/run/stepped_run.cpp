#include "app/engine/run/stepped_run.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/engine/model/vm_value.h"
#include "app/engine/run/thread_start.h"
#include "vm/include/dyn_gpu.h"
#include "vm/include/dynvm.h"

namespace dyn {

namespace {

// The registers of main that hold dims of inputs: `dim r1 v0 1` of input 0, before anything else is done.
std::map<std::string, int> dimRegistersOf(const Signature& signature, std::string_view listing) {
  std::map<std::string, int> registers;
  size_t at = listing.find("\nfunction \"main\"");
  if (at == std::string_view::npos) return registers;
  for (at = listing.find('\n', at + 1); at != std::string_view::npos; at = listing.find('\n', at + 1)) {
    int target = 0, input = 0, axis = 0;
    const std::string line(listing.substr(at + 1, 60));
    if (line.rfind("function ", 0) == 0) break;
    if (std::sscanf(line.c_str(), "  dim r%d v%d %d", &target, &input, &axis) != 3) continue;
    const auto ports = static_cast<int>(signature.inputs.size());
    if (input >= ports) continue;
    const std::vector<std::string>& shape = signature.inputs[static_cast<size_t>(input)].info.shape;
    if (axis < static_cast<int>(shape.size()))
      registers.try_emplace(shape[static_cast<size_t>(axis)], target);
  }
  return registers;
}

// Memory of zeros: a value that has its place, and is not computed yet, is shown as such, and not as what
// another one left there.
void* allocateZeros(void*, size_t sizeBytes, size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), sizeBytes) != 0) return nullptr;
  return std::memset(memory, 0, sizeBytes);
}
void freeZeros(void*, void* memory, size_t) { std::free(memory); }

std::string typeOf(const Value& value) {
  if (!value.isTensor()) return "object";
  std::string text = "Tensor[(";
  const std::vector<int64_t>& shape = value.tensor().shape();
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "), " + std::string(toString(value.tensor().dtype())) + "]";
}

}  // namespace

Result<std::unique_ptr<SteppedRun>> SteppedRun::start(std::shared_ptr<LoadedModel> model, CallInputs inputs,
                                                      const EngineOptions& options, Describe describe) {
  std::unique_ptr<SteppedRun> run(new SteppedRun);
  DYN_TRY(dyn_module * program, model->program());
  run->model_ = std::move(model);
  run->inputs_ = std::move(inputs);
  run->describe_ = std::move(describe);
  dyn_options settings{};
  settings.thread_count = threadsOf(options);
  settings.memory_limit_bytes = options.memoryLimitBytes;
  settings.allocate = allocateZeros;
  settings.deallocate = freeZeros;
  settings.interpret = 1;  // machine code does not stop between its instructions
  const dyn_device_options onDevice{options.deviceLimitBytes, options.deviceGraphs ? 0 : 1};
  dyn_context* context = nullptr;
  dyn_status status = dyn_context_create_on(program, &settings, &onDevice, &context);
  if (status != DYN_OK) return vmError(status);
  run->context_ = VmContext(context);
  for (size_t i = 0; i < run->inputs_.values.size(); ++i) {
    DYN_TRY(VmValue value, toVm(context, run->inputs_.values[i], run->model_->signature().inputs[i].type,
                                run->model_->hasModule() ? &run->model_->imported() : nullptr));
    status = dyn_context_set_input(context, static_cast<int32_t>(i), value.get());
    if (status != DYN_OK) return vmError(status);
  }
  const char* listing = dyn_module_disassembly(program);
  run->dimRegisters_ = dimRegistersOf(run->model_->signature(), listing ? listing : "");
  dyn_context_set_trap(context, trapped, run.get(), 1);
  run->request_.by = StepBy::instruction;
  DYN_CHECK(startThread(run->thread_, [self = run.get()] { self->work(); }));
  Interruption none;
  DYN_TRY(const Stop first, run->awaitStop(none));
  run->stop_.why = first.ended ? first.why : "start";
  return run;
}

SteppedRun::~SteppedRun() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    killed_ = true;
    standing_ = false;
  }
  changed_.notify_all();
  dyn_context_cancel(context_.get());
  thread_.join();
}

void SteppedRun::work() {
  const dyn_status status = dyn_context_run(context_.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  status_ = status;
  if (status != DYN_OK) fault_ = vmError(status);
  ended_ = true;
  changed_.notify_all();
}

dyn_trap_action SteppedRun::trapped(void* self, const dyn_trap* trap) {
  return static_cast<SteppedRun*>(self)->onTrap(*trap);
}

std::vector<StoppedRegister> SteppedRun::readRegisters() const {
  std::vector<StoppedRegister> registers;
  int64_t number = 0;
  for (int32_t i = 0; dyn_context_scalar_register(context_.get(), i, &number) == DYN_OK; ++i) {
    StoppedRegister row{"r" + std::to_string(i), std::to_string(number), "", ""};
    if (stop_.function == "main")
      for (const auto& [dim, held] : dimRegisters_)
        if (held == i) row.dims += (row.dims.empty() ? "" : ", ") + dim;
    registers.push_back(std::move(row));
  }
  dyn_value* raw = nullptr;
  for (int32_t i = 0; dyn_context_object_register(context_.get(), i, &raw) == DYN_OK; ++i) {
    const VmValue held(raw);
    if (!raw) continue;
    const Result<Value> value = fromVm(held.get(), Type(), nullptr);
    if (!value.ok()) {
      registers.push_back({"v" + std::to_string(i), "", "memory or a function", ""});
      continue;
    }
    const std::string type = typeOf(*value);
    registers.push_back({"v" + std::to_string(i), describe_(*value, type), type, ""});
  }
  return registers;
}

Result<Value> SteppedRun::objectRegister(int32_t index) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  dyn_value* raw = nullptr;
  const bool known = standing_ && dyn_context_object_register(context_.get(), index, &raw) == DYN_OK;
  const VmValue held(raw);
  if (!known || !raw)
    return makeError(DiagnosticId::usageError,
                     "the register v" + std::to_string(index) + " holds nothing here")
        .note(":registers lists those that do");
  return fromVm(held.get(), Type(), nullptr);
}

// "" where nothing changed. A register is that of the function where it was first seen.
std::string SteppedRun::watchedChange(int32_t function) {
  std::string change;
  const auto depth = stop_.depth;
  for (const std::string& name : request_.watched) {
    const auto dim = dimRegisters_.find(name);
    const int index = dim != dimRegisters_.end() ? dim->second : std::atoi(name.c_str() + 1);
    const auto frame = watchedFrames_.try_emplace(name, function, depth).first->second;
    if (frame != std::pair<int32_t, uint32_t>(function, depth)) continue;
    int64_t now = 0;
    if (dyn_context_scalar_register(context_.get(), index, &now) != DYN_OK) continue;
    const auto [known, isNew] = watchedValues_.try_emplace(name, now);
    if (isNew || known->second == now) continue;
    change += (change.empty() ? "" : "; ") + name + " changed from " + std::to_string(known->second) +
              " to " + std::to_string(now);
    known->second = now;
  }
  return change;
}

bool SteppedRun::stepEnds(const dyn_trap& trap) const {
  const bool otherOperation = trap.place[0] != 0 && placeBefore_ != trap.place;
  switch (request_.by) {
    case StepBy::instruction:
      return true;
    case StepBy::instructionOver:
      return trap.depth <= depthBefore_;
    case StepBy::operation:
      return otherOperation || trap.depth != depthBefore_;
    case StepBy::operationOver:
      return trap.depth < depthBefore_ || (trap.depth == depthBefore_ && otherOperation);
    case StepBy::finish:
      return trap.depth < depthBefore_;
    case StepBy::goOn:
      return false;
  }
  return false;
}

bool SteppedRun::stopsHere(const dyn_trap& trap, Stop& stop) {
  const std::string change = watchedChange(trap.function_index);
  for (const Breakpoint& point : request_.breakpoints)
    if (point.positions.count({trap.function_index, trap.position})) {
      stop.breakpoint = point.number;
      stop.why = "breakpoint " + std::to_string(point.number);
      return true;
    }
  if (!change.empty()) {
    stop.why = change;
    return true;
  }
  if (pause_) {
    stop.why = "interrupted";
    return true;
  }
  if (!stepEnds(trap)) return false;
  depthBefore_ = trap.depth;
  placeBefore_ = trap.place;
  if (--left_ > 0) return false;
  stop.why = request_.by == StepBy::finish ? "the function returned" : "step";
  return true;
}

dyn_trap_action SteppedRun::onTrap(const dyn_trap& trap) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (killed_) return DYN_TRAP_STOP;
  Stop stop;
  stop_.depth = trap.depth;
  stop_.function = trap.function;
  if (stopsHere(trap, stop)) {
    stop.function = trap.function;
    stop.place = trap.place;
    stop.instruction = trap.instruction;
    stop.functionIndex = trap.function_index;
    stop.position = trap.position;
    stop.depth = trap.depth;
    stop.registers = readRegisters();
    stop_ = std::move(stop);
    depthBefore_ = trap.depth;
    placeBefore_ = trap.place;
    pause_ = false;
    standing_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !standing_; });
    left_ = request_.count;
    if (killed_) return DYN_TRAP_STOP;
  }
  // Every instruction is looked at, as watched registers may change at any.
  return DYN_TRAP_STEP;
}

std::shared_ptr<const RunResult> SteppedRun::resultOf() const {
  auto result = std::make_shared<RunResult>();
  result->dims = inputs_.dims;
  result->randomInputs = inputs_.random;
  const int32_t count = dyn_context_result_count(context_.get());
  const Signature& signature = model_->signature();
  for (int32_t i = 0; i < count; ++i) {
    dyn_value* raw = nullptr;
    if (dyn_context_get_output(context_.get(), i, &raw) != DYN_OK) break;
    const VmValue held(raw);
    const bool known = static_cast<size_t>(i) < signature.outputs.size();
    const Type type = known ? signature.outputs[static_cast<size_t>(i)].type : Type();
    Result<Value> value = fromVm(held.get(), type, nullptr);
    if (!value.ok()) continue;
    const std::string name = known ? signature.outputs[static_cast<size_t>(i)].info.name : std::to_string(i);
    const std::string shown =
        value->isTensor() || !known ? typeOf(*value) : signature.outputs[static_cast<size_t>(i)].info.type;
    result->outputs.push_back({name, shown, *std::move(value), ""});
  }
  return result;
}

Result<SteppedRun::Stop> SteppedRun::awaitStop(Interruption& interruption) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!standing_ && !ended_) {
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    if (interruption.requested()) pause_ = true;
  }
  if (standing_) return stop_;
  finished_ = true;
  lock.unlock();
  thread_.join();
  if (fault_) return *std::move(fault_);
  stop_ = Stop();
  stop_.ended = true;
  stop_.why = "the run has ended";
  stop_.result = resultOf();
  return stop_;
}

Result<SteppedRun::Stop> SteppedRun::go(StopRequest request, Interruption& interruption) {
  if (finished_)
    return makeError(DiagnosticId::usageError, "the run has ended").note(":start begins another one");
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    request_ = std::move(request);
    standing_ = false;
  }
  changed_.notify_all();
  return awaitStop(interruption);
}

}  // namespace dyn
