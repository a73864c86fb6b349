// Operators that a text file defines, for models of other formats:
//
//   operator "com.acme::Swish"(x, beta: float = 1.0) {
//     return x * sigmoid(beta * x)
//   }
//
//   DYN_TRY(OperatorFile file, OperatorFile::parse(text, options));
//   DYN_TRY(OperatorBody body, file.expand(context, file.definitions()[0], {{"beta", 2.0}}));
//
// A parameter is an input (`x`; `x?` may be left out) or, with a kind, an attribute: int, float, string,
// ints, floats, strings, dtype, tensor. An attribute without a default must be given; `mode: int == 1`
// takes only nodes whose attribute has this value. In the body the name of an attribute stands for its
// value: as an operand a constant, as the value of an attribute itself. Inputs have no types: each node
// gets the operations again, for its ranks, element types and attributes. Sizes in the body are written
// `?`. Beside the operators stand functions and data types, which the bodies may use.
//
// Errors: as parser.h. What a body does with its attributes is read once when the file is, with the
// defaults, or 0, 0.5, "a" and lists of one of them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/text/parser.h"

namespace dyn::text {

struct OperatorInput {
  std::string name;
  bool optional = false;
};

struct OperatorAttribute {
  std::string name;
  AttributeKind kind = AttributeKind::integer;
  bool required = false;
  std::optional<AttributeValue> demanded;  // the value that a node must give
};

struct OperatorDefinition {
  std::string name;  // "com.acme::Swish"; of the standard's own domain "Gelu"
  std::vector<OperatorInput> inputs;
  std::vector<OperatorAttribute> attributes;
  size_t results = 0;
  uint32_t begin = 0;  // bytes of the file
  SourceLocation place;

  // `given`: which inputs a node has, by place. Of several definitions of a name the first that takes the
  // inputs and demands no other attributes counts.
  bool takes(const std::vector<bool>& given) const;
};

struct OperatorBody {
  const Function* function = nullptr;     // its parameters are the inputs, all of them
  std::vector<const Function*> closures;  // functions of the module that the body refers to
};

using OperatorAttributes = std::map<std::string, AttributeValue>;

class OperatorFile {
 public:
  static Result<OperatorFile> parse(std::string text, ParseOptions options);

  const std::vector<OperatorDefinition>& definitions() const { return definitions_; }
  bool defines(std::string_view name) const;
  // Attributes that are not among `attributes` have their defaults. `inputs`: the element types of the node's
  // inputs as far as they are known; literals beside them take these.
  Result<OperatorBody> expand(IrContext& context, const OperatorDefinition& definition,
                              const OperatorAttributes& attributes,
                              std::span<const std::optional<Dtype>> inputs = {}) const;
  // The functions and data types beside the operators.
  Result<Module> functions(IrContext& context) const;

 private:
  OperatorFile(std::string text, ParseOptions options)
      : text_(std::move(text)), options_(std::move(options)) {}
  Status check();

  std::string text_;
  ParseOptions options_;
  std::vector<OperatorDefinition> definitions_;
};

}  // namespace dyn::text
