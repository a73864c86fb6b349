// What the rows of dyn_builtin_calls.def say of their kernels besides the calls: how results come to be, and
// traits. Compiler and runtime read them here.
#ifndef DYN_BUILTIN_TRAITS_H
#define DYN_BUILTIN_TRAITS_H

#include <cstdint>

namespace dyn::calls {

enum class RowForm : uint8_t { makes, into, both };

enum RowTrait : uint16_t {
  PLAIN = 0,
  DRY_RUN = 1,
  HEAP = 2,
  GEMM = 4,
  SETTINGS = 8,
  SIZES = 16,
};
inline constexpr uint16_t ANY = 255;
// Above the first byte.
constexpr uint16_t STRIDED(uint16_t arguments) { return static_cast<uint16_t>(arguments << 8); }

class RowTraits {
 public:
  constexpr RowTraits() = default;
  constexpr RowTraits(RowForm form, int traits) : form_(form), traits_(static_cast<uint16_t>(traits)) {}

  constexpr RowForm form() const { return form_; }
  constexpr bool is(RowTrait trait) const { return (traits_ & trait) != 0; }
  // It can only make its results, as their sizes depend on elements, or as they are no tensors.
  constexpr bool onlyMakes() const { return form_ == RowForm::makes; }
  // Its kernel only writes into tensors, and sees C structures alone (dyn_builtin.h).
  constexpr bool isFlat() const { return form_ == RowForm::into; }
  constexpr bool needsHeap() const { return !isFlat() || is(HEAP); }
  // The first so many arguments, and what lists among them hold, may be strided (vm/core/object/strided.h);
  // the others, and all results, are dense. ANY: all arguments.
  constexpr uint32_t stridedArguments() const { return traits_ >> 8; }

 private:
  RowForm form_ = RowForm::into;
  uint16_t traits_ = PLAIN;
};

}  // namespace dyn::calls

#endif
