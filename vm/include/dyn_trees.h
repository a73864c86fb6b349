/* dyn_trees.h: trees and other graphs without cycles as inputs of the C API, from flat arrays, without an
 * object for each node.
 *
 * Pass `batch_levels` turns a recursion over an input of a data type, or over a list of them, into a loop
 * over levels. Such a program reads the input as tables; this call passes the tables as arrays. For `type
 * Tree { Leaf(Tensor[(), i64]), Node(Tree, Tree) }` and the tree Node(Leaf 7, Leaf 3):
 *
 *   int32_t constructors[3] = {0, 0, 1};         Leaf is 0, Node is 1, as they stand in the type
 *   int64_t starts[4] = {0, 0, 0, 2};            node i has children[starts[i]] to children[starts[i + 1]]
 *   int64_t children[2] = {0, 1};
 *   int64_t words[2] = {7, 3}, count = 2;        the field of Leaf, of both leaves
 *   dyn_value* table;  dyn_value_tensor(context, DYN_I64, 1, &count, words, sizeof words, &table);
 *   dyn_forest forest = {3, constructors, starts, children, 0, 0, &table, 1};
 *   dyn_context_set_forest_input(context, "tree", &forest);
 *   dyn_context_run(context);
 *
 * Threads, ownership and errors are those of dynvm.h. */
#ifndef DYN_TREES_H
#define DYN_TREES_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nodes are numbered 0 to node_count - 1, in any order. */
typedef struct dyn_forest {
  int64_t node_count;
  const int32_t* constructors; /* [node_count]: of each node, counted as in the type */
  const int64_t* child_starts; /* [node_count + 1] */
  const int64_t* children;     /* [child_starts[node_count]]: the fields that are nodes, in their order */
  const int64_t* roots;        /* the trees, in the order of the list; null: all nodes without a parent */
  int64_t root_count;
  /* For each constructor in order: its fields other than nodes, as tensors [its nodes, ...] with nodes by
   * number. They are shared, not copied. */
  dyn_value* const* fields;
  int64_t field_count;
} dyn_forest;

/* Checks and copies the arrays. DYN_INVALID_ARGUMENT, with the node in the message: a cycle, a child that is
 * not a node, a wrong number of children, or an unknown constructor. DYN_UNSUPPORTED: the program uses the
 * input outside of a loop over levels (a recursion that the pass did not transform); such a program takes
 * values of dyn_value_compound. A node takes 16 bytes, a child 4 and a tree 12. */
DYN_API dyn_status dyn_context_set_forest_input(dyn_context* context, const char* name,
                                                const dyn_forest* forest);

#ifdef __cplusplus
}
#endif
#endif
