#include "tests/fuzz/differential/generator.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "tests/fuzz/differential/random_source.h"

namespace dyn::differential {

namespace {

// Exact f32 has room for this many bits before and behind the point.
constexpr int kMostBits = 22;
constexpr int kMostRank = 4;

bool isConstant(const Size& size) { return size[0] >= '0' && size[0] <= '9'; }

// Where statements are being made: the values they may use, and what a deeper one costs.
struct Place {
  Body* body = nullptr;
  std::vector<int> values;
  int depth = 0;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Program make() {
    makeInputs();
    Place main{&program_.main, program_.inputs, 0};
    const int64_t count = random_.number(4, 16);
    for (int64_t i = 0; i < count; ++i) step(main);
    chooseResults(main);
    return withoutDeadCode(std::move(program_));
  }

 private:
  using Maker = bool (Generator::*)(Place&);
  using Filter = std::function<bool(const ValueInfo&)>;

  // --- values
  ValueInfo& info(int value) { return program_.values[static_cast<size_t>(value)]; }
  int newValue(ValueInfo made) {
    program_.values.push_back(std::move(made));
    return static_cast<int>(program_.values.size()) - 1;
  }
  Size unknown() { return "?" + std::to_string(unknowns_++); }
  int pick(const Place& place, const Filter& wanted) {
    std::vector<int> fitting;
    for (int value : place.values) {
      const ValueInfo& candidate = program_.values[static_cast<size_t>(value)];
      if (candidate.type.empty() && wanted(candidate)) fitting.push_back(value);
    }
    // Values made last are taken more often: programs become deep, not only wide.
    if (fitting.empty()) return -1;
    if (random_.chance(40)) return fitting.back();
    return random_.of(fitting);
  }
  int add(Place& place, ValueInfo made, std::string text, std::vector<int> operands,
          std::vector<Body> bodies = {}) {
    const int value = newValue(std::move(made));
    place.body->statements.push_back({{value}, std::move(operands), std::move(text), std::move(bodies)});
    place.values.push_back(value);
    return value;
  }
  std::string vectorText(const std::vector<int64_t>& elements) {
    std::string text = "i64[" + std::to_string(elements.size()) + "] [";
    for (size_t i = 0; i < elements.size(); ++i) text += (i ? ", " : "") + std::to_string(elements[i]);
    return text + "]";
  }
  static bool isReal(const ValueInfo& i) { return i.dtype == Dtype::f32 || i.dtype == Dtype::f64; }
  static bool isWhole(const ValueInfo& i) { return i.dtype == Dtype::i64 || i.dtype == Dtype::i32; }
  static bool isNumber(const ValueInfo& i) { return isReal(i) || isWhole(i); }
  // Sure to be the same however it is computed: what may be compared, counted and used as an index.
  static bool isSure(const ValueInfo& i) { return !isReal(i) || i.exact; }
  static bool fits(const ValueInfo& i) {
    if (isWhole(i)) return i.wholeBits <= 28;
    return !isReal(i) || (i.exact ? i.wholeBits + i.fractionBits <= kMostBits : i.wholeBits <= 8);
  }
  std::string literal(const ValueInfo& like, int64_t value) {
    return std::string(toString(like.dtype)) + "[] " + std::to_string(value) + (isReal(like) ? ".0" : "");
  }

  // --- the program's frame
  void makeInputs() {
    const std::vector<Size> sizes = {"a", "a", "b", "b", "c", "1", "2", "3", "5", "8"};
    const std::vector<Dtype> dtypes = {Dtype::f32, Dtype::f32, Dtype::f32,    Dtype::i64,
                                       Dtype::i32, Dtype::f64, Dtype::boolean};
    for (int64_t i = random_.number(1, 3); i >= 0; --i) {
      ValueInfo input;
      input.dtype = i == 0 ? Dtype::f32 : random_.of(dtypes);
      for (int64_t rank = random_.number(i == 0 ? 1 : 0, 3); rank > 0; --rank)
        input.shape.push_back(random_.of(sizes));
      if (input.dtype == Dtype::boolean) input.wholeBits = 1, input.fractionBits = 0;
      if (isWhole(input)) input.wholeBits = 3, input.fractionBits = 0;
      program_.inputs.push_back(newValue(input));
    }
    ValueInfo count;  // 0..4: trips, conditions, positions
    count.dtype = Dtype::i64;
    count.wholeBits = 3;
    count.fractionBits = 0;
    program_.inputs.push_back(newValue(count));
  }

  // Results: what nothing else uses, at most six.
  void chooseResults(Place& place) {
    std::vector<int> used;
    for (const Statement& s : place.body->statements)
      used.insert(used.end(), s.operands.begin(), s.operands.end());
    for (size_t i = place.values.size(); i-- > 0 && program_.main.results.size() < 6;) {
      const int value = place.values[i];
      const bool isInput = std::count(program_.inputs.begin(), program_.inputs.end(), value) > 0;
      if (info(value).type.empty() && !isInput && std::count(used.begin(), used.end(), value) == 0)
        program_.main.results.push_back(value);
    }
    if (program_.main.results.empty()) program_.main.results.push_back(program_.inputs[0]);
  }

  bool step(Place& place) {
    struct Row {
      int weight;
      Maker maker;
      bool control;
    };
    static const std::vector<Row> kRows = {
        {8, &Generator::unary, false},       {12, &Generator::binary, false},
        {4, &Generator::comparison, false},  {3, &Generator::selection, false},
        {5, &Generator::conversion, false},  {8, &Generator::reduction, false},
        {2, &Generator::argument, false},    {2, &Generator::running, false},
        {3, &Generator::softmax, false},     {5, &Generator::transposed, false},
        {6, &Generator::reshaped, false},    {4, &Generator::joined, false},
        {5, &Generator::sliced, false},      {2, &Generator::divided, false},
        {4, &Generator::gathered, false},    {2, &Generator::repeated, false},
        {2, &Generator::padded, false},      {2, &Generator::triangle, false},
        {6, &Generator::product, false},     {2, &Generator::sizesAsValues, false},
        {2, &Generator::counting, false},    {2, &Generator::nonzero, false},
        {2, &Generator::compressed, false},  {2, &Generator::distinct, false},
        {2, &Generator::largest, false},     {2, &Generator::filled, false},
        {2, &Generator::oneHot, false},      {2, &Generator::scattered, false},
        {5, &Generator::branch, true},       {5, &Generator::loop, true},
        {3, &Generator::callOfHelper, true}, {3, &Generator::recursion, true},
        {3, &Generator::chain, true},        {2, &Generator::tree, true},
        {3, &Generator::listOfParts, true}};
    int total = 0;
    for (const Row& row : kRows) total += row.control && place.depth >= 2 ? 0 : row.weight;
    for (int attempt = 0; attempt < 20; ++attempt) {
      int64_t chosen = random_.number(0, total - 1);
      for (const Row& row : kRows) {
        if (row.control && place.depth >= 2) continue;
        chosen -= row.weight;
        if (chosen >= 0) continue;
        if ((this->*row.maker)(place)) return true;
        break;
      }
    }
    return false;
  }

  // --- elementwise
  bool unary(Place& place) {
    const int x = pick(place, isNumber);
    if (x < 0) return false;
    ValueInfo made = info(x);
    std::vector<std::string> names = {"neg", "abs", "sign"};
    if (made.dtype == Dtype::f32)
      names = {"neg", "abs", "relu", "tanh", "sigmoid", "sin", "sqrt", "floor", "round"};
    const std::string name = random_.of(names);
    if ((name == "sign" || name == "floor" || name == "round" || name == "sqrt") && !isSure(made))
      return false;
    if (name == "sign") made.wholeBits = 1, made.fractionBits = 0;
    if (name == "floor" || name == "round") ++made.wholeBits, made.fractionBits = 0;
    if (name == "tanh" || name == "sigmoid" || name == "sin") made.exact = false, made.wholeBits = 1;
    if (name == "sqrt") made.exact = false;
    add(place, made, name == "sqrt" ? "sqrt(abs($0))" : name + "($0)", {x});
    return true;
  }

  // The shape of x and y broadcast, or nothing where sizes differ that need not.
  std::optional<std::vector<Size>> broadcast(const std::vector<Size>& x, const std::vector<Size>& y) {
    std::vector<Size> shape;
    for (size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
      const Size one = "1";
      const Size& a = i < x.size() ? x[x.size() - 1 - i] : one;
      const Size& b = i < y.size() ? y[y.size() - 1 - i] : one;
      if (a != b && a != "1" && b != "1") return std::nullopt;
      shape.insert(shape.begin(), a == "1" ? b : a);
    }
    return shape;
  }

  // A partner for x that broadcasts with it; sometimes one that does so only for some sizes: then both must say so.
  int partner(const Place& place, int x, const Filter& also, std::vector<Size>* shape) {
    const ValueInfo& left = info(x);
    const int y = pick(place, [&](const ValueInfo& i) {
      return i.dtype == left.dtype && also(i) && broadcast(left.shape, i.shape).has_value();
    });
    if (y >= 0 && !random_.chance(3)) {
      *shape = *broadcast(left.shape, info(y).shape);
      return y;
    }
    const int risky = pick(place, [&](const ValueInfo& i) {
      if (i.dtype != left.dtype || !also(i) || i.shape.size() != left.shape.size()) return false;
      for (size_t k = 0; k < i.shape.size(); ++k)
        if (i.shape[k] != left.shape[k] && (isConstant(i.shape[k]) || isConstant(left.shape[k])))
          return false;
      return true;
    });
    if (risky < 0 || !random_.chance(20)) return -1;
    shape->clear();
    for (size_t k = 0; k < left.shape.size(); ++k)
      shape->push_back(left.shape[k] == info(risky).shape[k] ? left.shape[k] : unknown());
    return risky;
  }

  bool binary(Place& place) {
    const int x = pick(place, isNumber);
    if (x < 0) return false;
    ValueInfo made = info(x);
    const std::string name =
        random_.of(std::vector<std::string>{"add", "sub", "mul", "min", "max", "add", "mul"});
    ValueInfo other = made;
    std::string text = name + "($0, $1)";
    std::vector<int> operands = {x};
    if (random_.chance(20)) {
      text = name + "($0, " + literal(made, random_.number(-2, 3)) + ")";
      if (random_.chance(30)) text = name + "(" + literal(made, random_.number(-2, 3)) + ", $0)";
      other.exact = true, other.wholeBits = 2, other.fractionBits = 0;
    } else {
      const int y = partner(place, x, isNumber, &made.shape);
      if (y < 0) return false;
      other = info(y);
      operands.push_back(y);
    }
    made.exact = made.exact && other.exact;
    if (name == "mul") {
      made.wholeBits += other.wholeBits, made.fractionBits += other.fractionBits;
    } else {
      made.wholeBits = std::max(made.wholeBits, other.wholeBits) + (name == "add" || name == "sub");
      made.fractionBits = std::max(made.fractionBits, other.fractionBits);
    }
    if (!fits(made) || static_cast<int>(made.shape.size()) > kMostRank) return false;
    add(place, made, text, operands);
    return true;
  }

  bool comparison(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isSure(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    std::vector<Size> shape = made.shape;
    std::vector<int> operands = {x};
    std::string text;
    if (made.dtype == Dtype::boolean) {
      if (random_.chance(30)) {
        text = "logical_not($0)";
      } else {
        const int y = partner(place, x, isSure, &shape);
        if (y < 0) return false;
        operands.push_back(y);
        text = random_.of(std::vector<std::string>{"logical_and", "logical_or", "logical_xor"}) + "($0, $1)";
      }
    } else {
      const std::string name =
          random_.of(std::vector<std::string>{"less", "greater_equal", "equal", "greater"});
      if (random_.chance(40)) {
        text = name + "($0, " + literal(made, random_.number(-1, 2)) + ")";
      } else {
        const int y = partner(place, x, isSure, &shape);
        if (y < 0) return false;
        operands.push_back(y);
        text = name + "($0, $1)";
      }
    }
    add(place, {.dtype = Dtype::boolean, .shape = shape, .wholeBits = 1, .fractionBits = 0}, text, operands);
    return true;
  }

  bool selection(Place& place) {
    const int c = pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::boolean; });
    const int x = pick(place, isNumber);
    if (c < 0 || x < 0) return false;
    const std::optional<std::vector<Size>> shape = broadcast(info(c).shape, info(x).shape);
    if (!shape || static_cast<int>(shape->size()) > kMostRank) return false;
    ValueInfo made = info(x);
    std::vector<int> operands = {c, x};
    std::string text = "where($0, $1, " + literal(made, random_.number(-1, 1)) + ")";
    made.shape = *shape;
    const int y = pick(place, [&](const ValueInfo& i) {
      return i.dtype == made.dtype && broadcast(made.shape, i.shape).has_value();
    });
    if (y >= 0 && random_.chance(70)) {
      operands.push_back(y);
      text = random_.chance(50) ? "where($0, $1, $2)" : "where($0, $2, $1)";
      made.shape = *broadcast(made.shape, info(y).shape);
      made.exact = made.exact && info(y).exact;
      made.wholeBits = std::max(made.wholeBits, info(y).wholeBits);
      made.fractionBits = std::max(made.fractionBits, info(y).fractionBits);
      if (!fits(made)) return false;
    }
    add(place, made, text, operands);
    return true;
  }

  bool conversion(Place& place) {
    const int x = pick(place, isSure);
    if (x < 0) return false;
    ValueInfo made = info(x);
    made.dtype = random_.of(std::vector<Dtype>{Dtype::f32, Dtype::f32, Dtype::i64, Dtype::i32, Dtype::f64});
    if (made.dtype == info(x).dtype) return false;
    if (isWhole(made)) made.fractionBits = 0;
    if (!fits(made)) return false;
    add(place, made, "cast($0) {to = " + std::string(toString(made.dtype)) + "}", {x});
    return true;
  }

  // --- along axes
  int64_t axisOf(const ValueInfo& i) { return random_.number(0, static_cast<int64_t>(i.shape.size()) - 1); }
  static bool hasAxes(const ValueInfo& i) { return !i.shape.empty(); }

  bool reduction(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    std::string name = random_.of(
        std::vector<std::string>{"reduce_sum", "reduce_sum", "reduce_max", "reduce_min", "reduce_mean"});
    if (name == "reduce_mean" && !isReal(made)) name = "reduce_max";
    if (name == "reduce_sum") made.wholeBits += 8;
    if (name == "reduce_mean") made.exact = false;
    if (!fits(made)) return false;
    const bool keep = random_.chance(40);
    std::vector<int64_t> axes;
    std::vector<Size> shape;
    const bool all = random_.chance(20);
    for (size_t k = 0; k < made.shape.size(); ++k) {
      const bool folded = all || random_.chance(45) || (axes.empty() && k + 1 == made.shape.size());
      if (folded) axes.push_back(static_cast<int64_t>(k));
      if (!folded) shape.push_back(made.shape[k]);
      if (folded && keep) shape.push_back("1");
    }
    made.shape = shape;
    if (random_.chance(30))
      for (int64_t& axis : axes) axis -= static_cast<int64_t>(info(x).shape.size());
    add(place, made,
        name + "($0" + (all ? "" : ", " + vectorText(axes)) + ") {keepdims = " + (keep ? "1" : "0") + "}",
        {x});
    return true;
  }

  bool argument(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && isSure(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    const int64_t axis = axisOf(made);
    const bool keep = random_.chance(40);
    if (keep)
      made.shape[static_cast<size_t>(axis)] = "1";
    else
      made.shape.erase(made.shape.begin() + axis);
    made.dtype = Dtype::i64, made.exact = true, made.wholeBits = 10, made.fractionBits = 0;
    add(place, made,
        std::string(random_.chance(50) ? "argmax" : "argmin") + "($0) {axis = " + std::to_string(axis) +
            ", keepdims = " + (keep ? "1" : "0") + "}",
        {x});
    return true;
  }

  bool running(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    made.wholeBits += 8;
    if (!fits(made)) return false;
    add(place, made,
        "cumsum($0, i64[] " + std::to_string(axisOf(made)) +
            ") {exclusive = " + std::to_string(random_.number(0, 1)) +
            ", reverse = " + std::to_string(random_.number(0, 1)) + "}",
        {x});
    return true;
  }

  bool softmax(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::f32 && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    made.exact = false, made.wholeBits = 1;
    add(place, made, "softmax($0) {axis = " + std::to_string(axisOf(made)) + "}", {x});
    return true;
  }

  // --- movement
  bool transposed(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return i.shape.size() >= 2; });
    if (x < 0) return false;
    ValueInfo made = info(x);
    std::vector<int64_t> perm;
    for (size_t k = 0; k < made.shape.size(); ++k)
      perm.insert(perm.begin() + random_.number(0, static_cast<int64_t>(k)), static_cast<int64_t>(k));
    std::string text = "transpose($0) {perm = [";
    for (size_t k = 0; k < perm.size(); ++k) {
      text += (k ? ", " : "") + std::to_string(perm[k]);
      made.shape[k] = info(x).shape[static_cast<size_t>(perm[k])];
    }
    add(place, made, text + "]}", {x});
    return true;
  }

  Size times(const Size& a, const Size& b) {
    if (a == "1") return b;
    if (b == "1") return a;
    if (isConstant(a) && isConstant(b)) return std::to_string(std::stoll(a) * std::stoll(b));
    return "(" + a + "*" + b + ")";
  }

  bool reshaped(Place& place) {
    const int x = pick(place, [](const ValueInfo&) { return true; });
    if (x < 0) return false;
    ValueInfo made = info(x);
    const size_t rank = made.shape.size();
    switch (random_.number(0, 5)) {
      case 0: {  // flat
        Size all = "1";
        for (const Size& size : made.shape) all = times(all, size);
        made.shape = {all};
        add(place, made, "reshape($0, i64[1] [-1])", {x});
        return true;
      }
      case 1: {  // two axes become one; 0 copies a dim
        if (rank < 2) return false;
        const int64_t at = random_.number(0, static_cast<int64_t>(rank) - 2);
        std::vector<int64_t> target;
        std::vector<Size> shape;
        for (int64_t k = 0; k < static_cast<int64_t>(rank); ++k) {
          if (k == at + 1) continue;
          target.push_back(k == at ? -1 : 0);
          shape.push_back(
              k == at ? times(made.shape[static_cast<size_t>(k)], made.shape[static_cast<size_t>(k) + 1])
                      : made.shape[static_cast<size_t>(k)]);
        }
        if (at + 2 < static_cast<int64_t>(rank)) return false;  // behind it 0 would copy another dim
        made.shape = shape;
        add(place, made, "reshape($0, " + vectorText(target) + ")", {x});
        return true;
      }
      case 2: {  // sizes changed about, computed from the shape
        if (rank != 2) return false;
        std::swap(made.shape[0], made.shape[1]);
        add(place, made, "reshape($0, gather(shape($0), i64[2] [1, 0]))", {x});
        return true;
      }
      case 3: {  // in rows of a number that need not divide
        Size all = "1";
        for (const Size& size : made.shape) all = times(all, size);
        const int64_t width = random_.number(1, 3);
        made.shape = {unknown(), std::to_string(width)};
        if (isConstant(all)) made.shape[0] = std::to_string(std::stoll(all) / width);
        if (isConstant(all) && std::stoll(all) % width != 0) return false;
        if (width > 1 && !isConstant(all) && !random_.chance(25)) return false;
        if (width == 1) made.shape[0] = all;
        add(place, made, "reshape($0, " + vectorText({-1, width}) + ")", {x});
        return true;
      }
      case 4: {
        if (rank >= kMostRank) return false;
        const int64_t at = random_.number(0, static_cast<int64_t>(rank));
        made.shape.insert(made.shape.begin() + at, "1");
        add(place, made, "unsqueeze($0, " + vectorText({at}) + ")", {x});
        return true;
      }
      default: {
        const auto one = std::find(made.shape.begin(), made.shape.end(), "1");
        if (one == made.shape.end()) return false;
        const int64_t at = one - made.shape.begin();
        made.shape.erase(one);
        add(place, made, "squeeze($0, " + vectorText({at}) + ")", {x});
        return true;
      }
    }
  }

  bool joined(Place& place) {
    const int x = pick(place, hasAxes);
    if (x < 0) return false;
    ValueInfo made = info(x);
    const int64_t axis = axisOf(made);
    std::vector<int> operands = {x};
    Size size = made.shape[static_cast<size_t>(axis)];
    for (int64_t count = random_.number(1, 2); count > 0; --count) {
      const int y = pick(place, [&](const ValueInfo& i) {
        if (i.dtype != made.dtype || i.shape.size() != made.shape.size()) return false;
        for (size_t k = 0; k < i.shape.size(); ++k)
          if (static_cast<int64_t>(k) != axis && i.shape[k] != made.shape[k]) return false;
        return true;
      });
      const Size& more = info(y).shape[static_cast<size_t>(axis)];
      size = isConstant(size) && isConstant(more) ? std::to_string(std::stoll(size) + std::stoll(more))
                                                  : "(" + size + "+" + more + ")";
      operands.push_back(y);
      made.exact = made.exact && info(y).exact;
      made.wholeBits = std::max(made.wholeBits, info(y).wholeBits);
      made.fractionBits = std::max(made.fractionBits, info(y).fractionBits);
    }
    if (!fits(made)) return false;
    made.shape[static_cast<size_t>(axis)] = size;
    std::string text = "concat($0, $1" + std::string(operands.size() > 2 ? ", $2" : "");
    add(place, made, text + ") {axis = " + std::to_string(axis) + "}", operands);
    return true;
  }

  bool sliced(Place& place) {
    const int x = pick(place, hasAxes);
    if (x < 0) return false;
    ValueInfo made = info(x);
    const int64_t axis = axisOf(made);
    int64_t start = random_.number(-3, 3), end = random_.number(-2, 5), stride = random_.number(1, 2);
    Size size = unknown();
    if (random_.chance(25)) {
      start = -1, end = INT64_MIN + 1, stride = -1;  // backward, all of it
      size = made.shape[static_cast<size_t>(axis)];
    }
    made.shape[static_cast<size_t>(axis)] = size;
    add(place, made,
        "slice($0, " + vectorText({start}) + ", " + vectorText({end}) + ", " + vectorText({axis}) + ", " +
            vectorText({stride}) + ")",
        {x});
    return true;
  }

  bool divided(Place& place) {
    const int x = pick(place, hasAxes);
    if (x < 0) return false;
    ValueInfo made = info(x);
    const int64_t axis = axisOf(made);
    Statement s;
    s.operands = {x};
    s.text = "split($0) {axis = " + std::to_string(axis) + "}";
    for (int part = 0; part < 2; ++part) {
      ValueInfo piece = made;
      piece.shape[static_cast<size_t>(axis)] = unknown();
      s.results.push_back(newValue(piece));
      place.values.push_back(s.results.back());
    }
    place.body->statements.push_back(std::move(s));
    return true;
  }

  // Each index is inside of its axis: of one that is not, and by which nothing is read, compiled code need not know. An axis that may be
  // empty gets an element more.
  bool gathered(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    const int64_t axis = axisOf(made);
    const Size size = made.shape[static_cast<size_t>(axis)];
    const bool filled = isConstant(size) && size != "0";
    if (!filled && !isNumber(made)) return false;
    std::string from = "$0", within = "gather(shape($0), i64[] " + std::to_string(axis) + ")";
    if (!filled) {
      std::vector<int64_t> more(2 * made.shape.size(), 0);
      more[made.shape.size() + static_cast<size_t>(axis)] = 1;
      from = "pad($0, " + vectorText(more) + ", " + literal(made, 1) + ")";
      within = "add(" + within + ", i64[] 1)";
    }
    const std::string attribute = ") {axis = " + std::to_string(axis) + "}";
    std::vector<Size> shape(made.shape.begin(), made.shape.begin() + axis);
    const int i = pick(place, [&](const ValueInfo& v) {
      return isWhole(v) && v.shape.size() + made.shape.size() <= kMostRank + 1;
    });
    std::vector<int> operands = {x};
    std::string text = "gather(" + from + ", i64[] " + std::to_string(random_.number(-1, 0)) + attribute;
    if (i >= 0 && random_.chance(75)) {
      shape.insert(shape.end(), info(i).shape.begin(), info(i).shape.end());
      operands.push_back(i);
      text = "gather(" + from + ", mod(cast($1) {to = i64}, " + within + ")" + attribute;
    }
    shape.insert(shape.end(), made.shape.begin() + axis + 1, made.shape.end());
    made.shape = shape;
    add(place, made, text, operands);
    return true;
  }

  bool repeated(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return hasAxes(i) && i.shape.size() <= 2; });
    if (x < 0) return false;
    ValueInfo made = info(x);
    const int y = pick(place, [&](const ValueInfo& i) { return broadcast(made.shape, i.shape).has_value(); });
    if (y >= 0 && random_.chance(60)) {
      made.shape = *broadcast(made.shape, info(y).shape);
      if (static_cast<int>(made.shape.size()) > kMostRank) return false;
      add(place, made, "expand($0, shape($1))", {x, y});
      return true;
    }
    std::vector<int64_t> repeats;
    for (Size& size : made.shape) {
      repeats.push_back(random_.number(0, 3));
      size = times(std::to_string(repeats.back()), size);
      if (repeats.back() == 0) size = "0";
    }
    add(place, made, "tile($0, " + vectorText(repeats) + ")", {x});
    return true;
  }

  bool padded(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    std::vector<int64_t> before, after;
    for (Size& size : made.shape) {
      before.push_back(random_.number(0, 2));
      after.push_back(random_.number(0, 1));
      const int64_t more = before.back() + after.back();
      if (more > 0)
        size = isConstant(size) ? std::to_string(std::stoll(size) + more)
                                : "(" + size + "+" + std::to_string(more) + ")";
    }
    before.insert(before.end(), after.begin(), after.end());
    add(place, made, "pad($0, " + vectorText(before) + ", " + literal(made, random_.number(-1, 1)) + ")",
        {x});
    return true;
  }

  bool triangle(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && i.shape.size() >= 2; });
    if (x < 0) return false;
    add(place, info(x),
        "trilu($0, i64[] " + std::to_string(random_.number(-1, 1)) +
            ") {upper = " + std::to_string(random_.number(0, 1)) + "}",
        {x});
    return true;
  }

  bool product(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isReal(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made = info(x);
    const Size inner = made.shape.back();
    const int y = pick(place, [&](const ValueInfo& i) {
      return i.dtype == made.dtype && i.shape.size() == 2 && i.shape[0] == inner;
    });
    const bool other = y >= 0 && random_.chance(80);
    if (!other && made.shape.size() < 2) return false;
    made.wholeBits += (other ? info(y).wholeBits : made.wholeBits) + 5;
    made.fractionBits += other ? info(y).fractionBits : made.fractionBits;
    made.exact = made.exact && (!other || info(y).exact);
    if (!fits(made)) return false;
    if (other) {
      made.shape.back() = info(y).shape[1];
      add(place, made, "matmul($0, $1)", {x, y});
    } else {
      made.shape.back() = made.shape[made.shape.size() - 2];
      add(place, made, "matmul($0, $0) {transpose_b = 1}", {x});
    }
    return true;
  }

  // --- sizes and values of each other
  bool sizesAsValues(Place& place) {
    const int x = pick(place, hasAxes);
    if (x < 0) return false;
    ValueInfo made;
    made.dtype = Dtype::i64, made.wholeBits = 12, made.fractionBits = 0;
    if (random_.chance(50)) {
      made.shape = {std::to_string(info(x).shape.size())};
      add(place, made, "shape($0)", {x});
    } else {
      add(place, made, "gather(shape($0), i64[] " + std::to_string(axisOf(info(x))) + ")", {x});
    }
    return true;
  }

  bool counting(Place& place) {
    ValueInfo made;
    made.dtype = Dtype::i64, made.wholeBits = 10, made.fractionBits = 0;
    const int x = pick(place, hasAxes);
    if (x >= 0 && random_.chance(60)) {
      const int64_t axis = axisOf(info(x));
      made.shape = {info(x).shape[static_cast<size_t>(axis)]};
      add(place, made, "range(i64[] 0, gather(shape($0), i64[] " + std::to_string(axis) + "), i64[] 1)", {x});
      return true;
    }
    const int k = scalar(place);
    if (k < 0) return false;
    made.shape = {unknown()};
    add(place, made,
        "range(i64[] " + std::to_string(random_.number(-1, 1)) + ", " + few("$0") + ", i64[] " +
            std::to_string(random_.number(1, 2)) + ")",
        {k});
    return true;
  }
  // A whole number without axes, and an expression that keeps it in 0..4.
  int scalar(const Place& place) {
    return pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::i64 && i.shape.empty(); });
  }
  std::string few(const std::string& value) { return "max(min(" + value + ", i64[] 4), i64[] 0)"; }

  bool nonzero(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isSure(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo made;
    made.dtype = Dtype::i64, made.wholeBits = 10, made.fractionBits = 0;
    made.shape = {std::to_string(info(x).shape.size()), unknown()};
    add(place, made, "nonzero($0)", {x});
    return true;
  }

  bool compressed(Place& place) {
    const int c =
        pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::boolean && i.shape.size() == 1; });
    if (c < 0) return false;
    const Size size = info(c).shape[0];
    const int x =
        pick(place, [&](const ValueInfo& i) { return std::count(i.shape.begin(), i.shape.end(), size) > 0; });
    if (x < 0) return false;
    ValueInfo made = info(x);
    const auto at = std::find(made.shape.begin(), made.shape.end(), size);
    const int64_t axis = at - made.shape.begin();
    *at = unknown();
    add(place, made, "compress($0, $1) {axis = " + std::to_string(axis) + "}", {x, c});
    return true;
  }

  bool distinct(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && isSure(i); });
    if (x < 0) return false;
    ValueInfo values = info(x), places;
    Size all = "1";
    for (const Size& size : values.shape) all = times(all, size);
    values.shape = {unknown()};
    places.dtype = Dtype::i64, places.wholeBits = 10, places.fractionBits = 0, places.shape = values.shape;
    Statement s;
    s.operands = {x};
    s.text = "unique($0) {sorted = " + std::to_string(random_.number(0, 1)) + "}";
    s.results = {newValue(values), newValue(places)};
    ValueInfo numbers = places;
    numbers.shape = {all};
    s.results.push_back(newValue(numbers));
    s.results.push_back(newValue(places));
    place.values.insert(place.values.end(), s.results.begin(), s.results.end());
    place.body->statements.push_back(std::move(s));
    return true;
  }

  bool largest(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && isSure(i) && hasAxes(i); });
    if (x < 0) return false;
    ValueInfo values = info(x);
    const int64_t axis = axisOf(values);
    values.shape[static_cast<size_t>(axis)] = unknown();
    ValueInfo places = values;
    places.dtype = Dtype::i64, places.wholeBits = 10, places.fractionBits = 0;
    Statement s;
    s.operands = {x};
    s.text = "topk($0, min(gather(shape($0), " + vectorText({axis}) + "), " +
             vectorText({random_.number(0, 3)}) + ")) {axis = " + std::to_string(axis) +
             ", largest = " + std::to_string(random_.number(0, 1)) + "}";
    s.results = {newValue(values), newValue(places)};
    place.values.insert(place.values.end(), s.results.begin(), s.results.end());
    place.body->statements.push_back(std::move(s));
    return true;
  }

  bool filled(Place& place) {
    const int x = pick(place, hasAxes);
    if (x < 0) return false;
    ValueInfo made;
    made.shape = info(x).shape;
    made.fractionBits = 1;
    add(place, made,
        "constant_of_shape(shape($0)) {value = f32[1] [" + std::to_string(random_.number(-1, 1)) + ".5]}",
        {x});
    return true;
  }

  bool oneHot(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isWhole(i) && i.shape.size() < kMostRank; });
    if (x < 0) return false;
    ValueInfo made;
    made.shape = info(x).shape;
    made.wholeBits = 1, made.fractionBits = 0;
    made.shape.push_back("3");
    add(place, made, "one_hot($0, i64[] 3, f32[2] [0.0, 1.0]) {axis = -1}", {x});
    return true;
  }

  // Updates that all say the same, or are summed: their order does not matter.
  bool scattered(Place& place) {
    const int x = pick(place, [](const ValueInfo& i) { return isReal(i) && i.shape.size() == 1; });
    const int i =
        pick(place, [](const ValueInfo& v) { return v.dtype == Dtype::i64 && v.shape.size() == 1; });
    if (x < 0 || i < 0) return false;
    ValueInfo made = info(x);
    made.wholeBits += 6;
    if (!fits(made)) return false;
    const std::string inside = "mod($1, max(gather(shape($0), i64[] 0), i64[] 1))";
    add(place, made,
        "scatter_elements($0, " + inside +
            ", cast(greater($1, i64[] -99)) {to = " + std::string(toString(made.dtype)) +
            "}) {axis = 0, reduction = \"" + (random_.chance(50) ? "add" : "max") + "\"}",
        {x, i});
    return true;
  }

  // --- control flow
  // What is carried from turn to turn stays small and, when it is exact, exact.
  static ValueInfo carriedOf(ValueInfo i) {
    if (isReal(i)) i.wholeBits = 3, i.fractionBits = 1;
    if (isWhole(i)) i.wholeBits = 3, i.fractionBits = 0;
    return i;
  }
  int normalised(Place& place, int x) {
    const ValueInfo from = info(x);
    ValueInfo made = carriedOf(from);
    if (from.dtype == Dtype::boolean) return x;
    if (isWhole(from)) return add(place, made, "mod($0, " + literal(from, 7) + ")", {x});
    if (!from.exact)
      return add(place, made, from.dtype == Dtype::f32 ? "tanh($0)" : "clip($0, f64[] -4.0, f64[] 4.0)", {x});
    const std::string kept = "clip($0, " + literal(from, -4) + ", " + literal(from, 4) + ")";
    return add(place, made, from.fractionBits > 1 ? "floor(" + kept + ")" : kept, {x});
  }

  // A few statements over `values`, then something of the kind of `wanted`: of its dtype and, unless sizes may change, its shape.
  enum class SizesOf : uint8_t { same, any };
  int bodyResult(Place& place, const ValueInfo& wanted, SizesOf sizes, int fallback) {
    for (int64_t count = random_.number(1, 4); count > 0; --count) step(place);
    const int found = pick(place, [&](const ValueInfo& i) {
      return i.dtype == wanted.dtype && i.shape.size() == wanted.shape.size() &&
             (sizes == SizesOf::any || i.shape == wanted.shape) && (wanted.exact ? i.exact : true);
    });
    return normalised(place, found < 0 ? fallback : found);
  }

  // Values handed into a body: parameters of their own, which look like them.
  std::vector<int> handIn(const std::vector<int>& outside, Body* body) {
    std::vector<int> inside;
    for (int value : outside) inside.push_back(newValue(info(value)));
    body->parameters.insert(body->parameters.end(), inside.begin(), inside.end());
    return inside;
  }
  std::vector<int> someValues(const Place& place, int64_t most) {
    std::vector<int> chosen;
    for (int64_t count = random_.number(1, most); count > 0; --count) {
      const int value = pick(place, [](const ValueInfo&) { return true; });
      if (value >= 0 && std::count(chosen.begin(), chosen.end(), value) == 0) chosen.push_back(value);
    }
    return chosen;
  }
  std::string marks(size_t count, size_t from = 0) {
    std::string text;
    for (size_t i = from; i < from + count; ++i) text += (i > from ? ", $" : "$") + std::to_string(i);
    return text;
  }

  bool branch(Place& place) {
    const int x = pick(place, [](const ValueInfo&) { return true; });
    if (x < 0) return false;
    std::vector<int> operands;
    const int condition =
        pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::boolean && i.shape.empty(); });
    const int k = scalar(place);
    std::string text = "if($0";
    if (condition >= 0 && random_.chance(60)) {
      operands.push_back(condition);
    } else if (k >= 0) {
      operands.push_back(k);
      text = "if(less($0, i64[] 2)";
    } else {
      return false;
    }
    std::vector<int> captures = someValues(place, 3);
    captures.push_back(x);
    operands.insert(operands.end(), captures.begin(), captures.end());
    ValueInfo made = carriedOf(info(x));
    std::vector<Body> bodies(2);
    const SizesOf sizes = random_.chance(50) ? SizesOf::any : SizesOf::same;
    std::vector<Size> shapes[2];
    for (int side = 0; side < 2; ++side) {
      bodies[static_cast<size_t>(side)].word = side == 0 ? "then" : "else";
      Place inner{&bodies[static_cast<size_t>(side)], {}, place.depth + 1};
      inner.values = handIn(captures, inner.body);
      const int result = bodyResult(inner, info(x), sizes, inner.values.back());
      inner.body->results = {result};
      shapes[side] = info(result).shape;
    }
    for (size_t i = 0; i < made.shape.size(); ++i)
      made.shape[i] = shapes[0][i] == shapes[1][i] && shapes[0][i][0] != '?' ? shapes[0][i] : unknown();
    add(place, made, text + ", " + marks(captures.size(), 1) + ")", operands, bodies);
    return true;
  }

  bool loop(Place& place) {
    const int x = pick(place, [](const ValueInfo&) { return true; });
    const int k = scalar(place);
    if (x < 0) return false;
    const bool counted = k >= 0 && random_.chance(70);
    const bool grows = random_.chance(35);
    const int start = normalised(place, x);
    std::vector<int> captures = someValues(place, 2);
    std::vector<int> operands;
    std::string trip = "i64[] " + std::to_string(random_.number(0, 4));
    if (counted) operands.push_back(k), trip = few("$0");
    operands.push_back(start);
    operands.insert(operands.end(), captures.begin(), captures.end());

    Body body;
    body.word = "body";
    ValueInfo iteration;
    iteration.dtype = Dtype::i64, iteration.wholeBits = 3, iteration.fractionBits = 0;
    const int i = newValue(iteration);
    body.parameters = {i};
    ValueInfo carried = info(start);
    if (grows)
      for (Size& size : carried.shape) size = unknown();
    const int state = newValue(carried);
    body.parameters.push_back(state);
    Place inner{&body, handIn(captures, &body), place.depth + 1};
    inner.values.push_back(i);
    inner.values.push_back(state);
    const int next = bodyResult(inner, carried, grows ? SizesOf::any : SizesOf::same, state);
    body.results = {-1, next};
    if (random_.chance(25)) {
      ValueInfo yes;
      yes.dtype = Dtype::boolean, yes.wholeBits = 1, yes.fractionBits = 0;
      body.results[0] = add(inner, yes, "less($0, i64[] " + std::to_string(random_.number(0, 3)) + ")", {i});
    }
    Statement s;
    ValueInfo last = carried;
    if (grows)
      for (Size& size : last.shape) size = unknown();
    s.results = {newValue(last)};
    // What each turn gives, stacked; of the same size in every turn, as far as it can be seen.
    const int each = pick(inner, [&](const ValueInfo& v) {
      return v.shape.size() < kMostRank && std::none_of(v.shape.begin(), v.shape.end(), [](const Size& z) {
               return z.find('?') != std::string::npos;
             });
    });
    if (each >= 0 && random_.chance(50)) {
      body.results.push_back(each);
      ValueInfo stacked = info(each);
      stacked.shape.insert(stacked.shape.begin(), unknown());
      s.results.push_back(newValue(stacked));
    }
    s.operands = operands;
    const size_t first = counted ? 1 : 0;
    s.text = "loop(" + trip + ", _, " + marks(operands.size() - first, first) + ") {carried = 1}";
    s.bodies = {std::move(body)};
    place.values.insert(place.values.end(), s.results.begin(), s.results.end());
    place.body->statements.push_back(std::move(s));
    return true;
  }

  // --- functions
  // @fN(x: Tensor[(p, q), f32]): a few statements that keep its size.
  std::string helper(size_t rank, bool exact) {
    Function function;
    function.name = "f" + std::to_string(program_.functions.size());
    const std::vector<Size> names = {"p", "q", "r", "s"};
    ValueInfo x;
    x.exact = exact;
    x.wholeBits = 3;
    x.shape.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(rank));
    const int parameter = newValue(x);
    function.body.parameters = {parameter};
    function.parameterTypes = {tensorText(rank)};
    Place inner{&function.body, {parameter}, 2};
    function.body.results = {bodyResult(inner, x, SizesOf::same, parameter)};
    program_.functions.push_back(function);
    return function.name;
  }
  static std::string tensorText(size_t rank) {
    const char* names[] = {"p", "q", "r", "s"};
    std::string text = "Tensor[(";
    for (size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::string(names[i]);
    return text + "), f32]";
  }
  int realOperand(Place& place, size_t leastRank = 0) {
    const int x =
        pick(place, [&](const ValueInfo& i) { return i.dtype == Dtype::f32 && i.shape.size() >= leastRank; });
    return x < 0 ? x : normalised(place, x);
  }

  bool callOfHelper(Place& place) {
    const int x = realOperand(place);
    if (x < 0) return false;
    const std::string name = helper(info(x).shape.size(), info(x).exact);
    add(place, carriedOf(info(x)), "@" + name + "($0)", {x});
    return true;
  }

  // @rN(k, x): calls itself with k - 1 until k is 0; in tail position, or with more to do after the call.
  bool recursion(Place& place) {
    const int x = realOperand(place);
    const int k = scalar(place);
    if (x < 0 || k < 0) return false;
    const size_t rank = info(x).shape.size();
    const std::string inner = helper(rank, info(x).exact);
    const bool tail = random_.chance(50);
    Function function;
    function.name = "r" + std::to_string(program_.functions.size());
    function.parameterTypes = {"Tensor[(), i64]", tensorText(rank)};
    function.resultType = tensorText(rank);
    ValueInfo count;
    count.dtype = Dtype::i64, count.wholeBits = 3, count.fractionBits = 0;
    ValueInfo data = info(x);
    const int kv = newValue(count), xv = newValue(data), result = newValue(data);
    function.body.parameters = {kv, xv};
    Body stop, go;
    stop.word = "then", go.word = "else";
    const std::vector<int> inStop = handIn({kv, xv}, &stop), inGo = handIn({kv, xv}, &go);
    stop.results = {inStop[1]};
    Place turn{&go, inGo, 2};
    const std::string call = "@" + function.name + "(sub($0, i64[] 1), ";
    const int called = tail ? add(turn, data, call + "@" + inner + "($1))", inGo)
                            : add(turn, data, "@" + inner + "(" + call + "neg($1)))", inGo);
    go.results = {called};
    function.body.statements.push_back(
        {{result}, {kv, xv}, "if(less_equal($0, i64[] 0), $0, $1)", {stop, go}});
    function.body.results = {result};
    program_.functions.push_back(function);
    add(place, carriedOf(info(x)), "@" + function.name + "(" + few("$0") + ", $1)", {k, x});
    return true;
  }

  void declare(const std::string& declaration) {
    auto& all = program_.declarations;
    if (std::find(all.begin(), all.end(), declaration) == all.end()) all.push_back(declaration);
  }

  // A chain of tensors made by a loop, then walked: what is summed is the same in every order.
  bool chain(Place& place) {
    const int x = realOperand(place, 1);
    const int k = scalar(place);
    if (x < 0 || k < 0) return false;
    declare("type Chain { End(), Link(Tensor[(?), f32], Chain) }");
    ValueInfo flat = info(x);
    flat.shape = {unknown()};
    const int row = add(place, flat, "reshape($0, i64[1] [-1])", {x});
    ValueInfo data;
    data.type = "Chain";
    const int end = add(place, data, "End()", {});
    Body body;
    body.word = "body";
    ValueInfo iteration;
    iteration.dtype = Dtype::i64, iteration.wholeBits = 3, iteration.fractionBits = 0;
    const int i = newValue(iteration), rest = newValue(data);
    body.parameters = {i, rest};
    const std::vector<int> inside = handIn({row}, &body);
    Place turn{&body, {inside[0], i}, 2};
    const int payload = bodyResult(turn, flat, SizesOf::any, inside[0]);
    body.results = {-1, add(turn, data, "Link($0, $1)", {payload, rest})};
    const int made =
        add(place, data, "loop(" + few("$0") + ", _, $1, $2) {carried = 1}", {k, end, row}, {body});

    Function walk;
    walk.name = "w" + std::to_string(program_.functions.size());
    walk.parameterTypes = {"Chain", "Tensor[(), f32]"};
    walk.resultType = "Tensor[(), f32]";
    ValueInfo total;
    total.exact = info(payload).exact;
    total.wholeBits = 16;
    total.fractionBits = 1;
    const int chainValue = newValue(data), sum = newValue(total), result = newValue(total);
    walk.body.parameters = {chainValue, sum};
    Body none, some;
    none.word = "case End", some.word = "case Link";
    const int sumNone = newValue(total), first = newValue(flat), others = newValue(data),
              sumSome = newValue(total);
    none.parameters = {sumNone};
    none.results = {sumNone};
    some.parameters = {first, others, sumSome};
    const bool tail = random_.chance(50);
    Place inner{&some, {}, 2};
    const std::string more = "reduce_sum($0) {keepdims = 0}";
    some.results = {
        tail ? add(inner, total, "@" + walk.name + "($1, add($2, " + more + "))", {first, others, sumSome})
             : add(inner, total, "add(@" + walk.name + "($1, $2), " + more + ")", {first, others, sumSome})};
    std::vector<Body> cases = {none, some};
    if (random_.chance(50)) std::swap(cases[0], cases[1]);
    walk.body.statements.push_back({{result}, {chainValue, sum}, "match($0, $1)", cases});
    walk.body.results = {result};
    program_.functions.push_back(walk);
    add(place, total, "@" + walk.name + "($0, f32[] 0.0)", {made});
    return true;
  }

  // A tree grown by recursion and folded by recursion; its leaves keep their size.
  bool tree(Place& place) {
    const int x = realOperand(place);
    const int k = scalar(place);
    if (x < 0 || k < 0) return false;
    const size_t rank = info(x).shape.size();
    const std::string type = "Tree" + std::to_string(rank);
    const std::string leaf = "Leaf" + std::to_string(rank), node = "Node" + std::to_string(rank);
    declare("type " + type + " { " + leaf + "(" + tensorText(rank) + "), " + node + "(" + type + ", " + type +
            ") }");
    const std::string left = helper(rank, info(x).exact), right = helper(rank, info(x).exact);
    ValueInfo count, data = info(x), made;
    count.dtype = Dtype::i64, count.wholeBits = 3, count.fractionBits = 0;
    made.type = type;

    Function grow;
    grow.name = "g" + std::to_string(program_.functions.size());
    grow.parameterTypes = {"Tensor[(), i64]", tensorText(rank)};
    grow.resultType = type;
    const int depth = newValue(count), value = newValue(data), grown = newValue(made);
    grow.body.parameters = {depth, value};
    Body stop, go;
    stop.word = "then", go.word = "else";
    const std::vector<int> inStop = handIn({depth, value}, &stop), inGo = handIn({depth, value}, &go);
    Place stopPlace{&stop, {}, 2}, goPlace{&go, {}, 2};
    stop.results = {add(stopPlace, made, leaf + "($0)", {inStop[1]})};
    const std::string again = "@" + grow.name + "(sub($0, i64[] 1), ";
    go.results = {add(goPlace, made,
                      node + "(" + again + "@" + left + "($1)), " + again + "@" + right + "($1)))", inGo)};
    grow.body.statements.push_back(
        {{grown}, {depth, value}, "if(less_equal($0, i64[] 0), $0, $1)", {stop, go}});
    grow.body.results = {grown};
    program_.functions.push_back(grow);

    Function fold;
    fold.name = "h" + std::to_string(program_.functions.size());
    fold.parameterTypes = {type};
    std::string result = "Tensor[(";
    for (size_t i = 0; i < rank; ++i) result += i ? ", ?" : "?";
    fold.resultType = result + "), f32]";
    ValueInfo folded = data;
    folded.wholeBits = 8;
    for (Size& size : folded.shape) size = unknown();
    const int subject = newValue(made), all = newValue(folded);
    fold.body.parameters = {subject};
    Body one, two;
    one.word = "case " + leaf, two.word = "case " + node;
    const int held = newValue(data), a = newValue(made), b = newValue(made);
    one.parameters = {held};
    one.results = {held};
    two.parameters = {a, b};
    Place twoPlace{&two, {}, 2};
    two.results = {add(twoPlace, folded, "add(@" + fold.name + "($0), @" + fold.name + "($1))", {a, b})};
    fold.body.statements.push_back({{all}, {subject}, "match($0)", {one, two}});
    fold.body.results = {all};
    program_.functions.push_back(fold);

    const int planted = add(place, made, "@" + grow.name + "(min(" + few("$0") + ", i64[] 3), $1)", {k, x});
    add(place, folded, "@" + fold.name + "($0)", {planted});
    return true;
  }

  // Parts of different sizes in a list, changed one by one, and joined or folded.
  bool listOfParts(Place& place) {
    const int x = realOperand(place, 1);
    if (x < 0 || info(x).shape.size() != 1) return false;
    ValueInfo list;
    list.type = "List";
    const int parts =
        add(place, list, "list($0, slice($0, i64[1] [1], i64[1] [3]), concat($0, $0) {axis = 0})", {x});
    const std::string each = helper(1, info(x).exact);
    const int changed = add(place, list, "map(@" + each + ", $0)", {parts});
    ValueInfo made = carriedOf(info(x));
    made.shape = {unknown()};
    if (random_.chance(50)) {
      add(place, made, "concat_from_sequence($0) {axis = 0}", {changed});
    } else {
      const int k = scalar(place);
      if (k < 0) return true;
      add(place, made, "list_at($0, min(" + few("$1") + ", i64[] 2))", {changed, k});
    }
    return true;
  }

  RandomSource random_;
  Program program_;
  int unknowns_ = 0;
};

}  // namespace

Program generate(uint64_t seed) { return Generator(seed).make(); }

std::vector<Sizes> sizesFor(const Program& program, uint64_t seed) {
  RandomSource random(seed ^ 0x517cc1b727220a95u);
  const std::vector<std::string> symbols = symbolsOfInputs(program);
  const std::vector<int64_t> primes = {2, 3, 5, 7, 11, 13};
  std::vector<Sizes> all(6);
  const int64_t same = random.of(primes);
  for (const std::string& symbol : symbols) {
    all[0][symbol] = 1;
    all[1][symbol] = same;
    all[2][symbol] = random.of(primes);
    all[3][symbol] = random.of(primes);
    all[4][symbol] = random.chance(50) ? 0 : random.of(primes);
    all[5][symbol] = random.number(0, 17);
  }
  return all;
}

}  // namespace dyn::differential
