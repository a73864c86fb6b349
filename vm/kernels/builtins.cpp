// The table of builtins, from builtins.def.
#include "vm/kernels/builtins.h"

namespace dyn::vm {
namespace {

constexpr uint8_t ANY = 255;
constexpr uint8_t PLAIN = 0, REHEARSED = BuiltinRow::kRehearsed, GROWING = BuiltinRow::kReadsGrowing,
                  GEMM = BuiltinRow::kGemmFamily;
constexpr BuiltinRow kBuiltins[] = {
#define RANGE(least, most) least, most
#define DYN_BUILTIN(name, form, traits, results, arguments, scalars, numbers, meaning, function) \
  {name, BuiltinForm::form, traits, results, arguments, scalars, numbers, meaning, kernels::function},
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef RANGE
};

}  // namespace

std::span<const BuiltinRow> builtinTable() { return kBuiltins; }

}  // namespace dyn::vm
