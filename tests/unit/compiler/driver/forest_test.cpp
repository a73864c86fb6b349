// Trees as flat arrays of the C API (dyn_trees.h): what they give is what the same trees give as values; each
// broken array is refused with its node; programs that do more with their trees are refused.
#include <gmock/gmock.h>

#include "compiler/export/package.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "vm/include/dyn_trees.h"

namespace dyn {
namespace {

using test::Compiled;
using test::randomTensor;
using testing::HasSubstr;

const std::string kEncode = R"(
type Tree { Leaf(Tensor[(), i64], Tensor[(3), f32]), Node(Tree, Tensor[(), i64], Tree), One(Tree) }
fn @encode(t: Tree, e: Tensor[(words, 3), f32], w: Tensor[(3, 3), f32]) -> (Tensor[(3), f32]) {
  h = match(t, e, w) case Leaf(i, x, e, w) { return gather(e, i) + x }
                     case Node(a, s, b, e, w) { return tanh((@encode(a, e, w) - @encode(b, e, w)) @ w + cast(s) {to = f32}) }
                     case One(a, e, w) { return @encode(a, e, w) * f32[] 0.5 }
  return h
}
)";
const std::string kList = R"(
fn @main(trees: List[Tree], e: Tensor[(words, 3), f32], w: Tensor[(3, 3), f32]) {
  y = loop(list_length(trees), _, trees, e, w) {carried = 0} body (i, trees, e, w) {
    h = @encode(list_at(trees, i), e, w)
    return true, h
  }
  return y
}
)";
const std::string kOne = R"(
fn @main(tree: Tree, e: Tensor[(words, 3), f32], w: Tensor[(3, 3), f32]) {
  h = @encode(tree, e, w)
  return h
}
)";

struct ValueRelease {
  void operator()(dyn_value* v) const { dyn_value_release(v); }
};
using Held = std::unique_ptr<dyn_value, ValueRelease>;

Held tensorOf(dyn_context* context, int32_t dtype, std::vector<int64_t> shape, const void* data,
              size_t bytes) {
  dyn_value* made = nullptr;
  EXPECT_EQ(
      dyn_value_tensor(context, dtype, static_cast<int32_t>(shape.size()), shape.data(), data, bytes, &made),
      DYN_OK)
      << dyn_last_message();
  return Held(made);
}

// Nodes in the order of the arrays; children may be shared and may stand before or behind.
struct Arrays {
  std::vector<int32_t> constructors;
  std::vector<int64_t> starts{0}, children, roots;
  std::vector<int64_t> words, signs;
  std::vector<float> values;

  void add(int32_t constructor, std::vector<int64_t> below, int64_t number = 0) {
    constructors.push_back(constructor);
    children.insert(children.end(), below.begin(), below.end());
    starts.push_back(static_cast<int64_t>(children.size()));
    if (constructor == 1) signs.push_back(number);
    if (constructor != 0) return;
    words.push_back(number);
    for (int k = 0; k < 3; ++k) values.push_back(static_cast<float>(number) * 0.25f - static_cast<float>(k));
  }
  int64_t count() const { return static_cast<int64_t>(constructors.size()); }
};

class Runner {
 public:
  // Of the text, or of a package of it.
  explicit Runner(const std::string& text, const CompileOptions& options = {},
                  const std::string& package = "") {
    Result<Module> parsed = test::parseText(ir_, text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
    compiled_ = std::move(*compiled);
    if (!package.empty()) {
      dyn_module* module = nullptr;
      dyn_context* made = nullptr;
      EXPECT_EQ(dyn_module_load_file(package.c_str(), nullptr, &module), DYN_OK) << dyn_last_message();
      compiled_->context.reset();
      compiled_->module.reset(module);
      EXPECT_EQ(dyn_context_create(module, nullptr, &made), DYN_OK) << dyn_last_message();
      compiled_->context.reset(made);
    }
    const HostTensor e = randomTensor(Dtype::f32, {5, 3}, 1), w = randomTensor(Dtype::f32, {3, 3}, 2);
    for (const auto& [index, tensor] : {std::pair(1, &e), std::pair(2, &w)}) {
      std::vector<float> elements;
      for (int64_t i = 0; i < tensor->elementCount(); ++i)
        elements.push_back(static_cast<float>(tensor->realAt(i)));
      const Held value = tensorOf(context(), DYN_F32, tensor->shape(), elements.data(), elements.size() * 4);
      EXPECT_EQ(dyn_context_set_input(context(), index, value.get()), DYN_OK) << dyn_last_message();
    }
  }
  dyn_context* context() { return compiled_->context.get(); }

  dyn_status set(const Arrays& a, const char* name) {
    const auto leaves = static_cast<int64_t>(a.words.size()), nodes = static_cast<int64_t>(a.signs.size());
    const Held words = tensorOf(context(), DYN_I64, {leaves}, a.words.data(), a.words.size() * 8),
               values = tensorOf(context(), DYN_F32, {leaves, 3}, a.values.data(), a.values.size() * 4),
               signs = tensorOf(context(), DYN_I64, {nodes}, a.signs.data(), a.signs.size() * 8);
    dyn_value* fields[3] = {words.get(), values.get(), signs.get()};
    const dyn_forest forest{a.count(),
                            a.constructors.data(),
                            a.starts.data(),
                            a.children.data(),
                            a.roots.empty() ? nullptr : a.roots.data(),
                            static_cast<int64_t>(a.roots.size()),
                            fields,
                            fieldCount};
    return dyn_context_set_forest_input(context(), name, &forest);
  }

  // The same as values, one object for each node. Children stand before.
  void setValues(const Arrays& a, const char* name, bool list) {
    std::vector<Held> made;
    std::vector<bool> isChild(a.constructors.size(), false);
    size_t leaf = 0, node = 0;
    for (size_t i = 0; i < a.constructors.size(); ++i) {
      const auto child = [&](int64_t k) {
        const int64_t at = a.children[static_cast<size_t>(a.starts[i] + k)];
        isChild[static_cast<size_t>(at)] = true;
        return made[static_cast<size_t>(at)].get();
      };
      Held word, value, sign;
      std::vector<dyn_value*> items;
      if (a.constructors[i] == 0) {
        word = tensorOf(context(), DYN_I64, {}, &a.words[leaf], 8);
        value = tensorOf(context(), DYN_F32, {3}, &a.values[3 * leaf++], 12);
        items = {word.get(), value.get()};
      } else if (a.constructors[i] == 1) {
        sign = tensorOf(context(), DYN_I64, {}, &a.signs[node++], 8);
        items = {child(0), sign.get(), child(1)};
      } else {
        items = {child(0)};
      }
      made.push_back(compound(DYN_KIND_TUPLE, a.constructors[i], items));
    }
    std::vector<dyn_value*> roots;
    for (size_t i = 0; i < made.size() && a.roots.empty(); ++i)
      if (!isChild[i]) roots.push_back(made[i].get());
    for (int64_t root : a.roots) roots.push_back(made[static_cast<size_t>(root)].get());
    const Held all = compound(DYN_KIND_LIST, 0, roots);
    EXPECT_EQ(dyn_context_set_input_name(context(), name, list ? all.get() : roots.at(0)), DYN_OK)
        << dyn_last_message();
  }

  std::vector<float> run() {
    EXPECT_EQ(dyn_context_run(context()), DYN_OK) << dyn_last_message();
    dyn_value* raw = nullptr;
    EXPECT_EQ(dyn_context_get_output(context(), 0, &raw), DYN_OK) << dyn_last_message();
    const Held value(raw);
    const auto* data = static_cast<const float*>(dyn_value_data(raw));
    return {data, data + dyn_value_size_bytes(raw) / 4};
  }

  int64_t fieldCount = 3;

 private:
  Held compound(dyn_kind kind, int32_t tag, const std::vector<dyn_value*>& items) {
    dyn_value* raw = nullptr;
    EXPECT_EQ(
        dyn_value_compound(context(), kind, tag, items.data(), static_cast<int64_t>(items.size()), &raw),
        DYN_OK)
        << dyn_last_message();
    return Held(raw);
  }
  IrContext ir_;
  std::unique_ptr<Compiled> compiled_;
};

// Three trees and a single leaf; node 2 is shared.
Arrays some() {
  Arrays a;
  a.add(0, {}, 1), a.add(0, {}, 4), a.add(1, {0, 1}, 2), a.add(2, {2}), a.add(1, {2, 3}, -1);
  a.add(0, {}, 3), a.add(2, {5}), a.add(0, {}, 2), a.add(1, {4, 7}, 0);
  return a;
}

TEST(Forest, AsValues) {
  Runner list(kEncode + kList), one(kEncode + kOne);
  for (int variant = 0; variant < 4; ++variant) {
    Arrays a = some();
    if (variant == 1) a.roots = {8, 2, 8};
    if (variant == 2) a = Arrays(), a.add(0, {}, 2);
    if (variant == 3) {  // a chain, and many leaves
      a = Arrays();
      a.add(0, {}, 1);
      for (int64_t i = 1; i < 3001; i += 2) a.add(0, {}, i % 5), a.add(1, {i - 1, i}, i % 3);
    }
    list.setValues(a, "trees", true);
    const std::vector<float> expected = list.run();
    ASSERT_EQ(list.set(a, "trees"), DYN_OK) << dyn_last_message();
    EXPECT_EQ(list.run(), expected) << variant;
    EXPECT_EQ(list.run(), expected) << variant << " again";
    if (variant < 2) continue;
    ASSERT_EQ(one.set(a, "tree"), DYN_OK) << dyn_last_message();
    const std::vector<float> single = one.run();
    one.setValues(a, "tree", false);
    EXPECT_EQ(single, one.run()) << variant;
  }
}

TEST(Forest, AnyOrderOfNodes) {
  Runner list(kEncode + kList);
  Arrays before, behind;
  before.add(0, {}, 1), before.add(0, {}, 2), before.add(1, {0, 1}, 1), before.add(2, {2});
  behind.add(2, {1}), behind.add(1, {2, 3}, 1), behind.add(0, {}, 1), behind.add(0, {}, 2);
  ASSERT_EQ(list.set(before, "trees"), DYN_OK) << dyn_last_message();
  const std::vector<float> expected = list.run();
  ASSERT_EQ(list.set(behind, "trees"), DYN_OK) << dyn_last_message();
  EXPECT_EQ(list.run(), expected);
  ASSERT_EQ(list.set(Arrays(), "trees"), DYN_OK) << dyn_last_message();
  EXPECT_TRUE(list.run().empty());
}

TEST(Forest, BrokenArraysNameTheirNode) {
  Runner list(kEncode + kList), one(kEncode + kOne);
  const auto refused = [&](const Arrays& a, const std::string& why) {
    EXPECT_EQ(list.set(a, "trees"), DYN_INVALID_ARGUMENT);
    EXPECT_THAT(dyn_last_message(), HasSubstr(why));
  };
  Arrays a = some();
  a.children[0] = 8;
  refused(a, "a cycle");
  a = some(), a.children[2] = 3;
  refused(a, "node 3 has child 3");
  a = some(), a.children[1] = 9;
  refused(a, "node 2 has child 9, there are 9 nodes");
  a = some(), a.children[1] = -1;
  refused(a, "node 2 has child -1");
  a = some(), a.constructors[3] = 1;
  refused(a, "node 3 has 1 children, its constructor has 2");
  a = some(), a.constructors[4] = 2;
  refused(a, "node 4 has 2 children, its constructor has 1");
  a = some(), a.constructors[0] = 3;
  refused(a, "node 0 is of constructor 3");
  a = some(), a.roots = {9};
  refused(a, "root 0 is node 9");
  a = some(), a.words.pop_back(), a.values.resize(9);
  refused(a, "fields[0], of constructor 0, is i64[3], not i64[4]");
  list.fieldCount = 2;
  refused(some(), "fields[2], of constructor 1, is missing");
  EXPECT_EQ(one.set(some(), "tree"), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("is one tree, there are 2"));
  EXPECT_EQ(one.set(some(), "e"), DYN_INVALID_ARGUMENT);
}

TEST(Forest, OfAPackage) {
  IrContext ir;
  Result<Module> parsed = test::parseText(ir, kEncode + kList);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, {});
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  test::TemporaryFolder folder;
  const std::string path = folder.path() + "/model.dynpkg";
  if (!writePackageFile(*compiled, path).ok()) GTEST_SKIP() << "packages cannot be written here";
  Runner values(kEncode + kList), package(kEncode + kList, {}, path);
  values.setValues(some(), "trees", true);
  ASSERT_EQ(package.set(some(), "trees"), DYN_OK) << dyn_last_message();
  EXPECT_EQ(package.run(), values.run());
}

TEST(Forest, ProgramsThatNeedValues) {
  CompileOptions plain;
  plain.passes = "-batch_levels";
  Runner turns(kEncode + kOne, plain);
  Arrays leaf;
  leaf.add(0, {}, 2);
  EXPECT_EQ(turns.set(leaf, "tree"), DYN_UNSUPPORTED);
  EXPECT_THAT(dyn_last_message(), HasSubstr("unsupported: input tree is not computed a level at a time"));
  Runner looks(kEncode + R"(
fn @main(tree: Tree, e: Tensor[(words, 3), f32], w: Tensor[(3, 3), f32]) {
  h = @encode(tree, e, w)
  k = match(tree, h) case Leaf(i, x, h) { return h } case Node(a, s, b, h) { return h + h } case One(a, h) { return h - h }
  return k
})");
  EXPECT_EQ(looks.set(leaf, "tree"), DYN_UNSUPPORTED);
}

}  // namespace
}  // namespace dyn
