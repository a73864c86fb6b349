// The peak of programs that keep what loops make: what runs hold is at most what the certificate states, and
// the statement is no wild guess.
#include <gtest/gtest.h>

#include <climits>
#include <regex>

#include "compiler/export/certificate/certificate_writer.h"
#include "tests/support/compiled.h"
#include "tests/support/text_module.h"
#include "vm/certificate/certificate.h"
#include "vm/isa/program_file.h"

namespace dyn {
namespace {

constexpr int64_t kItem = 4096;  // elements of what is kept: headers of objects are small beside them

// Iterations are given by %most; `%x` has n elements.
struct LoopProgram {
  const char* name;
  const char* text;
};
const LoopProgram kLoops[] = {
    {"a list of what is carried",
     "fn @main(%most: Tensor[(), i64], %x: Tensor[(n), f32]) {\n"
     "  %last, %all = loop(%most, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {\n"
     "    %yes = constant() {value = bool[] true}  %b = softmax(%a) {axis = 0}  return %yes, %b, %b }\n"
     "  return %last, %all }"},
    {"two lists",
     "fn @main(%most: Tensor[(), i64], %x: Tensor[(n), f32]) {\n"
     "  %last, %all, %more = loop(%most, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), "
     "f32]) "
     "{\n    %yes = constant() {value = bool[] true}  %b = softmax(%a) {axis = 0}  %c = cumsum(%a, i64[] 0)\n"
     "    return %yes, %b, %b, %c }\n  return %last, %all, %more }"},
    {"a loop in a loop",
     "fn @main(%most: Tensor[(), i64], %x: Tensor[(n), f32]) {\n"
     "  %last, %all = loop(%most, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {\n"
     "    %yes = constant() {value = bool[] true}  %three = constant() {value = i64[] 3}\n"
     "    %inner, %parts = loop(%three, _, %a) {carried = 1} body (%j: Tensor[(), i64], %e: Tensor[(n), "
     "f32]) {\n"
     "      %go = constant() {value = bool[] true}  %f = softmax(%e) {axis = 0}  return %go, %f, %f }\n"
     "    %b = reduce_sum(%parts, i64[1] [0]) {keepdims = 0}  return %yes, %b, %b }\n"
     "  return %last, %all }"}};

// The largest of the stated sums, where the loop of @main that begins first goes round `most` times and one
// inside of it three times.
double statedPeak(const std::vector<std::string>& sums, int64_t most) {
  const std::regex name("iterations@main:([0-9]+)");
  int first = INT_MAX;
  for (const std::string& sum : sums)
    for (std::sregex_iterator at(sum.begin(), sum.end(), name), end; at != end; ++at)
      first = std::min(first, std::stoi((*at)[1]));
  double largest = 0;
  for (const std::string& sum : sums) {
    IrContext context;
    std::string text =
        std::regex_replace(sum, std::regex("iterations@main:" + std::to_string(first)), "outer");
    text = std::regex_replace(text, name, "inner");
    // How many items are joined is a value of the run: as many as an iteration made, or all.
    text = std::regex_replace(text, std::regex("value[0-9]+@main:[0-9]+"), "items");
    Result<Dim> dim = parseDim(context.dims(), text);
    EXPECT_TRUE(dim.ok()) << text;
    if (!dim.ok()) return 0;
    DimBinding binding;
    for (const auto& [symbol, size] : {std::pair{"n", kItem},
                                       {"outer", most},
                                       {"inner", int64_t{3}},
                                       {"items", std::max<int64_t>(most, 3)}})
      binding.set(context.dims().symbol(symbol), size);
    const Result<int64_t> value = evaluate(*dim, binding);
    EXPECT_TRUE(value.ok()) << text;
    if (value.ok()) largest = std::max(largest, static_cast<double>(*value));
  }
  return largest;
}

TEST(LoopPeak, IsWhatRunsHold) {
  for (const LoopProgram& loop : kLoops) {
    IrContext context;
    const Result<Module> parsed = test::parseText(context, loop.text);
    ASSERT_TRUE(parsed.ok()) << loop.name << parsed.error().toString();
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed);
    ASSERT_TRUE(compiled.ok()) << loop.name << compiled.error().toString();
    const std::vector<uint8_t> code = vm::serializeProgram((*compiled)->model->lowered.program);
    const std::string program(code.begin(), code.end());
    const Result<Certificate> made = makeCertificate(program, (*compiled)->model->lowered.kernels, {});
    ASSERT_TRUE(made.ok()) << loop.name << made.error().toString();
    const certificate::Report report = certificate::checkProgram(program, made->bytes, {});
    for (const certificate::OpenObligation& open : report.walk.open)
      EXPECT_NE(open.kind, certificate::Obligation::peak) << loop.name << open.place << open.what;
    for (const int64_t most : {0, 1, 2, 7, 40}) {
      const HostTensor x = *HostTensor::create(Dtype::f32, {kItem});
      ASSERT_TRUE((*compiled)->run({HostTensor::scalarInt(Dtype::i64, most), x}).ok());
      dyn_statistics statistics{};
      ASSERT_EQ(dyn_context_statistics((*compiled)->context.get(), &statistics), DYN_OK);
      const auto held = static_cast<double>(statistics.peak_bytes);
      const double stated = statedPeak(report.walk.peak, most),
                   headers = 1024.0 * static_cast<double>(8 + 4 * most);
      EXPECT_LE(held, stated + headers) << loop.name << ", " << most << " iterations";
      EXPECT_LE(stated, 4 * held + 8 * 4 * kItem) << loop.name << ", " << most << " iterations";
    }
  }
}

// Each level stands in the next one twice: looked through one by one they would be 2^200.
TEST(LoopPeak, SizesThatShareTheirPartsAreLookedThroughOnce) {
  using certificate::Operation;
  certificate::Atoms atoms;
  certificate::Scope scope;
  certificate::Polynomial size = atoms.symbol("n", true);
  const certificate::AtomId first = *size.atom();
  for (int level = 0; level < 200; ++level) {
    const certificate::Value third =
        atoms.compute(Operation::floorDiv, size, certificate::Polynomial(3), scope);
    ASSERT_TRUE(third.has_value());
    const certificate::Value most =
        atoms.compute(Operation::maximum, size, *sum(*third, certificate::Polynomial(7)), scope);
    ASSERT_TRUE(most.has_value());
    size = *most;
  }
  const certificate::Polynomial later = atoms.symbol("later", true);
  EXPECT_TRUE(atoms.dependsOn(size, first));
  EXPECT_FALSE(atoms.dependsOn(size, *later.atom()));
}

}  // namespace
}  // namespace dyn
