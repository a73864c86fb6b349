// The C API of the compiler: what a C program sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "app/library/include/dyn.h"
#include "app/library/include/dyn_generate.h"
#include "app/library/include/dyn_server.h"
#include "tests/support/temporary_folder.h"
#include "vm/include/dyn_results.h"

namespace dyn {
namespace {

using testing::HasSubstr;

// A caller may hand over any number, and DYN_QUEUE_FULL is a dyn_status: C++ must not know better.
template <typename... Enums>
constexpr bool kHoldAnyInt = (std::is_same_v<std::underlying_type_t<Enums>, int> && ...);
static_assert(kHoldAnyInt<dyn_status, dyn_dtype, dyn_kind, dyn_trap_action, dyn_severity, dyn_batching,
                          dyn_shutdown, dyn_sequence_end>);

constexpr const char* kMlp =
    R"(fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4, 2), f32]) -> (Tensor[(n, 2), f32]) {
  %h = relu(%x)
  %y = matmul(%h, %w)
  return %y
}
)";
// Whether k and m are equal only a run can tell.
constexpr const char* kProduct =
    R"(fn @main(%a: Tensor[(n, k), f32], %b: Tensor[(m, 2), f32]) -> (Tensor[(n, 2), f32]) {
  %y = matmul(%a, %b)
  return %y
}
)";

dyn_diagnostic diagnostic(int32_t index = 0) {
  dyn_diagnostic said{};
  said.size = sizeof said;
  EXPECT_EQ(dyn_diagnostic_get(index, &said), DYN_OK);
  return said;
}

class LibraryTest : public testing::Test {
 protected:
  ~LibraryTest() override { dyn_model_release(model_); }

  dyn_status open(const std::string& path, const std::vector<dyn_option>& more = {}) {
    std::vector<dyn_option> list = {{"cache-dir", "none"}, {"threads", "1"}};
    list.insert(list.end(), more.begin(), more.end());
    dyn_model_options options{};
    options.size = sizeof options;
    options.path = path.c_str();
    options.options = list.data();
    options.option_count = list.size();
    dyn_model_release(model_);
    return dyn_model_open(&options, &model_);
  }
  dyn_status openText(const std::string& text, const std::vector<dyn_option>& more = {}) {
    return open(folder_.write("m.dyn", text), more);
  }
  // Without code generation there is nothing that runs.
  bool compile(dyn_module** module) {
    const dyn_status status = dyn_model_compile(model_, module);
    if (status == DYN_UNSUPPORTED) return false;
    EXPECT_EQ(status, DYN_OK) << diagnostic().message;
    return status == DYN_OK;
  }

  test::TemporaryFolder folder_;
  dyn_model* model_ = nullptr;
};

TEST_F(LibraryTest, NullPointersAndSizesAreArguments) {
  dyn_model_options options{};
  EXPECT_EQ(dyn_model_open(nullptr, &model_), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_open(&options, &model_), DYN_INVALID_ARGUMENT);  // its size is not set
  EXPECT_THAT(diagnostic().message, HasSubstr("size"));
  options.size = sizeof options;
  EXPECT_EQ(dyn_model_open(&options, nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_open(&options, &model_), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnostic().message, HasSubstr("either path or bytes"));
  EXPECT_EQ(model_, nullptr);
  dyn_module* module = nullptr;
  const char* text = nullptr;
  dyn_port port{};
  dyn_prediction* prediction = nullptr;
  EXPECT_EQ(dyn_model_compile(nullptr, &module), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_command(nullptr, "info", &text), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_input(nullptr, 0, &port), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_predict(nullptr, nullptr, 0, &prediction), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_export(nullptr, "package", "x", nullptr, 0), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_model_input_count(nullptr), -1);
  dyn_model_cancel(nullptr);
  dyn_model_release(nullptr);
  dyn_prediction_release(nullptr);
  ASSERT_EQ(openText(kMlp), DYN_OK);
  EXPECT_EQ(dyn_diagnostic_count(), 0);
  EXPECT_EQ(dyn_model_input(model_, 0, &port), DYN_INVALID_ARGUMENT);  // its size is not set
  port.size = sizeof port;
  EXPECT_EQ(dyn_model_input(model_, 2, &port), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnostic().message, HasSubstr("there are 2"));
  EXPECT_EQ(dyn_diagnostic_get(1, nullptr), DYN_INVALID_ARGUMENT);
}

TEST_F(LibraryTest, FaultsOfFilesHaveAnIdAndAPlace) {
  EXPECT_EQ(open(folder_.path() + "/absent.onnx"), DYN_IO_ERROR);
  EXPECT_STREQ(diagnostic().id, "E0010");
  EXPECT_EQ(openText("fn @main(%x: Tensor[(n), f32]) {\n  %y = nothing(%x)\n  return %y\n}\n"),
            DYN_BAD_PROGRAM);
  const dyn_diagnostic said = diagnostic();
  EXPECT_EQ(said.line, 2u);
  EXPECT_THAT(said.file, HasSubstr("m.dyn"));
  EXPECT_THAT(said.place, HasSubstr("m.dyn:2:"));
  EXPECT_EQ(model_, nullptr);
  EXPECT_EQ(openText(kMlp, {{"threads", "many"}}), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnostic().message, HasSubstr("many"));
  EXPECT_EQ(openText(kMlp, {{"thread", "1"}}), DYN_INVALID_ARGUMENT);  // no such option
  EXPECT_EQ(openText(kMlp, {{"dim", "k=3"}}), DYN_INVALID_ARGUMENT);
}

TEST_F(LibraryTest, SaysWhatGoesInAndOut) {
  ASSERT_EQ(openText(kMlp, {{"dim", "n=2..64:2"}}), DYN_OK) << diagnostic().message;
  ASSERT_EQ(dyn_model_input_count(model_), 2);
  ASSERT_EQ(dyn_model_output_count(model_), 1);
  dyn_port port{};
  port.size = sizeof port;
  ASSERT_EQ(dyn_model_output(model_, 0, &port), DYN_OK);
  EXPECT_EQ(port.rank, 2);
  EXPECT_EQ(port.dtype, static_cast<int32_t>(DYN_F32));
  EXPECT_STREQ(port.kind, "tensor");
  dyn_contract_dim dim{};
  ASSERT_EQ(dyn_model_input_dim(model_, 0, 0, &dim), DYN_OK);
  EXPECT_STREQ(dim.text, "n");
  EXPECT_EQ(dim.value, -1);
  EXPECT_EQ(dim.low, 2);
  EXPECT_EQ(dim.high, 64);
  EXPECT_EQ(dim.multiple, 2);
  ASSERT_EQ(dyn_model_output_dim(model_, 0, 1, &dim), DYN_OK);
  EXPECT_EQ(dim.value, 2);
  EXPECT_EQ(dyn_model_output_dim(model_, 0, 2, &dim), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnostic().message, HasSubstr("axis 2"));
}

TEST_F(LibraryTest, OneModuleRunsAllSizesAndOutlivesTheModel) {
  ASSERT_EQ(openText(kMlp), DYN_OK);
  dyn_module* module = nullptr;
  if (!compile(&module)) GTEST_SKIP() << "no code generation";
  dyn_model_release(model_);
  model_ = nullptr;
  dyn_context* context = nullptr;
  ASSERT_EQ(dyn_context_create(module, nullptr, &context), DYN_OK);
  dyn_module_release(module);
  const std::vector<float> weights(8, 0.5f);
  for (int64_t n : {0, 1, 3, 17}) {
    const std::vector<float> x(static_cast<size_t>(4 * n), 1.0f);
    const int64_t shape[2] = {n, 4}, shapeOfWeights[2] = {4, 2};
    dyn_value *first = nullptr, *second = nullptr, *output = nullptr;
    ASSERT_EQ(dyn_value_tensor(context, DYN_F32, 2, shape, x.data(), x.size() * sizeof(float), &first),
              DYN_OK);
    ASSERT_EQ(dyn_value_tensor(context, DYN_F32, 2, shapeOfWeights, weights.data(), 32, &second), DYN_OK);
    dyn_context_set_input(context, 0, first);
    dyn_context_set_input(context, 1, second);
    dyn_value_release(first);
    dyn_value_release(second);
    ASSERT_EQ(dyn_context_run(context), DYN_OK) << dyn_last_message();
    ASSERT_EQ(dyn_context_get_output(context, 0, &output), DYN_OK);
    EXPECT_EQ(dyn_value_shape(output)[0], n);
    for (int64_t i = 0; i < 2 * n; ++i) EXPECT_EQ(static_cast<const float*>(dyn_value_data(output))[i], 2.0f);
    dyn_value_release(output);
  }
  dyn_context_release(context);
}

TEST_F(LibraryTest, TakenResultsMayBeWrittenToWhereNothingSharesThem) {
  ASSERT_EQ(
      openText("fn @main(%x: Tensor[(n), f32]) { %y = add(%x, %x) %z = mul(%x, %x) return %y, %z, %z, %x }"),
      DYN_OK);
  dyn_module* module = nullptr;
  if (!compile(&module)) GTEST_SKIP() << "no code generation";
  dyn_context* context = nullptr;
  ASSERT_EQ(dyn_context_create(module, nullptr, &context), DYN_OK);
  dyn_module_release(module);
  const float data[3] = {1, 2, 3};
  const int64_t shape[1] = {3};
  dyn_value *x = nullptr, *y = nullptr, *again = nullptr;
  ASSERT_EQ(dyn_value_tensor(context, DYN_F32, 1, shape, data, sizeof data, &x), DYN_OK);
  dyn_context_set_input(context, 0, x);
  ASSERT_EQ(dyn_context_run(context), DYN_OK) << dyn_last_message();
  ASSERT_EQ(dyn_context_get_output(context, 0, &y), DYN_OK);
  EXPECT_EQ(dyn_value_is_exclusive(y), 0);  // the context has it, too
  dyn_value_release(y);
  ASSERT_EQ(dyn_context_take_output(context, 0, &y), DYN_OK);
  EXPECT_NE(dyn_value_is_exclusive(y), 0);
  dyn_value_retain(y);
  EXPECT_EQ(dyn_value_is_exclusive(y), 0);
  dyn_value_release(y);
  EXPECT_EQ(dyn_context_take_output(context, 0, &again), DYN_OK);
  EXPECT_EQ(again, nullptr);             // taken
  for (const int32_t shared : {1, 3}) {  // another output's, and an input's
    ASSERT_EQ(dyn_context_take_output(context, shared, &again), DYN_OK);
    EXPECT_EQ(dyn_value_is_exclusive(again), 0) << shared;
    dyn_value_release(again);
  }
  const_cast<float*>(static_cast<const float*>(dyn_value_data(y)))[0] = 7;
  ASSERT_EQ(dyn_context_run(context), DYN_OK) << dyn_last_message();
  ASSERT_EQ(dyn_context_take_output(context, 0, &again), DYN_OK);
  EXPECT_EQ(static_cast<const float*>(dyn_value_data(again))[0], 2);
  EXPECT_EQ(static_cast<const float*>(dyn_value_data(y))[0], 7);
  dyn_value_release(x);
  EXPECT_EQ(dyn_context_take_output(context, 9, &x), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_is_exclusive(nullptr), 0);
  dyn_value* grows = nullptr;
  const int64_t sizes[] = {2, 3};
  ASSERT_EQ(dyn_value_growing(context, DYN_F32, 2, sizes, 1, 8, nullptr, 0, &grows), DYN_OK);
  EXPECT_EQ(dyn_value_room(grows), 8);
  EXPECT_EQ(dyn_value_is_exclusive(grows), 0);
  EXPECT_EQ(dyn_value_room(again), 0);
  EXPECT_EQ(dyn_value_room(nullptr), 0);
  dyn_value_release(grows);
  dyn_value_release(again);
  dyn_value_release(y);
  dyn_context_release(context);
}

TEST_F(LibraryTest, BytesAreAModelUnderTheirName) {
  const std::string text = kMlp, broken = "fn @main(";
  dyn_model_options options{};
  options.size = sizeof options;
  options.bytes = text.data();
  options.byte_count = text.size();
  EXPECT_EQ(dyn_model_open(&options, &model_), DYN_INVALID_ARGUMENT);  // no name
  for (const char* name : {"", "..", "a/b.dyn"}) {
    options.name = name;
    EXPECT_EQ(dyn_model_open(&options, &model_), DYN_INVALID_ARGUMENT) << name;
  }
  options.name = "mine.dyn";
  ASSERT_EQ(dyn_model_open(&options, &model_), DYN_OK) << diagnostic().message;
  EXPECT_EQ(dyn_model_input_count(model_), 2);
  dyn_model_release(model_);
  options.bytes = broken.data();
  options.byte_count = broken.size();
  EXPECT_EQ(dyn_model_open(&options, &model_), DYN_BAD_PROGRAM);
  EXPECT_STREQ(diagnostic().file, "mine.dyn");
}

TEST_F(LibraryTest, CommandsAnswerInJsonAndInText) {
  ASSERT_EQ(openText(kMlp), DYN_OK);
  const char* answer = nullptr;
  ASSERT_EQ(dyn_model_command(model_, "why y.0", &answer), DYN_OK) << diagnostic().message;
  EXPECT_THAT(answer, HasSubstr(R"("command":"why")"));
  EXPECT_THAT(answer, HasSubstr("axis 0 of input x"));
  ASSERT_EQ(dyn_model_command_text(model_, ":why y.0", &answer), DYN_OK);
  EXPECT_THAT(answer, HasSubstr("axis 0 of input x"));
  EXPECT_EQ(dyn_model_command(model_, "why nothing.0", &answer), DYN_BAD_PROGRAM);
  EXPECT_THAT(answer, HasSubstr(R"("error":{)"));
  EXPECT_GE(dyn_diagnostic_count(), 1);
  EXPECT_EQ(dyn_model_command(model_, "whynot", &answer), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(answer, nullptr);
  EXPECT_EQ(dyn_model_command(model_, "load other.onnx", &answer), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnostic().message, HasSubstr("dyn_model_open"));
}

TEST_F(LibraryTest, PredictsShapesMemoryAndChecks) {
  ASSERT_EQ(openText(kProduct), DYN_OK) << diagnostic().message;
  dyn_module* module = nullptr;
  if (!compile(&module)) GTEST_SKIP() << "no code generation";
  dyn_module_release(module);
  dyn_prediction* made = nullptr;
  const dyn_dim equal[3] = {{"n", 3}, {"k", 5}, {"m", 5}}, different[3] = {{"n", 3}, {"k", 5}, {"m", 4}},
                unknown[1] = {{"q", 3}};
  ASSERT_EQ(dyn_model_predict(model_, equal, 3, &made), DYN_OK) << diagnostic().message;
  EXPECT_GT(dyn_prediction_peak_bytes(made), 0);
  EXPECT_STREQ(dyn_prediction_refused(made), "");
  ASSERT_EQ(dyn_prediction_output_rank(made, 0), 2);
  EXPECT_EQ(dyn_prediction_output_shape(made, 0)[0], 3);
  EXPECT_EQ(dyn_prediction_output_shape(made, 0)[1], 2);
  EXPECT_EQ(dyn_prediction_output_rank(made, 1), -1);
  dyn_prediction_release(made);
  ASSERT_EQ(dyn_model_predict(model_, different, 3, &made), DYN_OK) << diagnostic().message;
  EXPECT_STRNE(dyn_prediction_refused(made), "");
  ASSERT_GE(dyn_prediction_check_count(made), 1);
  dyn_check check{};
  check.size = sizeof check;
  ASSERT_EQ(dyn_prediction_check(made, 0, &check), DYN_OK);
  EXPECT_TRUE(check.fails) << check.text;
  dyn_prediction_release(made);
  EXPECT_EQ(dyn_model_predict(model_, unknown, 1, &made), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(dyn_model_predict(model_, equal, 1, &made), DYN_BAD_INPUT);  // k is missing
  // m is k, as the product demands.
  ASSERT_EQ(dyn_model_predict(model_, equal, 2, &made), DYN_OK) << diagnostic().message;
  EXPECT_STREQ(dyn_prediction_refused(made), "");
  dyn_prediction_release(made);
}

TEST_F(LibraryTest, WritesAPackageThatTheRuntimeLoads) {
  ASSERT_EQ(openText(kMlp), DYN_OK);
  dyn_module* module = nullptr;
  if (!compile(&module)) GTEST_SKIP() << "no code generation";
  dyn_module_release(module);
  const std::string path = folder_.path() + "/m.dynpkg";
  ASSERT_EQ(dyn_model_export(model_, "package", path.c_str(), nullptr, 0), DYN_OK) << diagnostic().message;
  ASSERT_EQ(dyn_module_load_file(path.c_str(), nullptr, &module), DYN_OK) << dyn_last_message();
  EXPECT_EQ(dyn_module_input_count(module), 2);
  dyn_module_release(module);
  EXPECT_EQ(dyn_model_export(model_, "carpet", path.c_str(), nullptr, 0), DYN_INVALID_ARGUMENT);
  const dyn_option unknown{"sing", "x"};
  EXPECT_EQ(dyn_model_export(model_, "package", path.c_str(), &unknown, 1), DYN_INVALID_ARGUMENT);
  // A package is a model, too, and gives the caller modules of his own.
  ASSERT_EQ(open(path), DYN_OK) << diagnostic().message;
  ASSERT_TRUE(compile(&module));
  dyn_module_release(module);
  const std::string graph = folder_.path() + "/again.onnx";
  EXPECT_EQ(dyn_model_save(model_, graph.c_str(), nullptr, 0), DYN_UNSUPPORTED) << "a package holds no graph";
}

TEST_F(LibraryTest, SavesTheGraph) {
  ASSERT_EQ(openText(kMlp), DYN_OK);
  const std::string graph = folder_.path() + "/m.onnx", text = folder_.path() + "/again.dyn";
  ASSERT_EQ(dyn_model_save(model_, text.c_str(), nullptr, 0), DYN_OK) << diagnostic().message;
  EXPECT_EQ(dyn_model_save(model_, "y", nullptr, 0), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(diagnostic().message, HasSubstr(".onnx"));
#ifdef DYN_HAVE_ONNX
  const dyn_option pass{"pass", "import"};
  ASSERT_EQ(dyn_model_save(model_, graph.c_str(), &pass, 1), DYN_OK) << diagnostic().message;
  ASSERT_EQ(open(graph), DYN_OK) << diagnostic().message;
  EXPECT_EQ(dyn_model_input_count(model_), 2);
#endif
  ASSERT_EQ(open(text), DYN_OK) << diagnostic().message;
  const dyn_option seconds{"seconds", "soon"};
  EXPECT_EQ(dyn_model_tune(model_, &seconds, 1), DYN_INVALID_ARGUMENT);
}

TEST_F(LibraryTest, TwoThreadsWithAModelEach) {
  const std::string mlp = folder_.write("one.dyn", kMlp), product = folder_.write("two.dyn", kProduct);
  std::atomic<int> right{0};
  const auto work = [&](const std::string& path, const char* question) {
    for (int i = 0; i < 5; ++i) {
      const dyn_option list[2] = {{"cache-dir", "none"}, {"threads", "1"}};
      dyn_model_options options{};
      options.size = sizeof options;
      options.path = path.c_str();
      options.options = list;
      options.option_count = 2;
      dyn_model* model = nullptr;
      const char* answer = nullptr;
      if (dyn_model_open(&options, &model) == DYN_OK && dyn_model_command(model, question, &answer) == DYN_OK)
        ++right;
      // Diagnostics are each thread's own.
      if (dyn_model_command(model, "nothing", &answer) == DYN_INVALID_ARGUMENT && dyn_diagnostic_count() == 1)
        ++right;
      dyn_model_release(model);
    }
  };
  std::thread one(work, mlp, "why n"), two(work, product, "dims");
  one.join();
  two.join();
  EXPECT_EQ(right, 20);
}

TEST_F(LibraryTest, CancelEndsACall) {
  ASSERT_EQ(openText(kMlp), DYN_OK);
  dyn_module* module = nullptr;
  if (!compile(&module)) GTEST_SKIP() << "no code generation";
  dyn_module_release(module);
  dyn_model_cancel(model_);  // nothing is under way
  const char* answer = nullptr;
  ASSERT_EQ(dyn_model_command(model_, "dims", &answer), DYN_OK);
  // Runs that would go on for years.
  std::atomic<bool> ended{false};
  std::thread other([&] {
    while (!ended) {
      dyn_model_cancel(model_);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_EQ(dyn_model_command(model_, "time 1000000000000 --dim n=1", &answer), DYN_CANCELLED);
  ended = true;
  other.join();
  EXPECT_EQ(dyn_model_command(model_, "dims", &answer), DYN_OK);
}

TEST_F(LibraryTest, CallbacksHearWhatIsDone) {
  struct Heard {
    std::vector<std::string> lines, steps;
  } heard;
  const std::string path = folder_.write("m.dyn", kMlp);
  const dyn_option list[2] = {{"cache-dir", "none"}, {"threads", "1"}};
  dyn_model_options options{};
  options.size = sizeof options;
  options.path = path.c_str();
  options.options = list;
  options.option_count = 2;
  options.user = &heard;
  options.log = [](void* user, const char* line) { static_cast<Heard*>(user)->lines.push_back(line); };
  options.progress = [](void* user, const char* what, double) {
    static_cast<Heard*>(user)->steps.push_back(what);
  };
  ASSERT_EQ(dyn_model_open(&options, &model_), DYN_OK);
  EXPECT_THAT(heard.steps, testing::Contains(HasSubstr("reading")));
  dyn_module* module = nullptr;
  if (!compile(&module)) GTEST_SKIP() << "no code generation";
  dyn_module_release(module);
  EXPECT_THAT(heard.steps, testing::Contains(HasSubstr("compiling")));
  const char* answer = nullptr;
  ASSERT_EQ(dyn_model_command(model_, "run --dim n=2", &answer), DYN_OK);
  EXPECT_THAT(heard.lines, testing::Contains(HasSubstr("random")));
}

}  // namespace
}  // namespace dyn
