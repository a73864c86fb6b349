// For every rule about the elements of an operand (compiler/ir/preconditions.h) a program, elements that satisfy it and some that break it.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace dyn::test {

// The operand under test is the parameter %a; n is 3, m is 4. Other parameters hold ones, or what `given` says.
struct ElementRow {
  std::string op;
  int operand = 0;
  std::string parameters;  // "%x f32[n, m], %a i64[1]"
  std::string body;
  std::vector<double> legal;
  std::vector<std::vector<double>> illegal;
  std::map<std::string, std::vector<double>> given = {};
  // The rank or the axes of the result depend on it: compiled with the operand as a constant only.
  enum class Operand : uint8_t { value, constantOnly } operandIs = Operand::value;
};

std::vector<ElementRow> elementRows();

}  // namespace dyn::test
