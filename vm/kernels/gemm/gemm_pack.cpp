// gemmpack: constant right sides of products as panels, made once.
#include <algorithm>
#include <cstring>

#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm/bf16_gemm.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/gemm/half_panels.h"
#include "vm/kernels/gemm/turned_copy.h"
#include "vm/kernels/halves.h"

namespace dyn::vm::kernels {
void packPanels(const DynGemmFamily& family, const float* b, int64_t depth, int64_t columns, int64_t strideK,
                int64_t strideN, int64_t firstPanel, int64_t lastPanel, float* packed) {
  const int64_t width = family.panelWidth;
  constexpr int64_t kBlock = 16;
  for (int64_t panel = firstPanel; panel < lastPanel; ++panel) {
    float* out = packed + panel * depth * width;
    const float* from = b + panel * width * strideN;
    const int64_t count = std::min(width, columns - panel * width);
    if (strideN == 1) {
      for (int64_t k = 0; k < depth; ++k, out += width) {
        copyAnywhere(out, from + k * strideK, static_cast<size_t>(count) * sizeof(float));
        std::fill(out + count, out + width, 0.0f);
      }
      continue;
    }
    int64_t done = 0;
    if (strideK == 1) {
      // A line of memory of each column, then the next lines: columns may be so far apart that few lines of
      // theirs stay in the cache.
      const int64_t fours = depth / 4 * 4;
      for (int64_t end = 0; done < fours; done = end) {
        end = std::min(done + kBlock, fours);
        int64_t i = 0;
        for (; i + 4 <= count; i += 4)
          for (int64_t k = done; k < end; k += 4)
            transposeFours(from + i * strideN + k, strideN, out + k * width + i, width);
        for (int64_t k = done; k < end; ++k) {
          for (int64_t rest = i; rest < count; ++rest)
            out[k * width + rest] = floatAnywhere(from + rest * strideN + k);
          std::fill(out + k * width + count, out + (k + 1) * width, 0.0f);
        }
      }
    }
    for (int64_t begin = done; begin < depth; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, depth);
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = begin; k < end; ++k)
          out[k * width + i] = floatAnywhere(from + i * strideN + k * strideK);
      for (int64_t k = begin; k < end; ++k) std::fill(out + k * width + count, out + (k + 1) * width, 0.0f);
    }
  }
}

Status gemmpack(BuiltinCall& call) {
  using calls::Gemmpack;
  const Tensor* b = call.argument(Gemmpack::b);
  if (!b || (b->dtype != DataType::f32 && !isHalf(b)) || b->rank != 2)
    return badArgument("gemmpack", Gemmpack::b, "f32, f16 or bf16 of rank 2", call.arguments[Gemmpack::b]);
  const auto n = call.numbersOf<Gemmpack>();
  const bool transposed = n.transposed, rounded = n.rounded,
             halves = !rounded && (b->dtype == DataType::f16 || n.narrow);
  if (n.narrow && (rounded || b->dtype != DataType::bf16))
    return failure(DYN_BAD_PROGRAM, "only bf16 that is not rounded is packed narrow");
  const int64_t depth = b->shape()[transposed ? 1 : 0], columns = b->shape()[transposed ? 0 : 1];
  // For another machine, only how wide panels are is known of its families.
  const PanelLayout* foreign = call.panels;
  const DynGemmFamily family = foreign ? DynGemmFamily{.panelWidth = foreign->gemm} : *call.gemmFamily;
  const Bf16Family brief = foreign ? Bf16Family{.panelWidth = foreign->bf16} : *bf16Families().front();
  const int64_t width = rounded ? brief.panelWidth : family.panelWidth;
  const bool empty = b->elementCount == 0;  // then the other size may be any
  const int64_t count = empty     ? 0
                        : rounded ? bf16ElementCount(brief, depth, columns)
                                  : packedElementCount(family, depth, columns),
                panels = empty ? 0 : (columns + width - 1) / width;
  Tensor* packed = nullptr;
  const DataType dtype = rounded ? DataType::bf16 : halves ? b->dtype : DataType::f32;
  if (Status status = call.result(0, dtype, std::span(&count, 1), packed); !status.ok()) return status;
  const int64_t strideK = transposed ? 1 : columns, strideN = transposed ? depth : 1;
  const auto tasks = static_cast<uint32_t>(worthwhileTasks(call, static_cast<double>(count)));
  if (halves) {
    call.split(panels, tasks, [&](int64_t begin, int64_t end) {
      packHalfPanels(family, b->as<uint16_t>(), depth, columns, strideK, strideN, begin, end,
                     packed->as<uint16_t>());
    });
    return okStatus();
  }
  const FloatElements elements(call, b);
  if (!elements) return elements.status();
  call.split(panels, tasks, [&](int64_t begin, int64_t end) {
    if (rounded)
      packBf16Panels(brief, elements.data(), depth, columns, strideK, strideN, begin, end,
                     reinterpret_cast<uint32_t*>(packed->data));
    else
      packPanels(family, elements.data(), depth, columns, strideK, strideN, begin, end, packed->as<float>());
  });
  return okStatus();
}

}  // namespace dyn::vm::kernels
