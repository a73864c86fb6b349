// What is true of a module at a point of the pipeline, as far as passes depend on it.
//
//   Properties required = Property::types;  required.contains(Property::groups)  → false
//
// A pass names the properties that it requires, provides and forbids. A list of passes in a wrong order is
// refused with a sentence before anything runs (checkOrder in pipeline.h).
#pragma once

#include <cstdint>

namespace dyn {

enum class Property : uint8_t {
  types,         // every value has a type, every demand on dims is proved or checked at run time
  groups,        // operations that one kernel computes stand together in `fused`
  destinations,  // kernels write into memory that `alloc` gave: `into` instead of `fused`
  arenas,        // what can be planned lies in an arena
};
inline constexpr int kPropertiesCount = 4;
const char* toString(Property property);

class Properties {
 public:
  constexpr Properties() = default;
  constexpr Properties(Property property) : bits_(bit(property)) {}
  constexpr bool contains(Property property) const { return (bits_ & bit(property)) != 0; }
  constexpr void add(Properties other) { bits_ = static_cast<uint8_t>(bits_ | other.bits_); }

 private:
  static constexpr uint8_t bit(Property property) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(property));
  }
  uint8_t bits_ = 0;
};

}  // namespace dyn
