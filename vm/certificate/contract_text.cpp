#include "vm/certificate/contract_text.h"

#include <cctype>

namespace dyn::certificate {

namespace {

constexpr int kDepth = 100;

bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

class DimParser {
 public:
  DimParser(std::string_view text, const std::map<std::string, Polynomial>& names, Atoms& atoms)
      : text_(text), names_(names), atoms_(atoms) {}

  Value all() {
    const Value value = sum(0);
    space();
    return at_ == text_.size() ? value : Value();
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Value sum(int depth) {
    Value value = take('-') ? difference(Polynomial(), term(depth)) : term(depth);
    while (value) {
      if (take('+'))
        value = certificate::sum(value, term(depth));
      else if (take('-'))
        value = difference(value, term(depth));
      else
        break;
    }
    return value;
  }
  Value term(int depth) {
    Value value = factor(depth);
    while (value && take('*')) {
      const Value next = factor(depth);
      value = next ? product(*value, *next) : next;
    }
    return value;
  }

  Value factor(int depth) {
    if (depth > kDepth) return std::nullopt;
    if (take('(')) {
      const Value value = sum(depth + 1);
      return take(')') ? value : Value();
    }
    space();
    std::string word;
    while (at_ < text_.size() && isNameCharacter(text_[at_])) word += text_[at_++];
    if (word.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      int64_t number = 0;
      for (const char c : word)
        if (std::isdigit(static_cast<unsigned char>(c)) == 0 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, c - '0', &number))
          return std::nullopt;
      return Polynomial(number);
    }
    if (take('(')) return call(word, depth + 1);
    const auto at = names_.find(word);
    return at == names_.end() ? Value() : Value(at->second);
  }

  Value call(const std::string& name, int depth) {
    const Value a = sum(depth);
    if (!a || !take(',')) return std::nullopt;
    const Value b = sum(depth);
    if (!b || !take(')')) return std::nullopt;
    static const std::map<std::string_view, Operation> kOperations = {{"min", Operation::minimum},
                                                                      {"max", Operation::maximum},
                                                                      {"floordiv", Operation::floorDiv},
                                                                      {"ceildiv", Operation::ceilDiv},
                                                                      {"mod", Operation::mod}};
    const auto at = kOperations.find(name);
    Scope everywhere;
    return at == kOperations.end() ? Value() : atoms_.compute(at->second, *a, *b, everywhere);
  }

  std::string_view text_;
  const std::map<std::string, Polynomial>& names_;
  Atoms& atoms_;
  size_t at_ = 0;
};

}  // namespace

bool isDimName(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  for (const char c : text)
    if (!isNameCharacter(c)) return false;
  return true;
}

Value parseDim(std::string_view text, const std::map<std::string, Polynomial>& names, Atoms& atoms) {
  return DimParser(text, names, atoms).all();
}

}  // namespace dyn::certificate
