#include "vm/core/run/stage.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "vm/core/run/host_launch.h"

namespace dyn::vm {
namespace {

static_assert(stage::kStepsPerTask == kHostStepsPerTask);

constexpr size_t kMostCuts = 64, kMostTrials = 1024;  // that are kept
constexpr uint32_t kTrials = 4;                       // of each way

}  // namespace

uint64_t Stage::digestOf(const int32_t* at, const stage::Call& call) {
  uint64_t digest = reinterpret_cast<uintptr_t>(at);
  for (const int64_t number : {call.steps, call.pieces, int64_t{call.branch}})
    digest = (digest ^ static_cast<uint64_t>(number)) * 0x100000001b3;
  return digest;
}

void Stage::setBranch(const int32_t* at, int32_t branches, const stage::Call& call) {
  if (isPassing_) return;
  if (!open_) {
    began_ = digestOf(at, call);
    isPassing_ = inTurn_.count(began_) > 0;
    if (isPassing_) return;
  }
  branches_ = open_ ? std::max(branches_, branches) : branches;  // a program from a file may say two numbers
  open_ = true;
  cost_ = call;
}

// --- calls are noted

void Stage::noteTensor(const Tensor* tensor) {
  Noted& noted = tensors_.emplace_back();
  if (!tensor) {
    noted.view.dtype = DYN_NO_TENSOR;
    return;
  }
  BuiltinHost::describe(tensor, noted.view);
  noted.shape = static_cast<int64_t>(numbers_.size());
  numbers_.insert(numbers_.end(), noted.view.shape, noted.view.shape + tensor->rank);
  if (noted.view.strides) {
    noted.strides = static_cast<int64_t>(numbers_.size());
    numbers_.insert(numbers_.end(), noted.view.strides, noted.view.strides + tensor->rank);
  }
  // A single element may lie in a frame of native code, which writes another there before this call runs.
  if (!tensor->storage && tensor->elementCount > 0 && tensor->sizeBytes() <= sizeof(int64_t)) {
    noted.element = static_cast<int64_t>(numbers_.size());
    int64_t word = 0;
    memcpy(&word, tensor->data, tensor->sizeBytes());
    numbers_.push_back(word);
  }
}

Stage::Waiting& Stage::add(const int32_t* at, std::span<Object* const> objects,
                           std::span<const int64_t> scalars) {
  Waiting& waiting = calls_.emplace_back();
  waiting = {};
  waiting.at = at;
  waiting.cost = cost_;
  cost_.steps = 1;  // an operation of several calls says what they take together
  waiting.tensors = tensors_.size();
  for (Object* object : objects) {
    auto* tensor = static_cast<Tensor*>(object);
    noteTensor(tensor);
    // A view of native code does not count its storage.
    for (Object* held : {object, tensor ? static_cast<Object*>(tensor->storage) : nullptr})
      if (held) {
        held_.push_back(held);
        retain(held);
      }
  }
  waiting.scalars = numbers_.size();
  numbers_.insert(numbers_.end(), scalars.begin(), scalars.end());
  return waiting;
}

void Stage::addLaunch(const int32_t* at, uint32_t kernel, int64_t units, int64_t steps,
                      std::span<Object* const> buffers, std::span<const int64_t> scalars) {
  Waiting& waiting = add(at, buffers, scalars);
  waiting.kernel = kernel;
  waiting.units = units;
  waiting.steps = steps;
}

void Stage::addBuiltin(const int32_t* at, const BuiltinRow& row, const DynBuiltinCall& call,
                       std::span<Object* const> objects) {
  Waiting& waiting = add(at, objects, {call.scalars, call.scalarCount});
  waiting.row = &row;
  waiting.call = call;
}

void Stage::setAddresses() {
  views_.clear();
  buffers_.clear();
  for (const Noted& noted : tensors_) {
    DynTensorView view = noted.view;
    if (noted.shape >= 0) view.shape = numbers_.data() + noted.shape;
    if (noted.strides >= 0) view.strides = numbers_.data() + noted.strides;
    if (noted.element >= 0) view.data = numbers_.data() + noted.element;
    views_.push_back(view);
    buffers_.push_back(view.dtype == DYN_NO_TENSOR ? nullptr : view.data);
  }
  for (Waiting& waiting : calls_) {
    if (!waiting.row) continue;
    waiting.call.arguments = views_.data() + waiting.tensors;
    waiting.call.results = waiting.call.arguments + waiting.call.argumentCount;
    waiting.call.scalars = numbers_.data() + waiting.scalars;
  }
}

// --- lanes

Stage::Cut& Stage::cutOf(const std::vector<uint32_t>& threads) {
  if (cuts_.size() > kMostCuts) cuts_.clear();
  Cut& cut = cuts_[threads];
  if (!cut.hosts.empty()) return cut;
  uint32_t first = 0;
  for (const uint32_t share : threads) {
    cut.threads.push_back(std::make_unique<ThreadPool>(*threads_, first, share));
    cut.hosts.push_back(
        std::make_unique<BuiltinHost>(cut.threads.back().get(), cancelBits_, module_.kernelEntries()));
    first += share;
  }
  return cut;
}

std::vector<Stage::Lane> Stage::dealOut(const stage::Cost& cost, Cut* cut) {
  std::vector<Lane> lanes(1);
  if (!cut) {
    lanes[0].host = &host_;
    lanes[0].calls.resize(calls_.size());
    std::iota(lanes[0].calls.begin(), lanes[0].calls.end(), 0U);
    return lanes;
  }
  lanes.resize(cost.threads.size());
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i].host = cut->hosts[i].get();
  for (uint32_t i = 0; i < calls_.size(); ++i)
    lanes[static_cast<size_t>(cost.laneOf[static_cast<size_t>(calls_[i].cost.branch)])].calls.push_back(i);
  return lanes;
}

DynLaunch Stage::launchOf(const Waiting& waiting, const Lane& lane) {
  DynLaunch launch =
      hostLaunch(module_, waiting.kernel, buffers_.data() + waiting.tensors,
                 numbers_.data() + waiting.scalars, waiting.units, waiting.steps, lane.host->context());
  launch.scratch = lane.scratch;
  return launch;
}

uint64_t Stage::scratchOf(const Waiting& waiting, const Lane& lane, int32_t& status) {
  if (!waiting.row) {
    const DynLaunch launch = launchOf(waiting, lane);
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(launch.scratchBytes, uint64_t{launch.gridX}, &bytes)) bytes = UINT64_MAX;
    return bytes;
  }
  if (!waiting.row->flat.scratchBytes) return 0;
  DynBuiltinCall call = waiting.call;
  call.context = lane.host->context();
  uint64_t bytes = 0;
  status = waiting.row->flat.scratchBytes(&call, &bytes);
  return bytes;
}

bool Stage::takeScratch(std::span<Lane> lanes, Fault& fault) {
  for (Lane& lane : lanes) {
    for (const uint32_t index : lane.calls) {
      int32_t status = DYN_OK;
      const uint64_t bytes = scratchOf(calls_[index], lane, status);
      if (status != DYN_OK) {
        fault = {calls_[index].at, lane.host->takeFault(status)};
        return false;
      }
      lane.scratchBytes = std::max(lane.scratchBytes, bytes);
    }
    if (lane.scratchBytes == 0) continue;
    dyn_status why = DYN_OK;
    if (lane.scratchBytes <= INT64_MAX)
      lane.scratch = pool_->allocate(lane.scratchBytes, why, MemoryUse::data);
    if (lane.scratch) continue;
    fault.at = calls_[lane.calls.front()].at;
    fault.status.code = why == DYN_OK ? DYN_OUT_OF_MEMORY : why;
    fault.wantedBytes = lane.scratchBytes;
    return false;
  }
  return true;
}

int32_t Stage::statusOf(const Waiting& waiting, Lane& lane) {
  try {
    if (!waiting.row) {
      const DynLaunch launch = launchOf(waiting, lane);
      const DynDevice& cpu = cpuDevice();
      return cpu.functions->launch(&cpu, 0, &launch, &lane.fault.text);
    }
    DynBuiltinCall call = waiting.call;
    call.context = lane.host->context();
    call.scratch = lane.scratch;
    call.scratchBytes = lane.scratchBytes;
    return waiting.row->flat.run(&call);
  } catch (const std::bad_alloc&) {  // of tables that are not in scratch memory
    return DYN_OUT_OF_MEMORY;
  }
}

bool Stage::runCall(const Waiting& waiting, Lane& lane) {
  const int32_t status = statusOf(waiting, lane);
  if (status == DYN_OK) return true;
  lane.fault.at = waiting.at;
  lane.fault.isKernel = !waiting.row && status == DYN_KERNEL_FAULT;
  if (waiting.row) {
    lane.fault.status = lane.host->takeFault(status);
    lane.fault.status.message = std::string(waiting.row->name) + ": " + lane.fault.status.message;
  } else if (!lane.fault.isKernel) {
    lane.fault.status = failure(static_cast<dyn_status>(status), lane.fault.text.text);
  }
  return false;
}

// Calls before the first that failed run to their end, so that it is always the same that is named.
void Stage::runLane(Lane& lane) {
  for (const uint32_t index : lane.calls) {
    if (index > firstFailed_.load(std::memory_order_relaxed) ||
        (cancelBits_->load(std::memory_order_relaxed) & 1) != 0)
      return;
    if (runCall(calls_[index], lane)) continue;
    lane.failed = index;
    uint32_t first = firstFailed_.load(std::memory_order_relaxed);
    while (index < first && !firstFailed_.compare_exchange_weak(first, index)) {
    }
    return;
  }
}

// The first time of a way has cold caches and hosts without plans: it says little.
bool Stage::Trial::isDecided() const { return runs[0] >= kTrials && runs[1] >= kTrials; }
bool Stage::Trial::nextOnLanes() const {
  if (!isDecided()) return runs[1] <= runs[0];
  return leastNs[1] < leastNs[0];
}

void Stage::noteInTurn() {
  if (inTurn_.size() > kMostTrials) inTurn_.clear();
  inTurn_.insert(began_);
}

// Where two digests are the same, a way is taken that may be the slower one; but one for as many branches.
Stage::Trial& Stage::trialOf() {
  uint64_t digest = began_;
  for (const Waiting& waiting : calls_) digest = digestOf(waiting.at, waiting.cost) ^ digest * 0x100000001b3;
  if (trials_.size() > kMostTrials) trials_.clear();
  const auto [known, isNew] = trials_.try_emplace(digest);
  if (isNew || known->second.cost.laneOf.size() != static_cast<size_t>(branches_)) {
    known->second = {};
    std::vector<stage::Call> costs;
    for (const Waiting& waiting : calls_) costs.push_back(waiting.cost);
    known->second.cost = stage::costOf(costs, branches_, threads_->threadCount());
  }
  return known->second;
}

bool Stage::run(bool dryRun, Fault& fault) {
  open_ = false;
  if (calls_.empty()) return true;
  setAddresses();
  Trial& trial = trialOf();
  const stage::Cost& cost = trial.cost;
  bool well = false;
  if (!cost.mayGain()) {
    well = runWay(false, cost, dryRun, fault);
    noteInTurn();
  } else if (dryRun) {  // the memory of either way
    well = runWay(false, cost, true, fault) && runWay(true, cost, true, fault);
  } else {
    const bool onLanes = trial.nextOnLanes();
    const uint64_t beginNs = threads_->clockNs();
    well = runWay(onLanes, cost, false, fault);
    if (trial.runs[onLanes]++ > 0)
      trial.leastNs[onLanes] = std::min(trial.leastNs[onLanes], threads_->clockNs() - beginNs);
    if (!trial.nextOnLanes() && trial.isDecided()) noteInTurn();
  }
  drop();
  return well;
}

bool Stage::runWay(bool onLanes, const stage::Cost& cost, bool dryRun, Fault& fault) {
  Cut* cut = onLanes ? &cutOf(cost.threads) : nullptr;
  std::vector<Lane> lanes = dealOut(cost, cut);
  for (Lane& lane : lanes) lane.host->setVersion(nullptr);
  struct ScratchEnd {  // also where a message finds no memory
    MemoryPool* pool;
    const std::vector<Lane>& lanes;
    ~ScratchEnd() {
      for (const Lane& lane : lanes) pool->deallocate(lane.scratch);
    }
  } const scratchEnd{pool_, lanes};
  bool well = takeScratch(lanes, fault);
  if (well && !dryRun) {
    firstFailed_.store(UINT32_MAX, std::memory_order_relaxed);
    if (!cut) {
      runLane(lanes[0]);
    } else {
      struct Work {
        Stage* stage;
        std::vector<Lane>* lanes;
      } work{this, &lanes};
      threads_->runLanes(
          cut->threads,
          [](void* argument, uint32_t task) {
            const Work& w = *static_cast<Work*>(argument);
            w.stage->runLane((*w.lanes)[task]);
          },
          &work);
    }
    const uint32_t first = firstFailed_.load(std::memory_order_relaxed);
    for (Lane& lane : lanes)
      if (first != UINT32_MAX && lane.failed == first) fault = std::move(lane.fault);
    well = first == UINT32_MAX;
  }
  return well;
}

void Stage::drop() {
  open_ = isPassing_ = false;
  for (Object* object : held_) release(object);
  held_.clear();
  calls_.clear();
  tensors_.clear();
  numbers_.clear();
}

}  // namespace dyn::vm
