// Flat rows of the table of builtins work in the scratch memory they ask for: whoever calls them needs no
// heap. Rows that do need one say so (kHeap), and a row that says it without need is found, too.
#include <map>

#include "tests/robustness/allocation_hook.h"
#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/include/abi/dyn_custom_kernel.h"
#include "vm/include/dyn_custom_kernels.h"

namespace dyn::vm::test {
namespace {

using calls::Owned;

class FlatRowsTest : public BuiltinTest {
 protected:
  Tensor* bytes(std::vector<int64_t> shape, DataType dtype = DataType::u8) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    std::vector<uint8_t> data(static_cast<size_t>(count));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 37 % 101);
    return tensor(dtype, shape, data);
  }
  Tensor* integers(const std::vector<int64_t>& values) {
    return tensor(DataType::i64, {static_cast<int64_t>(values.size())}, values);
  }
  Tensor* texts(int64_t count) {
    dyn_status why = DYN_OK;
    Tensor* made = newTensor(pool_, DataType::string, 1, &count, why);
    owned_.emplace_back(made);
    return made;  // of empty strings
  }

  // One call, after another one that made what is made once in a process.
  template <typename Call>
  void run(std::vector<Object*> arguments, const typename Call::template Numbers<Owned>& numbers,
           std::vector<int64_t> scalars, std::vector<Object*> results) {
    const BuiltinRow* row = findBuiltin(Call::kRow);
    ASSERT_TRUE(row && row->isFlat()) << Call::kRow;
    const Options options{.scalars = std::move(scalars), .numbers = calls::writeNumbers<Call>(numbers)};
    for (const bool counts : {false, true}) {
      uint64_t made = 0;
      const auto counted = [&](const auto& function) {
        const uint64_t before = robustness::allocationsOfThisThread().count;
        const int32_t status = function();
        made += robustness::allocationsOfThisThread().count - before;
        return status;
      };
      const auto scratch = [&](const DynBuiltinCall* call, uint64_t* bytes) {
        *bytes = 0;
        return row->flat.scratchBytes ? counted([&] { return row->flat.scratchBytes(call, bytes); }) : 0;
      };
      const auto body = [&](const DynBuiltinCall* call) {
        return counted([&] { return row->flat.run(call); });
      };
      const Status status = callFlat(scratch, body, arguments, options, results);
      ASSERT_TRUE(status.ok()) << Call::kRow << ": " << status.toString();
      if (counts) made_[Call::kRow] += made;
      if (counts && !row->is(calls::HEAP)) {
        EXPECT_EQ(made, 0u) << Call::kRow << ", call " << calls_ << " allocates on the heap";
      }
    }
    ++calls_;
    (void)made_[Call::kRow];
  }

  void products();
  void convolutions();
  void byteRows();
  void images();
  void others();

  std::map<std::string_view, uint64_t> made_;
  int calls_ = 0;
};

void FlatRowsTest::products() {
  using calls::Gemm;
  Gemm::Numbers<Owned> plain;
  run<Gemm>({floats({5, 7}), floats({7, 40})}, plain, {}, {output({5, 40})});
  run<Gemm>({floats({2, 7}), floats({7, 40})}, plain, {}, {output({2, 40})});
  run<Gemm>({floats({3, 1, 5, 7}), floats({2, 7, 40})}, plain, {}, {output({3, 2, 5, 40})});
  run<Gemm>({floats({4, 9, 300}), floats({300, 70})}, plain, {}, {output({4, 9, 70})});
  Gemm::Numbers<Owned> ordered;
  ordered.ordered = true;
  ordered.orders = {0, 2, 1, 3, 0, 2, 3, 1, 0, 2, 1, 3};
  run<Gemm>({floats({2, 6, 3, 8}), floats({2, 9, 3, 8})}, ordered, {}, {output({2, 6, 3, 9})});
  const std::vector<int64_t> wide(12, 2);
  run<Gemm>({tensor(DataType::i64, {2, 2, 3}, wide), tensor(DataType::i64, {2, 3, 2}, wide)}, plain, {},
            {output({2, 2, 2}, DataType::i64)});
  calls::Nbitsgemm::Numbers<Owned> bits;
  bits.bits = 4, bits.block = 32;
  for (const int64_t rows : {1, 9})
    run<calls::Nbitsgemm>({floats({rows, 64}), bytes({5, 2, 16}), floats({5, 2})}, bits, {},
                          {output({rows, 5})});
  for (const int64_t rows : {1, 9}) {
    Tensor* gates = floats({3, rows, 4 * 33});
    ASSERT_TRUE(call("gemmpack", {floats({33, 4 * 33})}).ok());
    Tensor *weights = result(0), *state = floats({rows, 33});
    calls::Recurrence::Numbers<Owned> both;
    both.secondBackward = both.stacks = true;
    run<calls::Recurrence>(
        {gates, weights, state, state, nullptr, integers(std::vector<int64_t>(static_cast<size_t>(rows), 2)),
         gates, weights, state, state},
        both, {},
        {output({rows, 33}), output({rows, 33}), output({3, rows, 33}), output({rows, 33}),
         output({rows, 33}), output({3, rows, 33})});
  }
  run<calls::Det>({floats({2, 5, 5})}, {}, {}, {output({2})});
  run<calls::Inverse>({floats({2, 5, 5})}, {}, {}, {output({2, 5, 5})});
  run<calls::PairwiseCoupling>({floats({2, 5, 5})}, {}, {}, {output({2, 5})});
  // One node, which all rows pass.
  calls::WalkTrees::Numbers<Owned> walk;
  walk.steps = 3;
  run<calls::WalkTrees>({floats({5, 2}), floats({1}), tensor<int32_t>(DataType::i32, {1, 4}, {0, -1, -2, 0}),
                         tensor<int32_t>(DataType::i32, {3}, {0, 0, 0})},
                        walk, {}, {output({5, 3}, DataType::i32)});
}

void FlatRowsTest::convolutions() {
  using calls::Conv;
  using calls::ConvPack;
  const auto both = [&](std::vector<int64_t> x, std::vector<int64_t> w, std::vector<int64_t> y, int group,
                        int stride, int64_t pad) {
    Tensor *input = floats(x), *weights = floats(w), *bias = floats({w[0]});
    for (int way = 0; way <= static_cast<int>(contraction::kWayNames.size()); ++way) {
      Conv::Numbers<Owned> n;
      n.axes = 2, n.way = way, n.group = group, n.strides = {stride, stride}, n.dilations = {1, 1};
      ConvPack::Numbers<Owned> packing;
      packing.axes = 2, packing.way = way, packing.group = group;
      packing.strides = n.strides, packing.dilations = n.dilations;
      // A way that does not go is refused when the weights are packed.
      if (!call("conv_pack", {weights}, {.numbers = calls::writeNumbers<ConvPack>(packing)}).ok()) continue;
      Tensor* packed = result(0);
      run<Conv>({input, weights, bias}, n, {pad, pad}, {output(y)});
      calls::ConvPacked::Numbers<Owned> p;
      p.axes = 2, p.way = way, p.group = group, p.strides = n.strides, p.dilations = n.dilations;
      p.sizes.assign(w.begin(), w.end());
      run<calls::ConvPacked>({input, packed, bias}, p, {pad, pad}, {output(y)});
    }
  };
  both({1, 3, 11, 13}, {20, 3, 3, 3}, {1, 20, 11, 13}, 1, 1, 1);
  both({2, 8, 9, 9}, {24, 8, 3, 3}, {2, 24, 4, 4}, 1, 2, 0);
  both({1, 16, 7, 7}, {32, 16, 1, 1}, {1, 32, 7, 7}, 1, 1, 0);
  both({1, 20, 12, 12}, {20, 1, 3, 3}, {1, 20, 12, 12}, 20, 1, 1);
  calls::ConvTranspose::Numbers<Owned> n;
  n.axes = 2, n.group = 1, n.strides = {2, 2}, n.dilations = {1, 1};
  run<calls::ConvTranspose>({floats({1, 3, 5, 5}), floats({3, 4, 3, 3}), floats({4})}, n, {0, 0},
                            {output({1, 4, 11, 11})});
}

void FlatRowsTest::byteRows() {
  using calls::Bytegemm;
  run<Bytegemm>({bytes({5, 7}), bytes({7, 20})}, {}, {}, {output({5, 20}, DataType::i32)});
  run<Bytegemm>({bytes({2, 5, 7}), bytes({2, 7, 20}), bytes({1}), bytes({20})}, {}, {},
                {output({2, 5, 20}, DataType::i32)});
  calls::Byteconv::Numbers<Owned> n;
  n.axes = 2, n.group = 1, n.strides = {1, 1}, n.dilations = {1, 1};
  run<calls::Byteconv>({bytes({1, 3, 9, 9}), bytes({5, 3, 3, 3}), bytes({1}), bytes({5})}, n, {1, 1},
                       {output({1, 5, 9, 9}, DataType::i32)});
  n.group = 4;
  run<calls::Byteconv>({bytes({1, 4, 9, 9}), bytes({4, 1, 3, 3})}, n, {1, 1},
                       {output({1, 4, 9, 9}, DataType::i32)});
}

void FlatRowsTest::images() {
  for (const int kind : {DYN_POOL_LARGEST, DYN_POOL_MEAN, DYN_POOL_MEAN_WITH_PADS}) {
    calls::Pool::Numbers<Owned> n;
    n.axes = 2, n.kind = kind, n.window = {3, 3}, n.strides = {2, 2}, n.dilations = {1, 1};
    run<calls::Pool>({floats({2, 3, 9, 9})}, n, {1, 1, 1, 1}, {output({2, 3, 5, 5})});
  }
  for (const int mode : {DYN_RESIZE_NEAREST, DYN_RESIZE_LINEAR, DYN_RESIZE_CUBIC}) {
    calls::Resize::Numbers<Owned> n;
    n.mode = mode, n.cubicCoefficient = -0.75f, n.axes = {2, 3};
    run<calls::Resize>({floats({1, 2, 4, 4})}, n, {}, {output({1, 2, 7, 9})});
  }
  calls::Col2im::Numbers<Owned> columns;
  columns.strides = columns.dilations = {1, 1}, columns.pads = columns.padsBehind = {0, 0};
  run<calls::Col2im>({floats({1, 4, 4}), integers({3, 3}), integers({2, 2})}, columns, {},
                     {output({1, 1, 3, 3})});
  columns.strides = {2, 2};
  run<calls::Col2im>({floats({2, 4, 4}), integers({5, 5}), integers({2, 2})}, columns, {},
                     {output({2, 1, 5, 5})});
  columns.strides = columns.dilations = {1}, columns.pads = columns.padsBehind = {0};
  run<calls::Col2im>({floats({1, 2, 3}), integers({4}), integers({2})}, columns, {}, {output({1, 1, 4})});
  calls::RoiAlign::Numbers<Owned> regions;
  regions.scale = 1;
  run<calls::RoiAlign>(
      {floats({1, 2, 8, 8}), tensor<float>(DataType::f32, {1, 4}, {1, 1, 6, 6}), integers({0})}, regions, {},
      {output({1, 2, 3, 3})});
  run<calls::GridSample>({floats({1, 2, 8, 8}), floats({1, 5, 5, 2})}, {}, {}, {output({1, 2, 5, 5})});
}

void FlatRowsTest::others() {
  calls::PackedAttention::Numbers<Owned> scaled;
  scaled.scale = 0.5f;
  run<calls::PackedAttention>(
      {floats({1, 2, 7, 4}), floats({1, 2, 4, 7}), floats({1, 2, 7, 5}), integers({3, 4})}, scaled, {},
      {output({1, 7, 2, 5})});
  static const DynCustomKernel copies[] = {
      {"robust_copy", {nullptr, [](const DynBuiltinCall* call) -> int32_t {
                         const DynTensorView& x = call->arguments[0];
                         memcpy(call->results[0].data, x.data,
                                static_cast<size_t>(x.elements) * sizeof(float));
                         return DYN_OK;
                       }}}};
  ASSERT_EQ(dyn_custom_kernels_add(copies, 1), DYN_OK);
  calls::CustomCall::Numbers<Owned> custom;
  custom.kernel = {11, 0x75626f72, 0x635f7473, 0x0079706f};  // "robust_copy"
  run<calls::CustomCall>({floats({4, 6})}, custom, {}, {output({4, 6})});
  run<calls::Split>({floats({4, 6})}, {}, {1}, {output({4, 2}), output({4, 4})});
  run<calls::Bitcast>({floats({4})}, {}, {}, {output({4}, DataType::i32)});
  run<calls::Cast>({floats({4})}, {}, {}, {output({4}, DataType::f8e4m3fn)});
  for (const int64_t length : {8, 15})
    run<calls::Dft>({floats({3, length, 2})}, {}, {}, {output({3, length, 2})});
  for (const int64_t count : {1, 3})
    run<calls::StringEqual>({texts(3), texts(count)}, {}, {}, {output({3}, DataType::boolean)});
  calls::RegexFullMatch::Numbers<Owned> expression;
  expression.expression = {1, 'a'};
  run<calls::RegexFullMatch>({texts(3)}, expression, {}, {output({3}, DataType::boolean)});
  calls::Tfidf::Numbers<Owned> grams;
  const auto table = [](int32_t dtype, std::vector<int32_t> words, int32_t count) {
    Owned packed{dtype, count, static_cast<int32_t>(4 * words.size())};
    packed.insert(packed.end(), words.begin(), words.end());
    return packed;
  };
  grams.mode = DYN_TFIDF_COUNTS, grams.leastLength = grams.mostLength = 1;
  grams.begins = table(DYN_I64, {0, 0}, 1), grams.places = table(DYN_I64, {0, 0}, 1);
  grams.pool = table(DYN_I64, {7, 0}, 1), grams.weights = table(DYN_F32, {0x3f800000}, 1);
  run<calls::Tfidf>({integers({7, 8})}, grams, {}, {output({1})});
}

TEST_F(FlatRowsTest, WorkInTheirScratchMemory) {
  products();
  convolutions();
  byteRows();
  images();
  others();
  for (const BuiltinRow* each : builtinTable()) {
    const BuiltinRow& row = *each;
    if (!row.isFlat() || row.name == calls::Attention::kRow) continue;  // attention needs a kernel: see there
    const auto ran = made_.find(row.name);
    ASSERT_NE(ran, made_.end()) << row.name << " is not called here";
    EXPECT_EQ(row.is(calls::HEAP), ran->second > 0) << row.name;
  }
}

}  // namespace
}  // namespace dyn::vm::test
