// The normalizers of a tokenizer.json: they rewrite a text before it is split.
#pragma once

#include <functional>
#include <string>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

struct NormalText {
  std::string text;
  bool hasFront = true;  // nothing was removed in front of it
};

using Normalizer = std::function<Status(NormalText& normal)>;

// Of the field `normalizer`; null makes one that changes nothing.
Result<Normalizer> readNormalizer(const Json& json);

}  // namespace dyn::tokenizer
