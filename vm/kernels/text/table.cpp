// lookup, tfidf: tables among the numbers.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vm/core/builtin/builtin_host.h"
#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/packed_numbers.h"
#include "vm/kernels/text/key_table.h"
#include "vm/kernels/text/string_elements.h"

namespace dyn::vm::kernels {
namespace {

// Places of strings, which are borrowed from the program.
class TextTable : public CachedPlan {
 public:
  explicit TextTable(const std::vector<std::string_view>& keys) : count_(static_cast<uint32_t>(keys.size())) {
    for (uint32_t k = 0; k < count_; ++k) places_.try_emplace(keys[k], k);
  }
  uint32_t place(std::string_view key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? count_ : found->second;
  }
  size_t bytes() const { return count_ * (sizeof(std::string_view) + 4 * sizeof(void*)); }

 private:
  uint32_t count_;
  std::unordered_map<std::string_view, uint32_t> places_;
};

// `good` is false from the first malformed one on.
PackedNumbers::Table readTable(calls::Borrowed words, bool& good) {
  PackedNumbers packed(words);
  PackedNumbers::Table table = packed.table();
  good = good && packed.ok();
  return table;
}

// The table of this call's keys: kept by the context, as the program's numbers stay where they are.
template <typename Table, typename Make>
const Table& tableOf(BuiltinCall& call, const Make& make) {
  const PlanCache::Key key{PlanCache::kTableOfKeys,
                           static_cast<int64_t>(std::bit_cast<intptr_t>(call.numbers.data()))};
  PlanCache& plans = call.host->plans();
  if (const CachedPlan* found = plans.find(key)) return static_cast<const Table&>(*found);
  std::unique_ptr<const Table> made = make();
  const size_t bytes = made->bytes();
  return static_cast<const Table&>(*plans.keep(key, std::move(made), bytes));
}

// The value of each element's key, or the one behind them all.
struct LookedUp {
  const PackedNumbers::Table &values, &otherwise;
  Tensor* result;

  template <typename PlaceOf>
  Status write(const PlaceOf& placeOf) const {
    switch (values.dtype == DataType::string ? 0 : sizeBytes(values.dtype)) {
      case 0:
        return writeTexts(placeOf);
      case 1:
        return writeNumbers<uint8_t>(placeOf);
      case 2:
        return writeNumbers<uint16_t>(placeOf);
      case 4:
        return writeNumbers<uint32_t>(placeOf);
      case 8:
        return writeNumbers<uint64_t>(placeOf);
      default:
        return failure(DYN_UNSUPPORTED, "values of " + std::string(text(values.dtype)));
    }
  }

 private:
  template <typename PlaceOf>
  Status writeTexts(const PlaceOf& placeOf) const {
    for (int64_t i = 0; i < result->elementCount; ++i) {
      const uint32_t place = placeOf(i);
      if (!setString(result, i, place < values.count ? values.texts[place] : otherwise.texts[0]))
        return outOfStrings();
    }
    return okStatus();
  }
  template <typename Bits, typename PlaceOf>
  Status writeNumbers(const PlaceOf& placeOf) const {
    const Bits other = otherwise.at<Bits>(0);
    Bits* to = result->as<Bits>();
    for (int64_t i = 0; i < result->elementCount; ++i) {
      const uint32_t place = placeOf(i);
      to[i] = place < values.count ? values.at<Bits>(place) : other;
    }
    return okStatus();
  }
};

template <typename Key>
Status lookUp(BuiltinCall& call, const Tensor* x, const PackedNumbers::Table& keys, const LookedUp& out) {
  const auto make = [&] {
    return std::make_unique<const KeyTable<Key>>(keys.count, [&](size_t k) { return keys.at<Key>(k); });
  };
  const KeyTable<Key>& table = tableOf<KeyTable<Key>>(call, make);
  const Key* from = x->as<Key>();
  return out.write([&](int64_t i) { return table.place(from[i]); });
}

}  // namespace

Status lookup(BuiltinCall& call) {
  using Call = calls::Lookup;
  const Tensor* x = call.argument(Call::x);
  const auto n = call.numbersOf<Call>();
  bool good = n.complete;
  const PackedNumbers::Table keys = readTable(n.keys, good), values = readTable(n.values, good),
                             otherwise = readTable(n.otherwise, good);
  if (!good || keys.count != values.count || otherwise.count != 1 || otherwise.dtype != values.dtype)
    return failure(DYN_BAD_INPUT, "lookup: its packed table is malformed");
  if (!x || x->dtype != keys.dtype)
    return badArgument("lookup", Call::x, "a tensor of " + std::string(text(keys.dtype)),
                       call.arguments[Call::x]);
  Tensor* result = nullptr;
  if (Status status = call.result(0, values.dtype, std::span(x->shape(), x->rank), result); !status.ok())
    return status;
  const LookedUp out{values, otherwise, result};
  if (x->dtype == DataType::string) {
    const TextTable& table =
        tableOf<TextTable>(call, [&] { return std::make_unique<const TextTable>(keys.texts); });
    return out.write([&](int64_t i) { return table.place(stringAt(x, i)); });
  }
  if (x->dtype == DataType::f16 || x->dtype == DataType::bf16)  // equal numbers have equal bits here
    return lookUp<uint16_t>(call, x, keys, out);
  Status status = okStatus();
  if (!visitNumbers(x->dtype, [&]<typename T>() { status = lookUp<T>(call, x, keys, out); }))
    return failure(DYN_UNSUPPORTED, "keys of " + std::string(text(x->dtype)));
  return status;
}

namespace {

// Grams are sequences of tokens: numbers that stand for the pool's distinct elements.
class GramTable {
 public:
  static constexpr int64_t kNoToken = -1;

  Status read(const calls::Tfidf::Numbers<calls::Borrowed>& n) {
    const int64_t least = n.leastLength, most = n.mostLength;
    bool good = n.complete;
    const PackedNumbers::Table begins = readTable(n.begins, good), places = readTable(n.places, good);
    pool_ = readTable(n.pool, good);
    weights_ = readTable(n.weights, good);
    const bool typed = begins.dtype == DataType::i64 && places.dtype == DataType::i64 &&
                       (pool_.dtype == DataType::i64 || pool_.dtype == DataType::string) &&
                       weights_.dtype == DataType::f32;
    if (!good || !typed) return malformed();
    size_t next = 0;
    for (size_t k = 0; k < begins.count; ++k) {
      const auto begin = begins.at<int64_t>(k);
      const int64_t end =
          k + 1 < begins.count ? begins.at<int64_t>(k + 1) : static_cast<int64_t>(pool_.count);
      const int64_t length = static_cast<int64_t>(k) + 1;
      if (begin < 0 || end < begin || end > static_cast<int64_t>(pool_.count) || (end - begin) % length != 0)
        return malformed();
      for (int64_t at = begin; at < end; at += length, ++next) {
        if (next >= places.count || places.at<int64_t>(next) < 0) return malformed();
        if (length < least || length > most) continue;
        std::vector<int64_t> gram;
        for (int64_t i = at; i < at + length; ++i) gram.push_back(tokenOfPool(static_cast<size_t>(i)));
        grams_[std::move(gram)].push_back(places.at<int64_t>(next));
      }
    }
    for (size_t i = 0; i < places.count; ++i) size_ = std::max(size_, places.at<int64_t>(i) + 1);
    if (weights_.count != 0 && static_cast<int64_t>(weights_.count) < size_) return malformed();
    return okStatus();
  }

  bool ofStrings() const { return pool_.dtype == DataType::string; }
  int64_t size() const { return size_; }
  float weight(int64_t place) const {
    return weights_.count == 0 ? 1 : weights_.at<float>(static_cast<size_t>(place));
  }
  int64_t token(std::string_view text) const { return found(texts_, text); }
  int64_t token(int64_t number) const { return found(numbers_, number); }
  // Places in the result that this gram counts for; null: it is none of the pool's.
  const std::vector<int64_t>* places(const std::vector<int64_t>& gram) const {
    const auto it = grams_.find(gram);
    return it == grams_.end() ? nullptr : &it->second;
  }

 private:
  static Status malformed() { return failure(DYN_BAD_INPUT, "tfidf: its packed table is malformed"); }
  template <typename Map, typename Key>
  static int64_t found(const Map& map, const Key& key) {
    const auto it = map.find(key);
    return it == map.end() ? kNoToken : it->second;
  }
  int64_t tokenOfPool(size_t i) {
    const auto fresh = static_cast<int64_t>(texts_.size() + numbers_.size());
    return ofStrings() ? texts_.try_emplace(pool_.texts[i], fresh).first->second
                       : numbers_.try_emplace(pool_.at<int64_t>(i), fresh).first->second;
  }

  PackedNumbers::Table pool_, weights_;
  std::unordered_map<std::string_view, int64_t> texts_;
  std::unordered_map<int64_t, int64_t> numbers_;
  std::map<std::vector<int64_t>, std::vector<int64_t>> grams_;
  int64_t size_ = 0;
};

}  // namespace

Status tfidf(FlatCall& call) {
  using Call = calls::Tfidf;
  const TensorView* x = call.argument(Call::x);
  const auto n = call.numbersOf<Call>();
  const int64_t mode = n.mode, least = n.leastLength, most = n.mostLength, skips = n.mostSkips;
  if (mode < DYN_TFIDF_COUNTS || mode > DYN_TFIDF_WEIGHTED_COUNTS || least < 1 || most < least || skips < 0)
    return failure(DYN_BAD_INPUT, "tfidf: its numbers are out of range");
  GramTable table;
  if (Status status = table.read(n); !status.ok()) return status;
  const bool strings = table.ofStrings();
  if (!x || x->rank > 2 ||
      (strings ? x->dtype() != DataType::string : x->dtype() != DataType::i64 && x->dtype() != DataType::i32))
    return badArgument("tfidf", Call::x, strings ? "strings of rank 1 or 2" : "i64 or i32 of rank 1 or 2", x);
  const int64_t rows = x->rank == 2 ? x->shape()[0] : 1, length = x->rank == 0 ? 1 : x->shape()[x->rank - 1];
  std::vector<int64_t> shape;
  if (x->rank == 2) shape.push_back(rows);
  shape.push_back(table.size());
  if (Status status = call.checkResult(0, DataType::f32, shape); !status.ok()) return status;
  TensorView* result = call.result(0);
  std::vector<int64_t> tokens(static_cast<size_t>(length)), counts(static_cast<size_t>(table.size())), gram;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = row * length + i;
      tokens[static_cast<size_t>(i)] = strings ? table.token(stringAt(x, at))
                                       : x->dtype() == DataType::i64
                                           ? table.token(x->as<int64_t>()[at])
                                           : table.token(int64_t{x->as<int32_t>()[at]});
    }
    std::fill(counts.begin(), counts.end(), 0);
    for (int64_t step = 1; step <= std::min(skips + 1, length); ++step) {
      for (int64_t start = 0; start < length; ++start) {
        gram.clear();
        // Single elements know no distance: they count once.
        for (int64_t at = start; at < length && static_cast<int64_t>(gram.size()) < most; at += step) {
          if (tokens[static_cast<size_t>(at)] == GramTable::kNoToken) break;
          gram.push_back(tokens[static_cast<size_t>(at)]);
          if (gram.size() == 1 && step > 1) continue;
          if (const std::vector<int64_t>* places = table.places(gram))
            for (int64_t place : *places) ++counts[static_cast<size_t>(place)];
        }
      }
    }
    for (int64_t place = 0; place < table.size(); ++place) {
      const auto count = static_cast<float>(counts[static_cast<size_t>(place)]);
      result->as<float>()[row * table.size() + place] = mode == DYN_TFIDF_COUNTS ? count
                                                        : mode == DYN_TFIDF_WEIGHTS
                                                            ? (count > 0 ? table.weight(place) : 0)
                                                            : count * table.weight(place);
    }
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
