/* The cells of recurrences, for compiler and runtime alike (C++20, header only). */
#ifndef DYN_RECURRENCE_H
#define DYN_RECURRENCE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dyn::recurrence {

// Gates are parts of a row in this order. x: what the inputs make, with their bias; u: what the state makes.
//   lstm   i o f g:  c = s(f) c + s(i) tanh(g), h = s(o) tanh(c)           of x + u
//   gru    z r n:    n = tanh(x + s(r) (u + bias)), h = (1 - s(z)) n + s(z) h
//   tanh   h = tanh(x + u)
//   relu   h = max(x + u, 0)
//   gru_reset_first  z r n:  as gru, but u of n is what s(r) h makes: a second product
enum class Cell : int32_t { lstm, gru, tanh, relu, gruResetFirst };
inline constexpr std::array<std::string_view, 5> kCellNames{"lstm", "gru", "tanh", "relu", "gru_reset_first"};

constexpr int64_t gatesOf(Cell cell) {
  return cell == Cell::lstm ? 4 : cell == Cell::gru || cell == Cell::gruResetFirst ? 3 : 1;
}
// Has it a second product, of a state that was reset?
constexpr bool resetsFirst(Cell cell) { return cell == Cell::gruResetFirst; }
// Gates that the product of the state makes.
constexpr int64_t productGatesOf(Cell cell) { return gatesOf(cell) - (resetsFirst(cell) ? 1 : 0); }
constexpr bool hasCell(Cell cell) { return cell == Cell::lstm; }
constexpr bool takesBias(Cell cell) { return cell == Cell::gru; }
// Functions such as exp and tanh for an element of the state.
constexpr int64_t callsOf(Cell cell) {
  return cell == Cell::lstm ? 5 : gatesOf(cell) == 3 ? 3 : cell == Cell::tanh ? 1 : 0;
}

// Operands: gates, weights, state, cell (of gru_reset_first the weights of its second product) and bias of a
// direction; lengths; the same of a second direction.
inline constexpr int kOfDirection = 5, kLengths = 5, kSecond = 6;
// Results of a direction: the state, the cell, and what is stacked.
constexpr int resultsOf(Cell cell, bool stacks) { return 1 + (hasCell(cell) ? 1 : 0) + (stacks ? 1 : 0); }

constexpr std::optional<Cell> parseCell(std::string_view name) {
  for (size_t i = 0; i < kCellNames.size(); ++i)
    if (kCellNames[i] == name) return static_cast<Cell>(i);
  return std::nullopt;
}

}  // namespace dyn::recurrence

#endif
