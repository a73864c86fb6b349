// program.h — a PTX module as it was read: variables, kernels, statements. Nothing is resolved to machine
// form yet.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simcuda {

enum class Space { Generic, Global, Shared, Local, Param, Const };

// What a register or an operand is as wide as; a predicate has no bits that a program sees.
enum class Width : uint8_t { Predicate, Bits16, Bits32, Bits64 };

struct Register {
  std::string name;
  Width width;
};

struct Operand {
  enum class Kind { Register, Special, Integer, Real32, Real64, Symbol, Address, Vector, Nothing };
  Kind kind = Kind::Nothing;
  int index = -1;        // Register, Address: of the kernel's registers; -1: an address of a symbol or number
  int second = -1;       // the predicate of %r1|%p1
  bool negated = false;  // !%p1
  std::string name;      // Special, Symbol (a variable or label); Address: its variable
  uint64_t bits = 0;     // the numbers
  int64_t offset = 0;    // Address, Symbol
  std::vector<Operand> parts;  // Vector; parts that are `_` are Nothing
};

// Where the program that the PTX was made of has what an instruction does (`.loc`); file 0: it does not say.
struct Place {
  int file = 0, line = 0;
};

struct Instruction {
  std::string opcode;  // with all its suffixes: add.rn.f32
  int guard = -1;      // register of @%p1
  bool guardNegated = false;
  std::vector<Operand> operands;
  int line = 0;
  Place place;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  uint64_t align = 1, elementBytes = 1, bytes = 0;
  bool unsized = false;         // `.extern .shared x[]`: as large as the launch says
  std::vector<uint8_t> values;  // shorter than bytes: the rest is zero
};

struct KernelText {
  std::string name;
  int line = 0;
  std::vector<Variable> parameters, variables;  // variables: .shared and .local of the body
  std::array<uint32_t, 3> maxThreads{};         // .maxntid or .reqntid; 0: not said
  std::array<uint32_t, 3> requiredThreads{};
  std::vector<Register> registers;
  std::vector<Instruction> body;
  std::map<std::string, size_t> labels;                    // instruction that follows
  std::map<std::string, std::vector<std::string>> tables;  // .branchtargets
};

struct ModuleText {
  int version = 0, target = 0;  // 70: PTX 7.0; 80: sm_80
  bool targetIsExact = false;   // sm_90a runs on no other chip
  std::map<int, std::string> files;
  std::vector<Variable> variables;
  std::vector<KernelText> kernels;
};

// Throws LoadError, which names the line.
ModuleText parseModule(const std::string& text);

}  // namespace simcuda
