// The mapping table: one row per ONNX operator, for all its versions.
//
// A row either names the operator of ops.def that means the same (operands in order, attributes under the
// same names and with the same defaults), or has a function. A new operator: one row, at most one function in
// a map_*.cpp, one test.
#pragma once

#include <span>
#include <string_view>

#include "frontends/onnx/map/map_context.h"

namespace dyn::onnx {

// What the operator is for where a model computes sizes: exporters write `Shape`, and small sums of it.
enum class SizeRole : uint8_t {
  none,
  given,     // its results are sizes
  computed,  // its results are, if its operands are
};

struct MapRow {
  std::string_view name;    // "Gemm"
  std::string_view target;  // same meaning: "relu"; empty: `map` does it
  void (*map)(MapContext&) = nullptr;
  std::string_view ignored = {};  // attributes without a meaning for inference: "momentum seed"
  std::string_view domain = {};
  SizeRole sizes = SizeRole::none;
};

// Sorted by domain and name.
std::span<const MapRow> mapTable();
const MapRow* findMapRow(std::string_view domain, std::string_view name);
// Runs the row; also fails for attributes that nothing has read.
void runMapRow(const MapRow& row, MapContext& c);
// Emits `target` with the node's operands and attributes.
void mapDirect(MapContext& c, std::string_view target);

// Operators with bodies, which the importer itself expands.
bool isControlOperator(std::string_view domain, std::string_view name);

}  // namespace dyn::onnx
