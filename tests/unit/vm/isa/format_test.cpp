// Text, bytes, packages, and what the verifier refuses.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "tests/unit/vm/vm_harness.h"
#include "vm/core/builtin/builtin.h"
#include "vm/isa/checksum.h"
#include "vm/isa/code_writer.h"
#include "vm/isa/instruction_reader.h"
#include "vm/isa/package.h"
#include "vm/isa/verifier.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Every opcode, valid by construction: operands chosen by kind from the table.
Program everyInstruction() {
  Program program = assemble(std::string(kKernelRows) +
                             "meta \"producer\" \"test \\\"quoted\\\"\\n\"\nstring \"place\\x07 "
                             "one\"\nbuiltin \"copy\"\nconstant \"w\" f32 [2,3] offset 64\nglobals 1\n"
                             "input \"x\" tensor f32 [\"seq\" 1..512:8, 4, ?]\ninput \"opt\" optional (list "
                             "(tensor i64 []))\noutput \"y\" tuple (tensor bool [2], closure ())\n");
  auto writeBody = [&](Function& function, bool init) {
    CodeWriter code;
    for (int32_t opcode = 0; opcode < kOpcodeCount; ++opcode) {
      const auto op = static_cast<Opcode>(opcode);
      const InstructionRow& instruction = row(op);
      if (op == Opcode::storeGlobal && !init) continue;
      if (goesElsewhere(op) && init) continue;
      if (op == Opcode::ret) continue;
      if (op == Opcode::launch) {
        code.setPlace(0);
        code.emit(op, 1, 0, 1, OperandList{2}, OperandList{3});
        continue;
      }
      if (op == Opcode::tailInvoke) {
        code.emit(op, 2, OperandList{});
        continue;
      }
      if (op == Opcode::branch) {
        code.emit(op, 2, 1, 3, 4);
        continue;
      }
      std::vector<CodeWriter::Argument> arguments;
      for (uint32_t i = 0; i < instruction.operandCount; ++i) {
        const Operand operand = instruction.operands[i];
        if (operand.list) {
          const bool arity = op == Opcode::invoke || op == Opcode::makeClosure || op == Opcode::callBuiltin ||
                             op == Opcode::callBuiltinInto;
          arguments.emplace_back(arity ? OperandList{} : OperandList{1, 2});
        } else if (operand.kind == OperandKind::immediate) {
          arguments.emplace_back(Immediate{-(int64_t{1} << 40)});
        } else if (operand.kind == OperandKind::label) {
          const Label label = code.newLabel();
          code.bind(label);
          arguments.emplace_back(label);
        } else if (operand.kind == OperandKind::dataType) {
          arguments.emplace_back(DataType::i64);
        } else if (operand.kind == OperandKind::function) {
          arguments.emplace_back(2);
        } else {
          arguments.emplace_back(0);
        }
      }
      code.emitArguments(op, arguments);
    }
    code.emit(Opcode::ret, OperandList{});
    EXPECT_TRUE(code.finish(function).ok());
  };
  for (const char* name : {"body", "set up", "nothing"}) {
    Function function;
    function.name = name;
    function.scalarCount = function.objectCount = 8;
    writeBody(function, program.functions.size() == 1);
    program.functions.push_back(function);
  }
  program.initFunction = 1;
  return program;
}

std::vector<uint8_t> bytesOf(const Program& program) { return serializeProgram(program); }

TEST(Tables, everyRowIsWellFormed) {
  std::set<std::string_view> names;
  for (const InstructionRow& instruction : kInstructions) {
    EXPECT_TRUE(names.insert(instruction.text).second) << instruction.text;
    EXPECT_FALSE(instruction.meaning.empty());
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      EXPECT_NE(std::string("sSoOinlfkbcgmd").find(static_cast<char>(instruction.operands[i].kind)),
                std::string::npos)
          << instruction.text;
  }
  names.clear();
  for (const BuiltinRow* each : builtinTable()) {
    const BuiltinRow& builtin = *each;
    EXPECT_TRUE(names.insert(builtin.name).second) << builtin.name;
    EXPECT_TRUE(builtin.hosted || builtin.flat.run) << builtin.name;
    EXPECT_LE(builtin.counts.arguments.least, builtin.counts.arguments.most) << builtin.name;
    EXPECT_FALSE(builtin.fields().empty()) << builtin.name;
  }
  for (int32_t code = 0; code <= DYN_INTERNAL; ++code)
    EXPECT_STRNE(dyn_status_text(static_cast<dyn_status>(code)), "unknown status");
}

TEST(Tables, everyOpcodeRoundTripsThroughTextAndBytes) {
  const Program program = everyInstruction();
  std::set<Opcode> seen;
  for (const Function& function : program.functions) {
    InstructionReader reader(function.code);
    while (!reader.atEnd()) {
      ASSERT_TRUE(reader.next()) << reader.problem();
      seen.insert(reader.opcode());
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kOpcodeCount));
  const Status verified = verifyProgram(program);
  EXPECT_TRUE(verified.ok()) << verified.toString();
  const std::string text = printProgram(program);
  EXPECT_EQ(bytesOf(assemble(text)), bytesOf(program)) << text;
  EXPECT_EQ(printProgram(assemble(text)), text);
  Program back;
  const std::vector<uint8_t> bytes = bytesOf(program);
  ASSERT_TRUE(parseProgram(bytes.data(), bytes.size(), back).ok());
  EXPECT_EQ(bytesOf(back), bytes);
  EXPECT_EQ(printProgram(back), text);
}

TEST(Assembler, errorsNameLineAndColumn) {
  const struct {
    const char* text;
    const char* place;
    const char* message;
  } cases[] = {
      {"function f\n  add r0 r1\n ret []\n", "2:12", "operand"},
      {"function f\n  addd r0\n", "2:3", "unknown instruction"},
      {"function f\n  jump nowhere\n", "2:8", "not defined"},
      {"function f\nx:\nx:\n", "3:1", "twice"},
      {"add r0 r0 r0\n", "1:1", "outside a function"},
      {"function f\n  const r0 99999999999999999999\n", "2:12", "number"},
      {"function f\n  const v0 1\n", "2:9", "r0"},
      {"function f\n  ret [v0\n", "2:10", "operand"},
      {"string \"open\n", "1:8", "does not end"},
      {"function f\n  ret [] []\n", "2:10", "left over"},
      {"main nothing\n", "1:6", "no function"},
      {"input \"x\" tensor f99 []\n", "1:18", "dtype"},
      {"constant \"c\" f32 [9223372036854775807, 9] offset 0\n", "1:41", "range"},
  };
  for (const auto& one : cases) {
    Program program;
    const Status status = parseProgramText(one.text, program);
    EXPECT_EQ(status.code, DYN_BAD_PROGRAM) << one.text;
    EXPECT_EQ(status.place, one.place) << one.text << status.toString();
    EXPECT_THAT(status.message, HasSubstr(one.message)) << one.text;
  }
}

TEST(CodeWriter, reportsMistakes) {
  Function function;
  CodeWriter code;
  code.emit(Opcode::add, 0, 1);
  EXPECT_THAT(code.finish(function).message, HasSubstr("takes 3 operands, got 2"));
  code.emit(Opcode::constInt, 0, 1);
  EXPECT_THAT(code.finish(function).message, HasSubstr("wrong kind"));
  code.emit(Opcode::jump, code.newLabel());
  EXPECT_THAT(code.finish(function).message, HasSubstr("not bound"));
  code.emit(Opcode::ret, OperandList{7});
  ASSERT_TRUE(code.finish(function).ok());
  EXPECT_EQ(function.objectCount, 8u);
}

// --- verifier

Status verifyBody(const std::string& body,
                  const std::string& header = "parameters 1 results 1 scalars 2 objects 2") {
  return verifyProgram(
      assemble(std::string(kKernelRows) +
               "string \"s\"\nbuiltin \"copy\"\nconstant \"w\" f32 [2] offset 0\nglobals 1\nfunction f " +
               header + "\n" + body + "\nfunction two parameters 2 results 0 objects 2\n ret []\n"));
}

TEST(Verifier, refusesWhatTheTextCanSay) {
  EXPECT_TRUE(verifyBody("ret [v1]").ok());
  const struct {
    const char* body;
    const char* message;
  } cases[] = {
      {"add r0 r1 r-1\nret [v0]", "scalar register -1"},
      {"moveobject v0 v-2147483648\nret [v0]", "object register -2147483648"},
      {"loadconst v0 c1\nret [v0]", "constant 1"},
      {"loadconst v0 c-1\nret [v0]", "constant -1"},
      {"loadglobal v0 g1\nret [v0]", "global 1"},
      {"storeglobal v0 g0\nret [v0]", "outside the init"},
      {"check r0 m1\nret [v0]", "string 1"},
      {"invoke [] f2 []\nret [v0]", "function 2"},
      {"invoke [] f1 [v0]\nret [v0]", "arguments: expected 2, got 1"},
      {"invoke [v0] f1 [v0 v0]\nret [v0]", "results: expected 0, got 1"},
      {"tailinvoke f1 [v0 v0]", "results: expected 1, got 0"},
      {"closure v0 f1 [v0 v0 v0]\nret [v0]", "captures more"},
      {"ret []", "results: expected 1, got 0"},
      {"launch k9 r0 r0 [] []\nret [v0]", "kernel 9"},
      {"launch k0 r0 r0 [v0] []\nret [v0]", "kernel buffers: expected 3, got 1"},
      {"launch k1 r0 r0 [v0] []\nret [v0]", "kernel scalars: expected 1, got 0"},
      {"builtin b1 [] [] [] []\nret [v0]", "builtin 1"},
      {"newtensor v0 f32 256 []\nret [v0]", "device 256"},
      {"allocstorage v0 r0 -1\nret [v0]", "device -1"},
      {"devicecopy v0 v0 0 700\nret [v0]", "device 700"},
      {"fromscalars v0 f32 [r0]\nret [v0]", "dtype must be"},
      {"dim r0 v0 -1\nret [v0]", "axis"},
      {"field v0 v0 -1\nret [v0]", "negative field"},
      {"add r0 r0 r0", "runs off the end"},
      {"x: jumpif r0 x", "runs off the end"},
  };
  for (const auto& one : cases) {
    const Status status = verifyBody(one.body);
    EXPECT_EQ(status.code, DYN_BAD_PROGRAM) << one.body;
    EXPECT_THAT(status.message, HasSubstr(one.message)) << one.body;
    EXPECT_THAT(status.place, HasSubstr("f@"));
  }
}

TEST(Verifier, refusesWhatOnlyWordsCanSay) {
  Program good = assemble(
      "string \"s\"\nfunction f results 0 scalars 1 objects 1\n const r0 4\nx: jumpif r0 x\n ret []\n");
  ASSERT_TRUE(verifyProgram(good).ok());
  auto refused = [&](auto change, const char* message) {
    Program bad = good;
    change(bad, bad.functions[0]);
    const Status status = verifyProgram(bad);
    EXPECT_EQ(status.code, DYN_BAD_PROGRAM) << message;
    EXPECT_THAT(status.message, HasSubstr(message));
  };
  using F = Function;
  using P = Program;
  refused([](P&, F& f) { f.code[6] = 5; }, "not an instruction");        // into the middle
  refused([](P&, F& f) { f.code[6] = -4; }, "not an instruction");       // before the function
  refused([](P&, F& f) { f.code[6] = 1 << 30; }, "not an instruction");  // behind it
  refused([](P&, F& f) { f.code[6] = static_cast<int32_t>(f.code.size()); }, "not an instruction");
  refused([](P&, F& f) { f.code[0] = kOpcodeCount; }, "unknown opcode");
  refused([](P&, F& f) { f.code[0] = -1; }, "unknown opcode");
  refused([](P&, F& f) { f.code[0] = INT32_MIN; }, "unknown opcode");
  refused([](P&, F& f) { f.code.back() = 1; }, "ends inside");  // ret with one operand that is not there
  refused([](P&, F& f) { f.code.back() = -1; }, "list length");
  refused([](P&, F& f) { f.code.back() = INT32_MAX; }, "list length");
  refused([](P&, F& f) { f.code.resize(2); }, "ends inside");
  refused([](P&, F& f) { f.code.clear(); }, "no code");
  refused([](P&, F& f) { f.scalarCount = UINT32_MAX; }, "registers");
  refused([](P&, F& f) { f.objectCount = 1u << 31; }, "registers");
  refused([](P&, F& f) { f.parameterCount = 2; }, "more parameters");
  refused([](P&, F& f) { f.resultCount = UINT32_MAX; }, "too many results");
  refused([](P&, F& f) { f.places = {{0, 1}}; }, "place row");
  refused([](P&, F& f) { f.places = {{4, 0}, {4, 0}}; }, "not ascending");
  refused([](P&, F& f) { f.places = {{0, 0, 7}}; }, "names checks that are not there");
  refused([](P& p, F&) { p.mainFunction = 1; }, "main function");
  refused([](P& p, F&) { p.mainFunction = INT32_MIN; }, "main function");
  refused([](P& p, F&) { p.initFunction = 7; }, "init function");
  refused([](P& p, F&) { p.globalCount = UINT32_MAX; }, "globals");
  refused(
      [](P& p, F&) {
        p.mainFunction = 0;
        p.inputs.resize(1);
      },
      "contract");
  refused(
      [](P& p, F& f) {
        p.initFunction = 0;
        f.parameterCount = 1;
      },
      "init must take");
  refused([](P& p, F&) { p.kernels.push_back({"k", "k", 1, 1, 0, UINT64_MAX - 5, ""}); }, "scratch memory");
  refused([](P& p, F&) { p.kernels.push_back({"k", "k", 1, 2, 0, 0, ""}); }, "more outputs");
  refused([](P& p, F&) { p.kernels.push_back({"k", "k", UINT32_MAX, 0, 0, 0, ""}); }, "more than");
  refused([](P& p, F&) { p.constants.push_back({200, {}, 0, 4, ""}); }, "dtype");
  refused([](P& p, F&) { p.constants.push_back({11, {2}, 0, 4, ""}); }, "size");
  refused([](P& p, F&) { p.constants.push_back({11, {INT64_MAX, 8}, 0, 4, ""}); }, "size");
  refused([](P& p, F&) { p.constants.push_back({11, {-1}, 0, 4, ""}); }, "size");
  refused([](P& p, F&) { p.constants.push_back({11, {1}, UINT64_MAX - 63, 4, ""}); }, "offset");
  refused([](P& p, F&) { p.constants.push_back({11, {1}, 4, 4, ""}); }, "offset");
  refused([](P& p, F&) { p.constants.push_back({11, std::vector<int64_t>(33, 1), 0, 4, ""}); }, "rank");
}

TEST(Loader, refusesUnknownNamesAndArity) {
  EXPECT_THAT(
      Machine("kernel \"k\" symbol \"nowhere\" buffers 0 outputs 0 scalars 0 scratch 0\n").loadMessage,
      HasSubstr("nowhere"));
  EXPECT_THAT(Machine("builtin \"nothing\"\n").loadMessage, HasSubstr("nothing"));
  EXPECT_THAT(Machine("constant \"w\" f32 [2] offset 0\n").loadMessage, HasSubstr("no data"));
  EXPECT_THAT(Machine("builtin \"sort\"\nfunction f\n builtin b0 [] [] [] []\n ret []\n").loadMessage,
              HasSubstr("results"));
  EXPECT_THAT(Machine("builtin \"gemm\"\nfunction f\n builtin b0 [v0] [v0 v0] [] [0]\n ret []\n").loadMessage,
              HasSubstr("writes into"));
  EXPECT_THAT(
      Machine("builtin \"unique\"\nfunction f\n builtininto b0 [v0] [v0] [] [0]\n ret []\n").loadMessage,
      HasSubstr("makes its results"));
  EXPECT_THAT(Machine("string \"no\"\nfunction set\n fatal m0\ninit set\n").loadMessage,
              HasSubstr("init: no"));
}

// --- damaged bytes

TEST(ProgramFile, everyTruncationIsRefused) {
  const std::vector<uint8_t> bytes = bytesOf(everyInstruction());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    Program program;
    EXPECT_EQ(parseProgram(cut.data(), cut.size(), program).code, DYN_BAD_PROGRAM) << size;
  }
}

TEST(ProgramFile, everyFlippedByteIsRefused) {
  std::vector<uint8_t> bytes = bytesOf(everyInstruction());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (uint8_t mask : {0x01, 0x80, 0xff}) {
      bytes[i] ^= mask;
      Program program;
      EXPECT_EQ(parseProgram(bytes.data(), bytes.size(), program).code, DYN_BAD_PROGRAM) << i;
      bytes[i] ^= mask;
    }
}

// Past the checksum: what a forger could write. Whatever loads must run without harm.
TEST(ProgramFile, mutatedAndResealedProgramsNeverHarm) {
  const std::string text =
      std::string(kKernelRows) +
      "string \"s\"\nbuiltin \"nonzero\"\nconstant \"w\" i64 [2] offset 0\nglobals 1\nfunction f results 1\n "
      "const r0 2\nagain:\n newtensor v0 i64 0 [r0]\n"
      " launch k1 r0 r0 [v0] [r0]\n loadconst v1 c0\n builtin b0 [v2] [v1] [] []\n list v3 [v0 v1]\n tuple "
      "v4 1 [v3]\n field v5 v4 0\n listat v6 v5 r1\n"
      " addi r0 r0 -1\n jumpif r0 again\n invoke [v7] f1 [v6]\n ret [v7]\nfunction g parameters 1 results "
      "1\n dim r0 v0 0\n check r0 m0\n ret [v0]\n"
      "function set\n const r0 1\n fromscalar v0 i64 r0\n storeglobal v0 g0\n ret []\ninit set\n";
  const std::vector<uint8_t> good = bytesOf(assemble(text));
  static const int64_t w[2] = {3, 0};
  // Buffers a kernel writes are as large as the extent it is given only in the compiler's programs, so no
  // launch takes place here.
  TestHost host;
  host.constants = {w};
  for (auto& [name, kernel] : host.kernels)
    kernel = [](void* const*, const int64_t*, int64_t, int64_t, void*) -> int32_t { return 0; };
  const dyn_host callbacks = host.host();
  int loaded = 0, ran = 0;
  std::mt19937 random(3);
  auto tryOne = [&](std::vector<uint8_t> bytes) {
    const uint64_t checksum = checksumBytes(bytes.data() + 32, bytes.size() - 32);
    memcpy(bytes.data() + 24, &checksum, 8);
    dyn_module* module = nullptr;
    if (dyn_module_load_memory(bytes.data(), bytes.size(), &callbacks, &module) != DYN_OK) return;
    ++loaded;
    dyn_options options = {};
    options.memory_limit_bytes = 1 << 22;
    options.depth_limit = 100;
    dyn_context* context = nullptr;
    if (dyn_context_create(module, &options, &context) == DYN_OK) {
      // An endless loop is a valid program: it is stopped after some steps.
      int steps = 2000;
      dyn_context_set_trap(
          context,
          [](void* user, const dyn_trap*) {
            return --*static_cast<int*>(user) < 0 ? DYN_TRAP_STOP : DYN_TRAP_STEP;
          },
          &steps, 1);
      dyn_value* argument = nullptr;
      dyn_value_tensor(context, DYN_I64, 1, w + 1, nullptr, 0, &argument);
      for (const char* function : {"f", "g"})
        ran += dyn_context_run_function(context, function, &argument, function[0] == 'g' ? 1 : 0) == DYN_OK;
      dyn_value_release(argument);
      dyn_context_release(context);
    }
    dyn_module_release(module);
  };
  tryOne(good);
  EXPECT_EQ(loaded, 1);
  EXPECT_EQ(ran, 1) << "f runs, g faults on the empty tensor";
  for (size_t i = 32; i < good.size(); ++i)
    for (uint8_t mask : {0x01, 0x02, 0x04, 0x10, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = good;
      bytes[i] ^= mask;
      tryOne(bytes);
    }
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = good;
    for (int changes = 0; changes < 3; ++changes)
      bytes[32 + random() % (bytes.size() - 32)] =
          static_cast<uint8_t>(random() % 3 ? random() % 16 : random());
    tryOne(bytes);
  }
  EXPECT_GT(loaded, 100);
}

// --- packages

// The checksum of pieces is that of their bytes side by side, however they are cut.
TEST(Package, PiecesHaveOneChecksum) {
  std::string bytes;
  for (int i = 0; i < 61; ++i) bytes += static_cast<char>(i * 37);
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    for (size_t length : {size_t{0}, size_t{1}, size_t{5}, size_t{8}, size_t{11}}) {
      const size_t end = std::min(cut + length, bytes.size());
      Checksum sum(bytes.size());
      sum.add(bytes.data(), cut);
      sum.add(bytes.data() + cut, end - cut);
      sum.add(bytes.data() + end, bytes.size() - end);
      ASSERT_EQ(sum.value(), checksumBytes(bytes.data(), bytes.size())) << cut << " " << length;
    }
}

// What loading maps without reading is compared when somebody asks.
TEST(Package, LargeWeightsAreComparedOnDemand) {
  const std::string path = testing::TempDir() + "dyn_large_package_" + std::to_string(getpid()) + ".dynpkg";
  Program program = assemble(
      "constant \"a\" i8 [67108900] offset 0\noutput \"y\" tensor i8 [67108900]\n"
      "function main results 1\n loadconst v0 c0\n ret [v0]\nmain main\n");
  layOutConstants(program);
  const std::vector<char> elements(67108900, 1);
  const void* data[] = {elements.data()};
  PackageBytes package;
  ASSERT_TRUE(makePackage(program, data, {}, package).ok());
  std::ofstream file(path, std::ios::binary);
  for (std::string_view piece : package.pieces) file.write(piece.data(), static_cast<int64_t>(piece.size()));
  file.close();
  EXPECT_EQ(dyn_package_check(path.c_str()), DYN_OK) << dyn_last_message();
  std::fstream damage(path, std::ios::binary | std::ios::in | std::ios::out);
  damage.seekp(-1000, std::ios::end);
  damage.put(2);
  damage.close();
  dyn_module* module = nullptr;
  EXPECT_EQ(dyn_module_load_file(path.c_str(), nullptr, &module), DYN_OK) << dyn_last_message();
  dyn_module_release(module);
  EXPECT_EQ(dyn_package_check(path.c_str()), DYN_BAD_PROGRAM);
  EXPECT_NE(std::string(dyn_last_message()).find("constants is damaged"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(dyn_package_check(path.c_str()), DYN_IO_ERROR);
  EXPECT_EQ(dyn_package_check(nullptr), DYN_INVALID_ARGUMENT);
}

TEST(Package, roundTripDamageAndErrors) {
  const std::string path = testing::TempDir() + "dyn_package_" + std::to_string(getpid()) + ".dynpkg";
  Program program = assemble(
      "constant \"a\" i64 [2] offset 0\nconstant \"b\" f32 [3] offset 0\nconstant \"none\" f32 [0] offset "
      "0\noutput \"y\" tensor i64 [2]\noutput \"z\" tensor f32 [3]\n"
      "function main results 2\n loadconst v0 c0\n loadconst v1 c1\n ret [v0 v1]\nmain main\n");
  EXPECT_EQ(layOutConstants(program), 128u);
  const int64_t a[2] = {1, 2};
  const float b[3] = {3, 4, 5};
  const void* data[3] = {a, b, nullptr};
  const ObjectSection other{"some_other_cpu", "not an object"};
  PackageBytes package;
  ASSERT_TRUE(makePackage(program, data, std::span(&other, 1), package).ok());
  // Weights are written from where they lie.
  EXPECT_TRUE(std::any_of(package.pieces.begin(), package.pieces.end(), [&](std::string_view piece) {
    return piece.data() == reinterpret_cast<const char*>(b) && piece.size() == sizeof b;
  }));
  std::string good;
  for (std::string_view piece : package.pieces) good += piece;
  std::ofstream(path, std::ios::binary) << good;
  dyn_module* module = nullptr;
  ASSERT_EQ(dyn_module_load_file(path.c_str(), nullptr, &module), DYN_OK) << dyn_last_message();
  dyn_context* context = nullptr;
  ASSERT_EQ(dyn_context_create(module, nullptr, &context), DYN_OK);
  dyn_module_release(module);  // the context keeps it
  ASSERT_EQ(dyn_context_run(context), DYN_OK) << dyn_last_message();
  dyn_value *y = nullptr, *z = nullptr;
  ASSERT_EQ(dyn_context_get_output(context, 0, &y), DYN_OK);
  ASSERT_EQ(dyn_context_get_output(context, 1, &z), DYN_OK);
  dyn_context_release(context);  // the values keep what they need
  EXPECT_THAT(dataOf<int64_t>(Value(y)), ElementsAre(1, 2));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(dyn_value_data(z)) % 64, 0u);
  EXPECT_THAT(dataOf<float>(Value(z)), ElementsAre(3, 4, 5));

  auto load = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const dyn_status status = dyn_module_load_file(path.c_str(), nullptr, &module);
    dyn_module_release(module);
    return status;
  };
  std::vector<PackageSection> sections;
  ASSERT_TRUE(readPackageTable(good.data(), good.size(), sections).ok());
  std::vector<size_t> bytes;  // everything that means something: header, table, sections (not the padding)
  for (size_t i = 0; i < 64 + 128 * sections.size(); i += 3) bytes.push_back(i);
  for (const PackageSection& section : sections)
    for (uint64_t i = 0; i < section.sizeBytes; i += 7) bytes.push_back(section.offset + i);
  for (size_t i : bytes) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_EQ(load(bad), DYN_BAD_PROGRAM) << "byte " << i;
  }
  for (size_t size : {size_t{0}, size_t{10}, size_t{63}, size_t{64}, good.size() / 2, good.size() - 1})
    EXPECT_EQ(load(good.substr(0, size)), DYN_BAD_PROGRAM) << size;
  EXPECT_EQ(load(good), DYN_OK);
  EXPECT_EQ(dyn_module_load_file("/nonexistent/file", nullptr, &module), DYN_IO_ERROR);
  EXPECT_EQ(dyn_module_load_file("/dev/null", nullptr, &module), DYN_IO_ERROR);
  EXPECT_EQ(makePackage(program, {}, {}, package).code, DYN_INVALID_ARGUMENT);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dyn::vm::test
