// The entry of a function: its code reads the dims of the inputs and checks what is declared of them. Also
// what else is compared of dims in a run.
#pragma once

#include "compiler/lower/function_lowering.h"

namespace dyn {

// What holds of the function's dims from its start. Facts that rest on checks are learnt when the code has
// them behind it.
Status learnFacts(FunctionLowering& c, const Function& function);
// Gives the parameters their registers, binds their symbols and, in the main function, checks types, dims and
// declared facts.
Status bindParameters(FunctionLowering& c, const Function& function, FunctionLowering::Entry entry);
// What a list joins to, `object`, has a size that only a pass may know, as of the slices of a batch: where
// the type states it, it is compared.
Status checkJoined(FunctionLowering& c, const Op& op, int32_t object);

}  // namespace dyn
