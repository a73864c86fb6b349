#include "app/tokenizer/precompiled_map.h"

#include <cstring>
#include <optional>

#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

std::optional<std::string> bytesOfBase64(std::string_view text) {
  std::string bytes;
  uint32_t held = 0;
  int heldBits = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z')
      digit = static_cast<uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      digit = static_cast<uint32_t>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      digit = static_cast<uint32_t>(c - '0') + 52;
    else if (c == '+' || c == '/')
      digit = c == '+' ? 62 : 63;
    else
      return std::nullopt;
    held = held << 6 | digit;
    heldBits += 6;
    if (heldBits < 8) continue;
    heldBits -= 8;
    bytes += static_cast<char>(held >> heldBits & 0xFF);
  }
  return bytes;
}

// The fields of a unit of the trie.
bool hasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t labelOf(uint32_t unit) { return unit & (0x80000000U | 0xFF); }
uint32_t offsetOf(uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

}  // namespace

Result<PrecompiledMap> PrecompiledMap::read(const FilePart& part, std::string_view base64) {
  const std::optional<std::string> bytes = bytesOfBase64(base64);
  uint32_t trieBytes = 0;
  if (!bytes || bytes->size() < sizeof trieBytes) return part.malformed("its map is no base64 of a map");
  std::memcpy(&trieBytes, bytes->data(), sizeof trieBytes);
  if (trieBytes > bytes->size() - sizeof trieBytes || trieBytes % sizeof(uint32_t) != 0)
    return part.malformed("the trie of its map is cut off");
  PrecompiledMap map;
  map.trie_.resize(trieBytes / sizeof(uint32_t));
  std::memcpy(map.trie_.data(), bytes->data() + sizeof trieBytes, trieBytes);
  map.replacements_ = bytes->substr(sizeof trieBytes + trieBytes);
  for (size_t at = 0; at < map.replacements_.size();) {  // what a trie may point to is text
    const std::string_view text(map.replacements_.c_str() + at);
    if (validText(text) != text) return part.malformed("a replacement of its map is no UTF-8");
    at += text.size() + 1;
  }
  return map;
}

const char* PrecompiledMap::replacementOf(std::string_view characters) const {
  if (trie_.empty()) return nullptr;
  size_t node = offsetOf(trie_[0]);
  for (const char c : characters) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return nullptr;
    node ^= byte;
    if (node >= trie_.size() || labelOf(trie_[node]) != byte) return nullptr;
    const bool isEnd = hasLeaf(trie_[node]);
    node ^= offsetOf(trie_[node]);
    if (!isEnd) continue;
    if (node >= trie_.size()) return nullptr;
    const size_t at = valueOf(trie_[node]);
    return at < replacements_.size() ? replacements_.c_str() + at : nullptr;
  }
  return nullptr;
}

std::string PrecompiledMap::apply(std::string_view text) const {
  constexpr size_t kLongestCluster = 6;  // bytes: longer ones are taken by their code points
  std::string made;
  size_t begin = 0;
  for (const size_t end : graphemeEnds(text)) {
    const std::string_view cluster = text.substr(begin, end - begin);
    begin = end;
    if (cluster.size() < kLongestCluster) {
      if (const char* replacement = replacementOf(cluster)) {
        made += replacement;
        continue;
      }
    }
    for (size_t at = 0; at < cluster.size();) {
      const size_t from = at;
      (void)nextPoint(cluster, &at);
      const std::string_view point = cluster.substr(from, at - from);
      if (const char* replacement = replacementOf(point))
        made += replacement;
      else
        made += point;
    }
  }
  return made;
}

}  // namespace dyn::tokenizer
