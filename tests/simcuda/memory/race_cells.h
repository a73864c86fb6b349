// race_cells.h — who touched a word last: finds accesses that nothing orders, whatever the order was in which
// they happened to run.
//
// Two accesses to a word, one of them a write, are ordered when they are of one thread, or of one block with
// a barrier of the block between, or of one warp with a whole bar.warp.sync between. Accesses of different
// blocks never are. Two atomic ones need no order.
#pragma once
#include <cstdint>

namespace simcuda {

// Who accesses: the epochs count the barriers of the block and of the warp that were passed before.
struct Accessor {
  uint32_t launch, block, epoch, warpEpoch;
  uint16_t thread;  // in its block
};

class RaceCell {
 public:
  // The access that is not ordered with this one; kNone when all is well. With a conflict the cell stays as
  // it is, for the report.
  enum class Conflict : uint8_t { kNone, kAfterWrite, kAfterRead };

  Conflict read(const Accessor& me) {
    begin(me);
    if (writerRaces(me)) return Conflict::kAfterWrite;
    uint16_t flags = kSet;
    if (reader_.flags) {
      flags |= reader_.flags & kBlocks;
      if (reader_.block != me.block) {
        flags |= kBlocks;
      } else if (reader_.epoch == me.epoch) {
        flags |= reader_.flags & kWarps;
        if (reader_.thread / 32 != me.thread / 32) {
          flags |= kWarps;
        } else if (reader_.warpEpoch == me.warpEpoch) {
          flags |= (reader_.flags & kLanes) | (reader_.thread != me.thread ? kLanes : 0);
        }
      }
    }
    reader_ = {me.block, me.epoch, me.warpEpoch, me.thread, flags};
    return Conflict::kNone;
  }

  Conflict write(const Accessor& me, bool atomic) {
    begin(me);
    bool bothAtomic = atomic && (writer_.flags & kAtomic);
    if (!bothAtomic && writerRaces(me)) return Conflict::kAfterWrite;
    if (readerRaces(me)) return Conflict::kAfterRead;
    uint16_t flags = kSet | (atomic ? kAtomic : 0);
    if (bothAtomic) {
      flags |= writer_.flags & kBlocks;
      if (writer_.block != me.block) {
        flags |= kBlocks;
      } else if (writer_.epoch == me.epoch) {
        flags |= (writer_.flags & kLanes) | (writer_.thread != me.thread ? kLanes : 0);
      }
    }
    writer_ = {me.block, me.epoch, me.warpEpoch, me.thread, flags};
    return Conflict::kNone;
  }

  // A read that needs no order to atomic writes, nor they to it.
  Conflict atomicRead(const Accessor& me) {
    begin(me);
    return !(writer_.flags & kAtomic) && writerRaces(me) ? Conflict::kAfterWrite : Conflict::kNone;
  }

  // Whether something of this launch has written it: ld.global.nc must not see that.
  bool writtenIn(uint32_t launch) const { return launch_ == launch && writer_.flags; }

  uint32_t writerBlock() const { return writer_.block; }
  uint32_t readerBlock() const { return reader_.block; }
  uint16_t writerThread() const { return writer_.thread; }
  uint16_t readerThread() const { return reader_.thread; }

 private:
  // kLanes: several lanes of one warp since its last bar.warp.sync (of a writer: several atomic writers since
  // the last barrier). kWarps: several warps since the last barrier of the block. kBlocks: several blocks of
  // the launch.
  enum Flags : uint16_t { kSet = 1, kAtomic = 2, kLanes = 4, kWarps = 8, kBlocks = 16 };
  struct Stamp {
    uint32_t block, epoch, warpEpoch;
    uint16_t thread, flags;
  };

  void begin(const Accessor& me) {
    if (launch_ == me.launch) return;
    launch_ = me.launch;
    writer_.flags = reader_.flags = 0;
  }

  static bool ordered(const Stamp& before, const Accessor& me) {
    return before.block == me.block &&
           (before.thread == me.thread || before.epoch != me.epoch ||
            (before.thread / 32 == me.thread / 32 && before.warpEpoch != me.warpEpoch));
  }
  bool writerRaces(const Accessor& me) const {
    if (!writer_.flags) return false;
    return (writer_.flags & kBlocks) || !ordered(writer_, me) ||
           ((writer_.flags & kLanes) && writer_.epoch == me.epoch);
  }
  bool readerRaces(const Accessor& me) const {
    if (!reader_.flags) return false;
    if ((reader_.flags & kBlocks) || reader_.block != me.block) return true;
    if (reader_.epoch != me.epoch) return false;
    if ((reader_.flags & kWarps) || reader_.thread / 32 != me.thread / 32) return true;
    return reader_.warpEpoch == me.warpEpoch && ((reader_.flags & kLanes) || reader_.thread != me.thread);
  }

  uint32_t launch_;
  Stamp writer_, reader_;
};

}  // namespace simcuda
