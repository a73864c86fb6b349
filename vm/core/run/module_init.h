// Loading a program: a module is made of it, and its @init fills the globals, once, before anybody else sees
// the module.
#pragma once

#include <memory>

#include "vm/core/module/module.h"

namespace dyn::vm {

// Calls host.release when it fails, too.
Status loadModule(Program program, Module::Options options, std::shared_ptr<Module>& module);

}  // namespace dyn::vm
