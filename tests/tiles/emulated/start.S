# Enables all registers up to tiles, gives the one thread its variables, and runs the cases.
.section .text.start, "ax"
.globl start
start:
  lea bss_begin(%rip), %rdi
  lea bss_end(%rip), %rcx
  sub %rdi, %rcx
  xor %eax, %eax
  rep stosb
  xor %ecx, %ecx
  mov $0x600e7, %eax
  xor %edx, %edx
  xsetbv
  lea thread(%rip), %rax  # its variables lie before it
  mov %rax, (%rax)
  mov %rax, %rdx
  shr $32, %rdx
  mov $0xc0000100, %ecx
  wrmsr
  call run
stop:
  hlt
  jmp stop
.bss
.align 64
  .skip 1024
thread:
  .skip 64
.section .note.GNU-stack, "", @progbits
