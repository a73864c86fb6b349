// Program: a module of bytecode in memory, as the compiler builds it and the loader reads it.
//
// Code of a function is a flat array of 32-bit words: opcode, then operands as isa.def lists them. A
// register, index, label, dtype or small number is one word; an immediate is two (low, high); a list is its
// length, then its words. A label is the word position of an instruction in the same function. CodeWriter
// (code_writer.h) writes it; nothing else should count words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dyn::vm {

// One dim of the contract at the border: a constant, or an expression over named symbols kept as text ("seq",
// "2*seq + 1", "?3").
struct ContractDim {
  int64_t value = -1;                               // ≥ 0: constant
  std::string text;                                 // else the expression
  int64_t low = 0, high = INT64_MAX, multiple = 1;  // declared bounds of a symbol dim
};

enum class ContractKind : uint8_t { tensor, tuple, list, optional, closure, data };

// What an input takes or an output gives. Tensors have dtype and dims; the rest have element contracts.
struct ContractType {
  ContractKind kind = ContractKind::tensor;
  uint8_t dtype = 0;  // dyn_dtype.def
  std::vector<ContractDim> dims;
  std::vector<ContractType> elements;
};

struct ContractValue {
  std::string name;
  ContractType type;
};

struct PlaceRow {
  uint32_t codePosition = 0;  // first word this row holds for, up to the next row
  uint32_t string = 0;  // index into Program::strings: what the user sees ("node /layer.0/MatMul (MatMul)")
  // Index into Program::strings, -1: none. What the checks of the kernels that are launched there demand, a
  // line each: "place\tnoun\tbound", "node /Gather\tindex\taxis 0 has 30 elements".
  int32_t checks = -1;
};

struct Function {
  std::string name;  // "main", "init", "main.loop1"
  uint32_t scalarCount = 0,
           objectCount = 0;  // registers; parameters arrive in object registers 0..parameterCount-1
  uint32_t parameterCount = 0, resultCount = 0;
  std::vector<int32_t> code;
  std::vector<PlaceRow> places;  // ascending codePosition
};

// A generated kernel: its code is found under `symbol` in the module's object code or by the host's resolver.
struct KernelRow {
  std::string name;  // what profiles show: "fused_add_gelu"
  std::string symbol;
  uint32_t bufferCount = 0, outputCount = 0, scalarCount = 0;  // the last outputCount buffers are written
  uint64_t scratchBytes = 0;
  std::string description;  // "loop · 3 ops · version vector8"
};

struct ConstantRow {
  uint8_t dtype = 0;
  std::vector<int64_t> shape;
  uint64_t offset = 0, sizeBytes = 0;  // in the module's constant section; 64-byte aligned
  std::string name;
};

struct Program {
  std::vector<Function> functions;
  int32_t mainFunction = -1, initFunction = -1;  // init runs once at load and fills the globals
  uint32_t globalCount = 0;
  std::vector<KernelRow> kernels;
  std::vector<std::string> builtins;  // names of vm/kernels/builtins.def, resolved at load
  std::vector<ConstantRow> constants;
  std::vector<std::string> strings;
  std::vector<ContractValue> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> metadata;  // "producer", "source", ... sorted by key
};

}  // namespace dyn::vm
