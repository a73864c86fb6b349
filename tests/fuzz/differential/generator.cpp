#include "tests/fuzz/differential/generator.h"

#include <algorithm>

#include "tests/fuzz/differential/generator_state.h"

namespace dyn::differential {

Program Generator::make() {
  makeInputs();
  Place main{&program_.main, program_.inputs, 0};
  const int64_t count = random_.number(4, 16);
  for (int64_t i = 0; i < count; ++i) step(main);
  chooseResults(main);
  if (aimsAtHomes_) addOddResults(main);
  return withoutDeadCode(std::move(program_));
}

int Generator::newValue(ValueInfo made) {
  program_.values.push_back(std::move(made));
  return static_cast<int>(program_.values.size()) - 1;
}

int Generator::pick(const Place& place, const Filter& wanted) {
  std::vector<int> fitting;
  for (int value : place.values) {
    const ValueInfo& candidate = program_.values[static_cast<size_t>(value)];
    if (candidate.type.empty() && wanted(candidate)) fitting.push_back(value);
  }
  // Values made last are taken more often: programs become deep, not only wide.
  if (fitting.empty()) return -1;
  if (random_.chance(40)) return fitting.back();
  return random_.of(fitting);
}

int Generator::add(Place& place, ValueInfo made, std::string text, std::vector<int> operands,
                   std::vector<Body> bodies) {
  const int value = newValue(std::move(made));
  place.body->statements.push_back({{value}, std::move(operands), std::move(text), std::move(bodies)});
  place.values.push_back(value);
  return value;
}

std::string Generator::vectorText(const std::vector<int64_t>& elements) {
  std::string text = "i64[" + std::to_string(elements.size()) + "] [";
  for (size_t i = 0; i < elements.size(); ++i) text += (i ? ", " : "") + std::to_string(elements[i]);
  return text + "]";
}

bool Generator::fits(const ValueInfo& i) {
  if (isWhole(i)) return i.wholeBits <= 28;
  return !isReal(i) || (i.exact ? i.wholeBits + i.fractionBits <= kMostBits : i.wholeBits <= 8);
}

void Generator::makeInputs() {
  const std::vector<Size> sizes = {"a", "a", "b", "b", "c", "1", "2", "3", "5", "8"};
  const std::vector<Dtype> dtypes = {Dtype::f32, Dtype::f32, Dtype::f32,    Dtype::i64,
                                     Dtype::i32, Dtype::f64, Dtype::boolean};
  for (int64_t i = random_.number(1, 3); i >= 0; --i) {
    ValueInfo input;
    input.dtype = i == 0 ? Dtype::f32 : random_.of(dtypes);
    for (int64_t rank = random_.number(i == 0 ? 1 : 0, 3); rank > 0; --rank)
      input.shape.push_back(random_.of(sizes));
    if (input.dtype == Dtype::boolean) input.wholeBits = 1, input.fractionBits = 0;
    if (isWhole(input)) input.wholeBits = 3, input.fractionBits = 0;
    program_.inputs.push_back(newValue(input));
  }
  ValueInfo count;  // 0..4: trips, conditions, positions
  count.dtype = Dtype::i64;
  count.wholeBits = 3;
  count.fractionBits = 0;
  program_.inputs.push_back(newValue(count));
}

void Generator::chooseResults(Place& place) {
  std::vector<int> used;
  for (const Statement& s : place.body->statements)
    used.insert(used.end(), s.operands.begin(), s.operands.end());
  for (size_t i = place.values.size(); i-- > 0 && program_.main.results.size() < 6;) {
    const int value = place.values[i];
    const bool isInput = std::count(program_.inputs.begin(), program_.inputs.end(), value) > 0;
    if (info(value).type.empty() && !isInput && std::count(used.begin(), used.end(), value) == 0)
      program_.main.results.push_back(value);
  }
  if (program_.main.results.empty()) program_.main.results.push_back(program_.inputs[0]);
}

bool Generator::step(Place& place) {
  struct Row {
    int weight;
    Maker maker;
    bool control;
    bool ofHomes = false;
  };
  static const std::vector<Row> kRows = {{8, &Generator::unary, false},
                                         {12, &Generator::binary, false},
                                         {4, &Generator::comparison, false},
                                         {3, &Generator::selection, false},
                                         {5, &Generator::conversion, false},
                                         {8, &Generator::reduction, false},
                                         {2, &Generator::argument, false},
                                         {2, &Generator::running, false},
                                         {3, &Generator::softmax, false},
                                         {5, &Generator::transposed, false},
                                         {6, &Generator::reshaped, false},
                                         {4, &Generator::joined, false},
                                         {5, &Generator::sliced, false},
                                         {2, &Generator::divided, false},
                                         {4, &Generator::gathered, false},
                                         {2, &Generator::repeated, false},
                                         {2, &Generator::padded, false},
                                         {2, &Generator::triangle, false},
                                         {6, &Generator::product, false},
                                         {2, &Generator::sparseProduct, false},
                                         {2, &Generator::sizesAsValues, false},
                                         {2, &Generator::counting, false},
                                         {2, &Generator::nonzero, false},
                                         {2, &Generator::compressed, false},
                                         {2, &Generator::distinct, false},
                                         {2, &Generator::largest, false},
                                         {2, &Generator::filled, false},
                                         {2, &Generator::oneHot, false},
                                         {2, &Generator::scattered, false},
                                         {5, &Generator::branch, true},
                                         {5, &Generator::loop, true},
                                         {3, &Generator::callOfHelper, true},
                                         {3, &Generator::recursion, true},
                                         {3, &Generator::chain, true},
                                         {2, &Generator::tree, true},
                                         {3, &Generator::listOfParts, true},
                                         {2, &Generator::valueSized, false, true},
                                         {2, &Generator::manyResults, true, true},
                                         {2, &Generator::manyCarried, true, true},
                                         {1, &Generator::passedThrough, true, true},
                                         {2, &Generator::sizeFromControl, true, true},
                                         {1, &Generator::sameInLists, true, true}};
  const auto weightOf = [&](const Row& row) {
    if (row.control && place.depth >= 2) return 0;
    return row.ofHomes && aimsAtHomes_ ? 8 * row.weight : row.weight;
  };
  int total = 0;
  for (const Row& row : kRows) total += weightOf(row);
  for (int attempt = 0; attempt < 20; ++attempt) {
    int64_t chosen = random_.number(0, total - 1);
    for (const Row& row : kRows) {
      chosen -= weightOf(row);
      if (chosen >= 0) continue;
      if ((this->*row.maker)(place)) return true;
      break;
    }
  }
  return false;
}

Program generate(uint64_t seed) { return Generator(seed).make(); }

std::vector<Sizes> sizesFor(const Program& program, uint64_t seed) {
  RandomSource random(seed ^ 0x517cc1b727220a95u);
  const std::vector<std::string> symbols = symbolsOfInputs(program);
  const std::vector<int64_t> primes = {2, 3, 5, 7, 11, 13};
  std::vector<Sizes> all(6);
  const int64_t same = random.of(primes);
  for (const std::string& symbol : symbols) {
    all[0][symbol] = 1;
    all[1][symbol] = same;
    all[2][symbol] = random.of(primes);
    all[3][symbol] = random.of(primes);
    all[4][symbol] = random.chance(50) ? 0 : random.of(primes);
    all[5][symbol] = random.number(0, 17);
  }
  return all;
}

}  // namespace dyn::differential
