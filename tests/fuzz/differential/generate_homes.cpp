// What parts a value or a size from its home: equal expressions as several results, one value twice wherever
// values stand, values of the code around and constants as results, loops of no iteration, and sizes that are
// made of values, by products, quotients, branches and loops.
#include <algorithm>

#include "tests/fuzz/differential/generator_state.h"

namespace dyn::differential {

namespace {

bool sameKind(const ValueInfo& a, const ValueInfo& b) {
  return a.dtype == b.dtype && a.type == b.type && a.shape.size() == b.shape.size();
}

// What may be either of both.
ValueInfo either(const ValueInfo& a, const ValueInfo& b) {
  ValueInfo made = a;
  made.exact = a.exact && b.exact;
  made.wholeBits = std::max(a.wholeBits, b.wholeBits);
  made.fractionBits = std::max(a.fractionBits, b.fractionBits);
  return made;
}

ValueInfo whole(int bits, std::vector<Size> shape = {}) {
  ValueInfo made;
  made.dtype = Dtype::i64;
  made.shape = std::move(shape);
  made.wholeBits = bits, made.fractionBits = 0;
  return made;
}

}  // namespace

int Generator::smallSize(Place& place, int64_t least) {
  const int k = scalar(place);
  if (k < 0) return -1;
  return add(place, whole(3), "max(min($0, i64[] 4), i64[] " + std::to_string(least) + ")", {k});
}

namespace {

// Texts over $0 and $1, two whole numbers: each as a vector of one, their product, both as a shape.
const std::string kOne = "i64[1] [1]";
const std::string kFirst = "reshape($0, " + kOne + ")", kSecond = "reshape($1, " + kOne + ")";
const std::string kProduct = "reshape(mul($0, $1), " + kOne + ")";
const std::string kBoth = "concat(" + kFirst + ", " + kSecond + ") {axis = 0}";
const std::string kHalf = " {value = f32[1] [0.5]}";

}  // namespace

bool Generator::valueSized(Place& place) {
  const int64_t kind = random_.number(0, 6);
  // ONNX's Reshape would copy a dim for a 0.
  const int64_t least = kind == 0 ? 1 : random_.number(0, 1);
  const int p = smallSize(place, least);
  if (p < 0) return false;
  const int q = random_.chance(40) ? p : smallSize(place, least);
  if (kind >= 4) return cutByValues(place, kind, p, q);
  ValueInfo made;
  made.wholeBits = 1, made.fractionBits = 1;
  made.shape = {unknown()};
  if (kind == 0) {  // a size that is a product, taken apart again
    const int flat = add(place, made, "constant_of_shape(" + kProduct + ")" + kHalf, {p, q});
    made.shape = {unknown(), unknown()};
    add(place, made, "reshape($2, " + kBoth + ")", {p, q, flat});
  } else if (kind == 1) {
    ValueInfo numbers = whole(10, {unknown()});
    const int flat = add(place, numbers, "range(i64[] 0, mul($0, $1), i64[] 1)", {p, q});
    numbers.shape = {unknown(), unknown()};
    const std::string more = "concat($2, i64[4] [1, 2, 3, 4]) {axis = 0}",
                      less = "slice($2, i64[1] [0], max(" + kFirst + ", " + kOne + "))";
    const std::string rows = "concat(i64[1] [-1], " + kOne + ") {axis = 0}",
                      row = "concat(" + kOne + ", i64[1] [-1]) {axis = 0}";
    add(place, numbers,
        random_.chance(50) ? "reshape(" + more + ", " + rows + ")" : "reshape(" + less + ", " + row + ")",
        {p, q, flat});
  } else if (kind == 2) {
    made.shape.push_back(unknown());
    add(place, made, "expand(f32[] 0.5, " + kBoth + ")", {p, q});
  } else {  // a quotient; equal to p where q is not 0
    add(place, made, "constant_of_shape(reshape(div(mul($0, $1), max($1, i64[] 1)), " + kOne + "))" + kHalf,
        {p, q});
  }
  return true;
}

bool Generator::cutByValues(Place& place, int64_t kind, int p, int q) {
  ValueInfo made;
  made.wholeBits = 1, made.fractionBits = 1;
  made.shape = {unknown()};
  if (kind == 6) {  // twice the same unknown size: they go together
    const int x = add(place, made, "constant_of_shape(" + kProduct + ")" + kHalf, {p, q});
    const int y = add(place, made, "constant_of_shape(reshape(mul($1, $0), " + kOne + "))" + kHalf, {p, q});
    made.wholeBits = 2;
    add(place, made, "add($0, $1)", {x, y});
    return true;
  }
  const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && i.shape.size() == 1; });
  if (x < 0) return false;
  made = info(x);
  if (kind == 4) {
    made.shape = {unknown()};
    add(place, made,
        random_.chance(50) ? "slice($2, div(" + kFirst + ", i64[1] [2]), " + kProduct + ")"
                           : "tile($2, " + kSecond + ")",
        {p, q, x});
    return true;
  }
  // Rows of another's size, as many as values say.
  made.shape = {unknown(), made.shape[0]};
  const int rows = add(place, made, "expand($2, concat(" + kProduct + ", shape($2)) {axis = 0})", {p, q, x});
  made.shape = {unknown()};
  add(place, made, "reshape($0, i64[1] [-1])", {rows});
  return true;
}

// One more result of a body, of the kind of `wanted`: computed, handed through, the result before, or an
// equal expression.
int Generator::someResult(Place& inner, const ValueInfo& wanted, SizesOf sizes, int fallback, int before) {
  const bool again =
      before >= 0 && sameKind(info(before), wanted) && info(before).shape == info(fallback).shape;
  switch (random_.number(0, 5)) {
    case 0:
      return fallback;
    case 1:
      if (again) return before;
      [[fallthrough]];
    case 2:
    case 3: {  // made twice in the same words
      if (!isNumber(wanted)) return fallback;
      ValueInfo made = info(fallback);
      const int first = add(inner, made, "neg($0)", {fallback});
      return random_.chance(50) ? first : add(inner, made, "neg($0)", {fallback});
    }
    default:
      return bodyResult(inner, wanted, sizes, fallback);
  }
}

bool Generator::manyResults(Place& place) {
  const int k = scalar(place);
  if (k < 0) return false;
  std::vector<int> captures = someValues(place, 3);
  if (captures.empty()) return false;
  if (random_.chance(40)) captures.push_back(captures[0]);  // the same value captured twice
  const auto count = static_cast<size_t>(random_.number(2, 4));
  std::vector<size_t> like;  // the capture whose kind each result has
  for (size_t i = 0; i < count; ++i)
    like.push_back(static_cast<size_t>(random_.number(0, static_cast<int64_t>(captures.size()) - 1)));
  const SizesOf sizes = random_.chance(50) ? SizesOf::any : SizesOf::same;
  const bool constants = random_.chance(30);
  std::vector<Body> bodies(2);
  std::vector<int> results[2];
  for (size_t side = 0; side < 2; ++side) {
    Body& body = bodies[side];
    body.word = side == 0 ? "then" : "else";
    Place inner{&body, {}, place.depth + 1};
    const std::vector<int> inside = handIn(captures, &body);
    inner.values = inside;
    int before = -1;
    for (size_t i = 0; i < count; ++i) {
      const int fallback = inside[like[i]];
      before = someResult(inner, info(captures[like[i]]), sizes, fallback, before);
      results[side].push_back(before);
    }
    if (constants)
      results[side].push_back(add(inner, whole(2, {"2"}), vectorText({1, random_.number(1, 2)}), {}));
    body.results = results[side];
  }
  Statement s;
  s.operands = {k};
  s.operands.insert(s.operands.end(), captures.begin(), captures.end());
  s.text = "if(less($0, i64[] 2), " + marks(captures.size(), 1) + ")";
  for (size_t i = 0; i < results[0].size(); ++i) {
    const ValueInfo &a = info(results[0][i]), &b = info(results[1][i]);
    ValueInfo made = either(a, b);
    for (size_t axis = 0; axis < made.shape.size(); ++axis)
      if (a.shape[axis] != b.shape[axis] || a.shape[axis][0] == '?') made.shape[axis] = unknown();
    s.results.push_back(newValue(made));
  }
  s.bodies = std::move(bodies);
  place.values.insert(place.values.end(), s.results.begin(), s.results.end());
  place.body->statements.push_back(std::move(s));
  return true;
}

// What a body hands to its next iteration: states in other places, a value twice, one from outside, or
// something new.
std::vector<int> Generator::carriedOn(Place& inner, const std::vector<int>& states, int outside,
                                      SizesOf sizes) {
  std::vector<int> results = {-1};
  for (const int state : states) {
    const int64_t how = random_.number(0, 4);
    const int from = random_.of(states), before = results.back();
    int next = from;
    if (how == 0) next = outside;
    if (how == 1 && before >= 0) next = before;
    if (how >= 3) next = bodyResult(inner, info(state), sizes, from);
    // A state keeps its size: what has another one is no next value of it.
    if (sizes == SizesOf::same && info(next).shape != info(outside).shape) next = from;
    results.push_back(next);
  }
  return results;
}

bool Generator::manyCarried(Place& place) {
  const int x = pick(place, [](const ValueInfo&) { return true; });
  if (x < 0) return false;
  const int start = normalised(place, x);
  std::vector<int> starts = {start};
  for (int64_t more = random_.number(1, 3); more > 0; --more) {
    const int other = pick(place, [&](const ValueInfo& i) {
      return sameKind(i, info(start)) && i.shape == info(start).shape && i.exact == info(start).exact;
    });
    starts.push_back(other < 0 || random_.chance(40) ? start : normalised(place, other));
  }
  const bool grows = random_.chance(30);
  const int k = scalar(place);
  const bool counted = k >= 0 && random_.chance(60);
  Body body;
  body.word = "body";
  const int iteration = newValue(whole(3));
  body.parameters = {iteration};
  ValueInfo carried = info(start);
  std::vector<int> states;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (grows)
      for (Size& size : carried.shape) size = unknown();
    states.push_back(newValue(carried));
  }
  body.parameters.insert(body.parameters.end(), states.begin(), states.end());
  Place inner{&body, {iteration}, place.depth + 1};
  const int outside = handIn({start}, &body)[0];  // captured and carried
  inner.values.push_back(outside);
  inner.values.insert(inner.values.end(), states.begin(), states.end());
  body.results = carriedOn(inner, states, outside, grows ? SizesOf::any : SizesOf::same);
  Statement s;
  for (size_t i = 0; i < starts.size(); ++i) {
    ValueInfo last = carried;
    if (grows)
      for (Size& size : last.shape) size = unknown();
    s.results.push_back(newValue(last));
  }
  // Stacked: the number of the iteration, twice, and a value from outside.
  for (const int each : {iteration, iteration, outside}) {
    if (!random_.chance(40) || info(each).shape.size() >= kMostRank) continue;
    body.results.push_back(each);
    ValueInfo stacked = info(each);
    stacked.shape.insert(stacked.shape.begin(), unknown());
    s.results.push_back(newValue(stacked));
  }
  if (counted) s.operands.push_back(k);
  s.operands.insert(s.operands.end(), starts.begin(), starts.end());
  s.operands.push_back(start);
  const std::string trip = counted ? few("$0") : "i64[] " + std::to_string(random_.number(0, 2));
  s.text = "loop(" + trip + ", _, " + marks(starts.size() + 1, counted ? 1 : 0) +
           ") {carried = " + std::to_string(starts.size()) + "}";
  s.bodies = {std::move(body)};
  place.values.insert(place.values.end(), s.results.begin(), s.results.end());
  place.body->statements.push_back(std::move(s));
  return true;
}

// @pN(x, y) gives its arguments back, in another order and one of them twice.
bool Generator::passedThrough(Place& place) {
  const int x = realOperand(place), y = random_.chance(30) ? x : realOperand(place);
  if (x < 0 || y < 0) return false;
  Function function;
  function.name = "p" + std::to_string(program_.functions.size());
  const auto typed = [](size_t rank, const char* const* names) {
    std::string text = "Tensor[(";
    for (size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::string(names[i]);
    return text + "), f32]";
  };
  const char* left[] = {"p", "q", "r", "s"};
  const char* right[] = {"t", "u", "v", "w"};
  ValueInfo xi = info(x), yi = info(y);
  for (size_t i = 0; i < xi.shape.size(); ++i) xi.shape[i] = left[i];
  for (size_t i = 0; i < yi.shape.size(); ++i) yi.shape[i] = right[i];
  function.parameterTypes = {typed(xi.shape.size(), left), typed(yi.shape.size(), right)};
  const std::vector<int> arguments = {x, y}, own = {newValue(xi), newValue(yi)};
  function.body.parameters = own;
  Statement s;
  s.operands = arguments;
  s.text = "@" + function.name + "($0, $1)";
  for (int64_t count = random_.number(1, 4); count > 0; --count) {
    const auto which = static_cast<size_t>(random_.number(0, 1));
    function.body.results.push_back(own[which]);
    s.results.push_back(newValue(info(arguments[which])));
  }
  program_.functions.push_back(function);
  place.values.insert(place.values.end(), s.results.begin(), s.results.end());
  place.body->statements.push_back(std::move(s));
  return true;
}

// Branches, or the iterations of a loop, say how large something is.
bool Generator::sizeFromControl(Place& place) {
  const int k = scalar(place), x = pick(place, hasAxes);
  if (k < 0 || x < 0) return false;
  const std::string sizeOf = "gather(shape($0), i64[] " + std::to_string(axisOf(info(x))) + ")";
  const int size = add(place, whole(12), sizeOf, {x});
  int decided;
  if (random_.chance(50)) {
    std::vector<Body> bodies(2);
    for (size_t side = 0; side < 2; ++side) {
      bodies[side].word = side == 0 ? "then" : "else";
      Place inner{&bodies[side], {}, place.depth + 1};
      const std::vector<int> inside = handIn({k, size}, &bodies[side]);
      const char* texts[] = {"add($0, $1)",
                             "mul(" /* a product of values */ "max(min($0, i64[] 4), i64[] 0), $1)",
                             "div($1, i64[] 2)"};
      const int64_t which = random_.number(0, 3);
      bodies[side].results = {which == 3 ? inside[1] : add(inner, whole(14), texts[which], inside)};
    }
    decided = add(place, whole(14), "if(less($0, i64[] 2), $0, $1)", {k, size}, bodies);
  } else {
    Body body;
    body.word = "body";
    const int iteration = newValue(whole(3)), state = newValue(whole(14));
    body.parameters = {iteration, state};
    const int inside = handIn({size}, &body)[0];
    Place inner{&body, {iteration, state, inside}, place.depth + 1};
    body.results = {-1,
                    add(inner, whole(14), random_.chance(50) ? "add($0, $1)" : "min(mul($0, i64[] 2), $1)",
                        {state, random_.chance(50) ? inside : iteration})};
    decided = add(place, whole(14), "loop(" + few("$0") + ", _, $1, $1) {carried = 1}", {k, size}, {body});
  }
  ValueInfo made;
  made.wholeBits = 1, made.fractionBits = 1;
  made.shape = {unknown()};
  const std::string kept = "reshape(max(min($0, i64[] 12), i64[] 0), i64[1] [1])";
  const int filled = add(place, made, "constant_of_shape(" + kept + ") {value = f32[1] [0.5]}", {decided});
  if (random_.chance(50)) {
    made.shape.push_back(info(filled).shape[0]);
    add(place, made, "expand($1, concat(" + kept + ", " + kept + ") {axis = 0})", {decided, filled});
  }
  return true;
}

int Generator::listFromBranch(Place& place, int k, int parts, int x) {
  const ValueInfo list = info(parts);
  std::vector<Body> bodies(2);
  for (size_t side = 0; side < 2; ++side) {
    bodies[side].word = side == 0 ? "then" : "else";
    Place inner{&bodies[side], {}, 2};
    const std::vector<int> inside = handIn({parts, x}, &bodies[side]);
    const bool more = random_.chance(50);
    const int own = more ? add(inner, list, "list_insert($0, $1)", inside) : inside[0];
    bodies[side].results = {own, random_.chance(50) ? own : inside[0]};
  }
  Statement s;
  s.operands = {k, parts, x};
  s.text = "if(less($0, i64[] 2), $1, $2)";
  s.results = {newValue(list), newValue(list)};
  s.bodies = std::move(bodies);
  const std::vector<int> results = s.results;
  place.values.insert(place.values.end(), results.begin(), results.end());
  place.body->statements.push_back(std::move(s));
  return random_.of(results);
}

// One value many times in a list, which branches hand through and loops carry; an optional of it.
bool Generator::sameInLists(Place& place) {
  const int x = realOperand(place, 1), k = scalar(place);
  if (x < 0 || k < 0 || info(x).shape.size() != 1) return false;
  ValueInfo list;
  list.type = "List";
  int parts = add(place, list, "list($0, $0)", {x});
  ValueInfo part = info(x);
  part.shape = {unknown()};
  if (random_.chance(60)) parts = listFromBranch(place, k, parts, x);
  if (random_.chance(50)) {
    Body body;
    body.word = "body";
    const int iteration = newValue(whole(3)), state = newValue(list);
    body.parameters = {iteration, state};
    const int inside = handIn({x}, &body)[0];
    Place inner{&body, {}, 2};
    body.results = {-1,
                    random_.chance(70) ? add(inner, list, "list_insert($0, $1)", {state, inside}) : state};
    parts = add(place, list, "loop(" + few("$0") + ", _, $1, $2) {carried = 1}", {k, parts, x}, {body});
  }
  if (random_.chance(50)) add(place, whole(4), "list_length($0)", {parts});
  if (random_.chance(50)) {
    add(place, part, "concat_from_sequence($0) {axis = 0}", {parts});
    return true;
  }
  ValueInfo maybe;
  maybe.type = "Optional";
  const int item = add(place, part, "list_at($0, i64[] 0)", {parts});
  const int some = add(place, maybe, "optional_some($0)", {item});
  const int got = add(place, part, "optional_get($0)", {some});
  ValueInfo sum = part;
  ++sum.wholeBits;
  add(place, sum, "add($0, $1)", {got, item});
  return true;
}

// Results that are inputs, constants, or one value twice.
void Generator::addOddResults(Place& place) {
  std::vector<int>& results = program_.main.results;
  if (random_.chance(25)) results.push_back(random_.of(program_.inputs));
  if (random_.chance(25)) results.push_back(random_.of(results));
  if (random_.chance(15)) results.push_back(add(place, whole(3, {"3"}), vectorText({3, 1, 2}), {}));
}

}  // namespace dyn::differential
