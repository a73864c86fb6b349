#include "compiler/export/linked_rows.h"

#include <algorithm>
#include <iterator>

#include "vm/shared/dyn_builtin_calls.h"

namespace dyn {

namespace {

struct RowSymbol {
  std::string_view row;
  const char* symbol;
  calls::RowTraits traits;
};

constexpr RowSymbol kRows[] = {
#define DYN_CALL(Name, row, form, traits, arguments, numbers, scalars) \
  {row, "dyn_row_" #Name, calls::Name::kTraits},
#include "vm/shared/dyn_builtin_calls.def"
#undef DYN_CALL
};

}  // namespace

Result<std::string> linkedRowsObject(const vm::Program& program, MatrixKernels kernels,
                                     const ElfMachine& machine) {
  using Kind = ElfWord::Kind;
  constexpr uint64_t kHeadWords = 3;
  ElfTable table;
  table.machine = machine;
  table.tableName = "dyn_linked_rows";
  table.words = {{Kind::number, program.builtins.size(), ""},
                 {Kind::symbol, kHeadWords * 8, table.tableName},
                 {Kind::number, 0, ""}};
  for (const std::string& name : program.builtins) {
    const auto* row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const RowSymbol& r) { return r.row == name; });
    if (row == std::end(kRows))
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: a linked program with " + name + ", which is not of Dyn's runtime");
    table.words.push_back({Kind::symbol, 0, row->symbol});
    if (row->traits.is(calls::GEMM) && kernels == MatrixKernels::ofRuntime)
      table.words[2] = {Kind::symbol, 0, "dyn_machine_gemm_family"};
  }
  std::vector<std::string> owned;
  std::string object;
  for (std::string_view piece : writeElfTable(table, owned)) object += piece;
  return object;
}

}  // namespace dyn
