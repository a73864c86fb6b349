#include "compiler/lower/packed_program.h"

#include <algorithm>

#include "vm/isa/code_writer.h"
#include "vm/isa/instruction_reader.h"
#include "vm/shared/dyn_panels.h"

namespace dyn {

namespace {

using vm::Opcode;
using vm::OperandList;

int32_t indexOf(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<int32_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// V[1] := the packed weights.
void emitPacking(vm::CodeWriter& code, const vm::Program& program, const Packing& packing) {
  code.emit(Opcode::loadConstant, 0, packing.constant);
  code.emit(Opcode::callBuiltin, indexOf(program.builtins, packing.builtin), OperandList{1}, OperandList{0},
            OperandList(), OperandList(packing.numbers));
}

Status finish(vm::CodeWriter& code, vm::Function& function) {
  const vm::Status finished = code.finish(function);
  if (finished.ok()) return {};
  return makeError(DiagnosticId::internalError, "bytecode of @" + function.name + ": " + finished.message);
}

vm::ConstantRow rowOf(const HostTensor& tensor, const std::string& name) {
  vm::ConstantRow row;
  row.dtype = static_cast<uint8_t>(tensor.dtype());
  row.shape = tensor.shape();
  row.sizeBytes = static_cast<uint64_t>(tensor.sizeBytes());
  row.name = name;
  return row;
}

// The word of the index that an instruction of this opcode names, in code it may write to.
template <typename Visit>
void forEachIndex(std::vector<vm::Function>& functions, Opcode opcode, const Visit& visit) {
  for (vm::Function& function : functions) {
    vm::InstructionReader reader(function.code);
    while (!reader.atEnd()) {
      const uint32_t position = reader.position();
      if (!reader.next()) break;  // the verifier says what is wrong
      if (reader.opcode() != opcode) continue;
      constexpr uint32_t kIndexWord = 2;  // behind opcode and register
      visit(function.code[position], function.code[position + kIndexWord]);
    }
  }
}

// Takes away the constants that nothing reads any more.
void dropUnread(LoadableProgram& out) {
  const size_t count = out.constants.size();
  std::vector<int32_t> place(count, -1);
  forEachIndex(out.program.functions, Opcode::loadConstant,
               [&](int32_t&, int32_t& index) { place[static_cast<size_t>(index)] = 0; });
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (place[i] < 0) continue;
    place[i] = static_cast<int32_t>(kept);
    if (kept != i) {
      out.program.constants[kept] = std::move(out.program.constants[i]);
      out.constants[kept] = std::move(out.constants[i]);
      out.onlyPacked[kept] = out.onlyPacked[i];
    }
    ++kept;
  }
  out.program.constants.resize(kept);
  out.constants.resize(kept);
  out.onlyPacked.resize(kept);
  forEachIndex(out.program.functions, Opcode::loadConstant,
               [&](int32_t&, int32_t& index) { index = place[static_cast<size_t>(index)]; });
}

void sayPanels(vm::Program& program, const std::string& panels) {
  program.metadata.emplace_back(kPanelsKey, panels);
  std::sort(program.metadata.begin(), program.metadata.end());
}

}  // namespace

Status addInit(vm::Program& program, std::span<const Packing> packings, const DeviceConstants& constants) {
  vm::CodeWriter code;
  for (const auto& [constant, global] : constants.globals) {
    code.emit(Opcode::loadConstant, 0, constant);
    code.emit(Opcode::deviceCopy, 1, 0, vm::kHostDevice, constants.device);
    code.emit(Opcode::storeGlobal, 1, global);
  }
  for (const Packing& packing : packings) {
    emitPacking(code, program, packing);
    code.emit(Opcode::storeGlobal, 1, packing.global);
  }
  code.emit(Opcode::ret, OperandList());
  program.initFunction = static_cast<int32_t>(program.functions.size());
  vm::Function& init = program.functions.emplace_back();
  init.name = "init";
  return finish(code, init);
}

Result<LoadableProgram> packingProgram(const LoweredModule& lowered, const Packing& packing) {
  LoadableProgram out;
  const auto from = static_cast<size_t>(packing.constant);
  out.constants = {lowered.constants[from]};
  out.onlyPacked = {true};
  out.program.constants = {lowered.program.constants[from]};
  out.program.builtins = {packing.builtin};
  Packing first = packing;
  first.constant = 0;
  vm::CodeWriter code;
  emitPacking(code, out.program, first);
  code.emit(Opcode::ret, OperandList{1});
  vm::Function& function = out.program.functions.emplace_back();
  function.name = kPackFunction;
  function.resultCount = 1;
  DYN_CHECK(finish(code, function));
  return out;
}

Result<LoadableProgram> withPacked(const LoweredModule& lowered,
                                   std::span<const std::optional<HostTensor>> packed,
                                   const std::string& panels) {
  LoadableProgram out{lowered.program, lowered.constants, lowered.onlyPacked};
  std::vector<int32_t> constantOf(lowered.program.globalCount, -1), globalOf = constantOf;
  std::vector<Packing> rest;
  for (size_t i = 0; i < lowered.packings.size(); ++i) {
    const Packing& packing = lowered.packings[i];
    const auto global = static_cast<size_t>(packing.global);
    if (!packed[i]) {
      globalOf[global] = static_cast<int32_t>(rest.size());
      rest.push_back(packing);
      rest.back().global = globalOf[global];
      continue;
    }
    constantOf[global] = static_cast<int32_t>(out.constants.size());
    const std::string& name = lowered.program.constants[static_cast<size_t>(packing.constant)].name;
    out.program.constants.push_back(rowOf(*packed[i], name + ", packed"));
    out.constants.push_back(*packed[i]);
    out.onlyPacked.push_back(false);
  }
  if (rest.size() == lowered.packings.size()) return out;
  // @init is the last function, and nothing calls it.
  out.program.functions.pop_back();
  out.program.initFunction = -1;
  forEachIndex(out.program.functions, Opcode::loadGlobal, [&](int32_t& opcode, int32_t& index) {
    const auto global = static_cast<size_t>(index);
    if (constantOf[global] >= 0) opcode = static_cast<int32_t>(Opcode::loadConstant);
    index = constantOf[global] >= 0 ? constantOf[global] : globalOf[global];
  });
  out.program.globalCount = static_cast<uint32_t>(rest.size());
  if (!rest.empty()) DYN_CHECK(addInit(out.program, rest, {}));
  dropUnread(out);
  sayPanels(out.program, panels);
  return out;
}

}  // namespace dyn
