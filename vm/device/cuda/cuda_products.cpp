#include "vm/device/cuda/cuda_products.h"

#include <algorithm>
#include <type_traits>

#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

using namespace cublaslt;

static_assert(std::has_unique_object_representations_v<DynDeviceProduct>, "compared by its bytes");

int typeOf(int64_t dtype) { return dtype == DYN_F16 ? kF16 : dtype == DYN_BF16 ? kBf16 : kF32; }

int sumsOf(const DynDeviceProduct& product) {
  if (product.left.dtype != DYN_F32) return kSumsF32;
  if (product.rounding == DYN_PRODUCT_TF32) return kSumsF32OfTf32;
  return product.rounding == DYN_PRODUCT_BF16 ? kSumsF32OfBf16 : kSumsF32Pedantic;
}

// The first of some calls that fails.
class Calls {
 public:
  template <typename Call>
  Calls& then(Call&& call) {
    if (status_ == kSuccess) status_ = call();
    return *this;
  }
  int status() const { return status_; }

 private:
  int status_ = kSuccess;
};

}  // namespace

CublasLtDescription::~CublasLtDescription() {
  if (wishes_) (void)library_.forgetWishes(wishes_);
  for (CublasLtMatrix matrix : {left_, right_, result_})
    if (matrix) (void)library_.forgetMatrix(matrix);
  if (product_) (void)library_.forgetProduct(product_);
}

// The library's columns are what lies side by side.
int CublasLtDescription::layOut(const DynDeviceMatrix& matrix, int64_t rows, int64_t columns, int64_t count,
                                CublasLtMatrix& made) {
  const bool byRows = matrix.columnStride == 1;
  const int64_t along = byRows ? columns : rows, across = byRows ? rows : columns;
  const int64_t stride = byRows ? matrix.rowStride : matrix.columnStride;
  const auto batch = static_cast<int32_t>(count);
  return Calls()
      .then([&] {
        return library_.describeMatrix(&made, typeOf(matrix.dtype), static_cast<uint64_t>(along),
                                       static_cast<uint64_t>(across), stride);
      })
      .then([&] { return library_.setMatrix(made, kBatchCount, &batch, sizeof batch); })
      .then([&] {
        return library_.setMatrix(made, kBatchStride, &matrix.matrixStride, sizeof matrix.matrixStride);
      })
      .status();
}

int CublasLtDescription::setBias(const DynDeviceProduct& p, void* const* buffers) const {
  if (p.bias < 0) return kSuccess;
  const int32_t epilogue = kAddBias;
  const void* bias = buffers[p.bias];
  const int status = library_.setProduct(product_, kEpilogue, &epilogue, sizeof epilogue);
  return status == kSuccess ? library_.setProduct(product_, kBiasPointer, &bias, sizeof bias) : status;
}

int CublasLtDescription::describe(const DynDeviceProduct& p, void* const* buffers,
                                  const Alignments& alignments, uint64_t mostWorkspaceBytes) {
  // A result by rows is, to the library, the transposed one: right factor first, both transposed.
  swapped_ = p.result.columnStride == 1;
  const auto operationOf = [&](const DynDeviceMatrix& factor) {
    const bool byRows = factor.columnStride == 1;
    return byRows == swapped_ ? kAsItIs : kTransposed;
  };
  const int32_t a = operationOf(swapped_ ? p.right : p.left), b = operationOf(swapped_ ? p.left : p.right);
  const uint32_t reductions = kReduceSums;
  const auto wish = [&](int attribute, const auto& value) {
    return library_.setWish(wishes_, attribute, &value, sizeof value);
  };
  return Calls()
      .then([&] { return library_.describeProduct(&product_, sumsOf(p), kF32); })
      .then([&] { return library_.setProduct(product_, kTransposeA, &a, sizeof a); })
      .then([&] { return library_.setProduct(product_, kTransposeB, &b, sizeof b); })
      .then([&] { return setBias(p, buffers); })
      .then([&] { return layOut(p.left, p.rows, p.depth, p.count, left_); })
      .then([&] { return layOut(p.right, p.depth, p.columns, p.count, right_); })
      .then([&] { return layOut(p.result, p.rows, p.columns, p.count, result_); })
      .then([&] { return library_.describeWishes(&wishes_); })
      .then([&] { return wish(kMostWorkspace, mostWorkspaceBytes); })
      .then([&] { return wish(kReductions, reductions); })
      .then([&] { return wish(kAlignmentOfA, alignments[swapped_ ? 1 : 0]); })
      .then([&] { return wish(kAlignmentOfB, alignments[swapped_ ? 0 : 1]); })
      .then([&] { return wish(kAlignmentOfC, alignments[2]); })
      .then([&] { return wish(kAlignmentOfD, alignments[2]); })
      .status();
}

int CublasLtDescription::choose(CublasLtHandle handle) {
  int count = 0;
  const int status = library_.choose(handle, product_, swapped_ ? right_ : left_, swapped_ ? left_ : right_,
                                     result_, result_, wishes_, 1, &choice_, &count);
  if (status != kSuccess) return status;
  return count == 0 ? kNotSupported : choice_.state;
}

int CublasLtDescription::launch(CublasLtHandle handle, const DynDeviceProduct& p, void* const* buffers,
                                CudaStream stream) const {
  if (const int status = setBias(p, buffers); status != kSuccess) return status;
  const float one = 1, zero = 0;
  const void *left = buffers[p.left.buffer], *right = buffers[p.right.buffer];
  void* result = buffers[p.result.buffer];
  return library_.multiply(handle, product_, &one, swapped_ ? right : left, swapped_ ? right_ : left_,
                           swapped_ ? left : right, swapped_ ? left_ : right_, &zero, result, result_, result,
                           result_, &choice_.algorithm, p.workspace, p.workspaceBytes, stream);
}

CublasLtDescription::Alignments CudaProducts::alignmentsOf(const DynDeviceProduct& product,
                                                           void* const* buffers) {
  constexpr uintptr_t kMostBytes = 256;
  const auto of = [&](int64_t buffer) {
    const auto address = (buffer < 0 ? 0 : reinterpret_cast<uintptr_t>(buffers[buffer])) | kMostBytes;
    return static_cast<uint32_t>(address & (~address + 1));
  };
  return {of(product.left.buffer), of(product.right.buffer), of(product.result.buffer), of(product.bias)};
}

CudaProducts::Key CudaProducts::keyOf(const DynDeviceProduct& p,
                                      const CublasLtDescription::Alignments& alignments) {
  Key key{p.rows, p.columns, p.depth, p.count, p.bias < 0 ? 0 : 1, p.rounding};
  size_t at = 6;
  for (const DynDeviceMatrix* m : {&p.left, &p.right, &p.result})
    for (const int64_t number : {m->dtype, m->rowStride, m->columnStride, m->matrixStride})
      key[at++] = number;
  for (const uint32_t bytes : alignments) key[at++] = bytes;
  return key;
}

CudaProducts::Entry& CudaProducts::entryOf(const DynDeviceProduct& product, void* const* buffers,
                                           uint64_t mostWorkspaceBytes) {
  const CublasLtDescription::Alignments alignments = alignmentsOf(product, buffers);
  const Key key = keyOf(product, alignments);
  if (entries_.size() >= kMost && !entries_.count(key)) entries_.clear();
  Entry& entry = entries_[key];
  if (entry.description) return entry;
  entry.description = std::make_unique<CublasLtDescription>(library_);
  entry.status = entry.description->describe(product, buffers, alignments, mostWorkspaceBytes);
  if (entry.status == kSuccess) entry.status = entry.description->choose(handle_);
  return entry;
}

int CudaProducts::open() { return handle_ ? kSuccess : library_.create(&handle_); }

int CudaProducts::plan(DynDeviceProduct& product, void* const* buffers, uint64_t mostWorkspaceBytes) {
  const Entry& entry = entryOf(product, buffers, mostWorkspaceBytes);
  if (entry.status == kSuccess) product.workspaceBytes = entry.description->workspaceBytes();
  return entry.status;
}

int CudaProducts::launch(const DynDeviceProduct& product, void* const* buffers, CudaStream stream) {
  if (!handle_) return kNotInitialized;
  const Entry& entry = entryOf(product, buffers, product.workspaceBytes);
  return entry.status == kSuccess ? entry.description->launch(handle_, product, buffers, stream)
                                  : entry.status;
}

}  // namespace dyn::vm
