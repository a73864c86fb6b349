// libFuzzer: any bytes as the text of a dim. What is read prints to text that reads back to the same text in
// another context, is worth the same with the same symbols, and takes replacement of its symbols.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compiler/dims/dim.h"
#include "tests/fuzz/replay/fuzz_target.h"

namespace {

using namespace dyn;

constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 64, int64_t{1} << 40, -1};

// Symbols by name, as another context may number them otherwise.
DimBinding bindingOf(const DimContext& context) {
  DimBinding binding;
  for (SymbolId id = 0; id < context.symbolCount(); ++id) {
    uint64_t sum = 0;
    for (char c : context.symbolName(id)) sum = sum * 31 + static_cast<unsigned char>(c);
    binding.set(id, kSizes[sum % std::size(kSizes)]);
  }
  return binding;
}

}  // namespace

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  if (size > 1 << 12) return false;
  DimContext context;
  const Result<Dim> dim = parseDim(context, std::string_view(reinterpret_cast<const char*>(data), size));
  if (!dim.ok()) return false;
  (void)symbolsOf(*dim);
  const Dim replaced = substitute(*dim, [&](SymbolId id) { return 2 * context.symbolById(id) + 1; });
  (void)replaced.toString();
  const std::string once = dim->toString();
  if (once.size() > 1 << 15) return true;  // cut, or nearly so
  DimContext other;
  const Result<Dim> again = parseDim(other, once);
  if (!again.ok() || again->toString() != once) std::abort();
  const Result<int64_t> value = evaluate(*dim, bindingOf(context)), same = evaluate(*again, bindingOf(other));
  if (value.ok() && same.ok() && *value != *same) std::abort();
  return true;
}
