// The text form of a program: print and parse. parse(print(p)) == p.
//
//   program
//   meta "producer" "dyn"
//   string "node /MatMul (MatMul)"                       ; string 0
//   kernel "add" symbol "k_add" buffers 3 outputs 1 scalars 1 scratch 0 "loop, 1 op"
//   builtin "sort"
//   constant "w" f32 [2,3] offset 0                      ; size follows from dtype and shape
//   globals 1
//   input "x" tensor f32 ["seq" 0..100:8, 4]             ; a dim is a number, or text with optional bounds low..high:multiple
//   output "y" tensor f32 [?]
//   function main parameters 1 results 1 scalars 2 objects 3
//   place 0                                              ; instructions that follow belong to string 0
//   L0:
//     dim r0 v0 0
//     launch k0 r0 r1 [v0 v1 v2] [r0]
//     jumpif r0 L0
//     ret [v2]
//   main main                                            ; and "init NAME"
//
// r: scalar register, v: object register, f/k/b/c/g/m: indexes into the tables, L: labels; numbers and
// immediates are plain; a dtype is its text. ';' starts a comment. Registers may be left out of the function
// header (then they are counted). Labels are printed as L<word position>. Tables come before the functions
// ("builtin" is both a row and an instruction).
#pragma once

#include <string>
#include <string_view>

#include "vm/base/status.h"
#include "vm/isa/program.h"

namespace dyn::vm {

// The program must be readable by InstructionReader (any verified program is); otherwise the rest of a
// function is printed as words.
std::string printProgram(const Program& program);
// One instruction: "add r0 r1 r2"; with names of functions, kernels and strings as a comment.
std::string printInstruction(const Program& program, uint32_t function, uint32_t position);
// Errors have code DYN_BAD_PROGRAM and the place "line:column".
Status parseProgramText(std::string_view text, Program& program);

}  // namespace dyn::vm
