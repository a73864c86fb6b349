// Rows of the sweep: reductions, norms, products and windows.
#include "tests/unit/compiler/driver/operator_sweep.h"

namespace dyn::test {
namespace {

void addReductions(std::vector<SweepRow>& rows) {
  const auto add = [&](const char* op, const char* dtypes) {
    // A logarithm of next to nothing is all rounding.
    const std::vector<Fill> fills =
        std::string(op) == "reduce_log_sum" ? std::vector<Fill>{{"x", "1", "3"}} : std::vector<Fill>{};
    const std::string name = op, axes = "%a = constant() {value = i64[1] [";
    rows.push_back({op,
                    dtypes,
                    "%x T[n, m]",
                    axes + "1]} %y = " + name + "(%x, %a) {A} return %y",
                    {"", "keepdims = 0"},
                    fills,
                    {},
                    8});
    rows.push_back({op,
                    "",
                    "%x f32[a, b, c]",
                    axes + "0]} %y = " + name + "(%x, %a) {keepdims = 0} return %y",
                    {""},
                    fills,
                    {},
                    8});
    rows.push_back({op,
                    "",
                    "%x f32[a, b, c]",
                    "%a = constant() {value = i64[2] [-1, 0]} %y = " + name + "(%x, %a) return %y",
                    {""},
                    fills,
                    {},
                    8});
    rows.push_back({op,
                    "",
                    "%x f32[n, m]",
                    name + "(%x) {A}",
                    {"", "keepdims = 0", "noop_with_empty_axes = 1"},
                    fills,
                    {},
                    8});
  };
  // Several vectors of reductions side by side (whole_rows.cpp), one, and fewer.
  for (const char* op : {"reduce_sum", "reduce_l1", "reduce_sum_square", "reduce_max"})
    rows.push_back(
        {op,
         std::string(op) == "reduce_max" ? kAnything : kNumbers,
         "%x T[n, m]",
         std::string("%a = constant() {value = i64[1] [0]} %y = ") + op + "(%x, %a) {keepdims = 0} return %y",
         {""},
         {},
         {{"n", {1, 0, 3, 37}}, {"m", {63, 64, 17, 150}}},
         8});
  for (const char* op : {"reduce_sum", "reduce_prod", "reduce_mean", "reduce_l1", "reduce_l2",
                         "reduce_log_sum", "reduce_log_sum_exp", "reduce_sum_square"})
    add(op, kNumbers);
  for (const char* op : {"reduce_max", "reduce_min"}) add(op, kAnything);
  for (const char* op : {"argmax", "argmin"})
    rows.push_back({op,
                    kNumbers,
                    "%x T[n, m]",
                    std::string(op) + "(%x) {A}",
                    {"", "axis = -1, keepdims = 0", "axis = 1, select_last_index = 1"}});
  for (const char* op : {"cumsum", "cumprod"})
    rows.push_back({op,
                    kNumbers,
                    "%x T[n, m], %a i64[]",
                    std::string(op) + "(%x, %a) {A}",
                    {"", "exclusive = 1", "reverse = 1", "exclusive = 1, reverse = 1"},
                    {{"a", "-2", "1"}},
                    {},
                    8});
}

void addNorms(std::vector<SweepRow>& rows) {
  for (const char* op : {"softmax", "log_softmax", "hardmax"}) {
    rows.push_back(
        {op, kReals, "%x T[a, b, c]", std::string(op) + "(%x) {A}", {"", "axis = 0", "axis = 1"}, {}, {}, 4});
    rows.push_back({op, "", "%x f32[n]", std::string(op) + "(%x)", {""}, {}, {}, 4});
  }
  rows.push_back({"lp_normalization",
                  kReals,
                  "%x T[n, m]",
                  "lp_normalization(%x) {A}",
                  {"", "axis = 0", "p = 1", "axis = 0, p = 1"},
                  {},
                  {},
                  4});
  rows.push_back({"layer_norm",
                  kReals,
                  "%x T[n, m], %s T[m], %b T[m]",
                  "layer_norm(%x, %s, %b) {A}",
                  {"", "epsilon = 0.5"},
                  {},
                  {},
                  16});
  rows.push_back(
      {"layer_norm", "", "%x f32[n, 3, m], %s f32[3, m]", "layer_norm(%x, %s) {axis = 1}", {""}, {}, {}, 16});
  rows.push_back({"layer_norm",
                  "",
                  "%x f32[n, m], %s f32[m]",
                  "%y, %c, %i = layer_norm(%x, %s) return %y, %c, %i",
                  {""},
                  {},
                  {},
                  16});
  rows.push_back(
      {"rms_norm", kReals, "%x T[n, m], %s T[m]", "rms_norm(%x, %s) {A}", {"", "epsilon = 0.5"}, {}, {}, 8});
  rows.push_back(
      {"rms_norm", "", "%x f32[n, 3, m], %s f32[3, m]", "rms_norm(%x, %s) {axis = -2}", {""}, {}, {}, 8});
  rows.push_back({"batch_norm",
                  kReals,
                  "%x T[n, c, h, w], %s T[c], %b T[c], %m T[c], %v T[c]",
                  "batch_norm(%x, %s, %b, %m, %v) {A}",
                  {"", "epsilon = 0.5"},
                  {{"v", "1", "3"}},
                  {},
                  8});
  rows.push_back({"batch_norm",
                  "",
                  "%x f32[n, c], %s f32[c], %b f32[c], %m f32[c], %v f32[c]",
                  "batch_norm(%x, %s, %b, %m, %v)",
                  {""},
                  {{"v", "1", "3"}},
                  {},
                  8});
  rows.push_back({"instance_norm",
                  kReals,
                  "%x T[n, c, h, w], %s T[c], %b T[c]",
                  "instance_norm(%x, %s, %b) {A}",
                  {"", "epsilon = 0.5"},
                  {},
                  {},
                  16});
  rows.push_back({"group_norm",
                  kReals,
                  "%x T[n, 4, h, w], %s T[4], %b T[4]",
                  "group_norm(%x, %s, %b) {A}",
                  {"num_groups = 2", "num_groups = 1", "num_groups = 4, epsilon = 0.5"},
                  {},
                  {},
                  16});
  rows.push_back(
      {"lrn",
       kReals,
       "%x T[n, c, h]",
       "lrn(%x) {A}",
       {"size = 3", "size = 2, alpha = 0.5, beta = 0.5, bias = 2.0", "size = 1", "size = 5001, alpha = 50.0"},
       {},
       {},
       4});
  rows.push_back({"mean_variance_normalization",
                  kReals,
                  "%x T[n, 3, h, w]",
                  "mean_variance_normalization(%x) {A}",
                  {"", "axes = [1]", "axes = [0, -1]"},
                  {},
                  {},
                  16});
}

void addProducts(std::vector<SweepRow>& rows) {
  rows.push_back({"matmul", kNumbers, "%a T[n, k], %b T[k, m]", "matmul(%a, %b)", {""}, {}, {}, 16});
  for (const char* parameters : {"%a f32[k, n], %b f32[m, k]"})
    rows.push_back(
        {"matmul", "", parameters, "matmul(%a, %b) {transpose_a = 1, transpose_b = 1}", {""}, {}, {}, 16});
  rows.push_back(
      {"matmul", "", "%a f32[n, k], %b f32[m, k]", "matmul(%a, %b) {transpose_b = 1}", {""}, {}, {}, 16});
  for (const char* parameters : {"%a f32[k], %b f32[k, m]", "%a f32[n, k], %b f32[k]", "%a f32[k], %b f32[k]",
                                 "%a f32[b, n, k], %b f32[k, m]", "%a f32[b, n, k], %b f32[b, k, m]",
                                 "%a f32[b, 1, n, k], %b f32[c, k, m]", "%a f32[b, n, k], %b f32[c, k, m]"})
    rows.push_back({"matmul", "", parameters, "matmul(%a, %b)", {""}, {}, {{"c", {1, 2, 3}}}, 16});
  // A run for each row of %a, of as many positions as the row has elements above 0.
  for (const char* masks : {"", ", %b", ", _, %c", ", %b, %c"})
    rows.push_back(
        {"packed_attention",
         "",
         "%a f32[r, m], %w f32[1, h, 1, d], %u f32[1, h, 1, e]",
         "%p = max(%a, sub(%a, %a)) %z = nonzero(%p) "
         "%b = gather_nd(%p, transpose(%z) {perm = [1, 0]}) %c = greater(%b, f32[] 0.5) "
         "%x = reshape(%b, i64[4] [1, 1, -1, 1]) %q = mul(%x, %w) %k = transpose(%q) {perm = [0, 1, 3, 2]} "
         "%v = mul(%x, %u) %o = cast(cast(%p) {to = bool}) {to = i64} "
         "%l = reduce_sum(%o, i64[1] [1]) {keepdims = 0} %y = packed_attention(%q, %k, %v, %l" +
             std::string(masks) + ") {A} return %y",
         {"", "scale = 0.25, fill = -10000.0", "nan_as_zero = 1", "causal = 1"},
         {},
         {},
         16});
  // And with a table of biases by the places of query and key, of all runs or of each.
  for (const char* table : {"%t f32[h, m, m]", "%t f32[1, 1, m]", "%t f32[r, h, m, m]", "%t f32[r, 1, 1, m]"})
    rows.push_back(
        {"packed_attention",
         "",
         "%a f32[r, m], %w f32[1, h, 1, d], %u f32[1, h, 1, e], " + std::string(table),
         "%p = max(%a, sub(%a, %a)) %z = nonzero(%p) {of_positions = 1} %i = gather(%z, i64[] 1) "
         "%b = gather_nd(%p, transpose(%z) {perm = [1, 0]}) "
         "%x = reshape(%b, i64[4] [1, 1, -1, 1]) %q = mul(%x, %w) %k = transpose(%q) {perm = [0, 1, 3, 2]} "
         "%v = mul(%x, %u) %o = cast(cast(%p) {to = bool}) {to = i64} "
         "%l = reduce_sum(%o, i64[1] [1]) {keepdims = 0} "
         "%y = packed_attention(%q, %k, %v, %l, _, _, %t, %i) {A} return %y",
         {"scale = 0.5", "causal = 1"},
         {},
         {},
         16});
  // Keys of other runs than the queries: each sequence has as many of either as its row has elements above 0.
  for (const char* masks : {"", ", %f", ", _, %g", ", %f, %g"})
    rows.push_back(
        {"packed_attention",
         "",
         "%a f32[r, m], %c f32[r, k], %w f32[1, h, 1, d], %u f32[1, h, 1, e]",
         "%p = max(%a, sub(%a, %a)) %i = nonzero(%p) %b = gather_nd(%p, transpose(%i) {perm = [1, 0]}) "
         "%s = max(%c, sub(%c, %c)) %j = nonzero(%s) %f = gather_nd(%s, transpose(%j) {perm = [1, 0]}) "
         "%g = greater(%f, f32[] 0.5) "
         "%x = reshape(%b, i64[4] [1, 1, -1, 1]) %y = reshape(%f, i64[4] [1, 1, -1, 1]) %q = mul(%x, %w) "
         "%t = transpose(mul(%y, %w)) {perm = [0, 1, 3, 2]} %v = mul(%y, %u) "
         "%n = reduce_sum(cast(cast(%p) {to = bool}) {to = i64}, i64[1] [1]) {keepdims = 0} "
         "%o = reduce_sum(cast(cast(%s) {to = bool}) {to = i64}, i64[1] [1]) {keepdims = 0} "
         "%l = concat(unsqueeze(%n, i64[1] [0]), unsqueeze(%o, i64[1] [0])) {axis = 0} "
         "%z = packed_attention(%q, %t, %v, %l" +
             std::string(masks) + ") {A} return %z",
         {"", "scale = 0.25, fill = -10000.0", "nan_as_zero = 1"},
         {},
         {},
         16});
  // The entries of a matrix in compressed rows, a part of which are empty.
  rows.push_back(
      {"spmm",
       kNumbers,
       "%a T[r, k], %d T[k, n]",
       "%p = max(%a, sub(%a, %a)) %z = nonzero(%p) %v = gather_nd(%p, transpose(%z) {perm = [1, 0]}) "
       "%c = gather(%z, i64[] 1) %o = cast(cast(%p) {to = bool}) {to = i64} "
       "%e = cumsum(reduce_sum(%o, i64[1] [1]) {keepdims = 0}, i64[] 0) "
       "%s = concat(i64[1] [0], %e) {axis = 0} %y = spmm(%v, %c, %s, %d) return %y",
       {""},
       {},
       {},
       16});
  // Columns and starts of any values: faults where they are out of range.
  rows.push_back({"spmm",
                  "",
                  "%v f32[e], %c i32[e], %s i64[r], %d f32[k, n]",
                  "spmm(%v, %c, %s, %d)",
                  {""},
                  {{"c", "0", "k-1"}, {"s", "0", "e"}},
                  {{"r", {1, 2, 3}}},
                  16});
  rows.push_back(
      {"matmul_permuted",
       "",
       "%q f32[b, s, 2, 4], %k f32[b, t, 2, 4]",
       "matmul_permuted(%q, %k) {order_a = [0, 2, 1, 3], order_b = [0, 2, 3, 1], order_c = [0, 1, 2, 3]}",
       {""},
       {},
       {},
       16});
  rows.push_back(
      {"matmul_permuted",
       "",
       "%w f32[b, h, s, t], %v f32[b, t, h, d]",
       "matmul_permuted(%w, %v) {order_a = [0, 1, 2, 3], order_b = [0, 2, 1, 3], order_c = [0, 2, 1, 3]}",
       {""},
       {},
       {},
       16});
  rows.push_back({"pack_b",
                  "",
                  "%a f32[n, 3], %b f32[3, 5]",
                  "%p = pack_b(%b) %y = gemm_packed(%a, %p) {n = dims(5), k = dims(3)} return %y",
                  {""},
                  {},
                  {},
                  16});
  rows.push_back(
      {"pack_b",
       "",
       "%a f32[n, 3], %b bf16[3, 5]",
       "%p = pack_b(%b) {narrow = 1} %y = gemm_packed(%a, %p) {n = dims(5), k = dims(3), narrow = 1} "
       "return %y",
       {""},
       {},
       {},
       16});
  rows.push_back(
      {"gemm_packed",
       "",
       "%a f32[c, n, 7], %b f32[21, 7]",
       "%p = pack_b(%b) {transpose = 1} %y = gemm_packed(%a, %p) {n = dims(21), k = dims(7)} return %y",
       {""},
       {},
       {},
       16});
  const std::vector<Fill> lengths = {{"l", "0", "s"}};
  const auto addRecurrence = [&](const std::string& parameters, const std::string& operands,
                                 const std::string& results, const std::string& attributes) {
    rows.push_back({"recurrence",
                    "",
                    parameters,
                    "%p = pack_b(%r) " + results + " = recurrence(" + operands + ") {A} return " + results,
                    {attributes, attributes + ", backward = 1"},
                    parameters.find("%l") == std::string::npos ? std::vector<Fill>{} : lengths,
                    {},
                    64});
  };
  addRecurrence("%g f32[s, b, 12], %r f32[3, 12], %h f32[b, 3], %c f32[b, 3]", "%g, %p, %h, %c", "%y, %d, %z",
                "cell = \"lstm\", stacks = 1");
  addRecurrence("%g f32[s, b, 132], %r f32[33, 132], %h f32[b, 33], %c f32[b, 33], %l i64[b]",
                "%g, %p, %h, %c, _, %l", "%y, %d", "cell = \"lstm\"");
  addRecurrence("%g f32[s, b, 51], %r f32[17, 51], %h f32[b, 17], %e f32[51], %l i64[b]",
                "%g, %p, %h, _, %e, %l", "%y, %z", "cell = \"gru\", stacks = 1");
  addRecurrence("%g f32[s, b, 7], %i f32[s, b, 7], %r f32[7, 7], %h f32[b, 7]",
                "%g, %p, %h, _, _, _, %i, %p, %h", "%y, %z, %u, %v",
                "cell = \"tanh\", stacks = 1, second_backward = 1");
  addRecurrence("%g f32[s, b, 5], %r f32[5, 5], %h f32[b, 5]", "%g, %p, %h", "%y", "cell = \"relu\"");
  for (const char* parameters : {"%a u8[n, k], %b u8[k, m], %z u8[]", "%a u8[n, k], %b i8[k, m], %z u8[]",
                                 "%a i8[c, n, k], %b i8[k, m], %z i8[]"})
    rows.push_back({"matmul_integer", "", parameters, "matmul_integer(%a, %b, %z)"});
  rows.push_back({"matmul_integer", "", "%a u8[n, k], %b i8[k, m], %z u8[n], %w i8[m]",
                  "matmul_integer(%a, %b, %z, %w)"});
  rows.push_back(
      {"pack_bytes", "", "%a u8[n, 3], %b i8[3, 5], %z u8[]",
       "%p = pack_bytes(%b) %y = matmul_integer_packed(%a, %p, %z) {n = dims(5), k = dims(3)} return %y"});
  const std::vector<Fill> bytes = {{"b", "0", "255"}, {"z", "0", "255"}};
  const auto addNbits = [&](const std::string& parameters, const std::string& attributes) {
    const std::string zeros = parameters.find("%z") == std::string::npos ? "" : ", %z";
    rows.push_back({"matmul_nbits",
                    "",
                    parameters,
                    "matmul_nbits(%a, %b, %s" + zeros + ") {A}",
                    {attributes},
                    bytes,
                    {},
                    64});
  };
  addNbits("%a f32[n, 64], %b u8[m, 2, 16], %s f32[m, 2], %z u8[m, 1]", "bits = 4, block = 32");
  addNbits("%a f32[2, n, 72], %b u8[m, 3, 16], %s f32[m, 3]", "bits = 4, block = 32");
  addNbits("%a f32[n, 37], %b u8[m, 3, 8], %s f32[m, 3], %z u8[m, 2]", "bits = 4, block = 16");
  addNbits("%a f32[n, 40], %b u8[m, 2, 32], %s f32[m, 2], %z u8[m, 2]", "bits = 8, block = 32");
  addNbits("%a f32[n, 37], %b u8[m, 2, 16], %s f32[m, 2], %z u8[m, 1]",
           "bits = 4, block = 32, round_rows = 1");
  addNbits("%a f32[1, k], %b u8[m, l, 64], %s f32[m, l]", "bits = 4, block = 128");
  rows.push_back(
      {"matmul_integer_packed", "", "%a u8[c, n, 7], %b i8[7, 21], %z u8[]",
       "%p = pack_bytes(%b) %y = matmul_integer_packed(%a, %p, %z) {n = dims(21), k = dims(7)} return %y"});
  for (const auto& [parameters, equation] :
       std::map<std::string, std::string>{{"%a f32[i, j], %b f32[j, k]", "ij,jk->ik"},
                                          {"%a f32[i, j], %b f32[i, j]", "ij,ij->"},
                                          {"%a f32[i], %b f32[j]", "i,j->ij"},
                                          {"%a f32[b, i, j], %b f32[b, k, j]", "bij,bkj->bik"},
                                          {"%a f32[i, i], %b f32[i]", "ii,i->i"},
                                          {"%a f32[b, c, i, j], %b f32[j, k]", "...ij,jk->...ik"},
                                          {"%a f32[i, j, k], %b f32[k, l]", "ijk,kl->jil"},
                                          {"%a f32[b, i, h, d], %b f32[b, j, h, d]", "bihd,bjhd->bhij"},
                                          {"%a f32[b, h, i, j], %b f32[b, j, h, d]", "bhij,bjhd->bihd"},
                                          {"%a f32[b, s, h, d], %b f32[h, d, m]", "bshd,hdm->bsm"},
                                          {"%a f32[b, s, m], %b f32[m, h, d]", "bsm,mhd->bshd"},
                                          {"%a f32[i, k, l], %b f32[l, j, k]", "ikl,ljk->ji"},
                                          {"%a f32[i, i, j, c], %b f32[k, j]", "iijc,kj->ki"},
                                          {"%a f32[b, h, s, d], %b f32[s, k, d]", "bhsd,skd->bhsk"},
                                          {"%a f32[j, i], %b f32[k, j]", "ji,kj"}})
    rows.push_back(
        {"einsum", "", parameters, "einsum(%a, %b) {equation = \"" + equation + "\"}", {""}, {}, {}, 16});
  rows.push_back({"einsum",
                  kNumbers,
                  "%a T[i, j]",
                  "einsum(%a) {A}",
                  {"equation = \"ij->ji\"", "equation = \"ij->j\"", "equation = \"ij->\""},
                  {},
                  {},
                  8});
  rows.push_back({"einsum",
                  "",
                  "%a f32[i, j], %b f32[j, k], %c f32[k, l]",
                  "einsum(%a, %b, %c) {equation = \"ij,jk,kl->il\"}",
                  {""},
                  {},
                  {},
                  32});
  rows.push_back({"einsum",
                  kNumbers,
                  "%a T[i, b, j], %b T[j, k, b]",
                  "einsum(%a, %b) {A}",
                  {"equation = \"ibj,jkb->bki\"", "equation = \"ibj,jkb->kib\""},
                  {},
                  {},
                  16});
  rows.push_back({"einsum",
                  kNumbers,
                  "%a T[b, i], %b T[b, j], %c T[i, j], %d T[j, k]",
                  "einsum(%a, %b, %c, %d) {A}",
                  {"equation = \"bi,bj,ij,jk->bk\"", "equation = \"bi,bj,ij,jk->k\""},
                  {},
                  {},
                  64});
  // Far from singular: the diagonal is larger than all that stands beside it.
  rows.push_back({"inverse",
                  kReals,
                  "%x T[n, 3, 3]",
                  "%d = constant() {value = <T>[3, 3] [[9.0, 1.0, 0.0], [0.0, 9.0, 1.0], [1.0, 0.0, 9.0]]} "
                  "%s = add(%x, %d) %y = inverse(%s) return %y",
                  {""},
                  {{"x", "-1", "1"}},
                  {},
                  64,
                  "f16 bf16"});
  rows.push_back(
      {"pairwise_coupling", "", "%x f32[n, 3, 3]", "pairwise_coupling(%x)", {""}, {{"x", "1", "2"}}, {}, 64});
  rows.push_back({"det", kReals, "%x T[n, k, k]", "det(%x)", {""}, {}, {}, 64, "f16 bf16"});
}

void addWindows(std::vector<SweepRow>& rows) {
  const std::map<std::string, std::vector<int64_t>> wide = {
      {"h", {3, 4, 5, 7, 8, 11}}, {"w", {3, 5, 4, 9, 13}}, {"n", {1, 2, 0, 3}}};
  rows.push_back({"conv",
                  kNumbers,
                  "%x T[n, 2, h, w], %k T[3, 2, 3, 3]",
                  "conv(%x, %k) {A}",
                  {"", "pads = [1, 1, 1, 1]", "strides = [2, 2], pads = [0, 1, 1, 0]",
                   "dilations = [1, 2], pads = [0, 2, 0, 2]", "auto_pad = \"SAME_UPPER\"",
                   "auto_pad = \"SAME_LOWER\", strides = [2, 3]", "auto_pad = \"VALID\""},
                  {},
                  wide,
                  32});
  rows.push_back({"conv",
                  "",
                  "%x f32[n, 4, h, w], %k f32[6, 2, 2, 2], %b f32[6]",
                  "conv(%x, %k, %b) {group = 2}",
                  {""},
                  {},
                  wide,
                  32});
  rows.push_back({"conv",
                  "",
                  "%x f32[n, 5, h, w], %k f32[5, 1, 3, 3], %b f32[5]",
                  "conv(%x, %k, %b) {group = 5, pads = [1, 1, 1, 1]}",
                  {""},
                  {},
                  wide,
                  32});
  rows.push_back({"conv",
                  "",
                  "%x f32[n, c, h], %k f32[m, c, 3]",
                  "conv(%x, %k) {pads = [1, 1]}",
                  {""},
                  {},
                  {{"h", {1, 2, 5, 7}}, {"m", {1, 2, 3, 5}}},
                  32});
  rows.push_back(
      {"conv", "", "%x f32[n, 2, 4, h, w], %k f32[3, 2, 2, 2, 2]", "conv(%x, %k)", {""}, {}, wide, 32});
  rows.push_back({"conv",
                  "",
                  "%x f32[n, 3, h, w], %k f32[4, 3, a, b]",
                  "conv(%x, %k)",
                  {""},
                  {},
                  {{"h", {3, 5}}, {"w", {3, 7}}, {"a", {1, 2, 3}}, {"b", {1, 3}}},
                  32});
  for (const char* parameters :
       {"%x u8[n, 2, h, w], %k i8[3, 2, 3, 3], %z u8[]", "%x u8[n, 2, h, w], %k u8[3, 2, 3, 3], %z u8[]"})
    rows.push_back({"conv_integer",
                    "",
                    parameters,
                    "conv_integer(%x, %k, %z) {A}",
                    {"", "pads = [1, 1, 1, 1], strides = [2, 2]"},
                    {},
                    wide});
  rows.push_back({"conv_integer",
                  "",
                  "%x u8[n, 8, h, w], %k i8[6, 3, 2, 4], %z u8[]",
                  "conv_integer(%x, %k, %z) {channels_last = 1, group = 2, A}",
                  {"pads = [1, 1, 1, 1]", "strides = [2, 1], dilations = [1, 2]"},
                  {},
                  wide});
  // One filter a channel, and two.
  for (const char* parameters :
       {"%x u8[n, 3, h, w], %k i8[3, 1, 3, 3], %z u8[]", "%x u8[n, 3, h, w], %k i8[6, 1, 3, 3], %z u8[]"})
    rows.push_back({"conv_integer",
                    "",
                    parameters,
                    "conv_integer(%x, %k, %z) {group = 3, A}",
                    {"pads = [1, 1, 1, 1]", "strides = [2, 1], dilations = [1, 2]"},
                    {},
                    wide});
  rows.push_back({"conv_integer_packed",
                  "",
                  "%x u8[n, h, w, 4], %k i8[6, 36], %z u8[]",
                  "%p = pack_bytes(%k) {transpose = 1} "
                  "%y = conv_integer_packed(%x, %p, %z) {weights = dims(6, 4, 3, 3), A} return %y",
                  {"pads = [1, 1, 1, 1]", "strides = [2, 1], dilations = [2, 1]"},
                  {},
                  wide});
  rows.push_back({"conv_integer_packed",
                  "",
                  "%x i8[n, h, w, 5], %k i8[45], %z i8[]",
                  "%y = conv_integer_packed(%x, %k, %z) {weights = dims(5, 1, 3, 3), group = 5, A} return %y",
                  {"pads = [1, 1, 1, 1]", "strides = [2, 1], dilations = [1, 2]"},
                  {},
                  wide});
  rows.push_back({"pack_conv",
                  "",
                  "%x f32[n, 3, h, w], %k f32[4, 3, 3, 3]",
                  "%p = pack_conv(%k) {A} %y = conv_packed(%x, %p) {weights = dims(4, 3, 3, 3), A} return %y",
                  {"strides = [1, 1]", "strides = [2, 2]"},
                  {},
                  wide,
                  32});
  rows.push_back(
      {"conv_packed",
       "",
       "%x f32[n, 4, h, w], %k f32[4, 1, 3, 3], %b f32[4]",
       "%p = pack_conv(%k) {group = 4} "
       "%y = conv_packed(%x, %p, %b) {weights = dims(4, 1, 3, 3), group = 4, pads = [1, 1, 1, 1]} return %y",
       {""},
       {},
       wide,
       32});
  rows.push_back({"conv_transpose",
                  kNumbers,
                  "%x T[n, 2, h, w], %k T[2, 3, 3, 3]",
                  "conv_transpose(%x, %k) {A}",
                  {"", "strides = [2, 2]", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]",
                   "dilations = [2, 1]", "auto_pad = \"SAME_UPPER\", strides = [2, 2]"},
                  {},
                  wide,
                  32});
  rows.push_back({"conv_transpose",
                  "",
                  "%x f32[n, 4, h], %k f32[4, 3, 2], %b f32[6]",
                  "conv_transpose(%x, %k, %b) {group = 2, strides = [3]}",
                  {""},
                  {},
                  wide,
                  32});
  rows.push_back({"col2im",
                  kNumbers,
                  "%x T[n, 8, 12]",
                  "%i = constant() {value = i64[2] [5, 4]} %k = constant() {value = i64[2] [2, 2]} %y = "
                  "col2im(%x, %i, %k) return %y",
                  {""},
                  {},
                  {},
                  8,
                  "f16 bf16"});
  rows.push_back({"col2im",
                  "",
                  "%x f32[n, m, 10]",
                  "%i = constant() {value = i64[2] [4, 5]} %k = constant() {value = i64[2] [2, 2]} "
                  "%y = col2im(%x, %i, %k) {pads = [1, 0, 0, 1], strides = [2, 1]} return %y",
                  {""},
                  {},
                  {{"m", {0, 4, 8, 12}}},
                  8});
  // Steps along rows.
  const auto image = [&](const char* dtypes, const char* columns, const std::string& size,
                         const std::string& window, const std::string& attributes) {
    rows.push_back({"col2im",
                    dtypes,
                    columns,
                    "%i = constant() {value = i64" + size + "} %k = constant() {value = i64" + window +
                        "} %y = col2im(%x, %i, %k) {" + attributes + "} return %y",
                    {""},
                    {},
                    {},
                    8,
                    "f16 bf16"});
  };
  image(kNumbers, "%x T[n, 8, 9]", "[2] [4, 5]", "[2] [2, 2]", "strides = [1, 2], pads = [0, 0, 0, 1]");
  image(kNumbers, "%x T[n, 6, 2]", "[1] [7]", "[1] [3]", "strides = [3]");
  image("", "%x f32[n, 4, 1]", "[1] [1]", "[1] [2]", "strides = [9], pads = [1, 1]");
  image("", "%x f32[n, 8, 12]", "[3] [3, 3, 6]", "[3] [2, 2, 2]",
        "strides = [2, 1, 2], pads = [1, 0, 0, 0, 0, 1]");
  rows.push_back({"deform_conv",
                  kReals,
                  "%x T[n, 2, h, w], %k T[3, 2, 2, 2], %o T[n, 8, h - 1, w - 1]",
                  "deform_conv(%x, %k, %o)",
                  {""},
                  {},
                  wide,
                  64});
  rows.push_back(
      {"deform_conv",
       "",
       "%x f32[n, 2, h, w], %k f32[2, 1, 3, 3], %o f32[n, 18, h, w], %b f32[2], %m f32[n, 9, h, w]",
       "deform_conv(%x, %k, %o, %b, %m) {group = 2, pads = [1, 1, 1, 1]}",
       {""},
       {},
       wide,
       64});
  rows.push_back({"deform_columns",
                  kReals,
                  "%x T[n, 2, h, w], %o T[n, 16, h - 1, w - 1], %m T[n, 8, h - 1, w - 1]",
                  "deform_columns(%x, %o, %m) {kernel_shape = [2, 2], offset_group = 2}",
                  {""},
                  {},
                  wide,
                  64});
  const std::vector<std::string> windows = {
      "kernel_shape = [2, 2]",
      "kernel_shape = [3, 2], strides = [2, 1]",
      "kernel_shape = [3, 3], pads = [1, 1, 1, 1]",
      "kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1",
      "kernel_shape = [2, 2], dilations = [2, 1]",
      "kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\", strides = [2, 2]",
      "kernel_shape = [2, 3], auto_pad = \"SAME_LOWER\""};
  std::vector<std::string> averages = windows;
  for (const std::string& text : windows) averages.push_back(text + ", count_include_pad = 1");
  rows.push_back(
      {"average_pool", kReals, "%x T[n, c, h, w]", "average_pool(%x) {A}", averages, {}, wide, 16});
  std::vector<std::string> norms = windows;
  norms.push_back("kernel_shape = [2, 2], p = 1");
  norms.push_back("kernel_shape = [2, 2], p = 3");
  rows.push_back({"lp_pool", kReals, "%x T[n, c, h, w]", "lp_pool(%x) {A}", norms, {}, wide, 16});
  rows.push_back({"max_pool", kNumbers, "%x T[n, c, h, w]", "max_pool(%x) {A}", windows, {}, wide});
  rows.push_back({"max_pool",
                  "",
                  "%x f32[n, c, h, w]",
                  "%y, %i = max_pool(%x) {A} return %y, %i",
                  {"kernel_shape = [2, 2]", "kernel_shape = [3, 3], pads = [1, 1, 1, 1], storage_order = 1"},
                  {},
                  wide});
  // Images smaller than the window, rounded up.
  std::map<std::string, std::vector<int64_t>> small = {{"h", {1, 2, 4, 5}}, {"w", {1, 2, 3, 5}}};
  for (const char* op : {"max_pool", "average_pool", "lp_pool"})
    rows.push_back({op,
                    "",
                    "%x f32[n, c, h, w]",
                    std::string(op) + "(%x) {A}",
                    {"kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1",
                     "kernel_shape = [3, 2], strides = [3, 2], ceil_mode = 1, pads = [1, 0, 0, 1]"},
                    {},
                    small});
  rows.push_back({"max_pool", "", "%x f32[n, c, h]", "max_pool(%x) {kernel_shape = [2]}", {""}, {}, wide});
}

}  // namespace

std::vector<SweepRow> foldRows() {
  std::vector<SweepRow> rows;
  addReductions(rows);
  addNorms(rows);
  addProducts(rows);
  addWindows(rows);
  return rows;
}

}  // namespace dyn::test
