#include "compiler/pass/properties.h"

namespace dyn {

const char* toString(Property property) {
  switch (property) {
    case Property::types:
      return "types";
    case Property::groups:
      return "groups";
    case Property::destinations:
      return "destinations";
    case Property::arenas:
      return "arenas";
  }
  return "?";
}

}  // namespace dyn
