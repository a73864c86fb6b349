#include "app/session/report/report_page.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "app/session/views/view_json.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

// The files of page/, as the build writes them into arrays of bytes.
#include "report_page_files.inc"

std::string colorsOf(bool dark) {
  std::string rules;
  const auto rule = [&](const std::string& name, const char* light, const char* darker) {
    rules += "--" + name + ":" + (dark ? darker : light) + ";";
  };
#define DYN_THEME_COLOR(name, light, dark) rule(#name, light, dark);
#define DYN_CATEGORY(name, title, light, dark) rule("category-" #name, light, dark);
#include "app/session/views/theme_colors.def"
  return rules;
}

std::string colorRules() {
  const std::string light = colorsOf(false), dark = "color-scheme:dark;" + colorsOf(true);
  return ":root{color-scheme:light;" + light + "}\n@media screen{:root[data-theme=dark]{" + dark +
         "}\n@media(prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark + "}}}\n";
}

Json categories() {
  Json titles = Json::object(), classes = Json::object(), words = Json::array();
#define DYN_CATEGORY(name, title, light, dark) titles[#name] = title;
#define DYN_CATEGORY_CLASS(opClass, name) classes[opClass] = #name;
#define DYN_CATEGORY_WORD(word, name) words.push_back({word, #name});
#include "app/session/views/theme_colors.def"
  return {{"titles", titles}, {"classes", classes}, {"words", words}};
}

// Inside of <script> a `<` could begin its end, or a comment.
std::string withoutTags(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string reportPage(const Json& data) {
  const auto textOf = [](std::span<const unsigned char> file) {
    return std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
  };
  std::string page;
  std::string_view rest = textOf(kPageHtml);
  // Each mark of the frame stands once, as an HTML comment.
  const auto fill = [&](std::string_view mark, auto&&... parts) {
    const size_t at = rest.find(mark);
    page += rest.substr(0, at);
    ((page += parts), ...);
    rest = rest.substr(at + mark.size());
  };
  fill("<!--styles-->", colorRules(), textOf(kPageCss));
  fill("<!--categories-->", withoutTags(jsonText(categories())));
  fill("<!--data-->", withoutTags(jsonText(data)));
  fill("<!--scripts-->", textOf(kLayoutJs), textOf(kGraphJs), textOf(kPageJs));
  page += rest;
  return page;
}

}  // namespace dyn
