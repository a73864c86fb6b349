// The text of a module: what frontends/text reads back (print → parse → print is identical), what dumps and
// views show.
//
//   dim seq in 1..512 multiple 8 because "user: --dim seq"
//   type Tree { Leaf(Tensor[(300), f32]), Node(Tree, Tree) }
//   fn @main(%x: Tensor[(batch, seq), f32], %c: Tensor[(), bool]) -> (Tensor[(batch, seq), f32]) {
//     %w = constant() {value = f32[768] <weight "w", crc32 0x1a2b3c4d>} : Tensor[(768), f32]
//     %a, %b = split(%x, _) {axis = 1} : (Tensor[(batch, ?1), f32], Tensor[(batch, ?2), f32])
//     %y = if(%c, %x) then (%p: Tensor[(batch, seq), f32]) -> (Tensor[(batch, seq), f32]) {
//       return %p
//     } else (%q: Tensor[(batch, seq), f32]) -> (Tensor[(batch, seq), f32]) {
//       ...
//     } : Tensor[(batch, seq), f32]
//     return %y
//   }
//
// A type not known yet is left out after a result and a parameter, and written `_` in a list. Deterministic;
// works on broken modules too (dumps of a failed verification).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

struct PrintOptions {
  // Constants of more elements are written as a reference to a weight; -1: never, all elements inline.
  int64_t maxInlineElements = 16;
  enum class Facts : uint8_t { print, leaveOut } facts = Facts::print;  // the `dim` lines
  enum class Places : uint8_t {
    print,
    leaveOut
  } places = Places::leaveOut;  // `# at model.onnx: node X` behind operations
  enum class Checksums : uint8_t {
    print,
    leaveOut
  } checksums = Checksums::print;  // of weights; each is read once per context
};

// The line (1-based) on which an operation starts.
struct PrintedLine {
  const Op* op = nullptr;
  uint32_t line = 0;
};

std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Module& module, const PrintOptions& options, std::vector<PrintedLine>* lines);
std::string print(const IrContext& context, const Function& function, const PrintOptions& options = {});
// One line, without indentation; bodies are written `{...}`.
std::string print(const IrContext& context, const Op& op, const PrintOptions& options = {});
std::string print(const IrContext& context, const AttributeValue& value, const PrintOptions& options = {});

// The constants that print() writes as references, by the names it gives them: hand them to the parser to
// read the text back.
std::map<std::string, HostTensor> weightsOf(const Module& module, const PrintOptions& options = {});

// The word before body `region` of an operation: "then", "else", "case Leaf"; else "body", or "region" when
// there are several.
std::string regionLabel(const Op& op, size_t region);

}  // namespace dyn
