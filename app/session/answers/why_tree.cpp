#include "app/session/answers/why_tree.h"

#include <set>

#include "app/session/graph/node_ids.h"
#include "app/session/views/node_id.h"
#include "app/session/views/why_views.h"

namespace dyn {

namespace {

constexpr size_t kLeastFolded = 4;  // fewer are read faster than unfolded
constexpr size_t kMostPlaces = 10'000;

// Is the dim that of one place before, unchanged?
bool keeps(const DimStep& step) {
  return step.sources.size() == 1 && step.rule == step.sources[0].placeholder && step.facts.empty();
}

std::string reasonText(const Fact& fact) {
  std::string text = fact.toString();
  const SourceLocation& place = fact.reason.place;
  if (!place.known() || text.find(place.toString()) != std::string::npos) return text;
  return text + " at " + (place.node.empty() ? place.toString() : "node " + place.node);
}

class TreeWriter {
 public:
  TreeWriter(const IrContext& ir, DimOrigins& origins) : ir_(ir), origins_(origins) {}

  std::vector<WhyStep> write(const DimPlace& place) {
    std::vector<std::pair<DimPlace, int>> waiting = {{place, 0}};
    while (!waiting.empty() && seen_.size() < kMostPlaces) {
      const auto [next, depth] = waiting.back();
      waiting.pop_back();
      const DimStep* step = keepers(next, depth);
      if (!step) continue;
      add(*step, depth);
      const int below = depth + (step->sources.size() > 1 ? 1 : 0);
      for (size_t i = step->sources.size(); i-- > 0;) waiting.emplace_back(step->sources[i].place, below);
    }
    return std::move(tree_);
  }

 private:
  void add(const DimStep& step, int depth) {
    tree_.push_back(viewOf(step, depth));
    for (const Fact& fact : step.facts)
      tree_.push_back({"since " + reasonText(fact), depth + 1, kNoNode, "", ""});
  }

  WhyStep viewOf(const DimStep& step, int depth) const {
    return {origins_.toString(step), depth, NodeIds::ofMaker(step.op, step.place.value),
            dyn::toString(ir_, step.place), step.op && keeps(step) ? std::string(step.op->def->name) : ""};
  }

  // Writes the steps from `place` on that keep the dim; the first that does not, or null when it was written
  // before.
  const DimStep* keepers(DimPlace place, int depth) {
    std::vector<const DimStep*> run;
    const DimStep* step = nullptr;
    while (seen_.size() < kMostPlaces && seen_.insert(place).second) {
      step = &origins_.step(place);
      if (!keeps(*step)) break;
      run.push_back(step);
      place = step->sources[0].place;
      step = nullptr;
    }
    if (run.size() < kLeastFolded) {
      for (const DimStep* one : run) add(*one, depth);
      return step;
    }
    const DimStep& first = *run.front();
    WhyStep folded{dyn::toString(ir_, first.place) + " = " + dyn::toString(ir_, place) + " through " +
                       std::to_string(run.size()) + " operations that keep it",
                   depth, NodeIds::ofMaker(first.op, first.place.value), dyn::toString(ir_, first.place), ""};
    for (const DimStep* one : run) folded.folded.push_back(viewOf(*one, depth + 1));
    tree_.push_back(std::move(folded));
    return step;
  }

  const IrContext& ir_;
  DimOrigins& origins_;
  std::set<DimPlace> seen_;
  std::vector<WhyStep> tree_;
};

}  // namespace

std::vector<WhyStep> whyTree(const IrContext& ir, DimOrigins& origins, const DimPlace& place, size_t most) {
  std::vector<WhyStep> tree = TreeWriter(ir, origins).write(place);
  if (tree.size() > most) {
    const size_t more = tree.size() - most;
    tree.resize(most);
    tree.push_back({"... " + std::to_string(more) + " more steps", 0, kNoNode, "", ""});
  }
  return tree;
}

std::string toString(const WhyStep& step) {
  return std::string(2 * static_cast<size_t>(step.depth), ' ') + step.text;
}

}  // namespace dyn
