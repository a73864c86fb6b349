#include "vm/core/object/memory_pool.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

namespace dyn::vm {

struct MemoryPool::Chunk {
  uint64_t sizeBytes;  // of the whole system block, this header included
  Chunk *next, *previous;
};

// In front of every block of memory; physical neighbours are found by address and size.
struct alignas(64) MemoryPool::Block {
  uint64_t sizeBytes;     // payload, a multiple of 64
  uint64_t countedBytes;  // as asked for: a block may be a little larger, and in a rehearsal smaller
  Block* previousPhysical;
  Block *nextFree, *previousFree;
  bool free, last;

  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  Block* nextPhysical() { return last ? nullptr : reinterpret_cast<Block*>(payload() + sizeBytes); }
};

namespace {
constexpr uint64_t kUnit = 64;
constexpr uint64_t kSmallChunkBytes = uint64_t{1} << 20;
constexpr uint64_t kLargestRequest = uint64_t{1} << 46;
// So many small chunks make up a limit: what is small leaves it to what is large.
constexpr uint64_t kChunksOfLimit = 64;
constexpr uint64_t kLargestRehearsedBytes = uint64_t{1}
                                            << 16;  // small data, such as shapes, is there in a rehearsal too
constexpr uint64_t kMostRehearsedBytes =
    uint64_t{1} << 25;  // of memory that is there; a loop that collects without end takes more
constexpr uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
}  // namespace

// One address for each thread that lives.
static const void* thisThread() {
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
  return __builtin_thread_pointer();
#define DYN_KNOWS_THREAD_POINTER 1
#endif
#endif
#ifndef DYN_KNOWS_THREAD_POINTER
  static thread_local char here;
  return &here;
#endif
}

// Inline: a small block takes little longer than these.
inline bool MemoryPool::isRunning() const { return runs_.load(std::memory_order_relaxed) == thisThread(); }
inline bool MemoryPool::waitingIsOurs() const {
  const void* runs = runs_.load(std::memory_order_relaxed);
  return !runs || runs == thisThread();
}
inline void MemoryPool::notePeak() {
  const uint64_t now = inUseBytes();
  uint64_t peak = peakBytes_.load(std::memory_order_relaxed);
  while (now > peak && !peakBytes_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

MemoryPool* MemoryPool::create(const MemoryPoolOptions& options) {
  auto* pool = new (std::nothrow) MemoryPool(options);
  if (!pool || !options.layOut) return pool;
  pool->options_.arena = reserveAddresses(pool->options_.arenaBytes);
  if (pool->options_.arena) return pool;
  delete pool;
  return nullptr;
}

MemoryPool::~MemoryPool() {
  if (options_.layOut && options_.arena) returnAddresses(options_.arena, options_.arenaBytes);
}

void MemoryPool::releaseOwner() {
  bool last;
  {
    std::lock_guard lock(lock_);
    ownerGone_ = true;
    releaseFreeChunks(0);
    last = liveBlocks() == 0;
  }
  if (last) delete this;
}

uint32_t MemoryPool::classOf(uint64_t sizeBytes) {
  const uint64_t units = sizeBytes / kUnit;  // ≥ 1
  const auto first = static_cast<uint32_t>(std::bit_width(units)) - 1;
  const uint32_t second = first >= 3 ? static_cast<uint32_t>(units >> (first - 3)) & 7
                                     : static_cast<uint32_t>(units << (3 - first)) & 7;
  return std::min(first * kSecondLevels + second, kClasses - 1);
}

void MemoryPool::insertFree(Block* block) {
  const uint32_t index = classOf(block->sizeBytes);
  block->free = true;
  block->previousFree = nullptr;
  block->nextFree = free_[index];
  if (free_[index]) free_[index]->previousFree = block;
  free_[index] = block;
  classBits_[index / 64] |= uint64_t{1} << (index % 64);
}

void MemoryPool::removeFree(Block* block) {
  const uint32_t index = classOf(block->sizeBytes);
  if (block->nextFree) block->nextFree->previousFree = block->previousFree;
  if (block->previousFree)
    block->previousFree->nextFree = block->nextFree;
  else
    free_[index] = block->nextFree;
  if (!free_[index]) classBits_[index / 64] &= ~(uint64_t{1} << (index % 64));
  block->free = false;
}

MemoryPool::Block* MemoryPool::findFree(uint64_t sizeBytes) {
  // A block of the request's own class may be too small; look at a few, since equal sizes recur from run to
  // run.
  const uint32_t own = classOf(sizeBytes);
  Block* best = nullptr;
  int looks = 0;
  for (Block* block = free_[own]; block && looks < 64; block = block->nextFree, ++looks)
    if (block->sizeBytes >= sizeBytes && (!best || block->sizeBytes < best->sizeBytes)) best = block;
  if (best) return best;
  for (uint32_t index = own + 1; index < kClasses;) {
    const uint64_t bits = classBits_[index / 64] >> (index % 64);
    if (bits != 0) return free_[index + static_cast<uint32_t>(std::countr_zero(bits))];
    index = (index / 64 + 1) * 64;
  }
  return nullptr;
}

bool MemoryPool::mergeWaiting() {
  if (!waitingIsOurs() || !anyWaiting_) return false;
  anyWaiting_ = false;
  for (Block*& first : waiting_)
    while (Block* block = first) {
      first = block->nextFree;
      insertFree(merge(block));
    }
  return true;
}

void MemoryPool::releaseFreeChunks(uint64_t keepBytes) {
  mergeWaiting();
  for (Chunk* chunk = chunks_; chunk;) {
    if (heldBytes_ - std::min(heldBytes_, inUseBytes()) <= keepBytes) return;
    Chunk* next = chunk->next;
    auto* first = reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(chunk) + sizeof(Block));
    if (first->free && first->last) {
      removeFree(first);
      if (chunk->next) chunk->next->previous = chunk->previous;
      if (chunk->previous)
        chunk->previous->next = chunk->next;
      else
        chunks_ = chunk->next;
      heldBytes_ -= chunk->sizeBytes;
      deallocateAligned(options_.hooks, chunk, chunk->sizeBytes);
    }
    chunk = next;
  }
}

MemoryPool::Block* MemoryPool::extendArena(uint64_t sizeBytes, dyn_status& why) {
  Block* last = arenaLast_;
  const bool grows = last && last->free;
  if (grows && last->sizeBytes >= sizeBytes) return last;  // one that was not found among its like
  const uint64_t more = grows ? sizeBytes - last->sizeBytes : sizeof(Block) + sizeBytes;
  if (more > options_.arenaBytes - heldBytes_) {
    why = DYN_MEMORY_LIMIT;
    return nullptr;
  }
  if (grows) {
    removeFree(last);
    last->sizeBytes += more;
  } else {
    auto* block = reinterpret_cast<Block*>(static_cast<std::byte*>(options_.arena) + heldBytes_);
    block->sizeBytes = sizeBytes;
    block->previousPhysical = last;
    block->last = true;
    if (last) last->last = false;
    last = arenaLast_ = block;
  }
  heldBytes_ += more;
  insertFree(last);
  return last;
}

MemoryPool::Block* MemoryPool::addChunk(uint64_t sizeBytes, dyn_status& why) {
  if (options_.arena) return extendArena(sizeBytes, why);
  static_assert(sizeof(Block) == 64 && sizeof(Chunk) <= sizeof(Block));
  releaseFreeChunks(0);
  const uint64_t least = sizeBytes + 2 * sizeof(Block);
  const uint64_t small = std::min(kSmallChunkBytes, options_.limitBytes / kChunksOfLimit);
  uint64_t wanted = least <= small / 4 ? small : roundUp(least, 4096);
  if (options_.rehearsal && heldBytes_ + wanted > kMostRehearsedBytes) {
    why = DYN_UNSUPPORTED;
    return nullptr;
  }
  const uint64_t room = options_.limitBytes - std::min(options_.limitBytes, heldBytes_);
  if (wanted > room) wanted = least;
  if (wanted > room) {
    why = DYN_MEMORY_LIMIT;
    return nullptr;
  }
  void* memory = allocateAligned(options_.hooks, wanted, 64);
  if (!memory) {
    why = DYN_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* chunk = static_cast<Chunk*>(memory);
  chunk->sizeBytes = wanted;
  chunk->previous = nullptr;
  chunk->next = chunks_;
  if (chunks_) chunks_->previous = chunk;
  chunks_ = chunk;
  heldBytes_ += wanted;
  ++systemAllocations_;
  auto* block = reinterpret_cast<Block*>(static_cast<std::byte*>(memory) + sizeof(Block));
  block->sizeBytes = (wanted - 2 * sizeof(Block)) / kUnit * kUnit;
  block->previousPhysical = nullptr;
  block->last = true;
  insertFree(block);
  return block;
}

void MemoryPool::split(Block* block, uint64_t sizeBytes) {
  if (block->sizeBytes < sizeBytes + sizeof(Block) + kUnit) return;
  auto* rest = reinterpret_cast<Block*>(block->payload() + sizeBytes);
  rest->sizeBytes = block->sizeBytes - sizeBytes - sizeof(Block);
  rest->previousPhysical = block;
  rest->last = block->last;
  block->sizeBytes = sizeBytes;
  block->last = false;
  if (rest->last) arenaLast_ = rest;
  if (Block* next = rest->nextPhysical()) next->previousPhysical = rest;
  insertFree(rest);
}

MemoryPool::Block* MemoryPool::merge(Block* block) {
  if (Block* next = block->nextPhysical(); next && next->free) {
    removeFree(next);
    block->sizeBytes += sizeof(Block) + next->sizeBytes;
    block->last = next->last;
  }
  if (Block* previous = block->previousPhysical; previous && previous->free) {
    removeFree(previous);
    previous->sizeBytes += sizeof(Block) + block->sizeBytes;
    previous->last = block->last;
    block = previous;
  }
  if (Block* next = block->nextPhysical()) next->previousPhysical = block;
  if (block->last) arenaLast_ = block;
  return block;
}

void* MemoryPool::allocate(uint64_t sizeBytes, dyn_status& why, MemoryUse use) {
  if (sizeBytes > kLargestRequest) {
    why = options_.limitBytes == UINT64_MAX ? DYN_OUT_OF_MEMORY : DYN_MEMORY_LIMIT;
    return nullptr;
  }
  sizeBytes = roundUp(std::max(sizeBytes, kUnit), kUnit);
  const uint64_t countedBytes = sizeBytes, units = sizeBytes / kUnit;
  if (units > kWaitingSizes || !isRunning()) {
    const bool unbacked = options_.rehearsal && !options_.layOut && use == MemoryUse::data &&
                          sizeBytes > kLargestRehearsedBytes;
    return allocateLocked(unbacked ? kUnit : sizeBytes, countedBytes, why);
  }
  static_assert(kWaitingSizes * kUnit <= kLargestRehearsedBytes);
  Block* block = waiting_[units - 1];
  if (!block) return allocateLocked(sizeBytes, countedBytes, why);
  waiting_[units - 1] = block->nextFree;
  block->countedBytes = countedBytes;
  running_.add(1, static_cast<int64_t>(countedBytes));
  notePeak();
  return block->payload();
}

void* MemoryPool::allocateLocked(uint64_t sizeBytes, uint64_t countedBytes, dyn_status& why) {
  std::lock_guard lock(lock_);
  const uint64_t units = sizeBytes / kUnit;
  Block* block = units <= kWaitingSizes && waitingIsOurs() ? waiting_[units - 1] : nullptr;
  if (block) {
    waiting_[units - 1] = block->nextFree;
  } else {
    block = findFree(sizeBytes);
    if (!block && mergeWaiting()) block = findFree(sizeBytes);
    if (!block) block = addChunk(sizeBytes, why);
    if (!block) return nullptr;
    removeFree(block);
    split(block, sizeBytes);
  }
  block->countedBytes = countedBytes;
  others_.add(1, static_cast<int64_t>(countedBytes));
  notePeak();
  return block->payload();
}

void MemoryPool::deallocate(void* memory) {
  if (!memory) return;
  Block* block = static_cast<Block*>(memory) - 1;
  // A block is as large as was asked for, or too small a rest larger.
  const uint64_t units = block->sizeBytes / kUnit;
  if (units > kWaitingSizes || !isRunning()) return deallocateLocked(block);
  running_.add(-1, -static_cast<int64_t>(block->countedBytes));
  block->nextFree = waiting_[units - 1];
  waiting_[units - 1] = block;
  anyWaiting_ = true;
}

void MemoryPool::deallocateLocked(Block* block) {
  bool last;
  {
    std::lock_guard lock(lock_);
    others_.add(-1, -static_cast<int64_t>(block->countedBytes));
    const uint64_t units = block->sizeBytes / kUnit;
    if (units <= kWaitingSizes && waitingIsOurs()) {
      block->nextFree = waiting_[units - 1];
      waiting_[units - 1] = block;
      anyWaiting_ = true;
    } else {
      insertFree(merge(block));
    }
    last = ownerGone_ && liveBlocks() == 0;
    if (ownerGone_) releaseFreeChunks(0);
  }
  if (last) delete this;
}

void MemoryPool::beginRun() {
  std::lock_guard lock(lock_);
  runs_.store(thisThread(), std::memory_order_relaxed);
  peakBytes_.store(inUseBytes(), std::memory_order_relaxed);
  systemAllocations_ = 0;
}

void MemoryPool::endRun() {
  std::lock_guard lock(lock_);
  runs_.store(nullptr, std::memory_order_relaxed);
  if (options_.capBytes != UINT64_MAX) releaseFreeChunks(options_.capBytes);
}

void MemoryPool::trim() {
  std::lock_guard lock(lock_);
  releaseFreeChunks(0);
}

MemoryStatistics MemoryPool::statistics() const {
  std::lock_guard lock(lock_);
  return {heldBytes_, inUseBytes(), peakBytes_.load(std::memory_order_relaxed), systemAllocations_,
          liveBlocks()};
}

}  // namespace dyn::vm
