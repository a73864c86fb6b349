#include "compiler/passes/analysis/path_facts.h"

#include <algorithm>

#include "compiler/infer/infer.h"
#include "compiler/infer/infer_functions.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

bool hasChecks(const Function& function) {
  return std::any_of(function.ops.begin(), function.ops.end(),
                     [](const Op* op) { return op->def == &ops::checkOp; });
}

}  // namespace

PathFacts::PathFacts(const Module& module) : all_(module.context->facts()), start_(module.context->dims()) {
  const std::vector<FunctionVisit> visits = functionsOf(module);
  anyChecks_ = std::any_of(all_.facts().begin(), all_.facts().end(), isOfCheck) ||
               std::any_of(visits.begin(), visits.end(), [](const FunctionVisit& visit) {
                 return visit.outer && hasChecks(*visit.function);
               });
  if (!anyChecks_) return;
  for (const Fact& fact : all_.facts())
    if (!isOfCheck(fact)) (void)addFact(&start_, fact);
  here_.emplace(start_);
  std::unordered_map<const Op*, size_t> placeOf;  // of operations with bodies
  for (const FunctionVisit& visit : visits) {
    Body body;
    if (visit.outer) {
      body.outer = bodyByName_.at(visit.outer->name);
      body.owner = placeOf.at(visit.owner);
      body.knowsMore = hasChecks(*visit.function) || bodies_[body.outer].knowsMore;
    }
    for (size_t i = 0; i < visit.function->ops.size(); ++i) {
      const Op* op = visit.function->ops[i];
      if (op->def == &ops::checkOp) body.checks.emplace_back(i, op);
      if (!op->regions.empty()) placeOf[op] = i;
    }
    bodyByName_.emplace(visit.function->name, bodies_.size());
    bodies_.push_back(std::move(body));
  }
}

size_t PathFacts::bodyOf(const Function& function) const {
  const auto found = bodyByName_.find(function.name);
  return found == bodyByName_.end() ? kNone : found->second;
}

void PathFacts::learnUpTo(Level& level, size_t index) {
  const auto& checks = bodies_[level.body].checks;
  while (!level.marks.empty() && checks[level.marks.size() - 1].first >= index) {
    here_->rollback(level.marks.back());
    level.marks.pop_back();
  }
  for (size_t next = level.marks.size(); next < checks.size() && checks[next].first < index; ++next) {
    level.marks.push_back(here_->mark());
    (void)learnCheck(*checks[next].second, &*here_);  // what contradicts the rest: nothing behind it runs
  }
}

void PathFacts::moveTo(Place place) {
  std::vector<Place> way;  // innermost first
  for (Place at = place; at.body != kNone; at = {bodies_[at.body].outer, bodies_[at.body].owner})
    way.push_back(at);
  std::reverse(way.begin(), way.end());
  size_t shared = 0;
  while (shared < std::min(way.size(), levels_.size()) && way[shared].body == levels_[shared].body) ++shared;
  while (levels_.size() > shared) {
    learnUpTo(levels_.back(), 0);
    levels_.pop_back();
  }
  if (shared > 0) learnUpTo(levels_.back(), way[shared - 1].index);
  for (size_t i = shared; i < way.size(); ++i) {
    levels_.push_back({way[i].body, {}});
    learnUpTo(levels_.back(), way[i].index);
  }
}

Answer PathFacts::answerOf(const DimSolver& facts, Relation relation, Dim a, Dim b) {
  return relation == Relation::equal ? facts.equal(a, b) : facts.lessEqual(a, b);
}

bool PathFacts::ask(Relation relation, Dim a, Dim b, Place place) {
  if (a == b) return true;
  const auto [entry, fresh] = known_.try_emplace({relation, a.id(), b.id()});
  Known& known = entry->second;
  if (fresh) {
    known.anywhere = answerOf(all_, relation, a, b) == Answer::yes;
    known.fromStart = known.anywhere && (!anyChecks_ || answerOf(start_, relation, a, b) == Answer::yes);
  }
  if (known.fromStart || place.body == kNone) return known.fromStart;
  if (!known.anywhere && !bodies_[place.body].knowsMore) return false;
  // What holds at one place holds further down.
  auto& [noBefore, yesFrom] = known.ofBody.try_emplace(place.body, Span{}).first->second;
  if (place.index >= yesFrom) return true;
  if (place.index < noBefore) return false;
  moveTo(place);
  const bool holds = answerOf(*here_, relation, a, b) == Answer::yes;
  if (holds)
    yesFrom = place.index;
  else
    noBefore = place.index + 1;
  return holds;
}

bool PathFacts::equal(Dim a, Dim b, Place place) { return ask(Relation::equal, a, b, place); }

bool PathFacts::equalShapes(const Shape& a, const Shape& b, Place place) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i], place)) return false;
  return true;
}

bool PathFacts::lessEqual(Dim a, Dim b, Place place) { return ask(Relation::lessEqual, a, b, place); }

}  // namespace dyn
