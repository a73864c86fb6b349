// vmrun: assemble, print, verify and run programs without a compiler.
//
//   vmrun assemble IN.dynasm OUT.dynbc     text to bytes
//   vmrun dump FILE                        text of a .dynasm, serialized program or package
//   vmrun verify FILE                      parse, verify, and (packages) compare every checksum
//   vmrun run FILE [FUNCTION] [N...]       run main or FUNCTION; each N becomes a rank-0 i64 tensor; prints the results
//   vmrun isa | builtins                   the tables
//   vmrun kernels                          the instruction set and tile of each family of kernels, on this CPU
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "vm/core/builtin/builtin.h"
#include "vm/include/dynvm.h"
#include "vm/isa/assembler.h"
#include "vm/isa/isa.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"
#include "vm/isa/verifier.h"
#include "vm/kernels/cpu/kernel_forms.h"

using namespace dyn::vm;

namespace {

int complain(const Status& status) {
  fprintf(stderr, "error: %s\n", status.toString().c_str());
  return status.code == DYN_UNSUPPORTED ? 4 : 1;
}

bool readFile(const char* path, std::string& bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

bool isSameFile(const char* one, const char* other) {
  struct stat a = {}, b = {};
  return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool startsWith(const std::string& bytes, const char* magic) {
  return bytes.compare(0, strlen(magic), magic) == 0;
}

Status readProgram(const char* path, Program& program) {
  std::string bytes;
  if (!readFile(path, bytes)) return failure(DYN_IO_ERROR, std::string("cannot read ") + path);
  if (startsWith(bytes, "DYNBYTES")) return parseProgram(bytes.data(), bytes.size(), program);
  if (!startsWith(bytes, "DYNPACK")) return parseProgramText(bytes, program);
  std::vector<PackageSection> sections;
  if (Status status = readPackageTable(bytes.data(), bytes.size(), sections); !status.ok()) return status;
  Status status = failure(DYN_BAD_PROGRAM, "the package has no program");
  for (const PackageSection& section : sections) {
    if (Status check = checkSection(bytes.data(), section); !check.ok()) return check;
    if (section.kind == SectionKind::program)
      status = parseProgram(bytes.data() + section.offset, section.sizeBytes, program);
  }
  return status;
}

void printValue(const dyn_value* value, int depth) {
  if (!value) {
    printf("%*sempty\n", depth * 2, "");
    return;
  }
  const int64_t items = dyn_value_item_count(value);
  if (items >= 0) {
    printf("%*s%s of %lld\n", depth * 2, "", dyn_value_kind(value) == DYN_KIND_LIST ? "list" : "tuple",
           static_cast<long long>(items));
    for (int64_t i = 0; i < items && depth < 16; ++i) {
      dyn_value* item = nullptr;
      if (dyn_value_item(value, i, &item) == DYN_OK) printValue(item, depth + 1);
      dyn_value_release(item);
    }
    return;
  }
  const int32_t dtype = dyn_value_dtype(value);
  printf("%*s%s[", depth * 2, "", dtype < 0 ? "object" : dyn_dtype_text(dtype));
  for (int32_t axis = 0; axis < dyn_value_rank(value); ++axis)
    printf("%s%lld", axis ? "," : "", static_cast<long long>(dyn_value_shape(value)[axis]));
  printf("]");
  const size_t count = dtype < 0 ? 0 : dyn_value_size_bytes(value) / dyn_dtype_size_bytes(dtype);
  for (size_t i = 0; i < count && i < 16; ++i) {
    if (dtype == DYN_I64)
      printf(" %lld", static_cast<long long>(static_cast<const int64_t*>(dyn_value_data(value))[i]));
    if (dtype == DYN_I32) printf(" %d", static_cast<const int32_t*>(dyn_value_data(value))[i]);
    if (dtype == DYN_F32)
      printf(" %g", static_cast<double>(static_cast<const float*>(dyn_value_data(value))[i]));
    if (dtype == DYN_BOOL) printf(" %d", static_cast<const uint8_t*>(dyn_value_data(value))[i]);
  }
  printf("%s\n", count > 16 ? " ..." : "");
}

int run(int count, char** arguments) {
  dyn_module* module = nullptr;
  std::string bytes;
  if (!readFile(arguments[0], bytes))
    return complain(failure(DYN_IO_ERROR, std::string("cannot read ") + arguments[0]));
  dyn_status status;
  if (startsWith(bytes, "DYNPACK")) {
    status = dyn_module_load_file(arguments[0], nullptr, &module);
  } else {
    Program program;
    if (Status parsed = readProgram(arguments[0], program); !parsed.ok()) return complain(parsed);
    const std::vector<uint8_t> code = serializeProgram(program);
    status = dyn_module_load_memory(code.data(), code.size(), nullptr, &module);
  }
  dyn_context* context = nullptr;
  if (status == DYN_OK) status = dyn_context_create(module, nullptr, &context);
  std::vector<dyn_value*> values;
  for (int i = 2; i < count && status == DYN_OK; ++i) {
    const int64_t number = strtoll(arguments[i], nullptr, 10);
    status = dyn_value_tensor(context, DYN_I64, 0, nullptr, &number, sizeof number, &values.emplace_back());
  }
  if (status == DYN_OK)
    status = count > 1 ? dyn_context_run_function(context, arguments[1], values.data(),
                                                  static_cast<int32_t>(values.size()))
                       : dyn_context_run(context);
  if (status != DYN_OK) fprintf(stderr, "error: %s\n", dyn_last_message());
  for (int32_t i = 0; status == DYN_OK && i < dyn_context_result_count(context); ++i) {
    dyn_value* value = nullptr;
    if (dyn_context_get_output(context, i, &value) == DYN_OK) printValue(value, 0);
    dyn_value_release(value);
  }
  for (dyn_value* value : values) dyn_value_release(value);
  dyn_context_release(context);
  dyn_module_release(module);
  return status == DYN_OK ? 0 : status == DYN_UNSUPPORTED ? 4 : 1;
}

constexpr const char* kUsage =
    "usage: vmrun assemble IN OUT | dump FILE | verify FILE | run FILE [FUNCTION] [N...] | isa | builtins | "
    "kernels | --version\n";

int usage() {
  fputs(kUsage, stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string command = count > 1 ? arguments[1] : "";
  if (command == "--help" || command == "--version") {
    fputs(command == "--help" ? kUsage : "vmrun " DYN_VERSION "\n", stdout);
    return 0;
  }
  if (command == "isa") {
    for (const InstructionRow& row : kInstructions)
      printf("%-14s %s\n", std::string(row.text).c_str(), std::string(row.meaning).c_str());
    return 0;
  }
  if (command == "builtins") {
    for (const BuiltinRow* row : builtinTable())
      printf("%-18s %s\n%-18s %s\n", std::string(row->name).c_str(), row->fields().c_str(), "",
             std::string(row->meaning).c_str());
    return 0;
  }
  if (command == "kernels") {
    for (const kernels::KernelForm& row : kernels::kernelForms()) {
      printf("%-38s %s", std::string(row.family).c_str(), std::string(row.form).c_str());
      if (row.rows > 0) printf(" %dx%d", row.rows, row.columns);
      printf("\n");
    }
    return 0;
  }
  if (count < 3) return usage();
  if (command == "run") return run(count - 2, arguments + 2);
  if (command != "assemble" && command != "dump" && command != "verify") return usage();
  Program program;
  if (Status status = readProgram(arguments[2], program); !status.ok()) return complain(status);
  if (command == "dump") {
    fputs(printProgram(program).c_str(), stdout);
    return 0;
  }
  if (Status status = verifyProgram(program); !status.ok()) return complain(status);
  if (command == "verify") {
    printf("ok\n");
    return 0;
  }
  if (count < 4) return usage();
  if (isSameFile(arguments[2], arguments[3]))
    return complain(failure(
        DYN_IO_ERROR, std::string(arguments[3]) + " is an input of this command: it is not overwritten"));
  const std::vector<uint8_t> bytes = serializeProgram(program);
  std::ofstream file(arguments[3], std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.flush() ? 0 : complain(failure(DYN_IO_ERROR, std::string("cannot write ") + arguments[3]));
}
