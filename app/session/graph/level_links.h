// Lines of the source, graph IR, bytecode, loop IR, LLVM IR and machine code that belong together.
//
// Source, graph and bytecode meet at the places of operations; all meet kernels where the bytecode
// launches them; the texts of a kernel meet line by line, by the debug lines of its code. A kernel that
// several operations share belongs to all of them.
#pragma once

#include <map>
#include <set>

#include "app/engine/model/loaded_model.h"
#include "app/session/views/code_views.h"

namespace dyn {

bool isOfKernels(IrLevel level);  // loop, llvm, assembly: a text for each kernel
// What stands for a hand-written kernel at one of these levels: a card that says what it is; of assembly
// its machine code behind it, and that of the matrix kernels where it runs on these.
Result<std::vector<std::string>> builtinTexts(const CompiledModel& compiled,
                                              const std::vector<std::string>& names, IrLevel level);
Result<std::string> matrixKernelsText(const CompiledModel& compiled);
// Sets text.origins and text.kernelPlaces; the model is compiled. A source has its places already
// (source_text.h) and gets its kernels. Of graph levels `step` is the one that is
// printed, as in text.
Status addOrigins(LoadedModel& model, const TraceStep* step, IrText& text);
// The lines of `to` that belong to a line of `from`; 1-based, ascending. Both have their origins.
std::vector<uint32_t> linesOf(const IrText& from, uint32_t line, const IrText& to);
const LineOrigin* originOf(const IrText& text, uint32_t line);  // null: none
// The lines of an operation: of a level of kernels those of the kernels that are launched for it.
std::vector<uint32_t> linesOfPlace(const IrText& text, const std::string& place);
// The places that a listing of bytecode gives its lines, and the kernels it launches; by line from 0.
struct ListedLine {
  int function = -1;     // of the functions in their order
  int instruction = -1;  // of the function's, from 0; -1: no instruction
  std::string place;     // as the VM says it
  int kernel = -1;
  int builtin = -1;  // of the program's hand-written kernels
};
std::vector<ListedLine> listedLines(std::string_view listing);

}  // namespace dyn
