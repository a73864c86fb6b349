#!/usr/bin/env bash
# check_writes.sh SOURCE: files are opened to be written in these places alone. All others go through
# compiler/support/atomic_write.h, which writes whole files or none, and never over what a command reads.
set -euo pipefail
cd "${1:?usage: check_writes.sh SOURCE}"
allowed=(
  compiler/support/atomic_write.cpp             # the one place
  compiler/codegen/object/cache_folder.cpp      # files of the cache, which no command names
  compiler/codegen/built/write_built_objects.cpp  # a program of the build
  app/session/history_file.cpp                  # lines typed in the shell
  vm/tool/vmrun.cpp                             # has only the runtime; compares the two files itself
  ui/graph/graph_export.cpp ui/views/code/code_view.cpp ui/main.cpp  # Qt's writer
  ui/shell/window_settings.cpp ui/shell/thumbnails.cpp  # kept beside the settings; no command names them
)
pattern='std::(o|)fstream|O_WRONLY|O_RDWR|O_CREAT|fopen\([^)]*"[wa]|QSaveFile|QIODevice::(WriteOnly|ReadWrite|Append)'
found=$(git ls-files -co --exclude-standard vm compiler frontends app ui | grep -E '\.(cpp|h)$' |
  xargs grep -lE "$pattern" || true)
bad=0
for file in $found; do
  [[ " ${allowed[*]} " == *" $file "* ]] && continue
  if grep -nE "$pattern" "$file" | grep -v '"/dev/null"' | sed "s|^|$file:|" | grep .; then bad=1; fi
done
if ((bad)); then echo "check_writes: write by writeFileAtomically (compiler/support/atomic_write.h)"; exit 1; fi
