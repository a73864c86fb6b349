#include "compiler/codegen/flow/flow_pieces.h"

#include <algorithm>

#include "vm/isa/instruction_reader.h"

namespace dyn {
namespace {

using vm::InstructionReader;
using vm::Opcode;
using vm::OperandKind;

bool waitsForResults(Opcode opcode) { return opcode == Opcode::invoke || opcode == Opcode::invokeClosure; }

// The label an instruction may jump to, or -1.
int32_t labelOf(const InstructionReader& reader) {
  const vm::InstructionRow& instruction = vm::row(reader.opcode());
  for (uint32_t i = 0; i < instruction.operandCount; ++i)
    if (instruction.operands[i].kind == OperandKind::label) return reader.operand(i).words[0];
  return -1;
}

template <typename Visit>
void eachScalar(const InstructionReader& reader, OperandKind kind, Visit&& visit) {
  const vm::InstructionRow& instruction = vm::row(reader.opcode());
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    if (instruction.operands[i].kind != kind) continue;
    const vm::DecodedOperand& operand = reader.operand(i);
    for (uint32_t item = 0; item < operand.count; ++item) visit(static_cast<uint32_t>(operand.words[item]));
  }
}

bool holds(const std::vector<uint64_t>& set, uint32_t bit) { return (set[bit / 64] >> bit % 64 & 1) != 0; }
void put(std::vector<uint64_t>& set, uint32_t bit) { set[bit / 64] |= uint64_t{1} << bit % 64; }

}  // namespace

FlowFunction::FlowFunction(const vm::Program& program, uint32_t function, uint32_t instructionsPerPiece)
    : function_(program.functions[function]), index_(function) {
  cut(instructionsPerPiece);
  findBlocks();
  describeBlocks();
  propagate();
  findEntries();
}

void FlowFunction::cut(uint32_t instructionsPerPiece) {
  InstructionReader reader(function_.code);
  uint32_t count = 0;
  pieces_.push_back({index_, 0, 0, {}});
  while (!reader.atEnd() && reader.next()) {
    if (++count < instructionsPerPiece || reader.atEnd()) continue;
    pieces_.back().end = reader.position();
    pieces_.push_back({index_, reader.position(), 0, {}});
    count = 0;
  }
  pieces_.back().end = static_cast<uint32_t>(function_.code.size());
}

void FlowFunction::findBlocks() {
  for (const FlowPiece& piece : pieces_) blocks_[piece.begin];
  InstructionReader reader(function_.code);
  while (!reader.atEnd() && reader.next()) {
    const int32_t label = labelOf(reader);
    if (label >= 0) blocks_[static_cast<uint32_t>(label)];
    if (waitsForResults(reader.opcode())) resumes_.push_back(reader.position());
    const bool cutsHere = label >= 0 || waitsForResults(reader.opcode()) || vm::endsBlock(reader.opcode());
    if (cutsHere && !reader.atEnd()) blocks_[reader.position()];
  }
}

void FlowFunction::describeBlocks() {
  const size_t words = (function_.scalarCount + 63) / 64;
  InstructionReader reader(function_.code);
  Block* block = nullptr;
  uint32_t piece = 0;
  while (!reader.atEnd()) {
    const uint32_t position = reader.position();
    if (auto found = blocks_.find(position); found != blocks_.end()) {
      block = &found->second;
      block->live.assign(words, 0);
      block->read = block->written = block->live;
      while (position >= pieces_[piece].end) ++piece;
      block->piece = piece;
    }
    if (!reader.next()) return;
    eachScalar(reader, OperandKind::scalarRead, [&](uint32_t scalar) {
      if (!holds(block->written, scalar)) put(block->read, scalar);
    });
    eachScalar(reader, OperandKind::scalarWrite, [&](uint32_t scalar) { put(block->written, scalar); });
    if (const int32_t label = labelOf(reader); label >= 0)
      block->successors.push_back(static_cast<uint32_t>(label));
    const bool last = !reader.atEnd() && blocks_.count(reader.position()) != 0;
    if (last && !vm::endsBlock(reader.opcode())) block->successors.push_back(reader.position());
  }
}

// live = read ∪ (live of successors − written), until nothing changes.
void FlowFunction::propagate() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto it = blocks_.rbegin(); it != blocks_.rend(); ++it) {
      Block& block = it->second;
      for (size_t word = 0; word < block.live.size(); ++word) {
        uint64_t after = 0;
        for (uint32_t successor : block.successors) after |= blocks_.at(successor).live[word];
        const uint64_t live = block.read[word] | (after & ~block.written[word]);
        changed = changed || live != block.live[word];
        block.live[word] = live;
      }
    }
  }
}

bool FlowFunction::jumpsBackWithin(uint32_t words) const {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    const auto next = std::next(block);
    const auto end = next == blocks_.end() ? static_cast<uint32_t>(function_.code.size()) : next->first;
    for (uint32_t to : block->second.successors)
      if (to <= block->first && end - to < words) return true;
  }
  return false;
}

void FlowFunction::findEntries() {
  const auto pieceAt = [&](uint32_t position) -> FlowPiece& { return pieces_[blocks_.at(position).piece]; };
  pieces_.front().entries.push_back(0);
  for (uint32_t position : resumes_)
    if (blocks_.count(position)) pieceAt(position).entries.push_back(position);
  for (const auto& [position, block] : blocks_)
    for (uint32_t successor : block.successors)
      if (blocks_.at(successor).piece != block.piece) pieceAt(successor).entries.push_back(successor);
  for (FlowPiece& piece : pieces_) {
    std::sort(piece.entries.begin(), piece.entries.end());
    piece.entries.erase(std::unique(piece.entries.begin(), piece.entries.end()), piece.entries.end());
  }
}

std::vector<uint32_t> FlowFunction::liveScalars(uint32_t position) const {
  std::vector<uint32_t> scalars;
  const Block& block = blocks_.at(position);
  for (uint32_t scalar = 0; scalar < function_.scalarCount; ++scalar)
    if (holds(block.live, scalar)) scalars.push_back(scalar);
  return scalars;
}

}  // namespace dyn
