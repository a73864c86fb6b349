#include "vm/device/cuda/ptx_parts.h"

#include <gtest/gtest.h>

namespace dyn::vm {
namespace {

constexpr const char* kText =
    ".version 7.0\n.target sm_75\n.shared .align 4 .b8 red[128];\n"
    ".visible .entry first(\n\t.param .u64 p\n)\n.maxntid 256\n{\n\tret;\n}\n"
    "\n.visible .entry second(\n)\n{\n\t{ .reg .b32 t; }\n\tret;\n}\n";

TEST(PtxParts, eachKernelWithTheHead) {
  const PtxParts parts = splitPtx(kText);
  ASSERT_EQ(parts.entry.size(), 2u);
  const std::string second = parts.moduleOf("second");
  EXPECT_EQ(second.find(".version 7.0\n.target sm_75\n.shared"), 0u);
  EXPECT_NE(second.find(".entry second("), std::string::npos);
  EXPECT_NE(second.find("{ .reg .b32 t; }\n\tret;\n}\n"), std::string::npos);
  EXPECT_EQ(second.find(".entry first("), std::string::npos);
  EXPECT_NE(parts.moduleOf("first").find(".maxntid 256\n{"), std::string::npos);
  EXPECT_EQ(parts.moduleOf("third"), "");
}

TEST(PtxParts, anotherTextHasNone) {
  const PtxParts parts = splitPtx(
      "\x7f"
      "ELF and so on");
  EXPECT_TRUE(parts.entry.empty());
  EXPECT_EQ(parts.head,
            "\x7f"
            "ELF and so on");
}

}  // namespace
}  // namespace dyn::vm
