// Functions of bytecode as native code sees them: cut into pieces of bounded size, with the places where a
// piece may be entered, and the scalar registers that must be there then.
//
//   function main:  0 ... 2500 words   →   piece [0, 1203)   entered at 0, 310 (behind a call), 88 (from piece 2)
//                                          piece [1203, 2500) entered at 1203
//
// A piece is one function of machine code. Without the cuts compile time would grow faster than the program;
// what crosses a cut goes through memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "vm/isa/program.h"

namespace dyn {

struct FlowPiece {
  uint32_t function = 0;
  uint32_t begin = 0, end = 0;    // positions
  std::vector<uint32_t> entries;  // ascending; `begin` is one when it is 0 or another piece goes on there
};

class FlowFunction {
 public:
  // `instructionsPerPiece`: about so many are in one.
  FlowFunction(const vm::Program& program, uint32_t function, uint32_t instructionsPerPiece);

  const std::vector<FlowPiece>& pieces() const { return pieces_; }
  // Ascending: where code does not only fall through to, or may be entered, or goes on behind a branch.
  bool beginsBlock(uint32_t position) const { return blocks_.count(position) != 0; }
  // Of the begins of blocks: where the run may go on behind the block, in this frame.
  const std::vector<uint32_t>& successors(uint32_t position) const { return blocks_.at(position).successors; }
  // Does a block lead back, to one that begins fewer than so many words before it ends? Then it may be the
  // end of a short loop.
  bool jumpsBackWithin(uint32_t words) const;
  // Scalar registers that are read from here on before they are written; of the begins of blocks.
  std::vector<uint32_t> liveScalars(uint32_t position) const;

 private:
  struct Block {
    std::vector<uint64_t> live;           // at its begin
    std::vector<uint64_t> read, written;  // read before written; written
    std::vector<uint32_t> successors;     // positions
    uint32_t piece = 0;
  };
  void cut(uint32_t instructionsPerPiece);
  void findBlocks();
  void describeBlocks();
  void propagate();
  void findEntries();

  const vm::Function& function_;
  uint32_t index_;
  std::vector<FlowPiece> pieces_;
  std::map<uint32_t, Block> blocks_;  // by position
  std::vector<uint32_t> resumes_;     // behind calls
};

}  // namespace dyn
