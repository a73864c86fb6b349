// Branches and loops.
#include <algorithm>

#include "tests/fuzz/differential/generator_state.h"

namespace dyn::differential {

ValueInfo Generator::carriedOf(ValueInfo i) {
  if (isReal(i)) i.wholeBits = 3, i.fractionBits = 1;
  if (isWhole(i)) i.wholeBits = 3, i.fractionBits = 0;
  return i;
}

int Generator::normalised(Place& place, int x) {
  const ValueInfo from = info(x);
  ValueInfo made = carriedOf(from);
  if (from.dtype == Dtype::boolean) return x;
  if (isWhole(from)) return add(place, made, "mod($0, " + literal(from, 7) + ")", {x});
  if (!from.exact)
    return add(place, made, from.dtype == Dtype::f32 ? "tanh($0)" : "clip($0, f64[] -4.0, f64[] 4.0)", {x});
  const std::string kept = "clip($0, " + literal(from, -4) + ", " + literal(from, 4) + ")";
  return add(place, made, from.fractionBits > 1 ? "floor(" + kept + ")" : kept, {x});
}

int Generator::bodyResult(Place& place, const ValueInfo& wanted, SizesOf sizes, int fallback) {
  for (int64_t count = random_.number(1, 4); count > 0; --count) step(place);
  const int found = pick(place, [&](const ValueInfo& i) {
    return i.dtype == wanted.dtype && i.shape.size() == wanted.shape.size() &&
           (sizes == SizesOf::any || i.shape == wanted.shape) && (wanted.exact ? i.exact : true);
  });
  return normalised(place, found < 0 ? fallback : found);
}

std::vector<int> Generator::handIn(const std::vector<int>& outside, Body* body) {
  std::vector<int> inside;
  for (int value : outside) inside.push_back(newValue(info(value)));
  body->parameters.insert(body->parameters.end(), inside.begin(), inside.end());
  return inside;
}

std::vector<int> Generator::someValues(const Place& place, int64_t most) {
  std::vector<int> chosen;
  for (int64_t count = random_.number(1, most); count > 0; --count) {
    const int value = pick(place, [](const ValueInfo&) { return true; });
    if (value >= 0 && std::count(chosen.begin(), chosen.end(), value) == 0) chosen.push_back(value);
  }
  return chosen;
}

std::string Generator::marks(size_t count, size_t from) {
  std::string text;
  for (size_t i = from; i < from + count; ++i) text += (i > from ? ", $" : "$") + std::to_string(i);
  return text;
}

bool Generator::branch(Place& place) {
  const int x = pick(place, [](const ValueInfo&) { return true; });
  if (x < 0) return false;
  std::vector<int> operands;
  const int condition =
      pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::boolean && i.shape.empty(); });
  const int k = scalar(place);
  std::string text = "if($0";
  if (condition >= 0 && random_.chance(60)) {
    operands.push_back(condition);
  } else if (k >= 0) {
    operands.push_back(k);
    text = "if(less($0, i64[] 2)";
  } else {
    return false;
  }
  std::vector<int> captures = someValues(place, 3);
  captures.push_back(x);
  operands.insert(operands.end(), captures.begin(), captures.end());
  ValueInfo made = carriedOf(info(x));
  std::vector<Body> bodies(2);
  const SizesOf sizes = random_.chance(50) ? SizesOf::any : SizesOf::same;
  std::vector<Size> shapes[2];
  for (int side = 0; side < 2; ++side) {
    bodies[static_cast<size_t>(side)].word = side == 0 ? "then" : "else";
    Place inner{&bodies[static_cast<size_t>(side)], {}, place.depth + 1};
    inner.values = handIn(captures, inner.body);
    const int result = bodyResult(inner, info(x), sizes, inner.values.back());
    inner.body->results = {result};
    shapes[side] = info(result).shape;
  }
  for (size_t i = 0; i < made.shape.size(); ++i)
    made.shape[i] = shapes[0][i] == shapes[1][i] && shapes[0][i][0] != '?' ? shapes[0][i] : unknown();
  add(place, made, text + ", " + marks(captures.size(), 1) + ")", operands, bodies);
  return true;
}

bool Generator::loop(Place& place) {
  const int x = pick(place, [](const ValueInfo&) { return true; });
  const int k = scalar(place);
  if (x < 0) return false;
  const bool counted = k >= 0 && random_.chance(70);
  const bool grows = random_.chance(35);
  const int start = normalised(place, x);
  std::vector<int> captures = someValues(place, 2);
  std::vector<int> operands;
  std::string trip = "i64[] " + std::to_string(random_.number(0, 4));
  if (counted) operands.push_back(k), trip = few("$0");
  operands.push_back(start);
  operands.insert(operands.end(), captures.begin(), captures.end());

  Body body;
  body.word = "body";
  ValueInfo iteration;
  iteration.dtype = Dtype::i64, iteration.wholeBits = 3, iteration.fractionBits = 0;
  const int i = newValue(iteration);
  body.parameters = {i};
  ValueInfo carried = info(start);
  if (grows)
    for (Size& size : carried.shape) size = unknown();
  const int state = newValue(carried);
  body.parameters.push_back(state);
  Place inner{&body, handIn(captures, &body), place.depth + 1};
  inner.values.push_back(i);
  inner.values.push_back(state);
  const int next = bodyResult(inner, carried, grows ? SizesOf::any : SizesOf::same, state);
  body.results = {-1, next};
  if (random_.chance(25)) {
    ValueInfo yes;
    yes.dtype = Dtype::boolean, yes.wholeBits = 1, yes.fractionBits = 0;
    body.results[0] = add(inner, yes, "less($0, i64[] " + std::to_string(random_.number(0, 3)) + ")", {i});
  }
  Statement s;
  ValueInfo last = carried;
  if (grows)
    for (Size& size : last.shape) size = unknown();
  s.results = {newValue(last)};
  // What each iteration gives, stacked; of the same size in every iteration, as far as it can be seen.
  const int each = pick(inner, [&](const ValueInfo& v) {
    return v.shape.size() < kMostRank && std::none_of(v.shape.begin(), v.shape.end(), [](const Size& z) {
             return z.find('?') != std::string::npos;
           });
  });
  if (each >= 0 && random_.chance(50)) {
    body.results.push_back(each);
    ValueInfo stacked = info(each);
    stacked.shape.insert(stacked.shape.begin(), unknown());
    s.results.push_back(newValue(stacked));
  }
  s.operands = operands;
  const size_t first = counted ? 1 : 0;
  s.text = "loop(" + trip + ", _, " + marks(operands.size() - first, first) + ") {carried = 1}";
  s.bodies = {std::move(body)};
  place.values.insert(place.values.end(), s.results.begin(), s.results.end());
  place.body->statements.push_back(std::move(s));
  return true;
}

}  // namespace dyn::differential
