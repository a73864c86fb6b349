#!/usr/bin/env bash
# Plants one violation of each rule of check_layers.sh in a tree of its own and sees that it, and only it, is found.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
tree="$work/tree"
mkdir "$tree"
# Without what is known of the real tree: it would be missed in this one.
checker="$work/check_layers.sh"
sed -E '/^(arrow|large) [a-z]/d' "$(cd "$(dirname "$0")" && pwd)/check_layers.sh" >"$checker"
chmod +x "$checker"

# plant FILE LINE...: a file of these lines in the tree.
plant() {
  local file="$tree/$1"
  shift
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$@" >"$file"
}

clean_tree() {
  rm -rf "${tree:?}"/*
  plant compiler/ir/op.h '#include "compiler/dims/dim.h"' '#include <vector>'
  plant compiler/dims/dim.h '// A dim.'
  plant compiler/codegen/emit.cpp '#include <llvm/IR/Module.h>' '#include "llvm/IR/Type.h"' '#include "vm/include/abi/dyn_kernel.h"'
  plant compiler/passes/common_subexpressions.cpp '#include "compiler/ops/op.h"'
  plant vm/include/abi/dyn_kernel.h '#include <stddef.h>' '#include "dyn_dtype.def"'
  plant ui/views/dock.cpp '#include <QDockWidget>' '#include "app/session/session.h"'
  plant tests/unit/compiler/ir/op_test.cpp '#include <gtest/gtest.h>' '#include "compiler/ir/op.h"'
}

failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# finds EXPECTED FILE LINE...: with FILE planted, exactly one complaint, and it contains EXPECTED.
finds() {
  local expected="$1" out
  shift
  clean_tree
  plant "$@"
  if out="$("$checker" "$tree" 2>/dev/null)"; then fail "accepted: $1, which should give: $expected"; fi
  [[ "$out" == *"$expected"* && "$(wc -l <<<"$out")" -eq 1 ]] || fail "$1 gave '$out' and not the one line '$expected'"
}

clean_tree
out="$("$checker" "$tree" 2>&1)" || fail "a clean tree was refused: $out"

finds 'compiler/ir/up.cpp:2: compiler/ir must not include compiler/ops' \
  compiler/ir/up.cpp '// line 1' '#include "compiler/ops/op.h"'
finds 'vm/core must not include compiler/support' vm/core/x.cpp '#include "compiler/support/result.h"'
finds 'compiler/lower must not include vm/core' compiler/lower/x.cpp '#include "vm/core/machine.h"'
finds 'frontends/onnx must not include compiler/passes' frontends/onnx/x.cpp '#include "compiler/passes/fold.h"'
finds 'app/repl must not include compiler/ir' app/repl/x.cpp '#include "compiler/ir/op.h"'
finds 'ui/views must not include compiler/support' ui/views/x.cpp '#include "compiler/support/result.h"'
finds 'nobody includes tests' app/session/x.cpp '#include "tests/tools/x.h"'
finds 'include from the root' compiler/ir/x.cpp '  #  include "op.h"'
finds 'is in no folder of the table' compiler/ir/x.cpp '#include "compiler/nowhere/op.h"'
finds 'has no row in the table' compiler/nowhere/x.cpp '// nothing'
finds 'there is no folder compiler/gone' tests/unit/compiler/gone/x_test.cpp '// nothing'
finds 'must not include <llvm/IR/Module.h>: LLVM' compiler/driver/x.cpp '#include <llvm/IR/Module.h>'
finds 'must not include <llvm/IR/Type.h>: LLVM' compiler/loop/x.cpp '#include "llvm/IR/Type.h"'
finds 'must not include <QString>: Qt' app/session/x.cpp '#include <QString>'
finds 'must not include <cuda.h>: CUDA' compiler/codegen/x.cpp '#include <cuda.h>'
finds 'must not include <fmt/format.h>' compiler/ir/x.cpp '#include <fmt/format.h>'
finds 'must not include <gtest/gtest.h>' compiler/ir/x.cpp '#include <gtest/gtest.h>'
finds 'ui/graph must not include ui/views' ui/graph/x.cpp '#include "ui/views/dock.h"'
finds 'vm/device must not include vm/kernels' vm/device/x.cpp '#include "vm/kernels/work.h"'
finds 'C++ belongs to vm/shared' vm/include/x.h 'namespace dyn {'
finds 'a public header needs nothing of vm/include/abi' vm/include/x.h '#include "abi/dyn_kernel.h"'
finds 'the name "utils.h" says nothing' compiler/ir/utils.h '// nothing'
finds 'the name "memory_manager.cpp" says nothing' compiler/lower/memory_manager.cpp '// nothing'
finds '1001 lines' compiler/ir/long.cpp "$(yes '// line' | head -1001)"
# The name rule sees folders too, whose missing row is a second complaint.
clean_tree
plant compiler/common/x.h '// nothing'
out="$("$checker" "$tree" 2>/dev/null || true)"
[[ $out == *'the name "common"'* ]] || fail 'a folder called common was accepted'
# Inner folders: one way with what they share, then in a circle of three.
clean_tree
plant vm/kernels/conv/a.h '#include "vm/kernels/gemm/b.h"'
plant vm/kernels/gemm/b.h '#include "vm/kernels/work.h"'
plant vm/kernels/work.h '// shared'
"$checker" "$tree" >/dev/null 2>&1 || fail 'inner folders that lean on each other one way were refused'
plant vm/kernels/gemm/b.h '#include "vm/kernels/byte/c.h"'
plant vm/kernels/byte/c.h '#include "vm/kernels/conv/a.h"'
out="$("$checker" "$tree" 2>/dev/null || true)"
[[ $out == *'vm/kernels/byte includes vm/kernels/conv in a circle of folders'* && "$(wc -l <<<"$out")" -eq 3 ]] ||
  fail "a circle of three inner folders gave '$out'"
# A folder and one inside of it; the same where one of the two arrows is known; and known where it is gone.
clean_tree
plant vm/kernels/conv/a.h '#include "vm/kernels/work.h"'
plant vm/kernels/work.h '#include "vm/kernels/conv/b.h"'
out="$("$checker" "$tree" 2>/dev/null || true)"
[[ $out == *'vm/kernels includes vm/kernels/conv in a circle of folders'* && "$(wc -l <<<"$out")" -eq 2 ]] ||
  fail "a folder and one inside of it in a circle gave '$out'"
sed "s#^  cat <<'KNOWN'#&\\narrow vm/kernels vm/kernels/conv#" "$checker" >"$work/knows.sh"
bash "$work/knows.sh" "$tree" >/dev/null 2>&1 || fail 'a known arrow was refused'
plant vm/kernels/work.h '// shared'
out="$(bash "$work/knows.sh" "$tree" 2>/dev/null || true)"
[[ $out == *'vm/kernels:1: does not include vm/kernels/conv any more'* ]] || fail "an arrow that is gone stays known: '$out'"
# 40 sources in a folder, data beside them; one more; known; and known where it is not needed.
clean_tree
for ((i = 1; i <= 40; i++)); do plant "tests/bench/b$i.py" '# a benchmark'; done
plant tests/bench/result.txt 'data'
"$checker" "$tree" >/dev/null 2>&1 || fail '40 sources in one folder were refused'
sed "s#^  cat <<'KNOWN'#&\\nlarge tests/bench#" "$checker" >"$work/knows.sh"
out="$(bash "$work/knows.sh" "$tree" 2>/dev/null || true)"
[[ $out == *'tests/bench:1: holds at most 40 sources'* ]] || fail "a folder of 40 stays known as a large one: '$out'"
plant tests/bench/one.sh '# one more'
bash "$work/knows.sh" "$tree" >/dev/null 2>&1 || fail 'a known large folder was refused'
out="$("$checker" "$tree" 2>/dev/null || true)"
[[ $out == *'tests/bench:1: 41 sources'* && "$(wc -l <<<"$out")" -eq 1 ]] || fail "41 sources in one folder gave '$out'"
# A pass stands in the folder that its row names.
clean_tree
plant compiler/passes/fusion/fuse.cpp '// a pass'
plant compiler/passes/passes.def 'DYN_PASS(fuse, fusion)'
"$checker" "$tree" >/dev/null 2>&1 || fail 'a pass in the folder of its row was refused'
plant compiler/passes/passes.def 'DYN_PASS(fuse, simplify)'
out="$("$checker" "$tree" 2>/dev/null || true)"
[[ $out == *'there is no compiler/passes/simplify/fuse.cpp'* ]] || fail "a pass in another folder than its row names gave '$out'"
# A table by which two folders may include each other is itself refused.
clean_tree
sed 's#^ui/graph           : app/session ui/support$#& ui/views#' "$checker" >"$work/circle.sh"
out="$(bash "$work/circle.sh" "$tree" 2>/dev/null || true)"
[[ $out == *'ui/graph and ui/views may include each other'* ]] || fail 'a table with a circle was accepted'
# A long file that says why.
clean_tree
plant compiler/ir/long.cpp '// Above 1,000 lines: a table.' "$(yes '// line' | head -1001)"
"$checker" "$tree" >/dev/null 2>&1 || fail 'a long file that says why was refused'

if [[ $failures -gt 0 ]]; then
  echo "$failures expectations of check_layers.sh failed"
  exit 1
fi
