#!/usr/bin/env bash
# hostile_names_test.sh BUILD: hostile_names.py in the Python of the tests.
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
exec "$("$HERE/../tools/python.sh")" "$HERE/hostile_names.py" "${1:?usage: hostile_names_test.sh BUILD}"
