// The table of builtins, from builtins.def.
#include "vm/kernels/builtins.h"

namespace dyn::vm {
namespace {

constexpr uint8_t ANY = 255;
constexpr uint16_t PLAIN = 0, REHEARSED = BuiltinRow::kRehearsed, GEMM = BuiltinRow::kGemmFamily,
                   HEAP = BuiltinRow::kHeap, SETTINGS = BuiltinRow::kSettings;
constexpr uint16_t STRIDED(uint16_t arguments) { return static_cast<uint16_t>(arguments << 8); }
constexpr BuiltinRow kBuiltins[] = {
#define RANGE(least, most) least, most
#define HOSTED(function) \
  kernels::function, {}
#define FLAT_ONLY(function) \
  nullptr, { nullptr, flatRun<kernels::function> }
#define FLAT(function, scratch) \
  nullptr, { flatScratchBytes<kernels::scratch>, flatRun<kernels::function> }
#define DYN_BUILTIN(Call, form, traits, results, meaning, function) \
  {calls::Call::kRow,                                               \
   BuiltinForm::form,                                               \
   traits,                                                          \
   results,                                                         \
   calls::countsOf<calls::Call>(),                                  \
   calls::describeCall<calls::Call>,                                \
   meaning,                                                         \
   function},
#include "vm/kernels/builtins.def"
#undef DYN_BUILTIN
#undef FLAT
#undef FLAT_ONLY
#undef HOSTED
#undef RANGE
};

}  // namespace

std::span<const BuiltinRow> builtinTable() { return kBuiltins; }

}  // namespace dyn::vm
