// The post-processors of a tokenizer.json: they put special tokens around the ids of a text.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

using PostProcessor = std::function<void(std::vector<int64_t>& ids)>;

// Of the field `post_processor`, for one text (not a pair); null makes one that changes nothing.
Result<PostProcessor> readPostProcessor(const Json& json);

}  // namespace dyn::tokenizer
