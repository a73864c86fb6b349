/* A plugin for qemu: counts the instructions that the machine's first processor runs (of a program: its
 * first thread), and writes how many to the file named by the argument out=FILE. The functions are those of
 * qemu's plugin interface. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* block, void (*call)(unsigned, void*),
                                          int flags, void* user);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t, void*), void* user);

int qemu_plugin_version = 1;

static uint64_t instructions;
static char file[4096];

static void ran(unsigned cpu, void* user) {
  if (cpu == 0) instructions += (uintptr_t)user;
}
static void translated(uint64_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(block, &ran, 0, (void*)(uintptr_t)qemu_plugin_tb_n_insns(block));
}
static void ended(uint64_t id, void* user) {
  (void)id, (void)user;
  FILE* out = fopen(file, "w");
  if (!out) return;
  fprintf(out, "%" PRIu64 "\n", instructions);
  fclose(out);
}

int qemu_plugin_install(uint64_t id, const void* info, int count, char** arguments) {
  (void)info;
  for (int i = 0; i < count; ++i)
    if (strncmp(arguments[i], "out=", 4) == 0) snprintf(file, sizeof file, "%s", arguments[i] + 4);
  qemu_plugin_register_vcpu_tb_trans_cb(id, &translated);
  qemu_plugin_register_atexit_cb(id, &ended, NULL);
  return 0;
}
