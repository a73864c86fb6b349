#include "app/session/views/code_views.h"

namespace dyn {

const char* toString(IrLevel level) {
  switch (level) {
    case IrLevel::graph:
      return "graph";
    case IrLevel::placed:
      return "placed";
    case IrLevel::loop:
      return "loop";
    case IrLevel::llvm:
      return "llvm";
    case IrLevel::assembly:
      return "asm";
    case IrLevel::ptx:
      return "ptx";
    case IrLevel::bytecode:
      return "bytecode";
    case IrLevel::target:
      return "target";
  }
  return "?";
}

}  // namespace dyn
