// write_built_objects FILE KERNELS: compiles what `builtObjects` lists and writes it as a C++ file, for the
// build. KERNELS: texts of general kernels, one behind the other.
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/emit/general_code.h"
#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/codegen/object/engine.h"
#include "compiler/codegen/object/packed_object.h"
#include "compiler/loop/builder/general_text.h"

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

// As one string; octal, so that a digit that follows is none of it.
void writeBytes(std::ostream& out, const std::string& bytes) {
  constexpr size_t kBytesPerLine = 32;
  for (size_t i = 0; i < bytes.size(); i += kBytesPerLine) {
    out << '"';
    for (const char c : bytes.substr(i, kBytesPerLine)) {
      const auto byte = static_cast<unsigned char>(c);
      out << '\\' << static_cast<char>('0' + byte / 64) << static_cast<char>('0' + byte / 8 % 8)
          << static_cast<char>('0' + byte % 8);
    }
    out << "\"\n";
  }
}

Status write(std::ostream& out, std::istream& texts) {
  DYN_TRY(const std::vector<loop::GeneralText> kernels, loop::readGeneralTexts(texts));
  std::map<std::pair<std::string, int32_t>, ObjectCode> objects;  // by key and level, the highest first
  for (const Level& level : kLevels) {
    DYN_TRY(MachineDescription machine, machinePreset(level.preset));
    machine.fmaPerCycle = level.fmaPerCycle;
    machine.fmaLatency = level.fmaLatency;
    DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
    std::vector<KernelJob> jobs = gemmFamilyJobs(machine, SummationOrder::fastest);
    for (const loop::GeneralText& one : kernels)
      jobs.push_back(
          generalCodeJob(one.kernel, one.openSizes, generalCodeOf(one.key, machine), engine.machine()));
    std::erase_if(jobs, [&](const KernelJob& job) { return objects.contains({job.key, -level.level}); });
    DYN_TRY(std::vector<ObjectCode> compiled, engine.compileAll(jobs));
    for (size_t i = 0; i < jobs.size(); ++i) objects[{jobs[i].key, -level.level}] = std::move(compiled[i]);
  }
  out << "#include \"compiler/codegen/built/built_objects.h\"\n\nnamespace dyn {\nnamespace {\n\n"
      << "constexpr unsigned char kBytes[] =\n";
  std::string rows;
  size_t begin = 0;
  for (const auto& [name, object] : objects) {
    const std::string bytes = packObject(object);
    writeBytes(out, bytes);
    rows += "    {\"" + name.first + "\", " + std::to_string(-name.second) + ", " +
            std::to_string(object.bytes.size()) + ", {kBytes + " + std::to_string(begin) + ", " +
            std::to_string(bytes.size()) + "}},\n";
    begin += bytes.size();
  }
  out << ";\n\nconst BuiltObject kObjects[] = {\n"
      << rows << "};\n\n}  // namespace\n\n"
      << "std::span<const BuiltObject> builtObjects() { return kObjects; }\n\n}  // namespace dyn\n";
  return {};
}

}  // namespace
}  // namespace dyn

int main(int argumentCount, char** arguments) {
  if (argumentCount != 3) {
    std::fputs("usage: write_built_objects FILE KERNELS\n", stderr);
    return 2;
  }
  std::ifstream texts(arguments[2]);
  std::ofstream out(arguments[1]);
  if (!texts) {
    std::fprintf(stderr, "write_built_objects: %s cannot be read\n", arguments[2]);
    return 1;
  }
  const dyn::Status status = dyn::write(out, texts);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().toString().c_str());
  out.close();
  return status.ok() && out.good() ? 0 : 1;
}
