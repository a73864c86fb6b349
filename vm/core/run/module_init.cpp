#include "vm/core/run/module_init.h"

#include <span>
#include <utility>
#include <vector>

#include "vm/core/run/interpreter.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm {
namespace {

std::vector<bool> constantsOfInitOnly(const Program& program) {
  std::vector<bool> only(program.constants.size(), true);
  for (size_t f = 0; f < program.functions.size(); ++f) {
    if (static_cast<int32_t>(f) == program.initFunction) continue;
    InstructionReader reader(program.functions[f].code);
    while (!reader.atEnd() && reader.next())
      if (reader.opcode() == Opcode::loadConstant)
        only[static_cast<size_t>(reader.operand(1).words[0])] = false;
  }
  return only;
}

Status runInit(Module& module) {
  const Program& program = module.program();
  if (program.initFunction < 0) return okStatus();
  InterpreterOptions options;
  options.pool = module.pool();
  if (module.host().forget_constant)
    options.globalStored = [&module,
                            onlyHere = constantsOfInitOnly(program)](std::span<const int32_t> constants) {
      const dyn_host& host = module.host();
      for (int32_t index : constants)
        if (onlyHere[static_cast<size_t>(index)]) host.forget_constant(host.user, index);
    };
  Interpreter interpreter(module, options);
  Status status = interpreter.run(static_cast<uint32_t>(program.initFunction), {}, &module.globals());
  interpreter.clear();
  if (status.ok()) {
    module.keepGlobals();
    return status;
  }
  for (Object*& global : module.globals()) {
    release(global);
    global = nullptr;
  }
  status.message = "init: " + status.message;
  return status;
}

}  // namespace

Status loadModule(Program program, Module::Options options, std::shared_ptr<Module>& result) {
  std::shared_ptr<Module> module;
  if (Status status = Module::create(std::move(program), std::move(options), module); !status.ok())
    return status;
  if (Status status = runInit(*module); !status.ok()) return status;
  result = std::move(module);
  return okStatus();
}

}  // namespace dyn::vm
