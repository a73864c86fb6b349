#include "compiler/loop/builder/general_text.h"

#include <algorithm>
#include <optional>

#include "compiler/loop/kernel_key.h"

namespace dyn::loop {

Result<std::vector<GeneralText>> readGeneralTexts(std::istream& in) {
  std::vector<GeneralText> kernels;
  GeneralText one;
  for (std::string line; std::getline(in, line);) {
    one.text += line + "\n";
    if (line != "}") continue;
    one.dims = std::make_shared<DimContext>();
    DYN_TRY(one.kernel, parseKernel(*one.dims, one.text));
    std::optional<std::string> key = lastingKey(one.kernel);
    if (!key) return makeError(DiagnosticId::textName, "a kernel without a lasting key:\n" + one.text);
    one.openSizes = static_cast<size_t>(std::ranges::count_if(
        one.kernel.scalars, [](Dim scalar) { return scalar.toString().starts_with("size."); }));
    one.key = generalKeyOf(*key, one.kernel.scalars.size() - one.openSizes);
    kernels.push_back(std::move(one));
    one = {};
  }
  return kernels;
}

}  // namespace dyn::loop
