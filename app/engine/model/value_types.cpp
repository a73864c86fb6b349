#include "app/engine/model/value_types.h"

namespace dyn {

TypesOfValues typesOfValues(const Module& module) {
  TypesOfValues types;
  const Function* main = module.main();
  if (!main) return types;
  for (const Parameter& parameter : main->parameters) types[parameter.id] = parameter.type;
  for (const Op* op : main->ops)
    for (const ValueDef& result : op->results) types[result.id] = result.type;
  return types;
}

}  // namespace dyn
