// Images that do not fit into the caches are made by slices of their rows.
//   requires: groups.  provides: nothing that others rely on.
//   before  %e = gemm_packed(%x, ...)  %d = conv_packed(%e, ...)  %p = gemm_packed(%d, ...)   [n, h, w, c] each
//   after   %l = list() : List[Tensor[(?, w, c), f32]]
//           %m = loop(dims(slices), _, %l, %x, ...) {carried = 1} body (%i, %l, %x, ...) {
//             bind_dims(...) {dims = dims(first, rows, ...)}                 of this slice
//             %xs = strided(%x) {offset = dims(the first row that is read)}  [1, rows that are read, w, c]
//             %e = gemm_packed(%xs, ...)  %d = conv_packed(%e, ...) {slice = dims(top, rows)}
//             %p = gemm_packed(%d, ...)  return true, list_append(%l, %p)
//           }
//           %p = concat_from_sequence(%m) {axis = 0}                         [n*h, w, c]
// row_members.h says what may run so, row_regions.h where it is worth it. How many rows a slice has is
// decided when the program runs, by what an image takes: as many as fit into the second cache of a core, or
// some more where these would be too few. All rows where that is the whole image, or an image has fewer than
// 16 columns: then there is one iteration for all images, and what it made is handed on. Rows at the borders
// of slices are computed twice, each alike, so that results are the same to the bit. Memory is that of a
// slice, and what crosses. It stands behind batch_slices: iterations of its loops have slices of their own.
// On request, since programs of small images may take longer with loops that do not slice them. Cost in IR
// size: some twenty operations a region, and three for each window in it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/dims/dim_numbers.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/tiling/row_loop.h"

namespace dyn::passes {

namespace {

std::string describeRows(const Function& function, const RowRegion& region, IrContext& ir) {
  const auto nameOf = [&](const RowMember& member) {
    return "%" + ir.valueName(function.ops[member.at]->results[0].id);
  };
  return "sliced along rows: " + std::to_string(region.members.size()) + " operations from " +
         nameOf(region.members.front()) + " to " + nameOf(region.members.back()) + "; at a time " +
         shortText(region.members.back().rows, 100) + " rows of it take " +
         shortText(region.imageBytes, 200) + " bytes, a slice has at least " +
         std::to_string(region.leastRows) +
         (region.gain > 0 ? "; gains " + std::to_string(std::lround(100 * region.gain)) + " % of 512 x 512"
                          : "");
}

// Which operations make each symbol known: before which one all sizes of a region are.
class SizePlaces {
 public:
  explicit SizePlaces(const Function& function) {
    const auto learn = [&](Type type, size_t from) {
      if (!type) return;
      for (SymbolId s : symbolsOf(type)) from_.try_emplace(s, from);
    };
    for (const Parameter& p : function.parameters) learn(p.type, 0);
    bool atEntry = true;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op& op = *function.ops[i];
      const bool binds = op.def == &ops::bind_dimsOp;
      atEntry = atEntry && (binds || op.def->traits.contentsKnown);
      if (atEntry && binds) entry_ = i + 1;
      if (binds)
        for (Dim d : op.attributes.dims("dims")) from_.try_emplace(d.symbol(), i + 1);
      for (const ValueDef& r : op.results) learn(r.type, i + 1);
    }
  }

  // `last`: no place behind that one.
  std::optional<size_t> placeOf(const RowRegion& region, size_t last) const {
    size_t place = entry_;
    const auto need = [&](Dim d) {
      for (SymbolId s : symbolsOf(d))
        if (const auto from = from_.find(s); from != from_.end()) place = std::max(place, from->second);
    };
    need(region.imageBytes);
    need(region.columns);
    for (const RowMember& member : region.members) {
      need(member.images);
      need(member.rows);
      if (!member.window) continue;
      need(member.window->input);
      need(member.window->padBegin);
    }
    return place <= last ? std::optional(place) : std::nullopt;
  }

 private:
  std::unordered_map<SymbolId, size_t> from_;
  size_t entry_ = 0;
};

const Function* sliced(const Function& function, const std::vector<RowRun>& runs, RowLoop& loop,
                       IrContext& ir) {
  const SizePlaces places(function);
  std::unordered_map<size_t, std::vector<const Op*>> instead, before;  // by the last member; by place
  std::unordered_set<size_t> gone;
  for (const RowRun& run : runs) {
    std::vector<const Op*>& start = before[run.begin];
    for (size_t i : run.before) start.push_back(function.ops[i]);
    for (const RowRegion& region : run.regions) {
      std::vector<const Op*> sizes, ops;
      loop.make(region, ops, sizes);
      std::vector<const Op*>& there = instead[region.members.back().at];
      if (const std::optional<size_t> place = places.placeOf(region, run.begin)) {
        std::vector<const Op*>& ahead = before[*place];
        ahead.insert(ahead.begin(), sizes.begin(), sizes.end());
      } else {
        there = sizes;
      }
      there.insert(there.end(), ops.begin(), ops.end());
      for (const RowMember& member : region.members) gone.insert(member.at);
    }
    for (size_t i : run.before) gone.insert(i);
  }
  Function changed = function;
  changed.ops.clear();
  const auto add = [&](const std::unordered_map<size_t, std::vector<const Op*>>& from, size_t i) {
    if (const auto ops = from.find(i); ops != from.end())
      changed.ops.insert(changed.ops.end(), ops->second.begin(), ops->second.end());
  };
  for (size_t i = 0; i < function.ops.size(); ++i) {
    add(before, i);
    add(instead, i);
    if (!gone.count(i)) changed.ops.push_back(function.ops[i]);
  }
  return ir.own(std::move(changed));
}

Status readBytes(const PassOptions& options, std::string_view name, int64_t least, int64_t* bytes) {
  const auto option = options.find(name);
  if (option == options.end()) return {};
  const std::string& text = option->second;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *bytes);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && *bytes >= least) return {};
  return makeError(DiagnosticId::usageError, "row_slices: " + std::string(name) + " is a number from " +
                                                 std::to_string(least) + " on, not " + text);
}

Result<Module> runRowSlices(const Module& module, PassContext& context) {
  const MachineDescription& machine = context.target.machine;
  RowLimits limits{machine.l2Bytes * 2 / 3, machine.l2Bytes};
  DYN_CHECK(readBytes(context.options, "bytes", 1, &limits.slice));
  DYN_CHECK(readBytes(context.options, "image", 0, &limits.image));
  const auto regionsOption = context.options.find("regions");
  const std::string which = regionsOption == context.options.end() ? "cost" : regionsOption->second;
  if (which != "cost" && which != "all")
    return makeError(DiagnosticId::usageError, "row_slices: regions are cost or all, not " + which);
  limits.all = which == "all";
  if (!context.target.isHostOnly() || !context.target.hasHeap || limits.slice <= 0) return module;
  IrContext& ir = *module.context;
  std::unordered_set<const Function*> kernels;
  for (const FunctionVisit& visit : functionsOf(module))
    if (visit.owner && visit.owner->def == &ops::fusedOp) kernels.insert(visit.function);
  int64_t regions = 0, operations = 0;
  DYN_TRY(Module changed, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            if (kernels.count(&function)) return &function;
            RowMembers rows(module);
            const std::vector<RowRun> runs = findRowRuns(module, function, rows, limits);
            if (runs.empty()) return &function;
            for (const RowRun& run : runs)
              for (const RowRegion& region : run.regions) {
                ++regions;
                operations += static_cast<int64_t>(region.members.size());
                context.remarks.push_back(describeRows(function, region, ir));
              }
            RowLoop loop(ir, function, rows, limits);
            return sliced(function, runs, loop, ir);
          }));
  context.counters["sliced_regions"] = regions;
  context.counters["sliced_operations"] = operations;
  return changed;
}

}  // namespace

PassDef row_slicesPass() {
  return {.name = "row_slices",
          .summary = "computes images in slices of rows that fit the caches",
          .requiredProperties = Property::groups,
          .forbiddenProperties = Property::destinations,
          .options = {{"bytes", "what a slice may take; default: two thirds of the second cache of a core"},
                      {"image", "what an image takes that is sliced; default: the second cache of a core"},
                      {"regions", "cost: those that gain so, or all; default cost"}},
          .run = runRowSlices,
          .makesBuiltins = true,
          .onRequest = true};
}

}  // namespace dyn::passes
