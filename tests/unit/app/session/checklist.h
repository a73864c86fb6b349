// What the checklist tests share. Each is named after the line of the checklist that it shows to hold:
// C17_..., M14_....
#pragma once

#include <gmock/gmock.h>

#include "app/engine/run/run_result.h"
#include "app/session/session.h"
#include "app/session/views/code_views.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "tests/support/session_fixture.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {

// A text module after the passes; `ok()` false with the error when one refuses it.
struct Passed {
  IrContext ir;
  Module imported, typed, placed;
  Trace trace;
  std::optional<Diagnostic> error;

  explicit Passed(std::string_view text, const std::string& passes = "") {
    Result<Module> parsed = parseText(ir, text);
    if (!parsed.ok()) {
      error = parsed.error();
      return;
    }
    imported = *parsed;
    CompileOptions options;
    options.passes = passes;
    options.verifyEach = true;
    Result<Module> result = runPasses(imported, options, trace);
    if (!result.ok()) {
      error = result.error();
      return;
    }
    placed = *result;
    typed = trace.find("infer") ? trace.find("infer")->after : imported;
  }
  bool ok() const { return !error; }
  // The type of a value of the typed module.
  Type type(const std::string& value) const {
    const ValueId id = const_cast<IrContext&>(ir).findValue(value);
    return id == kNoValue ? Type() : Uses(typed).definition(id).type;
  }
  std::string typeText(const std::string& value) const {
    const Type t = type(value);
    return t ? t.toString() : "none";
  }
  Dim dim(const std::string& value, size_t axis) const { return type(value).dims()[axis]; }
  int64_t count(const Module& module, const OpDef& def) const {
    int64_t found = 0;
    forEachOp(module, [&](const Function&, const Op& op) { found += op.def == &def; });
    return found;
  }
};

inline HostTensor ints(std::vector<int64_t> values) { return HostTensor::vectorInt(Dtype::i64, values); }
inline HostTensor number(int64_t value) { return HostTensor::scalarInt(Dtype::i64, value); }
inline HostTensor reals(std::vector<int64_t> shape, uint32_t seed = 1) {
  return randomTensor(Dtype::f32, std::move(shape), seed);
}

class ChecklistSession : public SessionFixture {
 protected:
  void load(const std::string& text, const std::string& arguments = "") {
    auto outcome = loadText(text, arguments);
    ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  }
  // The result of a run that works.
  std::shared_ptr<const RunResult> run(const std::string& arguments) {
    auto outcome = line(":run " + arguments);
    EXPECT_TRUE(outcome->ok()) << arguments << ": " << (outcome->ok() ? "" : outcome->error->message);
    return outcome->ok() ? outcome->share<RunResult>() : std::make_shared<const RunResult>();
  }
  std::string errorOf(const std::string& command) {
    auto outcome = line(command);
    return outcome->ok() ? "" : outcome->error->message;
  }
  std::string text(const std::string& command) {
    auto outcome = line(command);
    return outcome->as<IrText>() ? outcome->as<IrText>()->text : "";
  }
};

}  // namespace dyn::test
