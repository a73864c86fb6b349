// BoundValues: the names a session knows, with their values. What was there before a change is remembered as
// long as it may be undone, so that a command costs what it changes and not what is bound.
//
//   const uint64_t mark = values.mark();
//   values.bind("x", {value, type});
//   values.rollback(mark);                 // x is what it was
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/reference/value.h"

namespace dyn {

struct BoundValue {
  Value value;
  std::string type;  // text; of tensors with their concrete shape
};

// Bytes of all tensors in a value.
int64_t sizeBytes(const Value& value);

class BoundValues {
 public:
  // Null: there is no such name. Valid until the name is bound anew.
  const BoundValue* find(const std::string& name) const;
  void bind(const std::string& name, BoundValue value);
  bool drop(const std::string& name);  // false: absent

  // In the order of the names.
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  size_t size() const { return values_.size(); }

  uint64_t mark() const { return forgotten_ + changes_.size(); }
  void rollback(uint64_t mark);
  // Changes before this mark are not undone any more.
  void forgetBefore(uint64_t mark);
  // Of the values that are remembered for rollback().
  int64_t rememberedBytes() const { return rememberedBytes_; }

  // The names that came or went since this was asked last.
  std::set<std::string> takeChangedNames();

 private:
  struct Change {
    std::string name;
    std::optional<BoundValue> before;
  };
  void remember(const std::string& name);
  void set(const std::string& name, std::optional<BoundValue> value);

  std::map<std::string, BoundValue> values_;
  std::deque<Change> changes_;
  uint64_t forgotten_ = 0;  // changes that are not remembered any more
  int64_t rememberedBytes_ = 0;
  std::set<std::string> changedNames_;
};

}  // namespace dyn
