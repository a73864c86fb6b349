#include "compiler/ir/attribute.h"

#include <bit>

namespace dyn {
namespace {

template <typename T>
const T* as(const AttributeValue* value) {
  return value ? std::get_if<T>(value) : nullptr;
}

template <typename T>
T valueOr(const AttributeValue* value, T fallback) {
  const T* found = as<T>(value);
  return found ? *found : std::move(fallback);
}

bool sameBits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

}  // namespace

const char* toString(AttributeKind kind) {
  static constexpr const char* kNames[] = {"integer", "real",  "string", "integers", "reals",
                                           "strings", "dtype", "dims",   "tensor",   "type"};
  return kNames[static_cast<size_t>(kind)];
}

AttributeKind kindOf(const AttributeValue& value) { return static_cast<AttributeKind>(value.index()); }

bool identical(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* real = std::get_if<double>(&a)) return sameBits(*real, std::get<double>(b));
  if (const HostTensor* tensor = std::get_if<HostTensor>(&a))
    return tensor->identical(std::get<HostTensor>(b));
  if (const auto* reals = std::get_if<std::vector<double>>(&a)) {
    const auto& other = std::get<std::vector<double>>(b);
    if (reals->size() != other.size()) return false;
    for (size_t i = 0; i < other.size(); ++i) {
      if (!sameBits((*reals)[i], other[i])) return false;
    }
    return true;
  }
  switch (kindOf(a)) {
    case AttributeKind::integer:
      return std::get<int64_t>(a) == std::get<int64_t>(b);
    case AttributeKind::string:
      return std::get<std::string>(a) == std::get<std::string>(b);
    case AttributeKind::integers:
      return std::get<std::vector<int64_t>>(a) == std::get<std::vector<int64_t>>(b);
    case AttributeKind::strings:
      return std::get<std::vector<std::string>>(a) == std::get<std::vector<std::string>>(b);
    case AttributeKind::dtype:
      return std::get<Dtype>(a) == std::get<Dtype>(b);
    case AttributeKind::dims:
      return std::get<Shape>(a) == std::get<Shape>(b);
    case AttributeKind::type:
      return std::get<Type>(a) == std::get<Type>(b);
    default:
      return false;
  }
}

Attributes::Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> values) {
  if (values.size() != 0) values_ = std::make_shared<Values>(values);
}

Attributes::Values& Attributes::own() {
  if (!values_)
    values_ = std::make_shared<Values>();
  else if (values_.use_count() > 1)
    values_ = std::make_shared<Values>(*values_);
  return *values_;
}

void Attributes::set(std::string name, AttributeValue value) {
  own().insert_or_assign(std::move(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  if (!has(name)) return;
  Values& values = own();
  values.erase(values.find(name));
  if (values.empty()) values_.reset();
}

const Attributes::Values& Attributes::all() const {
  static const Values kNone;
  return values_ ? *values_ : kNone;
}

const AttributeValue* Attributes::find(std::string_view name) const {
  if (!values_) return nullptr;
  auto it = values_->find(name);
  return it == values_->end() ? nullptr : &it->second;
}

int64_t Attributes::integer(std::string_view name, int64_t fallback) const {
  return valueOr<int64_t>(find(name), fallback);
}

double Attributes::real(std::string_view name, double fallback) const {
  return valueOr<double>(find(name), fallback);
}

std::string Attributes::string(std::string_view name, std::string fallback) const {
  return valueOr<std::string>(find(name), std::move(fallback));
}

std::vector<int64_t> Attributes::integers(std::string_view name) const {
  return valueOr<std::vector<int64_t>>(find(name), {});
}

std::vector<double> Attributes::reals(std::string_view name) const {
  return valueOr<std::vector<double>>(find(name), {});
}

std::vector<std::string> Attributes::strings(std::string_view name) const {
  return valueOr<std::vector<std::string>>(find(name), {});
}

Dtype Attributes::dtype(std::string_view name, Dtype fallback) const {
  return valueOr<Dtype>(find(name), fallback);
}

Shape Attributes::dims(std::string_view name) const { return valueOr<Shape>(find(name), {}); }

const HostTensor* Attributes::tensor(std::string_view name) const { return as<HostTensor>(find(name)); }

Type Attributes::type(std::string_view name) const { return valueOr<Type>(find(name), {}); }

bool Attributes::operator==(const Attributes& other) const {
  if (values_ == other.values_) return true;
  if (all().size() != other.all().size()) return false;
  auto a = all().begin();
  for (auto b = other.all().begin(); b != other.all().end(); ++a, ++b) {
    if (a->first != b->first || !identical(a->second, b->second)) return false;
  }
  return true;
}

}  // namespace dyn
