// Fields of JSON that others wrote: what is missing or of another type is nothing, not an error.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace dyn {

// "" where there is no text of that name.
inline std::string textOf(const nlohmann::json& row, const char* key) {
  const auto it = row.find(key);
  return it != row.end() && it->is_string() ? it->get<std::string>() : "";
}

// 0 where there is no number of that name; of a whole one, where it has a fraction.
template <typename Number = int64_t>
Number numberOf(const nlohmann::json& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end()) return 0;
  const bool fits = std::is_integral_v<Number> ? it->is_number_integer() : it->is_number();
  return fits ? it->get<Number>() : 0;
}

}  // namespace dyn
