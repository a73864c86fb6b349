// A program of the text IR as data: what the generator makes, the reducer cuts down and the comparison reads
// as text.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"

namespace dyn::differential {

// A size by its text: "3", a symbol of the inputs "a", or "?7", which only a run can tell. Equal texts are
// equal sizes.
using Size = std::string;

struct ValueInfo {
  Dtype dtype = Dtype::f32;
  std::vector<Size> shape;
  // Reals: computed without rounding, so that its comparisons and truncations are the same in every order of
  // evaluation; below 2^wholeBits, multiples of 2^-fractionBits.
  bool exact = true;
  int wholeBits = 2, fractionBits = 1;
  std::string type;  // of values that are no tensors
};

struct Body;

// results = text, with $0, $1, ... for the operands; then the bodies.
struct Statement {
  std::vector<int> results, operands;
  std::string text;
  std::vector<Body> bodies;
};

struct Body {
  std::string word;             // before its parameters: then, else, body, case Leaf
  std::vector<int> parameters;  // values, or kIteration
  std::vector<Statement> statements;
  std::vector<int> results;        // values, or -1: `condition`
  std::string condition = "true";  // of a loop
};

struct Function {
  std::string name;
  std::vector<std::string> parameterTypes;
  std::string resultType;  // empty: found out
  Body body;
};

struct Program {
  std::vector<std::string> declarations;  // types
  std::vector<Function> functions;
  std::deque<ValueInfo> values;  // references stay good as it grows
  std::vector<int> inputs;       // parameters of @main
  Body main;
};

std::string toText(const Program& program);
// Without statements whose results nothing uses and functions that nothing calls: what they would fault with,
// a compiler need not find.
Program withoutDeadCode(Program program);

// What the symbols of the inputs are.
using Sizes = std::map<std::string, int64_t>;
std::vector<int64_t> shapeOf(const ValueInfo& info, const Sizes& sizes);
std::vector<std::string> symbolsOfInputs(const Program& program);

}  // namespace dyn::differential
