// Functions, recursion, chains, trees and lists.
#include <algorithm>

#include "tests/fuzz/differential/generator_state.h"

namespace dyn::differential {

std::string Generator::helper(size_t rank, bool exact) {
  Function function;
  function.name = "f" + std::to_string(program_.functions.size());
  const std::vector<Size> names = {"p", "q", "r", "s"};
  ValueInfo x;
  x.exact = exact;
  x.wholeBits = 3;
  x.shape.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(rank));
  const int parameter = newValue(x);
  function.body.parameters = {parameter};
  function.parameterTypes = {tensorText(rank)};
  Place inner{&function.body, {parameter}, 2};
  function.body.results = {bodyResult(inner, x, SizesOf::same, parameter)};
  program_.functions.push_back(function);
  return function.name;
}

std::string Generator::tensorText(size_t rank) {
  const char* names[] = {"p", "q", "r", "s"};
  std::string text = "Tensor[(";
  for (size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::string(names[i]);
  return text + "), f32]";
}

int Generator::realOperand(Place& place, size_t leastRank) {
  const int x =
      pick(place, [&](const ValueInfo& i) { return i.dtype == Dtype::f32 && i.shape.size() >= leastRank; });
  return x < 0 ? x : normalised(place, x);
}

bool Generator::callOfHelper(Place& place) {
  const int x = realOperand(place);
  if (x < 0) return false;
  const std::string name = helper(info(x).shape.size(), info(x).exact);
  add(place, carriedOf(info(x)), "@" + name + "($0)", {x});
  return true;
}

bool Generator::recursion(Place& place) {
  const int x = realOperand(place);
  const int k = scalar(place);
  if (x < 0 || k < 0) return false;
  const size_t rank = info(x).shape.size();
  const std::string inner = helper(rank, info(x).exact);
  const bool tail = random_.chance(50);
  Function function;
  function.name = "r" + std::to_string(program_.functions.size());
  function.parameterTypes = {"Tensor[(), i64]", tensorText(rank)};
  function.resultType = tensorText(rank);
  ValueInfo count;
  count.dtype = Dtype::i64, count.wholeBits = 3, count.fractionBits = 0;
  ValueInfo data = info(x);
  const int kv = newValue(count), xv = newValue(data), result = newValue(data);
  function.body.parameters = {kv, xv};
  Body stop, go;
  stop.word = "then", go.word = "else";
  const std::vector<int> inStop = handIn({kv, xv}, &stop), inGo = handIn({kv, xv}, &go);
  stop.results = {inStop[1]};
  Place step{&go, inGo, 2};
  const std::string call = "@" + function.name + "(sub($0, i64[] 1), ";
  const int called = tail ? add(step, data, call + "@" + inner + "($1))", inGo)
                          : add(step, data, "@" + inner + "(" + call + "neg($1)))", inGo);
  go.results = {called};
  function.body.statements.push_back({{result}, {kv, xv}, "if(less_equal($0, i64[] 0), $0, $1)", {stop, go}});
  function.body.results = {result};
  program_.functions.push_back(function);
  add(place, carriedOf(info(x)), "@" + function.name + "(" + few("$0") + ", $1)", {k, x});
  return true;
}

void Generator::declare(const std::string& declaration) {
  auto& all = program_.declarations;
  if (std::find(all.begin(), all.end(), declaration) == all.end()) all.push_back(declaration);
}

bool Generator::chain(Place& place) {
  const int x = realOperand(place, 1);
  const int k = scalar(place);
  if (x < 0 || k < 0) return false;
  declare("type Chain { End(), Link(Tensor[(?), f32], Chain) }");
  ValueInfo flat = info(x);
  flat.shape = {unknown()};
  const int row = add(place, flat, "reshape($0, i64[1] [-1])", {x});
  ValueInfo data;
  data.type = "Chain";
  const int end = add(place, data, "End()", {});
  Body body;
  body.word = "body";
  ValueInfo iteration;
  iteration.dtype = Dtype::i64, iteration.wholeBits = 3, iteration.fractionBits = 0;
  const int i = newValue(iteration), rest = newValue(data);
  body.parameters = {i, rest};
  const std::vector<int> inside = handIn({row}, &body);
  Place step{&body, {inside[0], i}, 2};
  const int payload = bodyResult(step, flat, SizesOf::any, inside[0]);
  body.results = {-1, add(step, data, "Link($0, $1)", {payload, rest})};
  const int made =
      add(place, data, "loop(" + few("$0") + ", _, $1, $2) {carried = 1}", {k, end, row}, {body});

  Function walk;
  walk.name = "w" + std::to_string(program_.functions.size());
  walk.parameterTypes = {"Chain", "Tensor[(), f32]"};
  walk.resultType = "Tensor[(), f32]";
  ValueInfo total;
  total.exact = info(payload).exact;
  total.wholeBits = 16;
  total.fractionBits = 1;
  const int chainValue = newValue(data), sum = newValue(total), result = newValue(total);
  walk.body.parameters = {chainValue, sum};
  Body none, some;
  none.word = "case End", some.word = "case Link";
  const int sumNone = newValue(total), first = newValue(flat), others = newValue(data),
            sumSome = newValue(total);
  none.parameters = {sumNone};
  none.results = {sumNone};
  some.parameters = {first, others, sumSome};
  const bool tail = random_.chance(50);
  Place inner{&some, {}, 2};
  const std::string more = "reduce_sum($0) {keepdims = 0}";
  some.results = {
      tail ? add(inner, total, "@" + walk.name + "($1, add($2, " + more + "))", {first, others, sumSome})
           : add(inner, total, "add(@" + walk.name + "($1, $2), " + more + ")", {first, others, sumSome})};
  std::vector<Body> cases = {none, some};
  if (random_.chance(50)) std::swap(cases[0], cases[1]);
  walk.body.statements.push_back({{result}, {chainValue, sum}, "match($0, $1)", cases});
  walk.body.results = {result};
  program_.functions.push_back(walk);
  add(place, total, "@" + walk.name + "($0, f32[] 0.0)", {made});
  return true;
}

bool Generator::tree(Place& place) {
  const int x = realOperand(place);
  const int k = scalar(place);
  if (x < 0 || k < 0) return false;
  const size_t rank = info(x).shape.size();
  const std::string type = "Tree" + std::to_string(rank);
  const std::string leaf = "Leaf" + std::to_string(rank), node = "Node" + std::to_string(rank);
  declare("type " + type + " { " + leaf + "(" + tensorText(rank) + "), " + node + "(" + type + ", " + type +
          ") }");
  const std::string left = helper(rank, info(x).exact), right = helper(rank, info(x).exact);
  ValueInfo count, data = info(x), made;
  count.dtype = Dtype::i64, count.wholeBits = 3, count.fractionBits = 0;
  made.type = type;

  Function grow;
  grow.name = "g" + std::to_string(program_.functions.size());
  grow.parameterTypes = {"Tensor[(), i64]", tensorText(rank)};
  grow.resultType = type;
  const int depth = newValue(count), value = newValue(data), grown = newValue(made);
  grow.body.parameters = {depth, value};
  Body stop, go;
  stop.word = "then", go.word = "else";
  const std::vector<int> inStop = handIn({depth, value}, &stop), inGo = handIn({depth, value}, &go);
  Place stopPlace{&stop, {}, 2}, goPlace{&go, {}, 2};
  stop.results = {add(stopPlace, made, leaf + "($0)", {inStop[1]})};
  const std::string again = "@" + grow.name + "(sub($0, i64[] 1), ";
  go.results = {
      add(goPlace, made, node + "(" + again + "@" + left + "($1)), " + again + "@" + right + "($1)))", inGo)};
  grow.body.statements.push_back(
      {{grown}, {depth, value}, "if(less_equal($0, i64[] 0), $0, $1)", {stop, go}});
  grow.body.results = {grown};
  program_.functions.push_back(grow);

  Function fold;
  fold.name = "h" + std::to_string(program_.functions.size());
  fold.parameterTypes = {type};
  std::string result = "Tensor[(";
  for (size_t i = 0; i < rank; ++i) result += i ? ", ?" : "?";
  fold.resultType = result + "), f32]";
  ValueInfo folded = data;
  folded.wholeBits = 8;
  for (Size& size : folded.shape) size = unknown();
  const int subject = newValue(made), all = newValue(folded);
  fold.body.parameters = {subject};
  Body one, two;
  one.word = "case " + leaf, two.word = "case " + node;
  const int held = newValue(data), a = newValue(made), b = newValue(made);
  one.parameters = {held};
  one.results = {held};
  two.parameters = {a, b};
  Place twoPlace{&two, {}, 2};
  two.results = {add(twoPlace, folded, "add(@" + fold.name + "($0), @" + fold.name + "($1))", {a, b})};
  fold.body.statements.push_back({{all}, {subject}, "match($0)", {one, two}});
  fold.body.results = {all};
  program_.functions.push_back(fold);

  const int planted = add(place, made, "@" + grow.name + "(min(" + few("$0") + ", i64[] 3), $1)", {k, x});
  add(place, folded, "@" + fold.name + "($0)", {planted});
  return true;
}

bool Generator::listOfParts(Place& place) {
  const int x = realOperand(place, 1);
  if (x < 0 || info(x).shape.size() != 1) return false;
  ValueInfo list;
  list.type = "List";
  const int parts =
      add(place, list, "list($0, slice($0, i64[1] [1], i64[1] [3]), concat($0, $0) {axis = 0})", {x});
  const std::string each = helper(1, info(x).exact);
  const int changed = add(place, list, "map(@" + each + ", $0)", {parts});
  ValueInfo made = carriedOf(info(x));
  made.shape = {unknown()};
  if (random_.chance(50)) {
    add(place, made, "concat_from_sequence($0) {axis = 0}", {changed});
  } else {
    const int k = scalar(place);
    if (k < 0) return true;
    add(place, made, "list_at($0, min(" + few("$1") + ", i64[] 2))", {changed, k});
  }
  return true;
}

}  // namespace dyn::differential
