#include "compiler/driver/image_export.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "compiler/driver/linker.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

struct Memory {
  uint64_t origin = 0, bytes = 0;
};
struct Board {
  std::string_view name, target, processor;
  Memory flash, ram;
  uint64_t stackBytes = 16 << 10;  // the least that is left for it
};
// An M3 runs all that an M0 runs, and there are boards of it with room.
constexpr uint64_t kRamOrigin = 0x20000000;
constexpr Board kBoards[] = {
    {"microbit", "cortex-m0", "thumbv6m", {0, 256 << 10}, {kRamOrigin, 16 << 10}, 3 << 10},
    {"mps2-an385", "cortex-m0", "thumbv6m", {0, 4 << 20}, {kRamOrigin, 4 << 20}},
    {"mps2-an386", "cortex-m4", "thumbv7em", {0, 4 << 20}, {kRamOrigin, 4 << 20}},
    {"mps3-an547", "cortex-m55", "thumbv8.1m.main", {0, 512 << 10}, {kRamOrigin, 512 << 10}},
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

std::string memoryText(const Memory& memory) {
  return "ORIGIN = " + std::to_string(memory.origin) + ", LENGTH = " + std::to_string(memory.bytes);
}

// Nothing is writable but the memory that the model runs in and the stack: all else stays where it is read.
std::string layoutOf(const Board& board) {
  return "MEMORY {\n  ROM : " + memoryText(board.flash) + "\n  RAM : " + memoryText(board.ram) +
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
         std::to_string(board.stackBytes) +
         R"( <= LENGTH(RAM), "the model needs more memory than the board has")
}
)";
}

// The bytes from the origin of a memory that the segments of a linked image take.
uint64_t bytesTaken(std::string_view elf, const Memory& memory) {
  Elf32_Ehdr head;
  if (elf.size() < sizeof head) return 0;
  std::memcpy(&head, elf.data(), sizeof head);
  uint64_t taken = 0;
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf32_Phdr segment;
    const uint64_t at = head.e_phoff + i * head.e_phentsize;
    if (at + sizeof segment > elf.size()) break;
    std::memcpy(&segment, elf.data() + at, sizeof segment);
    const uint64_t begin = segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD && begin >= memory.origin && end <= memory.origin + memory.bytes)
      taken = std::max(taken, end - memory.origin);
  }
  return taken;
}

std::string kibibytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

Status linkImage(std::vector<std::string> words, const std::string& output, size_t roomBytes) {
  words.insert(words.end(), {"-o", output});
  const char* const linkers[] = {kLinkers[0], kLinkers[1]};  // they know all processors
  return runTool(linkers, words,
                 {output, roomBytes,
                  "could not link the image: it calls a function that the runtime for it does not have",
                  "an image needs the linker ld.lld (package lld-19), which was not found"});
}

// Links for a board with these objects; the linked file. A model that is too large is linked again for a
// board with all the memory that can be addressed, which says how much it needs.
class BoardLink {
 public:
  BoardLink(const Board& board, std::vector<std::string> words, size_t roomBytes, TemporaryFolder& folder)
      : board_(board), words_(std::move(words)), roomBytes_(roomBytes), folder_(folder) {}

  Result<std::string> link() {
    Result<std::string> linked = linkFor(board_, "image");
    if (linked.ok() || linked.error().id != DiagnosticId::internalError) return linked;
    Board roomy = board_;
    roomy.flash.bytes = roomy.ram.bytes = kRamOrigin;
    const Result<std::string> whole = linkFor(roomy, "roomy");
    if (!whole.ok()) return linked;
    DYN_TRY(const MappedFile file, MappedFile::open(*whole));
    const uint64_t flash = bytesTaken(file.bytes(), roomy.flash),
                   ram = bytesTaken(file.bytes(), roomy.ram) + board_.stackBytes;
    if (flash <= board_.flash.bytes && ram <= board_.ram.bytes) return linked;
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the model is too large for the board " + std::string(board_.name) +
                         ": it needs " + kibibytes(flash) + " of flash, of " + kibibytes(board_.flash.bytes) +
                         " there, and " + kibibytes(ram) + " of RAM (with " + kibibytes(board_.stackBytes) +
                         " of stack), of " + kibibytes(board_.ram.bytes) + " there");
  }

 private:
  Result<std::string> linkFor(const Board& board, const std::string& name) {
    const std::string output = folder_.file(name), layout = folder_.file(name + ".ld");
    DYN_CHECK(writeFileAtomically(layout, {layoutOf(board)}));
    std::vector<std::string> words = words_;
    words.insert(words.end(), {"--nmagic", "-T", layout});
    DYN_CHECK(linkImage(std::move(words), output, roomBytes_));
    return output;
  }

  const Board& board_;
  std::vector<std::string> words_;
  size_t roomBytes_;
  TemporaryFolder& folder_;
};

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
  DYN_TRY(FreestandingObjects fixed, freestandingObjects(compiled, request.inputs.memoryBytes));
  DYN_TRY(std::string inputs, freestandingImageObject(request.inputs, compiled.target));
  fixed.objects.push_back(std::move(inputs));
  TemporaryFolder folder;
  DYN_CHECK(folder.make());
  const std::string list = folder.file("objects.txt");
  std::string files = "\"" + request.runtime + "\"\n";
  size_t roomBytes = size_t{1} << 20;
  for (size_t i = 0; i < fixed.objects.size(); ++i) {
    const std::string object = folder.file(std::to_string(i) + ".o");
    DYN_CHECK(writeFileAtomically(object, {fixed.objects[i]}));
    files += object + "\n";
    roomBytes += fixed.objects[i].size();
  }
  DYN_CHECK(writeFileAtomically(list, {files}));
  std::vector<std::string> words = {"-static", "--gc-sections", "--build-id=none", "-z", "norelro",
                                    "-s",      "@" + list};
  std::string output = folder.file("image");
  if (board) {
    DYN_TRY(output, BoardLink(*board, std::move(words), roomBytes, folder).link());
  } else {
    DYN_CHECK(linkImage(std::move(words), output, roomBytes));
  }
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
