// Products by cuBLASLt: descriptions and the algorithm of each product are made once, and used for all
// launches of the same sizes at addresses that are aligned alike. One for each GPU, whose context is the
// current one; callers hold its lock.
#pragma once

#include <array>
#include <map>
#include <memory>

#include "vm/device/cuda/cublaslt.h"
#include "vm/include/abi/dyn_device_product.h"

namespace dyn::vm {

// What the library is told of a product; it has columns first, so that our matrices are its transposed ones.
class CublasLtDescription {
 public:
  explicit CublasLtDescription(const CublasLt& library) : library_(library) {}
  ~CublasLtDescription();
  CublasLtDescription(const CublasLtDescription&) = delete;

  // Once. `alignments`: bytes that the addresses of left, right, result and bias are multiples of. A status
  // of the library.
  using Alignments = std::array<uint32_t, 4>;
  int describe(const DynDeviceProduct& product, void* const* buffers, const Alignments& alignments,
               uint64_t mostWorkspaceBytes);
  int choose(CublasLtHandle handle);  // kNotSupported: it can not do it
  uint64_t workspaceBytes() const { return choice_.workspaceBytes; }
  int launch(CublasLtHandle handle, const DynDeviceProduct& product, void* const* buffers,
             CudaStream stream) const;

 private:
  int layOut(const DynDeviceMatrix& matrix, int64_t rows, int64_t columns, int64_t count,
             CublasLtMatrix& made);
  int setBias(const DynDeviceProduct& product, void* const* buffers) const;

  const CublasLt& library_;
  bool swapped_ = false;  // the library's A is our right factor
  CublasLtProduct product_ = nullptr;
  CublasLtMatrix left_ = nullptr, right_ = nullptr, result_ = nullptr;
  CublasLtWishes wishes_ = nullptr;
  CublasLtChoice choice_{};
};

class CudaProducts {
 public:
  explicit CudaProducts(const CublasLt& library) : library_(library) {}

  // Statuses of the library. Before all else, and as often as one likes:
  int open();
  int plan(DynDeviceProduct& product, void* const* buffers, uint64_t mostWorkspaceBytes);
  int launch(const DynDeviceProduct& product, void* const* buffers, CudaStream stream);

 private:
  struct Entry {
    std::unique_ptr<CublasLtDescription> description;
    int status = cublaslt::kSuccess;  // of its choice
  };
  using Key = std::array<int64_t, 24>;
  static constexpr size_t kMost = 1024;  // of entries; a program of many sizes begins anew
  static CublasLtDescription::Alignments alignmentsOf(const DynDeviceProduct& product, void* const* buffers);
  static Key keyOf(const DynDeviceProduct& product, const CublasLtDescription::Alignments& alignments);
  Entry& entryOf(const DynDeviceProduct& product, void* const* buffers, uint64_t mostWorkspaceBytes);

  const CublasLt& library_;
  CublasLtHandle handle_ = nullptr;  // made once, and never destroyed
  std::map<Key, Entry> entries_;
};

}  // namespace dyn::vm
