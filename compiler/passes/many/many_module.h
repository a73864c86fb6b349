// A module of one instance on its way to a module of many: what is known of the module as a whole.
//
// A value of one instance is held for all of them in one of three layouts:
//
//   shared    %w (64, 32)             as it was: it depends on no input that differs between instances
//   batched   %x (64)      (r, 64)    a leading axis, one slice for each instance
//   listed    %p (?0, 4)   List[...]  a list, one element for each: sizes differ, or it is no tensor
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"

namespace dyn::passes {

enum class Layout : uint8_t { shared, batched, listed };

struct Held {
  Layout layout = Layout::shared;
  ValueId value = kNoValue;
};

// A function of one instance as a function of many, for arguments of these layouts.
struct ManyFunction {
  std::string name;
  bool whole = true;  // false: some result cannot be batched, so that calls run for each instance
};

class ManyModule {
 public:
  explicit ManyModule(const InferredModule& inferred);

  IrContext& ir() const { return ir_; }
  const Module& module() const { return inferred_.module; }

  // Of the module of one instance.
  Type typeOf(ValueId v) const { return v < types_.size() ? types_[v] : Type(); }
  int rankOf(ValueId v) const { return typeOf(v).rank(); }
  // The elements of a small tensor of integers or truth values where all are constants.
  std::optional<std::vector<int64_t>> constantsOf(ValueId v) const;
  // Of a reshape whose sizes are known: that a 0 among them is a size. Where they are no longer known, it
  // would copy a dim.
  Attributes attributesOf(const Op& op) const;
  const Uses& uses() const { return uses_; }

  // Sizes that all instances have in common.
  void addUniform(Type type);
  // What one walk over a body finds holds for that walk: another one may hold its parameters otherwise.
  class UniformScope {
   public:
    explicit UniformScope(ManyModule& module) : module_(module), begin_(module.uniformOrder_.size()) {}
    ~UniformScope() {
      for (; module_.uniformOrder_.size() > begin_; module_.uniformOrder_.pop_back())
        module_.uniform_.erase(module_.uniformOrder_.back());
    }
    UniformScope(const UniformScope&) = delete;
    UniformScope& operator=(const UniformScope&) = delete;

   private:
    ManyModule& module_;
    size_t begin_;
  };
  bool isUniform(Type type) const;
  bool isUniform(const Shape& dims) const;

  // Ids of results: a value keeps its id at its first place that is no draft.
  ValueId idFor(ValueId old);
  void beginDraft() { ++drafts_; }
  void endDraft() { --drafts_; }
  bool isDraft() const { return drafts_ > 0; }
  // Functions are kept also where a draft asks for them first.
  class NoDraft {
   public:
    explicit NoDraft(ManyModule& module) : module_(module), drafts_(std::exchange(module.drafts_, 0)) {}
    ~NoDraft() { module_.drafts_ = drafts_; }
    NoDraft(const NoDraft&) = delete;
    NoDraft& operator=(const NoDraft&) = delete;

   private:
    ManyModule& module_;
    int drafts_;
  };

  // Bodies in bodies and functions in calls, of which walks are calls of C++: what lies deeper runs for each
  // instance by itself.
  static constexpr int kMostDepth = 200;
  int depth = 0;

  // What was found of an operation, unless this is a draft.
  void count(std::string_view what) {
    if (!isDraft()) ++counters[std::string(what)];
  }
  void remark(std::string text) {
    if (!isDraft()) remarks.push_back(std::move(text));
  }
  std::string nameOf(const Op& op) const;

  std::map<std::string, int64_t> counters;
  std::vector<std::string> remarks;

  std::vector<const Function*> functions;    // made so far, besides @main
  std::map<std::string, ManyFunction> made;  // by callee and layouts of the arguments
  // Of the results of a body, by the layouts of its parameters.
  std::map<std::pair<const Function*, std::string>, std::vector<Layout>> layouts;

 private:
  const InferredModule& inferred_;
  IrContext& ir_;
  Uses uses_;
  std::vector<Type> types_;
  std::unordered_map<ValueId, const HostTensor*> constants_;
  std::unordered_set<SymbolId> uniform_;
  std::vector<SymbolId> uniformOrder_;  // as they were found
  std::unordered_set<ValueId> used_;
  int drafts_ = 0;
};

}  // namespace dyn::passes
