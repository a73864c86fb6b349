// libFuzzer target: any bytes are a module, an expression, definitions of operators, or an error; what is
// read prints to text that reads back the same.
#include <cstdlib>

#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "frontends/text/operators.h"
#include "tests/fuzz/replay/fuzz_target.h"
#include "tests/unit/compiler/ir/small_ops.h"

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  using namespace dyn;
  if (size > 1 << 16) return false;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  text::ParseOptions options;
  options.findOp = dyn::testing::findSmallOp;
  options.opNames = dyn::testing::smallOpNames();
  bool accepted = false;
  {
    IrContext context;
    const text::Environment environment =
        text::Environment::of({{"x", context.tensorType(Shape{context.dims().symbol("n")}, Dtype::f32)}});
    accepted |= text::parseExpression(context, text, environment, options).ok();
  }
  accepted |= text::OperatorFile::parse(std::string(text), options).ok();
  IrContext context;
  Result<Module> module = text::parseModule(context, text, options);
  if (!module.ok()) return accepted;
  (void)verify(*module, {.types = TypePresence::optional});
  const std::string once = print(*module);
  const auto weights = weightsOf(*module);
  options.weights = &weights;
  IrContext other;
  Result<Module> again = text::parseModule(other, once, options);
  if (!again.ok() || print(*again) != once) std::abort();
  return true;
}
