#include "compiler/ir/verifier.h"

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/op_def.h"
#include "compiler/ir/ragged_parameters.h"
#include "compiler/ir/walk.h"

namespace dyn {
namespace {

std::string counted(size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

class Verifier {
 public:
  Verifier(const Module& module, const VerifyOptions& options) : module_(module), options_(options) {}

  std::vector<Diagnostic> run() {
    if (module_.context == nullptr) {
      fault(DiagnosticId::invalidIr, "the module has no context");
      return std::move(faults_);
    }
    definedIn_.assign(module_.context->valueCount(), 0);
    typeOf_.resize(module_.context->valueCount());
    dataTypes();
    functionNames();
    const std::vector<FunctionVisit> visits = functionsOf(module_);
    sharedBodies(visits);
    for (uint32_t i = 0; i < visits.size() && !full(); ++i) function(*visits[i].function, i + 1);
    return std::move(faults_);
  }

 private:
  bool full() const { return faults_.size() >= options_.maxDiagnostics; }

  void fault(DiagnosticId id, std::string message, const Op* op = nullptr) {
    if (full()) return;
    Diagnostic diagnostic;
    diagnostic.id = id;
    diagnostic.message = std::move(message);
    if (op) {
      diagnostic.place = op->place;
      if (op->def) diagnostic.op = op->def->name;
    } else if (function_) {
      diagnostic.place = function_->place;
    }
    if (function_) diagnostic.notes.push_back("in function @" + function_->name);
    faults_.push_back(std::move(diagnostic));
  }

  std::string name(ValueId id) const { return "%" + module_.context->valueName(id); }

  void dataTypes() {
    std::unordered_set<std::string_view> names;
    for (const auto& type : module_.dataTypes) {
      if (!names.insert(type->name).second) {
        fault(DiagnosticId::textName, "the data type " + type->name + " is declared twice");
      }
    }
    for (const auto& type : module_.dataTypes) {
      std::unordered_set<std::string_view> constructors;
      for (const DataConstructor& constructor : type->constructors) {
        if (!constructors.insert(constructor.name).second) {
          fault(DiagnosticId::textName,
                "the data type " + type->name + " has the constructor " + constructor.name + " twice");
        }
        for (Type field : constructor.fields) {
          if (!field)
            fault(DiagnosticId::invalidIr,
                  "a field of " + type->name + "." + constructor.name + " has no type");
          checkType(field, nullptr);
        }
      }
    }
  }

  void functionNames() {
    std::unordered_set<const Function*> seen;
    for (size_t i = 0; i < module_.functions.size(); ++i) {
      const Function* f = module_.functions[i];
      if (f == nullptr) {
        fault(DiagnosticId::invalidIr, "a function of the module is null");
        continue;
      }
      if (!seen.insert(f).second)
        fault(DiagnosticId::invalidIr, "the function @" + f->name + " is listed twice");
      if (i > 0 && f->name == "main") fault(DiagnosticId::invalidIr, "@main must be the first function");
    }
  }

  void sharedBodies(const std::vector<FunctionVisit>& visits) {
    std::unordered_set<std::string_view> names;
    std::unordered_set<const Function*> bodies(module_.functions.begin(), module_.functions.end());
    for (const FunctionVisit& visit : visits) {
      function_ = visit.function;
      if (!names.insert(visit.function->name).second) {
        fault(DiagnosticId::textName, "two functions have the name @" + visit.function->name);
      }
      if (visit.depth == 0) functionByName_.emplace(visit.function->name, visit.function);
      for (const Op* op : visit.function->ops) {
        for (const Function* region : op->regions) {
          if (region == nullptr) {
            fault(DiagnosticId::invalidIr, "a body of the operation is null", op);
          } else if (!bodies.insert(region).second) {
            fault(DiagnosticId::invalidIr, "the body @" + region->name + " is used twice", op);
          }
        }
      }
    }
    function_ = nullptr;
  }

  void function(const Function& f, uint32_t number) {
    function_ = &f;
    number_ = number;
    for (const Parameter& p : f.parameters) define(p.id, p.type, nullptr);
    // What goes into a body follows from its operation.
    const auto named = functionByName_.find(f.name);
    if (named != functionByName_.end() && named->second == &f)
      for (Diagnostic& wrong : raggedFaults(module_, f)) fault(wrong.id, std::move(wrong.message));
    for (const Op* op : f.ops) {
      if (full()) return;
      operation(*op);
    }
    if (f.results.size() != f.resultTypes.size()) {
      fault(DiagnosticId::invalidIr, "the function returns " + counted(f.results.size(), "value") +
                                         " but has " + counted(f.resultTypes.size(), "result type"));
    }
    for (size_t i = 0; i < f.results.size(); ++i) {
      if (f.results[i] == kNoValue) {
        fault(DiagnosticId::invalidIr, "result " + std::to_string(i) + " of the function is left out");
        continue;
      }
      use(f.results[i], nullptr);
      if (i >= f.resultTypes.size()) continue;
      if (!f.resultTypes[i] && options_.types == TypePresence::required) {
        fault(DiagnosticId::invalidIr, "result " + std::to_string(i) + " of the function has no type");
      }
      checkType(f.resultTypes[i], nullptr);
      fits(type(f.results[i]), f.resultTypes[i], "result " + std::to_string(i) + " of the function", nullptr);
    }
    function_ = nullptr;
  }

  void operation(const Op& op) {
    for (ValueId operand : op.operands) {
      if (operand != kNoValue) use(operand, &op);
    }
    if (op.def == nullptr) {
      fault(DiagnosticId::invalidIr, "an operation has no operator", &op);
    } else {
      counts(op);
      attributes(op);
      structure(op);
    }
    for (const ValueDef& result : op.results) define(result.id, result.type, &op);
  }

  void define(ValueId id, Type type, const Op* op) {
    if (id >= definedIn_.size()) {
      fault(DiagnosticId::invalidIr, "a defined value has an id of another context", op);
      return;
    }
    if (definedIn_[id] != 0) fault(DiagnosticId::invalidIr, name(id) + " is defined twice", op);
    definedIn_[id] = number_;
    typeOf_[id] = type;
    if (!type && options_.types == TypePresence::required) {
      fault(DiagnosticId::invalidIr, name(id) + " has no type", op);
    }
    checkType(type, op);
  }

  void use(ValueId id, const Op* op) {
    if (id >= definedIn_.size()) {
      fault(DiagnosticId::invalidIr, "a used value has an id of another context", op);
    } else if (definedIn_[id] == 0) {
      fault(DiagnosticId::invalidIr, name(id) + " is used before it is defined", op);
    } else if (definedIn_[id] != number_) {
      fault(DiagnosticId::invalidIr,
            name(id) + " belongs to another function: what a body uses must be passed to it as an operand",
            op);
    }
  }

  Type type(ValueId id) const { return id < typeOf_.size() ? typeOf_[id] : Type(); }

  void counts(const Op& op) {
    const OpDef& def = *op.def;
    const auto given = static_cast<int>(op.operands.size());
    if (given < def.minOperands || (def.maxOperands >= 0 && given > def.maxOperands)) {
      std::string wanted = std::to_string(def.minOperands);
      if (def.maxOperands < 0) wanted = "at least " + wanted;
      if (def.maxOperands > def.minOperands) wanted += " to " + std::to_string(def.maxOperands);
      fault(DiagnosticId::badOperands,
            std::string(def.name) + " takes " + wanted + " operands, not " + std::to_string(given), &op);
    }
    if (def.results >= 0 && static_cast<int>(op.results.size()) != def.results) {
      fault(DiagnosticId::badOperands,
            std::string(def.name) + " gives " + counted(static_cast<size_t>(def.results), "result") +
                ", not " + std::to_string(op.results.size()),
            &op);
    }
    if (def.cls == OpClass::structural) return;  // left-out operands of control flow: structure()
    for (int i = 0; i < given && i < def.minOperands; ++i) {
      if (op.operands[static_cast<size_t>(i)] == kNoValue) {
        fault(DiagnosticId::badOperands,
              "operand " + std::to_string(i) + " of " + std::string(def.name) + " cannot be left out", &op);
      }
    }
  }

  void attributes(const Op& op) {
    for (const auto& [name, value] : op.attributes.all()) {
      const AttributeSpec* spec = nullptr;
      for (const AttributeSpec& s : op.def->attributes) {
        if (s.name == name) spec = &s;
      }
      if (spec == nullptr) {
        fault(DiagnosticId::badAttribute, std::string(op.def->name) + " has no attribute '" + name + "'",
              &op);
      } else if (spec->kind != kindOf(value)) {
        fault(DiagnosticId::badAttribute,
              "attribute '" + name + "' of " + std::string(op.def->name) + " is of kind " +
                  toString(kindOf(value)) + ", not " + toString(spec->kind),
              &op);
      }
      attributeValue(name, value, op);
    }
    for (const AttributeSpec& spec : op.def->attributes) {
      if (spec.required && !op.attributes.has(spec.name)) {
        fault(DiagnosticId::badAttribute,
              std::string(op.def->name) + " needs the attribute '" + std::string(spec.name) + "'", &op);
      }
    }
  }

  void attributeValue(const std::string& name, const AttributeValue& value, const Op& op) {
    if (const HostTensor* tensor = std::get_if<HostTensor>(&value); tensor && !tensor->valid()) {
      fault(DiagnosticId::badAttribute, "attribute '" + name + "' holds no tensor", &op);
    }
    if (const Shape* dims = std::get_if<Shape>(&value)) {
      for (Dim dim : *dims) checkDim(dim, &op);
    }
    if (const Type* t = std::get_if<Type>(&value)) {
      if (!*t) fault(DiagnosticId::badAttribute, "attribute '" + name + "' holds no type", &op);
      checkType(*t, &op);
    }
  }

  void checkDim(Dim dim, const Op* op) {
    if (!dim) {
      fault(DiagnosticId::invalidIr, "a dim is missing", op);
    } else if (&dim.context() != &module_.context->dims()) {
      fault(DiagnosticId::invalidIr, "the dim " + dim.toString() + " belongs to another context", op);
    } else if (dim.isInvalid()) {
      fault(DiagnosticId::dimOverflow, "a dim does not fit in 64 bits, or divides by zero", op);
    }
  }

  // Each type is looked at once.
  void checkType(Type root, const Op* op) {
    if (!root) return;
    std::vector<Type> stack{root};
    while (!stack.empty()) {
      const Type now = stack.back();
      stack.pop_back();
      if (!now || !checkedTypes_.insert(now.id()).second) continue;
      if (now.kind() == TypeKind::tensor) {
        for (Dim dim : now.dims()) checkDim(dim, op);
      } else if (now.kind() == TypeKind::data) {
        if (!module_.findData(now.dataName())) {
          fault(DiagnosticId::textName, "the data type " + std::string(now.dataName()) + " is not declared",
                op);
        }
      }
      stack.insert(stack.end(), now.elements().begin(), now.elements().end());
      stack.insert(stack.end(), now.results().begin(), now.results().end());
    }
  }

  void fits(Type given, Type demanded, const std::string& what, const Op* op) {
    if (given == demanded || sameStructure(given, demanded)) return;
    fault(DiagnosticId::typeMismatch, what + " is " + given.toString() + ", not " + demanded.toString(), op);
  }

  void structure(const Op& op) {
    const std::string_view name = op.def->name;
    if (name == "if") return ifStructure(op);
    if (name == "loop") return loopStructure(op);
    if (name == "match") return matchStructure(op);
    if (name == "call") return callStructure(op);
    if (name == "variant") return variantStructure(op);
    if (name == "closure") return closureStructure(op);
    if (name == "fused") return fusedStructure(op);
    if (op.def->cls != OpClass::structural && !op.regions.empty()) {
      fault(DiagnosticId::invalidIr, std::string(name) + " cannot have bodies", &op);
    }
  }

  bool regionCount(const Op& op, size_t wanted) {
    for (const Function* region : op.regions) {
      if (region == nullptr) return false;  // reported already
    }
    if (op.regions.size() == wanted) return true;
    fault(DiagnosticId::invalidIr,
          std::string(op.def->name) + " has " + std::to_string(op.regions.size()) + " bodies, not " +
              std::to_string(wanted),
          &op);
    return false;
  }

  bool noneLeftOut(const Op& op, size_t from) {
    for (size_t i = from; i < op.operands.size(); ++i) {
      if (op.operands[i] != kNoValue) continue;
      fault(DiagnosticId::badOperands,
            "operand " + std::to_string(i) + " of " + std::string(op.def->name) + " cannot be left out", &op);
      return false;
    }
    return true;
  }

  // Parameters [firstParameter...) of a body take the operands [firstOperand...).
  void passed(const Op& op, const Function& body, size_t firstParameter, size_t firstOperand) {
    const size_t wanted = firstParameter + op.operands.size() - firstOperand;
    if (body.parameters.size() != wanted) {
      fault(DiagnosticId::invalidIr,
            "the body @" + body.name + " has " + counted(body.parameters.size(), "parameter") + ", not " +
                std::to_string(wanted),
            &op);
      return;
    }
    for (size_t i = firstParameter; i < wanted; ++i) {
      const ValueId operand = op.operands[firstOperand + i - firstParameter];
      fits(type(operand), body.parameters[i].type, "parameter " + std::to_string(i) + " of @" + body.name,
           &op);
    }
  }

  bool resultCount(const Op& op, const Function& body, size_t wanted) {
    if (body.results.size() == wanted) return body.resultTypes.size() == wanted;
    fault(DiagnosticId::invalidIr,
          "@" + body.name + " returns " + counted(body.results.size(), "value") + ", not " +
              std::to_string(wanted),
          &op);
    return false;
  }

  void branchResults(const Op& op, const Function& body) {
    if (!resultCount(op, body, op.results.size())) return;
    for (size_t i = 0; i < op.results.size(); ++i) {
      fits(body.resultTypes[i], op.results[i].type, "result " + std::to_string(i) + " of @" + body.name, &op);
    }
  }

  void ifStructure(const Op& op) {
    if (op.operands.empty() || !noneLeftOut(op, 0) || !regionCount(op, 2)) return;
    for (const Function* body : op.regions) {
      passed(op, *body, 0, 1);
      branchResults(op, *body);
    }
  }

  void loopStructure(const Op& op) {
    const int64_t carriedNumber = op.attributes.integer("carried");
    if (op.operands.size() < 2 || !noneLeftOut(op, 2) || !regionCount(op, 1)) return;
    if (carriedNumber < 0 || static_cast<uint64_t>(carriedNumber) > op.operands.size() - 2 ||
        static_cast<uint64_t>(carriedNumber) > op.results.size()) {
      fault(DiagnosticId::badAttribute,
            "carried = " + std::to_string(carriedNumber) + " is more than the loop has operands or results",
            &op);
      return;
    }
    const auto carried = static_cast<size_t>(carriedNumber);
    const Function& body = *op.regions[0];
    passed(op, body, 1, 2);
    if (!body.parameters.empty())
      scalar(body.parameters[0].type, Dtype::i64, "the iteration number of @" + body.name, op);
    if (!resultCount(op, body, op.results.size() + 1)) return;
    // One element, of any rank: the type rule sees to that.
    const Type condition = body.resultTypes[0];
    if (condition && !(condition.isTensor() && condition.dtype() == Dtype::boolean))
      fault(DiagnosticId::typeMismatch,
            "the condition that @" + body.name + " returns is " + condition.toString() +
                ", not Tensor[(), bool]",
            &op);
    for (size_t i = 0; i < carried; ++i) {
      fits(body.resultTypes[i + 1], op.results[i].type,
           "carried value " + std::to_string(i) + " of @" + body.name, &op);
    }
    for (size_t i = carried; i < op.results.size(); ++i) {
      const Type step = body.resultTypes[i + 1], stacked = op.results[i].type;
      if (!step || !stacked) continue;
      if (!step.isTensor() || !stacked.isTensor() || step.dtype() != stacked.dtype() ||
          step.rank() + 1 != stacked.rank()) {
        fault(DiagnosticId::typeMismatch,
              "scan " + std::to_string(i - carried) + " stacks " + step.toString() + " into " +
                  stacked.toString(),
              &op);
      }
    }
  }

  void scalar(Type type, Dtype dtype, const std::string& what, const Op& op) {
    if (!type || (type.isTensor() && type.rank() == 0 && type.dtype() == dtype)) return;
    fault(DiagnosticId::typeMismatch,
          what + " is " + type.toString() + ", not Tensor[(), " + std::string(toString(dtype)) + "]", &op);
  }

  void matchStructure(const Op& op) {
    const std::vector<std::string> constructors = op.attributes.strings("constructors");
    if (op.operands.empty() || !noneLeftOut(op, 0) || !regionCount(op, constructors.size())) return;
    const Type value = type(op.operands[0]);
    if (value && value.kind() != TypeKind::data) {
      fault(DiagnosticId::typeMismatch, "match takes a value of a data type, not " + value.toString(), &op);
    }
    const DataType* data =
        value && value.kind() == TypeKind::data ? module_.findData(value.dataName()) : nullptr;
    std::unordered_set<std::string_view> covered;
    for (size_t r = 0; r < constructors.size(); ++r) {
      if (!covered.insert(constructors[r]).second) {
        fault(DiagnosticId::invalidIr, "the match has two cases " + constructors[r], &op);
      }
      branchResults(op, *op.regions[r]);
      if (data) caseFields(op, *data, constructors[r], *op.regions[r]);
    }
    if (data == nullptr) return;
    for (const DataConstructor& constructor : data->constructors) {
      if (!covered.count(constructor.name)) {
        fault(DiagnosticId::invalidIr, "the match on " + data->name + " has no case " + constructor.name,
              &op);
      }
    }
  }

  void caseFields(const Op& op, const DataType& data, const std::string& name, const Function& body) {
    for (const DataConstructor& constructor : data.constructors) {
      if (constructor.name != name) continue;
      const size_t fields = constructor.fields.size();
      passed(op, body, fields, 1);
      for (size_t i = 0; i < fields && i < body.parameters.size(); ++i) {
        fits(constructor.fields[i], body.parameters[i].type,
             "parameter " + std::to_string(i) + " of @" + body.name, &op);
      }
      return;
    }
    fault(DiagnosticId::textName, data.name + " has no constructor " + name, &op);
  }

  // A group: parameters are the operands, results the results.
  void fusedStructure(const Op& op) {
    if (!regionCount(op, 1)) return;
    passed(op, *op.regions[0], 0, 0);
    branchResults(op, *op.regions[0]);
  }

  const Function* callee(const Op& op) {
    const std::string wanted = op.attributes.string("callee");
    const auto found = functionByName_.find(wanted);
    if (found != functionByName_.end()) return found->second;
    fault(DiagnosticId::textName, "there is no function @" + wanted, &op);
    return nullptr;
  }

  void callStructure(const Op& op) {
    const Function* target = callee(op);
    if (target == nullptr || !noneLeftOut(op, 0)) return;
    passed(op, *target, 0, 0);
    branchResults(op, *target);
  }

  // The callee takes what the function takes and gives what it gives, for some of the shapes.
  void variantStructure(const Op& op) {
    const Function* target = callee(op);
    if (target == nullptr || !noneLeftOut(op, 0)) return;
    bool same = op.operands.size() == target->parameters.size() &&
                function_->results.size() == target->results.size();
    for (size_t i = 0; same && i < op.operands.size(); ++i)
      same = alike(type(op.operands[i]), target->parameters[i].type);
    for (size_t i = 0; same && i < std::min(function_->resultTypes.size(), target->resultTypes.size()); ++i)
      same = alike(function_->resultTypes[i], target->resultTypes[i]);
    if (!same)
      fault(DiagnosticId::typeMismatch,
            "@" + target->name + " takes or gives other types than @" + function_->name, &op);
  }

  // But for the dims.
  static bool alike(Type a, Type b) {
    if (!a || !b) return true;
    if (a.kind() != b.kind()) return false;
    return !a.isTensor() || (a.dtype() == b.dtype() && a.rank() == b.rank());
  }

  void closureStructure(const Op& op) {
    const Function* target = callee(op);
    if (target == nullptr || !noneLeftOut(op, 0)) return;
    if (op.operands.size() > target->parameters.size()) {
      fault(DiagnosticId::badOperands,
            "the closure captures more values than @" + target->name + " has parameters", &op);
      return;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      fits(type(op.operands[i]), target->parameters[i].type,
           "capture " + std::to_string(i) + " of @" + target->name, &op);
    }
  }

  const Module& module_;
  const VerifyOptions& options_;
  std::vector<Diagnostic> faults_;
  const Function* function_ = nullptr;  // being checked
  uint32_t number_ = 0;                 // its number, from 1
  std::vector<uint32_t> definedIn_;     // by value: the number of its function, 0 = not defined yet
  std::vector<Type> typeOf_;
  std::unordered_map<std::string_view, const Function*> functionByName_;  // those a call can reach: no bodies
  std::unordered_set<uint32_t> checkedTypes_;
};

}  // namespace

std::vector<Diagnostic> verify(const Module& module, const VerifyOptions& options) {
  return Verifier(module, options).run();
}

Status verified(const Module& module, const VerifyOptions& options) {
  VerifyOptions first = options;
  first.maxDiagnostics = 1;
  std::vector<Diagnostic> faults = verify(module, first);
  if (faults.empty()) return {};
  return Error{std::move(faults[0])};
}

bool sameStructure(Type given, Type demanded) {
  std::vector<std::pair<Type, Type>> stack{{given, demanded}};
  std::unordered_set<uint64_t> seen;  // shared parts are compared once
  while (!stack.empty()) {
    const auto [a, b] = stack.back();
    stack.pop_back();
    if (!a || !b || a == b) continue;
    if (a.kind() != b.kind()) return false;
    if (!seen.insert(uint64_t{a.id()} << 32 | b.id()).second) continue;
    if (a.kind() == TypeKind::tensor && (a.dtype() != b.dtype() || a.rank() != b.rank())) return false;
    if (a.dataName() != b.dataName()) return false;
    const auto ae = a.elements(), be = b.elements(), ar = a.results(), br = b.results();
    if (ae.size() != be.size() || ar.size() != br.size()) return false;
    for (size_t i = 0; i < ae.size(); ++i) stack.emplace_back(ae[i], be[i]);
    for (size_t i = 0; i < ar.size(); ++i) stack.emplace_back(ar[i], br[i]);
  }
  return true;
}

}  // namespace dyn
