# What the lessons with a pretrained model have in common; their run.sh sources it. DYN_BUILD: the build folder (build/release)
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
BUILD="${DYN_BUILD:-$ROOT/build/release}"
MODELS="$ROOT/build/pretrained"

# prepare LESSON MODEL: fetches the model into MODELS when it is not there, compiles it to a package, builds the program LESSON.c of the lesson's folder,
# which needs the runtime only. Sets PLACE, the folder with all of it, PROGRAM and PACKAGE.
prepare() {
  PLACE="$BUILD/samples/$1" PROGRAM="$BUILD/samples/$1/$1" PACKAGE="$BUILD/samples/$1/$2.dynpkg"
  mkdir -p "$PLACE"
  if [[ ! -f "$MODELS/$2.onnx" ]]; then "$("$ROOT/tests/tools/python.sh")" "$ROOT/samples/fetch_model.py" "$2" "$MODELS"; fi
  if [[ ! -f "$PACKAGE" ]]; then "$BUILD/bin/dynrepl" compile "$MODELS/$2.onnx" -o "$PACKAGE" --quiet >&2; fi
  cc -O2 -Wall -Wextra -I "$ROOT/vm/include" "$(dirname "${BASH_SOURCE[1]}")/$1.c" -o "$PROGRAM" -L "$BUILD/lib" -ldynvm -Wl,-rpath,"$BUILD/lib"
}
