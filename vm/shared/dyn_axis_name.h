/* The name that errors propose for an axis whose dim shares one with another size: `--dim y.0=y_0`. For
 * compiler and runtime alike (C++20, header only). */
#ifndef DYN_AXIS_NAME_H
#define DYN_AXIS_NAME_H

#include <cstdint>
#include <string>
#include <string_view>

namespace dyn {

// A word of letters, digits and `_` of an input's name and an axis: `input_ids_1`.
inline std::string ownAxisName(std::string_view input, uint64_t axis) {
  std::string name;
  for (const char c : input) {
    const bool isDigit = c >= '0' && c <= '9';
    const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (isDigit && name.empty()) name = "_";
    name += isDigit || isLetter ? c : '_';
  }
  return name + "_" + std::to_string(axis);
}

// What to do about it.
inline std::string ownAxisAdvice(std::string_view input, uint64_t axis) {
  return "load or compile the model with --dim " + std::string(input) + "." + std::to_string(axis) + "=" +
         ownAxisName(input, axis);
}

}  // namespace dyn
#endif
