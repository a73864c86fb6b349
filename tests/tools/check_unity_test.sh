#!/usr/bin/env bash
# Plants files that cannot be compiled as one and sees that check_unity.py names what clashes, and only that.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
PYTHON="$("$here/python.sh")"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/lists"
cat >"$tree/a.cpp" <<'CPP'
#define STEP 1
#define GONE 1
#undef GONE
namespace dyn {
namespace {

constexpr int kMost = 4, kSteps[] = {3, 4}, kLeast = (1, 2);
enum Column { kFirst, kSecond = 4 };
struct Seen {
  int kInner = 0;
};
struct Later;
std::vector<int> sizesOf(int seen) { return {seen}; }

}  // namespace

static int counted = 0;
int Machine::sizesOf() { return kMost; }
int shared() { return 0; }

}  // namespace dyn
CPP
cat >"$tree/b.cpp" <<'CPP'
#define STEP 2
#define GONE 2
#undef GONE
namespace dyn {
namespace {

const int kMost[] = {1, 2};
const int kOther = kMost[0], kLeast = 1;
enum class Scoped { kSteps };
constexpr int kSecond = 1;
class Seen final {};
struct Later;
constexpr int kInner = 1;
[[maybe_unused]] const char* sizesOf(const std::string& seen,
                                     int more) {
  return nullptr;
}

}  // namespace

static double counted(int x) { return x; }
int shared(int) { return 0; }

}  // namespace dyn
CPP
printf '%s\n' "$tree/a.cpp" "$tree/b.cpp" >"$tree/lists/dyn_both.txt"
out="$("$PYTHON" "$here/check_unity.py" "$tree/lists" "$tree")" && { echo "clashes were not refused"; exit 1; }
names="$(sed -n 's/^dyn_both: \([^ ]*\) is declared in .*/\1/p' <<<"$out" | tr '\n' ' ')"
if [[ $names != "STEP Seen counted kLeast kMost kSecond sizesOf " ]]; then
  echo "check_unity.py named '$names': $out"
  exit 1
fi
# A header's function, called in one file, and a local one of that name in another.
mkdir "$tree/vm"
echo 'int widthOf(long x);' >"$tree/vm/width.h"
printf '%s\n' '#include "vm/width.h"' 'int use() { return widthOf(1); }' >"$tree/c.cpp"
printf '%s\n' 'namespace {' 'int widthOf(int x) { return x; }' '}' 'int other() { return widthOf(2); }' >"$tree/d.cpp"
printf '%s\n' "$tree/c.cpp" "$tree/d.cpp" >"$tree/lists/dyn_both.txt"
out="$("$PYTHON" "$here/check_unity.py" "$tree/lists" "$tree")" && { echo "a hidden function was not refused"; exit 1; }
grep -q "widthOf of $tree/d.cpp:2 .* declares for $tree/c.cpp" <<<"$out" || { echo "check_unity.py said: $out"; exit 1; }
printf '%s\n' "$tree/a.cpp" >"$tree/lists/dyn_both.txt"
printf '%s\n' "$tree/b.cpp" >"$tree/lists/dyn_other.txt"
"$PYTHON" "$here/check_unity.py" "$tree/lists" "$tree" || { echo "two libraries may use one name"; exit 1; }
rm "$tree"/lists/*
if "$PYTHON" "$here/check_unity.py" "$tree/lists" "$tree" >/dev/null; then echo "no lists at all were taken for good ones"; exit 1; fi
