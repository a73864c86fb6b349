// Random programs of one instance made programs of many (pass `vectorize`): each instance gives what it gives
// alone, in the reference interpreter, and compiled.
//
//   many_programs [--count N] [--seed S] [--compiled] [--show]
//
// Seed S + i makes program i, run over 1 and 3 instances of several sizes; sizes at which an instance alone
// ends in an error are left out. Ends with 1 when anything differed, naming the seed; --show prints the
// programs of one and of many, and runs nothing.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cmath>

#include "compiler/infer/infer.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/pass_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/fuzz/differential/comparison.h"
#include "tests/fuzz/differential/generator.h"
#include "tests/support/compiled.h"
#include "tests/support/text_module.h"

namespace dyn {

namespace {

constexpr double kTolerance = 1e-4;
volatile unsigned long long g_seed = 0;  // of the program in hand, for who dies of it

struct Counts {
  int64_t programs = 0, refused = 0, runs = 0, faults = 0, failed = 0;
  std::map<std::string, int64_t> joined;  // counters of the pass
  int64_t whole = 0;                      // programs of which nothing is joined
};

HostTensor stacked(const std::vector<HostTensor>& parts) {
  std::vector<int64_t> shape = parts[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  HostTensor all = *HostTensor::create(parts[0].dtype(), shape);
  std::byte* to = all.mutableData();
  for (const HostTensor& part : parts) {
    std::memcpy(to, part.data(), static_cast<size_t>(part.sizeBytes()));
    to += part.sizeBytes();
  }
  return all;
}

// Element `i` of instance `instance` of a stacked tensor, and of one alone.
std::string difference(const HostTensor& actual, int64_t first, const HostTensor& expected) {
  for (int64_t k = 0; k < expected.elementCount(); ++k) {
    const double x = actual.realAt(first + k), y = expected.realAt(k);
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= kTolerance * (1 + std::abs(y)))
      continue;
    return "element " + std::to_string(k) + " is " + std::to_string(x) + " instead of " + std::to_string(y);
  }
  return "";
}

std::string difference(const Value& many, size_t instance, const Value& alone) {
  if (many.kind() == ValueKind::list) {
    const Value& own = many.parts()[instance];
    if (!alone.isTensor())
      return own.identical(alone) ? "" : own.toString() + " instead of " + alone.toString();
    if (own.tensor().shape() != alone.tensor().shape()) return "another shape";
    return difference(own.tensor(), 0, alone.tensor());
  }
  if (!alone.isTensor()) return "no list of what is no tensor";
  std::vector<int64_t> shape = many.tensor().shape();
  shape.erase(shape.begin());
  if (shape != alone.tensor().shape()) return "another shape";
  return difference(many.tensor(), static_cast<int64_t>(instance) * alone.tensor().elementCount(),
                    alone.tensor());
}

// Tensors, and lists of them.
Value valueOf(const dyn_value* value) {
  if (dyn_value_kind(value) == DYN_KIND_TENSOR) return test::fromVm(value);
  std::vector<Value> items;
  for (int64_t i = 0; i < dyn_value_item_count(value); ++i) {
    dyn_value* item = nullptr;
    if (dyn_value_item(value, i, &item) != DYN_OK) break;
    items.push_back(valueOf(test::ValueHandle(item).get()));
  }
  return Value::list(std::move(items));
}

Result<std::vector<Value>> runCompiled(test::Compiled& program, const std::vector<HostTensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (dyn_context_set_input(program.context.get(), static_cast<int32_t>(i),
                              program.toVm(inputs[i]).get()) != DYN_OK)
      return makeError(DiagnosticId::inputMismatch, dyn_last_message());
  if (const dyn_status status = dyn_context_run(program.context.get()); status != DYN_OK)
    return makeError(test::idOf(status), dyn_last_message());
  std::vector<Value> outputs;
  for (int32_t i = 0; i < dyn_context_result_count(program.context.get()); ++i) {
    dyn_value* value = nullptr;
    if (dyn_context_get_output(program.context.get(), i, &value) != DYN_OK)
      return makeError(DiagnosticId::runtimeError, dyn_last_message());
    outputs.push_back(valueOf(test::ValueHandle(value).get()));
  }
  return outputs;
}

std::string check(const differential::Program& program, uint64_t seed, bool compiled, Counts& counts) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, toText(program));
  if (!parsed.ok()) return "";
  Result<InferredModule> one = inferTypes(*parsed);
  if (!one.ok()) return "";  // two sizes are never equal, perhaps
  PassContext pass;
  Result<Module> many = findPass(passTable(), "vectorize")->run(one->module, pass);
  if (!many.ok()) {
    ++counts.refused;
    return many.error().id == DiagnosticId::unsupportedFeature ? "refused: " + many.error().toString()
                                                               : many.error().toString();
  }
  if (!pass.remarks.empty() && pass.remarks[0].rfind("nothing is joined", 0) == 0) {
    ++counts.whole;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), pass.remarks[0].c_str());
  }
  for (const auto& [name, count] : pass.counters) counts.joined[name] += count;
  std::unique_ptr<test::Compiled> machine;
  if (compiled) {
    CompileOptions options;
    options.threadCount = 1;
    Result<std::unique_ptr<test::Compiled>> made = test::Compiled::make(*many, options);
    if (!made.ok()) return "it does not compile: " + made.error().toString();
    machine = std::move(*made);
  }
  for (const differential::Sizes& sizes : differential::sizesFor(program, seed)) {
    for (const size_t r : {size_t{1}, size_t{3}}) {
      std::vector<std::vector<HostTensor>> inputs;
      std::vector<std::vector<Value>> expected;
      std::string fault;
      for (size_t i = 0; i < r && fault.empty(); ++i) {
        inputs.push_back(differential::inputsFor(program, sizes, seed * 7 + i));
        Result<std::vector<Value>> alone =
            interpret(one->module, std::vector<Value>(inputs[i].begin(), inputs[i].end()), {});
        if (!alone.ok()) fault = alone.error().toString();
        if (alone.ok()) expected.push_back(std::move(*alone));
      }
      ++counts.runs;
      if (!fault.empty()) {
        ++counts.faults;
        continue;
      }
      std::vector<HostTensor> all;
      for (size_t k = 0; k < inputs[0].size(); ++k) {
        std::vector<HostTensor> parts;
        for (const auto& instance : inputs) parts.push_back(instance[k]);
        all.push_back(stacked(parts));
      }
      std::string where = std::to_string(r) + " instances";
      for (const auto& [name, size] : sizes) where += ", " + name + "=" + std::to_string(size);
      Result<std::vector<Value>> together = interpret(*many, std::vector<Value>(all.begin(), all.end()), {});
      if (!together.ok()) return where + ": " + together.error().toString();
      for (size_t i = 0; i < r; ++i)
        for (size_t k = 0; k < together->size(); ++k)
          if (const std::string what = difference((*together)[k], i, expected[i][k]); !what.empty())
            return where + ": instance " + std::to_string(i) + ", result " + std::to_string(k) + ": " + what;
      if (!machine) continue;
      Result<std::vector<Value>> ran = runCompiled(*machine, all);
      if (!ran.ok()) return where + ", compiled: " + ran.error().toString();
      for (size_t i = 0; i < r; ++i)
        for (size_t k = 0; k < ran->size(); ++k)
          if (const std::string what = difference((*ran)[k], i, expected[i][k]); !what.empty())
            return where + ", compiled: instance " + std::to_string(i) + ", result " + std::to_string(k) +
                   ": " + what;
    }
  }
  return "";
}

void sayWhoDied(int signal) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "seed %llu: signal %d\n", g_seed, signal);
  (void)!::write(2, text, static_cast<size_t>(length));
  ::_exit(1);
}

void show(uint64_t seed) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, toText(differential::generate(seed)));
  if (!parsed.ok()) return;
  Result<InferredModule> one = inferTypes(*parsed);
  if (!one.ok()) return;
  std::printf("# seed %llu\n%s", static_cast<unsigned long long>(seed), print(one->module).c_str());
  PassContext pass;
  Result<Module> many = findPass(passTable(), "vectorize")->run(one->module, pass);
  std::printf("# of many\n%s", many.ok() ? print(*many).c_str() : many.error().toString().c_str());
  for (const std::string& remark : pass.remarks) std::printf("# %s\n", remark.c_str());
}

int run(uint64_t from, int64_t count, bool compiled) {
  std::signal(SIGSEGV, sayWhoDied);
  std::signal(SIGABRT, sayWhoDied);
  Counts counts;
  for (uint64_t seed = from; seed < from + static_cast<uint64_t>(count); ++seed) {
    g_seed = seed;
    ++counts.programs;
    const std::string what = check(differential::generate(seed), seed, compiled, counts);
    if (what.empty()) continue;
    ++counts.failed;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
    std::fflush(stdout);
  }
  std::printf("%lld programs, %lld runs, %lld of them end in an error alone; %lld differ\n",
              static_cast<long long>(counts.programs), static_cast<long long>(counts.runs),
              static_cast<long long>(counts.faults), static_cast<long long>(counts.failed));
  for (const auto& [name, number] : counts.joined)
    std::printf("  %s: %lld\n", name.c_str(), static_cast<long long>(number));
  // A pass that joins nothing would make a test that cannot fail.
  const bool meaningful =
      counts.joined["joined"] > counts.joined["alone"] && counts.whole * 20 < counts.programs;
  if (!meaningful)
    std::printf("too little is joined: %lld programs not at all\n", static_cast<long long>(counts.whole));
  return counts.failed == 0 && meaningful ? 0 : 1;
}

}  // namespace

}  // namespace dyn

int main(int argumentCount, char** arguments) {
  uint64_t seed = 1;
  int64_t count = 300;
  bool compiled = false, isShown = false;
  for (int i = 1; i < argumentCount; ++i) {
    const bool more = i + 1 < argumentCount;
    if (std::strcmp(arguments[i], "--compiled") == 0) {
      compiled = true;
    } else if (std::strcmp(arguments[i], "--show") == 0) {
      isShown = true;
    } else if (std::strcmp(arguments[i], "--seed") == 0 && more) {
      seed = std::strtoull(arguments[++i], nullptr, 10);
    } else if (std::strcmp(arguments[i], "--count") == 0 && more) {
      count = std::atoll(arguments[++i]);
    } else {
      std::fprintf(stderr, "usage: many_programs [--count N] [--seed S] [--compiled] [--show]\n");
      return 2;
    }
  }
  if (!isShown) return dyn::run(seed, count, compiled);
  for (int64_t i = 0; i < count; ++i) dyn::show(seed + static_cast<uint64_t>(i));
  return 0;
}
