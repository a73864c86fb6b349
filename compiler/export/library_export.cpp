#include "compiler/export/library_export.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "compiler/export/elf_object.h"
#include "compiler/export/freestanding_program.h"
#include "compiler/export/library_header.h"
#include "compiler/export/linked_rows.h"
#include "compiler/export/linker.h"
#include "compiler/export/package.h"
#include "compiler/export/runner_link.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/include/abi/dyn_custom_kernel.h"
#include "vm/include/abi/dyn_flow.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

namespace {

struct LibraryName {
  std::filesystem::path folder;
  std::string name;  // an identifier
};

Result<LibraryName> nameOf(const std::string& output) {
  const std::filesystem::path path(output);
  std::string name = path.filename().string();
  for (std::string_view ending : {".a", ".so"})
    if (name.size() > ending.size() &&
        name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
      name.resize(name.size() - ending.size());
      if (name.size() > 3 && name.compare(0, 3, "lib") == 0) name.erase(0, 3);
      break;
    }
  if (name.empty() || name == "." || name == "..")
    return makeError(DiagnosticId::usageError, "-o " + output + ": there is no name for the library");
  return LibraryName{path.parent_path(), cIdentifier(name)};
}

// Some object of the code has it.
bool defines(const MachineCode& code, const std::string& name) {
  const std::string row = '\0' + name + '\0';
  return std::any_of(code.objects.begin(), code.objects.end(),
                     [&](const std::string& object) { return object.find(row) != std::string::npos; });
}

std::string codeTableName(size_t index) { return "dyn_model_code_" + std::to_string(index); }

// DynModelCode (vm/embedded/model_data.h).
ElfTable codeTable(const MachineCode& code, const std::vector<vm::KernelRow>& kernels,
                   const std::string& name, const ElfMachine& machine) {
  ElfTable table;
  table.machine = machine;
  table.tableName = name;
  table.strings = code.needs + '\0';
  const auto whereDefined = [&](const std::string& symbol) {
    return defines(code, symbol) ? ElfWord{ElfWord::Kind::symbol, 0, symbol} : ElfWord{};
  };
  using Kind = ElfWord::Kind;
  constexpr uint64_t kHeadWords = 5;
  table.words = {{Kind::string, 0, ""},
                 {Kind::symbol, kHeadWords * 8, table.tableName},
                 {Kind::number, kernels.size(), ""},
                 whereDefined(DYN_GEMM_FAMILY_SYMBOL),
                 whereDefined(DYN_FLOW_PROGRAM_SYMBOL)};
  for (const vm::KernelRow& kernel : kernels) {
    table.words.push_back({Kind::string, table.strings.size(), ""});
    table.words.push_back({Kind::symbol, 0, kernel.symbol});
    table.strings += kernel.symbol + '\0';
  }
  return table;
}

// The model as an object: its package, and the table of DynModelData.
ElfTable modelTable(const PackagePieces& package, const ElfMachine& machine) {
  ElfTable table;
  table.machine = machine;
  table.bytes = package.pieces;
  table.tableName = "dyn_model_data";
  using Kind = ElfWord::Kind;
  constexpr uint64_t kHeadWords = 4;
  table.words = {{Kind::bytes, 0, ""},
                 {Kind::number, static_cast<uint64_t>(package.size.fileBytes), ""},
                 {Kind::symbol, kHeadWords * 8, table.tableName},
                 {Kind::number, package.codes.size(), ""}};
  for (size_t i = 0; i < package.codes.size(); ++i)
    table.words.push_back({Kind::symbol, 0, codeTableName(i)});
  return table;
}

Status runLibraryTool(std::span<const char* const> programs, const std::vector<std::string>& words,
                      const std::string& output, const std::string& package) {
  return runTool(programs, words,
                 {output, size_t{8} << 20, "could not make the library",
                  "a library needs the program " + std::string(programs[0]) + " (package " + package +
                      "), which was not found"});
}

// Of objects for a processor.
struct ObjectTools {
  std::span<const char*const> linkers, copiers;
  const char* package;
};
ObjectTools objectToolsFor(const ElfMachine& machine) {
  if (machine.machine != EM_AARCH64) return {kObjectLinkers, kObjectCopiers, "binutils"};
  return {kArmObjectLinkers, kArmObjectCopiers, "binutils-aarch64-linux-gnu"};
}

std::string entryPoint(const std::string& name, const std::string& verb) { return name + "_" + verb; }

// A machine's objects and their table, as files. Where there are other machines the kernels have the same
// names there: then they are one object that shows the table alone.
Result<std::vector<std::string>> codeFiles(const PackagePieces& package, size_t index,
                                           const ElfMachine& machine, TemporaryFolder& folder) {
  const MachineCode& code = package.codes[index];
  const std::string name = codeTableName(index), begin = folder.file("code" + std::to_string(index));
  std::vector<std::string> owned, files = {begin + "_table.o"};
  const ElfTable table = codeTable(code, package.program->kernels, name, machine);
  DYN_CHECK(writeFileAtomically(files[0], writeElfTable(table, owned)));
  for (const std::string& object : code.objects) {
    files.push_back(begin + "_" + std::to_string(files.size()) + ".o");
    DYN_CHECK(writeFileAtomically(files.back(), {object}));
  }
  if (package.codes.size() == 1) return files;
  const std::string list = begin + ".txt", whole = begin + "_whole.o", shown = begin + ".o";
  std::string inputs;
  for (const std::string& file : files) inputs += "\"" + file + "\"\n";
  DYN_CHECK(writeFileAtomically(list, {inputs}));
  const ObjectTools tools = objectToolsFor(machine);
  DYN_CHECK(runLibraryTool(tools.linkers, {"-r", "-o", whole, "@" + list}, whole, tools.package));
  DYN_CHECK(
      runLibraryTool(tools.copiers, {"--keep-global-symbol=" + name, whole, shown}, shown, tools.package));
  return std::vector<std::string>{shown};
}

// The package as objects of the folder: what the runtime reads, the rows that it calls, and the code.
Result<std::vector<std::string>> packageFiles(const PackagePieces& package, ElfMachine machine,
                                              TemporaryFolder& folder) {
  const bool generated = !package.codes.empty() && defines(package.codes[0], DYN_GEMM_FAMILY_SYMBOL);
  if (!package.codes.empty() && !package.codes[0].objects.empty()) {
    DYN_TRY(machine, elfMachineOf(package.codes[0].objects[0]));
  }
  std::vector<std::string> owned, files = {folder.file("model.o"), folder.file("rows.o")};
  const ElfTable table = modelTable(package, machine);
  DYN_CHECK(writeFileAtomically(files[0], writeElfTable(table, owned)));
  DYN_TRY(const std::string rows,
          linkedRowsObject(*package.program, generated ? MatrixKernels::generated : MatrixKernels::ofRuntime,
                           machine));
  DYN_CHECK(writeFileAtomically(files[1], {rows}));
  for (size_t i = 0; i < package.codes.size(); ++i) {
    DYN_TRY(std::vector<std::string> code, codeFiles(package, i, machine, folder));
    std::move(code.begin(), code.end(), std::back_inserter(files));
  }
  return files;
}

// Each function had a section of its own, for those that nothing needs to go; those that stay lie together
// again.
constexpr const char* kSections = R"(SECTIONS {
  .text 0 : { *(.text .text.*) }
  .gcc_except_table 0 : { *(.gcc_except_table .gcc_except_table.*) }
  .data.rel.ro 0 : { *(.data.rel.ro .data.rel.ro.*) }
})";

Result<std::vector<std::string>> objectFiles(const std::vector<std::string>& objects,
                                             TemporaryFolder& folder) {
  std::vector<std::string> files;
  for (const std::string& object : objects) {
    files.push_back(folder.file(std::to_string(files.size()) + ".o"));
    DYN_CHECK(writeFileAtomically(files.back(), {object}));
  }
  return files;
}

// One object of the files, the runtime among them, that shows the model's entry points only and holds what
// they reach.
Result<std::string> linkModel(const std::vector<std::string>& files, const std::vector<std::string>& verbs,
                              const std::string& name, const ObjectTools& tools, TemporaryFolder& folder) {
  const std::string whole = folder.file("whole.o"), renamed = folder.file("renamed.o"),
                    list = folder.file("objects.txt"), names = folder.file("names.txt"),
                    kept = folder.file("kept.txt"), sections = folder.file("sections.ld");
  std::string inputs, changes, visible;
  std::vector<std::string> roots = {"-r", "--gc-sections", "-T", sections};
  for (const std::string& file : files) inputs += "\"" + file + "\"\n";
  for (const std::string& verb : verbs) {
    const std::string from = entryPoint("dyn_model", verb), to = entryPoint(name, verb);
    changes += from + " " + to + "\n";
    // One of the programs asks by the old name, the other by the new one.
    visible += from + "\n" + to + "\n";
    roots.insert(roots.end(), {"-u", from});
  }
  DYN_CHECK(writeFileAtomically(list, {inputs}));
  DYN_CHECK(writeFileAtomically(names, {changes}));
  DYN_CHECK(writeFileAtomically(sections, {kSections}));
  DYN_CHECK(writeFileAtomically(kept, {visible}));
  roots.insert(roots.end(), {"-o", whole, "@" + list});
  DYN_CHECK(runLibraryTool(tools.linkers, roots, whole, tools.package));
  DYN_CHECK(runLibraryTool(tools.copiers,
                           {"--redefine-syms=" + names, "--keep-global-symbols=" + kept, whole, renamed},
                           renamed, tools.package));
  return renamed;
}

Result<std::string> linkShared(const std::string& object, const std::string& name,
                               const std::vector<std::string>& besides, const SystemFiles& system,
                               TemporaryFolder& folder) {
  const std::string output = folder.file("library.so");
  std::vector<std::string> words = {"-shared", "--build-id=none", "--eh-frame-hdr",     "-z", "now",  "-z",
                                    "relro",   "-soname",         "lib" + name + ".so", "-o", output, object};
  if (!besides.empty()) {
    // Another library's kernels have the same entry point: each model sees those that it is linked with.
    const std::string shown = folder.file("shown.txt");
    DYN_CHECK(writeFileAtomically(shown, {"{ global: " + entryPoint(name, "*") + "; local: *; };\n"}));
    words.insert(words.end(), {"--version-script=" + shown, "-u", DYN_CUSTOM_KERNELS_SYMBOL});
    words.insert(words.end(), besides.begin(), besides.end());
  }
  words.insert(words.end(), system.libraries.begin(), system.libraries.end());
  DYN_CHECK(runLibraryTool(kLinkers, words, output, "lld-19"));
  return output;
}

std::string pkgConfigText(const std::string& name) {
  return "prefix=${pcfiledir}\n\nName: " + name + "\nDescription: the model " + name +
         ", compiled by Dyn\nVersion: 1\nLibs: -L${prefix} -l" + name +
         "\nLibs.private: -lm -pthread\nCflags: -I${prefix}\n";
}

// Finds what lies beside it: the static library, the shared one, or both.
std::string cmakeText(const std::string& name) {
  std::string text =
      R"(# find_package(NAME CONFIG): NAME::NAME is the library that lies here, the shared one where both do; NAME::static and NAME::shared.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/libNAME.a" AND NOT TARGET NAME::static)
  add_library(NAME::static STATIC IMPORTED)
  set_target_properties(NAME::static PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/libNAME.a"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")
endif()
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/libNAME.so" AND NOT TARGET NAME::shared)
  add_library(NAME::shared SHARED IMPORTED)
  set_target_properties(NAME::shared PROPERTIES
    IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/libNAME.so"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")
endif()
if(NOT TARGET NAME::NAME)
  add_library(NAME::NAME INTERFACE IMPORTED)
  if(TARGET NAME::shared)
    set_target_properties(NAME::NAME PROPERTIES INTERFACE_LINK_LIBRARIES NAME::shared)
  else()
    set_target_properties(NAME::NAME PROPERTIES INTERFACE_LINK_LIBRARIES NAME::static)
  endif()
endif()
)";
  for (size_t at = 0; (at = text.find("NAME", at)) != std::string::npos;) {
    // Words of CMake that hold the same letters do not occur.
    text.replace(at, 4, name);
    at += name.size();
  }
  return text;
}

// Files that go together: when one cannot be written, those that are new go away again.
class WrittenFiles {
 public:
  ~WrittenFiles() {
    for (const std::string& path : fresh_) ::unlink(path.c_str());
  }
  Status write(const std::filesystem::path& path, const std::vector<std::string_view>& pieces,
               FileMode mode) {
    const bool there = ::access(path.c_str(), F_OK) == 0;
    DYN_CHECK(writeFileAtomically(path.string(), pieces, mode));
    if (!there) fresh_.push_back(path.string());
    int64_t bytes = 0;
    for (std::string_view piece : pieces) bytes += static_cast<int64_t>(piece.size());
    files_.push_back({path.string(), bytes});
    return {};
  }
  std::vector<ExportedLibrary::File> keep() {
    fresh_.clear();
    return std::move(files_);
  }

 private:
  std::vector<std::string> fresh_;
  std::vector<ExportedLibrary::File> files_;
};

}  // namespace

Result<ExportedLibrary> exportLibrary(const CompiledModel& compiled, const LibraryRequest& request) {
  DYN_TRY(const LibraryName place, nameOf(request.output));
  const std::string& name = place.name;
  if (::access(request.runtime.c_str(), R_OK) != 0)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a library needs the file " +
                         std::filesystem::path(request.runtime).filename().string() + ", which is not at " +
                         request.runtime);
  DYN_TRY(const MappedFile runtime, MappedFile::open(request.runtime));
  DYN_TRY(const ElfMachine machine, elfMachineOf(runtime.bytes()));
  const ObjectTools tools = objectToolsFor(machine);
  TemporaryFolder folder;
  DYN_CHECK(folder.make());
  const LibraryFacts facts{name, request.source, request.ramBoundBytes};
  const std::vector<std::string> verbs =
      request.withoutHeap ? freestandingLibraryEntryPoints() : libraryEntryPoints(compiled.lowered.program);
  std::string header, object;
  ExportedLibrary made;
  if (request.withoutHeap) {
    DYN_TRY(const FreestandingObjects fixed,
            freestandingObjects(compiled, static_cast<uint64_t>(request.ramBoundBytes.value_or(0))));
    DYN_TRY(header, freestandingLibraryHeader(facts, compiled.lowered.program));
    DYN_TRY(std::vector<std::string> inputs, objectFiles(fixed.objects, folder));
    inputs.insert(inputs.begin(), request.runtime);
    DYN_TRY(object, linkModel(inputs, verbs, name, tools, folder));
    made.weightsBytes = fixed.weightsBytes;
  } else {
    DYN_TRY(const PackagePieces package, makePackage(compiled, {.flow = request.flow,
                                                                .code = PackageCode::apart,
                                                                .ramBoundBytes = request.ramBoundBytes,
                                                                .facts = ""}));
    DYN_TRY(header, libraryHeader(facts, *package.program));
    DYN_TRY(std::vector<std::string> inputs, packageFiles(package, machine, folder));
    inputs.insert(inputs.begin(), request.runtime);
    DYN_TRY(object, linkModel(inputs, verbs, name, tools, folder));
    made.weightsBytes = package.size.weightsBytes;
  }
  for (const std::string& verb : verbs) made.entryPoints.push_back(entryPoint(name, verb));
  WrittenFiles files;
  if (request.kind == LibraryKind::archive) {
    DYN_TRY(const MappedFile member, MappedFile::open(object));
    const std::string head = archiveHead("model.o", member.size(), made.entryPoints),
                      end(member.size() % 2, '\n');
    DYN_CHECK(files.write(place.folder / ("lib" + name + ".a"), {head, member.bytes(), end}, FileMode::data));
  } else {
    const SystemFiles system = request.system.empty() ? systemOfProcess() : systemIn(request.system);
    DYN_TRY(const std::string linked, linkShared(object, name, request.besides, system, folder));
    DYN_TRY(const MappedFile library, MappedFile::open(linked));
    DYN_CHECK(files.write(place.folder / ("lib" + name + ".so"), {library.bytes()}, FileMode::executable));
  }
  DYN_CHECK(files.write(place.folder / (name + ".h"), {header}, FileMode::data));
  DYN_CHECK(files.write(place.folder / (name + ".pc"), {pkgConfigText(name)}, FileMode::data));
  DYN_CHECK(files.write(place.folder / (name + "-config.cmake"), {cmakeText(name)}, FileMode::data));
  made.files = files.keep();
  return made;
}

}  // namespace dyn
