#include "compiler/codegen/object/running_code.h"

#include <dlfcn.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "compiler/codegen/llvm/llvm_target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

// Of the unwinder that every C++ program has; its header is not installed.
struct dwarf_eh_bases {
  void *tbase, *dbase, *func;
};
extern "C" const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);

namespace dyn {

namespace {

constexpr uint64_t kMostBytes = 1 << 20;  // of one function
constexpr uint64_t kLongest = 16;         // of one instruction

// Where the function that holds the address begins; 0: none is known there.
uint64_t functionAt(uint64_t address) {
  dwarf_eh_bases bases{};
  const void* found = _Unwind_Find_FDE(reinterpret_cast<void*>(address), &bases);
  return found ? reinterpret_cast<uint64_t>(bases.func) : 0;
}

uint64_t endOf(uint64_t begin) {
  uint64_t end = begin;
  while (end - begin < kMostBytes && functionAt(end) == begin) ++end;
  return end;
}

uint64_t fileOf(uint64_t address, std::string* name = nullptr) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0) return 0;
  if (name) *name = info.dli_fname ? info.dli_fname : "";
  return reinterpret_cast<uint64_t>(info.dli_fbase);
}

// Names of functions by address, from the symbols of the file that holds them; none in a stripped one.
class SymbolNames {
 public:
  explicit SymbolNames(uint64_t address) {
    std::string path;
    const uint64_t base = fileOf(address, &path);
    auto file = llvm::object::ObjectFile::createObjectFile(path);
    if (!file) {
      llvm::consumeError(file.takeError());
      return;
    }
    // A program that cannot be moved lies where its file says.
    const auto* elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->getBinary());
    const uint64_t moved = elf && elf->getEType() == llvm::ELF::ET_DYN ? base : 0;
    for (const llvm::object::SymbolRef& symbol : file->getBinary()->symbols()) {
      auto type = symbol.getType();
      auto at = symbol.getAddress();
      auto name = symbol.getName();
      const bool isFunction = type && *type == llvm::object::SymbolRef::ST_Function;
      if (isFunction && at && name && !name->empty()) names_.emplace(moved + *at, name->str());
      if (!type) llvm::consumeError(type.takeError());
      if (!at) llvm::consumeError(at.takeError());
      if (!name) llvm::consumeError(name.takeError());
    }
  }
  std::string of(uint64_t address) const {
    const auto found = names_.find(address);
    if (found != names_.end()) return llvm::demangle(found->second);
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_sname &&
        reinterpret_cast<uint64_t>(info.dli_saddr) == address)
      return llvm::demangle(info.dli_sname);
    return "function at " + llvm::utohexstr(address - fileOf(address), true);
  }

 private:
  std::map<uint64_t, std::string> names_;
};

class Disassembly {
 public:
  static Result<Disassembly> of(const MachineDescription& machine) {
    static std::once_flag once;
    std::call_once(once, [] { llvm::InitializeAllDisassemblers(); });
    DYN_TRY(const llvm::Target* target, lookupTarget(machine));
    const llvm::Triple triple(machine.triple);
    if (triple.getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch())
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: the program is for " + triple.getArchName().str() +
                           ", whose hand-written kernels are not in this process");
    Disassembly made;
    made.registers_.reset(target->createMCRegInfo(machine.triple));
    made.assembly_.reset(target->createMCAsmInfo(*made.registers_, machine.triple, llvm::MCTargetOptions()));
    // Code for other levels than this machine's is there, too.
    made.subtarget_.reset(target->createMCSubtargetInfo(machine.triple, machine.cpu,
                                                        triple.isX86() ? machine.features : "+all"));
    made.instructions_.reset(target->createMCInstrInfo());
    made.context_ = std::make_unique<llvm::MCContext>(triple, made.assembly_.get(), made.registers_.get(),
                                                      made.subtarget_.get());
    made.decoder_.reset(target->createMCDisassembler(*made.subtarget_, *made.context_));
    made.analysis_.reset(target->createMCInstrAnalysis(made.instructions_.get()));
    made.printer_.reset(target->createMCInstPrinter(triple, made.assembly_->getAssemblerDialect(),
                                                    *made.assembly_, *made.instructions_, *made.registers_));
    if (!made.decoder_ || !made.printer_ || !made.analysis_)
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: LLVM has no disassembler for " + machine.triple);
    return made;
  }

  struct Line {
    uint64_t address = 0, size = 0;
    std::string text;
    std::optional<uint64_t> jump;   // to an instruction of the same function, or to another function
    std::optional<uint64_t> other;  // another function that it names
  };

  std::vector<Line> lines(uint64_t begin, uint64_t end, size_t most) {
    std::vector<Line> lines;
    for (uint64_t at = begin; at < end && lines.size() < most;) {
      llvm::MCInst instruction;
      Line line{at, 1, ".byte", {}, {}};
      const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(at), std::min(end - at, kLongest));
      if (decoder_->getInstruction(instruction, line.size, bytes, at, llvm::nulls()) !=
          llvm::MCDisassembler::Success) {
        line.size = std::max<uint64_t>(1, line.size);
        at += line.size;
        lines.push_back(std::move(line));
        continue;
      }
      line.text.clear();
      llvm::raw_string_ostream out(line.text);
      printer_->printInst(&instruction, at, "", *subtarget_, out);
      uint64_t target = 0;
      if (analysis_->evaluateBranch(instruction, at, line.size, target)) {
        line.jump = target;
        if (target < begin || target >= end) line.other = target;
      } else if (const auto named =
                     analysis_->evaluateMemoryOperandAddress(instruction, subtarget_.get(), at, line.size)) {
        if (functionAt(*named) == *named) line.other = *named;  // its address is taken
      }
      at += line.size;
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

std::string runningLabelOf(uint64_t address, uint64_t begin) {
  return ".L" + llvm::utohexstr(address - begin, true);
}

// "\tjne\t123456" → "\tjne\t.L1c", with a name behind it where it leaves the function.
std::string runningTextOf(const Disassembly::Line& line, uint64_t begin, uint64_t end,
                          const SymbolNames& names) {
  std::string text = line.text;
  if (line.jump) text = text.substr(0, text.find_last_of("\t ") + 1);
  if (line.jump && *line.jump >= begin && *line.jump < end) return text + runningLabelOf(*line.jump, begin);
  if (line.jump) return text + names.of(*line.jump);
  return line.other ? text + "  # " + names.of(*line.other) : text;
}

Result<std::string> runningTextOf(Disassembly& disassembly, const SymbolNames& names, uint64_t entry,
                                  size_t mostInstructions) {
  const uint64_t file = fileOf(entry), first = functionAt(entry);
  if (first == 0)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the code of this kernel has no unwind table that says where it ends");
  std::deque<uint64_t> waiting = {first};
  std::set<uint64_t> known = {first};
  size_t left = mostInstructions;
  std::string text;
  for (; !waiting.empty() && left > 0; waiting.pop_front()) {
    const uint64_t begin = waiting.front(), end = endOf(begin);
    const std::vector<Disassembly::Line> lines = disassembly.lines(begin, end, left);
    left -= lines.size();
    std::set<uint64_t> labels;
    for (const Disassembly::Line& line : lines)
      if (line.jump && *line.jump >= begin && *line.jump < end) labels.insert(*line.jump);
    text += "# " + names.of(begin) + ", " + std::to_string(end - begin) + " bytes\n";
    for (const Disassembly::Line& line : lines) {
      if (labels.count(line.address)) text += runningLabelOf(line.address, begin) + ":\n";
      text += runningTextOf(line, begin, end, names) + "\n";
      // What leads into the middle of a function, such as its cold part, is none to be shown.
      if (line.other && functionAt(*line.other) == *line.other && fileOf(*line.other) == file &&
          known.insert(*line.other).second)
        waiting.push_back(*line.other);
    }
  }
  if (!waiting.empty())
    text += "# and " + std::to_string(waiting.size()) + " more functions that these call\n";
  return text;
}

}  // namespace

Result<std::vector<std::string>> textsOfRunningCode(const MachineDescription& machine,
                                                    const std::vector<const void*>& codes,
                                                    size_t mostInstructions) {
  DYN_TRY(Disassembly disassembly, Disassembly::of(machine));
  std::map<uint64_t, SymbolNames> names;  // by file
  std::vector<std::string> texts;
  for (const void* code : codes) {
    const auto entry = reinterpret_cast<uint64_t>(code);
    const auto known = names.try_emplace(fileOf(entry), entry).first;
    DYN_TRY(std::string text, runningTextOf(disassembly, known->second, entry, mostInstructions));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace dyn
