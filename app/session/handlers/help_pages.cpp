#include "app/session/handlers/help_pages.h"

#include <algorithm>

namespace dyn {

namespace {

using Id = CommandId;

constexpr Id kBegin[] = {Id::load,    Id::reload, Id::info,     Id::check,      Id::run,     Id::eval,
                         Id::type,    Id::vars,   Id::drop,     Id::set,        Id::undo,    Id::save,
                         Id::infer,   Id::help,   Id::generate, Id::generalise, Id::explain, Id::ops,
                         Id::history, Id::source, Id::quit};
constexpr Id kLook[] = {Id::ir,    Id::graph,    Id::find, Id::note,  Id::notes,  Id::trace,
                        Id::path,  Id::tensor,   Id::dims, Id::why,   Id::plan,   Id::passes,
                        Id::step,  Id::back,     Id::diff, Id::place, Id::levels, Id::kernels,
                        Id::lines, Id::bytecode, Id::llvm, Id::asm_};
constexpr Id kDebug[] = {Id::start, Id::break_,  Id::delete_, Id::watch,  Id::continue_,
                         Id::next,  Id::stepi,   Id::nexti,   Id::finish, Id::registers,
                         Id::kill,  Id::bisect,  Id::verify,  Id::warp,   Id::stepw,
                         Id::nextw, Id::finishw, Id::lanes,   Id::shared};
constexpr Id kMeasure[] = {Id::time,   Id::profile,  Id::bench,  Id::latency, Id::serve, Id::predict,
                           Id::limit,  Id::sweep,    Id::places, Id::bounds,  Id::runs,  Id::compare,
                           Id::recall, Id::counters, Id::tune,   Id::policy};
constexpr Id kExport[] = {Id::compile, Id::exportModel, Id::extract,      Id::quantise,
                          Id::report,  Id::cache,       Id::verifyPackage};

constexpr CommandGroup kGroups[] = {
    {"begin", "Begin: a model, a run, values", kBegin},
    {"look", "Look into the model and the compilation", kLook},
    {"debug", "Debug a run", kDebug},
    {"measure", "Measure and predict", kMeasure},
    {"write", "Compile and export", kExport},
};

constexpr std::string_view kFirstLines =
    "An expression is evaluated; a command begins with a colon.\n"
    "  x = random(f32, [2, 3])     y = relu(x @ w) + 1.0     y[0, 1:]     f = fn (a) {...}     _ is the last "
    "value\n"
    "  :load model.onnx            :run seq=59               then the outputs are bound to their names\n";

constexpr std::string_view kLastLines =
    "\n:help GROUP lists a group, such as :help look; :help NAME or ?NAME explains a command, an operator or "
    "a "
    "value; :help language shows how expressions and modules are written. A unique prefix of a name is "
    "enough; "
    "Tab completes it.\n";

constexpr std::string_view kLanguage =
    R"(Expressions, at the prompt and in a module (docs/language.md is the whole language):

  1, 1_000       i64       0.5, 1e-3, inf, nan   f32       true, false   bool
  [[1, 2], [3, 4]]         f16[2, 2] [[1, 2], [3, 4]]      i64[] 5       a tensor
  random(f32, [2, 3])      zeros(f32, [2, 3])    ones(...)   range(5)    load("x.npy")
  + - * / @                add, sub, mul, div, matmul; of elements, as NumPy broadcasts
  // % **                  quotient rounded down, its remainder, power
  < <= > >= == !=          comparisons          and  or  not (or !)
  a[0]  a[-1, i]  a[1:3]  a[:, ::2]  a[..., 0]  a[a > 0.0]       elements, parts, a mask
  relu(x)                  an operator: :ops lists them, ?relu tells of one
  softmax(x, axis = 0)     an attribute is given by its name, an operand by its place
  clip(x, _, 3.0)          _ leaves an operand out; at the prompt it is the last value elsewhere
  len(a)  cast(a, i64)  f32(a)  shape(a)  where(c, a, b)  reduce_sum(x, [1])

Functions:

  f = fn (x: Tensor[(n), f32]) { relu(x) + 1.0 }          f([1.0, 2.0])
  fn @g(x: Tensor[(n, 4), f32]) {                         @g(x)
    y = x * 2.0
    return y
  }

A module, a file NAME.dyn: @main runs, its parameters are inputs, what it returns are outputs:

  fn @main(x: Tensor[(rows, 4), f32], w: Tensor[(4, 2), f32]) {
    y = relu(x @ w)
    return y
  }

Types: Tensor[(n, 2*n + 1), f32], Tensor[(), i64], List[T], (T, U), Optional[T]; a name such as n is one size
everywhere, ? a size of which nothing is known. Bodies take what they use as operands:

  y = if(c, a, b) then (a, b) { return a } else (a, b) { return b }
  s = loop(trips, true, start, x) {carried = 1} body (i, s, x) { return true, s + x[i] }
  type Tree { Leaf(Tensor[(), f32]), Node(Tree, Tree) }   v = match(t) case Leaf(x) {...} case Node(l, r) {...}
  ys = map(f, list(a, b))                                 t = fold(f, 0, ys)
)";

std::string listedCommands(std::span<const Id> ids) {
  std::string text;
  for (const Id id : ids) {
    const CommandSpec& spec = commandSpec(id);
    std::string name = ":" + std::string(spec.name);
    name.resize(std::max<size_t>(name.size() + 2, 14), ' ');
    text += name + std::string(spec.help) + "\n";
  }
  return text;
}

}  // namespace

std::span<const CommandGroup> commandGroups() { return kGroups; }

std::string helpOverview() {
  std::string text(kFirstLines);
  for (const CommandGroup& group : kGroups) {
    text += "\n" + std::string(group.title) + "  (:help " + std::string(group.name) + ")\n ";
    for (const Id id : group.commands) text += " :" + std::string(commandSpec(id).name);
    text += "\n";
  }
  return text + std::string(kLastLines);
}

std::optional<std::string> helpPage(std::string_view name) {
  if (name == "language") return std::string(kLanguage);
  if (name == "all") {
    std::vector<Id> all;
    for (const CommandSpec& spec : commandTable()) all.push_back(spec.id);
    return listedCommands(all);
  }
  for (const CommandGroup& group : kGroups)
    if (group.name == name) return std::string(group.title) + "\n\n" + listedCommands(group.commands);
  return std::nullopt;
}

}  // namespace dyn
