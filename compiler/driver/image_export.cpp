#include "compiler/driver/image_export.h"

#include <unistd.h>

#include <filesystem>

#include "compiler/driver/linker.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

struct Board {
  std::string_view name, target, processor;
  std::string_view readOnly, writable;  // where its memories lie
  std::string_view stack = "16K";       // the least that is left for it
};
// An M3 runs all that an M0 runs, and there are boards of it with room.
constexpr Board kBoards[] = {
    {"microbit", "cortex-m0", "thumbv6m", "ORIGIN = 0x00000000, LENGTH = 256K",
     "ORIGIN = 0x20000000, LENGTH = 16K", "3K"},
    {"mps2-an385", "cortex-m0", "thumbv6m", "ORIGIN = 0x00000000, LENGTH = 4M",
     "ORIGIN = 0x20000000, LENGTH = 4M"},
    {"mps2-an386", "cortex-m4", "thumbv7em", "ORIGIN = 0x00000000, LENGTH = 4M",
     "ORIGIN = 0x20000000, LENGTH = 4M"},
    {"mps3-an547", "cortex-m55", "thumbv8.1m.main", "ORIGIN = 0x00000000, LENGTH = 512K",
     "ORIGIN = 0x20000000, LENGTH = 512K"},
};

Result<const Board*> boardOf(const std::string& name, const std::string& processor) {
  std::string all;
  for (const Board& board : kBoards) {
    if (board.processor == processor && board.name == name) return &board;
    all +=
        (all.empty() ? "" : ", ") + std::string(board.name) + " with --target " + std::string(board.target);
  }
  return makeError(DiagnosticId::usageError, name.empty()
                                                 ? "an image for " + processor + " is for a board"
                                                 : "there is no board '" + name + "' with " + processor)
      .note("boards are " + all + "; without --board it is a program of Linux");
}

// Nothing is writable but the memory that the model runs in and the stack: all else stays where it is read.
std::string layoutOf(const Board& board) {
  return "MEMORY {\n  ROM : " + std::string(board.readOnly) + "\n  RAM : " + std::string(board.writable) +
         R"(
}
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.data.rel.ro*) *(.got*) } > ROM
  .ARM.exidx : { *(.ARM.exidx*) } > ROM
  .data : { *(.data*) } > RAM
  .bss (NOLOAD) : { *(.bss*) *(COMMON) } > RAM
  imageStackTop = ORIGIN(RAM) + LENGTH(RAM);
  imageStackEnd = ADDR(.bss) + SIZEOF(.bss);
  ASSERT(SIZEOF(.data) == 0, "something would have to be copied at the start")
  ASSERT(SIZEOF(.bss) + )" +
         std::string(board.stack) + R"( <= LENGTH(RAM), "the model needs more memory than the board has")
}
)";
}

}  // namespace

std::string processorOf(const Target& target) {
  return target.machine.triple.substr(0, target.machine.triple.find('-'));
}

Result<ExportedImage> exportImage(const CompiledModel& compiled, const ImageRequest& request) {
  const std::string processor = processorOf(compiled.target);
  if (::access(request.runtime.c_str(), R_OK) != 0)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: an image for " + processor + " needs the file " +
                         std::filesystem::path(request.runtime).filename().string() + ", which is not at " +
                         request.runtime)
        .note("the build makes it where clang is installed");
  const Board* board = nullptr;
  const bool bare = compiled.target.machine.triple.find("-none-") != std::string::npos;
  if (bare || !request.board.empty()) {
    DYN_TRY(board, boardOf(request.board, processor));
  }
  DYN_TRY(FixedObjects fixed, fixedObjects(compiled, request.inputs.memoryBytes));
  DYN_TRY(std::string inputs, fixedImageObject(request.inputs, compiled.target));
  fixed.objects.push_back(std::move(inputs));
  TemporaryFolder folder;
  DYN_CHECK(folder.make());
  const std::string output = folder.file("image"), list = folder.file("objects.txt");
  std::string files = "\"" + request.runtime + "\"\n";
  size_t roomBytes = size_t{1} << 20;
  for (size_t i = 0; i < fixed.objects.size(); ++i) {
    const std::string object = folder.file(std::to_string(i) + ".o");
    DYN_CHECK(writeFileAtomically(object, {fixed.objects[i]}));
    files += object + "\n";
    roomBytes += fixed.objects[i].size();
  }
  DYN_CHECK(writeFileAtomically(list, {files}));
  std::vector<std::string> words = {"-static", "--gc-sections", "--build-id=none", "-z", "norelro", "-s",
                                    "-o",      output,          "@" + list};
  if (board) {
    const std::string layout = folder.file("layout.ld");
    DYN_CHECK(writeFileAtomically(layout, {layoutOf(*board)}));
    words.insert(words.end(), {"--nmagic", "-T", layout});
  }
  const char* const linkers[] = {kLinkers[0], kLinkers[1]};  // they know all processors
  DYN_CHECK(
      runTool(linkers, words,
              {output, roomBytes,
               "could not link the image: the model is too large for the board, or calls a function that "
               "the runtime for it does not have",
               "an image needs the linker ld.lld (package lld-19), which was not found"}));
  DYN_TRY(const MappedFile linked, MappedFile::open(output));
  DYN_CHECK(writeFileAtomically(request.output, {linked.bytes()}, FileMode::executable));
  ExportedImage made;
  made.fileBytes = static_cast<int64_t>(linked.size());
  made.weightsBytes = fixed.weightsBytes;
  made.codeBytes = made.fileBytes - made.weightsBytes;
  for (const std::string& input : request.inputs.elements)
    made.codeBytes -= static_cast<int64_t>(input.size());
  return made;
}

}  // namespace dyn
