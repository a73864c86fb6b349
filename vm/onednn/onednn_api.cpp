#include "vm/onednn/onednn_api.h"

#include <dlfcn.h>

namespace dyn::vm::onednn {
namespace {

constexpr int kMostAxes = 8;  // of what is described here

// Never closed: primitives may be alive until the process ends.
Api open() {
  Api a;
  const std::string name = "libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    a.fault = why ? why : name + " can not be opened";
    return a;
  }
  const auto find = [&]<typename Function>(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    if (!function) a.fault = name + " has no " + symbol;
  };
#define DYN_ONEDNN_FIND(function) find(a.function, #function);
  DYN_ONEDNN_FUNCTIONS(DYN_ONEDNN_FIND)
#undef DYN_ONEDNN_FIND
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  find(a.setThreads, "omp_set_num_threads");
  find(a.threads, "omp_get_max_threads");
#endif
  if (!a.fault.empty()) return a;
  if (a.dnnl_version()->major != DNNL_VERSION_MAJOR)
    a.fault = name + " is of version " + std::to_string(a.dnnl_version()->major);
  else if (a.dnnl_engine_create(&a.engine, dnnl_cpu, 0) != dnnl_success ||
           a.dnnl_primitive_attr_create(&a.given) != dnnl_success ||
           a.dnnl_primitive_attr_set_scratchpad_mode(a.given, dnnl_scratchpad_mode_user) != dnnl_success)
    a.fault = name + " does not start";
  return a;
}

Description described(dnnl_status_t status, dnnl_primitive_desc_t made) {
  return Description(status == dnnl_success ? made : nullptr);
}

#if DNNL_VERSION_MAJOR < 3
Description described(const_dnnl_op_desc_t operation) {
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status =
      api().dnnl_primitive_desc_create(&made, operation, api().given, api().engine, nullptr);
  return described(status, made);
}
#endif

}  // namespace

const Api& api() {
  static const Api opened = open();
  return opened;
}

Status ready() {
  if (api().fault.empty()) return okStatus();
  return failure(DYN_UNSUPPORTED, "oneDNN can not be used: " + api().fault);
}

// --- layouts

#if DNNL_VERSION_MAJOR >= 3
namespace {
std::shared_ptr<dnnl_memory_desc> owned(dnnl_status_t status, dnnl_memory_desc_t made) {
  if (status != dnnl_success) return nullptr;
  return {made, [](dnnl_memory_desc_t d) { (void)api().dnnl_memory_desc_destroy(d); }};
}
}  // namespace

Layout::Layout(LayoutView copied) {
  dnnl_memory_desc_t made = nullptr;
  const dnnl_status_t status = api().dnnl_memory_desc_clone(&made, copied);
  description_ = owned(status, made);
  made_ = description_ != nullptr;
}

Layout Layout::withStrides(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  Layout layout;
  dnnl_memory_desc_t made = nullptr;
  const dnnl_status_t status = api().dnnl_memory_desc_create_with_strides(
      &made, static_cast<int>(shape.size()), shape.data(), dnnl_f32, strides.data());
  layout.description_ = owned(status, made);
  layout.made_ = layout.description_ != nullptr;
  return layout;
}

Layout Layout::open(std::span<const int64_t> shape) {
  Layout layout;
  dnnl_memory_desc_t made = nullptr;
  const dnnl_status_t status = api().dnnl_memory_desc_create_with_tag(
      &made, static_cast<int>(shape.size()), shape.data(), dnnl_f32, dnnl_format_tag_any);
  layout.description_ = owned(status, made);
  layout.made_ = layout.description_ != nullptr;
  return layout;
}

LayoutView Layout::view() const { return description_.get(); }

Description describeProduct(const Layout& left, const Layout& right, const Layout& result) {
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api().dnnl_matmul_primitive_desc_create(
      &made, api().engine, left.view(), right.view(), nullptr, result.view(), api().given);
  return described(status, made);
}
#else
Layout::Layout(LayoutView copied) : made_(copied != nullptr) {
  if (copied) description_ = *copied;
}

Layout Layout::withStrides(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  Layout layout;
  layout.made_ =
      api().dnnl_memory_desc_init_by_strides(&layout.description_, static_cast<int>(shape.size()),
                                             shape.data(), dnnl_f32, strides.data()) == dnnl_success;
  return layout;
}

Layout Layout::open(std::span<const int64_t> shape) {
  Layout layout;
  layout.made_ =
      api().dnnl_memory_desc_init_by_tag(&layout.description_, static_cast<int>(shape.size()), shape.data(),
                                         dnnl_f32, dnnl_format_tag_any) == dnnl_success;
  return layout;
}

LayoutView Layout::view() const { return made_ ? &description_ : nullptr; }

Description describeProduct(const Layout& left, const Layout& right, const Layout& result) {
  dnnl_matmul_desc_t operation;
  if (api().dnnl_matmul_desc_init(&operation, left.view(), right.view(), nullptr, result.view()) !=
      dnnl_success)
    return nullptr;
  return described(&operation);
}
#endif

Layout Layout::rowMajor(std::span<const int64_t> shape) {
  std::array<int64_t, kMostAxes> strides{};
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return withStrides(shape, std::span(strides).first(shape.size()));
}

int64_t Layout::sizeBytes() const {
  return made_ ? static_cast<int64_t>(api().dnnl_memory_desc_get_size(view())) : 0;
}

bool Layout::operator==(const Layout& other) const {
  if (!made_ || !other.made_) return made_ == other.made_;
  return api().dnnl_memory_desc_equal(view(), other.view()) != 0;
}

// --- primitives

Description describeConvolution(const Window& window, const Layout& x, const Layout& weights,
                                const Layout& bias, const Layout& y) {
  std::array<int64_t, kMostAxes> between{};  // the library counts what lies between two taps
  for (size_t i = 0; i < window.dilations.size(); ++i) between[i] = window.dilations[i] - 1;
#if DNNL_VERSION_MAJOR >= 3
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api().dnnl_convolution_forward_primitive_desc_create(
      &made, api().engine, dnnl_forward_inference, dnnl_convolution_direct, x.view(), weights.view(),
      bias.view(), y.view(), window.strides.data(), between.data(), window.padsBefore.data(),
      window.padsAfter.data(), api().given);
  return described(status, made);
#else
  dnnl_convolution_desc_t operation;
  if (api().dnnl_dilated_convolution_forward_desc_init(
          &operation, dnnl_forward_inference, dnnl_convolution_direct, x.view(), weights.view(), bias.view(),
          y.view(), window.strides.data(), between.data(), window.padsBefore.data(),
          window.padsAfter.data()) != dnnl_success)
    return nullptr;
  return described(&operation);
#endif
}

Description describeReorder(const Layout& from, const Layout& to) {
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api().dnnl_reorder_primitive_desc_create(&made, from.view(), api().engine,
                                                                        to.view(), api().engine, api().given);
  return described(status, made);
}

Layout layoutOf(const Description& description, dnnl_query_t what) {
  const LayoutView view = api().dnnl_primitive_desc_query_md(description.get(), what, 0);
  return view ? Layout(view) : Layout();
}

std::string implementationOf(const Description& description) {
  const char* name = nullptr;
  if (api().dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0, &name) !=
          dnnl_success ||
      !name)
    return "?";
  return name;
}

Primitive makePrimitive(const Description& description) {
  dnnl_primitive_t made = nullptr;
  if (api().dnnl_primitive_create(&made, description.get()) != dnnl_success) return nullptr;
  return Primitive(made);
}

ThreadLimit::ThreadLimit(int64_t threads) {
  if (!api().setThreads) return;
  before_ = api().threads();
  api().setThreads(static_cast<int>(threads));
}

ThreadLimit::~ThreadLimit() {
  if (before_ > 0) api().setThreads(before_);
}

Status execute(const Primitive& primitive, std::span<const Operand> operands) {
  constexpr size_t kMostOperands = 8;
  std::array<dnnl_exec_arg_t, kMostOperands> arguments;
  size_t count = 0;
  dnnl_stream_t stream = nullptr;
  dnnl_status_t status = api().dnnl_stream_create(&stream, api().engine, dnnl_stream_default_flags);
  for (const Operand& operand : operands) {
    if (status != dnnl_success || !operand.layout) continue;
    arguments[count].arg = operand.argument;
    status = api().dnnl_memory_create(&arguments[count].memory, operand.layout.view(), api().engine,
                                      const_cast<void*>(operand.data));
    if (status == dnnl_success) ++count;
  }
  if (status == dnnl_success)
    status = api().dnnl_primitive_execute(primitive.get(), stream, static_cast<int>(count), arguments.data());
  if (status == dnnl_success) status = api().dnnl_stream_wait(stream);
  for (size_t i = 0; i < count; ++i) (void)api().dnnl_memory_destroy(arguments[i].memory);
  if (stream) (void)api().dnnl_stream_destroy(stream);
  if (status == dnnl_out_of_memory) return failure(DYN_OUT_OF_MEMORY, "no memory for oneDNN");
  if (status != dnnl_success)
    return failure(DYN_INTERNAL, "oneDNN failed with its status " + std::to_string(status));
  return okStatus();
}

}  // namespace dyn::vm::onednn
