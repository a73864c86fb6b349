// Operators element by element, folds along axes.
#include <algorithm>

#include "tests/fuzz/differential/generator_state.h"

namespace dyn::differential {

bool Generator::unary(Place& place) {
  const int x = pick(place, isNumber);
  if (x < 0) return false;
  ValueInfo made = info(x);
  std::vector<std::string> names = {"neg", "abs", "sign"};
  if (made.dtype == Dtype::f32)
    names = {"neg", "abs", "relu", "tanh", "sigmoid", "sin", "sqrt", "floor", "round"};
  const std::string name = random_.of(names);
  if ((name == "sign" || name == "floor" || name == "round" || name == "sqrt") && !isSure(made)) return false;
  if (name == "sign") made.wholeBits = 1, made.fractionBits = 0;
  if (name == "floor" || name == "round") ++made.wholeBits, made.fractionBits = 0;
  if (name == "tanh" || name == "sigmoid" || name == "sin") made.exact = false, made.wholeBits = 1;
  if (name == "sqrt") made.exact = false;
  add(place, made, name == "sqrt" ? "sqrt(abs($0))" : name + "($0)", {x});
  return true;
}

std::optional<std::vector<Size>> Generator::broadcast(const std::vector<Size>& x,
                                                      const std::vector<Size>& y) {
  std::vector<Size> shape;
  for (size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
    const Size one = "1";
    const Size& a = i < x.size() ? x[x.size() - 1 - i] : one;
    const Size& b = i < y.size() ? y[y.size() - 1 - i] : one;
    if (a != b && a != "1" && b != "1") return std::nullopt;
    shape.insert(shape.begin(), a == "1" ? b : a);
  }
  return shape;
}

int Generator::partner(const Place& place, int x, const Filter& also, std::vector<Size>* shape) {
  const ValueInfo& left = info(x);
  const int y = pick(place, [&](const ValueInfo& i) {
    return i.dtype == left.dtype && also(i) && broadcast(left.shape, i.shape).has_value();
  });
  if (y >= 0 && !random_.chance(3)) {
    *shape = *broadcast(left.shape, info(y).shape);
    return y;
  }
  const int risky = pick(place, [&](const ValueInfo& i) {
    if (i.dtype != left.dtype || !also(i) || i.shape.size() != left.shape.size()) return false;
    for (size_t k = 0; k < i.shape.size(); ++k)
      if (i.shape[k] != left.shape[k] && (isConstant(i.shape[k]) || isConstant(left.shape[k]))) return false;
    return true;
  });
  if (risky < 0 || !random_.chance(20)) return -1;
  shape->clear();
  for (size_t k = 0; k < left.shape.size(); ++k)
    shape->push_back(left.shape[k] == info(risky).shape[k] ? left.shape[k] : unknown());
  return risky;
}

bool Generator::binary(Place& place) {
  const int x = pick(place, isNumber);
  if (x < 0) return false;
  ValueInfo made = info(x);
  const std::string name =
      random_.of(std::vector<std::string>{"add", "sub", "mul", "min", "max", "add", "mul"});
  ValueInfo other = made;
  std::string text = name + "($0, $1)";
  std::vector<int> operands = {x};
  if (random_.chance(20)) {
    text = name + "($0, " + literal(made, random_.number(-2, 3)) + ")";
    if (random_.chance(30)) text = name + "(" + literal(made, random_.number(-2, 3)) + ", $0)";
    other.exact = true, other.wholeBits = 2, other.fractionBits = 0;
  } else {
    const int y = partner(place, x, isNumber, &made.shape);
    if (y < 0) return false;
    other = info(y);
    operands.push_back(y);
  }
  made.exact = made.exact && other.exact;
  if (name == "mul") {
    made.wholeBits += other.wholeBits, made.fractionBits += other.fractionBits;
  } else {
    made.wholeBits = std::max(made.wholeBits, other.wholeBits) + (name == "add" || name == "sub");
    made.fractionBits = std::max(made.fractionBits, other.fractionBits);
  }
  if (!fits(made) || static_cast<int>(made.shape.size()) > kMostRank) return false;
  add(place, made, text, operands);
  return true;
}

bool Generator::comparison(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isSure(i); });
  if (x < 0) return false;
  ValueInfo made = info(x);
  std::vector<Size> shape = made.shape;
  std::vector<int> operands = {x};
  std::string text;
  if (made.dtype == Dtype::boolean) {
    if (random_.chance(30)) {
      text = "logical_not($0)";
    } else {
      const int y = partner(place, x, isSure, &shape);
      if (y < 0) return false;
      operands.push_back(y);
      text = random_.of(std::vector<std::string>{"logical_and", "logical_or", "logical_xor"}) + "($0, $1)";
    }
  } else {
    const std::string name =
        random_.of(std::vector<std::string>{"less", "greater_equal", "equal", "greater"});
    if (random_.chance(40)) {
      text = name + "($0, " + literal(made, random_.number(-1, 2)) + ")";
    } else {
      const int y = partner(place, x, isSure, &shape);
      if (y < 0) return false;
      operands.push_back(y);
      text = name + "($0, $1)";
    }
  }
  add(place, {.dtype = Dtype::boolean, .shape = shape, .wholeBits = 1, .fractionBits = 0}, text, operands);
  return true;
}

bool Generator::selection(Place& place) {
  const int c = pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::boolean; });
  const int x = pick(place, isNumber);
  if (c < 0 || x < 0) return false;
  const std::optional<std::vector<Size>> shape = broadcast(info(c).shape, info(x).shape);
  if (!shape || static_cast<int>(shape->size()) > kMostRank) return false;
  ValueInfo made = info(x);
  std::vector<int> operands = {c, x};
  std::string text = "where($0, $1, " + literal(made, random_.number(-1, 1)) + ")";
  made.shape = *shape;
  const int y = pick(place, [&](const ValueInfo& i) {
    return i.dtype == made.dtype && broadcast(made.shape, i.shape).has_value();
  });
  if (y >= 0 && random_.chance(70)) {
    operands.push_back(y);
    text = random_.chance(50) ? "where($0, $1, $2)" : "where($0, $2, $1)";
    made.shape = *broadcast(made.shape, info(y).shape);
    made.exact = made.exact && info(y).exact;
    made.wholeBits = std::max(made.wholeBits, info(y).wholeBits);
    made.fractionBits = std::max(made.fractionBits, info(y).fractionBits);
    if (!fits(made)) return false;
  }
  add(place, made, text, operands);
  return true;
}

bool Generator::conversion(Place& place) {
  const int x = pick(place, isSure);
  if (x < 0) return false;
  ValueInfo made = info(x);
  made.dtype = random_.of(std::vector<Dtype>{Dtype::f32, Dtype::f32, Dtype::i64, Dtype::i32, Dtype::f64});
  if (made.dtype == info(x).dtype) return false;
  if (isWhole(made)) made.fractionBits = 0;
  if (!fits(made)) return false;
  add(place, made, "cast($0) {to = " + std::string(toString(made.dtype)) + "}", {x});
  return true;
}

bool Generator::reduction(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && hasAxes(i); });
  if (x < 0) return false;
  ValueInfo made = info(x);
  std::string name = random_.of(
      std::vector<std::string>{"reduce_sum", "reduce_sum", "reduce_max", "reduce_min", "reduce_mean"});
  if (name == "reduce_mean" && !isReal(made)) name = "reduce_max";
  if (name == "reduce_sum") made.wholeBits += 8;
  if (name == "reduce_mean") made.exact = false;
  if (!fits(made)) return false;
  const bool keep = random_.chance(40);
  std::vector<int64_t> axes;
  std::vector<Size> shape;
  const bool all = random_.chance(20);
  for (size_t k = 0; k < made.shape.size(); ++k) {
    const bool folded = all || random_.chance(45) || (axes.empty() && k + 1 == made.shape.size());
    if (folded) axes.push_back(static_cast<int64_t>(k));
    if (!folded) shape.push_back(made.shape[k]);
    if (folded && keep) shape.push_back("1");
  }
  made.shape = shape;
  if (random_.chance(30))
    for (int64_t& axis : axes) axis -= static_cast<int64_t>(info(x).shape.size());
  add(place, made,
      name + "($0" + (all ? "" : ", " + vectorText(axes)) + ") {keepdims = " + (keep ? "1" : "0") + "}", {x});
  return true;
}

bool Generator::argument(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && isSure(i) && hasAxes(i); });
  if (x < 0) return false;
  ValueInfo made = info(x);
  const int64_t axis = axisOf(made);
  const bool keep = random_.chance(40);
  if (keep)
    made.shape[static_cast<size_t>(axis)] = "1";
  else
    made.shape.erase(made.shape.begin() + axis);
  made.dtype = Dtype::i64, made.exact = true, made.wholeBits = 10, made.fractionBits = 0;
  add(place, made,
      std::string(random_.chance(50) ? "argmax" : "argmin") + "($0) {axis = " + std::to_string(axis) +
          ", keepdims = " + (keep ? "1" : "0") + "}",
      {x});
  return true;
}

bool Generator::running(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && hasAxes(i); });
  if (x < 0) return false;
  ValueInfo made = info(x);
  made.wholeBits += 8;
  if (!fits(made)) return false;
  add(place, made,
      "cumsum($0, i64[] " + std::to_string(axisOf(made)) + ") {exclusive = " +
          std::to_string(random_.number(0, 1)) + ", reverse = " + std::to_string(random_.number(0, 1)) + "}",
      {x});
  return true;
}

bool Generator::softmax(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::f32 && hasAxes(i); });
  if (x < 0) return false;
  ValueInfo made = info(x);
  made.exact = false, made.wholeBits = 1;
  add(place, made, "softmax($0) {axis = " + std::to_string(axisOf(made)) + "}", {x});
  return true;
}

}  // namespace dyn::differential
