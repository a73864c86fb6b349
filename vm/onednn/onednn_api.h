// oneDNN's C functions, of its versions 2 and 3, and what of them Dyn uses: layouts of f32 tensors, products,
// convolutions and reorders.
//
// The library is opened when it is first wanted, so that a program that does not use it pays nothing for it.
// The versions differ in how layouts and primitives are described; the difference ends in onednn_api.cpp.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vm/base/status.h"

namespace dyn::vm::onednn {

#define DYN_ONEDNN_FUNCTIONS(F)              \
  F(dnnl_version)                            \
  F(dnnl_engine_create)                      \
  F(dnnl_stream_create)                      \
  F(dnnl_stream_destroy)                     \
  F(dnnl_stream_wait)                        \
  F(dnnl_memory_create)                      \
  F(dnnl_memory_destroy)                     \
  F(dnnl_memory_desc_equal)                  \
  F(dnnl_memory_desc_get_size)               \
  F(dnnl_primitive_attr_create)              \
  F(dnnl_primitive_attr_set_scratchpad_mode) \
  F(dnnl_primitive_create)                   \
  F(dnnl_primitive_destroy)                  \
  F(dnnl_primitive_execute)                  \
  F(dnnl_primitive_desc_destroy)             \
  F(dnnl_primitive_desc_query)               \
  F(dnnl_primitive_desc_query_md)            \
  F(dnnl_reorder_primitive_desc_create)      \
  DYN_ONEDNN_VERSIONED(F)
#if DNNL_VERSION_MAJOR >= 3
#define DYN_ONEDNN_VERSIONED(F)           \
  F(dnnl_memory_desc_clone)               \
  F(dnnl_memory_desc_destroy)             \
  F(dnnl_memory_desc_create_with_strides) \
  F(dnnl_memory_desc_create_with_tag)     \
  F(dnnl_matmul_primitive_desc_create)    \
  F(dnnl_convolution_forward_primitive_desc_create)
#else
#define DYN_ONEDNN_VERSIONED(F)       \
  F(dnnl_memory_desc_init_by_strides) \
  F(dnnl_memory_desc_init_by_tag)     \
  F(dnnl_primitive_desc_create)       \
  F(dnnl_matmul_desc_init)            \
  F(dnnl_dilated_convolution_forward_desc_init)
#endif

struct Api {
#define DYN_ONEDNN_MEMBER(name) decltype(&::name) name = nullptr;
  DYN_ONEDNN_FUNCTIONS(DYN_ONEDNN_MEMBER)
#undef DYN_ONEDNN_MEMBER
  // Of OpenMP, for the calling thread; null where the library has no threads.
  void (*setThreads)(int) = nullptr;
  int (*threads)() = nullptr;

  dnnl_engine_t engine = nullptr;         // the processor
  dnnl_primitive_attr_t given = nullptr;  // scratch memory is given to primitives, who keep none
  std::string fault;                      // why all this is not there; empty: it is
};
// Opened by the first call, for as long as the process lives. Thread-safe.
const Api& api();
Status ready();  // error DYN_UNSUPPORTED: the library can not be opened

#if DNNL_VERSION_MAJOR >= 3
using LayoutView = const_dnnl_memory_desc_t;
#else
using LayoutView = const dnnl_memory_desc_t*;
#endif

// Shape of an f32 tensor and where its elements lie. api() is there.
class Layout {
 public:
  Layout() = default;  // of no tensor
  explicit Layout(LayoutView copied);
  static Layout rowMajor(std::span<const int64_t> shape);
  static Layout withStrides(std::span<const int64_t> shape, std::span<const int64_t> strides);
  static Layout open(std::span<const int64_t> shape);  // the primitive is to choose

  explicit operator bool() const { return made_; }
  LayoutView view() const;  // null: of no tensor
  int64_t sizeBytes() const;
  bool operator==(const Layout& other) const;

 private:
  bool made_ = false;
#if DNNL_VERSION_MAJOR >= 3
  std::shared_ptr<dnnl_memory_desc> description_;
#else
  dnnl_memory_desc_t description_;
#endif
};

struct DestroyDescription {
  void operator()(dnnl_primitive_desc_t d) const { (void)api().dnnl_primitive_desc_destroy(d); }
};
// A primitive that can be made; null: the library can not do it.
using Description = std::unique_ptr<std::remove_pointer_t<dnnl_primitive_desc_t>, DestroyDescription>;

struct Window {
  std::vector<int64_t> strides, dilations, padsBefore, padsAfter;  // dilations from 1 on
};
Description describeProduct(const Layout& left, const Layout& right, const Layout& result);
Description describeConvolution(const Window& window, const Layout& x, const Layout& weights,
                                const Layout& bias, const Layout& y);
Description describeReorder(const Layout& from, const Layout& to);

Layout layoutOf(const Description& description, dnnl_query_t what);  // dnnl_query_src_md and the like
std::string implementationOf(const Description& description);        // "brgconv:avx512_core"

struct DestroyPrimitive {
  void operator()(dnnl_primitive_t p) const { (void)api().dnnl_primitive_destroy(p); }
};
using Primitive = std::unique_ptr<std::remove_pointer_t<dnnl_primitive_t>, DestroyPrimitive>;
Primitive makePrimitive(const Description& description);  // null: there is no memory for it

// The library uses so many threads for what the calling thread asks of it, while this lives.
class ThreadLimit {
 public:
  explicit ThreadLimit(int64_t threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;

 private:
  int before_ = 0;
};

struct Operand {
  int argument;  // DNNL_ARG_SRC
  const Layout& layout;
  const void* data;  // borrowed; null where the layout is of no tensor
};
// Runs a primitive on the calling thread and the library's own; returns when it is done.
Status execute(const Primitive& primitive, std::span<const Operand> operands);

}  // namespace dyn::vm::onednn
