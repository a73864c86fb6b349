// Every instruction, by small programs in assembly text.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/unit/vm/vm_harness.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ScalarInstructions, arithmetic) {
  EXPECT_THAT(
      runScalars("const r0 7\nconst r1 -2\nadd r2 r0 r1\nsub r3 r0 r1\nmul r4 r0 r1\nfloordiv r5 r0 "
                 "r1\nceildiv r6 r0 r1\nmod r7 r0 r1\n"
                 "min r8 r0 r1\nmax r9 r0 r1\naddi r10 r0 -10\nmuli r11 r0 1000000000000\nmove r12 r4",
                 "r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12"),
      ElementsAre(5, 9, -14, -4, -3, -1, -2, 7, -3, 7000000000000, -14));
}

TEST(ScalarInstructions, comparisons) {
  EXPECT_THAT(runScalars("const r0 3\nconst r1 4\neq r2 r0 r1\neq r3 r0 r0\nlt r4 r0 r1\nlt r5 r0 r0\nle r6 "
                         "r0 r0\nle r7 r1 r0\nand r8 r0 r1\n"
                         "and r9 r0 r2\nnot r10 r0\nnot r11 r2",
                         "r2 r3 r4 r5 r6 r7 r8 r9 r10 r11"),
              ElementsAre(0, 1, 1, 0, 1, 0, 1, 0, 0, 1));
}

TEST(ScalarInstructions, immediatesKeep64Bits) {
  EXPECT_THAT(runScalars("const r0 -9223372036854775808\nconst r1 9223372036854775807\nconst r2 4294967296",
                         "r0 r1 r2"),
              ElementsAre(INT64_MIN, INT64_MAX, 4294967296));
}

TEST(ScalarInstructions, faultsNameTheValues) {
  const struct {
    const char* body;
    const char* text;
  } cases[] = {
      {"const r0 9223372036854775807\nconst r1 1\nadd r2 r0 r1", "add 9223372036854775807 1"},
      {"const r0 -9223372036854775808\nconst r1 1\nsub r2 r0 r1", "sub"},
      {"const r0 4611686018427387904\nconst r1 2\nmul r2 r0 r1", "mul"},
      {"const r0 1\nconst r1 0\nfloordiv r2 r0 r1", "floordiv 1 0"},
      {"const r0 1\nconst r1 0\nceildiv r2 r0 r1", "ceildiv"},
      {"const r0 1\nconst r1 0\nmod r2 r0 r1", "mod"},
      {"const r0 -9223372036854775808\nconst r1 -1\nfloordiv r2 r0 r1", "floordiv"},
      {"const r0 9223372036854775807\naddi r2 r0 1", "addi"},
      {"const r0 9223372036854775807\nmuli r2 r0 2", "muli"},
  };
  for (const auto& one : cases) {
    std::string message;
    EXPECT_TRUE(runScalars(one.body, "r2", &message).empty()) << one.body;
    EXPECT_THAT(message, HasSubstr(one.text));
    EXPECT_THAT(message, HasSubstr("f@"));
  }
}

TEST(TensorInstructions, dimItemAndBack) {
  Machine m(
      "function f parameters 1 results 3\n dim r0 v0 1\n const r1 4\n item r2 v0 r1\n fromscalars v1 i32 [r0 "
      "r2]\n fromscalar v2 i64 r2\n"
      " fromscalar v3 bool r2\n ret [v1 v2 v3]\n");
  Value x = m.tensor<int64_t>(DYN_I64, {2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(m.call("f", {x.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int32_t>(m.output(0)), ElementsAre(3, 5));
  EXPECT_THAT(dataOf<int64_t>(m.output(1)), ElementsAre(5));
  EXPECT_THAT(shapeOf(m.output(1)), ElementsAre());
  EXPECT_THAT(dataOf<uint8_t>(m.output(2)), ElementsAre(1));
}

TEST(TensorInstructions, itemReadsEveryIntegerType) {
  const char* program =
      "function f parameters 1 results 1\n const r0 1\n item r1 v0 r0\n fromscalar v1 i64 r1\n ret [v1]\n";
  Machine m(program);
  auto check = [&](Value x, int64_t expected) {
    ASSERT_EQ(m.call("f", {x.get()}), DYN_OK) << m.message;
    EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(expected));
  };
  check(m.tensor<int8_t>(DYN_I8, {2}, {0, -3}), -3);
  check(m.tensor<uint8_t>(DYN_U8, {2}, {0, 200}), 200);
  check(m.tensor<int16_t>(DYN_I16, {2}, {0, -300}), -300);
  check(m.tensor<uint16_t>(DYN_U16, {2}, {0, 60000}), 60000);
  check(m.tensor<int32_t>(DYN_I32, {2}, {0, -70000}), -70000);
  check(m.tensor<uint32_t>(DYN_U32, {2}, {0, 4000000000u}), 4000000000);
  check(m.tensor<uint64_t>(DYN_U64, {2}, {0, 5}), 5);
  check(m.tensor<uint8_t>(DYN_BOOL, {2}, {0, 1}), 1);
  Value wide = m.tensor<uint64_t>(DYN_U64, {2}, {0, UINT64_MAX});
  EXPECT_EQ(m.call("f", {wide.get()}), DYN_ARITHMETIC);
  Value real = m.floats({1, 2});
  EXPECT_EQ(m.call("f", {real.get()}), DYN_CHECK_FAILED);
  Value one = m.integers({1});
  EXPECT_EQ(m.call("f", {one.get()}), DYN_OUT_OF_RANGE);
}

TEST(TensorInstructions, dimBeyondRankFaults) {
  Machine m("function f parameters 1 results 0\n dim r0 v0 1\n ret []\n");
  Value x = m.integers({1});
  EXPECT_EQ(m.call("f", {x.get()}), DYN_OUT_OF_RANGE);
  EXPECT_THAT(m.message, HasSubstr("i64[1]"));
  EXPECT_EQ(m.call("f", {nullptr}), DYN_CHECK_FAILED);
}

TEST(Checks, passAndFail) {
  Machine m(
      "string \"x must be square\"\nstring \"node A (Add)\"\n"
      "function tensor parameters 1\n checktensor v0 f32 2 m0\n ret []\n"
      "function equal parameters 1\n place 1\n dim r0 v0 0\n dim r1 v0 1\n checkeq r0 r1 m0\n ret []\n"
      "function less parameters 1\n dim r0 v0 0\n dim r1 v0 1\n checkle r0 r1 m0\n ret []\n"
      "function truth parameters 1\n dim r0 v0 0\n check r0 m0\n ret []\n"
      "function stop\n fatal m0\n");
  Value square = m.tensor<float>(DYN_F32, {2, 2}, {1, 2, 3, 4}),
        wide = m.tensor<float>(DYN_F32, {3, 2}, std::vector<float>(6));
  Value none = m.tensor<float>(DYN_F32, {0, 2}, {}), flat = m.floats({1});
  for (const char* f : {"tensor", "equal", "less", "truth"})
    EXPECT_EQ(m.call(f, {square.get()}), DYN_OK) << m.message;
  EXPECT_EQ(m.call("tensor", {flat.get()}), DYN_CHECK_FAILED);
  EXPECT_THAT(m.message, HasSubstr("x must be square (expected f32 of rank 2, got f32[1])"));
  EXPECT_EQ(m.call("equal", {wide.get()}), DYN_CHECK_FAILED);
  EXPECT_THAT(m.message, HasSubstr("(3 is not equal to 2)"));
  EXPECT_THAT(m.message, HasSubstr("node A (Add)"));
  EXPECT_EQ(m.call("less", {wide.get()}), DYN_CHECK_FAILED);
  EXPECT_EQ(m.call("truth", {none.get()}), DYN_CHECK_FAILED);
  EXPECT_EQ(m.call("stop"), DYN_CHECK_FAILED);
}

TEST(Memory, arenaAndViews) {
  Machine m(std::string(kKernelRows) +
            "function f results 2 objects 5\n const r0 256\n allocstorage v0 r0 0\n const r1 64\n const r2 "
            "4\n alloctensor v1 v0 r1 i64 [r2]\n"
            " const r3 9\n launch k1 r2 r2 [v1] [r3]\n const r4 2\n reshape v2 v1 [r4 r4]\n moveobject v3 "
            "v2\n kill v2\n kill v0\n ret [v1 v3]\n");
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output(0)), ElementsAre(9, 9, 9, 9));
  EXPECT_THAT(shapeOf(m.output(1)), ElementsAre(2, 2));
  EXPECT_EQ(dyn_value_data(m.output(0).get()), dyn_value_data(m.output(1).get()));
}

TEST(Memory, faults) {
  Machine m(
      "function outside\n const r0 64\n allocstorage v0 r0 0\n const r1 60\n const r2 2\n alloctensor v1 v0 "
      "r1 f32 [r2]\n ret []\n"
      "function odd\n const r0 64\n allocstorage v0 r0 0\n const r1 3\n const r2 2\n alloctensor v1 v0 r1 "
      "f32 [r2]\n ret []\n"
      "function negative\n const r0 -1\n newtensor v0 f32 0 [r0]\n ret []\n"
      "function huge\n const r0 4611686018427387904\n newtensor v0 f32 0 [r0 r0]\n ret []\n"
      "function shape\n const r0 4\n newtensor v0 f32 0 [r0]\n const r1 5\n reshape v1 v0 [r1]\n ret []\n"
      "function nostorage\n const r0 4\n newtensor v0 f32 0 [r0]\n alloctensor v1 v0 r0 f32 [r0]\n ret []\n");
  EXPECT_EQ(m.call("outside"), DYN_OUT_OF_RANGE);
  EXPECT_EQ(m.call("odd"), DYN_OUT_OF_RANGE);
  EXPECT_EQ(m.call("negative"), DYN_ARITHMETIC);
  EXPECT_EQ(m.call("huge"), DYN_ARITHMETIC);
  EXPECT_EQ(m.call("shape"), DYN_CHECK_FAILED);
  EXPECT_EQ(m.call("nostorage"), DYN_CHECK_FAILED);
}

TEST(Memory, zeroSizesAreOrdinary) {
  Machine m(std::string(kKernelRows) +
            "function f results 2\n const r0 0\n const r1 3\n newtensor v0 f32 0 [r0 r1]\n newtensor v1 f32 "
            "0 [r0 r1]\n newtensor v2 f32 0 [r0 r1]\n"
            " launch k0 r0 r0 [v0 v1 v2] []\n allocstorage v3 r0 0\n alloctensor v4 v3 r0 i64 [r0]\n reshape "
            "v5 v2 [r1 r0]\n ret [v5 v4]\n");
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  EXPECT_THAT(shapeOf(m.output(0)), ElementsAre(3, 0));
  EXPECT_NE(dyn_value_data(m.output(0).get()), nullptr);
}

TEST(Memory, deviceCopyThereAndBack) {
  Machine m(
      "function f parameters 1 results 1\n devicecopy v1 v0 0 1\n devicecopy v2 v1 1 1\n devicecopy v3 v2 1 "
      "0\n ret [v3]\n"
      "function wrong parameters 1 results 0\n devicecopy v1 v0 0 1\n devicecopy v2 v1 0 1\n ret []\n"
      "function read parameters 1 results 0\n devicecopy v1 v0 0 1\n const r0 0\n item r1 v1 r0\n ret []\n");
  Value x = m.integers({1, 2, 3});
  ASSERT_EQ(m.call("f", {x.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(1, 2, 3));
  EXPECT_EQ(m.call("wrong", {x.get()}), DYN_CHECK_FAILED);
  EXPECT_EQ(m.call("read", {x.get()}), DYN_CHECK_FAILED);
}

// Kernels on a device run there, after the work before them; the host waits where it reads.
TEST(Devices, kernelsRunWhereTheirTensorsLie) {
  Machine m(std::string(kKernelRows) +
            "function f parameters 2 results 1\n dim r0 v0 0\n devicecopy v2 v0 0 1\n devicecopy v3 v1 0 1\n"
            " newtensor v4 f32 1 [r0]\n launch k0 r0 r0 [v2 v3 v4] []\n launch k0 r0 r0 [v4 v3 v2] []\n"
            " devicecopy v5 v2 1 0\n ret [v5]\n"
            "function scratch parameters 1 results 1\n dim r0 v0 0\n newtensor v1 i64 1 [r0]\n"
            " launch k2 r0 r0 [v1] []\n devicecopy v2 v1 1 0\n ret [v2]\n"
            "function arena parameters 1 results 1\n const r0 128\n const r1 64\n const r2 3\n const r3 7\n"
            " allocstorage v1 r0 1\n alloctensor v2 v1 r1 i64 [r2]\n launch k1 r2 r2 [v2] [r3]\n"
            " devicecopy v3 v2 1 0\n ret [v3]\n");
  Value x = m.floats({1, 2, 3}), y = m.floats({10, 20, 30});
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(m.call("f", {x.get(), y.get()}), DYN_OK) << m.message;
    EXPECT_THAT(dataOf<float>(m.output()), ElementsAre(21, 42, 63));
  }
  Value none = m.floats({});
  ASSERT_EQ(m.call("f", {none.get(), none.get()}), DYN_OK) << m.message;
  ASSERT_EQ(m.call("scratch", {x.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(100, 100, 100));
  ASSERT_EQ(m.call("arena", {x.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(7, 7, 7));
}

TEST(Devices, whatIsElsewhereIsNotRead) {
  Machine m(
      std::string(kKernelRows) +
      "builtin \"list_concat\"\nbuiltin \"copy\"\n"
      "function left parameters 1 results 1\n devicecopy v1 v0 0 1\n ret [v1]\n"
      "function both parameters 1 results 0\n dim r0 v0 0\n devicecopy v1 v0 0 1\n"
      " launch k0 r0 r0 [v0 v1 v1] []\n ret []\n"
      "function list parameters 1 results 1\n const r0 0\n devicecopy v1 v0 0 1\n list v2 [v0 v1]\n"
      " builtin b0 [v3] [v2] [r0] []\n ret [v3]\n"
      "function into parameters 1 results 0\n devicecopy v1 v0 0 1\n builtininto b1 [v1] [v0] [] []\n ret "
      "[]\n"
      "function nowhere parameters 1 results 0\n devicecopy v1 v0 0 200\n ret []\n");
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  Value x = m.floats({1, 2, 3});
  ASSERT_EQ(m.call("left", {x.get()}), DYN_OK) << m.message;
  Value left = m.output();
  EXPECT_EQ(dyn_value_data(left.get()), nullptr);
  EXPECT_EQ(dyn_value_first(left.get()), nullptr);
  EXPECT_GE(m.statistics().in_use_bytes, 12u);
  EXPECT_NE(m.call("both", {x.get()}), DYN_OK);
  EXPECT_THAT(m.message, HasSubstr("on different devices"));
  EXPECT_EQ(m.call("list", {x.get()}), DYN_CHECK_FAILED);
  EXPECT_THAT(m.message, HasSubstr("not on the cpu"));
  EXPECT_EQ(m.call("into", {x.get()}), DYN_CHECK_FAILED);
  EXPECT_EQ(m.call("nowhere", {x.get()}), DYN_UNSUPPORTED);
  EXPECT_THAT(m.message, HasSubstr("device 200 is not there"));
}

// Nothing waits for a kernel elsewhere but the end of the run, which has its fault.
TEST(Devices, faultsOfKernelsEndTheRun) {
  Machine m(
      "kernel \"fault\" symbol \"fault\" buffers 1 outputs 1 scalars 1 scratch 0 \"loop\"\n"
      "function f parameters 1 results 1\n const r0 1\n const r1 3\n devicecopy v1 v0 0 1\n"
      " launch k0 r0 r0 [v1] [r1]\n ret [v1]\n");
  Value x = m.floats({1, 2, 3}), none = m.floats({});
  EXPECT_EQ(m.call("f", {x.get()}), DYN_KERNEL_FAULT);
  EXPECT_THAT(m.message, HasSubstr("kernel fault: bad value"));
  EXPECT_EQ(m.call("f", {none.get()}), DYN_OK) << m.message;
}

TEST(Devices, memoryLimitsHoldThere) {
  dyn_options options = {};
  options.memory_limit_bytes = 1 << 20;
  Machine m("function f parameters 0 results 0\n const r0 2000000\n newtensor v0 i64 1 [r0]\n ret []\n",
            options);
  EXPECT_EQ(m.call("f"), DYN_MEMORY_LIMIT);
  EXPECT_THAT(m.message, HasSubstr("16000000 bytes are needed on device 1"));
}

TEST(Globals, initFillsThemOnce) {
  const int64_t w[2] = {5, 6};
  Machine m(std::string("constant \"w\" i64 [2] offset 0\nglobals 2\nfunction init\n loadconst v0 c0\n "
                        "storeglobal v0 g0\n const r0 1\n item r1 v0 r0\n"
                        " fromscalar v1 i64 r1\n storeglobal v1 g1\n loadglobal v2 g1\n ret []\n"
                        "function f results 3\n loadglobal v0 g0\n loadglobal v1 g1\n loadconst v2 c0\n ret "
                        "[v0 v1 v2]\ninit init\n"),
            {}, {w});
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  EXPECT_EQ(dyn_value_data(m.output(0).get()), w) << "constants are not copied";
  EXPECT_THAT(dataOf<int64_t>(m.output(1)), ElementsAre(6));
  EXPECT_EQ(m.call("init"), DYN_CHECK_FAILED) << "init is not to be run after load";
}

TEST(Globals, constantsAreReadOnly) {
  const int64_t w[2] = {5, 6};
  Machine m(
      std::string(kKernelRows) +
          "constant \"w\" i64 [2] offset 0\nfunction f\n loadconst v0 c0\n const r0 2\n reshape v1 v0 [r0]\n"
          " launch k1 r0 r0 [v1] [r0]\n ret []\n",
      {}, {w});
  EXPECT_EQ(m.call("f"), DYN_CHECK_FAILED);
  EXPECT_THAT(m.message, HasSubstr("read-only"));
}

TEST(DataStructures, tuplesAndTags) {
  Machine m(
      "function f parameters 2 results 3\n tuple v2 7 [v0 v1]\n field v3 v2 1\n tag r0 v2\n fromscalar v4 "
      "i64 r0\n ret [v2 v3 v4]\n"
      "function beyond parameters 1 results 0\n tuple v1 0 [v0]\n field v2 v1 1\n ret []\n"
      "function nottuple parameters 1 results 0\n tag r0 v0\n ret []\n");
  Value a = m.integers({1}), b = m.integers({2});
  ASSERT_EQ(m.call("f", {a.get(), b.get()}), DYN_OK) << m.message;
  Value t = m.output(0);
  EXPECT_EQ(dyn_value_kind(t.get()), DYN_KIND_TUPLE);
  EXPECT_EQ(dyn_value_tag(t.get()), 7);
  EXPECT_EQ(dyn_value_item_count(t.get()), 2);
  dyn_value* item = nullptr;
  ASSERT_EQ(dyn_value_item(t.get(), 0, &item), DYN_OK);
  EXPECT_THAT(dataOf<int64_t>(Value(item)), ElementsAre(1));
  EXPECT_NE(dyn_value_item(t.get(), 2, &item), DYN_OK);
  EXPECT_THAT(dataOf<int64_t>(m.output(1)), ElementsAre(2));
  EXPECT_THAT(dataOf<int64_t>(m.output(2)), ElementsAre(7));
  EXPECT_EQ(m.call("beyond", {a.get()}), DYN_OUT_OF_RANGE);
  EXPECT_EQ(m.call("nottuple", {a.get()}), DYN_CHECK_FAILED);
}

std::vector<int64_t> listItems(const Value& list) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < dyn_value_item_count(list.get()); ++i) {
    dyn_value* item = nullptr;
    EXPECT_EQ(dyn_value_item(list.get(), i, &item), DYN_OK);
    result.push_back(dataOf<int64_t>(Value(item)).at(0));
  }
  return result;
}

TEST(DataStructures, lists) {
  Machine m(
      "function f parameters 2 results 5\n list v2 [v0 v1]\n const r0 1\n listinsert v3 v2 v0 r0\n const r1 "
      "-1\n listat v4 v3 r1\n listerase v5 v3 r1\n"
      " moveobject v6 v3\n listinsert v6 v6 v1 r0\n list v7 []\n const r2 0\n listinsert v7 v7 v0 r2\n "
      "listinsert v7 v7 v1 r2\n listerase v7 v7 r1\n"
      " ret [v3 v4 v5 v6 v7]\n"
      "function length parameters 1 results 1\n listlength r0 v0\n fromscalar v1 i64 r0\n ret [v1]\n"
      "function at parameters 1 results 1\n const r0 -3\n listat v1 v0 r0\n ret [v1]\n"
      "function insert parameters 2 results 1\n const r0 3\n listinsert v2 v0 v1 r0\n ret [v2]\n"
      "function erase parameters 1 results 1\n const r0 2\n listerase v1 v0 r0\n ret [v1]\n");
  Value a = m.integers({1}), b = m.integers({2});
  ASSERT_EQ(m.call("f", {a.get(), b.get()}), DYN_OK) << m.message;
  EXPECT_THAT(listItems(m.output(0)), ElementsAre(1, 1, 2)) << "a shared list is not changed";
  EXPECT_THAT(dataOf<int64_t>(m.output(1)), ElementsAre(2));
  EXPECT_THAT(listItems(m.output(2)), ElementsAre(1, 1));
  EXPECT_THAT(listItems(m.output(3)), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(listItems(m.output(4)), ElementsAre(2));
  dyn_value* items[2] = {a.get(), b.get()};
  dyn_value* made = nullptr;
  ASSERT_EQ(dyn_value_compound(m.context(), DYN_KIND_LIST, 0, items, 2, &made), DYN_OK);
  Value list(made);
  ASSERT_EQ(m.call("length", {list.get()}), DYN_OK);
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(2));
  EXPECT_EQ(m.call("at", {list.get()}), DYN_OUT_OF_RANGE);
  EXPECT_EQ(m.call("insert", {list.get(), a.get()}), DYN_OUT_OF_RANGE);
  EXPECT_EQ(m.call("erase", {list.get()}), DYN_OUT_OF_RANGE);
  EXPECT_EQ(m.call("at", {a.get()}), DYN_CHECK_FAILED);
}

TEST(Control, jumpsAndLoops) {
  // Sum of 1..1000000.
  EXPECT_THAT(runScalars("const r0 1000000\nagain:\njumpifnot r0 done\nadd r1 r1 r0\naddi r0 r0 -1\njump "
                         "again\ndone:\njumpif r1 end\nconst r1 0\nend:",
                         "r1"),
              ElementsAre(500000500000));
}

constexpr const char* kFibonacci =
    "function fib parameters 1 results 1\n const r0 0\n item r1 v0 r0\n const r2 2\n lt r3 r1 r2\n jumpifnot "
    "r3 deeper\n ret [v0]\n"
    "deeper:\n addi r1 r1 -1\n fromscalar v1 i64 r1\n invoke [v1] f0 [v1]\n addi r1 r1 -1\n fromscalar v2 "
    "i64 r1\n invoke [v2] f0 [v2]\n"
    " item r4 v1 r0\n item r5 v2 r0\n add r4 r4 r5\n fromscalar v3 i64 r4\n ret [v3]\n";

TEST(Control, recursion) {
  Machine m(kFibonacci);
  Value n = m.tensor<int64_t>(DYN_I64, {}, {20});
  ASSERT_EQ(m.call("fib", {n.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(6765));
}

constexpr const char* kCountDown =
    "function tail parameters 1 results 1\n const r0 0\n item r1 v0 r0\n jumpif r1 more\n ret [v0]\nmore:\n "
    "addi r1 r1 -1\n fromscalar v0 i64 r1\n"
    " tailinvoke f0 [v0]\n"
    "function deep parameters 1 results 1\n const r0 0\n item r1 v0 r0\n jumpif r1 more\n ret [v0]\nmore:\n "
    "addi r1 r1 -1\n fromscalar v0 i64 r1\n"
    " invoke [v1] f1 [v0]\n ret [v1]\n";

TEST(Control, tailCallsKeepNoFrames) {
  Machine m(kCountDown);
  Value n = m.tensor<int64_t>(DYN_I64, {}, {100000});
  ASSERT_EQ(m.call("tail", {n.get()}), DYN_OK) << m.message;
  EXPECT_LT(m.statistics().peak_bytes, 100'000u);
}

TEST(Control, depthLimitIsADiagnostic) {
  dyn_options options = {};
  options.depth_limit = 1000;
  Machine m(kCountDown, options);
  Value few = m.tensor<int64_t>(DYN_I64, {}, {900}), many = m.tensor<int64_t>(DYN_I64, {}, {1000});
  EXPECT_EQ(m.call("deep", {few.get()}), DYN_OK) << m.message;
  EXPECT_EQ(m.call("deep", {many.get()}), DYN_DEPTH_LIMIT);
  EXPECT_THAT(m.message, HasSubstr("1000"));
  EXPECT_EQ(m.call("deep", {few.get()}), DYN_OK) << "the context stays usable: " << m.message;
}

TEST(Control, closuresCapture) {
  Machine m(
      "function add3 parameters 3 results 1\n const r0 0\n item r1 v0 r0\n item r2 v1 r0\n item r3 v2 r0\n "
      "add r1 r1 r2\n add r1 r1 r3\n"
      " fromscalar v3 i64 r1\n ret [v3]\n"
      "function f parameters 3 results 1\n closure v3 f0 [v0 v1]\n invokeclosure [v4] v3 [v2]\n ret [v4]\n"
      // map over a list, with the closure as an argument
      "function map parameters 2 results 1\n listlength r0 v1\n const r1 0\n list v2 []\nnext:\n lt r2 r1 "
      "r0\n jumpifnot r2 end\n listat v3 v1 r1\n"
      " invokeclosure [v4] v0 [v3]\n listinsert v2 v2 v4 r1\n addi r1 r1 1\n jump next\nend:\n ret [v2]\n"
      "function mapped parameters 3 results 1\n closure v3 f0 [v0 v1]\n invoke [v4] f2 [v3 v2]\n ret [v4]\n"
      "function wrong parameters 1 results 1\n closure v1 f0 [v0]\n invokeclosure [v2] v1 [v0]\n ret [v2]\n"
      "function empty results 1\n invokeclosure [v2] v1 []\n ret [v2]\n");
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  Value a = m.integers({1}), b = m.integers({20}), c = m.integers({300});
  ASSERT_EQ(m.call("f", {a.get(), b.get(), c.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(321));
  dyn_value* items[3] = {a.get(), b.get(), c.get()};
  dyn_value* made = nullptr;
  ASSERT_EQ(dyn_value_compound(m.context(), DYN_KIND_LIST, 0, items, 3, &made), DYN_OK);
  Value list(made);
  ASSERT_EQ(m.call("mapped", {a.get(), b.get(), list.get()}), DYN_OK) << m.message;
  EXPECT_THAT(listItems(m.output()), ElementsAre(22, 41, 321));
  EXPECT_EQ(m.call("wrong", {a.get()}), DYN_CHECK_FAILED);
  EXPECT_EQ(m.call("empty"), DYN_CHECK_FAILED);
}

TEST(Computing, launchScratchAndFaults) {
  Machine m(std::string(kKernelRows) +
            "function add parameters 2 results 1\n dim r0 v0 0\n newtensor v2 f32 0 [r0]\n launch k0 r0 r0 "
            "[v0 v1 v2] []\n ret [v2]\n"
            "function scratch results 1\n const r0 5\n newtensor v0 i64 0 [r0]\n launch k2 r0 r0 [v0] []\n "
            "ret [v0]\n"
            "function fault parameters 1\n const r0 0\n item r1 v0 r0\n const r2 1\n launch k3 r2 r2 [] "
            "[r1]\n ret []\n"
            "function empty\n const r0 1\n launch k1 r0 r0 [v0] [r0]\n ret []\n");
  Value a = m.floats({1, 2, 3}), b = m.floats({10, 20, 30});
  ASSERT_EQ(m.call("add", {a.get(), b.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<float>(m.output()), ElementsAre(11, 22, 33));
  ASSERT_EQ(m.call("scratch"), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(100, 100, 100, 100, 100));
  Value code = m.integers({DYN_KERNEL_INDEX_OUT_OF_RANGE});
  EXPECT_EQ(m.call("fault", {code.get()}), DYN_KERNEL_FAULT);
  EXPECT_THAT(m.message, HasSubstr("kernel fault: kernel fault: index out of range"));
  EXPECT_EQ(m.call("empty"), DYN_CHECK_FAILED);
}

// A dry run runs no kernel: an element that one would overwrite is not known any more.
TEST(Computing, aDryRunForgetsWhatKernelsWriteInPlace) {
  const std::string text =
      std::string(kKernelRows) +
      "builtin \"cast\"\n"
      "function untouched results 1\n const r0 3\n fromscalar v0 i64 r0\n const r1 0\n item r2 v0 r1\n"
      " newtensor v1 i64 0 [r2]\n ret [v1]\n"
      "function launched results 1\n const r0 3\n fromscalar v0 i64 r0\n const r1 1\n const r3 100\n"
      " launch k1 r1 r1 [v0] [r3]\n const r1 0\n item r2 v0 r1\n newtensor v1 i64 0 [r2]\n ret [v1]\n"
      "function built parameters 1 results 1\n const r0 3\n fromscalars v1 i64 [r0]\n"
      " builtininto b0 [v1] [v0] [] []\n const r1 0\n item r2 v1 r1\n newtensor v2 i64 0 [r2]\n ret [v2]\n";
  dyn_options options{};
  options.dry_run = 1;
  Machine dryRun(text, options);
  ASSERT_EQ(dryRun.loadStatus, DYN_OK) << dryRun.loadMessage;
  EXPECT_EQ(dryRun.call("untouched"), DYN_OK) << dryRun.message;
  EXPECT_EQ(dryRun.call("launched"), DYN_UNSUPPORTED);
  EXPECT_THAT(dryRun.message, HasSubstr("a dry run ends here"));
  Value x = dryRun.integers({7});
  EXPECT_EQ(dryRun.call("built", {x.get()}), DYN_UNSUPPORTED);
  EXPECT_THAT(dryRun.message, HasSubstr("a dry run ends here"));
}

// The place of a launch says what the checks of its kernel demand; k3 returns its scalar.
TEST(Computing, faultsNameTheCheckThatFailed) {
  Machine m(
      std::string(kKernelRows) +
      "string \"whole\"\nstring \"first\\x09index\\x09axis 0 has 3 elements\\nsecond\\x09length\\x09at most "
      "n\"\n"
      "function fault parameters 1\n place 0\n const r0 0\n item r1 v0 r0\n const r2 1\n place 0 checks 1\n"
      " launch k3 r2 r2 [] [r1]\n ret []\n");
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  const auto messageOf = [&](int32_t check, int32_t value) {
    Value code = m.integers({DYN_KERNEL_INDEX_OUT_OF_RANGE | check << 3 | value * (1 << 8)});
    EXPECT_EQ(m.call("fault", {code.get()}), DYN_KERNEL_FAULT);
    return m.message;
  };
  EXPECT_THAT(messageOf(1, 7),
              AllOf(HasSubstr("kernel fault: index 7 is out of range: axis 0 has 3 elements"),
                    HasSubstr(", first)")));
  EXPECT_THAT(messageOf(2, -9),
              AllOf(HasSubstr("length -9 is out of range: at most n"), HasSubstr(", second)")));
  EXPECT_THAT(messageOf(2, DYN_FAULT_NO_VALUE), HasSubstr("kernel fault: length is out of range: at most n"));
  EXPECT_THAT(messageOf(1, DYN_FAULT_MOST), HasSubstr("index 8388607 or more"));
  EXPECT_THAT(messageOf(1, -DYN_FAULT_MOST), HasSubstr("index -8388607 or less"));
  for (int32_t unknown : {0, 3, 31})
    EXPECT_THAT(messageOf(unknown, 5), AllOf(HasSubstr("index out of range"), HasSubstr(", whole)")));
}

TEST(Computing, launchSplitsOverThreads) {
  dyn_options options = {};
  options.thread_count = 3;
  Machine m(std::string(kKernelRows) +
                "function f results 1\n const r0 1000003\n const r1 42\n newtensor v0 i64 0 [r0]\n launch k1 "
                "r0 r0 [v0] [r1]\n ret [v0]\n",
            options);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
    const std::vector<int64_t> data = dataOf<int64_t>(m.output());
    ASSERT_EQ(data.size(), 1000003u);
    ASSERT_TRUE(std::all_of(data.begin(), data.end(), [](int64_t x) { return x == 42; }));
  }
}

TEST(Computing, builtins) {
  Machine m(
      "builtin nonzero\nbuiltin cumsum\nfunction f parameters 1 results 2\n builtin b0 [v1] [v0] [] []\n dim "
      "r0 v0 0\n newtensor v2 i64 0 [r0]\n const r1 0\n"
      " builtininto b1 [v2] [v0] [r1] []\n ret [v1 v2]\n"
      "function wrong parameters 1 results 1\n const r0 1\n newtensor v1 i64 0 [r0]\n const r1 0\n "
      "builtininto b1 [v1] [v0] [r1] []\n ret [v1]\n");
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  Value x = m.integers({3, 0, 4});
  ASSERT_EQ(m.call("f", {x.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output(0)), ElementsAre(0, 2));
  EXPECT_THAT(shapeOf(m.output(0)), ElementsAre(1, 2));
  EXPECT_THAT(dataOf<int64_t>(m.output(1)), ElementsAre(3, 3, 7));
  EXPECT_EQ(m.call("wrong", {x.get()}), DYN_BAD_INPUT);
}

}  // namespace
}  // namespace dyn::vm::test
