// What tables the nodes of a data type make (operator `node_tables`).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

// A field that holds a value of the same type.
bool isChildField(Type field, const DataType& data);
bool hasChildren(const DataConstructor& constructor, const DataType& data);
// How many tables: results of the operator.
int tableCount(const DataType& data);
// Its attribute `fields`.
std::vector<int64_t> fieldNumbers(const DataType& data);
// "" or what keeps values of the type from being tables.
std::string whyNoTables(const DataType& data);

}  // namespace dyn
