#include "app/engine/model/vm_value.h"

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "vm/include/dyn_gpu.h"

namespace dyn {

namespace {

DiagnosticId idOf(dyn_status status) {
  if (status == DYN_UNAVAILABLE) return DiagnosticId::unsupportedFeature;
  switch (status) {
    case DYN_OK:
    case DYN_INTERNAL:
    case DYN_INVALID_ARGUMENT:
      return DiagnosticId::internalError;
    case DYN_BAD_PROGRAM:
      return DiagnosticId::badPackage;
    case DYN_BAD_INPUT:
      return DiagnosticId::inputMismatch;
    case DYN_CHECK_FAILED:
      return DiagnosticId::shapeCheckFailed;
    case DYN_ARITHMETIC:
      return DiagnosticId::dimDomain;
    case DYN_OUT_OF_MEMORY:
    case DYN_MEMORY_LIMIT:
      return DiagnosticId::memoryLimit;
    case DYN_CANCELLED:
      return DiagnosticId::cancelled;
    case DYN_UNSUPPORTED:
      return DiagnosticId::unsupportedFeature;
    case DYN_IO_ERROR:
      return DiagnosticId::fileError;
    case DYN_OUT_OF_RANGE:
    case DYN_DEPTH_LIMIT:
    case DYN_KERNEL_FAULT:
      break;
  }
  return DiagnosticId::runtimeError;
}

void releaseTensor(void* user, const void*) { delete static_cast<HostTensor*>(user); }

Result<VmValue> tensorToVm(dyn_context* context, const HostTensor& tensor) {
  dyn_value* made = nullptr;
  dyn_status status = DYN_OK;
  if (dtypeClass(tensor.dtype()) == DtypeClass::text) {
    std::vector<const char*> texts;
    for (const std::string& text : tensor.stringValues()) texts.push_back(text.c_str());
    status = dyn_value_strings(context, tensor.rank(), tensor.shape().data(), texts.data(),
                               static_cast<int64_t>(texts.size()), &made);
  } else {
    auto kept = std::make_unique<HostTensor>(tensor);
    status = dyn_value_borrow(context, static_cast<int32_t>(tensor.dtype()), tensor.rank(),
                              tensor.shape().data(), tensor.data(), static_cast<size_t>(tensor.sizeBytes()),
                              releaseTensor, kept.get(), &made);
    if (status == DYN_OK) kept.release();
  }
  if (status != DYN_OK) return vmError(status);
  return VmValue(made);
}

// What is smaller is copied: a tensor that borrows keeps all memory of its run alive.
constexpr size_t kCopiedBytes = 4096;

Result<HostTensor> tensorFromVm(const dyn_value* value) {
  const int64_t* dims = dyn_value_shape(value);
  std::vector<int64_t> shape(dims, dims + dyn_value_rank(value));
  const Dtype dtype = static_cast<Dtype>(dyn_value_dtype(value));
  if (dtypeClass(dtype) == DtypeClass::text) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) {
      const char* text = dyn_value_text(value, i);
      texts.push_back(text ? text : "");
    }
    return HostTensor::strings(std::move(shape), std::move(texts));
  }
  const void* data = dyn_value_data(value);
  const size_t bytes = dyn_value_size_bytes(value);
  if (bytes <= kCopiedBytes) {
    DYN_TRY(HostTensor copy, HostTensor::create(dtype, shape));
    if (bytes > 0 && static_cast<size_t>(copy.sizeBytes()) == bytes) {
      std::memcpy(copy.mutableData(), data, bytes);
      return copy;
    }
  }
  dyn_value* shared = const_cast<dyn_value*>(value);  // counting is all that is done to it
  dyn_value_retain(shared);
  std::shared_ptr<const void> owner(static_cast<const void*>(shared), [](const void* v) {
    dyn_value_release(static_cast<dyn_value*>(const_cast<void*>(v)));
  });
  HostTensor tensor = HostTensor::borrow(dtype, std::move(shape), data, std::move(owner));
  if (!tensor.valid()) return makeError(DiagnosticId::internalError, "the VM gave a tensor with a bad shape");
  return tensor;
}

Type partType(Type type, const Module* module, int64_t index, int32_t tag) {
  if (!type) return {};
  switch (type.kind()) {
    case TypeKind::list:
    case TypeKind::optional:
      return type.element();
    case TypeKind::tuple:
      return index < static_cast<int64_t>(type.elements().size())
                 ? type.elements()[static_cast<size_t>(index)]
                 : Type();
    case TypeKind::data: {
      const DataType* data = module ? module->findData(type.dataName()) : nullptr;
      if (!data || tag < 0 || tag >= static_cast<int32_t>(data->constructors.size())) return {};
      const DataConstructor& constructor = data->constructors[static_cast<size_t>(tag)];
      return index < static_cast<int64_t>(constructor.fields.size())
                 ? constructor.fields[static_cast<size_t>(index)]
                 : Type();
    }
    default:
      return {};
  }
}

// The inverse of SourceLocation::toString: "FILE:3:7", "FILE: byte 17: node NAME".
SourceLocation placeOfText(std::string text) {
  SourceLocation place;
  const size_t node = text.find("node ");
  if (node == 0 || (node != std::string::npos && node >= 2 && text.compare(node - 2, 2, ": ") == 0)) {
    place.node = text.substr(node + 5);
    text.resize(node == 0 ? 0 : node - 2);
  }
  const size_t byte = text.rfind(": byte ");
  if (byte != std::string::npos) {
    place.byteOffset = std::strtoull(text.c_str() + byte + 7, nullptr, 10);
    text.resize(byte);
  }
  std::vector<uint32_t> numbers;  // column, then line
  for (size_t colon; numbers.size() < 2 && (colon = text.rfind(':')) != std::string::npos;) {
    const std::string digits = text.substr(colon + 1);
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
      break;
    numbers.push_back(static_cast<uint32_t>(std::stoul(digits)));
    text.resize(colon);
  }
  if (!numbers.empty()) place.line = numbers.back();
  if (numbers.size() == 2) place.column = numbers.front();
  place.file = std::move(text);
  return place;
}

}  // namespace

Error vmError(dyn_status status) {
  const char* raw = dyn_last_message();
  return vmError(status, raw && *raw ? raw : dyn_status_text(status));
}

Error vmError(dyn_status status, std::string message) {
  // "MESSAGE (at FUNCTION@POSITION, PLACE)": the place is where people look, the rest is for those who debug
  // the program.
  const size_t at = message.rfind(" (at ");
  if (at == std::string::npos || message.back() != ')') return makeError(idOf(status), message);
  const std::string inside = message.substr(at + 5, message.size() - at - 6);
  const size_t comma = inside.find(", ");
  message.resize(at);
  SourceLocation place =
      comma == std::string::npos ? SourceLocation() : placeOfText(inside.substr(comma + 2));
  return makeError(idOf(status), std::move(message), std::move(place))
      .note("in the host code at " + inside.substr(0, comma));
}

namespace {

// The place of the value's constructor in its type.
Result<int32_t> tagOf(const Value& value, Type type, const Module* module) {
  const DataType* data =
      module && type && type.kind() == TypeKind::data ? module->findData(type.dataName()) : nullptr;
  if (!data)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a data value as an input of a program whose types are not known");
  for (size_t tag = 0; tag < data->constructors.size(); ++tag)
    if (data->constructors[tag].name == value.constructor() &&
        data->constructors[tag].fields.size() == value.parts().size())
      return static_cast<int32_t>(tag);
  return makeError(DiagnosticId::inputMismatch, "a " + value.constructor() + " of " +
                                                    std::to_string(value.parts().size()) + " fields is no " +
                                                    data->name);
}

}  // namespace

Result<VmValue> toVm(dyn_context* context, const Value& root, Type rootType, const Module* module) {
  // Post-order over an explicit stack.
  struct Frame {
    const Value* value;
    Type type;
    int32_t tag = 0;
    size_t next = 0;
    std::vector<VmValue> parts;
  };
  std::unordered_map<const void*, VmValue> data;  // that were made
  std::vector<Frame> stack;
  const auto enter = [&](const Value& value, Type type) -> Status {
    stack.push_back({&value, type, 0, 0, {}});
    if (value.kind() == ValueKind::optional) stack.back().tag = value.parts().empty() ? 0 : 1;
    if (value.kind() != ValueKind::data) return {};
    DYN_TRY(stack.back().tag, tagOf(value, type, module));
    return {};
  };
  DYN_CHECK(enter(root, rootType));
  while (true) {
    Frame& top = stack.back();
    const Value& value = *top.value;
    const void* identity = value.kind() == ValueKind::data ? &value.constructor() : nullptr;
    const auto before = identity ? data.find(identity) : data.end();
    VmValue made;
    if (value.isTensor()) {
      DYN_TRY(made, tensorToVm(context, value.tensor()));
    } else if (value.kind() == ValueKind::none || value.kind() == ValueKind::closure) {
      return makeError(
          DiagnosticId::unsupportedFeature,
          std::string("unsupported: a ") + toString(value.kind()) + " cannot be handed to a program");
    } else if (before != data.end()) {
      dyn_value_retain(before->second.get());
      made.reset(before->second.get());
    } else if (top.next < value.parts().size()) {
      const size_t index = top.next++;
      DYN_CHECK(
          enter(value.parts()[index], partType(top.type, module, static_cast<int64_t>(index), top.tag)));
      continue;
    } else {
      std::vector<dyn_value*> items;
      for (VmValue& part : top.parts) items.push_back(part.get());
      dyn_value* compound = nullptr;
      const dyn_status status =
          dyn_value_compound(context, value.kind() == ValueKind::list ? DYN_KIND_LIST : DYN_KIND_TUPLE,
                             top.tag, items.data(), static_cast<int64_t>(items.size()), &compound);
      if (status != DYN_OK) return vmError(status);
      made.reset(compound);
      if (identity) {
        dyn_value_retain(compound);
        data.emplace(identity, VmValue(compound));
      }
    }
    stack.pop_back();
    if (stack.empty()) return made;
    stack.back().parts.push_back(std::move(made));
  }
}

Result<Value> fromVm(const dyn_value* root, Type type, const Module* module) {
  // Values are immutable once made, so parts come first: a post-order walk.
  struct Frame {
    VmValue owner;
    const dyn_value* value;
    Type type;
    int64_t next = 0;
    std::vector<Value> parts;
  };
  std::vector<Frame> stack;
  stack.push_back({nullptr, root, type, 0, {}});
  while (true) {
    Frame& top = stack.back();
    Value made;
    const bool optional = top.type && top.type.kind() == TypeKind::optional;
    if (!top.value) {
      made = Value::nothing();
    } else if (dyn_value_kind(top.value) == DYN_KIND_TENSOR) {
      DYN_TRY(HostTensor tensor, tensorFromVm(top.value));
      made = Value(std::move(tensor));
    } else if (dyn_value_kind(top.value) == DYN_KIND_TUPLE || dyn_value_kind(top.value) == DYN_KIND_LIST) {
      if (top.next < dyn_value_item_count(top.value)) {
        const int64_t index = top.next++;
        dyn_value* item = nullptr;
        const dyn_status status = dyn_value_item(top.value, index, &item);
        if (status != DYN_OK) return vmError(status);
        Type part = partType(top.type, module, index, dyn_value_tag(top.value));
        stack.push_back({VmValue(item), item, part, 0, {}});
        continue;
      }
      if (dyn_value_kind(top.value) == DYN_KIND_LIST) {
        made = Value::list(std::move(top.parts));
      } else if (optional) {
        made = top.parts.empty() ? Value::nothing() : Value::some(std::move(top.parts[0]));
      } else if (top.type && top.type.kind() == TypeKind::data) {
        const DataType* data = module ? module->findData(top.type.dataName()) : nullptr;
        const int32_t tag = dyn_value_tag(top.value);
        const bool known = data && tag >= 0 && tag < static_cast<int32_t>(data->constructors.size());
        made = Value::data(
            known ? data->constructors[static_cast<size_t>(tag)].name : "tag " + std::to_string(tag),
            std::move(top.parts));
      } else {
        made = Value::tuple(std::move(top.parts));
      }
    } else {
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: a function as an output of a program");
    }
    stack.pop_back();
    if (stack.empty()) return made;
    stack.back().parts.push_back(std::move(made));
  }
}

}  // namespace dyn
