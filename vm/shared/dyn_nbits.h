/* How products with weights of few bits take their rows: what the calls of nbitsgemm say of it in their
 * number `bits`, for compiler and runtime alike. C++, header only. */
#ifndef DYN_NBITS_H
#define DYN_NBITS_H

#include <cstdint>

namespace dyn {

struct NbitsNumber {
  static constexpr int32_t kRoundsRows = 64;  // above any number of bits

  int32_t bits = 4;
  bool roundsRows = false;  // to 8 bits, block by block of the weights

  int32_t joined() const { return bits + (roundsRows ? kRoundsRows : 0); }
  static NbitsNumber parted(int32_t joined) {
    const bool rounds = joined >= kRoundsRows;
    return {rounds ? joined - kRoundsRows : joined, rounds};
  }
};

}  // namespace dyn

#endif
