#include <fmt/format.h>

#include <algorithm>

#include "app/session/views/text/picture_text.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/value_views.h"
#include "app/session/views/view_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

std::string tensorViewText(const TensorView& v, const TextOptions& options) {
  std::string shape;
  for (const int64_t size : v.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  std::string text = fmt::format("{}: {} [{}], {}, {}\n", visibleLine(v.name), v.dtype, shape,
                                 bytesText(v.sizeBytes), v.from);
  if (v.least)
    text += fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}, deviation {:.6g}\n", *v.least, *v.largest,
                        *v.mean, *v.deviation);
  text += fmt::format("{} elements, {} zero, {} NaN, {} infinite\n", v.elementsCount, v.zeroCount, v.nanCount,
                      v.infinityCount);
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t most = v.histogram.empty() ? 0 : *std::max_element(v.histogram.begin(), v.histogram.end());
  for (const int64_t count : v.histogram)
    text += kBlocks[count == 0 ? 0 : 1 + 7 * (count - 1) / std::max<int64_t>(1, most)];
  if (!v.histogram.empty()) text += "\n";
  text += pictureText(v, options);
  text += v.text + "\n";
  if (!v.file.empty()) text += "written to " + v.file + "\n";
  return text;
}

}  // namespace

std::string viewText(const TensorView& view, const TextOptions& options) {
  return tensorViewText(view, options);
}

std::string viewText(const EvalResult& view, const TextOptions& options) {
  if (view.quiet) return "";
  std::string text;
  for (const NamedValue& value : view.values)
    text += (value.name.empty() ? "" : paint(visibleLine(value.name), "1", options) + " = ") +
            toText(value.value, value.type, options) + "\n";
  return text;
}

std::string viewText(const TypeView& view, const TextOptions&) { return view.type + "\n"; }

std::string viewText(const VariableTable& view, const TextOptions& options) {
  if (view.rows.empty()) return "nothing is bound; x = random(f32, [2, 3]) binds x\n";
  TextRows rows;
  for (const auto& row : view.rows)
    rows.push_back({row.name, row.type, row.sizeBytes ? bytesText(row.sizeBytes) : ""});
  return textTable({"name", "type", ">size"}, rows, options);
}

}  // namespace dyn
