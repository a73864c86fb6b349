#include "app/session/causes/element_sources.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

using FromKind = ElementSources::Kind;
using ElementPlaces = std::vector<int64_t>;

void sortUnique(ElementPlaces& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

int64_t placeOf(const std::vector<int64_t>& shape, const std::vector<int64_t>& index) {
  int64_t place = 0;
  for (size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + index[i];
  return place;
}

const HostTensor* tensorOf(std::span<const Value> values, size_t at) {
  return at < values.size() && values[at].isTensor() ? &values[at].tensor() : nullptr;
}

ElementPlaces allPlaces(const HostTensor& tensor) {
  ElementPlaces places(static_cast<size_t>(tensor.elementCount()));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  return places;
}

// The operands whose elements an operator moves; empty: it does more than that.
std::vector<size_t> movedOperands(const Op& op) {
  static const std::map<const OpDef*, std::vector<size_t>> kMovers = {
      {&ops::reshapeOp, {0}},        {&ops::squeezeOp, {0}},
      {&ops::unsqueezeOp, {0}},      {&ops::transposeOp, {0}},
      {&ops::expandOp, {0}},         {&ops::sliceOp, {0}},
      {&ops::splitOp, {0}},          {&ops::tileOp, {0}},
      {&ops::padOp, {0, 2}},         {&ops::gatherOp, {0}},
      {&ops::gather_ndOp, {0}},      {&ops::gather_elementsOp, {0}},
      {&ops::whereOp, {1, 2}},       {&ops::identityOp, {0}},
      {&ops::depth_to_spaceOp, {0}}, {&ops::space_to_depthOp, {0}},
      {&ops::triluOp, {0}},          {&ops::reverse_sequenceOp, {0}},
      {&ops::compressOp, {0}},       {&ops::center_crop_padOp, {0}},
      {&ops::scatter_ndOp, {0, 2}},  {&ops::scatter_elementsOp, {0, 2}},
  };
  if (op.def == &ops::appendOp) return {0, 1};
  if (op.def == &ops::concatOp) {
    std::vector<size_t> all(op.operands.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  const bool adds = op.attributes.string("reduction", "none") != "none";
  const auto found = kMovers.find(op.def);
  return found == kMovers.end() || adds ? std::vector<size_t>() : found->second;
}

// The operand that chooses among the moved ones; nothing: none does.
std::optional<size_t> choosingOperand(const Op& op) {
  if (op.def == &ops::whereOp) return 0;
  for (const OpDef* def : {&ops::gatherOp, &ops::gather_ndOp, &ops::gather_elementsOp, &ops::compressOp})
    if (op.def == def) return 1;
  return std::nullopt;
}

// The operator on the numbers of its operands' elements: `first` of each moved operand is the number of its
// element 0, and 0 is none.
class NumberedElements {
 public:
  static std::optional<NumberedElements> of(const ComputedOp& made, const std::vector<size_t>& moved,
                                            size_t result) {
    NumberedElements numbered;
    std::vector<Value> operands(made.operands.begin(), made.operands.end());
    int64_t next = 1;
    for (size_t at : moved) {
      const HostTensor* tensor = tensorOf(operands, at);
      if (!tensor) continue;
      Result<HostTensor> numbers = HostTensor::create(Dtype::i64, tensor->shape());
      if (!numbers.ok()) return std::nullopt;
      numbered.first_.emplace_back(at, next);
      for (int64_t i = 0; i < tensor->elementCount(); ++i) numbers->setInt(i, next + i);
      next += tensor->elementCount();
      operands[at] = Value(*std::move(numbers));
    }
    Op op = made.op;
    // One value may be two operands, one of them numbered.
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (op.operands[i] != kNoValue) op.operands[i] = static_cast<ValueId>(i);
    for (size_t i = 0; i < op.results.size(); ++i) {
      ValueDef& one = op.results[i];
      if (one.id == kNoValue) continue;
      one.id = static_cast<ValueId>(op.operands.size() + i);
      const HostTensor* tensor = tensorOf(made.results, i);
      if (!tensor) return std::nullopt;
      one.type = made.module.context->tensorType(tensor->shape(), Dtype::i64);
    }
    const Result<std::vector<Value>> results = interpretOp(made.module, op, operands);
    const HostTensor* numbers = results.ok() ? tensorOf(*results, result) : nullptr;
    if (!numbers) return std::nullopt;
    numbered.numbers_ = *numbers;
    return numbered;
  }

  // By operand, the elements that stand at these places.
  std::vector<ElementSource> at(const ElementPlaces& places) const {
    std::vector<ElementSource> sources;
    for (size_t k = first_.size(); k-- > 0;) sources.push_back({first_[k].first, {}});
    for (int64_t place : places) {
      const int64_t number = numbers_.intAt(place);
      for (size_t k = first_.size(); number > 0 && k-- > 0;)
        if (number >= first_[k].second) {
          sources[first_.size() - 1 - k].elements.push_back(number - first_[k].second);
          break;
        }
    }
    std::reverse(sources.begin(), sources.end());
    std::erase_if(sources, [](const ElementSource& source) { return source.elements.empty(); });
    for (ElementSource& source : sources) sortUnique(source.elements);
    return sources;
  }

 private:
  HostTensor numbers_;
  std::vector<std::pair<size_t, int64_t>> first_;
};

// Where an operand that is broadcast to the result is read.
ElementPlaces broadcastPlaces(const std::vector<int64_t>& result, const std::vector<int64_t>& operand,
                              const ElementPlaces& places) {
  ElementPlaces read;
  for (int64_t place : places) {
    const std::vector<int64_t> index = indexOfPlace(result, place);
    std::vector<int64_t> at(operand.size());
    for (size_t i = 0; i < operand.size(); ++i) {
      const size_t from = i + result.size() - operand.size();
      at[i] = operand[i] == 1 || from >= index.size() ? 0 : index[from];
    }
    read.push_back(placeOf(operand, at));
  }
  sortUnique(read);
  return read;
}

ElementSources wholeOperands(const ComputedOp& made) {
  ElementSources all;
  for (size_t i = 0; i < made.operands.size(); ++i)
    if (const HostTensor* tensor = tensorOf(made.operands, i)) all.sources.push_back({i, allPlaces(*tensor)});
  return all;
}

// What is read of the indices of a gather.
ElementPlaces indexPlaces(const ComputedOp& made, const HostTensor& result, const ElementPlaces& places) {
  const HostTensor& indices = made.operands[1].tensor();
  ElementPlaces read;
  if (made.op.def == &ops::gather_elementsOp) return places;
  if (made.op.def == &ops::gatherOp) {
    const int64_t rank = made.operands[0].tensor().rank(), given = made.op.attributes.integer("axis");
    const size_t axis = static_cast<size_t>(given < 0 ? given + rank : given);
    for (int64_t place : places) {
      const std::vector<int64_t> index = indexOfPlace(result.shape(), place);
      const auto from = index.begin() + static_cast<std::ptrdiff_t>(axis);
      read.push_back(placeOf(indices.shape(), {from, from + indices.rank()}));
    }
  } else {  // gather_nd: a row of indices for each place of the result's front
    const int64_t width = indices.shape().back();
    for (int64_t place : places) {
      std::vector<int64_t> index = indexOfPlace(result.shape(), place);
      index.resize(static_cast<size_t>(indices.rank() - 1));
      const std::vector<int64_t> front(indices.shape().begin(), indices.shape().end() - 1);
      const int64_t row = placeOf(front, index) * width;
      for (int64_t i = 0; i < width; ++i) read.push_back(row + i);
    }
  }
  sortUnique(read);
  return read;
}

ElementSources ofMover(const ComputedOp& made, const std::vector<size_t>& moved, size_t result,
                       const ElementPlaces& places) {
  const std::optional<NumberedElements> numbered = NumberedElements::of(made, moved, result);
  if (!numbered) return wholeOperands(made);
  ElementSources all{FromKind::moved, numbered->at(places)};
  const std::optional<size_t> chooses = choosingOperand(made.op);
  const HostTensor* chooser = chooses ? tensorOf(made.operands, *chooses) : nullptr;
  if (!chooser) return all;
  all.kind = FromKind::chosen;
  const HostTensor& values = made.results[result].tensor();
  if (made.op.def == &ops::whereOp) {
    all.sources.push_back({*chooses, broadcastPlaces(values.shape(), chooser->shape(), places)});
  } else if (made.op.def == &ops::compressOp) {
    ElementPlaces kept;  // which of the condition's elements are true, in order
    for (int64_t i = 0; i < chooser->elementCount(); ++i)
      if (chooser->intAt(i) != 0) kept.push_back(i);
    const bool flat = !made.op.attributes.has("axis");
    const int64_t rank = values.rank(), given = made.op.attributes.integer("axis");
    ElementPlaces read;
    for (int64_t place : places) {
      const size_t axis = flat ? 0 : static_cast<size_t>(given < 0 ? given + rank : given);
      const size_t at = static_cast<size_t>(indexOfPlace(values.shape(), place)[axis]);
      if (at < kept.size()) read.push_back(kept[at]);
    }
    sortUnique(read);
    all.sources.push_back({*chooses, std::move(read)});
  } else {
    all.sources.push_back({*chooses, indexPlaces(made, values, places)});
  }
  return all;
}

bool normalises(const Op& op) {
  for (const OpDef* def : {&ops::softmaxOp, &ops::log_softmaxOp, &ops::hardmaxOp, &ops::lp_normalizationOp})
    if (op.def == def) return true;
  return false;
}

// From an axis on, with a scale and a bias for each element.
bool normalisesRows(const Op& op) { return op.def == &ops::layer_normOp || op.def == &ops::rms_normOp; }

bool isFold(const Op& op) {
  for (const OpDef* def :
       {&ops::reduce_sumOp, &ops::reduce_prodOp, &ops::reduce_meanOp, &ops::reduce_maxOp, &ops::reduce_minOp,
        &ops::reduce_l1Op, &ops::reduce_l2Op, &ops::reduce_log_sumOp, &ops::reduce_log_sum_expOp,
        &ops::reduce_sum_squareOp, &ops::argmaxOp, &ops::argminOp})
    if (op.def == def) return true;
  return normalises(op) || normalisesRows(op);
}

// Which axes an operator folds or normalises over; nothing: its attributes and operands do not say.
std::optional<std::vector<bool>> foldedAxes(const ComputedOp& made) {
  const HostTensor* x = tensorOf(made.operands, 0);
  if (!x) return std::nullopt;
  const int64_t rank = x->rank();
  std::vector<int64_t> axes;
  if (normalisesRows(made.op)) {
    const int64_t given = made.op.attributes.integer("axis", -1);
    for (int64_t axis = given < 0 ? given + rank : given; axis >= 0 && axis < rank; ++axis)
      axes.push_back(axis);
  } else if (made.op.attributes.has("axis") || normalises(made.op)) {
    const bool isArg = made.op.def == &ops::argmaxOp || made.op.def == &ops::argminOp;
    axes.push_back(made.op.attributes.integer("axis", isArg ? 0 : -1));
  } else if (made.op.def->cls == OpClass::reduction) {
    if (const HostTensor* given = tensorOf(made.operands, 1))
      for (int64_t i = 0; i < given->elementCount(); ++i) axes.push_back(given->intAt(i));
    const bool all = axes.empty() && made.op.attributes.integer("noop_with_empty_axes", 0) == 0;
    for (int64_t i = 0; all && i < rank; ++i) axes.push_back(i);
  }
  std::vector<bool> folds(static_cast<size_t>(rank), false);
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    folds[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  return folds;
}

// All elements of `shape` that agree with one of these on the axes that are not folded.
ElementPlaces slicesThrough(const std::vector<int64_t>& shape, const std::vector<bool>& folds,
                            const std::vector<std::vector<int64_t>>& kept) {
  ElementPlaces read;
  for (const std::vector<int64_t>& fixed : kept) {
    std::vector<int64_t> index = fixed;
    for (size_t i = 0; i < index.size(); ++i)
      if (folds[i]) index[i] = 0;
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    for (bool more = !empty; more;) {
      read.push_back(placeOf(shape, index));
      more = false;
      for (size_t i = shape.size(); i-- > 0 && !more;) {
        if (!folds[i]) continue;
        more = ++index[i] < shape[i];
        if (!more) index[i] = 0;
      }
    }
  }
  sortUnique(read);
  return read;
}

// The element that a maximum or minimum is; the first of equal ones.
std::optional<int64_t> extremeOf(const Op& op, const HostTensor& x, const ElementPlaces& read) {
  const bool largest = op.def == &ops::reduce_maxOp || op.def == &ops::argmaxOp;
  const bool least = op.def == &ops::reduce_minOp || op.def == &ops::argminOp;
  if ((!largest && !least) || read.empty()) return std::nullopt;
  int64_t best = read.front();
  for (int64_t place : read) {
    if (std::isnan(x.realAt(place))) return place;
    if (largest ? x.realAt(place) > x.realAt(best) : x.realAt(place) < x.realAt(best)) best = place;
  }
  return best;
}

ElementSources ofFold(const ComputedOp& made, size_t result, const ElementPlaces& places) {
  const std::optional<std::vector<bool>> folds = foldedAxes(made);
  if (!folds) return wholeOperands(made);
  const HostTensor& x = made.operands[0].tensor();
  const std::vector<int64_t>& shape = made.results[result].tensor().shape();
  const bool keeps = shape.size() == folds->size();
  std::vector<std::vector<int64_t>> kept;
  for (int64_t place : places) {
    const std::vector<int64_t> index = indexOfPlace(shape, place);
    std::vector<int64_t> full(folds->size(), 0);
    size_t next = 0;
    for (size_t i = 0; i < full.size(); ++i) {
      if (keeps) {
        full[i] = index[i];
      } else if (!(*folds)[i]) {
        if (next >= index.size()) return wholeOperands(made);
        full[i] = index[next++];
      }
    }
    kept.push_back(std::move(full));
  }
  ElementPlaces read = slicesThrough(x.shape(), *folds, kept);
  if (places.size() == 1)
    if (const auto extreme = extremeOf(made.op, x, read)) return {FromKind::chosen, {{0, {*extreme}}}};
  ElementSources all{FromKind::computed, {{0, std::move(read)}}};
  for (size_t i = 1; normalisesRows(made.op) && i < made.operands.size(); ++i)
    if (const HostTensor* operand = tensorOf(made.operands, i))
      all.sources.push_back({i, allPlaces(*operand)});
  return all;
}

// [..., m, k] x [..., k, n], of one axis as NumPy has it.
ElementSources ofProduct(const ComputedOp& made, const ElementPlaces& places) {
  const HostTensor *a = tensorOf(made.operands, 0), *b = tensorOf(made.operands, 1);
  if (!a || !b || a->rank() < 2 || b->rank() < 2) return wholeOperands(made);
  const std::vector<int64_t>& shape = made.results[0].tensor().shape();
  const auto batchOf = [&](const HostTensor& operand, const std::vector<int64_t>& index) {
    std::vector<int64_t> at(operand.shape().size(), 0);
    for (size_t i = 0; i + 2 < at.size(); ++i)
      at[i] = operand.shape()[i] == 1 ? 0 : index[i + shape.size() - at.size()];
    return at;
  };
  ElementPlaces rows, columns;
  for (int64_t place : places) {
    const std::vector<int64_t> index = indexOfPlace(shape, place);
    std::vector<int64_t> row = batchOf(*a, index), column = batchOf(*b, index);
    row[row.size() - 2] = index[index.size() - 2];
    column.back() = index.back();
    for (int64_t k = 0; k < a->shape().back(); ++k) {
      row.back() = column[column.size() - 2] = k;
      rows.push_back(placeOf(a->shape(), row));
      columns.push_back(placeOf(b->shape(), column));
    }
  }
  sortUnique(rows);
  sortUnique(columns);
  return {FromKind::computed, {{0, std::move(rows)}, {1, std::move(columns)}}};
}

// Column `c` of nonzero's result is the c-th element that is not 0.
ElementSources ofNonzero(const ComputedOp& made, const ElementPlaces& places) {
  const HostTensor& x = made.operands[0].tensor();
  const int64_t columns = made.results[0].tensor().shape().back();
  ElementPlaces found, read;
  for (int64_t i = 0; i < x.elementCount(); ++i)
    if (x.realAt(i) != 0) found.push_back(i);
  for (int64_t place : places) {
    const size_t at = static_cast<size_t>(columns == 0 ? 0 : place % columns);
    if (at < found.size()) read.push_back(found[at]);
  }
  sortUnique(read);
  return {FromKind::chosen, {{0, std::move(read)}}};
}

// The element along the axis that the second result names.
ElementSources ofTopk(const ComputedOp& made, const ElementPlaces& places) {
  const HostTensor *x = tensorOf(made.operands, 0), *chosen = tensorOf(made.results, 1);
  if (!x || !chosen) return wholeOperands(made);
  const int64_t given = made.op.attributes.integer("axis", -1);
  const size_t axis = static_cast<size_t>(given < 0 ? given + x->rank() : given);
  ElementPlaces read;
  for (int64_t place : places) {
    std::vector<int64_t> index = indexOfPlace(chosen->shape(), place);
    index[axis] = chosen->intAt(place);
    read.push_back(placeOf(x->shape(), index));
  }
  sortUnique(read);
  return {FromKind::chosen, {{0, std::move(read)}}};
}

// Its operands but the first have an element for each channel.
bool isByChannel(const Op& op) {
  return op.def == &ops::batch_normOp || op.def == &ops::quantize_linearOp ||
         op.def == &ops::dequantize_linearOp;
}

}  // namespace

std::vector<int64_t> indexOfPlace(const std::vector<int64_t>& shape, int64_t place) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    const int64_t size = std::max<int64_t>(shape[i], 1);
    index[i] = place % size;
    place /= size;
  }
  return index;
}

std::string placeText(const std::vector<int64_t>& shape, int64_t place) {
  std::string text;
  for (int64_t i : indexOfPlace(shape, place)) text += (text.empty() ? "[" : ",") + std::to_string(i);
  return text.empty() ? text : text + "]";
}

ElementSources elementSources(const ComputedOp& made, size_t result, const std::vector<int64_t>& elements) {
  const HostTensor* values = tensorOf(made.results, result);
  if (!values || made.operands.empty()) return wholeOperands(made);
  const OpDef* def = made.op.def;
  if (const std::vector<size_t> moved = movedOperands(made.op); !moved.empty())
    return ofMover(made, moved, result, elements);
  if (def->cls == OpClass::elementwise) {
    ElementSources all{FromKind::computed, {}};
    for (size_t i = 0; i < made.operands.size(); ++i)
      if (const HostTensor* operand = tensorOf(made.operands, i))
        all.sources.push_back({i, i > 0 && isByChannel(made.op)
                                      ? allPlaces(*operand)
                                      : broadcastPlaces(values->shape(), operand->shape(), elements)});
    return all;
  }
  if (!tensorOf(made.operands, 0)) return wholeOperands(made);
  if (def == &ops::matmulOp) return ofProduct(made, elements);
  if (def == &ops::nonzeroOp) return ofNonzero(made, elements);
  if (def == &ops::topkOp) return ofTopk(made, elements);
  if (isFold(made.op)) return ofFold(made, result, elements);
  return wholeOperands(made);
}

}  // namespace dyn
