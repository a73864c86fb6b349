#include "compiler/passes/ragged/ragged_windows.h"

#include <algorithm>
#include <limits>

#include "compiler/loop/scalar_math.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/window_rules.h"
#include "compiler/passes/ragged/ragged_across.h"

namespace dyn::passes {

namespace {

bool isPool(const Op& op) {
  return op.def == &ops::max_poolOp || op.def == &ops::average_poolOp || op.def == &ops::lp_poolOp;
}

}  // namespace

Result<std::optional<ValueId>> RaggedWindows::emit(const Op& op) {
  DYN_TRY(const std::optional<Site> site, siteOf(op));
  if (!site) return std::optional<ValueId>();
  DYN_TRY(Attributes attributes, attributesOf(*site));
  if (site->isRowByRow()) return std::optional<ValueId>(rowByRow(*site, std::move(attributes)));
  const bool largest = op.def == &ops::max_poolOp;
  const ValueId blocks = inBlocks(*site, largest ? -std::numeric_limits<double>::infinity() : 0);
  ValueId made = kNoValue;
  if (countsTaps(*site)) {
    DYN_TRY(made, mean(*site, blocks, std::move(attributes)));
  } else {
    std::vector<ValueId> operands = op.operands;
    operands[0] = blocks;
    made = maker_.make(*op.def, std::move(operands), std::move(attributes));
  }
  return std::optional<ValueId>(maker_.gather(made, tablesOf(*site).windows, site->axis));
}

// The sizes of a window.
Result<Shape> RaggedWindows::kernelOf(const Op& op, int spatial) const {
  if (!isPool(op)) {
    const Shape& w = rows_.typeOf(op.operands[1]).dims();
    return Shape(w.begin() + 2, w.end());
  }
  DYN_TRY(const std::vector<int64_t> sizes, kernelShape(op, spatial));
  Shape kernel;
  for (int64_t size : sizes) kernel.push_back(ir_.dims().constant(size));
  return kernel;
}

Result<std::optional<RaggedWindows::Site>> RaggedWindows::siteOf(const Op& op) const {
  const std::optional<Site> none;
  if (op.def != &ops::convOp && !isPool(op)) return none;
  const RowAxes axes = rows_.axesOf(op.operands[0]), made = rows_.axesOf(op.results[0].type);
  if (axes.kind != RaggedKind::rows || axes.batch != 0 || axes.position < 2 || made.kind != RaggedKind::rows)
    return none;
  if (op.results.size() != 1) return raggedRefusal(ir_, op, "where its elements come from is not a row");
  const Shape& x = rows_.typeOf(op.operands[0]).dims();
  const int spatial = static_cast<int>(x.size()) - 2;
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (rows_.axesOf(op.operands[i]).kind != RaggedKind::plain)
      return raggedRefusal(ir_, op, "its weights differ from sequence to sequence");
  DYN_TRY(const Shape kernel, kernelOf(op, spatial));
  DYN_TRY(const Window window, windowOf(op, spatial));
  const WindowAxis along =
      windowAxis(window, axes.position - 2, axes.length, kernel[static_cast<size_t>(axes.position) - 2]);
  const Dim reach = (along.kernel - 1) * along.dilation + 1;
  if (!reach.isConstant()) return raggedRefusal(ir_, op, "its window is of no known size");
  if (!along.padBegin.isConstant())
    return raggedRefusal(ir_, op, "its padding, " + along.padBegin.toString() + ", follows from the length");
  Site site{&op, axes.position, axes.length, made.length};
  site.before = *along.padBegin.constant();
  site.behind = along.padEnd.constant().value_or(0);
  site.stride = along.stride;
  site.reach = *reach.constant();
  const int64_t across = std::max<int64_t>(0, (site.reach - 1) / site.stride);
  site.blocks = site.count + across;
  if (site.room().isInvalid()) return raggedRefusal(ir_, op, "its lengths overflow");
  return std::optional<Site>(site);
}

// Those of the same windows over all blocks. Behind the last one there is room for one more window, so that
// there always is one.
Result<Attributes> RaggedWindows::attributesOf(const Site& site) const {
  const Op& op = *site.op;
  const Shape& x = rows_.typeOf(op.operands[0]).dims();
  const size_t spatial = x.size() - 2, own = static_cast<size_t>(site.axis) - 2;
  DYN_TRY(const Window window, windowOf(op, static_cast<int>(spatial)));
  DYN_TRY(const Shape kernel, kernelOf(op, static_cast<int>(spatial)));
  std::vector<int64_t> pads(2 * spatial, 0);
  for (size_t k = 0; k < spatial; ++k) {
    if (k == own) continue;
    const WindowAxis axis = windowAxis(window, static_cast<int>(k), x[k + 2], kernel[k]);
    if (!axis.padBegin.isConstant() || !axis.padEnd.isConstant())
      return raggedRefusal(ir_, op, "its padding beside the positions is of no known size");
    if (window.ceilMode)
      return raggedRefusal(ir_, op, "windows that hang over the end, beside the positions");
    pads[k] = *axis.padBegin.constant();
    pads[spatial + k] = *axis.padEnd.constant();
  }
  pads[spatial + own] = site.reach;
  Attributes attributes = op.attributes;
  attributes.set("pads", pads);
  for (const char* name : {"auto_pad", "ceil_mode"}) attributes.erase(name);
  if (op.def == &ops::average_poolOp && countsTaps(site)) attributes.set("count_include_pad", int64_t{1});
  return attributes;
}

// Windows of one position: those of all rows, and one behind them.
ValueId RaggedWindows::rowByRow(const Site& site, Attributes attributes) {
  std::vector<ValueId> operands = site.op->operands;
  operands[0] = packed_.at(operands[0]);
  const ValueId made = maker_.make(*site.op->def, std::move(operands), std::move(attributes));
  return maker_.make(ops::sliceOp, {made, maker_.integers({0}), maker_.sizes({prelude_.rows(site.length)}),
                                    maker_.integers({site.axis})});
}

const RaggedWindows::Tables& RaggedWindows::tablesOf(const Site& site) {
  const std::string name = site.length.toString() + "; " + site.count.toString() + "; " +
                           std::to_string(site.before) + "; " + std::to_string(site.behind) + "; " +
                           std::to_string(site.stride) + "; " + site.blocks.toString();
  const auto [entry, fresh] = tables_.try_emplace(name);
  Tables& tables = entry->second;
  if (!fresh) return tables;
  const Dim room = site.room();
  const ValueId sequence = prelude_.sequence(room);
  const ValueId place = maker_.make(ops::subOp, {prelude_.position(room), maker_.integer(site.before)});
  const ValueId length = maker_.gather(prelude_.lengths(site.length), sequence, 0);
  const ValueId begun = maker_.make(ops::less_equalOp, {maker_.integer(0), place});
  tables.inside = maker_.make(ops::logical_andOp, {begun, maker_.make(ops::lessOp, {place, length})});
  tables.padded =
      maker_.make(ops::lessOp, {place, maker_.make(ops::addOp, {length, maker_.integer(site.behind)})});
  const ValueId row =
      maker_.make(ops::addOp, {maker_.gather(prelude_.begins(site.length), sequence, 0), place});
  tables.places = maker_.make(ops::whereOp, {tables.inside, row, maker_.size(prelude_.rows(site.length))});
  const ValueId first = maker_.gather(prelude_.begins(site.blocks), prelude_.sequence(site.count), 0);
  tables.windows = maker_.make(ops::addOp, {first, prelude_.position(site.count)});
  return tables;
}

// The positions of each block; `outside` where there is none.
ValueId RaggedWindows::inBlocks(const Site& site, double outside) {
  const ValueId x = site.op->operands[0];
  const Type type = rows_.typeOf(x);
  std::vector<int64_t> pads(2 * static_cast<size_t>(type.rank()), 0);
  pads[static_cast<size_t>(type.rank() + site.axis)] = 1;
  HostTensor fill = HostTensor::scalar(Dtype::f32, 0);
  if (isReal(type.dtype())) {
    fill = HostTensor::scalar(type.dtype(), outside);
  } else {
    fill = HostTensor::scalarInt(type.dtype(), outside == 0 ? 0 : loop::integerLowest(type.dtype()));
  }
  const ValueId behind =
      maker_.make(ops::padOp, {packed_.at(x), maker_.integers(pads), maker_.number(std::move(fill))},
                  {{"mode", std::string("constant")}});
  return maker_.gather(behind, tablesOf(site).places, site.axis);
}

// Is a mean over fewer positions than a window has?
bool RaggedWindows::countsTaps(const Site& site) const {
  const Attributes& attributes = site.op->attributes;
  return site.op->def == &ops::average_poolOp &&
         (attributes.integer("count_include_pad", 0) == 0 || attributes.integer("ceil_mode", 0) != 0);
}

// The sum over a window, divided by how many positions count: both as parts of the whole window.
Result<ValueId> RaggedWindows::mean(const Site& site, ValueId blocks, Attributes attributes) {
  const Op& op = *site.op;
  const Type type = rows_.typeOf(op.operands[0]);
  const std::vector<int64_t> pads = attributes.integers("pads");
  const size_t spatial = pads.size() / 2, own = static_cast<size_t>(site.axis) - 2;
  for (size_t k = 0; k < spatial; ++k)
    if (k != own && (pads[k] != 0 || pads[spatial + k] != 0))
      return raggedRefusal(ir_, op, "means that leave out padding beside the positions, too");
  const Tables& tables = tablesOf(site);
  const bool pads01 = op.attributes.integer("count_include_pad", 0) != 0;
  Shape dims(static_cast<size_t>(type.rank()), ir_.dims().constant(1));
  dims[static_cast<size_t>(site.axis)] = prelude_.rows(site.room());
  const ValueId counted =
      maker_.reshape(maker_.cast(pads01 ? tables.padded : tables.inside, type.dtype()), std::move(dims));
  Attributes ofCount = attributes;
  for (const char* name : {"kernel_shape", "strides", "dilations"}) {
    std::vector<int64_t> values = attributes.integers(name);
    for (size_t k = 0; k < values.size(); ++k)
      if (k != own) values[k] = 1;
    if (attributes.has(name)) ofCount.set(name, values);
  }
  const ValueId sum = maker_.make(*op.def, {blocks}, std::move(attributes));
  const ValueId share = maker_.make(*op.def, {counted}, std::move(ofCount));
  return maker_.make(ops::divOp, {sum, share});
}

}  // namespace dyn::passes
