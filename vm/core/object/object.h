// Objects: what an object register holds. Reference-counted (atomically: values cross threads); freed without
// recursion, so a list nested a million deep dies without touching the stack. All memory comes from a
// MemoryPool.
//
// A tensor is a view: dtype, shape, strides, data pointer, and the storage that keeps the data alive. Being
// dense (all elements side by side, row-major) is a fact about a tensor, not an assumption: `data` of one
// that is not is null, so that nobody reads it as dense by mistake (strided.h). Objects of a loaded module
// (constants, globals) are immortal: never counted, freed with the module, so that threads sharing a module
// do not fight over their counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "vm/base/dtype.h"
#include "vm/core/object/memory_pool.h"
#include "vm/include/abi/dyn_builtin.h"

namespace dyn::vm {

enum class ObjectKind : uint8_t { storage, tensor, tuple, list, closure };

struct Object {
  std::atomic<uint32_t> references{1};
  ObjectKind kind;
  bool readOnly = false;  // tensors: kernels must not write it
  MemoryPool* pool;
  Object* nextDead = nullptr;  // links objects that are being destroyed or made immortal

  Object(ObjectKind objectKind, MemoryPool* memory) : kind(objectKind), pool(memory) {}
  bool shared() const { return references.load(std::memory_order_acquire) != 1; }
};

struct Storage : Object {
  void* data = nullptr;  // 64-byte aligned when sizeBytes > 0 and the pool made it
  uint64_t sizeBytes = 0;
  uint8_t device = 0;              // number in the table of devices; 0: the host
  MemoryPool* dataPool = nullptr;  // data is a block of this pool; null: not ours
  bool ownsStrings = false;        // data is an array of StringElement*
  bool unknown = false;            // of a rehearsal: what the elements are was never computed
  void (*release)(void* user, const void* data) = nullptr;
  void* user = nullptr;
  int32_t originFunction = -1;  // the instruction that made it, for outputs bound by the caller
  uint32_t originPosition = 0;
  // Of growing tensors (growing.h): the axis along which there is room, how many rows there are room for, and
  // how many some tensor has. No room: of ordinary ones.
  uint8_t grownAxis = 0;
  int64_t room = 0;
  std::atomic<int64_t> filled{0};
  explicit Storage(MemoryPool* memory) : Object(ObjectKind::storage, memory) {}
};

// An element of a string tensor is a pointer to this (malloc), or null for the empty string.
using StringElement = DynText;

struct Tensor : Object {
  DataType dtype;
  uint8_t rank;
  int64_t elementCount = 0;
  std::byte* data = nullptr;   // all elements, side by side and row-major; null when they lie otherwise
  std::byte* first = nullptr;  // the element at index 0 of every axis, wherever the others are
  Storage* storage = nullptr;  // counted
  Tensor(MemoryPool* memory, DataType type, uint8_t tensorRank)
      : Object(ObjectKind::tensor, memory), dtype(type), rank(tensorRank) {}
  int64_t* shape() { return reinterpret_cast<int64_t*>(this + 1); }
  const int64_t* shape() const { return reinterpret_cast<const int64_t*>(this + 1); }
  bool isDense() const { return data != nullptr; }
  // Distances between neighbours along each axis, in elements, may be 0 or negative; null: dense.
  const int64_t* strides() const { return isDense() ? nullptr : shape() + rank; }
  // What the elements would take side by side.
  uint64_t sizeBytes() const { return static_cast<uint64_t>(elementCount) * vm::sizeBytes(dtype); }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

struct Tuple : Object {
  int32_t tag = 0;
  uint32_t count = 0;
  explicit Tuple(MemoryPool* memory) : Object(ObjectKind::tuple, memory) {}
  Object** fields() { return reinterpret_cast<Object**>(this + 1); }
};

struct List : Object {
  int64_t count = 0, capacity = 0;
  Object** items = nullptr;  // a block of the pool
  explicit List(MemoryPool* memory) : Object(ObjectKind::list, memory) {}
};

struct Closure : Object {
  uint32_t function = 0, count = 0;
  explicit Closure(MemoryPool* memory) : Object(ObjectKind::closure, memory) {}
  Object** captures() { return reinterpret_cast<Object**>(this + 1); }
};

inline constexpr uint32_t kImmortal = 1u << 31;

inline void retain(Object* object) {
  if (object && !(object->references.load(std::memory_order_relaxed) & kImmortal))
    object->references.fetch_add(1, std::memory_order_relaxed);
}
void destroy(Object* object);  // release() calls it; not for others
inline void release(Object* object) {
  if (!object) return;
  const uint32_t references = object->references.load(std::memory_order_acquire);
  if (references & kImmortal) return;
  // Who holds the only count shares it with nobody: there is nothing to agree on.
  if (references == 1 || object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(object);
}

// A counted pointer.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* owned) : object_(owned) {}  // takes over one count
  Ref(Ref&& other) noexcept : object_(other.take()) {}
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      T* old = object_;
      object_ = other.take();
      vm::release(old);
    }
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { vm::release(object_); }
  static Ref share(T* object) {
    vm::retain(object);
    return Ref(object);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* take() {
    T* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
};

// Makers return null and set `why` when memory is short. Shapes must have been checked (checkedElementCount).
// Memory of the host; that of other devices is DeviceSession's.
Storage* newStorage(MemoryPool* pool, uint64_t sizeBytes, dyn_status& why);
// Over memory of somebody else; `release` is called (if given) when the storage dies.
Storage* borrowStorage(MemoryPool* pool, const void* data, uint64_t sizeBytes,
                       void (*release)(void*, const void*), void* user, dyn_status& why);
// A dense view; shares the storage. `elementCount` is the product of the shape.
Tensor* newView(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape, int64_t elementCount,
                Storage* storage, void* data, dyn_status& why);
// A view whose elements lie `strides` apart, from `first` on, all of them inside of the storage: the caller
// has made sure. Dense where the strides come to that.
Tensor* newStridedView(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape,
                       const int64_t* strides, int64_t elementCount, Storage* storage, void* first,
                       dyn_status& why);
// The same of strides that are known not to come to that.
Tensor* newApart(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape,
                 const int64_t* strides, int64_t elementCount, Storage* storage, void* first,
                 dyn_status& why);
// A tensor in a storage of its own; string tensors start empty, others uninitialised.
Tensor* newTensor(MemoryPool* pool, DataType dtype, uint32_t rank, const int64_t* shape, dyn_status& why);
// Fields and items are shared (counted up); null entries are allowed.
Tuple* newTuple(MemoryPool* pool, int32_t tag, uint32_t count, Object* const* fields, dyn_status& why);
List* newList(MemoryPool* pool, int64_t count, int64_t capacity, Object* const* items, dyn_status& why);
Closure* newClosure(MemoryPool* pool, uint32_t function, uint32_t count, Object* const* captures,
                    dyn_status& why);
bool reserveList(List* list, int64_t capacity, dyn_status& why);

// The object and all it holds are never counted again; collected into `immortals` for freeImmortals. No
// recursion.
void makeImmortal(Object* object, Object*& immortals);
void freeImmortals(Object* immortals);

// Sets element `index` of a string tensor to a copy of `text`; false when memory is short.
bool setString(Tensor* tensor, int64_t index, std::string_view text);

// "f32[2,3]", "tuple of 2 (tag 0)", "empty": for messages.
std::string describe(const Object* object);
// What a tensor without elements points at: never null, never read.
void* emptyData();

}  // namespace dyn::vm
