// Rows of the sweep: element by element, with every kind of broadcasting.
#include "tests/unit/compiler/driver/operator_sweep.h"

namespace dyn::test {
namespace {

// Both operands whole; one a vector, a scalar, a column against a row; dims that broadcast or not only a run tells.
void addPair(std::vector<SweepRow>& rows, const std::string& op, const char* dtypes,
             const std::vector<std::string>& attributes = {""}, std::vector<Fill> fills = {}) {
  const std::string call = op + "(%a, %b) {A}";
  const std::string first = std::string(dtypes).substr(0, std::string(dtypes).find(' '));
  const std::string one = std::string(dtypes).find("f32") != std::string::npos ? "f32" : first;
  rows.push_back({op, dtypes, "%a T[n, m], %b T[n, m]", call, attributes, fills});
  for (const char* parameters : {"%a U[n, m], %b U[m]", "%a U[], %b U[k, n]", "%a U[n, 1], %b U[1, m]",
                                 "%a U[n, m], %b U[k, l]", "%a U[2, n, m], %b U[k, 1]"}) {
    std::string text = parameters;
    for (size_t at; (at = text.find("U[")) != std::string::npos;) text.replace(at, 1, one);
    rows.push_back({op, "", text, call, {attributes[0]}, fills, {{"k", {1, 2, 3}}, {"l", {1, 3}}}});
  }
}

// Packed types are no class that an operator names: each row has one of them. The results wrap to four bits.
void addPacked(std::vector<SweepRow>& rows) {
  const auto add = [&](const std::string& op, const std::string& dtype, const std::string& attributes,
                       const std::vector<Fill>& fills) {
    rows.push_back(
        {op, "", "%a " + dtype + "[n, m], %b " + dtype + "[m]", op + "(%a, %b) {A}", {attributes}, fills});
  };
  for (const std::string dtype : {"i4", "u4"}) {
    const Fill whole{"a", dtype == "i4" ? "-8" : "0", dtype == "i4" ? "7" : "15"};
    for (const char* op : {"add", "sub", "mul", "min", "max"})
      add(op, dtype, "", {whole, {"b", whole.low, whole.high}});
    add("div", dtype, "", {whole, {"b", "1", "5"}});
    add("mod", dtype, "", {whole, {"b", "1", "5"}});
    add("pow", dtype, "", {whole, {"b", "0", "3"}});
    for (const char* op : {"abs", "sign"})
      rows.push_back(
          {op, "", "%x " + dtype + "[n, m]", std::string(op) + "(%x)", {""}, {{"x", whole.low, whole.high}}});
  }
  add("div", "i4", "", {{"a", "-8", "-8"}, {"b", "-1", "-1"}});  // 8, which is -8
  for (const char* op : {"neg", "relu"})
    rows.push_back({op, "", "%x i4[n, m]", std::string(op) + "(%x)", {""}, {{"x", "-8", "7"}}});
  for (const char* attributes : {"direction = \"left\"", "direction = \"right\""})
    add("bit_shift", "u4", attributes, {{"a", "0", "15"}, {"b", "0", "6"}});
}

// One exponent for all elements: those that multiply or take a root, and others; read from a scalar, and constant.
void addPowers(std::vector<SweepRow>& rows) {
  for (const std::string value : {"2", "3", "4", "0.5", "-0.5", "-1", "-2", "0", "1", "1.7", "-3"})
    for (const std::string type : {"f16", "bf16", "f32", "f64"}) {
      const std::string base = "%a " + type + "[n, m]", literal = value + (value.size() < 3 ? ".0" : "");
      if (literal != value)  // fills are whole numbers
        rows.push_back(
            {"pow", "", base + ", %b " + type + "[]", "pow(%a, %b)", {""}, {{"b", value, value}}, {}, 3});
      const std::string constant = "%b = constant() {value = " + type + "[] " + literal + "} ";
      rows.push_back({"pow", "", base, constant + "%y = pow(%a, %b) return %y", {""}, {}, {}, 3});
    }
  for (const std::string value : {"-1", "0", "2", "5"})
    for (const std::string type : {"i8", "i32", "i64", "u16", "u64"})
      rows.push_back(
          {"pow", "", "%a " + type + "[n, m], %b i64[]", "pow(%a, %b)", {""}, {{"b", value, value}}});
}

}  // namespace

std::vector<SweepRow> elementwiseRows() {
  std::vector<SweepRow> rows;
  for (const char* op : {"sqrt",  "exp",  "log",   "sin",     "cos",      "tan",      "asin",       "acos",
                         "atan",  "sinh", "cosh",  "tanh",    "asinh",    "acosh",    "atanh",      "erf",
                         "floor", "ceil", "round", "sigmoid", "softplus", "softsign", "hard_swish", "mish"})
    rows.push_back({op, kReals, "%x T[n, m]", std::string(op) + "(%x)"});
  rows.push_back({"reciprocal", kReals, "%x T[n, m]", "reciprocal(%x)"});
  for (const char* op : {"leaky_relu", "elu", "celu", "thresholded_relu"})
    rows.push_back(
        {op, kReals, "%x T[n, m]", std::string(op) + "(%x) {A}", {"", "alpha = 0.3", "alpha = 2.0"}});
  rows.push_back({"selu", kReals, "%x T[n, m]", "selu(%x) {A}", {"", "alpha = 1.5, gamma = 0.5"}});
  rows.push_back(
      {"hard_sigmoid", kReals, "%x T[n, m]", "hard_sigmoid(%x) {A}", {"", "alpha = 0.7, beta = 0.1"}});
  rows.push_back({"gelu",
                  kReals,
                  "%x T[n, m]",
                  "gelu(%x) {A}",
                  {"", "approximate = \"tanh\""},
                  {{"x", "-9", "9"}},
                  {},
                  8});
  rows.push_back({"relu", "f16 bf16 f32 f64 i8 i16 i32 i64", "%x T[n, m]", "relu(%x)"});
  rows.push_back({"neg", "f16 bf16 f32 f64 i8 i16 i32 i64", "%x T[n, m]", "neg(%x)"});
  for (const char* op : {"abs", "sign"})
    rows.push_back({op, kNumbers, "%x T[n, m]", std::string(op) + "(%x)"});
  rows.push_back({"identity", kMovable, "%x T[n, m]", "identity(%x)"});
  rows.push_back({"logical_not", kBoolean, "%x T[n, m]", "logical_not(%x)"});
  rows.push_back({"bit_not", kIntegers, "%x T[n, m]", "bit_not(%x)"});
  rows.push_back({"is_nan", kReals, "%x T[n, m]", "is_nan(%x)"});
  rows.push_back(
      {"is_inf", kReals, "%x T[n, m]", "is_inf(%x) {A}", {"", "detect_negative = 0", "detect_positive = 0"}});
  for (const char* op : {"add", "sub", "mul"}) addPair(rows, op, kNumbers);
  addPair(rows, "div", kNumbers, {""}, {{"b", "1", "5"}});
  addPacked(rows);
  rows.push_back({"div", "", "%a i32[n, m], %b i32[m]", "div(%a, %b)"});  // some by zero: a fault
  rows.push_back({"div", "", "%a f32[n, m], %b f32[m]", "div(%a, %b)"});
  addPair(rows, "mod", kIntegers, {""}, {{"b", "1", "5"}});
  addPair(rows, "mod", kNumbers, {"fmod = 1"}, {{"b", "1", "5"}});
  rows.push_back({"mod", "", "%a i32[n, m], %b i32[m]", "mod(%a, %b)"});  // some by zero: a fault
  addPair(rows, "pow", kNumbers, {""}, {{"b", "0", "3"}});
  for (const char* op : {"min", "max"}) addPair(rows, op, kNumbers);
  addPair(rows, "equal", kAnything);
  for (const char* op : {"less", "less_equal", "greater", "greater_equal"}) addPair(rows, op, kAnything);
  for (const char* op : {"logical_and", "logical_or", "logical_xor"}) addPair(rows, op, kBoolean);
  for (const char* op : {"bit_and", "bit_or", "bit_xor"}) addPair(rows, op, kIntegers);
  addPair(rows, "bit_shift", kIntegers, {"direction = \"left\"", "direction = \"right\""}, {{"b", "0", "9"}});
  addPowers(rows);
  rows.push_back({"pow", "", "%a f32[n, m], %b i64[m]", "pow(%a, %b)"});
  rows.push_back({"pow", "", "%a i32[n, m], %b f32[m]", "pow(%a, %b)", {""}, {{"b", "0", "3"}}});
  rows.push_back({"equal", "", "%a string[n, m], %b string[m]", "equal(%a, %b)"});
  rows.push_back({"where", kMovable, "%c bool[n, 1], %a T[n, m], %b T[m]", "where(%c, %a, %b)"});
  rows.push_back({"where",
                  "",
                  "%c bool[k, m], %a f32[n, m], %b f32[]",
                  "where(%c, %a, %b)",
                  {""},
                  {},
                  {{"k", {1, 2, 3}}}});
  rows.push_back({"clip", kNumbers, "%x T[n, m], %l T[], %h T[]", "clip(%x, %l, %h)"});
  rows.push_back({"clip", "", "%x f32[n, m], %h f32[]", "clip(%x, _, %h)"});
  rows.push_back({"clip", "", "%x f32[n, m], %l f32[]", "clip(%x, %l)"});
  rows.push_back({"prelu", kNumbers, "%x T[n, m], %s T[m]", "prelu(%x, %s)"});
  rows.push_back({"prelu", "", "%x f32[b, c, n], %s f32[c, 1]", "prelu(%x, %s)"});
  for (const char* to : {"f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8", "u16", "u64", "bool"})
    rows.push_back(
        {"cast", kMovable, "%x T[n, m]", "cast(%x) {to = " + std::string(to) + "}", {""}, {{"x", "0", "5"}}});
  rows.push_back(
      {"bitcast", "f32 i32 u32", "%x T[n, m]", "bitcast(%x) {A}", {"to = i32", "to = f32", "to = u32"}});
  rows.push_back({"bitcast", "f16 bf16 i16 u16", "%x T[n]", "bitcast(%x) {to = i16}"});
  return rows;
}

}  // namespace dyn::test
