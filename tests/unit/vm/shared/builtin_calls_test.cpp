// What programs hold of calls of hand-written kernels: written, read, counted and described by one list.
#include <gtest/gtest.h>

#include "vm/shared/dyn_builtin_calls.h"

namespace dyn::calls {
namespace {

#define DYN_CALL(Name, row, form, traits, arguments, numbers, scalars) \
  static_assert(countsOf<Name>().wellFormed, "a field of " row " stands behind one that takes all");
#include "vm/shared/dyn_builtin_calls.def"
#undef DYN_CALL

// Every field another value: read back, each is what was written.
class Fill {
 public:
  bool holds(const char*, bool condition) const { return condition; }
  void number(const char* name, int32_t& to) { to = std::string_view(name) == "axes" ? 2 : ++value_; }
  void real(const char*, float& to) { to = static_cast<float>(++value_); }
  void optional(const char*, int32_t& to, int32_t) { to = ++value_; }
  void last(const char*, int32_t& to) { to = ++value_; }
  void beginBits() {}
  void beginOptionalBits(int32_t) {}
  void bit(const char*, bool& to, int) { to = ++value_ % 2 != 0; }
  void part(const char* name, int32_t& to, int, int) { number(name, to); }
  void endBits() {}
  void list(const char*, Owned& to, int64_t count, const char*) { fill(to, count); }
  void share(const char*, Owned& to, size_t) { fill(to, 2); }
  void rest(const char*, Owned& to) { fill(to, 3); }
  void text(const char*, Owned& to) { to = {5, ++value_, ++value_}; }
  void table(const char*, Owned& to) {
    if (value_++ % 2 != 0)
      to = {DYN_STRING, 2, 1, ++value_, 0};
    else
      to = {DYN_I32, 1, 4, ++value_};
  }

 private:
  void fill(Owned& to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to.push_back(++value_);
  }
  int32_t value_ = 0;
};

// All fields as text, whatever the lists are made of.
class Dump {
 public:
  std::string text_;
  bool holds(const char*, bool condition) const { return condition; }
  void number(const char* name, int32_t value) { add(name, value); }
  void real(const char* name, float value) { add(name, value); }
  void optional(const char* name, int32_t value, int32_t) { add(name, value); }
  void last(const char* name, int32_t value) { add(name, value); }
  void beginBits() {}
  void beginOptionalBits(int32_t) {}
  void bit(const char* name, bool value, int) { add(name, value); }
  void part(const char* name, int32_t value, int, int) { add(name, value); }
  void endBits() {}
  void list(const char* name, Borrowed values, int64_t, const char*) { rest(name, values); }
  void share(const char* name, Borrowed values, size_t) { rest(name, values); }
  void rest(const char* name, Borrowed values) {
    for (int32_t value : values) add(name, value);
  }
  void text(const char* name, Borrowed values) { rest(name, values); }
  void table(const char* name, Borrowed values) { rest(name, values); }

 private:
  template <typename Value>
  void add(const char* name, Value value) {
    text_ += std::string(name) + "=" + std::to_string(value) + " ";
  }
};

template <typename Call>
void goesThereAndBack() {
  typename Call::template Numbers<Owned> written;
  Fill fill;
  Call::walkNumbers(written, fill);
  const Owned words = writeNumbers<Call>(written);
  auto read = readNumbers<Call>(words);
  EXPECT_TRUE(read.complete) << Call::kRow;
  Dump before, after;
  Call::walkNumbers(written, before);
  Call::walkNumbers(read, after);
  EXPECT_EQ(after.text_, before.text_) << Call::kRow;
  const Count count = countsOf<Call>().numbers;
  EXPECT_GE(words.size(), count.least) << Call::kRow;
  EXPECT_TRUE(count.most == Count::kAny || words.size() <= count.most) << Call::kRow;
  // Less of them is never read as complete where a demanded one is cut off.
  if (count.least > 0) {
    EXPECT_FALSE(readNumbers<Call>(Borrowed(words).first(count.least - 1u)).complete) << Call::kRow;
  }
}

TEST(BuiltinCalls, numbersOfEveryRowGoThereAndBack) {
#define DYN_CALL(Name, row, form, traits, arguments, numbers, scalars) goesThereAndBack<Name>();
#include "vm/shared/dyn_builtin_calls.def"
#undef DYN_CALL
}

// The file format: what programs that are written hold.
TEST(BuiltinCalls, placesAreThoseOfTheFormat) {
  Conv::Numbers<Owned> conv;
  conv.axes = 2, conv.way = 3, conv.group = 4, conv.strides = {5, 6}, conv.dilations = {7, 8};
  EXPECT_EQ(writeNumbers<Conv>(conv), (Owned{2 + 3 * 8, 4, 5, 6, 7, 8}));
  conv.epilogue = 9;
  EXPECT_EQ(writeNumbers<Conv>(conv), (Owned{2 + 3 * 8, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(Conv::bias, 2u);
  EXPECT_EQ(Byteconv::epilogue, 4u);

  Gemm::Numbers<Owned> gemm;
  gemm.transposedB = gemm.ordered = true, gemm.orders = {1, 0};
  EXPECT_EQ(writeNumbers<Gemm>(gemm), (Owned{2 + 8, 0, 1, 0}));
  gemm = {};
  gemm.packedB = gemm.dispatched = true, gemm.pieces = 1, gemm.dispatch = {3, 59};
  EXPECT_EQ(writeNumbers<Gemm>(gemm), (Owned{4 + 16, 1, 3, 59}));
  gemm.epilogue = 2;
  EXPECT_EQ(writeNumbers<Gemm>(gemm), (Owned{4 + 16, 1, 3, 59, 2}));
}

TEST(BuiltinCalls, whatProgramsMayHoldIsReadWithoutFault) {
  EXPECT_FALSE(readNumbers<Conv>(Owned{7, 1}).complete);
  EXPECT_EQ(readNumbers<Conv>(Owned{-8 + 1, 1, 1, 1}).way, -1);
  EXPECT_FALSE(readNumbers<Gemm>(Owned{16, INT32_MAX}).complete);
  EXPECT_FALSE(readNumbers<Gemm>(Owned{16, -1}).complete);
  EXPECT_FALSE(readNumbers<Gemm>(Owned{16, 0x4000'0001, 3, 59}).complete);  // twice that is 2 in 32 bits
  EXPECT_FALSE(readNumbers<StringSplit>(Owned{-1, -5}).complete);
  EXPECT_FALSE(readNumbers<StringSplit>(Owned{-1, INT32_MAX}).complete);
  EXPECT_FALSE(readNumbers<Lookup>(Owned{DYN_STRING, INT32_MAX, 0, 0}).complete);
  const Owned none;
  const auto topk = readNumbers<Topk>(none);
  EXPECT_TRUE(topk.complete && topk.largest && topk.sorted && topk.axis == -1);
}

TEST(BuiltinCalls, scalarsAreReadByTheNumbers) {
  const Owned words{2, 1, 1, 1, 1, 1};
  const int64_t values[] = {10, 20, 30};
  const auto n = readNumbers<Conv>(words);
  const auto s = readScalars<Conv>(n, values);
  EXPECT_TRUE(s.complete);
  ASSERT_EQ(s.pads.size(), 2u);
  EXPECT_EQ(s.pads[1], 20);
  ASSERT_EQ(s.epilogue.size(), 1u);
  EXPECT_EQ(s.epilogue[0], 30);
  EXPECT_FALSE(readScalars<Conv>(n, std::span(values).first(1)).complete);
}

TEST(BuiltinCalls, countsAndWordsFollow) {
  EXPECT_EQ(countsOf<Conv>().numbers.least, 4);
  EXPECT_EQ(countsOf<Conv>().numbers.most, 9);
  EXPECT_EQ(countsOf<ConvPacked>().numbers.least, 7);
  EXPECT_EQ(countsOf<ConvPacked>().numbers.most, 14);
  EXPECT_EQ(countsOf<Pool>().scalars.least, 2);
  EXPECT_EQ(countsOf<Pool>().scalars.most, 6);
  EXPECT_EQ(countsOf<Conv>().arguments.least, 2);
  EXPECT_EQ(countsOf<Conv>().arguments.most, Count::kAny);
  EXPECT_EQ(countsOf<Conv>().namedArguments, 3);
  EXPECT_EQ(countsOf<Cumsum>().namedArguments, 2);
  EXPECT_EQ(describeCall<Byteconv>(),
            "(x, weights, zeroX?, zeroW?, epilogue...) n: axes + 8 * channelsLast, group, strides[n.axes], "
            "dilations[n.axes], 1 + kernel of the epilogue? s: pads[n.axes], epilogue...");
  EXPECT_EQ(describeCall<Topk>(), "(x) n: axis? (-1), largest + 2 * sorted? (3) s: count");
}

}  // namespace
}  // namespace dyn::calls
