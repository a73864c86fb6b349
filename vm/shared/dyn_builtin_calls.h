// Calls of hand-written kernels by names: for each row of dyn_builtin_calls.def a structure with the places
// of its arguments, its numbers and its scalars. One walk over the fields writes the numbers of a call, reads
// them, counts and describes them, so that no two of these can differ.
//
//   Conv::Numbers<Owned> n;                       // the compiler
//   n.axes = 2, n.group = 1, n.strides = n.dilations = {1, 1};
//   writeNumbers<Conv>(n)                         // {2, 1, 1, 1, 1, 1}
//
//   const auto n = readNumbers<Conv>(words);      // the kernel; lists lie in `words`
//   n.strides[0], call.argument(Conv::bias)
//
// What stands in a list is not judged: `complete` is false where some are missing; fields that are not there
// are 0 and empty.
#ifndef DYN_BUILTIN_CALLS_H
#define DYN_BUILTIN_CALLS_H

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vm/include/dynvm.h"
#include "vm/shared/dyn_builtin_fields.h"

namespace dyn::calls {

using Owned = std::vector<int32_t>;
using Borrowed = std::span<const int32_t>;

class NumberReader {
 public:
  explicit NumberReader(Borrowed words) : words_(words) {}
  bool complete() const { return complete_; }

  bool holds(const char*, bool condition) const { return condition; }
  void number(const char*, int32_t& to) { to = next(); }
  void real(const char*, float& to) { to = std::bit_cast<float>(next()); }
  void optional(const char*, int32_t& to, int32_t otherwise) {
    to = at_ < words_.size() ? words_[at_++] : otherwise;
  }
  void last(const char* name, int32_t& to) { optional(name, to, 0); }
  void beginBits() { bits_ = next(); }
  void beginOptionalBits(int32_t otherwise) { optional("", bits_, otherwise); }
  void bit(const char*, bool& to, int place) const { to = (bits_ >> place & 1) != 0; }
  void part(const char*, int32_t& to, int first, int bits) const {
    to = first + bits == 32 ? bits_ >> first : bits_ >> first & ((1 << bits) - 1);
  }
  void endBits() {}
  void list(const char*, Borrowed& to, int64_t count, const char*) { to = take(count); }
  void share(const char*, Borrowed& to, size_t parts) {
    complete_ &= words_.size() % parts == 0;
    to = take(static_cast<int64_t>(words_.size() / parts));
  }
  void rest(const char*, Borrowed& to) { to = take(static_cast<int64_t>(words_.size() - at_)); }
  void text(const char*, Borrowed& to) {
    const size_t begin = at_;
    skipText();
    to = words_.subspan(begin, at_ - begin);
  }
  void table(const char*, Borrowed& to) {
    const size_t begin = at_;
    const int32_t dtype = next(), count = next();
    if (dtype != DYN_STRING)
      skipText();
    else
      for (int32_t i = 0; i < count && complete_; ++i) skipText();
    to = words_.subspan(begin, at_ - begin);
  }

 private:
  int32_t next() {
    if (at_ < words_.size()) return words_[at_++];
    complete_ = false;
    return 0;
  }
  Borrowed take(int64_t count) {
    if (count < 0 || static_cast<uint64_t>(count) > words_.size() - at_) {
      complete_ = false;
      return {};
    }
    const Borrowed taken = words_.subspan(at_, static_cast<size_t>(count));
    at_ += taken.size();
    return taken;
  }
  void skipText() {
    const int32_t bytes = next();
    (void)take(bytes < 0 ? -1 : (int64_t{bytes} + 3) / 4);
  }

  Borrowed words_;
  size_t at_ = 0;
  int32_t bits_ = 0;
  bool complete_ = true;
};

class NumberWriter {
 public:
  bool holds(const char*, bool condition) const { return condition; }
  void number(const char*, int32_t from) { add(from); }
  void real(const char*, float from) { add(std::bit_cast<int32_t>(from)); }
  void optional(const char*, int32_t from, int32_t) { add(from); }
  // Written only where it is not 0 or more follows.
  void last(const char*, int32_t from) {
    if (from != 0) return add(from);
    ++waiting_;
  }
  void beginBits() { bits_ = 0; }
  void beginOptionalBits(int32_t) { bits_ = 0; }
  void bit(const char*, bool from, int place) { bits_ |= (from ? 1u : 0u) << place; }
  void part(const char*, int32_t from, int first, int) { bits_ |= static_cast<uint32_t>(from) << first; }
  void endBits() { add(static_cast<int32_t>(bits_)); }
  void list(const char*, const Owned& from, int64_t, const char*) { addAll(from); }
  void share(const char*, const Owned& from, size_t) { addAll(from); }
  void rest(const char*, const Owned& from) { addAll(from); }
  void text(const char*, const Owned& from) { addAll(from); }
  void table(const char*, const Owned& from) { addAll(from); }

  Owned words;

 private:
  void add(int32_t word) {
    words.insert(words.end(), waiting_, 0);
    waiting_ = 0;
    words.push_back(word);
  }
  void addAll(const Owned& from) {
    for (int32_t word : from) add(word);
  }
  uint32_t bits_ = 0;
  size_t waiting_ = 0;
};

template <typename Call>
typename Call::template Numbers<Borrowed> readNumbers(Borrowed words) {
  typename Call::template Numbers<Borrowed> numbers;
  NumberReader reader(words);
  Call::walkNumbers(numbers, reader);
  numbers.complete = reader.complete();
  return numbers;
}

template <typename Call>
Owned writeNumbers(const typename Call::template Numbers<Owned>& numbers) {
  NumberWriter writer;
  Call::walkNumbers(numbers, writer);
  return std::move(writer.words);
}

// --- scalars: dims in the compiler, 64-bit numbers in a call

template <typename Value>
class ScalarReader {
 public:
  explicit ScalarReader(std::span<const Value> values) : values_(values) {}
  bool complete() const { return complete_; }

  void scalar(const char*, Value& to) {
    if (at_ < values_.size())
      to = values_[at_++];
    else
      complete_ = false;
  }
  void scalarMaybe(const char*, std::optional<Value>& to) {
    if (at_ < values_.size()) to = values_[at_++];
  }
  void scalarList(const char*, std::span<const Value>& to, int64_t count, const char*) {
    if (count < 0 || static_cast<uint64_t>(count) > values_.size() - at_) {
      complete_ = false;
      return;
    }
    to = values_.subspan(at_, static_cast<size_t>(count));
    at_ += to.size();
  }
  void scalarRest(const char*, std::span<const Value>& to) {
    to = values_.subspan(at_);
    at_ = values_.size();
  }

 private:
  std::span<const Value> values_;
  size_t at_ = 0;
  bool complete_ = true;
};

template <typename Value>
class ScalarWriter {
 public:
  void scalar(const char*, const Value& from) { values.push_back(from); }
  void scalarMaybe(const char*, const std::optional<Value>& from) {
    if (from) values.push_back(*from);
  }
  void scalarList(const char*, const std::vector<Value>& from, int64_t, const char*) { scalarRest("", from); }
  void scalarRest(const char*, const std::vector<Value>& from) {
    values.insert(values.end(), from.begin(), from.end());
  }

  std::vector<Value> values;
};

template <typename Call>
using ScalarsOf = typename Call::template Scalars<int64_t, std::span<const int64_t>>;

template <typename Call>
ScalarsOf<Call> readScalars(const typename Call::template Numbers<Borrowed>& numbers,
                            std::span<const int64_t> values) {
  ScalarsOf<Call> scalars;
  ScalarReader<int64_t> reader(values);
  Call::walkScalars(numbers, scalars, reader);
  scalars.complete = reader.complete();
  return scalars;
}

// --- how many there are of each

struct Count {
  static constexpr uint8_t kAny = 255;  // no upper limit
  uint8_t least = 0, most = 0;
};

// Counts with so many `axes`, where there are any; conditions do not hold for the least.
class FieldCounter {
 public:
  constexpr explicit FieldCounter(int32_t axes) : axes_(axes) {}
  Count count;
  bool ended = false, behindEnd = false;  // a field that takes all that follow; one behind it
  bool ofEpilogue = false;                // what follows

  constexpr void argument(const char* name, bool mayMiss, bool more) {
    add(mayMiss ? 0 : 1, 1);
    if (!more) return;
    end();
    ofEpilogue = std::string_view(name) == "epilogue";
  }
  constexpr bool holds(const char*, bool) const { return false; }
  constexpr void number(const char* name, int32_t& to) {
    if (std::string_view(name) == "axes") to = axes_;
    add(1, 1);
  }
  constexpr void real(const char*, float&) { add(1, 1); }
  constexpr void optional(const char*, int32_t&, int32_t) { add(0, 1); }
  constexpr void last(const char*, int32_t&) { add(0, 1); }
  constexpr void beginBits() { add(1, 1); }
  constexpr void beginOptionalBits(int32_t) { add(0, 1); }
  constexpr void bit(const char*, bool&, int) const {}
  constexpr void part(const char* name, int32_t& to, int, int) const {
    if (std::string_view(name) == "axes") to = axes_;
  }
  constexpr void endBits() const {}
  constexpr void list(const char*, Borrowed&, int64_t words, const char* expression) {
    const bool known = std::string_view(expression).find("axes") != std::string_view::npos;
    add(known ? static_cast<uint8_t>(words) : 0, known ? static_cast<uint8_t>(words) : Count::kAny);
  }
  constexpr void share(const char*, Borrowed&, size_t) { add(1, Count::kAny); }
  constexpr void rest(const char*, Borrowed&) { end(); }
  constexpr void text(const char*, Borrowed&) { add(1, Count::kAny); }
  constexpr void table(const char*, Borrowed&) { add(3, Count::kAny); }
  constexpr void scalar(const char*, int64_t&) { add(1, 1); }
  constexpr void scalarMaybe(const char*, std::optional<int64_t>&) { add(0, 1); }
  constexpr void scalarList(const char*, std::span<const int64_t>&, int64_t values, const char*) {
    add(static_cast<uint8_t>(values), static_cast<uint8_t>(values));
  }
  constexpr void scalarRest(const char*, std::span<const int64_t>&) { end(); }

 private:
  constexpr void add(uint8_t least, uint8_t most) {
    behindEnd |= ended;
    count.least = static_cast<uint8_t>(count.least + least);
    count.most = most == Count::kAny || count.most == Count::kAny ? Count::kAny
                                                                  : static_cast<uint8_t>(count.most + most);
  }
  constexpr void end() {
    behindEnd |= ended;
    ended = true;
    count.most = Count::kAny;
  }

  int32_t axes_;
};

// What a call of the row takes, and how many arguments have names of their own, before those that follow.
struct CallCounts {
  Count arguments, numbers, scalars;
  uint8_t namedArguments = 0;
  bool epilogue = false;   // those that follow are an epilogue's
  bool wellFormed = true;  // nothing stands behind what takes all that follow
};

template <typename Call>
constexpr CallCounts countsOf() {
  CallCounts result;
  const auto take = [&](const FieldCounter& least, const FieldCounter& most, Count& count) {
    count = {least.count.least, most.count.most};
    result.wellFormed &= !most.behindEnd;
  };
  typename Call::template Numbers<Borrowed> few, many;
  ScalarsOf<Call> scalars;
  constexpr int32_t kMostAxes = 3;
  FieldCounter arguments(0), fewNumbers(1), manyNumbers(kMostAxes), fewScalars(1), manyScalars(kMostAxes);
  Call::walkArguments(arguments);
  Call::walkNumbers(few, fewNumbers);
  Call::walkNumbers(many, manyNumbers);
  Call::walkScalars(few, scalars, fewScalars);
  Call::walkScalars(many, scalars, manyScalars);
  take(arguments, arguments, result.arguments);
  take(fewNumbers, manyNumbers, result.numbers);
  take(fewScalars, manyScalars, result.scalars);
  result.epilogue = arguments.ofEpilogue;
  result.namedArguments = static_cast<uint8_t>(Call::kArgumentNames - (arguments.ended ? 1 : 0));
  return result;
}

// --- in words: "(x, weights, bias?, epilogue...) n: axes + 8 * way, group, strides[n.axes], ... s: ..."

class FieldText {
 public:
  std::string words;

  void argument(const char* name, bool mayMiss, bool more) {
    add(std::string(name) + (more ? "..." : mayMiss ? "?" : ""));
  }
  bool holds(const char* condition, bool) {
    add("where " + std::string(condition) + ": ");
    separator_ = "";
    return true;
  }
  void number(const char* name, int32_t) { add(name); }
  void real(const char* name, float) { add("real " + std::string(name)); }
  void optional(const char* name, int32_t, int32_t otherwise) {
    add(std::string(name) + "? (" + std::to_string(otherwise) + ")");
  }
  void last(const char* name, int32_t) { add("1 + kernel of the " + std::string(name) + "?"); }
  void beginBits() { otherwise_.clear(); }
  void beginOptionalBits(int32_t otherwise) { otherwise_ = "? (" + std::to_string(otherwise) + ")"; }
  void bit(const char* name, bool, int place) { addBits(name, place); }
  void part(const char* name, int32_t, int first, int) { addBits(name, first); }
  void endBits() {
    words += otherwise_;
    separator_ = kComma;
  }
  void list(const char* name, Borrowed, int64_t, const char* count) {
    add(std::string(name) + "[" + count + "]");
  }
  void share(const char* name, Borrowed, size_t parts) {
    add(std::string(name) + "[all / " + std::to_string(parts) + "]");
  }
  void rest(const char* name, Borrowed) { add(std::string(name) + "..."); }
  void text(const char* name, Borrowed) { add("text " + std::string(name)); }
  void table(const char* name, Borrowed) { add("table " + std::string(name)); }
  void scalar(const char* name, int64_t) { add(name); }
  void scalarMaybe(const char* name, const std::optional<int64_t>&) { add(std::string(name) + "?"); }
  void scalarList(const char* name, std::span<const int64_t>, int64_t, const char* count) {
    add(std::string(name) + "[" + count + "]");
  }
  void scalarRest(const char* name, std::span<const int64_t>) { add(std::string(name) + "..."); }

 private:
  static constexpr const char* kComma = ", ";
  void add(const std::string& field) {
    words += (words.empty() ? "" : separator_) + field;
    separator_ = kComma;
  }
  void addBits(const char* name, int place) {
    add((place > 0 ? std::to_string(1u << place) + " * " : "") + name);
    separator_ = " + ";
  }

  std::string separator_ = kComma, otherwise_;
};

template <typename Call>
std::string describeCall() {
  typename Call::template Numbers<Borrowed> numbers;
  ScalarsOf<Call> scalars;
  FieldText ofArguments, ofNumbers, ofScalars;
  Call::walkArguments(ofArguments);
  Call::walkNumbers(numbers, ofNumbers);
  Call::walkScalars(numbers, scalars, ofScalars);
  return "(" + ofArguments.words + ")" + (ofNumbers.words.empty() ? "" : " n: " + ofNumbers.words) +
         (ofScalars.words.empty() ? "" : " s: " + ofScalars.words);
}

}  // namespace dyn::calls

#endif
