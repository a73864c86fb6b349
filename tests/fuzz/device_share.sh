#!/usr/bin/env bash
# device_share.sh DIFFERENTIAL BUILD: of 300 random programs with kernels on the simulated GPU a share of 30, another one every day
# (DYN_TEST_SEED says which); all with DYN_TEST_ALL. Results are those of the reference. Exit 77: this build has no simulated GPU.
set -euo pipefail
DIFFERENTIAL="${1:?usage: device_share.sh DIFFERENTIAL BUILD}" BUILD="${2:?}"
export DYN_CUDA_DRIVER="${DYN_CUDA_DRIVER:-$BUILD/simcuda/libcuda.so.1}"
[[ -e $DYN_CUDA_DRIVER ]] || { echo "unavailable: the simulated driver is not built"; exit 77; }
if [[ -n ${DYN_TEST_ALL:-} && ${DYN_TEST_ALL:-} != 0 ]]; then
  first=1 count=300
else
  first=$((${DYN_TEST_SEED:-$(($(date +%s) / 86400))} % 10 * 30 + 1)) count=30
fi
exec "$DIFFERENTIAL" --passes cuda --count "$count" --seed "$first" --output "$BUILD/differential-failures"
