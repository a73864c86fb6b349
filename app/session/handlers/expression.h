// Expressions of the prompt: `y = relu(x @ w) + 1.0`, evaluated by compiling and running them.
#pragma once

#include "app/session/session_state.h"

namespace dyn {

struct PreparedExpression {
  std::vector<std::string> targets;             // of an assignment; empty: none
  std::string source;                           // as written, without targets and `;`
  std::string text;                             // constructors replaced by names of the same length
  bool quiet = false;                           // ended in `;`
  std::map<std::string, BoundValue> constants;  // what the constructors made, by those names
  std::map<std::string, std::string> written;  // name as it stands in `text` (padded) → what the user wrote
};

// `fn @f(x: Tensor[(n), f32]) { ... }`, or `f = fn (x: ...) { ... }`: a function of the prompt.
struct FunctionText {
  std::string name, text;  // the text has the first form, and its columns are those of the line
};
std::optional<FunctionText> functionText(const std::string& line);
bool isFunctionName(const std::string& name);  // of a bound value: "@f"
// Reads it and keeps it as the bound value @NAME, its text: expressions may call it. Errors: those of the
// text.
Status defineFunction(SessionState& state, const FunctionText& function);

// Splits the assignment off and evaluates zeros(f32, [2, 3]), ones(...), random(f32, [2, 3], SEED), range(5),
// range(f32, [2, 3]) and load("x.npy"), where they are not operators of the text IR.
Result<PreparedExpression> prepareExpression(const std::string& line, uint64_t seed);

struct EvaluatedExpression {
  std::vector<std::string> types;
  std::vector<Value> values;  // empty when only types were asked for
};
enum class EvaluationGoal : uint8_t { types, values };
// The bound values and the functions of the loaded model and of the prompt may be used.
Result<EvaluatedExpression> evaluateExpression(SessionState& state, const PreparedExpression& expression,
                                               EvaluationGoal goal);

std::string typeText(const Value& value);

}  // namespace dyn
