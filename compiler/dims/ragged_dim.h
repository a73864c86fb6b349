// Ragged dims: sizes that differ from sequence to sequence of a batch.
//
//   %x: Tensor[(b, len[b], 64), f32]     b sequences, the i-th of len[i] positions
//
// `len[b]` is a symbol: "the length at an index below b". The lengths are the elements of the value `%len` of
// type Tensor[(b), i64] of the function that has it. It stands in expressions as other symbols do (`len[b] +
// 1`); what is special is that it has no one value, so that the solver refuses to learn that it equals a
// number, another named size or the lengths of another name. Its sum over the batch is the plain symbol
// `len.sum`.
#pragma once

#include "compiler/dims/dim.h"

namespace dyn {

struct RaggedDim {
  std::string lengths;  // "len": the name of the value that holds them
  Dim batch;            // b
};

// What a symbol `len[b]` says; nullopt for anything else.
std::optional<RaggedDim> raggedDim(Dim symbol);
// Does it depend on an index of a batch?
bool isRagged(Dim d);
bool isRagged(const Shape& shape);
// Symbols like `len[b]` in it, ascending.
std::vector<Dim> raggedSymbols(Dim d);
// The plain symbol `len.sum`: of `len[b]` over the batch. Precondition: a symbol like `len[b]`.
Dim sumOfLengths(Dim symbol);
// The sum of an expression over the batch: of `2*len[b] + 1` it is `2*len.sum + b`. Null where it is not
// linear in lengths, or has lengths over two batches.
Dim sumOverBatch(Dim d);
// That, and where it is a product of lengths of one batch, `8*len[b]*more[b]`, 8 times the plain symbol
// `len.more.sum`, of which no input says what it is. Null: neither.
Dim sumOfElements(Dim d);
// May `a == b` be learnt of them? Not where it would give a length that differs one value for all.
bool mayBeEqual(Dim a, Dim b);

}  // namespace dyn
