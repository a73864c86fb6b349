#include "app/session/views/views.h"

namespace dyn {

const char* toString(NodeKind kind) {
  switch (kind) {
    case NodeKind::operation:
      return "operation";
    case NodeKind::input:
      return "input";
    case NodeKind::output:
      return "output";
    case NodeKind::constant:
      return "constant";
  }
  return "?";
}

const char* toString(GroupKind kind) {
  switch (kind) {
    case GroupKind::scope:
      return "scope";
    case GroupKind::region:
      return "region";
    case GroupKind::function:
      return "function";
    case GroupKind::repeat:
      return "repeat";
    case GroupKind::block:
      return "block";
    case GroupKind::part:
      return "part";
  }
  return "?";
}

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

const char* toString(DiffKind kind) {
  switch (kind) {
    case DiffKind::added:
      return "added";
    case DiffKind::removed:
      return "removed";
    case DiffKind::changed:
      return "changed";
  }
  return "?";
}

const char* toString(CaseStatus status) {
  switch (status) {
    case CaseStatus::passed:
      return "passed";
    case CaseStatus::wrong:
      return "wrong";
    case CaseStatus::crashed:
      return "crashed";
    case CaseStatus::timeout:
      return "timeout";
    case CaseStatus::unsupported:
      return "unsupported";
    case CaseStatus::failed:
      return "failed";
  }
  return "?";
}

double boundFraction(const KernelRow& row) {
  return row.totalNs > 0 ? static_cast<double>(row.boundNs) / static_cast<double>(row.totalNs) : 0;
}

}  // namespace dyn
