// Packs weights before a program is loaded, with the runtime's own packing functions: into a package, or into
// the object cache, from where they are mapped.
#pragma once

#include "compiler/driver/compile.h"
#include "compiler/lower/packed_program.h"

namespace dyn {

// For a package: everything is packed as the target reads it. For levels, which many machines have, and for
// what libraries pack, the package packs when it is loaded.
Result<LoadableProgram> packedForPackage(const CompiledModel& compiled);

// For this process: large weights that are packed, or copied to an aligned place, are those of the object
// cache; they are put there first where they are not. Without a cache: the program as it was lowered.
Result<LoadableProgram> packedFromCache(const CompiledModel& compiled);
// Waits until what instances of the model read from the cache is compared with the sums kept of it; asked
// when the first run is done. Error fileFormat: weights were damaged.
Status checkCachedWeights(const CompiledModel& compiled);

}  // namespace dyn
