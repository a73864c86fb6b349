// Data values in flat arrays: what an input of a data type may hold instead of an object for each node,
// where the program does nothing with it but hand it to `node_tables` (dyn_trees.h).
//
// Such a value is one tuple with a tag that no constructor has. A list of trees holds it once for each tree,
// so that its length is right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vm/core/object/object.h"

namespace dyn::vm {

inline constexpr int32_t kFlatForestTag = INT32_MIN;

// The fields of the tuple; behind them the tables of fields that are no nodes, in the order of the
// constructors. All integers are i32 of rank 1.
enum FlatForestField : uint32_t {
  kForestKinds,       // of each node its constructor
  kForestPlaces,      // of each node how many of its constructor stand before it
  kForestHeights,     // of each node
  kForestFirstChild,  // of each node, and the number of children behind them
  kForestChildren,    // numbers of nodes
  kForestRoots,       // numbers of nodes
  kForestFirstTable,
};

inline bool isFlatForest(const Object* object) {
  return object && object->kind == ObjectKind::tuple &&
         static_cast<const Tuple*>(object)->tag == kFlatForestTag;
}

// One field of a constructor, as `node_tables` says it.
struct NodeField {
  static constexpr int32_t kChild = -1;
  int32_t dtype = kChild;  // kChild: a value of the same data type
  std::vector<int64_t> shape;
};

struct NodeConstructor {
  std::vector<NodeField> fields;
  size_t childCount() const;
};

// From the numbers of a call of `node_tables`: of each constructor how many fields, and of each kChild, or a
// dtype, a rank and sizes. False: they are not that.
bool readNodeConstructors(std::span<const int32_t> words, std::vector<NodeConstructor>& constructors);

}  // namespace dyn::vm
