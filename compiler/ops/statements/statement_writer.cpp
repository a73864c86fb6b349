#include "compiler/ops/statements/statement_writer.h"

#include "compiler/loop/kernel_uses.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::StmtRef;

StatementWriter::StatementWriter(const StatementRequest& request)
    : request_(request), context_(std::make_shared<loop::LoopContext>(request.dims)) {
  made_.kernel.name = request.name;
  made_.kernel.description = request.description;
  made_.kernel.context = context_;
  made_.kernel.unit = context_->variable("u");
}

std::vector<Expr> StatementWriter::extentsOf(const Shape& shape) {
  std::vector<Expr> extents;
  for (Dim d : shape) extents.push_back(context_->dim(d));
  return extents;
}

const Buffer* StatementWriter::input(int operand, const Shape& shape) {
  const Buffer* made = context_->buffer("x" + std::to_string(made_.operands.size()),
                                        request_.operandTypes.at(static_cast<size_t>(operand)).dtype(),
                                        extentsOf(shape), loop::BufferRole::input);
  made_.operands.push_back(operand);
  made_.kernel.buffers.push_back(made);
  return made;
}

const Buffer* StatementWriter::output(int result, const Shape& shape) {
  outputs_.push_back(context_->buffer("y" + std::to_string(result),
                                      request_.op.results[static_cast<size_t>(result)].type.dtype(),
                                      extentsOf(shape), loop::BufferRole::output));
  return outputs_.back();
}

const Buffer* StatementWriter::given(const std::string& name, Dtype dtype, const Shape& shape) {
  made_.operands.push_back(-1);
  made_.kernel.buffers.push_back(context_->buffer(name, dtype, extentsOf(shape), loop::BufferRole::input));
  return made_.kernel.buffers.back();
}

const Buffer* StatementWriter::memory(const std::string& name, Dtype dtype, const Shape& shape) {
  outputs_.push_back(context_->buffer(name, dtype, extentsOf(shape), loop::BufferRole::output));
  return outputs_.back();
}

const Buffer* StatementWriter::cell(const std::string& name, Dtype dtype) {
  made_.kernel.scratch.push_back(
      context_->buffer(name, dtype, {context_->integer(1)}, loop::BufferRole::scratch));
  return made_.kernel.scratch.back();
}

// As loop nests have them: the emitter counts indices that are the first statements.
std::vector<Expr> StatementWriter::units(const Shape& extents) {
  std::vector<Expr> index(extents.size(), context_->integer(0));
  std::vector<size_t> axes;
  Dim units = request_.dims.constant(1);
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (!extents[axis].isConstant(1)) axes.push_back(axis);
    units = units * extents[axis];
  }
  made_.kernel.unitCount = context_->dim(units);
  context_->bound(made_.kernel.unit, made_.kernel.unitCount);
  Expr rest = made_.kernel.unit;
  for (size_t i = axes.size(); i-- > 0;) {
    const Expr extent = context_->dim(extents[axes[i]]);
    if (axes.size() == 1) {
      index[axes[i]] = rest;
      break;
    }
    const Expr variable = counter("i", extent);
    body_.push_back(loop::let(variable, i == 0 ? rest : mod(rest, extent)));
    index[axes[i]] = variable;
    if (i > 0) rest = floorDiv(rest, extent);
  }
  return index;
}

Expr StatementWriter::counter(const char* hint, Expr extent) {
  const Expr variable = context_->variable(hint);
  context_->bound(variable, extent);
  return variable;
}

Expr StatementWriter::named(std::vector<StmtRef>& to, const char* hint, Expr value) {
  const Expr variable = context_->variable(hint, value.dtype());
  to.push_back(loop::let(variable, value));
  return variable;
}

StmtRef StatementWriter::check(Expr condition, const loop::Check& check) {
  made_.checks.push_back(check);
  return loop::check(condition, check.code | static_cast<int32_t>(made_.checks.size()) << 3, check.subject);
}

Result<StatementKernel> StatementWriter::finish(Dim steps) {
  loop::Kernel& kernel = made_.kernel;
  kernel.buffers.insert(kernel.buffers.end(), outputs_.begin(), outputs_.end());
  kernel.body = loop::block(std::move(body_));
  kernel.stepsPerKernel = steps;
  loop::KernelUses uses(request_.dims);
  uses.noteBody(kernel);
  for (const Buffer* buffer : kernel.buffers)
    for (const Expr& extent : buffer->shape) uses.note(extent);
  kernel.scalars = uses.scalars();
  DYN_CHECK(loop::verify(kernel));
  return std::move(made_);
}

}  // namespace dyn
