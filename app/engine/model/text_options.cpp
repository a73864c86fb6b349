#include "app/engine/model/text_options.h"

#include "compiler/ops/op_table.h"

namespace dyn {

text::ParseOptions textOptions(std::string file) {
  text::ParseOptions options;
  options.findOp = findOp;
  for (const OpDef* op : opTable()) options.opNames.push_back(op->name);
  options.file = std::move(file);
  return options;
}

}  // namespace dyn
