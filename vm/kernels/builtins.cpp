// The table of builtins, from builtins.def.
#include "vm/kernels/builtins.h"

namespace dyn::vm {
namespace {

constexpr uint8_t ANY = 255;
constexpr BuiltinRow kBuiltins[] = {
#define RANGE(least, most) least, most
#define DYN_BUILTIN(name, form, results, arguments, scalars, numbers, meaning, function) \
  {name, BuiltinForm::form, results, arguments, scalars, numbers, meaning, kernels::function},
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef RANGE
};
[[maybe_unused]] constexpr uint8_t kAny = ANY;

}  // namespace

std::span<const BuiltinRow> builtinTable() { return kBuiltins; }

}  // namespace dyn::vm
