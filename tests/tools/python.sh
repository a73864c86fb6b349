#!/usr/bin/env bash
# Prints the Python of what compares with others: DYN_PYTHON, else the one that ./dev setup test made (python_setup.sh), else python3.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if [[ -n "${DYN_PYTHON:-}" ]]; then
  echo "$DYN_PYTHON"
elif [[ -f "$ROOT/build/python/ready" ]]; then
  echo "$ROOT/build/python/bin/python"
else
  echo python3
fi
