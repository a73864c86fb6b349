// Stage: calls of kernels that wait until the program joins them, so that those of different branches run at
// the same time (inter-operator parallelism).
//
//   branch 2 0 r5 r6   the call that follows is of branch 0 of 2: some r5 elementary steps in r6 pieces
//   launch ...         noted: addresses, sizes, scalars
//   branch 2 1 r7 r8
//   builtininto ...
//   join               both run, here or on lanes
//
// A lane is a part of the pool's threads with a host of its own for builtins. Branches are dealt out to lanes
// by their steps, the longest first; the calls of a lane run in the program's order. Where lanes have no
// chance to gain, all calls run in the program's order on all threads. Where they have, the first runs of a
// stage at some sizes try both ways, and later ones go the faster; calls wait only if that is on lanes.
// Results are the same to the bit.
// The program promises that calls of different branches write what no other of them touches.
//
// What a call uses is held until it has run. Of one interpreter, on its thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vm/base/thread_pool.h"
#include "vm/core/builtin/builtin_host.h"
#include "vm/core/module/module.h"
#include "vm/include/abi/dyn_device.h"
#include "vm/shared/dyn_stage_cost.h"

namespace dyn::vm {

class Stage {
 public:
  // All borrowed; `host` is that of calls on all threads. `threads` null: one.
  Stage(const Module& module, MemoryPool* pool, ThreadPool* threads, const std::atomic<uint32_t>* cancelBits,
        BuiltinHost& host)
      : module_(module), pool_(pool), threads_(threads), cancelBits_(cancelBits), host_(host) {}
  ~Stage() { drop(); }
  Stage(const Stage&) = delete;

  // With one thread calls need not wait.
  bool isPossible() const { return threads_ && threads_->threadCount() > 1; }
  bool isOpen() const { return open_; }
  bool isFull() const { return calls_.size() >= stage::kMostCalls; }
  // `at`: the instruction. A stage whose calls ran in turn when it began so is not opened until its join.
  void setBranch(const int32_t* at, int32_t branches, const stage::Call& call);
  void passJoin() { isPassing_ = false; }

  // Notes a call; the stage is open, and not full. `at`: its instruction. Objects are tensors, or null where
  // an argument is left out.
  void addLaunch(const int32_t* at, uint32_t kernel, int64_t units, int64_t steps,
                 std::span<Object* const> buffers, std::span<const int64_t> scalars);
  // `call`: as described for a flat row; `objects`: of its arguments, then of its results.
  void addBuiltin(const int32_t* at, const BuiltinRow& row, const DynBuiltinCall& call,
                  std::span<Object* const> objects);

  struct Fault {
    const int32_t* at = nullptr;
    Status status;
    DynDeviceText text{};      // of DYN_KERNEL_FAULT
    bool isKernel = false;     // the text says more than the status
    uint64_t wantedBytes = 0;  // of scratch memory that was not there
  };
  // Runs what waits, and closes the stage. False: the first call in the program's order that failed. In a dry
  // run the memory is taken, and given back.
  bool run(bool dryRun, Fault& fault);
  void drop();  // closes it; what waits never runs

 private:
  struct Waiting {
    const int32_t* at;
    stage::Call cost;
    const BuiltinRow* row;  // null: a kernel
    uint32_t kernel;
    int64_t units, steps;     // of a kernel
    DynBuiltinCall call;      // of a builtin; views and scalars by their places below
    size_t tensors, scalars;  // where they begin in tensors_ and numbers_
  };
  // Addresses into numbers_ come when all calls are noted, as it may move until then.
  struct Noted {
    DynTensorView view;
    int64_t shape = -1, strides = -1, element = -1;  // places in numbers_; -1: none
  };
  struct Lane {
    BuiltinHost* host;
    std::vector<uint32_t> calls;  // places in calls_
    uint64_t scratchBytes = 0;
    void* scratch = nullptr;
    uint32_t failed = UINT32_MAX;  // the call
    Fault fault;
  };
  // The threads and hosts of lanes with so many threads each.
  struct Cut {
    std::vector<std::unique_ptr<ThreadPool>> threads;
    std::vector<std::unique_ptr<BuiltinHost>> hosts;
  };

  Waiting& add(const int32_t* at, std::span<Object* const> objects, std::span<const int64_t> scalars);
  void noteTensor(const Tensor* tensor);
  void setAddresses();
  // Of a stage at some sizes: what it is expected to cost, and what both ways took, at their best.
  // 0: in turn, 1: on lanes.
  struct Trial {
    stage::Cost cost;
    uint32_t runs[2] = {};
    uint64_t leastNs[2] = {UINT64_MAX, UINT64_MAX};
    bool isDecided() const;
    bool nextOnLanes() const;
  };

  static uint64_t digestOf(const int32_t* at, const stage::Call& call);
  void noteInTurn();
  Trial& trialOf();
  bool runWay(bool onLanes, const stage::Cost& cost, bool dryRun, Fault& fault);
  std::vector<Lane> dealOut(const stage::Cost& cost, Cut* cut);  // null: all on all threads
  Cut& cutOf(const std::vector<uint32_t>& threads);
  uint64_t scratchOf(const Waiting& waiting, const Lane& lane, int32_t& status);
  bool takeScratch(std::span<Lane> lanes, Fault& fault);
  void runLane(Lane& lane);
  bool runCall(const Waiting& waiting, Lane& lane);
  int32_t statusOf(const Waiting& waiting, Lane& lane);
  DynLaunch launchOf(const Waiting& waiting, const Lane& lane);

  const Module& module_;
  MemoryPool* pool_;
  ThreadPool* threads_;
  const std::atomic<uint32_t>* cancelBits_;
  BuiltinHost& host_;
  std::unordered_map<uint64_t, Trial>
      trials_;  // by a digest of the first call's place and what all calls cost
  std::map<std::vector<uint32_t>, Cut> cuts_;  // by the threads of each lane

  bool open_ = false, isPassing_ = false;  // passing: its calls do not wait
  uint64_t began_ = 0;                     // digest of the branch that opened it
  std::unordered_set<uint64_t> inTurn_;    // of stages that are slower on lanes
  int32_t branches_ = 0;
  stage::Call cost_;  // of the calls that come
  std::vector<Waiting> calls_;
  std::vector<Noted> tensors_;
  std::vector<DynTensorView> views_;  // of tensors_, with their addresses
  std::vector<void*> buffers_;        // the same, as kernels take them
  std::vector<int64_t> numbers_;      // scalars, sizes, strides, single elements
  std::vector<Object*> held_;
  std::atomic<uint32_t> firstFailed_{UINT32_MAX};
};

}  // namespace dyn::vm
