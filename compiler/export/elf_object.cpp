#include "compiler/export/elf_object.h"

#include <elf.h>

#include <cstring>
#include <map>

namespace dyn {

namespace {

constexpr uint64_t kElfPageBytes = 4096;

uint32_t addressRelocation(uint16_t machine) {
  switch (machine) {
    case EM_AARCH64:
      return 257;  // R_AARCH64_ABS64
    case EM_RISCV:
      return 2;  // R_RISCV_64
    default:
      return R_X86_64_64;
  }
}

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Names behind a first empty one.
struct NameTable {
  std::string text = std::string(1, '\0');
  uint32_t add(const std::string& name) {
    const auto at = static_cast<uint32_t>(text.size());
    text += name + '\0';
    return at;
  }
};

enum Section : uint16_t {
  none,
  bytes,
  strings,
  table,
  relocations,
  symbols,
  names,
  stack,
  sectionNames,
  count
};

// Symbols and relocations of the table's words.
struct Linking {
  NameTable names;
  std::string symbols, relocations;

  void symbol(uint32_t name, uint8_t info, uint16_t section, uint64_t size) {
    Elf64_Sym row = {};
    row.st_name = name;
    row.st_info = info;
    row.st_shndx = section;
    row.st_size = size;
    append(symbols, row);
  }
  uint32_t symbolCount() const { return static_cast<uint32_t>(symbols.size() / sizeof(Elf64_Sym)); }

  explicit Linking(const ElfTable& from) {
    symbol(0, 0, SHN_UNDEF, 0);
    symbol(0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), Section::bytes, 0);    // symbol 1
    symbol(0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), Section::strings, 0);  // symbol 2
    symbol(names.add(from.tableName), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), Section::table,
           from.words.size() * 8);
    std::map<std::string, uint32_t> known;
    for (size_t i = 0; i < from.words.size(); ++i) {
      const ElfWord& word = from.words[i];
      if (word.kind == ElfWord::Kind::number) continue;
      uint32_t target = word.kind == ElfWord::Kind::bytes ? 1 : 2;
      if (word.kind == ElfWord::Kind::symbol) {
        auto [found, fresh] = known.emplace(word.symbol, symbolCount());
        target = found->second;
        if (fresh) symbol(names.add(word.symbol), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), SHN_UNDEF, 0);
      }
      Elf64_Rela row = {};
      row.r_offset = i * 8;
      row.r_info = ELF64_R_INFO(static_cast<uint64_t>(target), addressRelocation(from.machine.machine));
      row.r_addend = static_cast<int64_t>(word.number);
      append(relocations, row);
    }
  }
};

}  // namespace

Result<ElfMachine> elfMachineOf(std::string_view object) {
  Elf64_Ehdr header;
  const bool fits = object.size() >= sizeof header;
  if (fits) std::memcpy(&header, object.data(), sizeof header);
  if (!fits || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64 && header.e_machine != EM_RISCV))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a library for this kind of processor: its objects are not 64-bit ELF for "
                     "x86-64, AArch64 or RISC-V");
  return ElfMachine{header.e_machine, header.e_flags};
}

std::vector<std::string_view> writeElfTable(const ElfTable& from, std::vector<std::string>& owned) {
  const Linking linking(from);
  std::string words;
  for (const ElfWord& word : from.words)
    append(words, word.kind == ElfWord::Kind::number ? word.number : uint64_t{0});
  uint64_t dataBytes = 0;
  for (std::string_view piece : from.bytes) dataBytes += piece.size();

  NameTable titles;
  std::vector<Elf64_Shdr> headers(Section::count);
  uint64_t offset = kElfPageBytes;  // the first page: header, and nothing
  const auto place = [&](Section section, const char* name, uint32_t type, uint64_t flags, uint64_t size,
                         uint64_t alignment) -> Elf64_Shdr& {
    offset = (offset + alignment - 1) / alignment * alignment;
    Elf64_Shdr& row = headers[section];
    row.sh_name = titles.add(name);
    row.sh_type = type;
    row.sh_flags = flags;
    row.sh_offset = offset;
    row.sh_size = size;
    row.sh_addralign = alignment;
    offset += size;
    return row;
  };
  place(Section::bytes, ".rodata.dyn_model", SHT_PROGBITS, SHF_ALLOC, dataBytes, kElfPageBytes);
  place(Section::strings, ".rodata.dyn_names", SHT_PROGBITS, SHF_ALLOC, from.strings.size(), 1);
  place(Section::table, ".data.rel.ro.dyn_model", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words.size(), 8);
  Elf64_Shdr& rela = place(Section::relocations, ".rela.data.rel.ro.dyn_model", SHT_RELA, SHF_INFO_LINK,
                           linking.relocations.size(), 8);
  rela.sh_link = Section::symbols;
  rela.sh_info = Section::table;
  rela.sh_entsize = sizeof(Elf64_Rela);
  Elf64_Shdr& symtab = place(Section::symbols, ".symtab", SHT_SYMTAB, 0, linking.symbols.size(), 8);
  symtab.sh_link = Section::names;
  symtab.sh_info = 3;  // so many are local
  symtab.sh_entsize = sizeof(Elf64_Sym);
  place(Section::names, ".strtab", SHT_STRTAB, 0, linking.names.text.size(), 1);
  place(Section::stack, ".note.GNU-stack", SHT_PROGBITS, 0, 0, 1);
  const uint32_t titlesName = titles.add(".shstrtab");
  place(Section::sectionNames, ".shstrtab", SHT_STRTAB, 0, 0, 1).sh_name = titlesName;
  headers[Section::sectionNames].sh_size = titles.text.size();
  offset = headers[Section::sectionNames].sh_offset + titles.text.size();
  const uint64_t tableOffset = (offset + 7) / 8 * 8;

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = from.machine.machine;
  header.e_version = EV_CURRENT;
  header.e_flags = from.machine.flags;
  header.e_shoff = tableOffset;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = Section::count;
  header.e_shstrndx = Section::sectionNames;

  std::string front, back;
  append(front, header);
  front.resize(kElfPageBytes, '\0');
  const uint64_t backOffset = kElfPageBytes + dataBytes;
  const auto put = [&](Section section, const std::string& content) {
    back.resize(headers[section].sh_offset - backOffset, '\0');
    back += content;
  };
  put(Section::strings, from.strings);
  put(Section::table, words);
  put(Section::relocations, linking.relocations);
  put(Section::symbols, linking.symbols);
  put(Section::names, linking.names.text);
  put(Section::sectionNames, titles.text);
  back.resize(tableOffset - backOffset, '\0');
  for (const Elf64_Shdr& row : headers) append(back, row);

  owned = {std::move(front), std::move(back)};
  std::vector<std::string_view> pieces = {owned[0]};
  pieces.insert(pieces.end(), from.bytes.begin(), from.bytes.end());
  pieces.push_back(owned[1]);
  return pieces;
}

namespace {

// Fields of a member's header are text, padded with spaces. Time, owner and mode are the same for all.
std::string memberHeader(const std::string& name, uint64_t size) {
  const auto field = [](std::string text, size_t width) {
    text.resize(width, ' ');
    return text;
  };
  return field(name, 16) + field("0", 12) + field("0", 6) + field("0", 6) + field("644", 8) +
         field(std::to_string(size), 10) + "`\n";
}

void appendBigEndian(std::string& to, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>(value >> (8 * i));
}

}  // namespace

std::string archiveHead(const std::string& memberName, uint64_t objectBytes,
                        const std::vector<std::string>& symbols) {
  std::string names;
  for (const std::string& symbol : symbols) names += symbol + '\0';
  if (names.size() % 2 != 0) names += '\0';
  const uint64_t indexBytes = 4 + 4 * symbols.size() + names.size();
  std::string head = "!<arch>\n" + memberHeader("/", indexBytes);
  const uint64_t member = head.size() + indexBytes;
  appendBigEndian(head, symbols.size(), 4);
  for (size_t i = 0; i < symbols.size(); ++i) appendBigEndian(head, member, 4);
  return head + names + memberHeader(memberName.substr(0, 15) + "/", objectBytes);
}

}  // namespace dyn
