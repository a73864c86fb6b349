#include <fmt/format.h>

#include <bit>
#include <optional>

#include "app/session/views/device_views.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

std::string sizeText(const std::array<uint32_t, 3>& size) {
  std::string text = std::to_string(size[0]);
  if (size[1] > 1 || size[2] > 1) text += " x " + std::to_string(size[1]);
  if (size[2] > 1) text += " x " + std::to_string(size[2]);
  return text;
}

std::string ratioText(int64_t count, double ratio) { return count > 0 ? fmt::format("{:.2f}", ratio) : "-"; }

std::string lanesText(const WarpView& view) {
  std::string text;
  for (int lane = 0; lane < 32; ++lane) {
    const uint32_t bit = 1u << lane;
    text += !(view.exists & bit) ? ' '
            : view.ended & bit   ? 'x'
            : view.active & bit  ? '#'
            : view.parked & bit  ? 'w'
                                 : '.';
  }
  return text;
}

// PTX names registers by their type: %f3 and %fd3 are reals, the others integers.
std::string valueText(const WarpView::Register& held, uint64_t value) {
  if (held.bits == 1) return value ? "true" : "false";
  if (held.name.rfind("%fd", 0) == 0) return fmt::format("{:.17g}", std::bit_cast<double>(value));
  if (held.name.rfind("%f", 0) == 0)
    return fmt::format("{:.9g}", std::bit_cast<float>(static_cast<uint32_t>(value)));
  if (held.bits == 64)
    return value >> 40 && ~value >> 40 ? fmt::format("0x{:x}", value)
                                       : std::to_string(static_cast<int64_t>(value));
  return std::to_string(static_cast<int32_t>(static_cast<uint32_t>(value)));
}

// The step from lane to lane where it is the same everywhere.
std::optional<uint64_t> deviceStepOf(const WarpView::Register& held, uint32_t exists) {
  if (held.bits < 32 || held.name.rfind("%f", 0) == 0 || exists != ~0u) return std::nullopt;
  const uint64_t step = held.lanes[1] - held.lanes[0];
  for (size_t lane = 1; lane < held.lanes.size(); ++lane)
    if (held.lanes[lane] - held.lanes[lane - 1] != step) return std::nullopt;
  return step;
}

std::string registerText(const WarpView::Register& held, uint32_t exists) {
  const std::string name = fmt::format("  {:<6} ", held.name);
  bool same = true;
  const uint64_t first = held.lanes.empty() ? 0 : held.lanes[0];
  for (size_t lane = 0; lane < held.lanes.size(); ++lane)
    same = same && (!(exists >> lane & 1) || held.lanes[lane] == first);
  if (same) return name + valueText(held, first) + " in all lanes\n";
  if (deviceStepOf(held, exists))
    return name + valueText(held, held.lanes[0]) + ", " + valueText(held, held.lanes[1]) + ", ... " +
           valueText(held, held.lanes.back()) + "\n";
  std::string text;
  for (size_t lane = 0; lane < held.lanes.size(); lane += 8) {
    text += lane == 0 ? name : std::string(name.size(), ' ');
    for (size_t i = lane; i < lane + 8 && i < held.lanes.size(); ++i)
      text += fmt::format("{:>13}", exists >> i & 1 ? valueText(held, held.lanes[i]) : "-");
    text += "\n";
  }
  return text;
}

// Words of 4 bytes, eight in a line; -- is what nothing has written.
std::string sharedText(const WarpView& view) {
  std::string text;
  for (size_t i = 0; i < view.shared.size(); ++i) {
    if (i % 32 == 0) text += fmt::format("{}  {:>6}:", i == 0 ? "" : "\n", view.sharedOffset + i);
    if (i % 4 == 0) text += ' ';
    text += view.sharedWritten[i] ? fmt::format("{:02x}", view.shared[i]) : "--";
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string viewText(const DeviceCountTable& table, const TextOptions& options) {
  if (table.rows.empty()) return "no launches on the simulated GPU\n";
  TextRows rows;
  for (const DeviceCounts& row : table.rows) {
    std::vector<std::string> cells = {row.function,
                                      std::to_string(row.instructions),
                                      ratioText(row.instructions, row.activeLanes()),
                                      ratioText(row.globalRequests, row.sectorsPerRequest()),
                                      ratioText(row.sharedRequests, row.waysPerRequest()),
                                      fmt::format("{} of {}", row.divergentBranches, row.branches),
                                      std::to_string(row.barriers),
                                      row.name};
    cells.insert(cells.begin(),
                 table.byLaunch ? std::to_string(row.launch) : std::to_string(row.launchesCount));
    if (table.byLaunch) cells.insert(cells.begin() + 2, sizeText(row.grid) + " of " + sizeText(row.threads));
    rows.push_back(std::move(cells));
  }
  std::vector<std::string> head = {table.byLaunch ? ">#" : ">launches",
                                   "on the GPU",
                                   ">instructions",
                                   ">lanes",
                                   ">sectors",
                                   ">ways",
                                   ">divergent",
                                   ">barriers",
                                   "kernel"};
  if (table.byLaunch) head.insert(head.begin() + 2, ">blocks");
  return textTable(std::move(head), rows, options) +
         "instructions: of warps; lanes: of 32, on average; sectors: of 32 bytes, a request of global "
         "memory;\n"
         "ways: passes over the banks, a request of shared memory; divergent: branches after which lanes "
         "part\n";
}

// What runs where. Constants are counted only.
std::string viewText(const PlacementView& view, const TextOptions& options) {
  TextRows rows;
  int64_t onDevice = 0, onHost = 0, constants = 0;
  for (const PlacementView::Row& row : view.rows) {
    if (view.isWhole && row.operation == "constant") {
      ++constants;
      continue;
    }
    ++(row.onDevice ? onDevice : onHost);
    std::string made;
    for (const std::string& value : row.values) made += (made.empty() ? "%" : ", %") + value;
    const std::string why = row.rule.empty() || row.reason.find(row.rule) != std::string::npos
                                ? row.reason
                                : row.reason + ", by " + row.rule;
    rows.push_back({row.onDevice ? view.device : view.host, row.operation, made, why});
  }
  std::string text = rows.empty() ? "" : textTable({"runs on", "operation", "makes", "why"}, rows, options);
  if (!view.isWhole) return text;
  text += fmt::format("{} on {}, {} on the {}, {} constants; {} copies in the program\n", onDevice,
                      view.device, onHost, view.host, constants, view.copiesCount);
  for (const std::string& rule : view.rules) text += "by request: " + rule + "\n";
  return text;
}

//   launch 3: dyn_kernel_2_block (softmax), 4 blocks of 128 threads; block 0, warp 1 of 4
//   lanes ################................   # runs next, w waits, . behind, x has ended
//   PTX line 88: add.f32 %f3, %f2, %f1;
//   loop line 7: accumulate sum max x[i, j]
//     %f1   1.5 in all lanes
//     %r2   0, 1, ... 31
std::string viewText(const WarpView& view, const TextOptions&) {
  std::string text =
      fmt::format("launch {}: {}{}, {} blocks of {} threads; block {}, warp {} of {}\n", view.launch,
                  view.function, view.name.empty() ? "" : " (" + view.name + ")", sizeText(view.grid),
                  sizeText(view.threads), view.block, view.warp, view.warpsCount);
  if (!view.shared.empty()) return text + sharedText(view);
  text += fmt::format("  after {} instructions, {} barriers; lanes {}\n", view.instructions, view.barriers,
                      lanesText(view));
  if (!view.fault.empty()) text += "  fault: " + view.fault + "\n";
  if (view.line == 0 && view.fault.empty()) text += "  the warp has ended\n";
  if (view.line > 0) text += fmt::format("  {} line {}: {}\n", view.language, view.line, view.instruction);
  if (view.loopLine > 0) text += fmt::format("  loop line {}: {}\n", view.loopLine, view.loopText);
  for (const WarpView::Register& held : view.registers) text += registerText(held, view.exists);
  return text;
}

}  // namespace dyn
