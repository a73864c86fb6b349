#include "compiler/driver/library_header.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "vm/isa/call_sizes.h"
#include "vm/isa/padded_ports.h"

namespace dyn {

namespace {

bool isReserved(const std::string& name) {
  static constexpr std::string_view kWords =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept "
      "const "
      "consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete "
      "do double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
      "long "
      "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
      "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct "
      "switch template this thread_local throw true try typedef typeid typename typeof union unsigned using "
      "virtual void volatile wchar_t while xor xor_eq linux unix ";
  return kWords.find(" " + name + " ") != std::string_view::npos;
}

// Identifiers of one structure, each another.
class Members {
 public:
  std::string add(const std::string& name) {
    const std::string wanted = cIdentifier(name);
    std::string made = wanted;
    for (int i = 2; !used_.insert(made).second; ++i) made = wanted + "_" + std::to_string(i);
    return made;
  }

 private:
  std::set<std::string> used_;
};

const char* cTypeOf(uint8_t dtype) {
  static constexpr const char* kTypes[] = {
      "uint8_t",  "int8_t",   "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
      "uint16_t", "uint16_t", "float",   "double",  "uint8_t", "uint8_t", "uint8_t",  "uint8_t",  "uint8_t",
      "uint8_t",  "uint8_t",  "uint8_t", "uint8_t", "uint8_t", "float",   "double"};
  return dtype < std::size(kTypes) ? kTypes[dtype] : nullptr;
}

const char* dtypeText(uint8_t dtype) {
  static constexpr const char* kTexts[] = {
#define DYN_DTYPE(name, text, bits, kind, onnx) text,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
  };
  return dtype < std::size(kTexts) ? kTexts[dtype] : "?";
}

// What names of a model may not do to a comment.
std::string commentText(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < ' ') text[i] = ' ';
    if (i > 0 && ((text[i] == '/' && text[i - 1] == '*') || (text[i] == '*' && text[i - 1] == '/')))
      text.insert(i, " ");
  }
  return text;
}

std::string typeText(const vm::ContractType& type) {
  std::string text = std::string(dtypeText(type.dtype)) + "[";
  for (size_t i = 0; i < type.dims.size(); ++i)
    text +=
        (i ? ", " : "") + (type.dims[i].value >= 0 ? std::to_string(type.dims[i].value) : type.dims[i].text);
  return commentText(text + "]");
}

Status checkPorts(const std::vector<vm::ContractValue>& ports, const char* role) {
  for (const vm::ContractValue& port : ports)
    if (port.type.kind != vm::ContractKind::tensor || !cTypeOf(port.type.dtype))
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: a library of a model whose " +
                                                             std::string(role) + " " + port.name +
                                                             " is no tensor of numbers");
  return {};
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A structure; without members it gets one, as C wants.
std::string structure(const std::string& name, const std::string& members) {
  return "typedef struct " + name + " {\n" + (members.empty() ? "  int64_t none;\n" : members) + "} " + name +
         ";\n\n";
}

std::string dimsText(const std::string& name, const vm::CallSizes& call) {
  Members members;
  std::string fields, numbers;
  for (const vm::CallSize& size : call.sizes) {
    const std::string member = members.add(size.name);
    std::string about = size.expression.empty() ? "" : " = " + commentText(size.expression);
    if (size.low > 0 || size.high != INT64_MAX)
      about += " " + std::to_string(size.low) + ".." +
               (size.high == INT64_MAX ? std::string() : std::to_string(size.high));
    if (size.multiple > 1) about += " a multiple of " + std::to_string(size.multiple);
    fields += "  int64_t " + member + ";" + (about.empty() ? "" : "  /*" + about + " */") + "\n";
    numbers += (numbers.empty() ? "" : ", ") + upper(name) + "_DIM_" + member;
  }
  return "/* The sizes that vary. */\n" + structure(name + "_dims", fields) +
         (numbers.empty() ? ""
                          : "/* Which of them, for " + name + "_largest. */\nenum { " + numbers + " };\n\n");
}

std::string portsText(const std::string& name, const vm::Program& program) {
  std::string inputs, outputs, shapes;
  Members inputNames, outputNames;
  for (const vm::ContractValue& input : program.inputs)
    inputs += "  const " + std::string(cTypeOf(input.type.dtype)) + "* " + inputNames.add(input.name) +
              ";  /* " + typeText(input.type) + " */\n";
  for (const vm::ContractValue& output : program.outputs) {
    const std::string member = outputNames.add(output.name), type = typeText(output.type);
    outputs += "  struct {\n    " + std::string(cTypeOf(output.type.dtype)) +
               "* data;\n    size_t bytes;\n  } " + member + ";  /* " + type + " */\n";
    shapes += "  int64_t " + member + "[" + std::to_string(std::max<size_t>(output.type.dims.size(), 1)) +
              "];  /* " + type + " */\n";
  }
  return "/* Elements lie side by side, the last axis first. They are read, and only while " + name +
         "_run runs. */\n" + structure(name + "_inputs", inputs) +
         "/* Where the outputs go: memory of the caller with so many bytes. Null: not wanted. */\n" +
         structure(name + "_outputs", outputs) +
         "/* One size for each axis; a scalar has one, which is 1. */\n" +
         structure(name + "_shapes", shapes);
}

// NAME and UPPER stand for the model's.
constexpr const char* kLists =
    R"(/* How long each of `count` sequences is, which lie behind each other without padding. Null: they are padded. */
typedef struct NAME_list {
  const int64_t* lengths;
  int64_t count;
} NAME_list;

)";

constexpr const char* kRunLists =
    R"(/* As NAME_run, with sequences of different lengths: where a list is given, the inputs that it is of hold its rows, those of
 * each sequence behind those of the one before; the input that says how long they are is made, and may be null;
 * outputs with the same sequences get rows, too, so many as the lengths sum up to. Members of `dims` for how many sequences
 * there are and how long the longest is are not read, `dims` may be null where there are no others. `shapes` receives the
 * sizes with padding. */
NAME_status NAME_run_lists(NAME_model* model, const NAME_lists* lists, const NAME_dims* dims,
  const NAME_inputs* inputs, const NAME_outputs* outputs, NAME_shapes* shapes);

)";

constexpr const char* kStatus = R"(typedef enum NAME_status {
  UPPER_OK = 0,
  UPPER_INVALID_ARGUMENT = 1, /* the call itself is wrong: a null where none may be */
  UPPER_BAD_MODEL = 2,        /* the model can not be loaded on this machine */
  UPPER_BAD_INPUT = 3,        /* a size that is not allowed, or too little room for an output */
  UPPER_CHECK_FAILED = 4,     /* what the model demands of its inputs is not so */
  UPPER_ARITHMETIC = 5,       /* sizes overflow */
  UPPER_OUT_OF_RANGE = 6,     /* an index outside of a tensor */
  UPPER_OUT_OF_MEMORY = 7,
  UPPER_MEMORY_LIMIT = 8, /* more memory than was allowed would be needed */
  UPPER_CANCELLED = 9,
  UPPER_DEPTH_LIMIT = 10,
  UPPER_KERNEL_FAULT = 11,
  UPPER_UNSUPPORTED = 12, /* the message says what; NAME_output_shapes and the like: it depends on values */
  UPPER_IO_ERROR = 13,
  UPPER_INTERNAL = 14
} NAME_status;

typedef struct NAME_model NAME_model;

)";

constexpr const char* kOptions = R"(/* Zero means the default, for every member. */
typedef struct NAME_options {
  int32_t threads;     /* default: one, the caller's */
  void* memory;        /* of tensors and working memory: at a multiple of 64, with one thread; default: the heap */
  size_t memory_bytes; /* of `memory`; without it the most that a run may take */
} NAME_options;

)";

constexpr const char* kFunctions = R"(/* `options` may be null. */
NAME_status NAME_create(const NAME_options* options, NAME_model** model);
void NAME_release(NAME_model* model);
/* `shapes` may be null; it receives the sizes of the outputs. An output with too little room is an error. */
NAME_status NAME_run(NAME_model* model, const NAME_dims* dims, const NAME_inputs* inputs,
  const NAME_outputs* outputs, NAME_shapes* shapes);
/* Without running: shapes of the outputs, and how many bytes a run takes, which is what `memory` must have. */
NAME_status NAME_output_shapes(NAME_model* model, const NAME_dims* dims, NAME_shapes* shapes);
NAME_status NAME_peak_bytes(NAME_model* model, const NAME_dims* dims, uint64_t* bytes);
/* The largest value of one dim (UPPER_DIM_...) for which a run stays within `bytes`, the others being as in `dims`. */
NAME_status NAME_largest(NAME_model* model, int32_t dim, uint64_t bytes, const NAME_dims* dims, int64_t* largest);
/* Ends the run in progress with UPPER_CANCELLED. Any thread. */
void NAME_cancel(NAME_model* model);
/* One line about this thread's latest error; "" when there was none. Valid until this thread's next call. */
const char* NAME_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
)";

constexpr const char* kFreestandingFunctions =
    R"(/* The model lives in `memory`, which lies at a multiple of 64: UPPER_RAM_BOUND_BYTES are enough for every run. */
NAME_status NAME_create(void* memory, size_t memory_bytes, NAME_model** model);
/* `shapes` may be null; it receives the sizes of the outputs. An output with too little room is an error. */
NAME_status NAME_run(NAME_model* model, const NAME_dims* dims, const NAME_inputs* inputs,
  const NAME_outputs* outputs, NAME_shapes* shapes);
/* Without running, where they follow from the dims: shapes of the outputs, and how many bytes a run takes. */
NAME_status NAME_output_shapes(NAME_model* model, const NAME_dims* dims, NAME_shapes* shapes);
NAME_status NAME_peak_bytes(NAME_model* model, const NAME_dims* dims, uint64_t* bytes);
/* Ends the run in progress with UPPER_CANCELLED. Any thread. */
void NAME_cancel(NAME_model* model);
/* One line about the model's latest error; "" when there was none. */
const char* NAME_last_error(const NAME_model* model);

#ifdef __cplusplus
}
#endif
#endif
)";

std::string named(std::string text, const std::string& name) {
  const std::string large = upper(name);
  for (const auto& [word, with] : {std::pair{std::string("NAME"), name}, {std::string("UPPER"), large}})
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += with.size())
      text.replace(at, word.size(), with);
  return text;
}

}  // namespace

std::string cIdentifier(const std::string& name) {
  std::string made;
  for (char c : name) made += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made[0]))) made = "_" + made;
  return isReserved(made) ? made + "_" : made;
}

std::vector<std::string> libraryEntryPoints(const vm::Program& program) {
  std::vector<std::string> names = {"create",     "release", "run",    "output_shapes",
                                    "peak_bytes", "largest", "cancel", "last_error"};
  if (!vm::paddedLists(program).empty()) names.insert(names.begin() + 3, "run_lists");
  return names;
}

const std::vector<std::string>& freestandingLibraryEntryPoints() {
  static const std::vector<std::string> kNames = {"create",     "run",    "output_shapes",
                                                  "peak_bytes", "cancel", "last_error"};
  return kNames;
}

namespace {

// "x, y", by what their members are called.
std::string namesOf(const std::vector<size_t>& ports, const std::vector<vm::ContractValue>& all) {
  std::string text;
  for (size_t i : ports) text += (text.empty() ? "" : ", ") + commentText(all[i].name);
  return text;
}

// Sequences instead of padded inputs; "" where none are.
std::string listsText(const std::string& name, const vm::Program& program) {
  std::string members;
  Members names;
  for (const vm::PaddedList& list : vm::paddedLists(program)) {
    const std::string outputs = namesOf(list.outputs, program.outputs);
    members += "  " + name + "_list " + names.add(program.inputs[list.lengths].name) + ";  /* of " +
               namesOf(list.inputs, program.inputs) + (outputs.empty() ? "" : "; results: " + outputs) +
               " */\n";
  }
  if (members.empty()) return "";
  return named(kLists, name) + "/* Lists, by the input that says how long their sequences are. */\n" +
         structure(name + "_lists", members) + named(kRunLists, name);
}

std::string guardOf(const LibraryFacts& facts) { return upper(facts.name) + "_DYN_MODEL_H"; }

// From the first line to the types, with `about` as the comment at the top.
std::string beginning(const LibraryFacts& facts, const std::string& about) {
  std::string text =
      "/* " + facts.name + ".h: " + commentText(facts.source) + ", compiled by Dyn.\n *\n" + about;
  if (facts.ramBoundBytes)
    text += " * No run takes more than " + upper(facts.name) +
            "_RAM_BOUND_BYTES: all sizes that are allowed were tried.\n";
  text += " */\n#ifndef " + guardOf(facts) + "\n#define " + guardOf(facts) +
          "\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  if (facts.ramBoundBytes)
    text +=
        "#define " + upper(facts.name) + "_RAM_BOUND_BYTES " + std::to_string(*facts.ramBoundBytes) + "\n\n";
  return text;
}

Status checkAllPorts(const vm::Program& program) {
  DYN_CHECK(checkPorts(program.inputs, "input"));
  return checkPorts(program.outputs, "output");
}

}  // namespace

Result<std::string> libraryHeader(const LibraryFacts& facts, const vm::Program& program) {
  DYN_CHECK(checkAllPorts(program));
  const std::string about = named(R"( *   NAME_model* model;
 *   if (NAME_create(NULL, &model) != UPPER_OK) puts(NAME_last_error());
 *   NAME_run(model, &dims, &inputs, &outputs, NULL);
 *   NAME_release(model);
 *
 * Threads: a model and the calls that take it belong to one thread at a time, except NAME_cancel; models are
 * independent of each other, each thread may have its own, and they share the weights. Errors: every call that
 * can fail returns a status; nothing aborts, prints or throws. Memory: inputs and outputs are the caller's.
)",
                                  facts.name);
  return beginning(facts, about) + named(kStatus, facts.name) + named(kOptions, facts.name) +
         dimsText(facts.name, vm::callSizes(program.inputs)) + portsText(facts.name, program) +
         listsText(facts.name, program) + named(kFunctions, facts.name);
}

Result<std::string> freestandingLibraryHeader(const LibraryFacts& facts, const vm::Program& program) {
  DYN_CHECK(checkAllPorts(program));
  const std::string about = named(R"( *   static _Alignas(64) char memory[UPPER_RAM_BOUND_BYTES];
 *   NAME_model* model;
 *   if (NAME_create(memory, sizeof memory, &model) != UPPER_OK) return 1;
 *   if (NAME_run(model, &dims, &inputs, &outputs, NULL) != UPPER_OK) puts(NAME_last_error(model));
 *
 * It uses no heap, no file, no thread, no variable of its own; of the C library memcpy, memmove and memset.
 * Threads: a model and the calls that take it belong to one thread at a time, except NAME_cancel; models are
 * independent of each other. Errors: every call that can fail returns a status, also for a dim beyond its
 * bound; nothing aborts or prints. Inputs and outputs are the caller's.
)",
                                  facts.name);
  return beginning(facts, about) + named(kStatus, facts.name) +
         dimsText(facts.name, vm::callSizes(program.inputs)) + portsText(facts.name, program) +
         named(kFreestandingFunctions, facts.name);
}

}  // namespace dyn
