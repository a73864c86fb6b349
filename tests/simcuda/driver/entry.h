// entry.h — types of the driver's C interface as far as they are used here.
#pragma once
#include <cstddef>

#include "tests/simcuda/driver/driver.h"

#define SIMCUDA_ENTRY extern "C" __attribute__((visibility("default"))) int

using CUdeviceptr = unsigned long long;
