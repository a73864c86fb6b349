#include "vm/kernels/tile/tile_model.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace dyn::vm::kernels {

constinit thread_local TileHold tileHold = {0, 0, 0};

namespace {

struct Tile {
  uint8_t bytes[kTileRows][kTileRowBytes];
  int rows = 0, rowBytes = 0;

  bool isUsed() const { return rows > 0; }
  void clear() { memset(bytes, 0, sizeof bytes); }
  uint32_t word(int row, int column) const {
    uint32_t value;
    memcpy(&value, bytes[row] + 4 * column, sizeof value);
    return value;
  }
  float number(int row, int column) const { return std::bit_cast<float>(word(row, column)); }
  void setWord(int row, int column, uint32_t value) { memcpy(bytes[row] + 4 * column, &value, sizeof value); }
};

struct Tiles {
  bool configured = false;
  Tile of[kTileCount];
};
thread_local Tiles tiles;

std::atomic<const char*> firstFault{nullptr};
std::atomic<int64_t> products{0};

void note(const char* fault) {
  const char* none = nullptr;
  firstFault.compare_exchange_strong(none, fault);
}

bool isNone(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (bytes[i] != 0) return false;
  return true;
}

// Null: LDTILECFG takes it.
const char* faultOf(const TileConfig& config) {
  if (config.palette > 1) return "configure: there is no such palette";
  if (config.palette == 0) return nullptr;
  if (config.startRow != 0) return "configure: begins in the middle of a load";
  if (!isNone(config.none, sizeof config.none) || !isNone(config.rows + kTileCount, 16 - kTileCount))
    return "configure: reserved bytes are not 0";
  for (int i = kTileCount; i < 16; ++i)
    if (config.rowBytes[i] != 0) return "configure: reserved bytes are not 0";
  for (int i = 0; i < kTileCount; ++i) {
    if (config.rows[i] > kTileRows) return "configure: more than 16 rows";
    if (config.rowBytes[i] > kTileRowBytes) return "configure: rows of more than 64 bytes";
    if ((config.rows[i] == 0) != (config.rowBytes[i] == 0))
      return "configure: rows without columns, or columns without rows";
  }
  return nullptr;
}

// The tile, where an instruction may name it, else null.
Tile* usable(int tile, const char* fault) {
  if (tiles.configured && tile >= 0 && tile < kTileCount && tiles.of[tile].isUsed()) return &tiles.of[tile];
  note(fault);
  return nullptr;
}

// C, A and B of a product fit: what else would end in #UD.
bool canMultiply(int c, int a, int b) {
  Tile *to = usable(c, "multiply: C is not configured"), *left = usable(a, "multiply: A is not configured"),
       *right = usable(b, "multiply: B is not configured");
  if (!to || !left || !right) return false;
  const bool same = c == a || c == b || a == b,
             whole = to->rowBytes % 4 == 0 && left->rowBytes % 4 == 0 && right->rowBytes % 4 == 0,
             fits = to->rowBytes == right->rowBytes && to->rows == left->rows &&
                    left->rowBytes / 4 == right->rows;
  if (same) note("multiply: a tile is named twice");
  if (!whole) note("multiply: rows are not whole words");
  if (whole && !fits) note("multiply: shapes of the tiles do not fit");
  return !same && whole && fits;
}

// Numbers below the normal ones count as 0, on the way in and out.
float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float bf16At(uint32_t word, int half) {
  return flushed(std::bit_cast<float>(half == 0 ? word << 16 : word & 0xffff0000u));
}
// a * b + sum, rounded once, to nearest even. A result that only this rounding makes a normal number is one
// here.
float multiplyAdd(float a, float b, float sum) { return flushed(std::fma(a, b, sum)); }

}  // namespace

void TileModel::configure(const TileConfig& config) {
  if (const char* fault = faultOf(config)) return note(fault);
  if (config.palette == 0) return release();
  tiles.configured = true;
  for (int i = 0; i < kTileCount; ++i) {
    tiles.of[i].rows = config.rows[i];
    tiles.of[i].rowBytes = config.rowBytes[i];
    tiles.of[i].clear();
  }
}

void TileModel::release() { tiles = Tiles(); }

void TileModel::zero(int tile) {
  if (Tile* t = usable(tile, "zero: the tile is not configured")) t->clear();
}

void TileModel::load(int tile, const void* from, int64_t pitch) {
  Tile* t = usable(tile, "load: the tile is not configured");
  if (!t) return;
  t->clear();
  for (int row = 0; row < t->rows; ++row)
    memcpy(t->bytes[row], static_cast<const uint8_t*>(from) + row * pitch, static_cast<size_t>(t->rowBytes));
}

void TileModel::store(int tile, void* to, int64_t pitch) {
  const Tile* t = usable(tile, "store: the tile is not configured");
  if (!t) return;
  if (std::abs(pitch) < t->rowBytes && t->rows > 1) note("store: rows would lie over each other");
  for (int row = 0; row < t->rows; ++row)
    memcpy(static_cast<uint8_t*>(to) + row * pitch, t->bytes[row], static_cast<size_t>(t->rowBytes));
}

// TDPBF16PS: of each element, even and odd depths have sums of their own, each product fused to its sum; at
// the end the two are added, and what comes out to C.
void TileModel::multiplyPairs(int c, int a, int b) {
  if (!canMultiply(c, a, b)) return;
  ++products;
  Tile& to = tiles.of[c];
  const Tile &left = tiles.of[a], &right = tiles.of[b];
  const int columns = to.rowBytes / 4, depth = left.rowBytes / 4;
  for (int m = 0; m < to.rows; ++m)
    for (int n = 0; n < columns; ++n) {
      float sums[2] = {0, 0};
      for (int k = 0; k < depth; ++k)
        for (int half = 0; half < 2; ++half)
          sums[half] = multiplyAdd(bf16At(left.word(m, k), half), bf16At(right.word(k, n), half), sums[half]);
      const float both = flushed(sums[0] + sums[1]), sum = flushed(flushed(to.number(m, n)) + both);
      to.setWord(m, n, std::bit_cast<uint32_t>(sum));
    }
}

// TDPBUSD: products of four bytes, added to C in 32 bits that wrap.
void TileModel::multiplyQuads(int c, int a, int b) {
  if (!canMultiply(c, a, b)) return;
  ++products;
  Tile& to = tiles.of[c];
  const Tile &left = tiles.of[a], &right = tiles.of[b];
  const int columns = to.rowBytes / 4, depth = left.rowBytes / 4;
  for (int m = 0; m < to.rows; ++m)
    for (int n = 0; n < columns; ++n) {
      uint32_t sum = to.word(m, n);
      for (int k = 0; k < depth; ++k)
        for (int i = 0; i < 4; ++i)
          sum += static_cast<uint32_t>(int32_t{left.bytes[m][4 * k + i]} *
                                       static_cast<int8_t>(right.bytes[k][4 * n + i]));
      to.setWord(m, n, sum);
    }
}

void TileModel::copyWords(void* to, const void* from, int64_t count) {
  memcpy(to, from, static_cast<size_t>(count) * 4);
}

bool TileModel::isConfigured() { return tiles.configured; }

std::string TileModel::takeFault() {
  const char* fault = firstFault.exchange(nullptr);
  return fault ? fault : "";
}

int64_t TileModel::productCount() { return products; }

}  // namespace dyn::vm::kernels
