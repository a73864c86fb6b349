// Rows of the sweep: control flow, functions, lists and data types.
#include "tests/support/example_kernel.h"
#include "tests/unit/compiler/driver/operator_sweep.h"

namespace dyn::test {

std::vector<SweepRow> structureRows() {
  return {
      {"if", kAnything, "%c bool[], %x T[n, m], %z T[n, m]",
       "%y = if(%c, %x, %z) then (%p: Tensor[(n, m), <T>], %q: Tensor[(n, m), <T>]) { return %p } "
       "else (%r: Tensor[(n, m), <T>], %s: Tensor[(n, m), <T>]) { return %s } return %y"},
      {"if", "", "%c bool[], %x f32[n]",
       "%y = if(%c, %x) then (%p: Tensor[(n), f32]) { %a = exp(%p) return %a } "
       "else (%q: Tensor[(n), f32]) { %b = concat(%q, %q) {axis = 0} return %b } return %y"},
      {"loop",
       "",
       "%k i64[], %x f32[n]",
       "%y, %s = loop(%k, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) { "
       "%go = constant() {value = bool[] true} %b = add(%a, %a) return %go, %b, %a } return %y, %s",
       {""},
       {{"k", "0", "4"}}},
      {"loop",
       "",
       "%k i64[], %x f32[n], %z f32[1]",
       "%y = loop(%k, _, %x, %z) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(l), f32], %c: "
       "Tensor[(1), f32]) { "
       "%three = constant() {value = i64[] 3} %go = less(%i, %three) %b = concat(%a, %c) {axis = 0} return "
       "%go, %b } return %y",
       {""},
       {{"k", "0", "6"}}},
      {"match", "", "",
       "type Shape { Dot(Tensor[(2), f32]), Pair(Tensor[(2), f32], Tensor[(2), f32]) } "
       "fn @main(%c: Tensor[(), bool], %x: Tensor[(2), f32]) { "
       "%d = if(%c, %x) then (%p: Tensor[(2), f32]) { %v = construct(%p) {type = \"Shape\", constructor = "
       "\"Dot\"} return %v } "
       "else (%q: Tensor[(2), f32]) { %w = construct(%q, %q) {type = \"Shape\", constructor = \"Pair\"} "
       "return %w } "
       "%y = match(%d) case Dot(%a: Tensor[(2), f32]) { return %a } "
       "case Pair(%b: Tensor[(2), f32], %e: Tensor[(2), f32]) { %s = add(%b, %e) return %s } return %y }"},
      {"construct", "", "",
       "type Item { Item(Tensor[(2), f32], Tensor[(), i64]) } fn @main(%x: Tensor[(2), f32], %k: Tensor[(), "
       "i64]) { "
       "%d = construct(%x, %k) {type = \"Item\", constructor = \"Item\"} "
       "%y = match(%d) case Item(%a: Tensor[(2), f32], %b: Tensor[(), i64]) { return %a } return %y }"},
      // Leaves of two constructors, a value that stands at two places, nodes of one child and of two.
      {"node_tables", "", "",
       "type T { Zero(), Leaf(Tensor[(2), f32], Tensor[(), i64]), Neg(T), Add(T, Tensor[(), f32], T) } "
       "fn @main(%x: Tensor[(2), f32], %k: Tensor[(), i64], %s: Tensor[(), f32]) { "
       "%z = construct() {type = \"T\", constructor = \"Zero\"} "
       "%a = construct(%x, %k) {type = \"T\", constructor = \"Leaf\"} "
       "%b = construct(%a) {type = \"T\", constructor = \"Neg\"} "
       "%c = construct(%a, %s, %b) {type = \"T\", constructor = \"Add\"} "
       "%d = construct(%c, %s, %z) {type = \"T\", constructor = \"Add\"} "
       "%l = list(%d, %b, %a, %d) "
       "%roots, %zeros, %leaves, %x0, %k0, %negs, %s0, %n0, %adds, %s1, %l1, %t1, %r1 = node_tables(%l) "
       "{type = \"T\", fields = [0, 2, 1, 1, 1, 0, 3, 0, 1, 0]} "
       "return %roots, %zeros, %leaves, %x0, %k0, %negs, %s0, %n0, %adds, %s1, %l1, %t1, %r1 }"},
      {"call", "", "",
       "fn @main(%x: Tensor[(n, m), f32]) { %y = call(%x) {callee = \"f\"} return %y } "
       "fn @f(%v: Tensor[(k, l), f32]) { %r = exp(%v) return %r }"},
      {"call", "", "",
       "fn @main(%x: Tensor[(n), f32], %k: Tensor[(), i64]) { %y = call(%x, %k) {callee = \"f\"} return %y } "
       "fn @f(%v: Tensor[(k), f32], %i: Tensor[(), i64]) -> (Tensor[(k), f32]) { %z = constant() {value = "
       "i64[] 0} %stop = less_equal(%i, %z) "
       "%r = if(%stop, %v, %i) then (%a: Tensor[(k), f32], %b: Tensor[(), i64]) { return %a } "
       "else (%c: Tensor[(k), f32], %d: Tensor[(), i64]) { %one = constant() {value = i64[] 1} %e = sub(%d, "
       "%one) "
       "%s = call(%c, %e) {callee = \"f\"} %t = add(%s, %c) return %t } return %r }"},
      {"closure", "", "",
       "fn @main(%x: Tensor[(n), f32], %c: Tensor[(), bool]) { "
       "%g = if(%c, %x) then (%p: Tensor[(n), f32]) { %a = closure(%p) {callee = \"f\"} return %a } "
       "else (%q: Tensor[(n), f32]) { %b = closure(%q) {callee = \"h\"} return %b } %y = invoke(%g, %x) "
       "return %y } "
       "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = add(%v, %w) return %r } "
       "fn @h(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = mul(%v, %w) return %r }"},
      {"closure", "", "",
       "fn @main(%x: Tensor[(n), f32]) { %g = closure(%x) {callee = \"f\"} %y = invoke(%g, %x) return %y } "
       "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = mul(%v, %w) return %r }"},
      {"invoke", "", "",
       "fn @main(%x: Tensor[(n), f32]) { %g = closure(%x) {callee = \"f\"} %y = invoke(%g, %x) return %y } "
       "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = sub(%v, %w) return %r }"},
      {"check", "", "%x f32[n]",
       "check() {lhs = dims(n), rhs = dims(3), relation = \"le\", what = \"at most three\"} return %x"},
      {"check", "", "%x f32[n, m]", "check() {lhs = dims(n), rhs = dims(m), relation = \"eq\"} return %x"},
      {"check_values", "", "%x f32[n]",
       "check_values(%x) {elements = \"numbers\", what = \"a test\"} return %x"},
      {"custom_call", kAnything, "%x T[n, m]",
       "%s = shape(%x) %y = custom_call(%x, %s) {kernel = \"example_copy\"} return %y"},
      {"variant", "", "",
       "fn @main(%x: Tensor[(n, m), f32]) { "
       "variant(%x) {callee = \"g\", lhs = dims(n, m), rhs = dims(3, 3), relation = \"eq\"} "
       "variant(%x) {callee = \"f\", lhs = dims(n), rhs = dims(m), relation = \"le\"} %y = exp(%x) return %y "
       "} "
       "fn @f(%v: Tensor[(k, l), f32]) { %r = neg(%v) return %r } "
       "fn @g(%v: Tensor[(3, 3), f32]) { %r = abs(%v) return %r }"},
      {"bind_dims", "", "%k i64[2]",
       "bind_dims(%k) {dims = dims(rows), elements = [0]} %y = dim_value() {value = dims(rows + 1)} return "
       "%y"},
      {"tuple", "", "%x f32[n], %z i64[m]", "%t = tuple(%x, %z) %y = tuple_get(%t) {index = 1} return %y"},
      {"tuple_get", kAnything, "%x T[n], %z f32[m]",
       "%t = tuple(%x, %z) %y = tuple_get(%t) {index = 0} return %y"},
      {"list",
       kAnything,
       "%x T[n], %z T[m], %i i64[]",
       "%l = list(%x, %z) %y = list_at(%l, %i) return %y",
       {""},
       {{"i", "-3", "2"}}},
      {"list_of", "", "",
       "fn @main(%x: Tensor[(n), f32]) { %f = closure(%x) {callee = \"f\"} %l = list_of(%f) "
       "%a = invoke(%f, %x) %m = list_append(%l, %a) %k = list_length(%l) %z = constant() {value = i64[] 0} "
       "%y = list_at(%m, %z) return %y, %k } "
       "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = add(%v, %w) return %r }"},
      {"list_at",
       "",
       "%x string[n], %i i64[]",
       "%l = list(%x, %x) %y = list_at(%l, %i) return %y",
       {""},
       {{"i", "-2", "1"}}},
      {"list_append",
       "",
       "%x f32[n], %i i64[]",
       "%l = list(%x) %b = add(%x, %x) %m = list_append(%l, %b) %y = list_at(%m, %i) %c = list_length(%m) "
       "return %y, %c",
       {""},
       {{"i", "-2", "1"}}},
      {"list_insert",
       "",
       "%x f32[n], %i i64[], %j i64[]",
       "%b = add(%x, %x) %l = list(%x, %x) %m = list_insert(%l, %b, %i) %y = list_at(%m, %j) return %y",
       {""},
       {{"i", "-3", "3"}, {"j", "-3", "2"}}},
      {"list_erase",
       "",
       "%x f32[n], %i i64[], %j i64[]",
       "%b = add(%x, %x) %l = list(%x, %b, %x) %m = list_erase(%l, %i) %y = list_at(%m, %j) %c = "
       "list_length(%m) return %y, %c",
       {""},
       {{"i", "-3", "2"}, {"j", "-2", "1"}}},
      {"list_length", "", "%x f32[n]", "%l = list(%x, %x) %y = list_length(%l) return %y"},
      {"optional_some", "", "%x f32[n]",
       "%o = optional_some(%x) %h = optional_has(%o) %y = optional_get(%o) return %y, %h"},
      {"optional_get", "", "%c bool[], %x f32[n]",
       "%o = if(%c, %x) then (%p: Tensor[(n), f32]) { %a = optional_some(%p) return %a } "
       "else (%q: Tensor[(n), f32]) { %b = optional_none() {type = Tensor[(n), f32]} return %b } "
       "%y = optional_get(%o) return %y"},
      {"optional_has", "", "%c bool[], %x f32[n]",
       "%o = if(%c, %x) then (%p: Tensor[(n), f32]) { %a = optional_some(%p) return %a } "
       "else (%q: Tensor[(n), f32]) { %b = optional_none() {type = Tensor[(n), f32]} return %b } "
       "%y = optional_has(%o) return %y"},
      {"optional_none", "", "%x f32[n]",
       "%o = optional_none() {type = Tensor[(3), f32]} %y = optional_has(%o) return %y"},
  };
}

}  // namespace dyn::test
