// What a program may ask about its launches, and stepping through one of them (simcuda.h).
#include <algorithm>
#include <cstring>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

#define SIMCUDA_EXTRA extern "C" __attribute__((visibility("default")))

namespace {

Driver& driver() {
  auto& made = theDriver();
  if (!made) made = std::make_unique<Driver>(Options::fromEnvironment());
  return *made;
}

Stepper* open() { return theDriver() ? theDriver()->kept.stepper.get() : nullptr; }

int refuse(const std::string& why) {
  driver().lastFault = why;
  return 1;
}

std::string lineOf(const std::string& text, int number) {
  size_t at = 0;
  for (int line = 1; line < number && at != std::string::npos; line++) {
    at = text.find('\n', at);
    if (at != std::string::npos) at++;
  }
  if (number < 1 || at == std::string::npos) return "";
  std::string line = text.substr(at, text.find('\n', at) - at);
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

bool names(const Operand& operand, int index) {
  if (operand.index == index || operand.second == index) {
    if (operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::Address) return true;
  }
  return std::any_of(operand.parts.begin(), operand.parts.end(),
                     [&](const Operand& part) { return names(part, index); });
}

bool uses(const Instruction& instruction, int index) {
  if (instruction.guard == index) return true;
  return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                     [&](const Operand& operand) { return names(operand, index); });
}

uint64_t valueOf(const Warp& w, Row row, Width width, int lane) {
  switch (width) {
    case Width::Predicate:
      return slots<bool>(w, row)[lane] != 0;
    case Width::Bits16:
      return slots<uint32_t>(w, row)[lane] & 0xffff;
    case Width::Bits32:
      return slots<uint32_t>(w, row)[lane];
    default:
      return slots<uint64_t>(w, row)[lane];
  }
}

}  // namespace

SIMCUDA_EXTRA uint64_t dyn_simcuda_launch_count() {
  std::lock_guard<std::mutex> lock(theLock());
  return theDriver() ? theDriver()->log.count() : 0;
}

SIMCUDA_EXTRA int dyn_simcuda_launch_info(uint64_t number, dyn_simcuda_launch_t* launch) {
  std::lock_guard<std::mutex> lock(theLock());
  const dyn_simcuda_launch_t* found = theDriver() ? theDriver()->log.find(number) : nullptr;
  if (!found) return 1;
  *launch = *found;
  return 0;
}

SIMCUDA_EXTRA void dyn_simcuda_keep_launch(uint64_t n) {
  std::lock_guard<std::mutex> lock(theLock());
  driver().kept.want(n, driver().log);
}

SIMCUDA_EXTRA int dyn_simcuda_step_open(uint32_t block, uint32_t warp) {
  std::lock_guard<std::mutex> lock(theLock());
  KeptLaunch& kept = driver().kept;
  kept.stepper.reset();
  if (!kept.any()) return refuse("no launch was kept");
  const Launch& launch = kept.launch();
  uint32_t warps = (launch.threadCount() + kLanes - 1) / kLanes;
  if (block >= launch.blockCount())
    return refuse("there is no block " + std::to_string(block) + " of " +
                  std::to_string(launch.blockCount()));
  if (warp >= warps)
    return refuse("there is no warp " + std::to_string(warp) + " of " + std::to_string(warps));
  try {
    kept.stepper = std::make_unique<Stepper>(launch, block, warp);
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  return 0;
}

SIMCUDA_EXTRA int dyn_simcuda_step(uint64_t count, int by) {
  std::lock_guard<std::mutex> lock(theLock());
  Stepper* stepper = open();
  if (!stepper) return refuse("no warp is stepped through");
  for (uint64_t i = 0; stepper->next() && (i < count || by == DYN_SIMCUDA_END); i++) {
    if (by == DYN_SIMCUDA_LINE) {
      stepper->stepLine();
    } else {
      stepper->step();
    }
  }
  return stepper->next() ? 0 : 1;
}

SIMCUDA_EXTRA int dyn_simcuda_step_stop(dyn_simcuda_stop_t* stop) {
  std::lock_guard<std::mutex> lock(theLock());
  Stepper* stepper = open();
  if (!stepper) return 1;
  KeptLaunch& kept = theDriver()->kept;
  const Launch& launch = stepper->launch();
  const Block& block = stepper->block();
  const Warp& w = stepper->warp();
  *stop = {};
  stop->kernel = block.code.name.c_str();
  std::copy(launch.grid.begin(), launch.grid.end(), stop->grid);
  std::copy(launch.threads.begin(), launch.threads.end(), stop->threads);
  stop->block = block.linear;
  stop->warp = w.index;
  stop->warps = static_cast<uint32_t>(block.warps.size());
  stop->active = stepper->active();
  stop->exists = w.exists;
  stop->ended = w.ended;
  stop->parked = w.parked;
  stop->file = "";
  kept.line.clear();
  if (const Op* next = stepper->next()) {
    stop->line = static_cast<uint32_t>(next->text->line);
    kept.line = lineOf(kept.moduleText(), next->text->line);
    auto file = block.code.module->files.find(next->text->place.file);
    if (next->text->place.line > 0 && file != block.code.module->files.end()) {
      stop->file = file->second.c_str();
      stop->source_line = static_cast<uint32_t>(next->text->place.line);
    }
  }
  stop->text = kept.line.c_str();
  stop->barriers = block.epoch;
  stop->instructions = stepper->instructions();
  stop->fault = stepper->fault().c_str();
  stop->shared_bytes = static_cast<uint32_t>(block.shared.size());
  stop->registers = static_cast<uint32_t>(block.code.text->registers.size());
  return 0;
}

SIMCUDA_EXTRA int dyn_simcuda_step_register(uint32_t index, dyn_simcuda_register_t* value) {
  std::lock_guard<std::mutex> lock(theLock());
  Stepper* stepper = open();
  if (!stepper) return 1;
  const KernelCode& code = stepper->block().code;
  if (index >= code.text->registers.size()) return 1;
  const Register& which = code.text->registers[index];
  *value = {};
  value->name = which.name.c_str();
  value->bits = which.width == Width::Predicate ? 1
                : which.width == Width::Bits16  ? 16
                : which.width == Width::Bits32  ? 32
                                                : 64;
  value->used = stepper->next() && uses(*stepper->next()->text, static_cast<int>(index));
  for (int l = 0; l < kLanes; l++)
    value->values[l] = valueOf(stepper->warp(), code.registerRows[index], which.width, l);
  return 0;
}

SIMCUDA_EXTRA uint32_t dyn_simcuda_step_shared(uint32_t offset, uint32_t count, uint8_t* bytes,
                                               uint8_t* written) {
  std::lock_guard<std::mutex> lock(theLock());
  Stepper* stepper = open();
  if (!stepper) return 0;
  const Block& block = stepper->block();
  size_t whole = block.shared.size();
  size_t there = offset < whole ? std::min<size_t>(count, whole - offset) : 0;
  std::memcpy(bytes, block.shared.data() + std::min<size_t>(offset, whole), there);
  for (size_t i = 0; written && i < there; i++)
    written[i] = block.sharedWritten.empty() ? 1 : block.sharedWritten[offset + i];
  return static_cast<uint32_t>(there);
}
