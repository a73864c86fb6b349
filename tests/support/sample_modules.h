// Text modules that several tests run.
#pragma once

namespace dyn::test {

// Runs for as many turns as `n` says.
inline constexpr const char* kSineLoop =
    R"(fn @main(%n: Tensor[(), i64], %x: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
  %t = constant() {value = bool[] true}
  %y = loop(%n, %t, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(k), f32]) -> (Tensor[(), bool], Tensor[(k), f32]) {
    %c = constant() {value = bool[] true}
    %b = sin(%a)
    return %c, %b
  }
  return %y
}
)";

}  // namespace dyn::test
