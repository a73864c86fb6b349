// define.h — one line an operation: a function of a lane's values becomes a body for a whole warp and a row
// of the table.
//
//   define<[](float x, float y) { return x + y; }, float, float, float>(table, "add.rn.f32");
#pragma once
#include <string>
#include <tuple>
#include <utility>

#include "tests/simcuda/ptx/op.h"

namespace simcuda {

// rows[0] = F(rows[1], ...) for the lanes of the mask: result of type D, operands of types S.
template <auto F, class D, class... S>
void applyToLanes(Warp& w, const Op& op) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    std::tuple<Values<S>...> in{rowOf<S>(w, op.rows[I + 1])...};
    put<D>(w, op.rows[0], [&](int l) -> D { return F(std::get<I>(in)[l]...); });
  }
  (std::index_sequence_for<S...>{});
}

template <auto F, class D, class... S>
void define(OpTable& table, const std::string& spelling) {
  table.add(spelling, widthLetters<D, S...>(), applyToLanes<F, D, S...>);
}

// f.operator()<T>() for each type.
template <class... T, class F>
void eachType(F f) {
  (f.template operator()<T>(), ...);
}

}  // namespace simcuda
