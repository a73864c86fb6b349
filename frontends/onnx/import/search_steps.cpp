// The steps of GreedySearch and BeamSearch, in the text language: search_graph.cpp makes loops of them.
#include "frontends/onnx/import/search_steps.h"

#include "compiler/ops/op_table.h"

namespace dyn::onnx {
namespace {

// A row is one beam of one entry of the batch: r = batch * beams. Tokens are i32, as in the decoder's graph.
constexpr std::string_view kSteps = R"dyn(
operator "dyn.search::Mask"(ids, pad: int) {
  return cast(ids != pad, i32)
}

# What the first step takes: tokens, places and mask [r, s], the first place of the next step [r, 1]. Each entry
# of the batch stands there `beams` times.
operator "dyn.search::Start"(ids, mask, beams, most, what: string, pad: int) {
  sizes = shape(ids)
  check_values(most, sizes[1] + 1, 2147483647, elements = "in_range", what = what)
  check_values(beams, 1, 2147483647, elements = "in_range", what = "num_beams")
  # Padding has place 0, also where a mask is given.
  counted = cast(ids != pad, i32)
  places = where(counted == 0, 0, cumsum(counted, 1) - i32(1))
  next = reduce_sum(counted, [1])
  to = concat(sizes[:1], unsqueeze(beams, [0]), sizes[1:], axis = 0)
  one = concat(sizes[:1], unsqueeze(beams, [0]), [1], axis = 0)
  flat = concat(sizes[:1] * beams, sizes[1:], axis = 0)
  column = concat(sizes[:1] * beams, [1], axis = 0)
  rows = reshape(expand(unsqueeze(ids, [1]), to), flat)
  row_places = reshape(expand(unsqueeze(places, [1]), to), flat)
  row_mask = reshape(expand(unsqueeze(mask, [1]), to), flat)
  row_next = reshape(expand(unsqueeze(next, [1]), one), column)
  return rows, row_places, row_mask, row_next
}

# One element of an input, which may have one axis or none.
operator "dyn.search::Number"(x) {
  return cast(reshape(x, i64[0] []), i64)
}
operator "dyn.search::Real"(x) {
  return cast(reshape(x, i64[0] []), f32)
}

# A cache without positions: [...before, r, heads, 0, size], where `before` is [2] for keys and values in one.
operator "dyn.search::Cache"(rows, before: ints, heads: int, size: int, to: dtype) {
  r = gather(shape(rows), [0])
  return cast(expand(0.0, concat(before, r, reshape(heads, [1]), [0], reshape(size, [1]), axis = 0)), to = to)
}

# x [batch, ...] for each beam; `rest` are its other axes.
operator "dyn.search::Rows"(x, beams, rest: ints) {
  sizes = shape(x)
  others = gather(sizes, rest, axis = 0)
  to = concat(sizes[:1], unsqueeze(beams, [0]), others, axis = 0)
  return reshape(expand(unsqueeze(x, [1]), to), concat(sizes[:1] * beams, others, axis = 0))
}

# Behind an encoder a text begins with one word. Padding is masked where it stands first: a word that is the same
# may end the text.
operator "dyn.search::EncoderMask"(ids, pad: int) {
  return cast(cumsum(cast(ids != pad, i32), 1) > i32(0), i32)
}
operator "dyn.search::FirstToken"(ids, start: int) {
  return ids[:, :1] * 0 + i32(start)
}
operator "dyn.search::StartToken"(ids, beams, most, start: int) {
  check_values(most, 2, 2147483647, elements = "in_range", what = "BeamSearch: max_length")
  check_values(beams, 1, 2147483647, elements = "in_range", what = "num_beams")
  return expand(i32(start), concat(shape(ids)[:1] * beams, [1], axis = 0))
}

# What a step begins with. The sizes of what goes from step to step are said here, as those of the first text
# [r, s], the first cache, and the batch: a loop alone knows nothing of them.
operator "dyn.search::Inside"(ids, places, mask, next, past, prompt) {
  r = gather(shape(prompt), [0])
  s = gather(shape(ids), [1])
  total = gather(shape(past), [3]) + s
  column = concat(r, [1], axis = 0)
  now = concat(r, s, axis = 0)
  return reshape(ids, now), reshape(places, now), reshape(mask, concat(r, total, axis = 0)), reshape(next, column)
}
operator "dyn.search::InsideText"(text, prompt) {
  return reshape(text, concat(gather(shape(prompt), [0]), [-1], axis = 0))
}
operator "dyn.search::InsideCache"(past, first, prompt, before: ints, heads: int, size: int) {
  r = gather(shape(prompt), [0])
  positions = shape(first, start = -2, end = -1)
  return reshape(past, concat(before, r, reshape(heads, [1]), positions, reshape(size, [1]), axis = 0))
}
operator "dyn.search::InsideEnded"(ended, prompt) {
  return reshape(ended, concat(gather(shape(prompt), [0]), [1], axis = 0))
}
operator "dyn.search::InsideBeams"(scores, texts, text_scores, done, input, beams, most) {
  batch = gather(shape(input), [0])
  sizes = concat(batch, reshape(beams, [1]), axis = 0)
  all = concat(sizes, reshape(most, [1]), axis = 0)
  column = concat(batch, [1], axis = 0)
  return reshape(scores, sizes), reshape(texts, all), reshape(text_scores, sizes), reshape(done, column)
}

# Logits of the last position, [r, v], of the words that the vocabulary has.
operator "dyn.search::Last"(logits) {
  return cast(logits, f32)[:, -1]
}
operator "dyn.search::Last"(logits, words) {
  return cast(logits, f32)[:, -1, :words]
}
operator "dyn.search::LogSoftmax"(scores) {
  return log_softmax(scores)
}

# What changes scores [r, v] by the tokens so far, [r, t].
operator "dyn.search::RepetitionPenalty"(scores, sequences, penalty) {
  places = cast(sequences, i64)
  said = gather_elements(scores, places, axis = 1)
  return scatter_elements(scores, places, where(said < 0.0, said * penalty, said / penalty), axis = 1)
}
operator "dyn.search::NoRepeatNGram"(scores, sequences, size: int) {
  # Runs of `size` tokens begin at 0 .. count - 1; a text that is too short gets tokens -1 before it.
  text = cast(sequences, i64)
  short = max(size - shape(text)[1], 0)
  longer = pad(text, concat([0], reshape(short, [1]), [0, 0], axis = 0), i64(-1))
  count = shape(longer)[1] - size + 1
  begin = longer[:, :count] == longer[:, :count]
  same = loop(size - 1, _, begin, longer, count) {carried = 1} body (i, so_far, text, count) {
    here = text[:, i : i + count]
    wanted = text[:, count + i : count + i + 1]
    return true, so_far and here == wanted
  }
  last = longer[:, size - 1 :]
  blocked = where(same and short == 0, -3.4028234663852886e38, inf)
  return scatter_elements(scores, max(last, 0), blocked, axis = 1, reduction = "min")
}
operator "dyn.search::Words"(scores, mask) {
  return where(mask == 0, -3.4028234663852886e38, scores)
}
operator "dyn.search::FirstWords"(scores, mask, sequences, prompt) {
  first = shape(sequences)[1] == shape(prompt)[1]
  return where(mask == 0 and first, -3.4028234663852886e38, scores)
}
operator "dyn.search::LeastLength"(scores, sequences, least, end: int) {
  early = shape(sequences)[1] < least
  words = range(0, shape(scores)[1], 1)
  return where(words == end and early, -3.4028234663852886e38, scores)
}

# The greedy choice. An entry that has ended gets `pad` from there on.
operator "dyn.search::GreedyBegin"(ids) {
  return cast(ids[:, :1] * 0, bool)
}
operator "dyn.search::Greedy"(scores, sequences, ended, end: int, pad: int) {
  best = cast(argmax(scores, axis = 1), i32)
  now = ended or best == end
  token = where(now, pad, best)
  return token, concat(sequences, token, axis = 1), now
}
operator "dyn.search::GreedyEnd"(sequences, most, pad: int) {
  rest = most - shape(sequences)[1]
  return pad(sequences, concat([0, 0, 0], reshape(rest, [1]), axis = 0), cast(pad, i32))
}

# Beams: their scores [batch, beams], the texts that have ended, the best first, [batch, beams, most] and their
# scores, and which entries are done, [batch, 1].
operator "dyn.search::BeamBegin"(ids, beams, most, pad: int) {
  batch = shape(ids)[:1]
  k = unsqueeze(beams, [0])
  sizes = concat(batch, k, axis = 0)
  scores = expand(where(range(0, beams, 1) == 0, 0.0, -1e9), sizes)
  texts = expand(cast(pad, i32), concat(sizes, unsqueeze(most, [0]), axis = 0))
  return scores, texts, expand(-inf, sizes), cast(ids[:, :1] * 0, bool)
}
operator "dyn.search::Beams"(scores, sequences, before, texts, text_scores, done, penalty, end: int, pad: int, early: int) {
  sizes = shape(before)
  batch = sizes[0]
  beams = sizes[1]
  words = shape(scores)[1]
  length = shape(sequences)[1]
  most = shape(texts)[2]
  summed = reshape(scores, concat(sizes, reshape(words, [1]), axis = 0)) + unsqueeze(before, [2])
  all = reshape(summed, concat(reshape(batch, [1]), reshape(beams * words, [1]), axis = 0))
  best, places = topk(all, 2 * beams)
  token = places % words
  beam = places // words
  ends = token == end
  first = unsqueeze(range(0, batch, 1) * beams, [1])
  # The texts that end in this step, among the first `beams` candidates.
  ending = ends[:, :beams]
  per_token = cast(length, f32) ** penalty
  fresh_scores = where(ending and not done, best[:, :beams] / per_token, -inf)
  padded = pad(sequences, concat([0, 0, 0], reshape(most - length, [1]), axis = 0), cast(pad, i32))
  fresh = gather(padded, beam[:, :beams] + first, axis = 0)
  kept_scores, kept = topk(concat(text_scores, fresh_scores, axis = 1), beams)
  pool = concat(texts, fresh, axis = 1)
  kept_texts = gather_nd(pool, unsqueeze(kept, [2]), batch_dims = 1)
  # The texts that go on: the first `beams` that do not end.
  go_scores, go = topk(where(ends, -inf, best), beams)
  next_scores = where(done, 0.0, go_scores)
  next_token = where(done, pad, cast(gather_elements(token, go, axis = 1), i32))
  next_beam = where(done, 0, gather_elements(beam, go, axis = 1)) + first
  rows = reshape(next_beam, reshape(batch * beams, [1]))
  column = reshape(next_token, concat(reshape(batch * beams, [1]), [1], axis = 0))
  longer = concat(gather(sequences, rows, axis = 0), column, axis = 1)
  worst = kept_scores[:, -1:]
  full = worst > -inf
  now = done or full and (early == 1 or worst >= best[:, :1] / per_token)
  return column, longer, rows, next_scores, kept_texts, kept_scores, now
}
operator "dyn.search::BeamEnd"(sequences, scores, texts, text_scores, done, penalty, count, pad: int) {
  sizes = shape(scores)
  beams = sizes[1]
  most = shape(texts)[2]
  length = shape(sequences)[1]
  check_values(count, 1, beams, elements = "in_range", what = "num_return_sequences")
  last_scores = where(done, -inf, scores / cast(length, f32) ** penalty)
  padded = pad(sequences, concat([0, 0, 0], reshape(most - length, [1]), axis = 0), cast(pad, i32))
  last = reshape(padded, concat(sizes, reshape(most, [1]), axis = 0))
  best, kept = topk(concat(text_scores, last_scores, axis = 1), count)
  result = gather_nd(concat(texts, last, axis = 1), unsqueeze(kept, [2]), batch_dims = 1)
  return result, best
}
operator "dyn.search::Pick"(cache, rows) {
  return gather(cache, rows, axis = 1)
}
operator "dyn.search::PickRows"(x, rows) {
  return gather(x, rows, axis = 0)
}

# What the next step takes.
operator "dyn.search::Longer"(mask) {
  return pad(mask, [0, 0, 0, 1], cast(1, i32))
}
operator "dyn.search::Next"(place) {
  return place + 1
}

# Whether, and how often, to go on.
operator "dyn.search::Open"(ended) {
  return reduce_sum(cast(not ended, i64), keepdims = 0) > 0
}
operator "dyn.search::Room"(sequences, most) {
  return most - shape(sequences)[1]
}
)dyn";

}  // namespace

Result<text::OperatorFile> searchSteps() {
  text::ParseOptions options;
  options.findOp = findOp;
  options.file = "<steps of a search>";
  return text::OperatorFile::parse(std::string(kSteps), std::move(options));
}

}  // namespace dyn::onnx
