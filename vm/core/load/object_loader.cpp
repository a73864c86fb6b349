#include "vm/core/load/object_loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <vector>

namespace dyn::vm {

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE, kAbsolute = R_X86_64_64, kGlobal = R_X86_64_GLOB_DAT,
                   kJump = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE, kAbsolute = R_AARCH64_ABS64, kGlobal = R_AARCH64_GLOB_DAT,
                   kJump = R_AARCH64_JUMP_SLOT;
#elif defined(__riscv)
constexpr uint16_t kMachine = EM_RISCV;
constexpr uint32_t kRelative = R_RISCV_RELATIVE, kAbsolute = R_RISCV_64, kGlobal = R_RISCV_64,
                   kJump = R_RISCV_JUMP_SLOT;
#else
constexpr uint16_t kMachine = EM_NONE;
constexpr uint32_t kRelative = 1, kAbsolute = 2, kGlobal = 3, kJump = 4;
#endif

constexpr uint64_t kMostBytes = uint64_t{1} << 32;

// What code generation calls where the processor has no instruction for it.
void* functionOfTheSystem(const std::string& name) {
  using One = double (*)(double);
  using OneFloat = float (*)(float);
  using Two = double (*)(double, double);
  using TwoFloat = float (*)(float, float);
  static const std::unordered_map<std::string, void*> kFunctions = {
      {"memcpy", reinterpret_cast<void*>(&memcpy)},
      {"memmove", reinterpret_cast<void*>(&memmove)},
      {"memset", reinterpret_cast<void*>(&memset)},
      {"memcmp", reinterpret_cast<void*>(&memcmp)},
      {"bcmp", reinterpret_cast<void*>(&memcmp)},
      {"floor", reinterpret_cast<void*>(static_cast<One>(&::floor))},
      {"floorf", reinterpret_cast<void*>(static_cast<OneFloat>(&::floorf))},
      {"ceil", reinterpret_cast<void*>(static_cast<One>(&::ceil))},
      {"ceilf", reinterpret_cast<void*>(static_cast<OneFloat>(&::ceilf))},
      {"trunc", reinterpret_cast<void*>(static_cast<One>(&::trunc))},
      {"truncf", reinterpret_cast<void*>(static_cast<OneFloat>(&::truncf))},
      {"rint", reinterpret_cast<void*>(static_cast<One>(&::rint))},
      {"rintf", reinterpret_cast<void*>(static_cast<OneFloat>(&::rintf))},
      {"nearbyint", reinterpret_cast<void*>(static_cast<One>(&::nearbyint))},
      {"nearbyintf", reinterpret_cast<void*>(static_cast<OneFloat>(&::nearbyintf))},
      // Equal under the rounding that every program starts with, which nothing here changes.
      {"roundeven", reinterpret_cast<void*>(static_cast<One>(&::rint))},
      {"roundevenf", reinterpret_cast<void*>(static_cast<OneFloat>(&::rintf))},
      {"round", reinterpret_cast<void*>(static_cast<One>(&::round))},
      {"roundf", reinterpret_cast<void*>(static_cast<OneFloat>(&::roundf))},
      {"fmod", reinterpret_cast<void*>(static_cast<Two>(&::fmod))},
      {"fmodf", reinterpret_cast<void*>(static_cast<TwoFloat>(&::fmodf))},
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&::fmaf))},
  };
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? nullptr : found->second;
}

Status damaged(const char* what) {
  return failure(DYN_BAD_PROGRAM, std::string("object code cannot be loaded: ") + what);
}

int protectionOf(uint32_t flags) {
  return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

// The object while it is being loaded: every place in it is checked before it is read.
class Image {
 public:
  Image(char* base, uint64_t size, LoadedObject::Resolver otherwise)
      : base_(base), size_(size), otherwise_(otherwise) {}
  template <typename T>
  T* at(uint64_t address, uint64_t count = 1) const {
    if (address > size_ || count > (size_ - address) / sizeof(T) || address % alignof(T) != 0) return nullptr;
    return reinterpret_cast<T*>(base_ + address);
  }
  // Of the table of strings; null where it does not end in it.
  const char* string(uint64_t offset) const {
    if (offset >= stringBytes || !at<char>(strings, stringBytes)) return nullptr;
    const char* text = base_ + strings + offset;
    return memchr(text, 0, stringBytes - offset) ? text : nullptr;
  }
  Status readDynamic(const Elf64_Dyn* rows, uint64_t count);
  Status relocate() const;
  Status addressOf(const Elf64_Sym& symbol, uint64_t& address) const;

  uint64_t strings = 0, stringBytes = 0, symbols = 0, symbolCount = 0;

 private:
  char* base_;
  uint64_t size_, hash_ = 0;
  LoadedObject::Resolver otherwise_;
  struct Relocations {
    uint64_t address = 0, bytes = 0;
  } relocations_[2];
};

Status Image::readDynamic(const Elf64_Dyn* rows, uint64_t count) {
  for (uint64_t i = 0; i < count && rows[i].d_tag != DT_NULL; ++i) {
    const uint64_t value = rows[i].d_un.d_val;
    switch (rows[i].d_tag) {
      case DT_STRTAB:
        strings = value;
        break;
      case DT_STRSZ:
        stringBytes = value;
        break;
      case DT_SYMTAB:
        symbols = value;
        break;
      case DT_HASH:
        hash_ = value;
        break;
      case DT_RELA:
        relocations_[0].address = value;
        break;
      case DT_RELASZ:
        relocations_[0].bytes = value;
        break;
      case DT_JMPREL:
        relocations_[1].address = value;
        break;
      case DT_PLTRELSZ:
        relocations_[1].bytes = value;
        break;
      case DT_INIT:
      case DT_INIT_ARRAY:
      case DT_NEEDED:
        return failure(DYN_UNSUPPORTED, "object code that needs a library or initialisers");
      default:
        break;
    }
  }
  const auto* hash = at<uint32_t>(hash_, 2);  // buckets, symbols
  if (!hash) return damaged("it has no table of names");
  symbolCount = hash[1];
  return at<Elf64_Sym>(symbols, symbolCount) ? okStatus() : damaged("its table of symbols is out of range");
}

Status Image::addressOf(const Elf64_Sym& symbol, uint64_t& address) const {
  if (symbol.st_shndx != SHN_UNDEF) {
    if (symbol.st_value > size_) return damaged("a symbol is out of range");
    address = reinterpret_cast<uint64_t>(base_) + symbol.st_value;
    return okStatus();
  }
  const char* name = string(symbol.st_name);
  if (!name) return damaged("a symbol has no name");
  void* function = functionOfTheSystem(name);
  if (!function && otherwise_) function = otherwise_(name);
  if (!function)
    return failure(DYN_UNSUPPORTED,
                   std::string("object code that calls ") + name + ", which this program does not give it");
  address = reinterpret_cast<uint64_t>(function);
  return okStatus();
}

Status Image::relocate() const {
  for (const Relocations& table : relocations_) {
    const uint64_t count = table.bytes / sizeof(Elf64_Rela);
    const auto* rows = at<Elf64_Rela>(table.address, count);
    if (count > 0 && !rows) return damaged("its relocations are out of range");
    for (uint64_t i = 0; i < count; ++i) {
      auto* place = at<uint64_t>(rows[i].r_offset);
      const uint64_t type = ELF64_R_TYPE(rows[i].r_info), symbol = ELF64_R_SYM(rows[i].r_info);
      if (!place || symbol >= symbolCount) return damaged("a relocation is out of range");
      uint64_t address = reinterpret_cast<uint64_t>(base_);
      if (type == kRelative && static_cast<uint64_t>(rows[i].r_addend) > size_)
        return damaged("a relocation points outside");
      if (type != kRelative) {
        if (type != kAbsolute && type != kGlobal && type != kJump)
          return damaged("it has a relocation that is not known");
        if (Status status = addressOf(at<Elf64_Sym>(symbols)[symbol], address); !status.ok()) return status;
      }
      *place = address + static_cast<uint64_t>(rows[i].r_addend);
    }
  }
  return okStatus();
}

// The program headers, when the bytes are an object of this machine.
Status headersOf(const char* bytes, uint64_t size, std::vector<Elf64_Phdr>& headers) {
  Elf64_Ehdr head;
  if (size < sizeof head) return damaged("it is cut off");
  memcpy(&head, bytes, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_type != ET_DYN || head.e_machine != kMachine)
    return damaged("it is not a shared object of this machine");
  if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phoff > size ||
      head.e_phnum > (size - head.e_phoff) / sizeof(Elf64_Phdr))
    return damaged("its headers are out of range");
  if (head.e_phnum == 0) return damaged("it has no code");
  headers.resize(head.e_phnum);
  memcpy(headers.data(), bytes + head.e_phoff, head.e_phnum * sizeof(Elf64_Phdr));
  for (const Elf64_Phdr& row : headers)
    if (row.p_type == PT_LOAD &&
        (row.p_offset > size || row.p_filesz > size - row.p_offset || row.p_filesz > row.p_memsz ||
         row.p_vaddr > kMostBytes || row.p_memsz > kMostBytes))
      return damaged("a segment is out of range");
  return okStatus();
}

}  // namespace

Status LoadedObject::load(const void* data, uint64_t sizeBytes, std::unique_ptr<LoadedObject>& object,
                          Resolver otherwise) {
  const auto* bytes = static_cast<const char*>(data);
  std::vector<Elf64_Phdr> headers;
  if (Status status = headersOf(bytes, sizeBytes, headers); !status.ok()) return status;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto toPage = [page](uint64_t at) { return (at + page - 1) / page * page; };
  uint64_t end = 0;
  const Elf64_Phdr* dynamic = nullptr;
  for (const Elf64_Phdr& row : headers) {
    if (row.p_type == PT_LOAD) end = std::max(end, toPage(row.p_vaddr + row.p_memsz));
    if (row.p_type == PT_DYNAMIC) dynamic = &row;
  }
  if (end == 0 || !dynamic) return damaged("it has no code");
  std::unique_ptr<LoadedObject> made(new LoadedObject());
  void* room = mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    return failure(DYN_OUT_OF_MEMORY, std::string("cannot make room for object code: ") + strerror(errno));
  made->base_ = static_cast<char*>(room);
  made->sizeBytes_ = end;
  for (const Elf64_Phdr& row : headers)
    if (row.p_type == PT_LOAD) memcpy(made->base_ + row.p_vaddr, bytes + row.p_offset, row.p_filesz);
  Image image(made->base_, end, otherwise);
  const uint64_t rowCount = dynamic->p_memsz / sizeof(Elf64_Dyn);
  const auto* rows = image.at<Elf64_Dyn>(dynamic->p_vaddr, rowCount);
  if (!rows) return damaged("its table is out of range");
  if (Status status = image.readDynamic(rows, rowCount); !status.ok()) return status;
  if (Status status = image.relocate(); !status.ok()) return status;
  const auto* symbols = image.at<Elf64_Sym>(image.symbols, image.symbolCount);
  for (uint64_t i = 0; i < image.symbolCount; ++i) {
    const char* name = image.string(symbols[i].st_name);
    if (!name || symbols[i].st_shndx == SHN_UNDEF) continue;
    if (symbols[i].st_value >= end) return damaged("a symbol is out of range");
    made->symbols_[name] = made->base_ + symbols[i].st_value;
  }
  for (const Elf64_Phdr& row : headers) {
    if (row.p_type != PT_LOAD) continue;
    const uint64_t first = row.p_vaddr / page * page;
    if (mprotect(made->base_ + first, toPage(row.p_vaddr + row.p_memsz) - first, protectionOf(row.p_flags)) !=
        0)
      return failure(DYN_IO_ERROR, std::string("cannot make code executable: ") + strerror(errno));
    const Range range{row.p_vaddr, row.p_vaddr + row.p_memsz};
    if (row.p_flags & PF_R) made->readable_.push_back(range);
    if (row.p_flags & PF_X) made->code_.push_back(range);
  }
  __builtin___clear_cache(made->base_, made->base_ + end);
  object = std::move(made);
  return okStatus();
}

LoadedObject::~LoadedObject() {
  if (base_) munmap(base_, sizeBytes_);
}

bool LoadedObject::isReadable(const void* at, uint64_t bytes) const {
  const uint64_t offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(base_);
  return std::any_of(readable_.begin(), readable_.end(), [&](const Range& range) {
    return offset >= range.begin && offset <= range.end && bytes <= range.end - offset;
  });
}

bool LoadedObject::isCode(const void* at) const {
  const uint64_t offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(base_);
  return std::any_of(code_.begin(), code_.end(),
                     [&](const Range& range) { return offset >= range.begin && offset < range.end; });
}

void* LoadedObject::findCode(const std::string& symbol) const {
  void* found = find(symbol);
  return found && isCode(found) ? found : nullptr;
}

void* LoadedObject::find(const std::string& symbol) const {
  const auto found = symbols_.find(symbol);
  return found == symbols_.end() ? nullptr : found->second;
}

}  // namespace dyn::vm
