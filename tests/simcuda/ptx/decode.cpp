#include "tests/simcuda/ptx/decode.h"

#include <algorithm>

namespace simcuda {
namespace {

char letterOf(Width width) {
  switch (width) {
    case Width::Predicate:
      return 'p';
    case Width::Bits16:
      return 'h';
    case Width::Bits32:
      return 'w';
    case Width::Bits64:
      return 'd';
  }
  return '?';
}

const char* named(char letter) {
  return letter == 'p' ? "a predicate" : letter == 'h' ? "16 bits" : letter == 'w' ? "32 bits" : "64 bits";
}

uint32_t place(uint32_t& end, const Variable& v) {
  end = static_cast<uint32_t>((end + v.align - 1) / v.align * v.align);
  uint32_t at = end;
  end += static_cast<uint32_t>(v.bytes);
  return at;
}

bool mentions(const Operand& o, const std::string& name) {
  if (o.name == name) return true;
  return std::any_of(o.parts.begin(), o.parts.end(),
                     [&](const Operand& part) { return mentions(part, name); });
}

bool mentions(const KernelText& kernel, const std::string& name) {
  return std::any_of(kernel.body.begin(), kernel.body.end(), [&](const Instruction& i) {
    return std::any_of(i.operands.begin(), i.operands.end(),
                       [&](const Operand& o) { return mentions(o, name); });
  });
}

// Static shared variables one after the other, then those that are as large as the launch says: all of them
// begin at the same place.
void layOut(Decoder& d) {
  std::vector<const Variable*> shared;
  for (const Variable& v : d.module.variables) {
    if (v.space == Space::Shared && mentions(d.kernel, v.name)) shared.push_back(&v);
  }
  for (const Variable& v : d.kernel.variables) {
    if (v.space == Space::Shared) shared.push_back(&v);
  }
  uint32_t align = 1;
  for (const Variable* v : shared) {
    if (!v->unsized) d.sharedOffsets[v->name] = place(d.code.sharedBytes, *v);
    if (v->unsized) align = std::max(align, static_cast<uint32_t>(v->align));
  }
  d.code.sharedBytes = (d.code.sharedBytes + align - 1) / align * align;
  for (const Variable* v : shared) {
    if (v->unsized) d.sharedOffsets[v->name] = d.code.sharedBytes;
  }
  for (const Variable& v : d.kernel.variables) {
    if (v.space == Space::Local) d.localOffsets[v.name] = place(d.code.localBytes, v);
  }
  d.code.localBytes = (d.code.localBytes + 63) / 64 * 64;
  for (const Variable& v : d.kernel.parameters) {
    uint32_t at = d.parameterOffsets[v.name] = place(d.code.parameterBytes, v);
    d.code.parameters.push_back({at, static_cast<uint32_t>(v.bytes)});
  }
}

const OpRow* rowOf(const Instruction& i) {
  const OpTable& table = OpTable::get();
  if (const OpRow* row = table.find(i.opcode)) return row;
  return table.find(i.opcode.substr(0, i.opcode.find('.')) + ".*");
}

void decode(Decoder& d, const Instruction& i) {
  d.at = &i;
  const OpRow* row = rowOf(i);
  if (!row) d.fail("unknown opcode");
  Op op;
  op.text = &i;
  if (i.guard >= 0) {
    op.guarded = true;
    op.guardNegated = i.guardNegated;
    op.guard = d.registerRows[i.guard];
  }
  if (row->decode) {
    row->decode(d, i, op);
  } else {
    d.expectOperands(i, row->widths.size());
    op.run = row->body;
    for (size_t k = 0; k < row->widths.size(); k++) {
      op.rows[k] =
          k == 0 ? d.destination(i.operands[k], row->widths[k]) : d.operand(i.operands[k], row->widths[k]);
    }
  }
  d.code.ops.push_back(op);
  for (const Op& next : d.after) d.code.ops.push_back(next);
  d.after.clear();
}

}  // namespace

std::vector<std::string> Decoder::parts(const std::string& opcode) {
  std::vector<std::string> result;
  for (size_t begin = 0;;) {
    size_t dot = opcode.find('.', begin);
    result.push_back(opcode.substr(begin, dot - begin));
    if (dot == opcode.npos) return result;
    begin = dot + 1;
  }
}

MemoryType memoryType(std::string_view name) {
  if (name.size() < 2) return {};
  std::string_view bits = name.substr(name[0] == 'b' && name[1] == 'f' ? 2 : 1);
  if (std::string_view("bsuf").find(name[0]) == std::string_view::npos) return {};
  uint8_t bytes = bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : 0;
  return {bytes, name[0] == 's'};
}

Row Decoder::constant(uint64_t bits, bool wide) {
  if (!wide) bits &= 0xffffffffu;
  auto [it, fresh] = constantRows.try_emplace({bits, wide});
  if (fresh) {
    it->second = scratch(wide);
    code.constants.push_back({it->second, wide, bits});
  }
  return it->second;
}

Row Decoder::scratch(bool wide) {
  Row row = code.rowBytes;
  code.rowBytes += kLanes * (wide ? 8 : 4);
  return row;
}

Width Decoder::widthOf(const Operand& o) const { return kernel.registers[o.index].width; }

uint64_t Decoder::integer(const Operand& o) const {
  if (o.kind != Operand::Kind::Integer) fail("an operand must be a number");
  return o.bits;
}

Row Decoder::anyRegister(const Operand& o, Width& width) {
  if (o.kind != Operand::Kind::Register) fail("an operand must be a register");
  width = widthOf(o);
  return registerRows[o.index];
}

Row Decoder::destination(const Operand& o, char width) {
  Width is;
  Row row = anyRegister(o, is);
  if (letterOf(is) != width) {
    fail("register " + kernel.registers[o.index].name + " is " + named(letterOf(is)) + ", not " +
         named(width));
  }
  return row;
}

Row Decoder::operand(const Operand& o, char width) {
  bool wide = width == 'd';
  switch (o.kind) {
    case Operand::Kind::Register: {
      Row row = destination(o, width);
      if (!o.negated) return row;
      break;
    }
    case Operand::Kind::Special: {
      auto [it, fresh] = specialRows.try_emplace({o.name, wide});
      if (fresh) {
        it->second = scratch(wide);
        code.specials.push_back({it->second, wide, o.name});
      }
      return it->second;
    }
    case Operand::Kind::Integer:
      if (width == 'p') return constant(o.bits ? ~0ull : 0, false);
      if (width == 'h') return constant(static_cast<uint64_t>(static_cast<int16_t>(o.bits)), false);
      return constant(o.bits, wide);
    case Operand::Kind::Real32:
      if (width != 'w') fail("a 32-bit real number where " + std::string(named(width)) + " are taken");
      return constant(o.bits, false);
    case Operand::Kind::Real64:
      if (width != 'd') fail("a 64-bit real number where " + std::string(named(width)) + " are taken");
      return constant(o.bits, true);
    case Operand::Kind::Symbol:
      if (!wide && width != 'w') fail("a variable's name where " + std::string(named(width)) + " are taken");
      return constant(symbol(o) + o.offset, wide);
    default:
      break;
  }
  fail("unsupported operand");
}

uint64_t Decoder::symbol(const Operand& o) const {
  for (auto* offsets : {&sharedOffsets, &localOffsets, &parameterOffsets}) {
    auto it = offsets->find(o.name);
    if (it != offsets->end()) return it->second;
  }
  auto global = globals.find(o.name);
  if (global == globals.end()) fail("'" + o.name + "' is not declared");
  return global->second;
}

void Decoder::address(const Operand& o, Op& op, int index) {
  if (o.kind != Operand::Kind::Address) fail("an operand must be an address");
  op.offset = o.offset;
  op.hasBase = o.index >= 0;
  if (op.hasBase) {
    Operand base = o;
    base.kind = Operand::Kind::Register;
    Width width;
    op.rows[index] = anyRegister(base, width);
    op.baseIsWide = width == Width::Bits64;
    if (!op.baseIsWide && width != Width::Bits32) fail("an address has 32 or 64 bits");
  } else if (!o.name.empty()) {
    op.offset += static_cast<int64_t>(symbol(o));
  }
}

std::unique_ptr<KernelCode> decodeKernel(const ModuleText& module, const KernelText& kernel,
                                         const GlobalAddresses& globals) {
  auto code = std::make_unique<KernelCode>();
  code->name = kernel.name;
  code->text = &kernel;
  code->module = &module;
  code->maxThreads = kernel.maxThreads;
  code->requiredThreads = kernel.requiredThreads;
  Decoder d{module, kernel, globals, *code};
  layOut(d);
  for (const Register& r : kernel.registers) d.registerRows.push_back(d.scratch(r.width == Width::Bits64));
  code->registerRows = d.registerRows;
  for (auto& [name, targets] : kernel.tables) {
    d.tableIndex[name] = static_cast<uint32_t>(d.tableIndex.size());
    code->tables.emplace_back();
  }
  std::vector<uint32_t> begins;  // of each instruction, among the ops
  for (const Instruction& i : kernel.body) {
    begins.push_back(static_cast<uint32_t>(code->ops.size()));
    decode(d, i);
  }
  begins.push_back(static_cast<uint32_t>(code->ops.size()));
  Op end;  // who runs out of the body has ended
  static const Instruction kEnd{.opcode = "ret"};
  end.kind = OpKind::End;
  end.text = &kEnd;
  code->ops.push_back(end);

  auto indexOf = [&](const std::string& label, const Instruction& i) {
    auto it = kernel.labels.find(label);
    if (it == kernel.labels.end()) throw LoadError(i.line, "there is no label " + label);
    return begins[it->second];
  };
  for (Op& op : code->ops) {
    if (op.kind == OpKind::Branch) op.target = indexOf(op.text->operands[0].name, *op.text);
    if (op.kind != OpKind::BranchTable) continue;
    const std::string& table = op.text->operands[1].name;
    op.target = d.tableIndex.at(table);
    code->tables[op.target].clear();
    for (const std::string& label : kernel.tables.at(table))
      code->tables[op.target].push_back(indexOf(label, *op.text));
  }
  return code;
}

}  // namespace simcuda
