// tokens.h — PTX text as words, strings and marks, each with its line. Comments and white space are gone.
#pragma once
#include <string_view>
#include <vector>

namespace simcuda {

struct Token {
  enum class Kind { Word, String, Mark, End };
  Kind kind;
  std::string_view text;  // of a string without its quotes; views the text that was given
  int line;
};

// The last token is an End. Throws LoadError for a character that begins nothing.
//
//   @!%p1 bra $L__BB0_2;   ->   @  !  %p1  bra  $L__BB0_2  ;
std::vector<Token> tokenize(std::string_view text);

}  // namespace simcuda
