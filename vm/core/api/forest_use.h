// What a program does with an input of a data type: whether all of it is to be made into tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vm/isa/program.h"

namespace dyn::vm {

struct ForestUse {
  std::span<const int32_t> numbers;  // of the calls of `node_tables`, which lie in the program
  std::string whyNot;                // the instruction that does something else; "": none
};

// Of parameter `input` of the main function, a list of data values or one of them.
ForestUse findForestUse(const Program& program, uint32_t input, bool isList);

}  // namespace dyn::vm
