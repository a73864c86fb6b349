/* What compilers take for granted and a machine without libraries does not have. */
#include <stddef.h>
#include <stdint.h>

void* memcpy(void* to, const void* from, size_t bytes) {
  char* target = to;
  const char* source = from;
  for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
  return to;
}
void* memmove(void* to, const void* from, size_t bytes) {
  char* target = to;
  const char* source = from;
  if ((uintptr_t)target < (uintptr_t)source)
    for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
  else
    while (bytes-- > 0) target[bytes] = source[bytes];
  return to;
}
void* memset(void* to, int value, size_t bytes) {
  char* target = to;
  for (size_t i = 0; i < bytes; ++i) target[i] = (char)value;
  return to;
}
