// Status: how VM calls report failure. Code, message, and (from the interpreter) the place.
#pragma once

#include <string>
#include <utility>

#include "vm/include/dynvm.h"

namespace dyn::vm {

struct [[nodiscard]] Status {
  dyn_status code = DYN_OK;
  std::string message;  // one sentence with the values concerned
  std::string place;    // what the user sees: "node /layer.0/MatMul (MatMul)", "main@12", "line 3:7"

  bool ok() const { return code == DYN_OK; }
  // "main@12: node X: message"
  std::string toString() const;
};

inline Status okStatus() { return {}; }
inline Status failure(dyn_status code, std::string message, std::string place = {}) {
  return Status{code, std::move(message), std::move(place)};
}

// "memory limit"
const char* statusText(dyn_status code);

}  // namespace dyn::vm
