// The generator's insides, one class over several files: generator.cpp (the frame), generate_values.cpp
// (elementwise, folds), generate_shapes.cpp (movement, sizes that values decide), generate_control.cpp
// (branches, loops), generate_functions.cpp (recursion, data), generate_homes.cpp (what parts a value or a
// size from its home).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/differential/program.h"
#include "tests/fuzz/differential/random_source.h"

namespace dyn::differential {

inline constexpr int kMostBits = 22;  // exact f32 has room for so many before and behind the point
inline constexpr int kMostRank = 4;

inline bool isConstant(const Size& size) { return size[0] >= '0' && size[0] <= '9'; }

// Where statements are being made: the values they may use, and how deep it is.
struct Place {
  Body* body = nullptr;
  std::vector<int> values;
  int depth = 0;
};

class Generator {
 public:
  // Every third program is mostly made of what parts values and sizes from their homes.
  explicit Generator(uint64_t seed) : random_(seed), aimsAtHomes_(seed % 3 == 0) {}
  Program make();

 private:
  using Maker = bool (Generator::*)(Place&);
  using Filter = std::function<bool(const ValueInfo&)>;

  // --- values
  ValueInfo& info(int value) { return program_.values[static_cast<size_t>(value)]; }
  int newValue(ValueInfo made);
  Size unknown() { return "?" + std::to_string(unknowns_++); }
  int pick(const Place& place, const Filter& wanted);
  int add(Place& place, ValueInfo made, std::string text, std::vector<int> operands,
          std::vector<Body> bodies = {});
  std::string vectorText(const std::vector<int64_t>& elements);
  static bool isReal(const ValueInfo& i) { return i.dtype == Dtype::f32 || i.dtype == Dtype::f64; }
  static bool isWhole(const ValueInfo& i) { return i.dtype == Dtype::i64 || i.dtype == Dtype::i32; }
  static bool isNumber(const ValueInfo& i) { return isReal(i) || isWhole(i); }
  // Sure to be the same however it is computed: what may be compared, counted and used as an index.
  static bool isSure(const ValueInfo& i) { return !isReal(i) || i.exact; }
  static bool fits(const ValueInfo& i);
  std::string literal(const ValueInfo& like, int64_t value) {
    return std::string(toString(like.dtype)) + "[] " + std::to_string(value) + (isReal(like) ? ".0" : "");
  }

  // --- the program's frame
  void makeInputs();
  // Results: what nothing else uses, at most six.
  void chooseResults(Place& place);
  bool step(Place& place);

  // --- elementwise
  bool unary(Place& place);
  // The shape of x and y broadcast, or nothing where sizes differ that need not.
  std::optional<std::vector<Size>> broadcast(const std::vector<Size>& x, const std::vector<Size>& y);
  // A partner for x that broadcasts with it; sometimes one that does so only for some sizes: then both must
  // say so.
  int partner(const Place& place, int x, const Filter& also, std::vector<Size>* shape);
  bool binary(Place& place);
  bool comparison(Place& place);
  bool selection(Place& place);
  bool conversion(Place& place);

  // --- along axes
  int64_t axisOf(const ValueInfo& i) { return random_.number(0, static_cast<int64_t>(i.shape.size()) - 1); }
  static bool hasAxes(const ValueInfo& i) { return !i.shape.empty(); }
  bool reduction(Place& place);
  bool argument(Place& place);
  bool running(Place& place);
  bool softmax(Place& place);

  // --- movement
  bool transposed(Place& place);
  Size times(const Size& a, const Size& b);
  bool reshaped(Place& place);
  bool joined(Place& place);
  bool sliced(Place& place);
  bool divided(Place& place);
  // Each index is inside of its axis: of one that is not, and by which nothing is read, compiled code need
  // not know. An axis that may be empty gets an element more.
  bool gathered(Place& place);
  bool repeated(Place& place);
  bool padded(Place& place);
  bool triangle(Place& place);
  bool product(Place& place);
  // A matrix in compressed rows, times a dense one.
  bool sparseProduct(Place& place);

  // --- sizes and values of each other
  bool sizesAsValues(Place& place);
  bool counting(Place& place);
  // A whole number without axes, and an expression that keeps it in 0..4.
  int scalar(const Place& place) {
    return pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::i64 && i.shape.empty(); });
  }
  std::string few(const std::string& value) { return "max(min(" + value + ", i64[] 4), i64[] 0)"; }
  bool nonzero(Place& place);
  bool compressed(Place& place);
  bool distinct(Place& place);
  bool largest(Place& place);
  bool filled(Place& place);
  bool oneHot(Place& place);
  // Updates that all say the same, or are summed: their order does not matter.
  bool scattered(Place& place);

  // --- control flow
  // What is carried from iteration to iteration stays small and, when it is exact, exact.
  static ValueInfo carriedOf(ValueInfo i);
  int normalised(Place& place, int x);
  // A few statements over `values`, then something of the kind of `wanted`: of its dtype and, unless sizes
  // may change, its shape.
  enum class SizesOf : uint8_t { same, any };
  int bodyResult(Place& place, const ValueInfo& wanted, SizesOf sizes, int fallback);
  // Values handed into a body: parameters of their own, which look like them.
  std::vector<int> handIn(const std::vector<int>& outside, Body* body);
  std::vector<int> someValues(const Place& place, int64_t most);
  std::string marks(size_t count, size_t from = 0);
  bool branch(Place& place);
  bool loop(Place& place);

  // --- functions
  // @fN(x: Tensor[(p, q), f32]): a few statements that keep its size.
  std::string helper(size_t rank, bool exact);
  static std::string tensorText(size_t rank);
  int realOperand(Place& place, size_t leastRank = 0);
  bool callOfHelper(Place& place);
  // @rN(k, x): calls itself with k - 1 until k is 0; in tail position, or with more to do after the call.
  bool recursion(Place& place);
  void declare(const std::string& declaration);
  // A chain of tensors made by a loop, then walked: what is summed is the same in every order.
  bool chain(Place& place);
  // A tree grown by recursion and folded by recursion; its leaves keep their size.
  bool tree(Place& place);
  // Parts of different sizes in a list, changed one by one, and joined or folded.
  bool listOfParts(Place& place);

  // --- homes of values and sizes
  // least..4, as a value.
  int smallSize(Place& place, int64_t least);
  bool valueSized(Place& place);
  bool cutByValues(Place& place, int64_t kind, int p, int q);
  int someResult(Place& inner, const ValueInfo& wanted, SizesOf sizes, int fallback, int before);
  bool manyResults(Place& place);
  std::vector<int> carriedOn(Place& inner, const std::vector<int>& states, int outside, SizesOf sizes);
  bool manyCarried(Place& place);
  bool passedThrough(Place& place);
  bool sizeFromControl(Place& place);
  int listFromBranch(Place& place, int k, int parts, int x);
  bool sameInLists(Place& place);
  void addOddResults(Place& place);

  RandomSource random_;
  const bool aimsAtHomes_;
  Program program_;
  int unknowns_ = 0;
};

}  // namespace dyn::differential
