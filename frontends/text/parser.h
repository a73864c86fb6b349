// The text form of modules (compiler/ir/printer.h shows it), read into graph IR, and the expressions of the
// prompt.
//
//   text::ParseOptions options{.findOp = findOp};
//   DYN_TRY(Module module, text::parseModule(context, text, options));
//
// Beyond what the printer writes, people may write (it reads to the same operations):
//   fn @main(x: Tensor[(n, 4), f32], w: Tensor[(4, 2), f32], b: Tensor[(2), f32]) {     # names without %, no result types
//     h = relu(x @ w + b) * 2.0                 # + - * / @ and nesting; literals become constants of the neighbours' dtype
//     softmax(h, axis = 1)                      # attributes among the arguments; the last expression is what is returned
//   }
//   m = h > 1.0 and not h == 2.0                # comparisons, and, or, not (or !): element by element
//   q = h // 2.0 + h % 3.0 ** 2.0               # quotient rounded down, remainder, power
//   e = h[0, 1:3], h[..., ::-1], h[m]           # gather, slice, and gather_nd of what a mask keeps
//   l = len(h), cast(h, i64), i64(h)            # a size, and casts
//   y = @helper(x)                              # call {callee = "helper"}; f(x) for functions of the prompt
//   t = Node(Leaf(x), t)                        # construct {constructor = "Node", type = "Tree"}, for types declared above
//   f = fn (y: Tensor[(n), f32]) { y * x }      # closure: a function value; what it uses of the function around it must have a type
//   z = f(x)                                    # invoke;  @helper alone is the function as a value
//   ys = map(f, xs)                             # for lists: a loop that appends f(item); fold(f, start, xs): f(so far, item)
//   weights "bert.onnx"                         # beside functions: where the weights lie that are referred to below it
//   h = x @ f32[768, 768] <weight "w">          # one of them
// Types of results may be left out: they are null until type inference. `?` in a type is a fresh unknown dim,
// `?3` the same one everywhere in the context. Bodies of if, loop and match take what they use as parameters;
// nothing is captured silently.
//
// Errors: textSyntax, textName (unknown names, with "did you mean"), badAttribute, badOperands, or what the
// dims' facts contradict; always with file, line and column, the source line, and a caret below it. Bodies
// nest without limit; expressions, types and lists up to 200 deep.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {
struct OpDef;
}

namespace dyn::text {

using OpLookup = std::function<const OpDef*(std::string_view)>;

struct ParseOptions {
  OpLookup findOp;
  std::vector<std::string_view> opNames;  // for "did you mean"; may be empty
  std::string file = "<text>";            // for places
  // What `<weight "name">` stands for (weightsOf() of the printer). Null: such a reference is an error.
  const std::map<std::string, HostTensor>* weights = nullptr;
  // Reads the file of a line `weights "FILE"`: its weights by name. Null: such a line is an error.
  std::function<Result<std::map<std::string, HostTensor>>(const std::string& file)> readWeights;
};

// "main", when there is one, becomes the first function.
Result<Module> parseModule(IrContext& context, std::string_view text, const ParseOptions& options);

// What names mean at the prompt. Only those that an expression uses are asked for, however many there are.
struct Environment {
  std::function<Type(const std::string& name)> typeOf;  // null: the name means nothing
  std::function<std::vector<std::string>()> names;      // all, for "did you mean"
  static Environment of(std::map<std::string, Type> values);
  const Module* library = nullptr;  // functions and data types that may be used; of the same context
};

struct ParsedExpression {
  Module module;                        // @main, then the library
  std::vector<std::string> parameters;  // the used names, one for each parameter of @main
};

// `relu(x @ w) + 1`, several with commas, or statements that end in one.
Result<ParsedExpression> parseExpression(IrContext& context, std::string_view text,
                                         const Environment& environment, const ParseOptions& options);

// One type: "Tensor[(n, 4), f32]". `library` (may be null) declares the data types.
Result<Type> parseType(IrContext& context, std::string_view text, const Module* library = nullptr);
// "f32[2] [1, 2]", or a bare literal: "[[1, 2], [3, 4]]" (i64), "0.5" (f32), "true".
Result<HostTensor> parseTensor(std::string_view text);

}  // namespace dyn::text
