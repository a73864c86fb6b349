#!/usr/bin/env bash
# check_devices.sh ROOT: above vm/, devices are named in compiler/target/devices.def and in their code generators. Everything else asks the
# table (device_kind.h), so that a device more is two files. Names are those of the table, so a new row is guarded from its first day.
# Each violation is printed as "file:line: why"; exit 1 if there is any. Comments may name devices as examples.
set -euo pipefail
cd "${1:?usage: check_devices.sh ROOT}"
table=compiler/target/devices.def

# file : why it may name one
allowed() {
  cat <<'ROWS'
compiler/target/devices.def                  : the table
compiler/codegen/device/*                    : code generators
compiler/codegen/llvm/device_primitives.*    : instructions of the targets of LLVM
compiler/codegen/math/device_math.cpp        : likewise
compiler/ops/control/memory_ops.cpp          : the example of device_copy, in the text language
app/engine/device/simulated_gpu.*            : loads the simulator
app/session/handlers/handlers_warp.cpp       : commands of the simulator alone
app/session/commands.def                     : their help
ui/support/icons.cpp                         : the name of a picture
ROWS
}

[[ -f $table ]] || { echo "check_devices: there is no $table" >&2; exit 1; }
# Names of rows, levels, languages and libraries; not the host's, which is a word of many other things.
names="$(sed -nE '/^DYN_(DEVICE|SIMULATOR)\(/p' $table | sed -E 's/, "[^"]*"\)$//' | grep -oE '"[A-Za-z0-9]+"' | tr -d '"' | tr '[:upper:]' '[:lower:]' | LC_ALL=C sort -u)"
[[ -n $names ]] || { echo "check_devices: $table has no row" >&2; exit 1; }
patterns=()
for name in $names; do patterns+=("(^|[^a-z])$name" "${name^}" "${name^^}"); done
named="$(IFS='|'; echo "${patterns[*]}")"

tops=()
for top in compiler app frontends ui; do
  if [[ -d $top ]]; then tops+=("$top"); fi
done
find "${tops[@]}" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.def' -o -name '*.inc' \) | LC_ALL=C sort | while IFS= read -r file; do
  while IFS=: read -r pattern _; do
    # shellcheck disable=SC2053
    if [[ $file == ${pattern%% *} ]]; then continue 2; fi
  done < <(allowed)
  echo "$file"
done | xargs -r -d '\n' awk -v named="$named" '
  {
    line = $0
    sub(/(^|[ \t])\/\/.*$/, "", line)
    if (line ~ /^[ \t]*(\/\*|\*)/) next                       # of a C header
    gsub(/SimulatedGpu|simulatedGpu|simulated_gpu|dyn_gpu\.h/, "", line)  # one class, one header of the runtime
    why = ""
    if (match(line, named)) why = "names a device (" substr(line, RSTART, RLENGTH) "): ask its row, compiler/target/device_kind.h"
    else if (line ~ /Gpu|(^|[^A-Za-z_\/])gpu/) why = "asks for a GPU: ask whether it is the host, compiler/target/device_kind.h"
    else if (line ~ /[!=]= *"cpu"|"cpu" *[!=]=/) why = "compares with the name of the host: isHost(), isOnHost()"
    if (why != "") { printf "%s:%d: %s\n", FILENAME, FNR, why; violations++ }
  }
  END { if (violations > 0) exit 1 }
'
