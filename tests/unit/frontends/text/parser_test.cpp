#include "frontends/text/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "tests/unit/compiler/ir/small_ops.h"

namespace dyn::text {
namespace {

using ::testing::HasSubstr;

ParseOptions options() {
  ParseOptions o;
  o.findOp = dyn::testing::findSmallOp;
  o.opNames = dyn::testing::smallOpNames();
  o.file = "test.dyn";
  return o;
}

// What the text prints as; parsing the print again in a fresh context must print the same.
std::string reprinted(std::string_view text) {
  IrContext context;
  Result<Module> module = parseModule(context, text, options());
  if (!module.ok()) return module.error().toString();
  const std::string once = print(*module);
  const auto weights = weightsOf(*module);
  IrContext other;
  ParseOptions again = options();
  again.weights = &weights;
  Result<Module> second = parseModule(other, once, again);
  if (!second.ok()) return "not read back: " + second.error().toString() + "\n" + once;
  EXPECT_EQ(print(*second), once);
  return once;
}

std::string expressionText(std::string_view text, const Environment& environment, IrContext& context) {
  Result<ParsedExpression> parsed = parseExpression(context, text, environment, options());
  return parsed.ok() ? print(parsed->module) : parsed.error().toString();
}

// The error of a text as "line:column id message", and its caret note.
struct Failure {
  std::string what;
  std::string caret;
  bool operator==(const Failure&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Failure& f) { return out << f.what << "\n" << f.caret; }

Failure failure(std::string_view text) {
  IrContext context;
  Result<Module> module = parseModule(context, text, options());
  if (module.ok()) return {"no error", ""};
  const Diagnostic& d = module.error();
  Failure f;
  f.what = std::to_string(d.place.line) + ":" + std::to_string(d.place.column) + " " +
           std::string(diagnosticRow(d.id).name) + " " + d.message;
  if (d.notes.size() > 1) f.caret = d.notes[1].substr(4);  // both begin with four blanks
  return f;
}

TEST(Parser, readsWhatThePrinterWrites) {
  const std::string text =
      "dim seq in 1..512 because \"user\"\n"
      "dim seq multiple 8 because \"user\"\n"
      "dim a == b because \"stated in the text\"\n"
      "dim a*b == product c because \"reshape\"\n"
      "dim seq likely 17, 64 because \"lengths\"\n"
      "dim h in -3.. because \"offset\"\n"
      "dim g in ..7 because \"offset\"\n"
      "type Tree { Leaf(Tensor[(300), f32]), Node(Tree, Tree) }\n"
      "fn @main(%x: Tensor[(batch, seq, 768), f32], %c: Tensor[(), bool], %t: Tree) -> (Tensor[(batch, seq, "
      "768), f32], _) {\n"
      "  %h = relu(%x) : Tensor[(batch, seq, 768), f32]\n"
      "  %a, %b = split(%h, _) {axis = 1} : (Tensor[(batch, ?1, 768), f32], Tensor[(batch, ?2, 768), f32])\n"
      "  %y = if(%c, %x) then (%p: Tensor[(batch, seq, 768), f32]) -> (Tensor[(batch, seq, 768), f32]) {\n"
      "    return %p\n"
      "  } else (%q: Tensor[(batch, seq, 768), f32]) -> (Tensor[(batch, seq, 768), f32]) {\n"
      "    %n = neg(%q) : Tensor[(batch, seq, 768), f32]\n"
      "    return %n\n"
      "  } : Tensor[(batch, seq, 768), f32]\n"
      "  check(%c)\n"
      "  %l = loop(_, _, %h, %x) {carried = 1} body (%i: Tensor[(), i64], %acc: Tensor[(?1, seq, 768), f32], "
      "%cap) -> (_, _) {\n"
      "    return %i, %acc\n"
      "  }\n"
      "  %m = match(%t) case Leaf (%v: Tensor[(300), f32]) -> (Tensor[(300), f32]) {\n"
      "    return %v\n"
      "  } case Node (%left: Tree, %right: Tree) -> (_) {\n"
      "    %r = call(%left) {callee = \"leaves\"} : Tensor[(2*?1 + 1), f32]\n"
      "    return %r\n"
      "  }\n"
      "  return %y, %m\n"
      "}\n"
      "fn @leaves(%tree: Tree) -> (Tensor[(?3), f32]) {\n"
      "  %k = constant() {value = f32[2, 2] [[1, 2.5], [nan, -inf]]} : Tensor[(2, 2), f32]\n"
      "  return %k\n"
      "}\n";
  EXPECT_EQ(reprinted(text), text);
}

TEST(Parser, attributesOfAllKinds) {
  const std::string text =
      "fn @main(%x) -> (_) {\n"
      "  %y = everything(%x) {d = bf16, dims = dims(2*n + 1, 3), i = -7, is = [1, -2], r = 1.0, rs = [0.5, "
      "1e+300, -0.0], "
      "s = \"a \\\"q\\\" \\n \\x01 ü\", ss = [\"a\", \"\"], t = i64[2] [1, -9223372036854775808], ty = "
      "List[(Tensor[(), string], Optional[fn(Tensor[(n), u4]) -> ()], (Tensor[(n, 2), c64],))]}\n"
      "  %z = everything() {dims = dims(), is = [], r = nan, rs = reals [], ss = strings [], t = string[2] "
      "[\"x\", \"y\"]}\n"
      "  %e = everything() {r = -inf, t = bool[2] [true, false], ty = ()}\n"
      "  %f = everything() {t = f16[3] [1, 0x7e01, 65504]}\n"
      "  %g = everything() {t = c64[2] [(1, -2), (0, nan)]}\n"
      "  %o = everything() {t = f32[0, 3] []}\n"
      "  %s = everything() {t = u64[] 18446744073709551615}\n"
      "  return %y\n"
      "}\n";
  EXPECT_EQ(reprinted(text), text);
}

TEST(Parser, namesThatAreNoWordsAreQuoted) {
  const std::string text =
      "type \"a type\" { \"a case\"() }\n"
      "fn @\"my fn\"(%\"/enc/x:0\": Tensor[(n), f32], %12, %3_, %_) -> (_) {\n"
      "  %\"2 \\\" x\" = relu(%\"/enc/x:0\") : Tensor[(n), f32]\n"
      "  return %12\n"
      "}\n";
  EXPECT_EQ(reprinted(text),
            "type \"a type\" { \"a case\"() }\n"
            "fn @\"my fn\"(%\"/enc/x:0\": Tensor[(n), f32], %12, %3_, %\"_\") -> (_) {\n"
            "  %\"2 \\\" x\" = relu(%\"/enc/x:0\") : Tensor[(n), f32]\n"
            "  return %12\n"
            "}\n");
}

TEST(Parser, acceptsWhatPeopleWrite) {
  EXPECT_EQ(reprinted("fn main(x: Tensor[(n, 4), f16], w, b) -> Tensor[(n, 4), f16] {  # a comment\n"
                      "  h = relu(x @ w + b) * -2.5\n"
                      "  softmax(h / 3 - 1, axis = 1)\n"
                      "}"),
            "fn @main(%x: Tensor[(n, 4), f16], %w, %b) -> (Tensor[(n, 4), f16]) {\n"
            "  %3 = matmul(%x, %w)\n"
            "  %4 = add(%3, %b)\n"
            "  %5 = relu(%4)\n"
            "  %6 = constant() {value = f16[] -2.5} : Tensor[(), f16]\n"
            "  %h = mul(%5, %6)\n"
            "  %8 = constant() {value = f16[] 3} : Tensor[(), f16]\n"
            "  %9 = div(%h, %8)\n"
            "  %10 = constant() {value = f16[] 1} : Tensor[(), f16]\n"
            "  %11 = sub(%9, %10)\n"
            "  %12 = softmax(%11) {axis = 1}\n"
            "  return %12\n"
            "}\n");
}

TEST(Parser, precedenceAndAssociativity) {
  EXPECT_EQ(reprinted("fn main(a, b, c) { a - b - c * -a }"),
            "fn @main(%a, %b, %c) -> (_) {\n"
            "  %3 = sub(%a, %b)\n"
            "  %4 = neg(%a)\n"
            "  %5 = mul(%c, %4)\n"
            "  %6 = sub(%3, %5)\n"
            "  return %6\n"
            "}\n");
}

TEST(Parser, literalsTakeTheDtypeOfTheirNeighboursButIndicesStayIntegers) {
  const std::string text = reprinted(
      "fn main(x: Tensor[(n), bf16]) {\n"
      "  g = gather(x, [0, 2])\n"
      "  y = x + [1, 2]\n"
      "  z = f64[2] [0.1, 2] + 1\n"
      "  k = [[1, 2], [3, 4]]\n"
      "  same = y\n"
      "  return g, same, z, k, true\n"
      "}");
  EXPECT_THAT(text, HasSubstr("i64[2] [0, 2]"));
  EXPECT_THAT(text, HasSubstr("bf16[2] [1, 2]"));
  EXPECT_THAT(text, HasSubstr("f64[] 1"));
  EXPECT_THAT(text, HasSubstr("%k = constant() {value = i64[2, 2] [[1, 2], [3, 4]]}"));
  EXPECT_THAT(text, HasSubstr("return %g, %same, %z, %k, "));
}

// In bodies too, whose parameters have no types, and beside what bodies return.
TEST(Parser, literalsInBodiesTakeTheDtypeOfTheOperands) {
  const std::string text = reprinted(
      "fn main(x: Tensor[(n), f64], c: Tensor[(), bool]) {\n"
      "  y, steps = loop(3, _, x, x) {carried = 1} body (i, a, b) {\n"
      "    return true, a + 2 + b, i + 3\n"
      "  }\n"
      "  z = if(c, y) then (v) {\n"
      "    return v + 4\n"
      "  } else (v) {\n"
      "    return v + 5\n"
      "  }\n"
      "  return z + 6, y + 7, steps + 8\n"
      "}");
  for (const char* literal : {"f64[] 2", "i64[] 3", "f64[] 4", "f64[] 5", "f64[] 6", "f64[] 7", "i64[] 8"})
    EXPECT_THAT(text, HasSubstr(literal)) << text;
}

TEST(Parser, callsOfFunctionsByAt) {
  EXPECT_EQ(reprinted("fn helper(x) { return x }\n"
                      "fn main(x) {\n"
                      "  a = x @ x\n"
                      "  b = @helper(a)\n"
                      "  @helper(b)\n"
                      "}"),
            "fn @main(%x_2) -> (_) {\n"
            "  %a = matmul(%x_2, %x_2)\n"
            "  %b = call(%a) {callee = \"helper\"}\n"
            "  %4 = call(%b) {callee = \"helper\"}\n"
            "  return %4\n"
            "}\n"
            "fn @helper(%x) -> (_) {\n"
            "  return %x\n"
            "}\n");
}

TEST(Parser, constructorsAreCalledByName) {
  EXPECT_EQ(reprinted("type Tree { Leaf(Tensor[(n), f32]), Node(Tree, Tree) }\n"
                      "fn main(x) { Node(Leaf(x), Leaf(x)) }"),
            "type Tree { Leaf(Tensor[(n), f32]), Node(Tree, Tree) }\n"
            "fn @main(%x) -> (_) {\n"
            "  %1 = construct(%x) {constructor = \"Leaf\", type = \"Tree\"}\n"
            "  %2 = construct(%x) {constructor = \"Leaf\", type = \"Tree\"}\n"
            "  %3 = construct(%1, %2) {constructor = \"Node\", type = \"Tree\"}\n"
            "  return %3\n"
            "}\n");
  EXPECT_THAT(failure("type A { K() }\ntype B { K() }\nfn main() { K() }").what,
              HasSubstr("unknown operator 'K'"));
}

TEST(Parser, otherOperatorsCanHaveBodiesToo) {
  const std::string text =
      "fn @main(%x: Tensor[(n), f32]) -> (Tensor[(n), f32]) {\n"
      "  %y = fused(%x) body (%p: Tensor[(n), f32]) -> (Tensor[(n), f32]) {\n"
      "    %q = relu(%p) : Tensor[(n), f32]\n"
      "    return %q\n"
      "  } : Tensor[(n), f32]\n"
      "  return %y\n"
      "}\n";
  EXPECT_EQ(reprinted(text), text);
}

TEST(Parser, largeConstantsAreReferencesThatNeedTheWeights) {
  IrContext context;
  std::string elements;
  for (int i = 0; i < 20; ++i) elements += (i ? ", " : "") + std::to_string(i);
  const std::string text =
      "fn @main() -> (_) {\n  %w = constant() {value = f32[4, 5] [" + elements + "]}\n  return %w\n}\n";
  Result<Module> module = parseModule(context, text, options());
  ASSERT_TRUE(module.ok()) << module.error().toString();
  const std::string printed = print(*module);
  EXPECT_THAT(printed, HasSubstr("f32[4, 5] <weight \"w\", crc32 0x"));
  IrContext other;
  Result<Module> without = parseModule(other, printed, options());
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("not at hand"));
  auto weights = weightsOf(*module);
  ASSERT_EQ(weights.size(), 1u);
  ParseOptions with = options();
  with.weights = &weights;
  Result<Module> again = parseModule(other, printed, with);
  ASSERT_TRUE(again.ok()) << again.error().toString();
  EXPECT_EQ(print(*again), printed);
  weights.at("w").setReal(3, 77);
  Result<Module> changed = parseModule(other, printed, with);
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, HasSubstr("checksum"));
  PrintOptions full;
  full.maxInlineElements = -1;
  EXPECT_THAT(print(*module, full), HasSubstr("[[0, 1, 2, 3, 4], [5,"));
}

TEST(Parser, weightsLieInFilesThatTheTextNames) {
  IrContext context;
  ParseOptions reading = options();
  std::vector<std::string> read;
  reading.readWeights = [&](const std::string& file) -> Result<std::map<std::string, HostTensor>> {
    read.push_back(file);
    if (file == "lost.onnx") return makeError(DiagnosticId::fileError, "lost.onnx is not there");
    const int64_t elements[] = {3, 4};
    return std::map<std::string, HostTensor>{{"w", HostTensor::vectorInt(Dtype::i64, elements)}};
  };
  const std::string use = "fn @main() -> (_) {\n  %w = i64[2] <weight \"w\">\n  return %w\n}\n";
  Result<Module> module = parseModule(context, "weights \"a.onnx\"\n" + use, reading);
  ASSERT_TRUE(module.ok()) << module.error().toString();
  EXPECT_EQ(read, std::vector<std::string>{"a.onnx"});
  EXPECT_THAT(print(*module), HasSubstr("[3, 4]"));
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"weights \"lost.onnx\"\n" + use, "test.dyn:1:9"},
           {"weights \"a.onnx\" weights \"b.onnx\"\n" + use, "two files have a weight"},
           {"weights a.onnx\n" + use, "in quotes"},
           {use, "not at hand"}}) {
    Result<Module> wrong = parseModule(context, text, reading);
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_THAT(wrong.error().toString(), HasSubstr(message));
  }
  EXPECT_THAT(failure("weights \"a.onnx\"").what, HasSubstr("unsupported"));
}

TEST(Parser, errorsPointAtTheFault) {
  using F = Failure;
  EXPECT_EQ(failure("fn @main(%x) {\n  %h = rleu(%x)\n  return %h\n}"),
            (F{"2:8 textName unknown operator 'rleu', did you mean 'relu'?", "       ^"}));
  EXPECT_EQ(failure("fn @main(%input) {\n  return relu(%inptu)\n}"),
            (F{"2:15 textName unknown value 'inptu', did you mean 'input'?", "              ^"}));
  EXPECT_EQ(failure("fn @main(%x) {\n  %x = relu(%x)\n  return %x\n}"),
            (F{"2:3 textName 'x' is defined twice in this function", "  ^"}));
  EXPECT_EQ(failure("fn @main(%x: Tensor[(n, 4) f32]) { x }"),
            (F{"1:28 textSyntax ',' is expected between dims and element type, not 'f32'",
               std::string(27, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%x: Tensor[(n, 4), f23]) { x }"),
            (F{"1:29 textName unknown element type 'f23', did you mean 'f32'?", std::string(28, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%x: Tre) { x }\ntype Tree { Leaf() }"),
            (F{"1:14 textName unknown type 'Tre', did you mean 'Tree'?", std::string(13, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%x) {\n  softmax(x) {axes = 1}\n}"),
            (F{"2:15 badAttribute unknown attribute of softmax 'axes', did you mean 'axis'?",
               std::string(14, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%x) {\n  %y = relu(%x\n}"),
            (F{"3:1 textSyntax ')' is expected after the operands, not '}'", "^"}));
  EXPECT_EQ(failure("fn @main(%x) {\n  %y = relu(%x)\n}"),
            (F{"3:1 textSyntax a body ends with 'return', here it is missing", "^"}));
  EXPECT_EQ(failure("fn @main(%x) {\n  a, b = relu(%x)\n}"),
            (F{"2:3 badOperands 'relu' gives 1 result, not 2", "  ^"}));
  EXPECT_EQ(failure("fn @main(%x) {\n  relu(minmax(%x))\n}"),
            (F{"2:8 badOperands 'minmax' gives 2 results: name them in a statement of its own", "       ^"}));
  EXPECT_EQ(failure("fn @main(%x: Tensor[(n, 2 +), f32]) { x }").what.substr(0, 16), "1:28 textSyntax ");
  EXPECT_EQ(failure("fn @main(%x) { return \"abc }"),
            (F{"1:23 textSyntax this string does not end on its line", std::string(22, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%x) { return i8[2] [1, 200] }"),
            (F{"1:33 typeMismatch 200 does not fit in i8", std::string(32, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%x) { return [[1, 2], [3]] }"),
            (F{"1:34 textSyntax this list has 1 items, the one before it 2", std::string(33, ' ') + "^"}));
  EXPECT_EQ(
      failure("fn @main(%x) { return f32[3] [1, 2] }"),
      (F{"1:31 textSyntax the tensor's shape wants 3 elements, here are 2", std::string(30, ' ') + "^"}));
  EXPECT_EQ(failure("fn @f() { return 1 }\nfn @f() { return 1 }"),
            (F{"2:5 textName there are two functions @f", "    ^"}));
  EXPECT_EQ(failure("fn @main(%c, %x) {\n  if(c) then () { return x } else () { return x }\n}"),
            (F{"2:26 textName 'x' belongs to the function around this body: pass it as an operand, it "
               "becomes a parameter here",
               std::string(25, ' ') + "^"}));
  EXPECT_EQ(failure("fn @main(%c) {\n  relu(if(c) then () {return 1})\n}").what,
            "2:8 textSyntax 'if' with bodies stands in a statement of its own: name its result first");
  EXPECT_EQ(failure("fun @main() {}"),
            (F{"1:1 textSyntax 'fn', 'type', 'dim' or 'weights' is expected, not 'fun'", "^"}));
  EXPECT_EQ(failure("fn @main(%x) -> (_, _) { return x }").what,
            "1:35 badOperands the function declares 2 results and returns 1");
}

TEST(Parser, columnsCountCharactersAndLongLinesAreShortened) {
  const Failure f = failure("fn @main(%x) { return everything(s = \"äöü€\") + nope }");
  EXPECT_EQ(f.what.substr(0, 20), "1:48 textName unknow");
  EXPECT_EQ(f.caret, std::string(47, ' ') + "^");
  IrContext context;
  const std::string spaces(500, ' ');
  Result<Module> module =
      parseModule(context, "fn @main(%x) {" + spaces + "return nope" + spaces + "}", options());
  ASSERT_FALSE(module.ok());
  ASSERT_EQ(module.error().notes.size(), 2u);
  const std::string& line = module.error().notes[0];
  EXPECT_LT(line.size(), 140u);
  EXPECT_EQ(line.substr(module.error().notes[1].find('^'), 4), "nope");
}

TEST(Parser, depthOfExpressionsTypesAndListsIsLimited) {
  auto nested = [](std::string open, std::string inner, std::string close, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += inner;
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  auto expression = [&](int n) { return "fn @main(%x) { return " + nested("relu(", "x", ")", n) + " }"; };
  auto type = [&](int n) {
    return "fn @main(%x: " + nested("List[", "Tensor[(), f32]", "]", n) + ") { return x }";
  };
  EXPECT_EQ(failure(expression(150)).what, "no error");
  EXPECT_THAT(failure(expression(100000)).what, HasSubstr("nested deeper than 200"));
  EXPECT_EQ(failure(type(150)).what, "no error");
  EXPECT_THAT(failure(type(100000)).what, HasSubstr("nested deeper than 200"));
  EXPECT_THAT(failure("fn @main(%x) { return " + nested("[", "1", "]", 100000) + " }").what,
              HasSubstr("nested deeper than 200"));
  EXPECT_THAT(failure("fn @main(%x) { return " + nested("(", "x", ")", 100000) + " }").what,
              HasSubstr("nested deeper than 200"));
  EXPECT_THAT(failure("fn @main(%x) { return " + nested("- ", "x", "", 100000) + " }").what,
              HasSubstr("nested deeper than 200"));
  EXPECT_NE(failure("fn @main(%x: Tensor[(" + nested("(", "n", ")", 100000) + "), f32]) { return x }").what,
            "no error");
}

TEST(Parser, bodiesNestTenThousandDeep) {
  constexpr int kDepth = 10000;
  std::string text = "fn @main(%c: Tensor[(), bool]) -> (Tensor[(), bool]) {\n";
  for (int i = 0; i < kDepth; ++i)
    text += "y = if(c, c) then (c: Tensor[(), bool]) -> (Tensor[(), bool]) {\n";
  text += "return c\n";
  for (int i = 0; i < kDepth; ++i)
    text += "} else (c: Tensor[(), bool]) -> (Tensor[(), bool]) { return c } : Tensor[(), bool]\nreturn y\n";
  text += "}\n";
  IrContext context;
  Result<Module> module = parseModule(context, text, options());
  ASSERT_TRUE(module.ok()) << module.error().toString();
  EXPECT_EQ(countOps(*module), static_cast<uint64_t>(kDepth));
  EXPECT_TRUE(verify(*module).empty());
  const std::string once = print(*module);
  IrContext other;
  Result<Module> again = parseModule(other, once, options());
  ASSERT_TRUE(again.ok()) << again.error().toString();
  EXPECT_EQ(print(*again), once);
}

TEST(Parser, hundredThousandOperations) {
  std::string text = "fn @main(%v: Tensor[(n), f32]) {\n";
  for (int i = 0; i < 100000; ++i)
    text += "v" + std::to_string(i) + " = relu(v" + (i ? std::to_string(i - 1) : std::string()) + ")\n";
  text += "return v99999\n}\n";
  IrContext context;
  Result<Module> module = parseModule(context, text, options());
  ASSERT_TRUE(module.ok()) << module.error().toString();
  EXPECT_EQ(countOps(*module), 100000u);
  EXPECT_TRUE(verify(*module, {.types = TypePresence::optional}).empty());
  IrContext other;
  Result<Module> again = parseModule(other, print(*module), options());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(print(*again), print(*module));
}

TEST(Expression, usedNamesBecomeParameters) {
  IrContext context;
  const Environment environment = Environment::of({{"w", *parseType(context, "Tensor[(4, 2), f32]")},
                                                   {"x", *parseType(context, "Tensor[(n, 4), f32]")},
                                                   {"unused", *parseType(context, "Tensor[(), f32]")}});
  Result<ParsedExpression> parsed = parseExpression(context, "relu(x @ w) + 1", environment, options());
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_EQ(parsed->parameters, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(print(parsed->module),
            "fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4, 2), f32]) -> (_) {\n"
            "  %2 = matmul(%x, %w)\n"
            "  %3 = relu(%2)\n"
            "  %4 = constant() {value = f32[] 1} : Tensor[(), f32]\n"
            "  %5 = add(%3, %4)\n"
            "  return %5\n"
            "}\n");
}

TEST(Expression, severalValuesStatementsAndBodies) {
  IrContext context;
  const Environment environment = Environment::of({{"x", *parseType(context, "Tensor[(n), f32]")}});
  EXPECT_THAT(expressionText("x, 2, x", environment, context), HasSubstr("return %x, %1, %x"));
  EXPECT_THAT(expressionText("h = relu(x)\n h * h", environment, context), HasSubstr("mul(%h, %h)"));
  EXPECT_THAT(expressionText("minmax(x)", environment, context), HasSubstr("= minmax("));
  EXPECT_THAT(expressionText("if(true, x) then (a) { a } else (a) { neg(a) }", environment, context),
              HasSubstr("} else (%a_2) -> (_) {\n    %"));
  EXPECT_THAT(expressionText("c = true if(c, x) then (a) { a } else (a) { neg(a) }", environment, context),
              HasSubstr("} else (%a"));
  EXPECT_THAT(expressionText("relu(y)", environment, context), HasSubstr("unknown value 'y'"));
  EXPECT_THAT(expressionText("", environment, context), HasSubstr("an expression is expected"));
  EXPECT_THAT(expressionText("x x", environment, context), HasSubstr("not used"));
  EXPECT_THAT(expressionText("relu(x", environment, context), HasSubstr("not the end of the text"));
}

TEST(ParseTensor, literals) {
  EXPECT_EQ(toString(*parseTensor("[[1, 2], [3, 4]]")), "i64[2, 2] = [[1, 2], [3, 4]]");
  EXPECT_EQ(toString(*parseTensor("0.5")), "f32[] = 0.5");
  EXPECT_EQ(toString(*parseTensor("-3")), "i64[] = -3");
  EXPECT_EQ(toString(*parseTensor("f8e4m3fn[3] [448, 1000, nan]")), "f8e4m3fn[3] = [448, 448, nan]");
  EXPECT_EQ(toString(*parseTensor("[1e-50, inf, 0.1]")), "f32[3] = [0, inf, 0.1]");
  EXPECT_THAT(parseTensor("[1e-50, 1e50, 0.1]").error().message, HasSubstr("infinity is written inf"));
  EXPECT_EQ(toString(*parseTensor("(1, 2)")), "c64[] = (1, 2)");
  EXPECT_EQ(toString(*parseTensor("[]")), "i64[0] = []");
  EXPECT_FALSE(parseTensor("[1, \"a\"]").ok());
  EXPECT_FALSE(parseTensor("[1] 2").ok());
  EXPECT_FALSE(parseTensor("f32[99999999999] [1]").ok());
  EXPECT_FALSE(parseTensor("f32[4294967296, 4294967296] [1]").ok());
}

}  // namespace
}  // namespace dyn::text
