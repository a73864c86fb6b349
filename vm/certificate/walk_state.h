// What the walk knows at a place of a program: registers of all frames, as polynomials and objects.
#pragma once

#include <memory>

#include "vm/certificate/atoms.h"

namespace dyn::certificate {

// Bytes [begin, begin + size) of a storage, or any of its bytes.
struct Region {
  uint32_t storage = 0;
  bool isAnywhere = false;
  Polynomial begin, size;
};
using RegionRef = std::shared_ptr<const Region>;

enum class ObjectKind : uint8_t { unknown, tensor, storage, tuple, closure };

// An immutable value of an object register. What it may lie in, or hold on to, is in `regions`, together with
// that of its fields.
struct Object {
  uint64_t id = 0;
  ObjectKind kind = ObjectKind::unknown;
  uint8_t dtype = 0;                                  // tensor
  bool isDense = true;                                // tensor
  std::vector<Polynomial> dims;                       // tensor
  std::vector<Polynomial> numbers;                    // tensor made of scalars
  std::vector<std::shared_ptr<const Object>> fields;  // tuple, closure: captures
  int32_t function = -1;                              // closure
  std::vector<RegionRef> regions;
};
using ObjectRef = std::shared_ptr<const Object>;
using NumberRef = std::shared_ptr<const Polynomial>;

struct Frame {
  std::vector<NumberRef> scalars;  // null: never set
  std::vector<ObjectRef> objects;
};

struct State {
  std::vector<Frame> frames;  // the last one runs
  Scope scope;
};

}  // namespace dyn::certificate
