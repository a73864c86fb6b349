// lookup, tfidf: tables among the numbers.
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/packed_numbers.h"
#include "vm/kernels/text/string_elements.h"

namespace dyn::vm::kernels {
namespace {

constexpr size_t kNoPlace = SIZE_MAX;

// The place of each element of `x` among the keys, kNoPlace for the others. The first of equal keys wins.
template <typename Key, typename Element, typename KeyAt>
std::vector<size_t> placesOf(const Tensor* x, size_t keyCount, Element&& element, KeyAt&& keyAt) {
  std::unordered_map<Key, size_t> table;
  size_t ofNan = kNoPlace;
  const auto isNan = [](const Key& key) {
    if constexpr (std::is_floating_point_v<Key>) return std::isnan(key);
    return false;
  };
  for (size_t k = 0; k < keyCount; ++k) {
    const Key key = keyAt(k);
    if (!isNan(key)) table.try_emplace(key, k);
    if (isNan(key) && ofNan == kNoPlace) ofNan = k;
  }
  std::vector<size_t> places;
  places.reserve(static_cast<size_t>(x->elementCount));
  for (int64_t i = 0; i < x->elementCount; ++i) {
    const Key key = element(i);
    const auto found = table.find(key);
    places.push_back(isNan(key) ? ofNan : found == table.end() ? kNoPlace : found->second);
  }
  return places;
}

}  // namespace

Status lookup(BuiltinCall& call) {
  const Tensor* x = call.argument(0);
  PackedNumbers packed(call.numbers, 0);
  const PackedNumbers::Table keys = packed.table(), values = packed.table(), otherwise = packed.table();
  if (!packed.ok() || keys.count != values.count || otherwise.count != 1 || otherwise.dtype != values.dtype)
    return failure(DYN_BAD_INPUT, "lookup: its packed table is malformed");
  if (!x || x->dtype != keys.dtype)
    return badArgument("lookup", 0, "a tensor of " + std::string(text(keys.dtype)), call.arguments[0]);
  std::vector<size_t> places;
  bool known = true;
  if (x->dtype == DataType::string) {
    places = placesOf<std::string_view>(
        x, keys.count, [&](int64_t i) { return stringAt(x, i); }, [&](size_t k) { return keys.texts[k]; });
  } else if (x->dtype == DataType::f16 || x->dtype == DataType::bf16) {  // equal numbers have equal bits here
    places = placesOf<uint16_t>(
        x, keys.count, [&](int64_t i) { return x->as<uint16_t>()[i]; },
        [&](size_t k) { return keys.at<uint16_t>(k); });
  } else {
    known = visitNumbers(x->dtype, [&]<typename T>() {
      places = placesOf<T>(
          x, keys.count, [&](int64_t i) { return x->as<T>()[i]; }, [&](size_t k) { return keys.at<T>(k); });
    });
  }
  if (!known) return failure(DYN_UNSUPPORTED, "keys of " + std::string(text(x->dtype)));
  Tensor* result = nullptr;
  if (Status status = call.result(0, values.dtype, std::span(x->shape(), x->rank), result); !status.ok())
    return status;
  const size_t bytes = sizeBytes(values.dtype);
  for (size_t i = 0; i < places.size(); ++i) {
    const PackedNumbers::Table& from = places[i] == kNoPlace ? otherwise : values;
    const size_t place = places[i] == kNoPlace ? 0 : places[i];
    if (values.dtype == DataType::string) {
      if (!setString(result, static_cast<int64_t>(i), from.texts[place])) return outOfStrings();
    } else {
      memcpy(result->data + i * bytes, from.bytes.data() + place * bytes, bytes);
    }
  }
  return okStatus();
}

namespace {

// Grams are sequences of tokens: numbers that stand for the pool's distinct elements.
class GramTable {
 public:
  static constexpr int64_t kNoToken = -1;

  Status read(PackedNumbers& packed, int64_t least, int64_t most) {
    const PackedNumbers::Table begins = packed.table(), places = packed.table();
    pool_ = packed.table();
    weights_ = packed.table();
    const bool typed = begins.dtype == DataType::i64 && places.dtype == DataType::i64 &&
                       (pool_.dtype == DataType::i64 || pool_.dtype == DataType::string) &&
                       weights_.dtype == DataType::f32;
    if (!packed.ok() || !typed) return malformed();
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

Status tfidf(BuiltinCall& call) {
  const Tensor* x = call.argument(0);
  const int64_t mode = call.number(0, 0), least = call.number(1, 1), most = call.number(2, 1),
                skips = call.number(3, 0);
  if (mode < 0 || mode > 2 || least < 1 || most < least || skips < 0)
    return failure(DYN_BAD_INPUT, "tfidf: its numbers are out of range");
  PackedNumbers packed(call.numbers, 4);
  GramTable table;
  if (Status status = table.read(packed, least, most); !status.ok()) return status;
  const bool strings = table.ofStrings();
  if (!x || x->rank > 2 ||
      (strings ? x->dtype != DataType::string : x->dtype != DataType::i64 && x->dtype != DataType::i32))
    return badArgument("tfidf", 0, strings ? "strings of rank 1 or 2" : "i64 or i32 of rank 1 or 2",
                       call.arguments[0]);
  const int64_t rows = x->rank == 2 ? x->shape()[0] : 1, length = x->rank == 0 ? 1 : x->shape()[x->rank - 1];
  std::vector<int64_t> shape;
  if (x->rank == 2) shape.push_back(rows);
  shape.push_back(table.size());
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::f32, shape, result); !status.ok()) return status;
  std::vector<int64_t> tokens(static_cast<size_t>(length)), counts(static_cast<size_t>(table.size())), gram;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = row * length + i;
      tokens[static_cast<size_t>(i)] = strings ? table.token(stringAt(x, at))
                                       : x->dtype == DataType::i64
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
      result->as<float>()[row * table.size() + place] = mode == 0   ? count
                                                        : mode == 1 ? (count > 0 ? table.weight(place) : 0)
                                                                    : count * table.weight(place);
    }
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
