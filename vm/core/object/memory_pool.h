// MemoryPool: where tensors, objects and call stacks of one context live. A coalescing pool over big chunks
// from the system: blocks go back to the pool, so a second run with the same shapes asks the system for
// nothing.
//
// Two-level segregated free lists (Masmano et al., TLSF, 2004): allocate and free are O(1). When a request
// does not fit, chunks that are wholly free go back to the system first, so what is held stays near what is
// in use. The memory limit is checked before the system is asked. Small blocks wait in lists of one size
// each, unmerged, until their size is asked for again (a loop asks for the same ones in each iteration) or
// something else finds no room. Thread-safe; between beginRun() and endRun() those lists belong to the thread
// that runs, which takes no lock for them. The pool outlives its owner until its last block is returned
// (values may outlive their context).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vm/base/allocator.h"
#include "vm/base/spin_lock.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {

// What a block is for. Tensor data and scratch memory of kernels are `data`; in a dry run they are counted,
// not made.
enum class MemoryUse : uint8_t { bookkeeping, data };

struct MemoryPoolOptions {
  AllocatorHooks hooks;
  uint64_t limitBytes = UINT64_MAX;  // of bytes held from the system
  uint64_t capBytes = UINT64_MAX;    // idle bytes that endRun() leaves
  bool dryRun = false;  // large blocks of data have no memory behind them: nobody reads or writes them
  // All memory is this, filled from its beginning: a place is taken behind the others only where no gap
  // between them is large enough, so where blocks lie does not depend on how much there is. At a multiple of
  // 64. heldBytes is as far as it was ever filled.
  void* arena = nullptr;
  uint64_t arenaBytes = 0;
  // Blocks are placed as in an arena that never ends; with `dryRun` heldBytes is what a run needs.
  bool layOut = false;
};

struct MemoryStatistics {
  uint64_t heldBytes = 0;                  // from the system
  uint64_t inUseBytes = 0, peakBytes = 0;  // as asked for, in units of 64; peak of inUse since beginRun
  uint64_t systemAllocations = 0;          // since beginRun
  uint64_t liveBlocks = 0;
};

class MemoryPool {
 public:
  static MemoryPool* create(const MemoryPoolOptions& options);  // null: out of memory
  // The owner lets go: the pool frees itself once no block is live.
  void releaseOwner();

  // 64-byte aligned; null and `why` = DYN_OUT_OF_MEMORY or DYN_MEMORY_LIMIT on failure. sizeBytes 0 is served
  // as 64.
  void* allocate(uint64_t sizeBytes, dyn_status& why, MemoryUse use = MemoryUse::bookkeeping);
  void deallocate(void* memory);

  void beginRun();  // by the thread that runs; resets peak and the allocation count
  void endRun();    // by that thread; trims down to the cap
  void trim();      // gives every wholly free chunk back
  MemoryStatistics statistics() const;
  uint64_t limitBytes() const { return options_.limitBytes; }
  bool dryRun() const { return options_.dryRun; }
  bool laysOut() const { return options_.layOut; }

 private:
  struct Chunk;
  struct Block;
  static constexpr uint32_t kSecondLevels = 8, kFirstLevels = 44, kClasses = kFirstLevels * kSecondLevels;

  explicit MemoryPool(const MemoryPoolOptions& options) : options_(options) {}
  ~MemoryPool();
  static uint32_t classOf(uint64_t sizeBytes);
  Block* findFree(uint64_t sizeBytes);
  Block* addChunk(uint64_t sizeBytes, dyn_status& why);
  Block* extendArena(uint64_t sizeBytes, dyn_status& why);
  void insertFree(Block* block);
  void removeFree(Block* block);
  void split(Block* block, uint64_t sizeBytes);
  Block* merge(Block* block);
  void releaseFreeChunks(uint64_t keepBytes);
  bool mergeWaiting();  // false: none waited, or they are another thread's
  void* allocateLocked(uint64_t sizeBytes, uint64_t countedBytes, dyn_status& why);
  void deallocateLocked(Block* block);

  // Live blocks and their bytes as counted by those who may write here: a block that one took may be given
  // back by the other, so each alone may be below 0.
  struct Counts {
    std::atomic<int64_t> blocks{0}, bytes{0};
    void add(int64_t moreBlocks, int64_t moreBytes) {
      blocks.store(blocks.load(std::memory_order_relaxed) + moreBlocks, std::memory_order_relaxed);
      bytes.store(bytes.load(std::memory_order_relaxed) + moreBytes, std::memory_order_relaxed);
    }
  };
  uint64_t liveBlocks() const {
    return static_cast<uint64_t>(running_.blocks.load(std::memory_order_relaxed) +
                                 others_.blocks.load(std::memory_order_relaxed));
  }
  uint64_t inUseBytes() const {
    return static_cast<uint64_t>(running_.bytes.load(std::memory_order_relaxed) +
                                 others_.bytes.load(std::memory_order_relaxed));
  }
  void notePeak();
  bool isRunning() const;      // the calling thread
  bool waitingIsOurs() const;  // with the lock held

  MemoryPoolOptions options_;
  mutable SpinLock lock_;  // held for some tens of nanoseconds, and hardly ever wanted by two
  Block* free_[kClasses] = {};
  static constexpr uint64_t kWaitingSizes = 64;  // units of 64 bytes: 64 .. 4096
  Block* waiting_[kWaitingSizes] = {};
  bool anyWaiting_ = false;
  uint64_t classBits_[(kClasses + 63) / 64] = {};
  Chunk* chunks_ = nullptr;
  Block* arenaLast_ = nullptr;              // the block that ends where the arena is filled to
  std::atomic<const void*> runs_{nullptr};  // the thread that runs; written with the lock held
  Counts running_, others_;                 // written by that thread; with the lock held
  std::atomic<uint64_t> peakBytes_{0};
  uint64_t heldBytes_ = 0, systemAllocations_ = 0;
  bool ownerGone_ = false;
};

}  // namespace dyn::vm
