/* Sequences that lie behind each other, and the same as a batch that is padded to `longest` positions: how
 * their rows go together, and which inputs are masks. (C++20, header only.) */
#ifndef DYN_PADDED_BATCH_H
#define DYN_PADDED_BATCH_H

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

namespace dyn {

inline bool isCalledMask(std::string_view name) {
  std::string lower;
  for (char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("mask") != std::string::npos;
}

/* visit(row): for each position of each sequence in turn its row in the padded batch, [batch, longest], or
 * [longest, batch] where the batch is the second axis. `lengthOf(s)`: of sequence s. */
template <typename LengthOf, typename Visit>
void forEachPaddedRow(int64_t batch, int64_t longest, bool batchSecond, const LengthOf& lengthOf,
                      const Visit& visit) {
  for (int64_t s = 0; s < batch; ++s)
    for (int64_t i = 0; i < lengthOf(s); ++i) visit(batchSecond ? i * batch + s : s * longest + i);
}

}  // namespace dyn

#endif
