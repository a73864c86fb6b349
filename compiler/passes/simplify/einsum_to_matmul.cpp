// Einsum, and convolutions with moved windows (moved_windows.h), become products of matrices.
//   requires: types.  provides: no einsum of several operands has a sum that a (batched) product of two matrices could be.
//   before  %y = einsum(%a, %b) {equation = "bihd,bjhd->bhij"}
//   after   %l = transpose(%a) {perm = [0, 2, 1, 3]}  %r = transpose(%b) {perm = [0, 2, 1, 3]}  %y = matmul(%l, %r) {transpose_b = 1}
// Of two operands, letters that both have and the result, too, number the products; those that only the
// operands have are summed by them; the others are rows and columns. What only one operand has is summed
// before, and a letter twice in a term taken as its diagonal: an einsum of one operand, which stays. Letters
// that stand side by side everywhere go together, so that most equations need no axis moved. Several operands
// are multiplied pair by pair, the cheapest first (sizes that are not known count as 64). An einsum without
// rows or without columns is a sum of products along memory and stays. Where the sizes of a letter are not
// known to be equal, one of them may be 1 and repeat: products do so by themselves if the letter numbers
// them; else its operand is expanded, which they read where it lies, by a stride that is 0 then (views). The
// passes behind it make transposes the order in which a product reads (absorb), and pack weights (prepack).
// Cost in IR size: up to eight operations for each pair.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/einsum_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/path_facts.h"
#include "compiler/passes/rewrite/op_series.h"
#include "compiler/passes/simplify/moved_windows.h"

namespace dyn::passes {

namespace {

using Labels = std::vector<int>;

constexpr double kUnknownSize = 64;

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// A tensor and the labels of its axes.
struct Term {
  ValueId value = kNoValue;
  Labels labels;
  std::map<int, Dim> own = {};  // sizes of labels that may be 1 here while they are not elsewhere
};

// What the letters of two operands are for.
struct Roles {
  Labels batch, rows, columns, summed;
};

Roles rolesOf(const Labels& a, const Labels& b, const Labels& result) {
  Roles roles;
  for (int label : result) {
    if (has(a, label) && has(b, label))
      roles.batch.push_back(label);
    else if (has(a, label))
      roles.rows.push_back(label);
    else
      roles.columns.push_back(label);
  }
  for (int label : a)
    if (has(b, label) && !has(result, label)) roles.summed.push_back(label);
  return roles;
}

// The operations that take the place of one einsum.
class EinsumContraction {
 public:
  EinsumContraction(const Op& einsum, IrContext& ir, PathFacts& facts, PathFacts::Place place,
                    const std::unordered_map<ValueId, Type>& types, std::vector<const Op*>& ops)
      : einsum_(einsum),
        ir_(ir),
        facts_(facts),
        place_(place),
        outer_(types),
        series_(ir, einsum.place, ops),
        dtype_(einsum.results[0].type.dtype()) {}

  // False, and nothing done, where it is to stay.
  bool run() {
    std::vector<int> ranks;
    for (ValueId v : einsum_.operands) ranks.push_back(outer_.at(v).rank());
    std::string why;
    const auto equation = einsumEquation(einsum_.attributes.string("equation"), ranks, &why);
    if (!equation || !findSizes(*equation)) return false;
    if (ranks.size() == 1) return move(equation->operands[0], equation->result);
    // Each product of several is rounded to the element type, which is too much for a narrow one.
    if (ranks.size() > 2 && isReal(dtype_) && storageBytes(dtype_) < 4) return false;
    std::vector<Term> terms;
    for (size_t i = 0; i < ranks.size(); ++i) terms.push_back({einsum_.operands[i], equation->operands[i]});
    if (terms.size() == 2 && !isProduct(terms[0].labels, terms[1].labels, equation->result)) return false;
    for (Term& term : terms) expand(term, terms, equation->result);
    for (const Term& term : terms)
      for (int label : once(term.labels)) ++termsWith_[label];
    // Of many only the next few are looked at together.
    std::vector<Term> window;
    for (size_t next = 0; next < terms.size() || window.size() > 2;) {
      while (next < terms.size() && window.size() < kMostCompared) window.push_back(terms[next++]);
      if (window.size() > 2) joinCheapest(window, equation->result);
    }
    multiply(window[0], window[1], equation->result, einsum_.results[0].id);
    return true;
  }

 private:
  // An einsum that only moves axes.
  bool move(const Labels& from, const Labels& to) {
    if (once(from) != from || from.size() != to.size()) return false;
    transposed(einsum_.operands[0], from, to, sizes_, einsum_.results[0].id);
    return true;
  }

  // What each label counts: in sizes_, and in spread_ those of which some operand may have one element. False
  // where one operand has a label twice, with sizes that may differ.
  bool findSizes(const EinsumEquation& equation) {
    const Shape& result = einsum_.results[0].type.dims();
    for (size_t i = 0; i < equation.operands.size(); ++i) {
      const Labels& labels = equation.operands[i];
      for (size_t k = 0; k < labels.size(); ++k) {
        const Dim here = outer_.at(einsum_.operands[i]).dims()[k];
        auto [known, fresh] = sizes_.try_emplace(labels[k], here);
        if (fresh || facts_.equal(known->second, here, place_)) continue;
        if (std::count(labels.begin(), labels.end(), labels[k]) > 1) return false;
        known->second = bothOf(known->second, here);
        spread_.insert(labels[k]);
      }
    }
    for (size_t k = 0; k < equation.result.size(); ++k)
      if (spread_.count(equation.result[k])) sizes_[equation.result[k]] = result[k];
    return true;
  }

  // Of two sizes that are equal, or one of them 1.
  Dim bothOf(Dim a, Dim b) const {
    const Dim one = ir_.dims().constant(1);
    if (a == one || (b.isConstant() && !b.isConstant(1))) return b;
    if (b == one || a.isConstant()) return a;
    return max(a, b) * min(min(a, b), one);  // 0 beside 1 is 0
  }

  // Of two operands those labels that number the products stay: a product repeats where it has one matrix.
  void expand(Term& term, const std::vector<Term>& terms, const Labels& result) {
    const Shape own = outer_.at(term.value).dims();
    Shape whole;
    bool differs = false;
    for (size_t k = 0; k < own.size(); ++k) {
      const int label = term.labels[k];
      const bool numbers = terms.size() == 2 && has(terms[0].labels, label) && has(terms[1].labels, label) &&
                           has(result, label);
      if (numbers && spread_.count(label)) term.own[label] = own[k];
      whole.push_back(term.own.count(label) ? own[k] : sizes_.at(label));
      differs = differs || !facts_.equal(whole.back(), own[k], place_);
    }
    if (differs) term.value = emit(&ops::expandOp, {term.value, series_.sizes(whole)}, {}, whole, kNoValue);
  }

  static Labels once(const Labels& labels) {
    Labels distinct;
    for (int label : labels)
      if (!has(distinct, label)) distinct.push_back(label);
    return distinct;
  }

  static bool isProduct(const Labels& a, const Labels& b, const Labels& result) {
    const Roles roles = rolesOf(a, b, result);
    return !roles.summed.empty() && !roles.rows.empty() && !roles.columns.empty();
  }

  double size(const Labels& labels) const {
    double product = 1;
    for (int label : labels)
      product *= static_cast<double>(ir_.facts().canonical(sizes_.at(label)).constant().value_or(0));
    return product > 0 ? product : sizeWithGuesses(labels);
  }
  double sizeWithGuesses(const Labels& labels) const {
    double product = 1;
    for (int label : labels) {
      const std::optional<int64_t> known = ir_.facts().canonical(sizes_.at(label)).constant();
      product *= known && *known > 0 ? static_cast<double>(*known) : kUnknownSize;
    }
    return product;
  }

  // Labels of the product of terms i and j: those that another term or the result still asks for.
  Labels wantedOf(const std::vector<Term>& terms, size_t i, size_t j, const Labels& result) const {
    const auto asked = [&](int label) {
      const size_t own = (has(terms[i].labels, label) ? 1 : 0) + (has(terms[j].labels, label) ? 1 : 0);
      return has(result, label) || termsWith_.at(label) > own;
    };
    Labels both = terms[i].labels;
    both.insert(both.end(), terms[j].labels.begin(), terms[j].labels.end());
    both = once(both);
    std::stable_partition(both.begin(), both.end(), [&](int label) {
      return has(terms[i].labels, label) && has(terms[j].labels, label);
    });
    std::erase_if(both, [&](int label) { return !asked(label); });
    return both;
  }

  void joinCheapest(std::vector<Term>& terms, const Labels& result) {
    size_t left = 0, right = 1;
    double least = -1;
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = i + 1; j < terms.size(); ++j) {
        Labels all = terms[i].labels;
        all.insert(all.end(), terms[j].labels.begin(), terms[j].labels.end());
        // Multiplications, and what is left for others to read.
        const double cost = size(once(all)) + size(wantedOf(terms, i, j, result));
        if (least >= 0 && cost >= least) continue;
        least = cost;
        left = i;
        right = j;
      }
    const Labels wanted = wantedOf(terms, left, right, result);
    const ValueId value = ir_.newValue();
    multiply(terms[left], terms[right], wanted, value);
    for (const Term* term : {&terms[left], &terms[right]})
      for (int label : once(term->labels)) --termsWith_[label];
    for (int label : wanted) ++termsWith_[label];
    terms[left] = {value, wanted};
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(right));
  }

  // --- two operands

  void multiply(Term a, Term b, const Labels& result, ValueId into) {
    a = reduced(a, b.labels, result);
    b = reduced(b, a.labels, result);
    if (!isProduct(a.labels, b.labels, result)) {
      stays({a, b}, result, into);
      return;
    }
    // The last axis of the result comes from the right operand.
    if (has(a.labels, result.back()) && !has(b.labels, result.back())) std::swap(a, b);
    const std::vector<Labels> runs = runsOf(a.labels, b.labels, result);
    // Runs are named by their first letter from here on.
    std::map<int, Dim> sizes;
    Labels named;
    for (const Labels& run : runs) sizes[run[0]] = sizeOf(run);
    const auto shortened = [&](const Labels& labels) {
      Labels names;
      for (int label : labels)
        if (sizes.count(label)) names.push_back(label);
      return names;
    };
    Term left{a.value, shortened(a.labels), a.own}, right{b.value, shortened(b.labels), b.own};
    const Labels wanted = shortened(result);
    const auto sizesOf = [&](const Term& term) {
      std::map<int, Dim> own = sizes;
      for (const auto& [label, size] : term.own) own[label] = size;
      return own;
    };
    const std::map<int, Dim> sizesA = sizesOf(a), sizesB = sizesOf(b);
    left.value = reshaped(left.value, a.labels.size(), left.labels, sizesA);
    right.value = reshaped(right.value, b.labels.size(), right.labels, sizesB);
    const Roles roles = rolesOf(left.labels, right.labels, wanted);
    // Letters of one role, which stand apart, are brought together in the order of the result.
    const bool transposeA = matrixOf(left, roles.batch, roles.rows, roles.summed, sizesA);
    const bool transposeB = matrixOf(right, roles.batch, roles.summed, roles.columns, sizesB);
    Attributes flags;
    if (transposeA) flags.set("transpose_a", int64_t{1});
    if (transposeB) flags.set("transpose_b", int64_t{1});
    Shape shape;
    for (int label : roles.batch) shape.push_back(sizes.at(label));
    shape.push_back(product(roles.rows, sizes));
    shape.push_back(product(roles.columns, sizes));
    Labels order = roles.batch;
    order.insert(order.end(), roles.rows.begin(), roles.rows.end());
    order.insert(order.end(), roles.columns.begin(), roles.columns.end());
    // What follows the product ends in `into`.
    const bool apart = roles.rows.size() > 1 || roles.columns.size() > 1, moved = order != wanted,
               long_ = wanted.size() != result.size();
    const bool last = !moved && !long_ && !apart;
    ValueId value =
        emit(&ops::matmulOp, {left.value, right.value}, std::move(flags), shape, last ? into : kNoValue);
    if (apart && (moved || !long_))
      value = reshape(value, shapeOf(order, sizes), !moved && !long_ ? into : kNoValue);
    if (moved) value = transposed(value, order, wanted, sizes, long_ ? kNoValue : into);
    if (long_) reshape(value, shapeOf(result, sizes_), into);
  }

  // Without its diagonals and the letters that nobody else asks for.
  Term reduced(const Term& term, const Labels& other, const Labels& result) {
    Labels kept = once(term.labels);
    std::erase_if(kept, [&](int label) { return !has(other, label) && !has(result, label); });
    if (kept == term.labels) return term;
    const ValueId value = ir_.newValue();
    stays({term}, kept, value);
    return {value, kept, term.own};
  }

  void stays(const std::vector<Term>& terms, const Labels& result, ValueId into) {
    EinsumEquation equation;
    std::vector<ValueId> operands;
    for (const Term& term : terms) {
      equation.operands.push_back(term.labels);
      operands.push_back(term.value);
    }
    equation.result = result;
    Attributes attributes;
    attributes.set("equation", einsumText(equation));
    std::map<int, Dim> sizes = sizes_;
    if (terms.size() == 1)
      for (const auto& [label, size] : terms[0].own) sizes[label] = size;
    emit(&ops::einsumOp, std::move(operands), std::move(attributes), shapeOf(result, sizes), into);
  }

  // Letters in runs that stand side by side, in this order, in every list that has one of them. What is
  // expanded is no memory that another shape could be seen in.
  std::vector<Labels> runsOf(const Labels& a, const Labels& b, const Labels& result) const {
    const auto follows = [](const Labels& labels, int first, int second) {
      const auto at = std::find(labels.begin(), labels.end(), first);
      if (at == labels.end()) return !has(labels, second);
      return at + 1 != labels.end() && at[1] == second;
    };
    std::vector<Labels> runs;
    Labels all = a;
    all.insert(all.end(), b.begin(), b.end());
    for (int label : once(all)) {
      const bool starts = runs.empty() || spread_.count(label) || spread_.count(runs.back().back()) ||
                          !follows(a, runs.back().back(), label) || !follows(b, runs.back().back(), label) ||
                          !follows(result, runs.back().back(), label);
      if (starts) runs.emplace_back();
      runs.back().push_back(label);
    }
    return runs;
  }

  // Makes `term` [batch..., first, second], or [batch..., second, first] where it lies so: true then.
  bool matrixOf(Term& term, const Labels& batch, const Labels& first, const Labels& second,
                const std::map<int, Dim>& sizes) {
    Labels order = batch, swapped = batch;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    swapped.insert(swapped.end(), second.begin(), second.end());
    swapped.insert(swapped.end(), first.begin(), first.end());
    // Where axes move anyway, the last one stays, so that whole rows move.
    const bool transposes =
        term.labels == swapped || (term.labels != order && term.labels.back() == swapped.back());
    const Labels& wanted = transposes ? swapped : order;
    if (term.labels != wanted) term.value = transposed(term.value, term.labels, wanted, sizes, kNoValue);
    if (first.size() != 1 || second.size() != 1) {
      Shape shape;
      for (int label : batch) shape.push_back(sizes.at(label));
      shape.push_back(product(transposes ? second : first, sizes));
      shape.push_back(product(transposes ? first : second, sizes));
      term.value = reshape(term.value, std::move(shape), kNoValue);
    }
    return transposes;
  }

  // --- operations

  Dim product(const Labels& labels, const std::map<int, Dim>& sizes) const {
    Dim size = ir_.dims().constant(1);
    for (int label : labels) size = size * sizes.at(label);
    return size;
  }
  Dim sizeOf(const Labels& run) const { return product(run, sizes_); }
  static Shape shapeOf(const Labels& labels, const std::map<int, Dim>& sizes) {
    Shape shape;
    for (int label : labels) shape.push_back(sizes.at(label));
    return shape;
  }

  ValueId emit(const OpDef* def, std::vector<ValueId> operands, Attributes attributes, const Shape& shape,
               ValueId into) {
    return series_.emit(def, std::move(operands), std::move(attributes), shape, dtype_, into);
  }

  ValueId reshape(ValueId value, const Shape& shape, ValueId into) {
    return series_.reshape(value, shape, dtype_, into);
  }

  ValueId reshaped(ValueId value, size_t rank, const Labels& labels, const std::map<int, Dim>& sizes) {
    return labels.size() == rank ? value : reshape(value, shapeOf(labels, sizes), kNoValue);
  }

  ValueId transposed(ValueId value, const Labels& from, const Labels& to, const std::map<int, Dim>& sizes,
                     ValueId into) {
    std::vector<int64_t> perm;
    for (int label : to) perm.push_back(std::find(from.begin(), from.end(), label) - from.begin());
    Attributes attributes;
    attributes.set("perm", std::move(perm));
    return emit(&ops::transposeOp, {value}, std::move(attributes), shapeOf(to, sizes), into);
  }

  static constexpr size_t kMostCompared = 16;

  const Op& einsum_;
  IrContext& ir_;
  PathFacts& facts_;
  PathFacts::Place place_;
  const std::unordered_map<ValueId, Type>& outer_;
  OpSeries series_;
  Dtype dtype_;
  std::map<int, Dim> sizes_;
  std::set<int> spread_;
  std::map<int, size_t> termsWith_;  // how many of those not yet multiplied have the label
};

Result<Module> runContract(const Module& module, PassContext& context) {
  int64_t contracted = 0, windows = 0;
  PathFacts facts(module);
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    if (std::none_of(function.ops.begin(), function.ops.end(),
                     [](const Op* op) { return op->def == &ops::einsumOp || hasMovedWindows(*op); }))
      return &function;
    std::unordered_map<ValueId, Type> types;
    for (const Parameter& p : function.parameters) types[p.id] = p.type;
    Function result = function;
    result.ops.clear();
    const int64_t before = contracted + windows;
    const size_t body = facts.bodyOf(function);
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op* op = function.ops[i];
      for (const ValueDef& r : op->results) types[r.id] = r.type;
      if (op->def == &ops::einsumOp &&
          EinsumContraction(*op, *module.context, facts, {body, i}, types, result.ops).run())
        ++contracted;
      else if (hasMovedWindows(*op) && productOfColumns(*op, *module.context, types, result.ops))
        ++windows;
      else
        result.ops.push_back(op);
    }
    if (contracted + windows == before) return &function;
    return module.context->own(std::move(result));
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["contracted_einsums"] = contracted;
  context.counters["moved_windows"] = windows;
  return result;
}

}  // namespace

PassDef einsum_to_matmulPass() {
  return {.name = "einsum_to_matmul",
          .summary = "turns einsums and moved windows into matrix products",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runContract,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
