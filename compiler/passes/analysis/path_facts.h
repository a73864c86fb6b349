// What is known of sizes where an operation runs: what holds from the start, and what the checks say that
// every way to it has passed.
//
//   %p = mul(%x, 2)              here n and m may differ
//   check() {n eq m}
//   %z = matmul(%p, %y)          here they are equal
//
// IrContext::facts() also has facts of checks further down. A pass that acted on one of these would let the
// operations before that check read and write beyond their tensors, where the check is going to fail. Passes
// that ask about sizes ask here. Time: where no check taught anything, that of the question, once; else
// moving from one place to another learns what lies between them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/ir/module.h"

namespace dyn {

class PathFacts {
 public:
  // Operations are numbered as in `module`, which stays as it is: a pass asks by the places that operations
  // had before it.
  explicit PathFacts(const Module& module);

  // Before operation `index` of a function or body. For one that the module does not have, what holds from
  // the start.
  struct Place {
    size_t body, index;
  };
  size_t bodyOf(const Function& function) const;

  bool equal(Dim a, Dim b, Place place);
  bool equalShapes(const Shape& a, const Shape& b, Place place);
  bool lessEqual(Dim a, Dim b, Place place);

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Body {
    size_t outer = kNone, owner = 0;  // the body around it, and which operation of that one has it
    bool knowsMore =
        false;  // it, or one around it, is a region with checks: IrContext::facts() has none of these
    std::vector<std::pair<size_t, const Op*>> checks;  // with their indices
  };
  // What has been learnt of a body: the checks before `learnt`, each with the solver's state before it.
  struct Level {
    size_t body;
    std::vector<size_t> marks;
  };

  enum class Relation : uint8_t { equal, lessEqual };
  // From which operation of a body on an answer is known to be yes, and up to which to be no.
  struct Span {
    size_t noBefore = 0, yesFrom = SIZE_MAX;
  };
  struct Known {
    bool anywhere = false, fromStart = false;
    std::unordered_map<size_t, Span> ofBody;
  };
  static Answer answerOf(const DimSolver& facts, Relation relation, Dim a, Dim b);
  bool ask(Relation relation, Dim a, Dim b, Place place);
  void moveTo(Place place);
  void learnUpTo(Level& level, size_t index);

  // Also what only later checks say, but none of those in regions: else what is unknown to it is unknown
  // everywhere.
  const DimSolver& all_;
  bool anyChecks_ = false;
  DimSolver start_;
  std::optional<DimSolver> here_;  // where the last question was asked
  std::vector<Body> bodies_;
  std::unordered_map<std::string, size_t> bodyByName_;
  std::vector<Level> levels_;                                        // outermost first
  std::map<std::tuple<Relation, uint32_t, uint32_t>, Known> known_;  // by ids: a pass asks the same often
};

}  // namespace dyn
