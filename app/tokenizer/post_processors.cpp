#include "app/tokenizer/post_processors.h"

#include "app/tokenizer/part_table.h"

namespace dyn::tokenizer {

namespace {

// ["[SEP]", 102]
Result<int64_t> idOfPair(const FilePart& part, const char* field) {
  const Json* pair = part.find(field);
  if (!pair || !pair->is_array() || pair->size() != 2 || !(*pair)[1].is_number_integer())
    return part.malformed(std::string(field) + " is not a token with its id");
  return (*pair)[1].get<int64_t>();
}

PostProcessor around(std::vector<int64_t> before, std::vector<int64_t> behind) {
  return [before = std::move(before), behind = std::move(behind)](std::vector<int64_t>& ids) {
    ids.insert(ids.begin(), before.begin(), before.end());
    ids.insert(ids.end(), behind.begin(), behind.end());
  };
}

Result<PostProcessor> readClsAndSep(const FilePart& part) {
  DYN_TRY(const int64_t first, idOfPair(part, "cls"));
  DYN_TRY(const int64_t last, idOfPair(part, "sep"));
  return around({first}, {last});
}

Result<std::vector<int64_t>> idsOfSpecial(const FilePart& part, const std::string& name) {
  const Json* specials = part.find("special_tokens");
  const Json row = specials && specials->is_object() ? specials->value(name, Json()) : Json();
  const Json ids = row.is_object() ? row.value("ids", Json()) : Json();
  if (!ids.is_array()) return part.malformed("special_tokens has no ids of '" + name + "'");
  std::vector<int64_t> found;
  for (const Json& id : ids) {
    if (!id.is_number_integer()) return part.malformed("an id of '" + name + "' is no whole number");
    found.push_back(id.get<int64_t>());
  }
  return found;
}

Result<PostProcessor> readTemplate(const FilePart& part) {
  const Json* pieces = part.find("single");
  if (!pieces || !pieces->is_array()) return part.malformed("it has no template for one text");
  std::vector<int64_t> before, behind;
  int textCount = 0;
  for (const Json& piece : *pieces) {
    if (!piece.is_object() || piece.size() != 1 || !piece.begin()->is_object())
      return part.malformed("a part of its template is neither a text nor a token");
    const std::string kind = piece.begin().key();
    const auto named = piece.begin()->find("id");
    if (named == piece.begin()->end() || !named->is_string())
      return part.malformed("a part of its template has no id");
    const auto& id = named->get_ref<const std::string&>();
    if (kind == "Sequence") {
      if (id != "A") return part.malformed("its template for one text has a second one");
      ++textCount;
    } else if (kind == "SpecialToken") {
      DYN_TRY(const std::vector<int64_t> ids, idsOfSpecial(part, id));
      std::vector<int64_t>& side = textCount > 0 ? behind : before;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      return part.unsupported("a template with " + kind);
    }
  }
  if (textCount != 1) return part.unsupported("a template that has the text not once");
  return around(before, behind);
}

// It trims offsets, which nobody asks for here.
Result<PostProcessor> readNothing(const FilePart&) {
  return PostProcessor([](std::vector<int64_t>&) {});
}

constexpr PartRow<PostProcessor> kPostProcessors[] = {
    {"TemplateProcessing", readTemplate},
    {"BertProcessing", readClsAndSep},
    {"RobertaProcessing", readClsAndSep},
    {"ByteLevel", readNothing},
};

PostProcessor processedInTurn(std::vector<PostProcessor> all) {
  return [all = std::move(all)](std::vector<int64_t>& ids) {
    for (const PostProcessor& one : all) one(ids);
  };
}

}  // namespace

Result<PostProcessor> readPostProcessor(const Json& json) {
  if (json.is_null()) return PostProcessor([](std::vector<int64_t>&) {});
  return readPart<PostProcessor>({json, "post_processor"}, kPostProcessors, "processors", processedInTurn);
}

}  // namespace dyn::tokenizer
