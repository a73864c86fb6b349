#include <cstring>
#include <set>

#include "tests/simcuda/ptx/fault.h"
#include "tests/simcuda/ptx/program.h"
#include "tests/simcuda/ptx/tokens.h"

namespace simcuda {
namespace {

using std::string;

// Reads tokens one after the other. A kernel's body is a list of statements: `.directive ...`, `label:`, `{`,
// `}`, `[@p] opcode operands;`.
class Parser {
 public:
  explicit Parser(const string& text) : tokens_(tokenize(text)) {}

  ModuleText module() {
    while (token().kind != Token::Kind::End) moduleDirective();
    if (module_.target == 0) fail("no .target");
    return std::move(module_);
  }

 private:
  // Several numbered registers share a declaration: `.reg .b32 %r<8>;`.
  struct Range {
    Width width;
    unsigned count;
  };
  struct Scope {
    std::map<string, int, std::less<>> single;
    std::map<string, Range, std::less<>> ranges;
  };

  const Token& token() const { return tokens_[at_]; }
  [[noreturn]] void fail(const string& what) const { throw LoadError(token().line, what); }
  bool is(std::string_view text) const { return token().text == text && token().kind != Token::Kind::String; }
  bool take(std::string_view text) { return is(text) ? ++at_, true : false; }
  void expect(std::string_view text) {
    if (!take(text)) fail("expected " + string(text) + " before '" + string(token().text) + "'");
  }
  string word() {
    if (token().kind != Token::Kind::Word) fail("expected a name before '" + string(token().text) + "'");
    return string(tokens_[at_++].text);
  }
  uint64_t number() {
    string text = word();
    char* end = nullptr;
    uint64_t value = std::strtoull(text.c_str(), &end, 0);
    if (*end != 0 && std::strcmp(end, "U") != 0) fail("'" + text + "' is not a number");
    return value;
  }
  void skipLine() {
    for (int line = token().line; token().kind != Token::Kind::End && token().line == line;) at_++;
  }
  void skipBraces() {
    int depth = 0;
    do {
      if (token().kind == Token::Kind::End) fail("a brace without an end");
      depth += is("{") ? 1 : is("}") ? -1 : 0;
      at_++;
    } while (depth > 0);
  }

  void moduleDirective() {
    if (take(".version")) {
      string version = word();
      module_.version =
          std::atoi(version.c_str()) * 10 + (version.find('.') == string::npos ? 0 : version.back() - '0');
    } else if (take(".target")) {
      target();
    } else if (take(".address_size")) {
      if (number() != 64) fail("unsupported: addresses of other than 64 bits");
    } else if (take(".file")) {
      file();
    } else if (take(".section")) {
      word();
      skipBraces();
    } else if (take(".visible") || take(".weak") || take(".extern")) {
      external_ = tokens_[at_ - 1].text == ".extern";
    } else if (take(".entry")) {
      kernel();
    } else if (is(".func")) {
      fail("unsupported: functions besides kernels; inline them");
    } else if (is(".global") || is(".const") || is(".shared")) {
      module_.variables.push_back(variable());
      external_ = false;
    } else {
      fail("unknown directive '" + string(token().text) + "'");
    }
  }

  void target() {
    string name = word();
    if (name.rfind("sm_", 0) != 0) fail("'" + name + "' is not a target");
    module_.target = std::atoi(name.c_str() + 3);
    module_.targetIsExact = name.back() == 'a';
    while (take(",")) {
      if (word() != "debug") fail("unknown option of .target");
    }
  }

  void file() {
    uint64_t index = number();
    if (module_.files.count(static_cast<int>(index))) fail("a second file " + std::to_string(index));
    module_.files[static_cast<int>(index)] = string(tokens_[at_++].text);
    while (take(",")) at_++;
  }

  // Bytes of `.b8`, `.f32`, ...; 0 for what is none of these.
  static unsigned typeBytes(std::string_view type) {
    static const std::map<string, unsigned, std::less<>> kBytes = {
        {".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2}, {".u16", 2},
        {".s16", 2}, {".f16", 2}, {".b32", 4}, {".u32", 4}, {".s32", 4},
        {".f32", 4}, {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8}};
    auto it = kBytes.find(type);
    return it == kBytes.end() ? 0 : it->second;
  }

  Space spaceOf(const string& directive) {
    if (directive == ".shared") return Space::Shared;
    if (directive == ".local") return Space::Local;
    if (directive == ".const") return Space::Const;
    if (directive == ".param") return Space::Param;
    return Space::Global;
  }

  // .shared .align 16 .b8 tile[1024]   without what ends it
  Variable variableWithoutEnd() {
    Variable v;
    v.space = spaceOf(word());
    for (;;) {
      if (take(".align")) {
        v.align = number();
      } else if (take(".ptr")) {
        if (is(".global") || is(".shared") || is(".const") || is(".local")) at_++;
      } else {
        break;
      }
    }
    string type = word();
    v.elementBytes = typeBytes(type);
    if (v.elementBytes == 0) fail("unknown type '" + type + "' of a variable");
    // `.param .u64 .ptr .global .align 4 name`: what the pointer points to says nothing of the parameter.
    while (take(".ptr") || take(".global") || take(".shared") || take(".const") || take(".local"))
      ;
    if (take(".align")) number();
    v.align = std::max(v.align, v.elementBytes);
    v.name = word();
    v.bytes = v.elementBytes;
    while (take("[")) {
      if (take("]")) {
        v.unsized = true;
        v.bytes = 0;
      } else {
        v.bytes *= number();
        expect("]");
      }
    }
    if (take("=")) values(v);
    if (v.unsized && !(external_ && v.space == Space::Shared)) fail("a variable without a size");
    return v;
  }

  Variable variable() {
    Variable v = variableWithoutEnd();
    expect(";");
    return v;
  }

  void values(Variable& v) {
    bool list = take("{");
    do {
      bool minus = take("-");
      Operand value = literal(word());
      uint64_t bits = minus ? 0 - value.bits : value.bits;
      for (unsigned i = 0; i < v.elementBytes; i++) v.values.push_back(static_cast<uint8_t>(bits >> (8 * i)));
    } while (list && take(","));
    if (list) expect("}");
    if (v.values.size() > v.bytes) fail("more values than the variable holds");
  }

  Operand literal(const string& text) {
    Operand o;
    char* end = nullptr;
    if (text.size() == 10 && (text.rfind("0f", 0) == 0 || text.rfind("0F", 0) == 0)) {
      o.kind = Operand::Kind::Real32;
      o.bits = std::strtoull(text.c_str() + 2, &end, 16);
    } else if (text.size() == 18 && (text.rfind("0d", 0) == 0 || text.rfind("0D", 0) == 0)) {
      o.kind = Operand::Kind::Real64;
      o.bits = std::strtoull(text.c_str() + 2, &end, 16);
    } else {
      o.kind = Operand::Kind::Integer;
      o.bits = std::strtoull(text.c_str(), &end, 0);
      if (*end == 'U') end++;
    }
    if (*end != 0) fail("unsupported: '" + text + "' as a number");
    return o;
  }

  void kernel() {
    kernel_ = {};
    place_ = {};
    kernel_.name = word();
    kernel_.line = token().line;
    if (take("(") && !take(")")) {
      do kernel_.parameters.push_back(variableWithoutEnd());
      while (take(","));
      expect(")");
    }
    while (!is("{")) tuning();
    expect("{");
    scopes_.assign(1, {});
    while (!scopes_.empty()) statement();
    module_.kernels.push_back(std::move(kernel_));
  }

  void tuning() {
    auto triple = [&](std::array<uint32_t, 3>& to) {
      to = {1, 1, 1};
      int i = 0;
      do to[i++] = static_cast<uint32_t>(number());
      while (i < 3 && take(","));
    };
    if (take(".maxntid")) {
      triple(kernel_.maxThreads);
    } else if (take(".reqntid")) {
      triple(kernel_.requiredThreads);
    } else if (take(".minnctapersm") || take(".maxnreg")) {
      number();
    } else {
      fail("unknown directive '" + string(token().text) + "' of a kernel");
    }
  }

  void statement() {
    if (token().kind == Token::Kind::End) fail("a kernel without an end");
    if (take("{")) {
      scopes_.emplace_back();
    } else if (take("}")) {
      scopes_.pop_back();
    } else if (is(".reg")) {
      registers();
    } else if (is(".shared") || is(".local")) {
      kernel_.variables.push_back(variable());
    } else if (is(".loc")) {
      location();
    } else if (take(".pragma")) {
      while (!take(";")) at_++;
    } else if (token().kind == Token::Kind::Word && token().text[0] == '.') {
      fail("unknown directive '" + string(token().text) + "'");
    } else if (tokens_[at_ + 1].text == ":" && token().kind == Token::Kind::Word) {
      label();
    } else {
      instruction();
    }
  }

  void label() {
    string name = word();
    expect(":");
    if (take(".branchtargets")) {
      do kernel_.tables[name].push_back(word());
      while (take(","));
      expect(";");
    } else if (!kernel_.labels.emplace(name, kernel_.body.size()).second) {
      fail("label '" + name + "' stands twice");
    }
  }

  // .loc 1 17 5, function_name $L__info_string0, inlined_at 1 30 9     what follows the comma is on the same
  // line
  void location() {
    size_t begin = at_;
    at_++;
    place_.file = static_cast<int>(number());
    place_.line = static_cast<int>(number());
    at_ = begin;
    skipLine();
  }

  void registers() {
    at_++;
    string type = word();
    Width width;
    if (type == ".pred") {
      width = Width::Predicate;
    } else {
      switch (typeBytes(type)) {
        case 2:
          width = Width::Bits16;
          break;
        case 4:
          width = Width::Bits32;
          break;
        case 8:
          width = Width::Bits64;
          break;
        default:
          fail("unsupported: registers of type '" + type + "'");
      }
    }
    do {
      string name = word();
      if (take("<")) {
        scopes_.back().ranges[name] = {width, static_cast<unsigned>(number())};
        expect(">");
      } else {
        scopes_.back().single[name] = addRegister(name, width);
      }
    } while (take(","));
    expect(";");
  }

  int addRegister(const string& name, Width width) {
    kernel_.registers.push_back({name, width});
    return static_cast<int>(kernel_.registers.size()) - 1;
  }

  // The register of that name, or -1. One of a range is made when it is first seen.
  int findRegister(const string& name) {
    size_t digits = name.find_last_not_of("0123456789") + 1;
    for (size_t i = scopes_.size(); i-- > 0;) {
      auto single = scopes_[i].single.find(name);
      if (single != scopes_[i].single.end()) return single->second;
      auto range =
          digits < name.size() ? scopes_[i].ranges.find(name.substr(0, digits)) : scopes_[i].ranges.end();
      if (range == scopes_[i].ranges.end()) continue;
      if (std::strtoul(name.c_str() + digits, nullptr, 10) >= range->second.count) {
        fail("register " + name + " is beyond its declaration");
      }
      return scopes_[i].single[name] = addRegister(name, range->second.width);
    }
    return -1;
  }

  int registerNamed(const string& name) {
    int index = findRegister(name);
    if (index < 0) fail("register " + name + " is not declared");
    return index;
  }

  void instruction() {
    Instruction i;
    i.line = token().line;
    i.place = place_;
    if (take("@")) {
      i.guardNegated = take("!");
      i.guard = registerNamed(word());
      if (kernel_.registers[i.guard].width != Width::Predicate) fail("a guard is a predicate");
    }
    i.opcode = word();
    if (!is(";")) {
      do i.operands.push_back(operand());
      while (take(","));
    }
    expect(";");
    kernel_.body.push_back(std::move(i));
  }

  Operand operand() {
    if (take("{")) {
      Operand o;
      o.kind = Operand::Kind::Vector;
      do o.parts.push_back(operand());
      while (take(","));
      expect("}");
      return o;
    }
    if (take("[")) return address();
    bool negated = take("!");
    bool minus = take("-");
    Operand o = single(word(), minus);
    if (negated && o.kind != Operand::Kind::Register) fail("only a predicate can be negated");
    o.negated = negated;
    if (take("|")) o.second = registerNamed(word());
    return o;
  }

  Operand single(const string& text, bool minus) {
    static const std::set<string, std::less<>> kSpecial = {
        "%tid.x",          "%tid.y",       "%tid.z",       "%ntid.x",
        "%ntid.y",         "%ntid.z",      "%ctaid.x",     "%ctaid.y",
        "%ctaid.z",        "%nctaid.x",    "%nctaid.y",    "%nctaid.z",
        "%laneid",         "%warpid",      "%nwarpid",     "%smid",
        "%nsmid",          "%gridid",      "%lanemask_eq", "%lanemask_lt",
        "%lanemask_le",    "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size",
        "%total_smem_size"};
    Operand o;
    if (std::isdigit(static_cast<unsigned char>(text[0]))) {
      o = literal(text);
      if (minus) o.bits = 0 - o.bits;
      return o;
    }
    if (minus) fail("'-' before a name");
    if (text == "_") return o;
    o.index = findRegister(text);
    if (o.index >= 0) {
      o.kind = Operand::Kind::Register;
    } else if (kSpecial.count(text)) {
      o.kind = Operand::Kind::Special;
      o.name = text;
    } else if (text[0] == '%') {
      fail("register " + text + " is not declared, nor is it a special one that is known");
    } else {
      o.kind = Operand::Kind::Symbol;
      o.name = text;
      o.offset = offset();
    }
    return o;
  }

  int64_t offset() {
    if (take("+")) {
      bool minus = take("-");
      int64_t value = static_cast<int64_t>(number());
      return minus ? -value : value;
    }
    return take("-") ? -static_cast<int64_t>(number()) : 0;
  }

  Operand address() {
    Operand o = single(word(), false);
    switch (o.kind) {
      case Operand::Kind::Register:
      case Operand::Kind::Symbol:
        break;
      case Operand::Kind::Integer:
        o.offset = static_cast<int64_t>(o.bits);
        o.index = -1;
        break;
      default:
        fail("this is not an address");
    }
    o.kind = Operand::Kind::Address;
    if (is("+") || is("-")) o.offset += offset();
    expect("]");
    return o;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool external_ = false;
  ModuleText module_;
  KernelText kernel_;
  Place place_;
  std::vector<Scope> scopes_;
};

}  // namespace

ModuleText parseModule(const string& text) { return Parser(text).module(); }

}  // namespace simcuda
