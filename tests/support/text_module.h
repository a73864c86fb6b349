// Text modules with all operators there are.
#pragma once

#include <string_view>

#include "compiler/ops/op_table.h"
#include "frontends/text/parser.h"

namespace dyn::test {

inline Result<Module> parseText(IrContext& ir, std::string_view text) {
  text::ParseOptions options;
  options.findOp = findOp;
  return text::parseModule(ir, text, options);
}

}  // namespace dyn::test
