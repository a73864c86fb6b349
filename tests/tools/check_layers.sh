#!/usr/bin/env bash
# check_layers.sh ROOT: who may include whom, which folder may see which outside library, file names and sizes.
#
# The tables below are the rule. Each violation is printed as "file:line: why"; exit 1 if there is any. It reads text
# only (#include lines), so it also sees what a build with parts switched off doesn't compile.
#
# Folders inside of one of the table's (compiler/ops/shape, vm/kernels/conv) need no row. No folders include each other in a circle, also
# not a folder and one inside of it: what lies directly in a folder is either what those inside share, or what shows them outside.
# A folder holds at most 40 sources.
# vm/include is what a C program includes: it holds nothing of C++. app/library/include likewise, with its C++ form in dyn.hpp.
# What people include lies there directly and needs nothing of vm/include/abi, which is for code that is generated, kernels and devices.
set -euo pipefail
cd "${1:?usage: check_layers.sh ROOT}"

# folder : what it may include besides itself. "compiler..ops" means all compiler levels up to ops.
folders() {
  cat <<'TABLE'
vm/include         :
vm/shared          : vm/include
vm/base            : vm/include vm/shared
vm/isa             : vm/include vm/shared vm/base
vm/device          : vm/include vm/shared vm/base vm/isa
vm/certificate     : vm/include vm/isa
vm/core            : vm/include vm/shared vm/base vm/isa vm/device
vm/kernels         : vm/include vm/shared vm/base vm/isa vm/core
vm/onednn          : vm/include vm/shared vm/base vm/isa vm/core vm/kernels
vm/tool            : vm/include vm/base vm/isa vm/device vm/core vm/kernels
vm/embedded        : vm/include vm/isa vm/core
vm/freestanding    : vm/include
compiler/support   :
compiler/target    : compiler..support vm/shared
compiler/dims      : compiler..support
compiler/ir        : compiler..dims      vm/include vm/shared vm/isa
compiler/loop      : compiler..ir        vm/include vm/shared vm/isa
compiler/ops       : compiler..loop      vm/include vm/shared vm/isa
compiler/reference : compiler..ops       vm/include vm/shared vm/isa
compiler/infer     : compiler..reference vm/include vm/shared vm/isa
compiler/pass      : compiler..infer     vm/include vm/shared vm/isa
compiler/passes    : compiler..pass      vm/include vm/shared vm/isa
compiler/kernel    : compiler..passes    vm/include vm/shared vm/isa
compiler/lower     : compiler..kernel    vm/include vm/shared vm/isa
compiler/codegen   : compiler..loop      vm/include vm/shared vm/isa
compiler/driver    : compiler..codegen   vm/include vm/shared vm/isa
compiler/export    : compiler..driver    vm/include vm/shared vm/isa vm/certificate
compiler/tune      : compiler..export    vm/include vm/shared vm/isa
frontends/text     : compiler..infer     vm/include
frontends/onnx     : compiler..infer     frontends/text vm/include
app/pictures       : compiler/support vm/include
app/tokenizer      : compiler/support
app/engine         : app/pictures compiler..tune      frontends/text frontends/onnx vm/include vm/shared vm/certificate
app/session        : app/engine app/tokenizer compiler..tune frontends/text frontends/onnx vm/include vm/shared vm/certificate
app/repl           : app/engine app/session compiler/support
app/batch          : app/engine app/session compiler/support vm/include
app/library        : app/engine app/session app/tokenizer compiler..export vm/include
app/runner         : app/engine app/session compiler/support vm/include
app                : app/pictures app/engine app/session app/repl app/batch compiler/support
ui/support         : app/session
ui/graph           : app/session ui/support
ui/views           : app/engine app/session ui/support ui/graph
ui/shell           : app/engine app/session ui/support ui/graph ui/views
ui                 : app/session ui/support ui/graph ui/views ui/shell
python/src         : app/library vm/include
samples            : app/library app/session vm/include
tests              : *
TABLE
}

# Compiler levels, lowest first.
levels="support target dims ir loop ops reference infer pass passes kernel lower codegen driver export tune"

# What breaks two of the rules today. A row that is not needed any more is refused: the list only gets shorter.
# arrow A B: A includes B and closes a circle. large A: holds more than 40 sources.
known() {
  cat <<'KNOWN'
KNOWN
}

# first part of <...> as a pattern : folders that may include it (tests may include anything) : what it is
libraries() {
  cat <<'TABLE'
^(llvm|llvm-c|lld|clang)/                             : compiler/codegen : LLVM
^Q([A-Z]|t[A-Z])                                      : ui ui/support ui/graph ui/views ui/shell : Qt
^(cuda|cuda[A-Z_][A-Za-z_]*|cublas[A-Za-z_0-9]*|nvrtc|nvJitLink|cupti[a-z_]*)[.]h : vm/device : CUDA
^(oneapi/|dnnl)                                       : vm/onednn        : oneDNN
^(graphviz/|gvc[.]h|cgraph[.]h)                       : ui/graph         : Graphviz
^(png|jpeglib)[.]h$                                    : app/pictures       : a library of pictures
^google/protobuf/                                     : frontends/onnx   : protobuf
^(oniguruma|utf8proc)[.]h$                             : app/tokenizer    : a library of tokenizers
^(histedit[.]h|editline/)                             : app/repl         : libedit
^CLI/                                                 : app app/batch app/repl app/runner : CLI11
^(fmt|nlohmann)/                                      : app app/tokenizer app/engine app/session app/library app/batch app/repl app/runner ui ui/graph ui/views ui/shell : an application library
^(gtest|gmock|benchmark)/                             :                  : a test library
TABLE
}

tops=()
for top in vm compiler frontends app ui python samples tests; do
  if [[ -d $top ]]; then tops+=("$top"); fi
done
if [[ ${#tops[@]} -eq 0 ]]; then
  echo "check_layers: no source folders below $PWD" >&2
  exit 1
fi

files() {
  find "${tops[@]}" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.c' -o -name '*.def' -o -name '*.inc' \) | LC_ALL=C sort
}

# tests/unit mirrors the tree: the tests of compiler/dims stand in tests/unit/compiler/dims.
if [[ -d tests/unit ]]; then
  strangers="$(find tests/unit -mindepth 1 -type d | LC_ALL=C sort | while IFS= read -r folder; do
    if [[ ! -d ${folder#tests/unit/} ]]; then echo "$folder:1: there is no folder ${folder#tests/unit/} whose tests it could hold"; fi
  done)"
  if [[ -n $strangers ]]; then
    echo "$strangers"
    exit 1
  fi
fi

# Sources are code and tables. Other files are data (golden texts and pictures, models, corpora) and not counted.
sizes="$(find "${tops[@]}" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.c' -o -name '*.def' -o -name '*.inc' -o -name '*.py' -o -name '*.sh' \) |
  sed 's#/[^/]*$##' | LC_ALL=C sort | uniq -c | awk -v known="$(known)" '
    BEGIN {
      n = split(known, row, "\n")
      for (i = 1; i <= n; i++) if (split(row[i], word, " ") == 2 && word[1] == "large") large[word[2]] = 1
    }
    $1 > 40 && !($2 in large) { printf "%s:1: %d sources: at most 40 stand in one folder; divide it by subject\n", $2, $1 }
    $1 > 40 { delete large[$2] }
    END { for (folder in large) printf "%s:1: holds at most 40 sources: strike it from known() in check_layers.sh\n", folder }
  ' | LC_ALL=C sort)"
if [[ -n $sizes ]]; then
  echo "$sizes"
  exit 1
fi

# A row of passes.def names the folder of its pass.
passes=compiler/passes
if [[ -f $passes/passes.def ]]; then
  lost="$(sed -n -E 's/^DYN_PASS\(([a-z0-9_]+), ([a-z]+)\)$/\1 \2/p' $passes/passes.def | while read -r pass folder; do
    if [[ ! -f $passes/$folder/$pass.cpp ]]; then echo "$passes/passes.def:1: there is no $passes/$folder/$pass.cpp"; fi
  done)"
  if [[ -n $lost ]]; then
    echo "$lost"
    exit 1
  fi
fi

list="$(files)"
awk -v levels="$levels" -v known="$(known)" -v folder_table="$(folders)" -v library_table="$(libraries)" '
  function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
  function complain(line, why) { printf "%s:%d: %s\n", FILENAME, line, why; violations++ }

  # The folder a file belongs to in the table: vm/device/cuda/x.cpp -> vm/device, ui/main.cpp -> ui.
  function folderOf(path,    part, n) {
    n = split(path, part, "/")
    if (part[1] == "tests" || part[1] == "samples") return part[1]
    return n > 2 ? part[1] "/" part[2] : part[1]
  }
  function directoryOf(path) { sub(/\/[^\/]*$/, "", path); return path }
  function expand(text,    word, n, i, j, last, out) {  # "compiler..ops" -> all levels up to ops
    n = split(text, word, " ")
    out = " "
    for (i = 1; i <= n; i++) {
      if (word[i] !~ /^compiler\.\./) { out = out word[i] " "; continue }
      last = substr(word[i], 11)
      for (j = 1; j <= levelCount; j++) { out = out "compiler/" level[j] " "; if (level[j] == last) break }
    }
    return out
  }
  function checkName(path,    part, n, i, word) {
    n = split(path, part, "/")
    for (i = 1; i <= n; i++) {
      word = tolower(part[i])
      sub(/\..*/, "", word)
      if (word ~ /(^|_)(util|utils|helper|helpers|misc|manager|managers)$/ || word == "common")
        complain(1, "the name \"" part[i] "\" says nothing: name it after its one concept")
    }
  }
  function checkLibrary(name,    i) {
    if (folder == "tests") return
    for (i = 1; i <= libraryCount; i++)
      if (name ~ pattern[i] && index(users[i], " " folder " ") == 0)
        complain(FNR, folder " must not include <" name ">: " library[i] " belongs to" (users[i] ~ /[a-z]/ ? users[i] : " tests ") "only")
  }
  function checkInclude(name,    target) {
    if (name ~ /(^|\/)moc_|\.moc$/) return  # made by Qt
    if (directory == "vm/include" && name ~ /(^|\/)abi\//) {
      complain(FNR, "a public header needs nothing of vm/include/abi")
      return
    }
    if ((folder == "vm/include" || folder == "samples" || folder == "python/src" || directory ~ /\/include$/) && name !~ /\//) return  # public headers are installed side by side, without the root; the Python package is built alone
    if (name ~ /\// && name !~ /^(vm|compiler|frontends|app|ui|samples|tests)\//) { checkLibrary(name); return }
    if (name ~ /\.inc$/ && folder == "app/session") return  # made by the build
    if (name !~ /\//) { complain(FNR, "include from the root of the repository: \"" name "\""); return }
    target = directoryOf(name)
    if ((directory, target) in knownArrow) usedArrow[directory, target] = 1
    else if (target != directory && !((directory, target) in edge)) edge[directory, target] = FILENAME ":" FNR
    target = folderOf(name)
    if (target == folder) return
    if (target == "tests") { complain(FNR, "nobody includes tests"); return }
    if (!(target in allowed)) { complain(FNR, "\"" name "\" is in no folder of the table in check_layers.sh"); return }
    if (allowed[folder] != " * " && index(allowed[folder], " " target " ") == 0) {
      complain(FNR, folder " must not include " target)
      return
    }
  }

  BEGIN {
    levelCount = split(levels, level, " ")
    n = split(folder_table, row, "\n")
    for (i = 1; i <= n; i++) {
      split(row[i], column, ":")
      allowed[trim(column[1])] = expand(trim(column[2]))
    }
    for (upper in allowed)
      for (lower in allowed)
        if (upper < lower && index(allowed[upper], " " lower " ") && index(allowed[lower], " " upper " ")) {
          printf "check_layers.sh: by its table %s and %s may include each other\n", upper, lower
          violations++
        }
    n = split(known, row, "\n")
    for (i = 1; i <= n; i++)
      if (split(row[i], word, " ") == 3 && word[1] == "arrow") knownArrow[word[2], word[3]] = 1
    n = split(library_table, row, "\n")
    for (i = 1; i <= n; i++) {
      split(row[i], column, " : ")
      pattern[++libraryCount] = trim(column[1])
      users[libraryCount] = " " trim(column[2]) " "
      library[libraryCount] = trim(column[3])
    }
  }
  function endFile() {
    if (lines > 1000 && firstLine !~ /^\/\/.*1,?000 lines/) {
      printf "%s:1: %d lines: above 1,000 the first line says why (\"// Above 1,000 lines: ...\")\n", previous, lines
      violations++
    }
  }
  FNR == 1 {
    if (NR > 1) endFile()
    previous = FILENAME
    firstLine = $0
    folder = folderOf(FILENAME)
    directory = directoryOf(FILENAME)
    checkName(FILENAME)
    if (!(folder in allowed)) complain(1, "folder " folder " has no row in the table in check_layers.sh")
  }
  { lines = FNR }
  folder == "vm/include" && /^[ \t]*(namespace|template|using|class|constexpr|inline constexpr)[ \t]/ {
    complain(FNR, "vm/include is what C programs include: C++ belongs to vm/shared")
  }
  /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    name = $0
    quoted = name ~ /include[ \t]*"/
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*$/, "", name)
    if (quoted) checkInclude(name); else checkLibrary(name)
  }
  END {
    if (NR > 0) endFile()
    # Folders that no other includes or that include no other are taken away, with their arrows; what stays is part of a circle, or between two.
    do {
      taken = 0
      split("", from); split("", to)
      for (pair in edge) { split(pair, end, SUBSEP); from[end[1]] = 1; to[end[2]] = 1 }
      for (pair in edge) {
        split(pair, end, SUBSEP)
        if (!(end[1] in to) || !(end[2] in from)) { delete edge[pair]; taken = 1 }
      }
    } while (taken)
    for (pair in edge) {
      split(pair, end, SUBSEP)
      printf "%s: %s includes %s in a circle of folders\n", edge[pair], end[1], end[2]
      violations++
    }
    for (pair in knownArrow)
      if (!(pair in usedArrow)) {
        split(pair, end, SUBSEP)
        printf "%s:1: does not include %s any more: strike the arrow from known() in check_layers.sh\n", end[1], end[2]
        violations++
      }
    if (violations > 0) {
      printf "%d violations of the layering (tests/tools/check_layers.sh holds the rules)\n", violations > "/dev/stderr"
      exit 1
    }
  }
' $(printf '%s\n' "$list") | LC_ALL=C sort -t: -k1,1 -k2,2n
