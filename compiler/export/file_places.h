// What a program that is written to a file says of the model's file: its name, not the folder that it lay in.
//
//   before   "/home/ada/models/bert.onnx: byte 17: node /layer/MatMul (MatMul, opset 17)"
//   after    "bert.onnx: byte 17: node /layer/MatMul (MatMul, opset 17)"
//
// So the same model gives the same bytes from every folder, and no package tells where it was made.
#pragma once

#include <string>

#include "vm/isa/program.h"

namespace dyn {

// Of a place as SourceLocation::toString writes it; what names no file stays.
std::string placeWithoutFolder(const std::string& place);
// All places of the program, and of the checks that are made there. Those of nothing become empty.
void leaveOutFolders(vm::Program& program);

}  // namespace dyn
