// Movement of data, products, and sizes that values decide.
#include <algorithm>

#include "tests/fuzz/differential/generator_state.h"

namespace dyn::differential {

bool Generator::transposed(Place& place) {
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

Size Generator::times(const Size& a, const Size& b) {
  if (a == "1") return b;
  if (b == "1") return a;
  if (isConstant(a) && isConstant(b)) return std::to_string(std::stoll(a) * std::stoll(b));
  return "(" + a + "*" + b + ")";
}

bool Generator::reshaped(Place& place) {
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

bool Generator::joined(Place& place) {
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

bool Generator::sliced(Place& place) {
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

bool Generator::divided(Place& place) {
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

bool Generator::gathered(Place& place) {
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

bool Generator::repeated(Place& place) {
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

bool Generator::padded(Place& place) {
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
  add(place, made, "pad($0, " + vectorText(before) + ", " + literal(made, random_.number(-1, 1)) + ")", {x});
  return true;
}

bool Generator::triangle(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isNumber(i) && i.shape.size() >= 2; });
  if (x < 0) return false;
  add(place, info(x),
      "trilu($0, i64[] " + std::to_string(random_.number(-1, 1)) +
          ") {upper = " + std::to_string(random_.number(0, 1)) + "}",
      {x});
  return true;
}

bool Generator::product(Place& place) {
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

bool Generator::sparseProduct(Place& place) {
  const int x =
      pick(place, [](const ValueInfo& i) { return i.dtype == Dtype::f32 && i.exact && i.shape.size() == 2; });
  if (x < 0) return false;
  ValueInfo made = info(x);
  const Size inner = made.shape[1];
  const int d = pick(place, [&](const ValueInfo& i) {
    return i.dtype == Dtype::f32 && i.shape.size() == 2 && i.shape[0] == inner;
  });
  if (d < 0) return false;
  made.wholeBits += info(d).wholeBits + 5;
  made.fractionBits += info(d).fractionBits;
  made.exact = info(d).exact;
  if (!fits(made)) return false;
  made.shape[1] = info(d).shape[1];
  ValueInfo places;
  places.dtype = Dtype::i64, places.wholeBits = 10, places.fractionBits = 0;
  places.shape = {"2", unknown()};
  const int found = add(place, places, "nonzero($0)", {x});
  add(place, made,
      "spmm(gather_nd($0, transpose($1) {perm = [1, 0]}), gather($1, i64[] 1), concat(i64[1] [0], "
      "cumsum(reduce_sum(cast(cast($0) {to = bool}) {to = i64}, i64[1] [1]) {keepdims = 0}, i64[] 0)) {axis "
      "= 0}, $2)",
      {x, found, d});
  return true;
}

bool Generator::sizesAsValues(Place& place) {
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

bool Generator::counting(Place& place) {
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

bool Generator::nonzero(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isSure(i) && hasAxes(i); });
  if (x < 0) return false;
  ValueInfo made;
  made.dtype = Dtype::i64, made.wholeBits = 10, made.fractionBits = 0;
  made.shape = {std::to_string(info(x).shape.size()), unknown()};
  add(place, made, "nonzero($0)", {x});
  return true;
}

bool Generator::compressed(Place& place) {
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

bool Generator::distinct(Place& place) {
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

bool Generator::largest(Place& place) {
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

bool Generator::filled(Place& place) {
  const int x = pick(place, hasAxes);
  if (x < 0) return false;
  ValueInfo made;
  made.shape = info(x).shape;
  made.fractionBits = 1;
  add(place, made,
      "constant_of_shape(shape($0)) {value = f32[1] [" + std::to_string(random_.number(-1, 1)) + ".5]}", {x});
  return true;
}

bool Generator::oneHot(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isWhole(i) && i.shape.size() < kMostRank; });
  if (x < 0) return false;
  ValueInfo made;
  made.shape = info(x).shape;
  made.wholeBits = 1, made.fractionBits = 0;
  made.shape.push_back("3");
  add(place, made, "one_hot($0, i64[] 3, f32[2] [0.0, 1.0]) {axis = -1}", {x});
  return true;
}

bool Generator::scattered(Place& place) {
  const int x = pick(place, [](const ValueInfo& i) { return isReal(i) && i.shape.size() == 1; });
  const int i = pick(place, [](const ValueInfo& v) { return v.dtype == Dtype::i64 && v.shape.size() == 1; });
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

}  // namespace dyn::differential
