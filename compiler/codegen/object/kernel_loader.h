// Puts object files into this process and finds the functions in them.
//
// A KernelSet owns the memory of its code: function pointers are valid as long as the set lives, and
// destroying the set unloads it. Sets do not see each other's symbols; all see the process (memcpy, expf,
// ...). Safe to use from many threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/object/object_compiler.h"

namespace dyn {

class KernelSet {
 public:
  KernelSet(KernelSet&&) noexcept;
  KernelSet& operator=(KernelSet&&) noexcept;
  ~KernelSet();

  // The address of an exported function; an unknown name is an error.
  Result<void*> find(const std::string& symbol) const;

  template <typename Function>
  Result<Function> function(const std::string& symbol) const {
    DYN_TRY(void* address, find(symbol));
    return reinterpret_cast<Function>(address);
  }

 private:
  friend class KernelLoader;
  struct State;
  explicit KernelSet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class KernelLoader {
 public:
  static Result<KernelLoader> create();
  KernelLoader(KernelLoader&&) noexcept;
  KernelLoader& operator=(KernelLoader&&) noexcept;
  ~KernelLoader();

  // Links the objects together into one set. The names of their exported functions must differ, and
  // everything they call must be among them or in the process; else an error that names the symbols. The
  // objects are copied. The set may outlive the loader.
  Result<KernelSet> load(const std::vector<ObjectCode>& objects, const std::vector<std::string>& symbols);

 private:
  struct State;
  explicit KernelLoader(std::shared_ptr<State> state);
  friend class KernelSet;
  std::shared_ptr<State> state_;
};

}  // namespace dyn
