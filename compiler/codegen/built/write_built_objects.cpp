// write_built_objects FILE: compiles what `builtObjects` lists and writes it as a C++ file, for the build.
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/codegen/object/engine.h"

namespace dyn {
namespace {

struct Level {
  const char* preset;
  int32_t level;
  int32_t fmaPerCycle, fmaLatency;  // as many chains of sums as the processor keeps busy
};
constexpr Level kLevels[] = {
    {"x86-64-v3", 3, 2, 4}, {"x86-64-v4", 4, 2, 4}, {"x86-64-v4", 4, 1, 4},  // one FMA of 512 bits a cycle
};

void writeBytes(std::ostream& out, const std::string& bytes) {
  constexpr size_t kBytesPerLine = 24;
  for (size_t i = 0; i < bytes.size(); ++i)
    out << static_cast<int>(static_cast<unsigned char>(bytes[i]))
        << ((i + 1) % kBytesPerLine == 0 ? ",\n" : ",");
}

Status write(std::ostream& out) {
  out << "#include \"compiler/codegen/built/built_objects.h\"\n\nnamespace dyn {\nnamespace {\n\n";
  std::string rows;
  std::set<std::string> known;
  size_t count = 0;
  for (const Level& level : kLevels) {
    DYN_TRY(MachineDescription machine, machinePreset(level.preset));
    machine.fmaPerCycle = level.fmaPerCycle;
    machine.fmaLatency = level.fmaLatency;
    DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
    for (const KernelJob& job : gemmFamilyJobs(machine, SummationOrder::fastest)) {
      if (!known.insert(std::to_string(level.level) + job.key).second) continue;
      DYN_TRY(ObjectCode object, engine.compile(job));
      const std::string name = "kObject" + std::to_string(count++);
      out << "constexpr unsigned char " << name << "[] = {\n";
      writeBytes(out, object.bytes);
      out << "};\n";
      rows += "    {\"" + job.key + "\", " + std::to_string(level.level) + ", {" + name + ", sizeof " + name +
              "}},\n";
    }
  }
  out << "\nconst BuiltObject kObjects[] = {\n"
      << rows << "};\n\n}  // namespace\n\n"
      << "std::span<const BuiltObject> builtObjects() { return kObjects; }\n\n}  // namespace dyn\n";
  return {};
}

}  // namespace
}  // namespace dyn

int main(int argumentCount, char** arguments) {
  if (argumentCount != 2) {
    std::fputs("usage: write_built_objects FILE\n", stderr);
    return 2;
  }
  std::ofstream out(arguments[1]);
  const dyn::Status status = dyn::write(out);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().toString().c_str());
  out.close();
  return status.ok() && out.good() ? 0 : 1;
}
