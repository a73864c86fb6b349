// The letters that stand for bytes in byte-level vocabularies (GPT-2): a byte that is a visible Latin-1
// letter stands for itself, the others are counted from U+0100.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dyn::tokenizer {

std::string lettersOfBytes(std::string_view bytes);
// Nothing where some letter stands for no byte.
std::optional<std::string> bytesOfLetters(std::string_view letters);

}  // namespace dyn::tokenizer
