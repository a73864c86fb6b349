// What holds over many runs and threads: memory, limits, cancelling, stepping, profiles, the contract at the
// border.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/vm/vm_harness.h"
#include "vm/core/object/object.h"
#include "vm/include/dyn_ragged.h"

// Former names, for programs that were built with them.
extern "C" const char* dyn_panels(void);
extern "C" dyn_status dyn_context_rehearse_kept(dyn_context* context, int64_t positions);
extern "C" dyn_status dyn_context_rehearse_elements(dyn_context* context, int32_t input, const void* data,
                                                    size_t size_bytes);

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGrow = std::string(kKernelRows) +
                          "function f parameters 1 results 1\n const r0 0\n item r1 v0 r0\n newtensor v1 i64 "
                          "0 [r1]\n const r2 1\n launch k1 r1 r1 [v1] [r2]\n"
                          " newtensor v2 i64 0 [r1]\n launch k1 r1 r1 [v2] [r2]\n kill v1\n newtensor v3 i64 "
                          "0 [r1]\n launch k1 r1 r1 [v3] [r2]\n ret [v3]\n";

TEST(Pool, secondRunAsksTheSystemForNothing) {
  Machine m(kGrow);
  Value n = m.integers({100000});
  ASSERT_EQ(m.call("f", {n.get()}), DYN_OK) << m.message;
  EXPECT_GT(m.statistics().allocations_count, 0u);
  const uint64_t peak = m.statistics().peak_bytes;
  EXPECT_GE(peak, 1'600'000u);
  EXPECT_LT(peak, 1'700'000u);
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(m.call("f", {n.get()}), DYN_OK);
    EXPECT_EQ(m.statistics().allocations_count, 0u);
  }
  dyn_context_trim(m.context());
  EXPECT_LT(m.statistics().held_bytes, 4'000'000u);
}

TEST(Pool, growthIsBoundedUnderRandomSizes) {
  Machine m(kGrow);
  std::mt19937 random(1);
  uint64_t largest = 0, held = 0;
  for (int round = 0; round < 10000; ++round) {
    Value n = m.integers({static_cast<int64_t>(random() % 20000)});
    ASSERT_EQ(m.call("f", {n.get()}), DYN_OK) << m.message;
    largest = std::max(largest, m.statistics().peak_bytes);
    held = std::max(held, m.statistics().held_bytes);
  }
  EXPECT_LT(held, largest * 3 + (4u << 20)) << "largest run needed " << largest;
}

// The thread that runs takes no lock for small blocks; another one takes and gives back what it likes.
TEST(Pool, isSharedWithTheThreadThatRuns) {
  MemoryPool* pool = MemoryPool::create({});
  constexpr int kBlocks = 20'000;
  std::vector<std::atomic<void*>> passed(kBlocks);
  pool->beginRun();
  std::thread other([&] {
    dyn_status why = DYN_OK;
    for (int i = 0; i < kBlocks; ++i) {
      void* own = pool->allocate(static_cast<uint64_t>(64 + i % 3 * 100), why);
      void* given = nullptr;
      while (!(given = passed[static_cast<size_t>(i)].exchange(nullptr))) std::this_thread::yield();
      EXPECT_EQ(*static_cast<int*>(given), i);
      pool->deallocate(given);
      passed[static_cast<size_t>(i)] = own;  // for the one that runs, at the end
    }
  });
  dyn_status why = DYN_OK;
  for (int i = 0; i < kBlocks; ++i) {
    void* kept = pool->allocate(static_cast<uint64_t>(64 + i % 5 * 64), why);
    void* passes = pool->allocate(64, why);
    *static_cast<int*>(passes) = i;
    passed[static_cast<size_t>(i)] = passes;
    pool->deallocate(kept);
  }
  other.join();
  EXPECT_EQ(pool->statistics().liveBlocks, static_cast<uint64_t>(kBlocks));
  EXPECT_GE(pool->statistics().peakBytes, pool->statistics().inUseBytes);
  for (std::atomic<void*>& block : passed) pool->deallocate(block);
  pool->endRun();
  EXPECT_EQ(pool->statistics().liveBlocks, 0u);
  EXPECT_EQ(pool->statistics().inUseBytes, 0u);
  pool->trim();
  EXPECT_EQ(pool->statistics().heldBytes, 0u) << "everything has merged back into whole chunks";
  pool->releaseOwner();
}

TEST(Pool, coalescesAndRespectsItsCap) {
  MemoryPoolOptions options;
  options.capBytes = 0;
  MemoryPool* pool = MemoryPool::create(options);
  dyn_status why = DYN_OK;
  std::mt19937 random(2);
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (int round = 0; round < 20000; ++round) {
    if (blocks.size() < 100 || random() % 2) {
      const size_t size = random() % (round % 100 == 0 ? 3'000'000 : 5000);
      auto* memory = static_cast<unsigned char*>(pool->allocate(size, why));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
      memset(memory, static_cast<int>(blocks.size() & 255), size);
      blocks.push_back({memory, size});
    } else {
      const size_t index = random() % blocks.size();
      const auto [memory, size] = blocks[index];
      for (size_t i = 1; i < size; i += 97) ASSERT_EQ(memory[i], memory[0]) << "a block was overwritten";
      pool->deallocate(memory);
      blocks[index] = blocks.back();
      blocks.pop_back();
    }
  }
  for (auto [memory, size] : blocks) pool->deallocate(memory);
  EXPECT_EQ(pool->statistics().inUseBytes, 0u);
  pool->endRun();
  EXPECT_EQ(pool->statistics().heldBytes, 0u) << "everything has merged back into whole chunks";
  void* last = pool->allocate(10, why);
  pool->releaseOwner();
  memset(last, 0, 10);  // a block outlives the owner
  // The pool deletes itself with it; a leak would show under the address sanitizer.
  (static_cast<void>(0), pool->deallocate(last));
}

TEST(Limits, memoryLimitIsCheckedBeforeAllocating) {
  dyn_options options = {};
  options.memory_limit_bytes = 8 << 20;
  Machine m(kGrow, options);
  Value small = m.integers({100000}), large = m.integers({10'000'000}),
        absurd = m.integers({int64_t{1} << 58});
  EXPECT_EQ(m.call("f", {small.get()}), DYN_OK) << m.message;
  EXPECT_EQ(m.call("f", {large.get()}), DYN_MEMORY_LIMIT);
  EXPECT_THAT(m.message, HasSubstr("80000000 bytes are needed, the limit is 8388608"));
  EXPECT_EQ(m.call("f", {absurd.get()}), DYN_MEMORY_LIMIT);
  EXPECT_EQ(m.call("f", {small.get()}), DYN_OK) << m.message;
  EXPECT_LE(m.statistics().held_bytes, options.memory_limit_bytes);
}

// Every allocation of create, set and run fails once; then all is as before.
struct FailingAllocator {
  int64_t countdown = INT64_MAX;
  int64_t live = 0;
  static void* allocate(void* user, size_t size, size_t alignment) {
    auto& self = *static_cast<FailingAllocator*>(user);
    if (--self.countdown < 0) return nullptr;
    ++self.live;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  static void deallocate(void* user, void* memory, size_t) {
    if (memory) --static_cast<FailingAllocator*>(user)->live;
    free(memory);
  }
};

TEST(Limits, everyFailedAllocationIsAnError) {
  FailingAllocator allocator;
  dyn_options options = {};
  options.allocator_user = &allocator;
  options.allocate = FailingAllocator::allocate;
  options.deallocate = FailingAllocator::deallocate;
  {
    Machine m(std::string(kKernelRows) +
                  "builtin \"sort\"\nfunction f results 3\n const r0 300000\n newtensor v0 i64 0 [r0]\n "
                  "launch k1 r0 r0 [v0] [r0]\n builtin b0 [v1 v2] [v0] [] []\n list v3 [v0 v1]\n"
                  " const r1 400000\n allocstorage v4 r1 0\n tuple v5 0 [v3 v4]\n devicecopy v6 v0 0 0\n ret "
                  "[v5 v6 v2]\n",
              options);
    int failures = 0;
    for (int64_t k = 0;; ++k) {
      dyn_context_trim(m.context());
      allocator.countdown = k;
      const dyn_status status = m.call("f");
      if (status == DYN_OK) break;
      ASSERT_EQ(status, DYN_OUT_OF_MEMORY) << k << ": " << m.message;
      ASSERT_LT(++failures, 100);
    }
    EXPECT_GE(failures, 3);
    allocator.countdown = INT64_MAX;
    EXPECT_EQ(m.call("f"), DYN_OK) << m.message;
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(Objects, deepNestingDiesWithoutRecursion) {
  Machine m(
      "function f parameters 1 results 1\n const r0 0\n item r1 v0 r0\n tuple v1 0 []\nagain:\n list v1 "
      "[v1]\n tuple v1 3 [v1 v1]\n addi r1 r1 -1\n jumpif r1 again\n ret [v1]\n");
  Value n = m.integers({300000});
  ASSERT_EQ(m.call("f", {n.get()}), DYN_OK) << m.message;
  Value out = m.output();
  ASSERT_EQ(m.call("f", {m.integers({1}).get()}), DYN_OK);
  out.reset();
  EXPECT_LT(m.statistics().in_use_bytes, 1'000'000u);
}

TEST(Objects, listsAppendInPlace) {
  Machine m(
      "function f parameters 1 results 1\n const r0 0\n item r1 v0 r0\n list v1 []\n const r2 0\nagain:\n "
      "listinsert v1 v1 v0 r2\n addi r2 r2 1\n lt r3 r2 r1\n jumpif r3 again\n"
      " listlength r4 v1\n fromscalar v2 i64 r4\n ret [v2]\n");
  Value n = m.integers({200000});  // quadratic copying would take minutes
  ASSERT_EQ(m.call("f", {n.get()}), DYN_OK) << m.message;
  EXPECT_THAT(dataOf<int64_t>(m.output()), ElementsAre(200000));
}

// Memory that nothing else holds is taken; memory that something holds, in whatever way, is not, nor memory
// of another size.
TEST(Objects, reuseTakesWhatIsHeldOnce) {
  struct Case {
    const char* between;  // from v1, a new tensor of 3 elements that v0 is copied to, to v2, its successor
    int64_t first;        // v1's first element after v2 was filled with 7
  };
  for (const Case& c : {Case{"reusetensor v2 v1 i64 0 [r0]\n", 7},
                        Case{"moveobject v3 v1\n reusetensor v2 v1 i64 0 [r0]\n", 5},
                        Case{"reshape v3 v1 [r0]\n reusetensor v2 v1 i64 0 [r0]\n", 5},
                        Case{"reusetensor v2 v1 f64 0 [r0]\n", 5}, Case{"reusetensor v2 v1 i64 0 [r1]\n", 5},
                        Case{"reusetensor v2 v1 i64 0 [r1 r0]\n", 5}}) {
    Machine m(std::string(kKernelRows) +
              "builtin \"copy\"\nfunction f parameters 1 results 1\n const r0 3\n const r1 1\n const r2 7\n "
              "builtin b0 [v1] [v0] [] []\n " +
              c.between + " launch k1 r1 r1 [v2] [r2]\n ret [v1]\n");
    Value x = m.integers({5, 5, 5});
    ASSERT_EQ(m.call("f", {x.get()}), DYN_OK) << m.message;
    EXPECT_EQ(dataOf<int64_t>(m.output())[0], c.first) << c.between;
  }
  // An input is the caller's, a constant the module's.
  Machine m(std::string(kKernelRows) +
            "function f parameters 1 results 1\n const r0 3\n const r1 1\n const r2 7\n reusetensor v1 v0 "
            "i64 0 [r0]\n "
            "launch k1 r1 r1 [v1] [r2]\n ret [v0]\n");
  Value x = m.integers({5, 5, 5});
  ASSERT_EQ(m.call("f", {x.get()}), DYN_OK) << m.message;
  EXPECT_EQ(dataOf<int64_t>(m.output())[0], 5);
}

TEST(Cancel, endsALoopFromAnotherThread) {
  for (const char* body :
       {"x: jump x\n", "x: addi r0 r0 1\n jumpif r0 x\n ret []\n", "invoke [] f1 []\nx: jump x\n"}) {
    Machine m(std::string("function f\n") + body + "function g\n tailinvoke f1 []\n");
    std::atomic<bool> finished{false};
    std::thread other([&] {
      while (!finished) {
        dyn_context_cancel(m.context());
        std::this_thread::yield();
      }
    });
    EXPECT_EQ(m.call("f"), DYN_CANCELLED) << body;
    finished = true;
    other.join();
    EXPECT_THAT(m.message, HasSubstr("cancelled"));
  }
}

struct Trace {
  std::vector<std::string> seen;
  dyn_trap_action action = DYN_TRAP_CONTINUE;
  static dyn_trap_action note(void* user, const dyn_trap* trap) {
    auto& self = *static_cast<Trace*>(user);
    self.seen.push_back(std::string(trap->function) + "@" + std::to_string(trap->position) + " " +
                        trap->instruction + " | " + trap->place);
    return self.action;
  }
};

TEST(Traps, steppingAndBreakpoints) {
  Machine m(
      "string \"node A\"\nfunction f results 1\n const r0 3\nplace 0\nagain: addi r0 r0 -1\n jumpif r0 "
      "again\n invoke [v0] f1 []\n ret [v0]\nfunction g results 1\n fromscalar v0 i64 r0\n ret [v0]\n");
  Trace trace;
  trace.action = DYN_TRAP_STEP;
  dyn_context_set_trap(m.context(), Trace::note, &trace, 1);
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  EXPECT_EQ(trace.seen.size(), 1u + 6 + 1 + 2 + 1);
  EXPECT_EQ(trace.seen[0], "f@0 const r0 3 | ");
  EXPECT_EQ(trace.seen[1], "f@4 addi r0 r0 -1 | node A");
  EXPECT_THAT(trace.seen[8], HasSubstr("g@0 fromscalar v0 i64 r0"));
  trace.seen.clear();
  trace.action = DYN_TRAP_CONTINUE;
  dyn_context_set_trap(m.context(), Trace::note, &trace, 0);
  ASSERT_EQ(m.call("f"), DYN_OK);
  EXPECT_TRUE(trace.seen.empty());
  EXPECT_EQ(dyn_context_breakpoint(m.context(), 0, 5, 1), DYN_INVALID_ARGUMENT)
      << "not the start of an instruction";
  ASSERT_EQ(dyn_context_breakpoint(m.context(), 0, 9, 1), DYN_OK);
  ASSERT_EQ(m.call("f"), DYN_OK);
  EXPECT_EQ(trace.seen, std::vector<std::string>(3, "f@9 jumpif r0 L4 | node A"));
  trace.seen.clear();
  trace.action = DYN_TRAP_STOP;
  EXPECT_EQ(m.call("f"), DYN_CANCELLED);
  EXPECT_EQ(trace.seen.size(), 1u);
  ASSERT_EQ(dyn_context_breakpoint(m.context(), -1, 0, 0), DYN_OK);
  EXPECT_EQ(m.call("f"), DYN_OK);
}

// A JSON reader just strict enough to say whether a text is JSON.
bool isJson(const std::string& text) {
  std::vector<char> open;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
      else if (static_cast<unsigned char>(c) < 0x20)
        return false;
      continue;
    }
    if (c == '"') inString = true;
    if (c == '{' || c == '[') open.push_back(c);
    if (c == '}' || c == ']') {
      if (open.empty() || open.back() != (c == '}' ? '{' : '[')) return false;
      open.pop_back();
    }
    if (c == ',' && i + 1 < text.size()) {
      const size_t next = text.find_first_not_of(" \n", i + 1);
      if (next == std::string::npos || text[next] == '}' || text[next] == ']') return false;
    }
  }
  return open.empty() && !inString;
}

TEST(Profile, recordsKernelsAndNests) {
  Machine m(std::string(kKernelRows) +
            "string \"node \\\"quoted\\\" (Add)\"\nbuiltin \"copy\"\nfunction f results 1\n place 0\n const "
            "r0 7\n newtensor v0 i64 0 [r0]\n launch k1 r0 r0 [v0] [r0]\n"
            " builtin b0 [v1] [v0] [] []\n invoke [v2] f1 [v1]\n ret [v2]\nfunction g parameters 1 results "
            "1\n dim r0 v0 0\n launch k1 r0 r0 [v0] [r0]\n ret [v0]\n");
  ASSERT_EQ(dyn_context_profile(m.context(), 1), DYN_OK);
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  ASSERT_EQ(dyn_context_profile(m.context(), 0), DYN_OK);
  const std::string trace = dyn_context_profile_text(m.context(), "trace");
  EXPECT_TRUE(isJson(trace)) << trace;
  EXPECT_THAT(trace, HasSubstr("\"name\":\"fill\",\"cat\":\"kernel\""));
  EXPECT_THAT(trace, HasSubstr("\"shapes\":\"i64[7]\""));
  EXPECT_THAT(trace, HasSubstr("\"bytes\":56"));
  EXPECT_THAT(trace, HasSubstr("\"scalars\":[7,7,7],\"numbers\":[]")) << "units, steps, the kernel's own";
  EXPECT_THAT(trace, HasSubstr("node \\\"quoted\\\" (Add)"));
  EXPECT_THAT(trace, HasSubstr("\"cat\":\"function\""));
  EXPECT_THAT(trace, HasSubstr("\"displayTimeUnit\":\"ms\""));
  const std::string table = dyn_context_profile_text(m.context(), "json"),
                    csv = dyn_context_profile_text(m.context(), "csv");
  EXPECT_TRUE(isJson(dyn_context_profile_text(m.context(), "json")));
  EXPECT_THAT(dyn_context_profile_text(m.context(), "json"), HasSubstr("\"name\":\"fill\""));
  EXPECT_THAT(csv, HasSubstr("kernel,fill,2,"));
  EXPECT_GT(m.statistics().instructions_count, 0u);
  EXPECT_EQ(m.statistics().launches_count, 3u);
  EXPECT_STREQ(dyn_context_profile_text(m.context(), "xml"), "");
  ASSERT_EQ(m.call("f"), DYN_OK);
  EXPECT_EQ(m.statistics().instructions_count, 0u) << "off again";
}

// --- the contract

const std::string kContract = std::string(kKernelRows) +
                              "input \"a\" tensor f32 [\"n\"]\ninput \"b\" tensor f32 [\"n\" 1..8]\noutput "
                              "\"y\" tensor f32 [\"n\"]\nmeta \"producer\" \"test\"\n"
                              "function main parameters 2 results 1\n dim r0 v0 0\n newtensor v2 f32 0 "
                              "[r0]\n launch k0 r0 r0 [v0 v1 v2] []\n ret [v2]\nmain main\n";

TEST(Contract, isToldAndChecked) {
  Machine m(kContract);
  const char *name = nullptr, *kind = nullptr;
  int32_t dtype = 0, rank = 0;
  ASSERT_EQ(dyn_module_input(m.module(), 1, &name, &kind, &dtype, &rank), DYN_OK);
  EXPECT_STREQ(name, "b");
  EXPECT_STREQ(kind, "tensor");
  EXPECT_EQ(dtype, DYN_F32);
  EXPECT_EQ(rank, 1);
  dyn_contract_dim dim = {};
  ASSERT_EQ(dyn_module_input_dim(m.module(), 1, 0, &dim), DYN_OK);
  EXPECT_STREQ(dim.text, "n");
  EXPECT_EQ(dim.high, 8);
  EXPECT_NE(dyn_module_input_dim(m.module(), 1, 1, &dim), DYN_OK);
  EXPECT_NE(dyn_module_output(m.module(), 1, &name, &kind, &dtype, &rank), DYN_OK);
  EXPECT_STREQ(dyn_module_metadata(m.module(), "producer"), "test");
  EXPECT_EQ(dyn_module_metadata(m.module(), "nothing"), nullptr);
  EXPECT_THAT(dyn_module_disassembly(m.module()), HasSubstr("launch k0"));

  dyn_context* c = m.context();
  Value two = m.floats({1, 2}), three = m.floats({1, 2, 3}), ten = m.floats(std::vector<float>(10)),
        wrong = m.integers({1});
  EXPECT_EQ(dyn_context_run(c), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("input 0 \"a\" is not set; expected f32[n]"));
  EXPECT_EQ(dyn_context_set_input(c, 0, wrong.get()), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("input \"a\": expected f32[n], got i64[1]"));
  EXPECT_EQ(dyn_context_set_input_name(c, "b", ten.get()), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("allowed is 1..8"));
  EXPECT_EQ(dyn_context_set_input_name(c, "c", two.get()), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("inputs: a, b"));
  ASSERT_EQ(dyn_context_set_input(c, 0, two.get()), DYN_OK);
  ASSERT_EQ(dyn_context_set_input_name(c, "b", three.get()), DYN_OK);
  EXPECT_EQ(dyn_context_run(c), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("dim n is 2 in input \"a\" (axis 0) but 3 in input \"b\""));
  ASSERT_EQ(dyn_context_set_input_name(c, "b", two.get()), DYN_OK);
  ASSERT_EQ(dyn_context_run(c), DYN_OK) << dyn_last_message();
  EXPECT_THAT(dataOf<float>(m.output()), ElementsAre(2, 4));
}

// A program reads the parts of a value without a look at their types and sizes.
TEST(Contract, partsOfValuesAreChecked) {
  Machine m(
      "input \"x\" tensor f32 [\"n\"]\ninput \"l\" list (tensor f32 [\"n\", \"own\", 2])\n"
      "input \"o\" optional (tensor i64 [\"k\"])\ninput \"t\" tuple (tensor i64 [\"k\"], list (tensor "
      "i64 [\"k\"]))\nfunction main parameters 4 results 0\n ret []\nmain main\n");
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  dyn_context* c = m.context();
  const auto compound = [&](dyn_kind kind, int32_t tag, std::vector<dyn_value*> parts) {
    dyn_value* made = nullptr;
    EXPECT_EQ(dyn_value_compound(c, kind, tag, parts.data(), static_cast<int64_t>(parts.size()), &made),
              DYN_OK)
        << dyn_last_message();
    return Value(made);
  };
  const auto refused = [&](const char* input, const Value& value, const char* part) {
    EXPECT_EQ(dyn_context_set_input_name(c, input, value.get()), DYN_BAD_INPUT) << part;
    EXPECT_THAT(dyn_last_message(), HasSubstr(part));
  };
  const auto matrix = [&](int64_t rows, int64_t columns, int64_t last) {
    return m.tensor(DYN_F32, {rows, columns, last},
                    std::vector<float>(static_cast<size_t>(rows * columns * last)));
  };
  Value two = m.floats({1, 2}), threeIntegers = m.integers({1, 2, 3}),
        fourIntegers = m.integers({1, 2, 3, 4});
  Value good = matrix(2, 5, 2), other = matrix(2, 1, 2), narrow = matrix(2, 5, 1), longer = matrix(3, 5, 2);
  refused("l", compound(DYN_KIND_LIST, 0, {good.get(), two.get()}), "element 1 is f32[2]");
  refused("l", compound(DYN_KIND_LIST, 0, {narrow.get()}), "element 0 is f32[2,5,1]");
  refused("l", compound(DYN_KIND_LIST, 0, {nullptr}), "element 0 is absent");
  refused("l", two, "expected list(f32[n, own, 2]), got f32[2]");
  refused("o", threeIntegers, "expected optional(i64[k]), got i64[3]");
  refused("o", compound(DYN_KIND_TUPLE, 1, {two.get()}), "the optional's value is f32[2]");
  refused("o", compound(DYN_KIND_TUPLE, 1, {}), "got tuple");
  Value list = compound(DYN_KIND_LIST, 0, {threeIntegers.get()});
  refused("t", compound(DYN_KIND_TUPLE, 0, {threeIntegers.get()}), "got tuple");
  refused("t",
          compound(DYN_KIND_TUPLE, 0, {threeIntegers.get(), compound(DYN_KIND_LIST, 0, {two.get()}).get()}),
          "field 1, element 0 is f32[2]");

  // Sizes by name: those of elements of lists alone are their own.
  const auto set = [&](const char* input, const Value& value) {
    ASSERT_EQ(dyn_context_set_input_name(c, input, value.get()), DYN_OK) << dyn_last_message();
  };
  set("x", two);
  set("l", compound(DYN_KIND_LIST, 0, {good.get(), other.get()}));
  set("t", compound(DYN_KIND_TUPLE, 0, {threeIntegers.get(), list.get()}));
  EXPECT_EQ(dyn_context_run(c), DYN_OK) << dyn_last_message();
  set("o", compound(DYN_KIND_TUPLE, 1, {threeIntegers.get()}));
  EXPECT_EQ(dyn_context_run(c), DYN_OK) << dyn_last_message();
  set("o", compound(DYN_KIND_TUPLE, 1, {fourIntegers.get()}));
  EXPECT_EQ(dyn_context_run(c), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("input \"t\": dim k is 4, but 3 in i64[3]"));
  set("o", compound(DYN_KIND_TUPLE, 0, {}));
  set("l", compound(DYN_KIND_LIST, 0, {longer.get()}));
  EXPECT_EQ(dyn_context_run(c), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("input \"l\": dim n is 2, but 3 in f32[3,5,2]"));
  set("l", compound(DYN_KIND_LIST, 0, {good.get()}));
  set("t", compound(DYN_KIND_TUPLE, 0,
                    {threeIntegers.get(), compound(DYN_KIND_LIST, 0, {fourIntegers.get()}).get()}));
  EXPECT_EQ(dyn_context_run(c), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("input \"t\": dim k is 3, but 4 in i64[4]"));
}

TEST(Contract, boundOutputsAreMadeInPlace) {
  Machine m(kContract);
  alignas(64) float memory[4] = {};
  Value two = m.floats({1, 2});
  dyn_context_set_input(m.context(), 0, two.get());
  dyn_context_set_input(m.context(), 1, two.get());
  ASSERT_EQ(dyn_context_bind_output(m.context(), 0, memory, sizeof memory), DYN_OK);
  for (int round = 0; round < 3; ++round) {
    memory[0] = memory[1] = 0;
    ASSERT_EQ(dyn_context_run(m.context()), DYN_OK) << dyn_last_message();
    EXPECT_EQ(dyn_value_data(m.output().get()), memory);
    EXPECT_THAT(std::vector<float>(memory, memory + 2), ElementsAre(2, 4));
  }
  Value five = m.floats({1, 2, 3, 4, 5});
  dyn_context_set_input(m.context(), 0, five.get());
  dyn_context_set_input(m.context(), 1, five.get());
  EXPECT_EQ(dyn_context_run(m.context()), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("needs 20 bytes, 16 are bound"));
  ASSERT_EQ(dyn_context_bind_output(m.context(), 0, nullptr, 0), DYN_OK);
  EXPECT_EQ(dyn_context_run(m.context()), DYN_OK);
}

TEST(Values, borrowedMemoryIsReadOnlyAndGivenBackOnce) {
  int released = 0;
  int64_t data[2] = {1, 2};
  {
    Machine m(std::string(kKernelRows) +
              "function f parameters 1\n const r0 2\n launch k1 r0 r0 [v0] [r0]\n ret []\nfunction g "
              "parameters 1 results 1\n ret [v0]\n");
    dyn_value* made = nullptr;
    const int64_t shape = 2;
    ASSERT_EQ(dyn_value_borrow(
                  m.context(), DYN_I64, 1, &shape, data, sizeof data,
                  [](void* user, const void*) { ++*static_cast<int*>(user); }, &released, &made),
              DYN_OK);
    Value value(made);
    EXPECT_EQ(m.call("f", {value.get()}), DYN_CHECK_FAILED);
    EXPECT_EQ(m.call("g", {value.get()}), DYN_OK);
    EXPECT_EQ(dyn_value_data(m.output().get()), data);
    value.reset();
    EXPECT_EQ(released, 0) << "the context still holds the result";
    EXPECT_NE(dyn_value_borrow(m.context(), DYN_I64, 1, &shape, data, 8, nullptr, nullptr, &made), DYN_OK);
    EXPECT_NE(dyn_value_borrow(m.context(), DYN_I64, 1, &shape, reinterpret_cast<char*>(data) + 1, 16,
                               nullptr, nullptr, &made),
              DYN_OK);
  }
  EXPECT_EQ(released, 1);
}

// As of an empty std::vector, or a DLPack tensor without elements.
TEST(Values, borrowedElementsThatAreNoneMayLieNowhere) {
  const void* released = &released;
  const int64_t shape[] = {3, 0};
  {
    Machine m(
        "builtin \"unique\"\nfunction f parameters 1 results 4\n builtin b0 [v1 v2 v3 v4] [v0] [] [0 1]\n "
        "ret [v1 "
        "v2 v3 v4]\n");
    ASSERT_EQ(m.loadMessage, "");
    dyn_value* made = nullptr;
    ASSERT_EQ(
        dyn_value_borrow(
            m.context(), DYN_F32, 2, shape, nullptr, 0,
            [](void* user, const void* data) { *static_cast<const void**>(user) = data; }, &released, &made),
        DYN_OK);
    const Value value(made);
    EXPECT_NE(dyn_value_data(value.get()), nullptr);
    ASSERT_EQ(m.call("f", {value.get()}), DYN_OK) << m.message;
    EXPECT_EQ(dyn_value_shape(m.output().get())[0], 1) << "rows without elements are the same";
  }
  EXPECT_EQ(released, nullptr) << "the caller's own pointer comes back";
}

TEST(Values, stringsAreHeldAndMoved) {
  Machine m(
      "builtin \"copy\"\nfunction f parameters 1 results 1\n const r0 2\n const r1 1\n reshape v0 v0 [r0 "
      "r1]\n builtin b0 [v1] [v0] [] []\n ret [v1]\n");
  const char* texts[] = {"one", ""};
  const int64_t shape = 2;
  dyn_value* made = nullptr;
  ASSERT_EQ(dyn_value_strings(m.context(), 1, &shape, texts, 2, &made), DYN_OK) << dyn_last_message();
  Value value(made);
  ASSERT_EQ(m.call("f", {value.get()}), DYN_OK) << m.message;
  value.reset();
  Value out = m.output();
  EXPECT_STREQ(dyn_value_text(out.get(), 0), "one");
  EXPECT_STREQ(dyn_value_text(out.get(), 1), "");
  EXPECT_EQ(dyn_value_text(out.get(), 2), nullptr);
}

TEST(Values, nullsAndNonsenseAreRefused) {
  EXPECT_EQ(dyn_module_load_memory(nullptr, 0, nullptr, nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_context_create(nullptr, nullptr, nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_context_run(nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_data(nullptr), nullptr);
  EXPECT_EQ(dyn_dtype_text(DYN_DTYPE_COUNT), nullptr);
  dyn_module_release(nullptr);
  dyn_context_release(nullptr);
  dyn_value_release(nullptr);
  Machine m("function f parameters 1 results 1\n ret [v0]\n");
  dyn_value* value = nullptr;
  const int64_t negative = -1, two = 2;
  EXPECT_NE(dyn_value_tensor(m.context(), DYN_F32, 1, &negative, nullptr, 0, &value), DYN_OK);
  EXPECT_NE(dyn_value_tensor(m.context(), 99, 1, &two, nullptr, 0, &value), DYN_OK);
  EXPECT_NE(dyn_value_tensor(m.context(), DYN_F32, 33, &two, nullptr, 0, &value), DYN_OK);
  EXPECT_NE(dyn_value_tensor(m.context(), DYN_F32, 1, &two, &two, 4, &value), DYN_OK);
  EXPECT_NE(m.call("f"), DYN_OK);
  EXPECT_NE(m.call("none"), DYN_OK);
  EXPECT_NE(dyn_context_get_output(m.context(), 0, &value), DYN_OK);
  EXPECT_EQ(dyn_abi_version(), DYN_ABI_VERSION);
}

TEST(Threads, shareOneModule) {
  const int64_t w[3] = {10, 20, 30};
  Machine m(kGrow +
                "constant \"w\" i64 [3] offset 0\nglobals 1\nfunction set\n loadconst v0 c0\n storeglobal v0 "
                "g0\n ret []\n"
                "function both parameters 1 results 3\n invoke [v1] f0 [v0]\n loadglobal v2 g0\n loadconst "
                "v3 c0\n list v4 [v2 v3]\n ret [v1 v4 v2]\ninit set\n",
            {}, {w});
  ASSERT_EQ(m.loadStatus, DYN_OK) << m.loadMessage;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      dyn_context* context = nullptr;
      if (dyn_context_create(m.module(), nullptr, &context) != DYN_OK) ++wrong;
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < 300; ++round) {
        const int64_t n = static_cast<int64_t>(random() % 500);
        dyn_value *argument = nullptr, *result = nullptr;
        if (dyn_value_tensor(context, DYN_I64, 0, nullptr, &n, sizeof n, &argument) != DYN_OK) ++wrong;
        if (dyn_context_run_function(context, "both", &argument, 1) != DYN_OK) ++wrong;
        if (dyn_context_get_output(context, 0, &result) != DYN_OK ||
            dyn_value_size_bytes(result) != static_cast<size_t>(n) * 8)
          ++wrong;
        dyn_value_release(argument);
        dyn_value_release(result);
      }
      dyn_context_release(context);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(FormerNames, areExported) {
  EXPECT_STREQ(dyn_panels(), dyn_packed_weights_layout());
  EXPECT_EQ(dyn_context_rehearse_kept(nullptr, 0), dyn_context_dry_run_valid_positions(nullptr, 0));
  EXPECT_EQ(dyn_context_rehearse_elements(nullptr, 0, nullptr, 0),
            dyn_context_dry_run_elements(nullptr, 0, nullptr, 0));
  EXPECT_NE(dyn_context_rehearse_kept(nullptr, 0), DYN_OK);
}

}  // namespace
}  // namespace dyn::vm::test
