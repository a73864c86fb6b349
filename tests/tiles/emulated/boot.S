# The first sector of a disk: loads SECTORS more to 0x10000 and goes there in 64-bit mode, with the first GiB of memory mapped as
# it is. Interrupts are off.
.code16
.globl boot
boot:
  cli
  xor %ax, %ax
  mov %ax, %ds
  mov %ax, %es
  mov %ax, %ss
  mov $0x7c00, %sp
  mov %dl, drive
  mov $SECTORS, %cx
next:
  mov $64, %ax
  cmp %ax, %cx
  ja read
  mov %cx, %ax
read:
  mov %ax, sectors
  push %cx
  mov $0x42, %ah
  mov drive, %dl
  mov $packet, %si
  int $0x13
  jc failed
  pop %cx
  mov sectors, %ax
  sub %ax, %cx
  add %ax, block
  shl $5, %ax
  add %ax, segment
  test %cx, %cx
  jnz next
  cli
  in $0x92, %al
  or $2, %al
  out %al, $0x92
  mov $0x1000, %edi       # a table of each level, from 0x1000 on
  xor %eax, %eax
  mov $(0x3000 / 4), %ecx
  rep stosl
  movl $0x2003, 0x1000
  movl $0x3003, 0x2000
  mov $0x3000, %edi
  mov $0x83, %eax
  mov $512, %ecx
map:
  mov %eax, (%edi)
  add $8, %edi
  add $0x200000, %eax
  loop map
  mov $0x1000, %eax
  mov %eax, %cr3
  mov %cr4, %eax
  or $(1 << 5 | 1 << 9 | 1 << 10 | 1 << 18), %eax  # large addresses, SSE and what follows it, XSAVE
  mov %eax, %cr4
  mov $0xc0000080, %ecx
  rdmsr
  or $0x100, %eax
  wrmsr
  lgdt descriptors
  mov %cr0, %eax
  and $~(1 << 2), %eax
  or $0x80000003, %eax
  mov %eax, %cr0
  ljmp $8, $long
failed:
  mov $'F', %al
  out %al, $0xe9
  hlt
.code64
long:
  mov $16, %ax
  mov %ax, %ds
  mov %ax, %es
  mov %ax, %ss
  mov $0x8000000, %rsp
  mov $0x10000, %eax
  jmp *%rax
.align 8
table:
  .quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
descriptors:
  .word 23
  .long table
drive:
  .byte 0
.align 4
packet:
  .byte 16, 0
sectors:
  .word 0, 0
segment:
  .word 0x1000
block:
  .long 1, 0
.org 510
.word 0xaa55
