#include "vm/onednn/onednn_primitives.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "vm/kernels/pool_scratch.h"
#include "vm/kernels/work.h"

namespace dyn::vm::onednn {

using kernels::Convolution;
using kernels::wholeLines;

namespace {

constexpr int64_t kMiddleRows = 64, kMiddleImage = 32;  // for which the layout of weights is asked for
constexpr size_t kMostPrepared = 512;

// The axes a convolution has, of the three it is seen with.
std::vector<int64_t> axesOf(const Convolution& c, const std::array<int64_t, 3>& sizes) {
  return {sizes.end() - static_cast<std::ptrdiff_t>(c.rank), sizes.end()};
}

std::vector<int64_t> withAxes(std::vector<int64_t> shape, const Convolution& c,
                              const std::array<int64_t, 3>& sizes) {
  for (int64_t size : axesOf(c, sizes)) shape.push_back(size);
  return shape;
}

std::vector<int64_t> weightsShape(const Convolution& c) {
  return c.groups == 1 ? withAxes({c.filters, c.channels}, c, c.kernel)
                       : withAxes({c.groups, c.filters, c.channels}, c, c.kernel);
}

// Windows for which multiplying matrices on rows as they lie is worth more than the better kernels, which
// want x and y reordered.
bool isRowMajor(const Convolution& c) {
  constexpr int64_t kFewProducts = 32;
  return c.taps() == 1 || (c.groups == 1 && c.depth() <= kFewProducts);
}

Window windowOf(const Convolution& c) {
  Window window{axesOf(c, c.stride), axesOf(c, c.dilation), axesOf(c, c.pad), {}};
  std::array<int64_t, 3> after{};
  for (size_t i = 0; i < 3; ++i)
    after[i] = (c.output[i] - 1) * c.stride[i] + c.reach(i) + 1 - c.input[i] - c.pad[i];
  window.padsAfter = axesOf(c, after);
  return window;
}

Layout inputLayout(const Convolution& c) {
  return Layout::rowMajor(withAxes({c.batch, c.groups * c.channels}, c, c.input));
}

Layout outputLayout(const Convolution& c) {
  return Layout::rowMajor(withAxes({c.batch, c.groups * c.filters}, c, c.output));
}

Layout inputLayout(const Product& p) { return Layout::rowMajor(std::array{p.rows, p.depth}); }

Layout outputLayout(const Product& p) { return Layout::rowMajor(std::array{p.rows, p.columns}); }

// The same shape, the primitive's choice.
Layout opened(const Convolution& c, const std::array<int64_t, 3>& sizes, int64_t channels) {
  return Layout::open(withAxes({c.batch, c.groups * channels}, c, sizes));
}

bool isReference(const Description& description) {
  return implementationOf(description).rfind("ref", 0) == 0;
}

}  // namespace

Layout givenLayout(const Product& p, bool transposed) {
  return transposed ? Layout::withStrides(std::array{p.depth, p.columns}, std::array<int64_t, 2>{1, p.depth})
                    : Layout::rowMajor(std::array{p.depth, p.columns});
}

Layout givenLayout(const Convolution& c) { return Layout::rowMajor(weightsShape(c)); }

Layout packedLayout(const Product& product) {
  const ThreadLimit one(1);
  const Product middle{kMiddleRows, product.depth, product.columns};
  const Description description = describeProduct(
      inputLayout(middle), Layout::open(std::array{middle.depth, middle.columns}), outputLayout(middle));
  return description ? layoutOf(description, dnnl_query_weights_md) : Layout();
}

Layout packedLayout(const Convolution& convolution) {
  if (isRowMajor(convolution)) return givenLayout(convolution);
  const ThreadLimit one(1);
  Convolution middle = convolution;
  middle.batch = 1;
  middle.pad = {0, 0, 0};
  for (size_t i = 3 - static_cast<size_t>(middle.rank); i < 3; ++i) {
    middle.output[i] = kMiddleImage;
    middle.input[i] = (kMiddleImage - 1) * middle.stride[i] + middle.reach(i) + 1;
  }
  const Description description = describeConvolution(
      windowOf(middle), opened(middle, middle.input, middle.channels), Layout::open(weightsShape(middle)),
      Layout(), opened(middle, middle.output, middle.filters));
  return description ? layoutOf(description, dnnl_query_weights_md) : Layout();
}

// --- prepared

Prepared::Reorder Prepared::reorder(const Layout& from, const Layout& to, bool& done) {
  Reorder made;
  if (from == to) return made;
  const Description description = describeReorder(from, to);
  if (description) {
    made.primitive = makePrimitive(description);
    made.scratch = layoutOf(description, dnnl_query_scratchpad_md);
  }
  done = done && made.primitive;
  return made;
}

bool Prepared::prepare(const Description& description) {
  implementation_ = implementationOf(description);
  wanted_ = {layoutOf(description, dnnl_query_src_md), layoutOf(description, dnnl_query_weights_md),
             given_.bias, layoutOf(description, dnnl_query_dst_md)};
  scratch_ = layoutOf(description, dnnl_query_scratchpad_md);
  primitive_ = makePrimitive(description);
  bool done = primitive_ != nullptr;
  x_ = reorder(given_.x, wanted_.x, done);
  weights_ = reorder(given_.weights, wanted_.weights, done);
  y_ = reorder(wanted_.y, given_.y, done);
  return done;
}

template <typename Describe>
std::shared_ptr<const Prepared> Prepared::make(Sides given, const Layout& x, const Layout& anyWeights,
                                               const Layout& y, const Describe& describe) {
  Description description = describe(x, given.weights, y);
  if (!description || isReference(description)) {
    Description other = describe(x, anyWeights, y);
    if (other && (!description || !isReference(other))) description = std::move(other);
  }
  auto made = std::make_shared<Prepared>();
  made->given_ = std::move(given);
  return description && made->prepare(description) ? made : nullptr;
}

int64_t Prepared::scratchElements() const {
  int64_t most = elementCount(scratch_);
  int64_t sum = 0;
  const std::pair<const Reorder*, const Layout*> reorders[] = {
      {&x_, &wanted_.x}, {&weights_, &wanted_.weights}, {&y_, &wanted_.y}};
  for (const auto& [reorder, layout] : reorders) {
    if (!reorder->primitive) continue;
    sum += wholeLines(elementCount(*layout));
    most = std::max(most, elementCount(reorder->scratch));
  }
  return sum + wholeLines(most);
}

Status Prepared::run(const float* x, const float* weights, const float* bias, float* y,
                     float* scratch) const {
  const auto take = [&](const Layout& layout) {
    float* part = scratch;
    scratch += wholeLines(elementCount(layout));
    return part;
  };
  float* const xInside = x_.primitive ? take(wanted_.x) : nullptr;
  float* const weightsInside = weights_.primitive ? take(wanted_.weights) : nullptr;
  float* const yInside = y_.primitive ? take(wanted_.y) : y;
  const auto reordered = [&](const Reorder& reorder, const Layout& from, const float* data, const Layout& to,
                             float* result) {
    const Operand operands[] = {{DNNL_ARG_FROM, from, data},
                                {DNNL_ARG_TO, to, result},
                                {DNNL_ARG_SCRATCHPAD, reorder.scratch, scratch}};
    return execute(reorder.primitive, operands);
  };
  if (x_.primitive)
    if (Status status = reordered(x_, given_.x, x, wanted_.x, xInside); !status.ok()) return status;
  if (weights_.primitive)
    if (Status status = reordered(weights_, given_.weights, weights, wanted_.weights, weightsInside);
        !status.ok())
      return status;
  const Operand operands[] = {{DNNL_ARG_SRC, wanted_.x, x_.primitive ? xInside : x},
                              {DNNL_ARG_WEIGHTS, wanted_.weights, weightsInside ? weightsInside : weights},
                              {DNNL_ARG_BIAS, wanted_.bias, bias},
                              {DNNL_ARG_DST, wanted_.y, yInside},
                              {DNNL_ARG_SCRATCHPAD, scratch_, scratch}};
  if (Status status = execute(primitive_, operands); !status.ok()) return status;
  return y_.primitive ? reordered(y_, wanted_.y, yInside, given_.y, y) : okStatus();
}

// --- those that are kept

namespace {

using Key = std::array<int64_t, 26>;

class Kept {
 public:
  template <typename Make>
  std::shared_ptr<const Prepared> find(const Key& key, const Make& make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (auto found = entries_.find(key); found != entries_.end()) {
        found->second.used = ++clock_;
        return found->second.prepared;
      }
    }
    // Made without the lock: another thread may make the same, and one of them is kept.
    std::shared_ptr<const Prepared> prepared = make();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= kMostPrepared)
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second.used < b.second.used;
      }));
    entries_[key] = {prepared, ++clock_};
    return prepared;
  }

 private:
  struct Entry {
    std::shared_ptr<const Prepared> prepared;
    uint64_t used = 0;
  };
  std::mutex mutex_;
  std::map<Key, Entry> entries_;
  uint64_t clock_ = 0;
};

// Code for shapes, which belongs to no module: like the library's own cache it lives until the process ends,
// and is never destroyed, as the library may be gone by then.
Kept& kept() {
  static Kept* const all = new Kept();
  return *all;
}

}  // namespace

std::shared_ptr<const Prepared> prepared(const Product& p, int64_t threads) {
  return kept().find({threads, 0, p.rows, p.depth, p.columns}, [&] {
    const ThreadLimit limit(threads);
    const Layout x = inputLayout(p), y = outputLayout(p);
    return Prepared::make({x, packedLayout(p), Layout(), y}, x, Layout::open(std::array{p.depth, p.columns}),
                          y, [](const Layout& left, const Layout& right, const Layout& result) {
                            return describeProduct(left, right, result);
                          });
  });
}

std::shared_ptr<const Prepared> prepared(const Convolution& c, bool biased, int64_t threads) {
  Key key{threads, 1 + c.rank, biased, c.groups, c.channels, c.filters, c.batch};
  size_t at = 7;
  for (const auto* sizes : {&c.kernel, &c.stride, &c.dilation, &c.input, &c.output, &c.pad})
    at = static_cast<size_t>(std::copy(sizes->begin(), sizes->end(), key.begin() + at) - key.begin());
  return kept().find(key, [&] {
    const ThreadLimit limit(threads);
    const Layout x = inputLayout(c), y = outputLayout(c),
                 bias = biased ? Layout::rowMajor(std::array{c.groups * c.filters}) : Layout();
    const bool rows = isRowMajor(c);
    const Window window = windowOf(c);
    return Prepared::make({x, packedLayout(c), bias, y}, rows ? x : opened(c, c.input, c.channels),
                          Layout::open(weightsShape(c)), rows ? y : opened(c, c.output, c.filters),
                          [&](const Layout& from, const Layout& weights, const Layout& to) {
                            return describeConvolution(window, from, weights, bias, to);
                          });
  });
}

Status pack(const Layout& given, const float* from, const Layout& packed, float* to, MemoryPool* pool,
            int64_t threads) {
  const ThreadLimit limit(threads);
  const Description description = packed ? describeReorder(given, packed) : nullptr;
  const Primitive primitive = description ? makePrimitive(description) : nullptr;
  if (!primitive) return failure(DYN_UNSUPPORTED, "oneDNN can not do this");
  const Layout scratch = layoutOf(description, dnnl_query_scratchpad_md);
  const kernels::PoolScratch memory(pool, elementCount(scratch));
  if (!memory) return memory.status();
  const Operand operands[] = {
      {DNNL_ARG_FROM, given, from}, {DNNL_ARG_TO, packed, to}, {DNNL_ARG_SCRATCHPAD, scratch, memory.data()}};
  return execute(primitive, operands);
}

}  // namespace dyn::vm::onednn
