#include "compiler/support/file_names.h"

#include <algorithm>
#include <iterator>

#include "compiler/support/utf8.h"

namespace dyn {

namespace {

constexpr size_t kMostBytes = 200;

// Above ASCII: blocks of signs, blanks, direction marks, private use and what is no character. All else is
// written by some script.
constexpr char32_t kNoLetters[][2] = {
    {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},       {0xBB, 0xBF},       {0xD7, 0xD7},
    {0xF7, 0xF7},     {0x37E, 0x37E},   {0x61C, 0x61C},     {0x1680, 0x1680},   {0x180E, 0x180E},
    {0x2000, 0x206F}, {0x20A0, 0x20CF}, {0x2190, 0x2BFF},   {0x2E00, 0x2E7F},   {0x3000, 0x3004},
    {0x3008, 0x3020}, {0x3030, 0x3030}, {0x303D, 0x303F},   {0xD800, 0xF8FF},   {0xFDD0, 0xFDEF},
    {0xFE10, 0xFE1F}, {0xFE30, 0xFE6F}, {0xFEFF, 0xFF0F},   {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40},
    {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF},
};

bool isKept(char32_t c) {
  if (c < 0x80)
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters),
                      [c](const auto& range) { return c >= range[0] && c <= range[1]; });
}

}  // namespace

std::string fileNameOf(std::string_view name) {
  std::string file;
  for (size_t at = 0; at < name.size();) {
    const CodePoint c = codePointAt(name, at);
    const size_t bytes = std::max<size_t>(c.bytes, 1);
    const bool kept = c.bytes != 0 && isKept(c.value) && !(at == 0 && (c.value == '.' || c.value == '-'));
    if (file.size() + (kept ? bytes : 1) > kMostBytes) break;
    file += kept ? name.substr(at, bytes) : "_";
    at += bytes;
  }
  return file.empty() ? "_" : file;
}

std::string FileNames::file(std::string_view name, std::string_view ending) {
  const std::string stem = fileNameOf(name);
  std::string file = stem + std::string(ending);
  for (int64_t number = 2; !taken_.insert(file).second; ++number)
    file = stem + "_" + std::to_string(number) + std::string(ending);
  return file;
}

}  // namespace dyn
