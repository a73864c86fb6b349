/* Sequences that lie behind each other, and the same as a batch that is padded to `longest` positions: how
 * their rows go together. (C++20, header only.) */
#ifndef DYN_PADDED_BATCH_H
#define DYN_PADDED_BATCH_H

#include <cstdint>

namespace dyn {

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
