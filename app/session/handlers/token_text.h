// Texts as inputs by a tokenizer.json, where this build reads them.
#pragma once

#include "app/engine/inputs/media_input.h"

namespace dyn {

// Null: this build has no tokenizer.
TokenReader tokenReader();

}  // namespace dyn
