#include "tests/fuzz/differential/reducer.h"

#include <algorithm>
#include <set>

namespace dyn::differential {

namespace {

// All bodies of a program, by walking it the same way each time.
void collect(Body* body, std::vector<Body*>* all) {
  all->push_back(body);
  for (Statement& s : body->statements)
    for (Body& inner : s.bodies) collect(&inner, all);
}
std::vector<Body*> bodiesOf(Program* program) {
  std::vector<Body*> all;
  collect(&program->main, &all);
  for (Function& function : program->functions) collect(&function.body, &all);
  return all;
}

void replaceUses(Body* body, size_t from, int value, int by) {
  for (size_t i = from; i < body->statements.size(); ++i)
    std::replace(body->statements[i].operands.begin(), body->statements[i].operands.end(), value, by);
  std::replace(body->results.begin(), body->results.end(), value, by);
}

class Reducer {
 public:
  Reducer(Failure failure, const Fails& fails) : best_(std::move(failure)), fails_(fails) {}

  Failure run() {
    for (bool again = true; again && tries_ < kMostTries;) {
      again = oneResult();
      again |= withoutStatements();
      again |= smallerSizes();
    }
    return std::move(best_);
  }

 private:
  static constexpr int kMostTries = 600;

  bool keep(Program program) {
    if (++tries_ > kMostTries) return false;
    program = withoutDeadCode(std::move(program));
    if (!fails_(program, best_.sizes)) return false;
    best_.program = std::move(program);
    return true;
  }

  // The first value of @main that shows the failure alone.
  bool oneResult() {
    std::vector<int> candidates;
    for (const Statement& s : best_.program.main.statements)
      for (int value : s.results)
        if (best_.program.values[static_cast<size_t>(value)].type.empty()) candidates.push_back(value);
    for (int value : candidates) {
      if (best_.program.main.results == std::vector<int>{value}) return false;
      Program smaller = best_.program;
      smaller.main.results = {value};
      if (keep(std::move(smaller))) return true;
    }
    return false;
  }

  // Each statement, last first: something at hand of the same kind stands for what it makes.
  bool withoutStatements() {
    bool any = false;
    for (size_t b = bodiesOf(&best_.program).size(); b-- > 0;) {
      if (b >= bodiesOf(&best_.program).size()) continue;
      for (size_t i = bodiesOf(&best_.program)[b]->statements.size(); i-- > 0;) {
        if (b < bodiesOf(&best_.program).size() && i < bodiesOf(&best_.program)[b]->statements.size())
          any |= withoutStatement(b, i);
      }
    }
    return any;
  }

  bool withoutStatement(size_t b, size_t i) {
    const Body body = *bodiesOf(&best_.program)[b];
    std::vector<int> atHand = b == 0 ? best_.program.inputs : body.parameters;
    for (size_t k = 0; k < i; ++k)
      atHand.insert(atHand.end(), body.statements[k].results.begin(), body.statements[k].results.end());
    Program smaller = best_.program;
    Body* inside = bodiesOf(&smaller)[b];
    for (int result : body.statements[i].results) {
      const ValueInfo& made = best_.program.values[static_cast<size_t>(result)];
      const auto other = std::find_if(atHand.rbegin(), atHand.rend(), [&](int value) {
        const ValueInfo& info = best_.program.values[static_cast<size_t>(value)];
        return info.dtype == made.dtype && info.type == made.type && info.shape.size() == made.shape.size() &&
               (info.exact || !made.exact);
      });
      if (other != atHand.rend()) replaceUses(inside, i + 1, result, *other);
    }
    if (toText(withoutDeadCode(smaller)) == toText(best_.program)) return false;
    return keep(std::move(smaller));
  }

  bool smallerSizes() {
    bool any = false;
    for (const std::string& symbol : symbolsOfInputs(best_.program)) {
      for (int64_t size : {0, 1, 2, 3, 5}) {
        if (size >= best_.sizes.at(symbol)) break;
        Sizes smaller = best_.sizes;
        smaller[symbol] = size;
        if (++tries_ > kMostTries || !fails_(best_.program, smaller)) continue;
        best_.sizes = std::move(smaller);
        any = true;
        break;
      }
    }
    return any;
  }

  Failure best_;
  const Fails& fails_;
  int tries_ = 0;
};

}  // namespace

Failure reduced(Failure failure, const Fails& fails) { return Reducer(std::move(failure), fails).run(); }

}  // namespace dyn::differential
