// Tensor cores: ldmatrix and mma.sync. Fragments are gathered into whole matrices, products summed in the
// order of k in double.
//
// Units of chips truncate inside, each generation otherwise: results are exact on small integers, else
// compared with a tolerance.
#include <algorithm>

#include "tests/simcuda/ptx/access.h"
#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

constexpr int kAddress = 4;

// x1, x2, x4 matrices of 8 x 8 elements of 16 bits. Lane l gives the address of row l % 8 of matrix l / 8,
// and gets elements 2 * (l % 4) and the next of row l / 4; with .trans of column l / 4.
template <bool kTransposed>
void loadMatrix(Warp& w, const Op& op) {
  Addresses addresses = addressesOf(w, op, kAddress);
  Bytes rows;
  uint32_t all = w.mask;
  uint32_t given = op.count == 4 ? kAllLanes : (1u << (8 * op.count)) - 1;
  w.setMask(given);
  resolve(w, op, {op.space, 16, Use::Read}, addresses, rows);
  w.setMask(all);
  for (int matrix = 0; matrix < op.count; matrix++) {
    put<uint32_t>(w, op.rows[matrix], [&](int l) {
      auto element = [&](int i) {
        int row = kTransposed ? 2 * (l % 4) + i : l / 4, column = kTransposed ? l / 4 : 2 * (l % 4) + i;
        uint16_t value;
        std::memcpy(&value, rows[8 * matrix + row] + 2 * column, 2);
        return static_cast<uint32_t>(value);
      };
      return element(0) | element(1) << 16;
    });
  }
}

void decodeLoadMatrix(Decoder& d, const Instruction& i, Op& op) {
  auto parts = Decoder::parts(i.opcode);
  d.expectOperands(i, 2);
  op.kind = OpKind::WarpSync;
  op.space = Space::Generic;
  op.run = loadMatrix<false>;
  for (size_t k = 1; k < parts.size(); k++) {
    const std::string& part = parts[k];
    if (part == "x1" || part == "x2" || part == "x4") {
      op.count = static_cast<uint8_t>(part[1] - '0');
    } else if (part == "trans") {
      op.run = loadMatrix<true>;
    } else if (part == "shared" || part == "shared::cta") {
      op.space = Space::Shared;
    } else if (part != "sync" && part != "aligned" && part != "m8n8" && part != "b16") {
      d.fail("unknown opcode (." + part + ")");
    }
  }
  const Operand& to = i.operands[0];
  if (op.count == 0 || to.kind != Operand::Kind::Vector || to.parts.size() != op.count)
    d.fail("takes as many registers as matrices");
  for (int k = 0; k < op.count; k++) op.rows[k] = d.destination(to.parts[k], 'w');
  d.address(i.operands[1], op, kAddress);
}

// How a type lies in the fragments: kPer elements a register.
struct BfloatPair {
  static constexpr int kPer = 2;
  static double element(uint32_t bits, int i) {
    return toFloat(Bfloat{static_cast<uint16_t>(bits >> (16 * i))});
  }
};
struct HalfPair {
  static constexpr int kPer = 2;
  static double element(uint32_t bits, int i) {
    return toFloat(Half{static_cast<uint16_t>(bits >> (16 * i))});
  }
};
struct Tf32 {
  static constexpr int kPer = 1;
  static double element(uint32_t bits, int) {
    return std::bit_cast<float>(bits & 0xffffe000u);
  }  // the unit reads 10 bits of mantissa
};
struct SignedBytes {
  static constexpr int kPer = 4;
  static double element(uint32_t bits, int i) { return static_cast<int8_t>(bits >> (8 * i)); }
};

// d[16,8] = a[16,K] x b[K,8] + c[16,8]. With g = lane / 4 and q = lane % 4 a register of a holds kPer
// elements of a row: row g, or g + 8 in registers 1 and 3, columns kPer * q and on, 4 * kPer further in
// registers 2 and 3. b alike, by columns. c and d: (g, 2q), (g, 2q + 1), (g + 8, 2q), (g + 8, 2q + 1). Rows
// of the op: d 0-3, a 4-7, b 8-9, c 10-13.
template <class E, int K, class Sum, class Out>
void multiply(Warp& w, const Op& op) {
  constexpr int kHalves = K / (4 * E::kPer);  // of the columns: 2, or 1 for the small shapes
  double a[16][K], b[K][8];
  Out c[16][8];
  for (int l = 0; l < kLanes; l++) {
    int g = l / 4, q = l % 4;
    for (int half = 0; half < kHalves; half++) {
      for (int i = 0; i < E::kPer; i++) {
        int k = half * 4 * E::kPer + q * E::kPer + i;
        for (int low = 0; low < 2; low++)
          a[g + 8 * low][k] = E::element(rowOf<uint32_t>(w, op.rows[4 + 2 * half + low])[l], i);
        b[k][g] = E::element(rowOf<uint32_t>(w, op.rows[8 + half])[l], i);
      }
    }
    for (int r = 0; r < 4; r++) c[g + 8 * (r / 2)][2 * q + r % 2] = rowOf<Out>(w, op.rows[10 + r])[l];
  }
  for (int m = 0; m < 16; m++) {
    for (int n = 0; n < 8; n++) {
      Sum sum = 0;
      for (int k = 0; k < K; k++) sum += static_cast<Sum>(a[m][k] * b[k][n]);
      c[m][n] = static_cast<Out>(sum + static_cast<Sum>(c[m][n]));
    }
  }
  for (int r = 0; r < 4; r++) {
    put<Out>(w, op.rows[r], [&](int l) { return c[l / 4 + 8 * (r / 2)][2 * (l % 4) + r % 2]; });
  }
}

void addMultiply(OpTable& t, const std::string& spelling, Body body, unsigned registersA,
                 unsigned registersB) {
  t.add("mma.sync.aligned." + spelling,
        [body, registersA, registersB](Decoder& d, const Instruction& i, Op& op) {
          d.expectOperands(i, 4);
          op.kind = OpKind::WarpSync;
          op.run = body;
          auto rows = [&](const Operand& o, unsigned count, int first, bool result) {
            if (o.kind != Operand::Kind::Vector || o.parts.size() != count)
              d.fail("a fragment of " + std::to_string(count) + " registers is taken");
            for (unsigned k = 0; k < count; k++)
              op.rows[first + k] = result ? d.destination(o.parts[k], 'w') : d.operand(o.parts[k], 'w');
          };
          rows(i.operands[0], 4, 0, true);
          rows(i.operands[1], registersA, 4, false);
          rows(i.operands[2], registersB, 8, false);
          rows(i.operands[3], 4, 10, false);
        });
}

}  // namespace

void addMatrixOps(OpTable& t) {
  t.add("ldmatrix.*", decodeLoadMatrix);
  addMultiply(t, "m16n8k16.row.col.f32.bf16.bf16.f32", multiply<BfloatPair, 16, double, float>, 4, 2);
  addMultiply(t, "m16n8k8.row.col.f32.bf16.bf16.f32", multiply<BfloatPair, 8, double, float>, 2, 1);
  addMultiply(t, "m16n8k16.row.col.f32.f16.f16.f32", multiply<HalfPair, 16, double, float>, 4, 2);
  addMultiply(t, "m16n8k8.row.col.f32.f16.f16.f32", multiply<HalfPair, 8, double, float>, 2, 1);
  addMultiply(t, "m16n8k8.row.col.f32.tf32.tf32.f32", multiply<Tf32, 8, double, float>, 4, 2);
  addMultiply(t, "m16n8k4.row.col.f32.tf32.tf32.f32", multiply<Tf32, 4, double, float>, 2, 1);
  addMultiply(t, "m16n8k32.row.col.s32.s8.s8.s32", multiply<SignedBytes, 32, int64_t, int32_t>, 4, 2);
}

}  // namespace simcuda
