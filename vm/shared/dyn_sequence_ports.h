/* Which inputs of a model are sequences of different lengths, padded to the longest, and which input says how
 * long they are: the one rule, over names and sizes alone, for runtime, compiler and applications.
 *
 *   attention_mask [batch, seq]   of input_ids [batch, seq]: 1 where a sequence has a position
 *   lengths [batch]               of x [batch, seq, 64], or of x [seq, batch, 64]
 *
 * (C++20, header only.) */
#ifndef DYN_SEQUENCE_PORTS_H
#define DYN_SEQUENCE_PORTS_H

#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dyn {

enum class SequenceOrder : uint8_t {
  batchFirst,
  batchSecond
}; /* [batch, longest, ...], [longest, batch, ...] */

enum class PortElements : uint8_t { whole, plain, other }; /* integers; booleans and reals; text, complex */

/* What the rule looks at of an input that is a tensor; sizes are equal where their texts are. */
struct PortShape {
  std::string name;
  PortElements elements = PortElements::plain;
  std::vector<std::string> dims;
};

/* What is known beside the shapes. */
enum class LengthsKnown : uint8_t {
  named,   /* a person names the input that says how long the sequences are */
  given,   /* sequences are given: of masks the name has to say what they are */
  nothing, /* nothing is given: of lengths, too */
};

inline bool nameHas(std::string_view name, std::string_view word) {
  std::string lower;
  for (char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find(word) != std::string::npos;
}
inline bool isCalledMask(std::string_view name) { return nameHas(name, "mask"); }
inline bool isCalledLengths(std::string_view name) { return nameHas(name, "len"); }

/* How the sequences of `input` lie if `other`, another input, says how long they are; nothing: it does not.
 */
inline std::optional<SequenceOrder> sequencesBy(const PortShape& input, const PortShape& other,
                                                LengthsKnown known) {
  const std::vector<std::string>&dims = input.dims, &of = other.dims;
  if (dims.size() < 2) return std::nullopt;
  if (of.size() == 2) {
    const bool says = known == LengthsKnown::named || isCalledMask(other.name);
    return says && other.elements != PortElements::other && of[0] == dims[0] && of[1] == dims[1]
               ? std::optional(SequenceOrder::batchFirst)
               : std::nullopt;
  }
  if (of.size() != 1 || other.elements != PortElements::whole) return std::nullopt;
  if (known == LengthsKnown::nothing && !isCalledLengths(other.name)) return std::nullopt;
  if (of[0] == dims[0]) return SequenceOrder::batchFirst;
  return of[0] == dims[1] ? std::optional(SequenceOrder::batchSecond) : std::nullopt;
}

}  // namespace dyn

#endif
