#include "compiler/codegen/llvm/machine_catalog.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(Machine, HostIsDetectedAndRunsItself) {
  auto host = detectHost();
  ASSERT_TRUE(host.ok()) << host.error().toString();
  EXPECT_FALSE(host->cpu.empty());
  EXPECT_GE(host->coreCount, 1);
  EXPECT_TRUE(host->vectorBits == 128 || host->vectorBits == 256 || host->vectorBits == 512);
  EXPECT_TRUE(runsOnThisHost(*host));
}

TEST(Machine, TextRoundTripsForHostAndAllPresets) {
  std::vector<MachineDescription> machines;
  auto host = detectHost();
  ASSERT_TRUE(host.ok());
  host->l3ReadGBs = 97.3;
  host->memoryReadGBs = 1.0 / 3;
  machines.push_back(*host);
  for (const std::string& name : machinePresetNames()) {
    auto machine = machinePreset(name);
    ASSERT_TRUE(machine.ok()) << machine.error().toString();
    EXPECT_EQ(machine->name, name);
    machines.push_back(*machine);
  }
  for (const MachineDescription& machine : machines) {
    const std::string text = printMachine(machine);
    auto parsed = parseMachine(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    EXPECT_EQ(*parsed, machine);
    EXPECT_EQ(printMachine(*parsed), text);
  }
}

TEST(Machine, PresetsKnowTheirInstructionSets) {
  auto preset = [](const char* name) { return *machinePreset(name); };
  EXPECT_EQ(preset("x86-64").vectorBits, 128);
  EXPECT_FALSE(preset("x86-64").fma);
  EXPECT_EQ(preset("haswell").vectorBits, 256);
  EXPECT_TRUE(preset("haswell").fma);
  EXPECT_EQ(preset("znver4").vectorBits, 512);
  EXPECT_EQ(preset("znver4").vectorRegisters, 32);
  EXPECT_TRUE(preset("znver4").avx512Bf16);
  EXPECT_FALSE(preset("znver4").amxTile);
  EXPECT_TRUE(preset("sapphirerapids").amxBf16);
  EXPECT_TRUE(preset("sapphirerapids").amxInt8);
  EXPECT_FALSE(preset("skylake-avx512").avx512Bf16);
  EXPECT_TRUE(preset("rv64gcv").maskedMemory);
  EXPECT_TRUE(preset("cortex-a72").fma);
  EXPECT_FALSE(runsOnThisHost(preset("rv64gcv")) && runsOnThisHost(preset("cortex-a72")));
}

// Names of sections of packages have 63 bytes.
TEST(Machine, WhatCodeNeedsHasAShortName) {
  auto needs = [](const char* name) { return codeNeeds(*machinePreset(name)); };
  EXPECT_EQ(needs("x86-64"), "x86_64");
  EXPECT_EQ(needs("x86-64-v1"), "x86_64");
  EXPECT_EQ(needs("x86-64-v2"), "x86_64:v2");
  EXPECT_EQ(needs("x86-64-v3"), "x86_64:v3");
  EXPECT_EQ(needs("x86-64-v4"), "x86_64:v4");
  EXPECT_EQ(needs("haswell"), "x86_64:v3");
  EXPECT_EQ(needs("skylake-avx512"), "x86_64:v4");
  EXPECT_EQ(needs("cortex-a72"), "aarch64");
  EXPECT_EQ(needs("aarch64"), "aarch64");
  EXPECT_EQ(needs("armv8.2"), "aarch64:fp16+dotprod");
  EXPECT_EQ(needs("armv8.6"), "aarch64:fp16+dotprod+i8mm+bf16");
  EXPECT_EQ(needs("neoverse-n1"), "aarch64:fp16+dotprod");
  EXPECT_EQ(needs("neoverse-v1"), "aarch64:fp16+fcma+sha3+dotprod+i8mm+bf16");
  EXPECT_EQ(needs("riscv64"), "riscv64");
  MachineDescription between = *machinePreset("x86-64");
  between.cpu = "sandybridge";
  EXPECT_EQ(codeNeeds(between), "x86_64:v2+avx");
  for (const std::string& name : machinePresetNames()) EXPECT_LE(needs(name.c_str()).size(), 63u) << name;
  EXPECT_LE(codeNeeds(*detectHost()).size(), 63u);
}

TEST(Machine, UnknownPresetNamesTheKnownOnes) {
  auto machine = machinePreset("abacus");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().id, DiagnosticId::usageError);
  ASSERT_EQ(machine.error().notes.size(), 1u);
  EXPECT_NE(machine.error().notes[0].find("haswell"), std::string::npos);
}

TEST(Machine, ParserNamesTheLineOfAnError) {
  const std::string start = "dyn-machine 1\ntriple = x86_64-unknown-linux-gnu\ncpu = haswell\n";
  EXPECT_TRUE(parseMachine(start).ok());
  EXPECT_TRUE(parseMachine(start + "# a remark\n\n l1Bytes=32768 \r\n").ok());
  for (const char* bad :
       {"vectorBits = 100", "colour = red", "fma = maybe", "l1Bytes = -1", "l1Bytes = 12 KB", "coreCount = 0",
        "just text", "l1ReadGBs = nan", "vectorRegisters = 99999999999999999999"}) {
    auto machine = parseMachine(start + bad + "\n", "m.txt");
    ASSERT_FALSE(machine.ok()) << bad;
    EXPECT_EQ(machine.error().id, DiagnosticId::fileFormat);
    EXPECT_EQ(machine.error().place.file, "m.txt");
    EXPECT_EQ(machine.error().place.line, 4u) << bad;
  }
  EXPECT_FALSE(parseMachine("").ok());
  EXPECT_FALSE(parseMachine("dyn-machine 2\n").ok());
  EXPECT_FALSE(parseMachine("dyn-machine 1\ncpu = haswell\n").ok());
}

}  // namespace
}  // namespace dyn
