// Inputs from files of trees (tree_file.h): what `--input NAME=@trees.txt[,OPTION]...` may be.
//
//   words=FILE   what words stand for: their lines in FILE, from 0; a word that is missing there is the line
//                `<unk>`, where there is one
//   from=N, count=M   M trees from the Nth (0) on; default: all
//
// An input that is a value of a data type takes one tree, a list of them all trees. A node is of the
// constructor that its label names, else of the one with as many values of the type as the node has children.
// Numbers of a constructor are, in this order: the word (or its line), the label where it is a number, the
// node's number: leaves from 0 on, behind them the other nodes, children first. Tensors come from {"value":
// ...}.
//
// Models over arrays of nodes (ONNX) take `--input trees=@FILE`, all trees behind each other, by the names of
// their inputs:
//   left, right   i64 [n]: children of the nodes that have two, in order, leaves being numbered first; a dim
//                 `leaves` is how many there are
//   children      i64 [nodes, k]: of every node, children first; what a node lacks is the number of nodes
//   words         i64 [leaves or nodes]: the words (with children: 0 if absent)
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/model/signature.h"
#include "compiler/reference/value.h"

namespace dyn {

// Null: the input is of no data type, or the text names no file of trees.
// Errors: those of the file; usageError for options; inputMismatch with the line for a node that no
// constructor takes.
Result<std::optional<Value>> readTreeInput(const Port& port, const Module& module, const std::string& spec,
                                           std::string* note);

struct TreeArrays {
  std::vector<std::pair<std::string, HostTensor>> inputs;  // by name
  std::vector<std::pair<std::string, int64_t>> dims;
  std::string note;
};
// Null: the model has no inputs of these names.
Result<std::optional<TreeArrays>> readTreeArrays(const Signature& signature, const std::string& spec);

}  // namespace dyn
