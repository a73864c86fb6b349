// Functions, closures, trees and lists, compiled: the host program does them, kernels do the arithmetic.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

HostTensor controlNumber(int64_t value) { return HostTensor::scalarInt(Dtype::i64, value); }

TEST(Control, closuresAreInvoked) {
  expectSame(R"(
    fn @main(%x: Tensor[(n), f32], %y: Tensor[(n), f32]) {
      %f = closure(%x) {callee = "plus"}
      %r = invoke(%f, %y)
      return %r
    }
    fn @plus(%a: Tensor[(k), f32], %b: Tensor[(k), f32]) {
      %s = add(%a, %b)
      return %s
    })",
             {{randomTensor(Dtype::f32, {3}, 1), randomTensor(Dtype::f32, {3}, 2)}});
}

// A function value takes along what it uses of the function around it; functions may be arguments and
// results.
TEST(Control, functionValues) {
  const char* text = R"(
    fn @main(x: Tensor[(n), f32], y: Tensor[(m), f32], k: Tensor[(), i64]) {
      scale = fn (v: Tensor[(a), f32]) { v * 2.0 + reduce_sum(x, keepdims = 0) }
      shift = fn (v: Tensor[(a), f32]) { v - 1.0 }
      both = @compose(scale, shift)
      chosen = if(equal(k, 0), both, shift) then (f, g) { return f } else (f, g) { return g }
      once = chosen(x)
      return once, @twice(chosen, y), both(y)
    }
    fn @twice(f: fn(Tensor[(a), f32]) -> (Tensor[(a), f32]), x: Tensor[(b), f32]) -> (Tensor[(?), f32]) { return f(f(x)) }
    fn @compose(f: fn(Tensor[(a), f32]) -> (Tensor[(a), f32]), g: fn(Tensor[(a), f32]) -> (Tensor[(a), f32])) {
      h = fn (v: Tensor[(a), f32]) -> (Tensor[(?), f32]) { g(f(v)) }
      return h
    })";
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t n : {0, 1, 3, 7})
    for (int64_t m : {1, 3})
      for (int64_t k : {0, 1})
        inputs.push_back(
            {randomTensor(Dtype::f32, {n}, 1), randomTensor(Dtype::f32, {m}, 2), controlNumber(k)});
  expectSame(text, inputs);
}

// Its type becomes that of a parameter, which is written down before anything is inferred.
TEST(Control, whatAFunctionValueTakesAlongHasAType) {
  auto text = [](const std::string& type) {
    return "fn @main(x: Tensor[(n), f32]) {\n  w = relu(x)" + type +
           "\n  f = fn (v: Tensor[(a), f32]) { v + w }\n  return f(x)\n}";
  };
  IrContext context;
  Result<Module> untyped = test::parseText(context, text(""));
  ASSERT_FALSE(untyped.ok());
  EXPECT_NE(untyped.error().toString().find("'w' is used in a function value: it needs a type"),
            std::string::npos)
      << untyped.error().toString();
  EXPECT_EQ(untyped.error().place.line, 3u);
  expectSame(text(" : Tensor[(n), f32]"),
             {{randomTensor(Dtype::f32, {3}, 1)}, {randomTensor(Dtype::f32, {0}, 1)}});
}

TEST(Control, mapAndFoldOverLists) {
  const char* text = R"(
    fn @main(x: Tensor[(n, 3), f32], w: Tensor[(3), f32], count: Tensor[(), i64]) {
      none = list() : List[Tensor[(?, 3), f32]]
      parts = loop(count, _, none, x) {carried = 1} body (i, made: List[Tensor[(?, 3), f32]], x: Tensor[(n, 3), f32]) {
        more = list_append(made, slice(x, i64[1] [0], unsqueeze(i, i64[1] [0]), i64[1] [0]))
        return true, more
      }
      weigh = fn (part: Tensor[(rows, 3), f32]) { matmul(part, w) }
      sums = map(weigh, parts)
      add = fn (so: Tensor[(), f32], v: Tensor[(rows), f32]) { so + reduce_sum(v, keepdims = 0) }
      total = fold(add, 0.0, sums)
      grow = fn (so: Tensor[(a), f32], v: Tensor[(rows), f32]) -> (Tensor[(?), f32]) { concat(so, v, axis = 0) }
      all = fold(grow, w, sums)
      return total, all, list_length(map(@negated, sums))
    }
    fn @negated(v: Tensor[(k), f32]) { return -v })";
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t n : {0, 1, 3, 5})
    for (int64_t count : {0, 1, 4})
      inputs.push_back(
          {randomTensor(Dtype::f32, {n, 3}, 1), randomTensor(Dtype::f32, {3}, 2), controlNumber(count)});
  expectSame(text, inputs);
}

TEST(Control, recursionOverATree) {
  expectSame(R"(
    type Tree { Leaf(Tensor[(2), f32]), Node(Tree, Tree) }
    fn @main(%x: Tensor[(2), f32]) {
      %l = construct(%x) {type = "Tree", constructor = "Leaf"}
      %n = construct(%l, %l) {type = "Tree", constructor = "Node"}
      %t = construct(%n, %l) {type = "Tree", constructor = "Node"}
      %s = call(%t) {callee = "sum"}
      return %s
    }
    fn @sum(%t: Tree) -> (Tensor[(2), f32]) {
      %r = match(%t) case Leaf(%x: Tensor[(2), f32]) {
        return %x
      } case Node(%a: Tree, %b: Tree) {
        %p = call(%a) {callee = "sum"}
        %q = call(%b) {callee = "sum"}
        %s = add(%p, %q)
        return %s
      }
      return %r
    })",
             {{randomTensor(Dtype::f32, {2}, 1)}});
}

// The bodies of a match stand in an order of their own.
TEST(Control, casesInAnyOrder) {
  const char* text = R"(
    type Shape { Dot(Tensor[(), f32]), Box(Tensor[(), f32], Tensor[(), f32]), Nothing() }
    fn @main(x: Tensor[(), f32], k: Tensor[(), i64]) {
      shape = if(equal(k, 2), x, k) then (x, k) {
        return Nothing()
      } else (x, k) {
        some = if(equal(k, 0), x) then (x) { return Dot(x) } else (x) { return Box(x, x + 1.0) }
        return some
      }
      size = match(shape) case Box(a, b) { return a * b } case Nothing() { return 0.5 } case Dot(a) { return -a }
      return size
    })";
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t k : {0, 1, 2}) inputs.push_back({randomTensor(Dtype::f32, {}, 3), controlNumber(k)});
  expectSame(text, inputs);
}

// Loops and tail calls, also over a chain of data and by two functions in turn, need no more memory for
// 100,000 iterations than for ten.
TEST(Control, manyIterationsInFlatMemory) {
  const char* loop = R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) {
    y = loop(n, _, x) {carried = 1} body (i, a) {
      b = a * 0.5 + 1.0
      return true, b
    }
    return y
  })";
  const char* calls = R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) { return @ping(n, x) }
    fn @ping(n: Tensor[(), i64], x: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
      r = if(equal(n, 0), n, x) then (n, x) { return x } else (n, x) { return @pong(n - 1, x * 0.5) }
      return r
    }
    fn @pong(n: Tensor[(), i64], x: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
      r = if(equal(n, 0), n, x) then (n, x) { return x } else (n, x) { return @ping(n - 1, x + 1.0) }
      return r
    })";
  for (const char* text : {loop, calls}) {
    IrContext context;
    Result<Module> module = test::parseText(context, text);
    ASSERT_TRUE(module.ok()) << module.error().toString();
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    uint64_t peak = 0;
    for (int64_t iterations : {10, 100'000}) {
      Result<std::vector<HostTensor>> result =
          (*compiled)->run({controlNumber(iterations), randomTensor(Dtype::f32, {5}, 1)});
      ASSERT_TRUE(result.ok()) << result.error().toString();
      dyn_statistics statistics{};
      ASSERT_EQ(dyn_context_statistics((*compiled)->context.get(), &statistics), DYN_OK);
      if (iterations == 10) peak = statistics.peak_bytes;
      EXPECT_EQ(statistics.peak_bytes, peak) << text;
    }
  }
  expectSame(loop, {{controlNumber(1'000), randomTensor(Dtype::f32, {2}, 1)}});
  expectSame(calls, {{controlNumber(1'000), randomTensor(Dtype::f32, {2}, 1)}});
}

// Walking a chain of 100,000 parts: by a last call as a jump, else with a frame for each, or a height
// at a time; all end, or say that it is too deep.
TEST(Control, longChains) {
  const std::string build = R"(
    type Chain { End(), Link(Tensor[(), f32], Chain) }
    fn @main(n: Tensor[(), i64], x: Tensor[(), f32]) {
      end = End()
      chain = loop(n, _, end, x) {carried = 1} body (i, rest: Chain, x) {
        longer = Link(x, rest)
        return true, longer
      }
      return @sum(chain, f32[] 0.0)
    })";
  const std::string byJump = build + R"(
    fn @sum(c: Chain, sum: Tensor[(), f32]) -> (Tensor[(), f32]) {
      r = match(c, sum) case End(sum) { return sum } case Link(v, rest, sum) { return @sum(rest, sum + v) }
      return r
    })";
  const std::string byFrames = build + R"(
    fn @sum(c: Chain, sum: Tensor[(), f32]) -> (Tensor[(), f32]) {
      r = match(c, sum) case End(sum) { return sum } case Link(v, rest, sum) { return @sum(rest, sum) + v }
      return r
    })";
  const HostTensor x = randomTensor(Dtype::f32, {}, 4);
  expectSame(byJump, {{controlNumber(0), x}, {controlNumber(1), x}, {controlNumber(110'000), x}});
  expectSame(byFrames, {{controlNumber(0), x}, {controlNumber(1), x}, {controlNumber(50'000), x}});
  IrContext context;
  Result<Module> module = test::parseText(context, byFrames);
  ASSERT_TRUE(module.ok()) << module.error().toString();
  CompileOptions frames;
  frames.passes = "-batch_levels";
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module, frames);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  Result<std::vector<HostTensor>> result = (*compiled)->run({controlNumber(300'000), x});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("depth limit"), std::string::npos) << result.error().message;
  // A height at a time there are no frames.
  compiled = test::Compiled::make(*module);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  EXPECT_TRUE((*compiled)->run({controlNumber(300'000), x}).ok());
}

TEST(Control, listsHoldDifferentSizes) {
  expectSame(R"(
    fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32], %i: Tensor[(), i64]) {
      %l = list(%x)
      %l2 = list_append(%l, %y)
      %e = list_at(%l2, %i)
      %k = list_length(%l2)
      return %e, %k
    })",
             {{randomTensor(Dtype::f32, {3}, 1), randomTensor(Dtype::f32, {5}, 2), controlNumber(-1)},
              {randomTensor(Dtype::f32, {3}, 1), randomTensor(Dtype::f32, {0}, 2), controlNumber(0)}});
}

// What follows an `if` whose branches have different ranks is compiled for each of them; here also inside of
// a loop, and twice in a row.
TEST(Control, branchesOfDifferentRank) {
  const char* text = R"(
    fn @main(%trip: Tensor[(), i64], %x: Tensor[(n, 3), f32], %flag: Tensor[(), bool]) {
      %start = constant() {value = f32[] 0.0}
      %sum = loop(%trip, _, %start, %x, %flag) {carried = 1} body (%i: Tensor[(), i64], %acc: Tensor[(), f32], %m: Tensor[(n, 3), f32], %f: Tensor[(), bool]) {
        %one = constant() {value = i64[] 1}
        %second = equal(%i, %one)
        %y = if(%second, %m) then (%p) {
          return %p
        } else (%q) {
          %flat = constant() {value = i64[1] [-1]}
          %r = reshape(%q, %flat)
          return %r
        }
        %z = if(%f, %y) then (%p2) {
          return %p2
        } else (%q2) {
          %first = constant() {value = i64[1] [0]}
          %u = unsqueeze(%q2, %first)
          return %u
        }
        %w = softmax(%z) {axis = -1}
        %e = mul(%w, %z)
        %s = reduce_sum(%e) {keepdims = 0}
        %next = add(%acc, %s)
        %go = constant() {value = bool[] true}
        return %go, %next
      }
      return %sum
    })";
  std::vector<std::vector<HostTensor>> inputs;
  for (int64_t trip : {0, 1, 3})
    for (int64_t n : {0, 1, 5})
      for (int64_t flag : {0, 1})
        inputs.push_back({controlNumber(trip), randomTensor(Dtype::f32, {n, 3}, 7),
                          HostTensor::scalarInt(Dtype::boolean, flag)});
  expectSame(text, inputs);
}

// A call in tail position is a jump: 100,000 of them need no stack.
TEST(Control, tailCallsAreJumps) {
  const char* text = R"(
    fn @main(%k: Tensor[(), i64], %x: Tensor[(n), f32]) {
      %y = call(%k, %x) {callee = "down"}
      return %y
    }
    fn @down(%k: Tensor[(), i64], %x: Tensor[(a), f32]) -> (Tensor[(a), f32]) {
      %zero = constant() {value = i64[] 0}
      %go = greater(%k, %zero)
      %r = if(%go, %k, %x) then (%k2: Tensor[(), i64], %x2: Tensor[(a), f32]) {
        %one = constant() {value = i64[] 1}
        %k3 = sub(%k2, %one)
        %x3 = neg(%x2)
        %y = call(%k3, %x3) {callee = "down"}
        return %y
      } else (%k4: Tensor[(), i64], %x4: Tensor[(a), f32]) {
        return %x4
      }
      return %r
    })";
  expectSame(text, {{controlNumber(0), randomTensor(Dtype::f32, {3}, 1)},
                    {controlNumber(100'001), randomTensor(Dtype::f32, {2}, 1)}});
}

// What a call before left behind must not show: zero iterations after seven.
TEST(Control, aLoopOfNoIterationsAfterALongerOne) {
  const char* text = R"(fn @main(%t: Tensor[(), i64], %x: Tensor[(n), f32]) {
    %last, %all = loop(%t, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {
      %go = constant() {value = bool[] true}
      %b = add(%a, %a)
      return %go, %b, %b
    }
    return %last, %all
  })";
  const HostTensor x = randomTensor(Dtype::f32, {4}, 1);
  expectSame(text, {{controlNumber(7), x}, {controlNumber(0), x}, {controlNumber(1), x}});
}

// The condition of a loop may be one of the values it carries or stacks.
TEST(Control, aConditionThatIsStackedToo) {
  expectSame(
      R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32], go: Tensor[(), bool]) {
    last, flag, all = loop(n, _, x, go) {carried = 2} body (i, a, f) {
      more = less(i, 2)
      b = a + a
      return more, b, more, more
    }
    return last, flag, all
  })",
      {{controlNumber(0), randomTensor(Dtype::f32, {3}, 1), HostTensor::scalarInt(Dtype::boolean, 1)},
       {controlNumber(2), randomTensor(Dtype::f32, {3}, 1), HostTensor::scalarInt(Dtype::boolean, 1)},
       {controlNumber(9), randomTensor(Dtype::f32, {1}, 1), HostTensor::scalarInt(Dtype::boolean, 0)}});
}

TEST(Control, aLoopEndsByItsCondition) {
  expectSame(R"(fn @main(%x: Tensor[(n), f32], %limit: Tensor[(), f32]) {
    %yes = constant() {value = bool[] true}
    %r = loop(_, %yes, %x, %limit) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32], %l: Tensor[(), f32]) {
      %b = add(%a, %a)
      %m = reduce_max(%b) {keepdims = 0}
      %go = less(%m, %l)
      return %go, %b
    }
    return %r
  })",
             {{HostTensor::vectorReal(Dtype::f32, std::vector<double>{1, 2, 3}),
               HostTensor::scalar(Dtype::f32, 100)}});
}

// Updates work in place where nothing else holds the memory: what somebody else reads later must stay as it
// was.
TEST(Control, updatesInPlaceAreSeenByNobodyElse) {
  const HostTensor x = randomTensor(Dtype::f32, {5, 2}, 1), u = randomTensor(Dtype::f32, {1, 2}, 2);
  // A loop carries the same tensor twice, its first value is read after the loop, all values are kept.
  const char* loop = R"(fn @main(%t: Tensor[(), i64], %x: Tensor[(n, 2), f32], %u: Tensor[(1, 2), f32]) {
    %x2 = add(%x, %x)
    %p, %q, %all = loop(%t, _, %x2, %x2, %u) {carried = 2} body (%i: Tensor[(), i64], %a: Tensor[(n, 2), f32], %b: Tensor[(n, 2), f32], %v: Tensor[(1, 2), f32]) {
      %go = constant() {value = bool[] true}
      %ones = constant() {value = i64[2] [1, 1]}
      %where = reshape(%i, %ones)
      %a2 = scatter_nd(%a, %where, %v)
      %b2 = scatter_nd(%b, %where, %v) {reduction = "add"}
      return %go, %b2, %a2, %a2
    }
    %before = add(%x2, %x)
    return %p, %q, %all, %before
  })";
  expectSame(loop, {{controlNumber(4), x, u}, {controlNumber(0), x, u}, {controlNumber(1), x, u}});
  // The branch's parameter is the value around it, which is read afterwards.
  const char* branch =
      R"(fn @main(%c: Tensor[(), bool], %x: Tensor[(n, 2), f32], %i: Tensor[(1, 1), i64], %u: Tensor[(1, 2), f32]) {
    %x2 = add(%x, %x)
    %s = nonzero(%x2)
    %r = if(%c, %x2, %i, %u) then (%a: Tensor[(n, 2), f32], %j: Tensor[(1, 1), i64], %v: Tensor[(1, 2), f32]) {
      %y = scatter_nd(%a, %j, %v)
      return %y
    } else (%a: Tensor[(n, 2), f32], %j: Tensor[(1, 1), i64], %v: Tensor[(1, 2), f32]) {
      return %a
    }
    %after = mul(%x2, %r)
    return %after, %s
  })";
  const HostTensor where = HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{3}).reshaped({1, 1});
  for (bool taken : {true, false})
    expectSame(branch, {{HostTensor::scalarInt(Dtype::boolean, taken), x, where, u}});
  // One after the other on memory of their own; the input and a view of the first stay.
  const char* chain = R"(fn @main(%x: Tensor[(n, 2), f32], %i: Tensor[(1, 1), i64], %u: Tensor[(1, 2), f32]) {
    %a = scatter_nd(%x, %i, %u)
    %flat = constant() {value = i64[1] [-1]}
    %seen = reshape(%a, %flat)
    %b = scatter_nd(%a, %i, %u) {reduction = "mul"}
    %c = scatter_nd(%b, %i, %u) {reduction = "add"}
    return %c, %seen
  })";
  expectSame(chain, {{x, where, u}});
  // What is updated is also what it is updated with, as it was: the update is not in place.
  const HostTensor turned =
      HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{3, 0, 2, 1}).reshaped({4, 1});
  expectSame(R"(fn @main(%i: Tensor[(n, 1), i64]) {
    %count = gather(shape(%i), i64[] 0) {axis = 0}
    %numbers = range(i64[] 0, %count, i64[] 1)
    %more = mul(%numbers, i64[] 3)
    return scatter_nd(%numbers, %i, %numbers), scatter_nd(%more, %i, reshape(%more, i64[1] [-1]))
  })",
             {{turned}});
}

// Nor does an update read what it has written: values that come from the very tensor, or from a view of it.
TEST(Control, updatesInPlaceReadNothingOfTheirOwn) {
  const HostTensor x = randomTensor(Dtype::f32, {5}, 1);
  const HostTensor back =
      HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{4, 3, 2, 1, 0}).reshaped({5, 1});
  for (const char* written : {"%h", "%v"})
    expectSame(std::string("fn @main(%x: Tensor[(n), f32], %i: Tensor[(n, 1), i64]) {\n"
                           "  %h = tanh(%x)\n  %s = shape(%h)\n  %r = constant() {value = i64[2] [-1, 1]}\n"
                           "  %c = reshape(%h, %r)\n  %v = reshape(%c, %s)\n  %y = scatter_nd(%h, %i, ") +
                   written + ")\n  return %y\n}",
               {{x, back}});
  expectSame(R"(fn @main(%t: Tensor[(), i64], %x: Tensor[(n), f32], %i: Tensor[(n, 1), i64]) {
    %y = loop(%t, _, %x, %i) {carried = 1} body (%j: Tensor[(), i64], %c: Tensor[(n), f32], %k: Tensor[(n, 1), i64]) {
      %go = constant() {value = bool[] true}
      %z = scatter_nd(%c, %k, %c)
      return %go, %z
    }
    return %y
  })",
             {{controlNumber(3), x, back}, {controlNumber(0), x, back}});
}

// The size of the result is known only when the values are.
TEST(Control, valueDependentSizes) {
  expectSame(R"(fn @main(%x: Tensor[(n), f32]) {
    %i = nonzero(%x)
    %f = cast(%i) {to = f32}
    %y = mul(%f, %f)
    %s = shape(%i)
    return %y, %s
  })",
             {{HostTensor::vectorReal(Dtype::f32, std::vector<double>{0, 2, 0, 4, 5})},
              {HostTensor::vectorReal(Dtype::f32, std::vector<double>{0, 0})},
              {randomTensor(Dtype::f32, {0}, 1)}});
}

TEST(Control, sizesFromTensors) {
  expectSame(
      R"(fn @main(%x: Tensor[(n, m), f32], %s: Tensor[(2), i64]) {
    %r = reshape(%x, %s)
    %e = exp(%r)
    return %e
  })",
      {{randomTensor(Dtype::f32, {4, 6}, 1), HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{3, 8})},
       {randomTensor(Dtype::f32, {4, 6}, 1),
        HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{-1, 2})}});
}

}  // namespace
}  // namespace dyn
