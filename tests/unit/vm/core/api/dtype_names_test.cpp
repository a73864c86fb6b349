// The constants of element types in dynvm.h are those of the table dyn_dtype.def, each by its name.
#include <gtest/gtest.h>

#include "vm/include/dynvm.h"

namespace {

TEST(DtypeNames, EachElementTypeHasItsConstant) {
  const struct {
    int32_t value;
    const char* text;
  } rows[] = {{DYN_BOOL, "bool"},
              {DYN_I8, "i8"},
              {DYN_I16, "i16"},
              {DYN_I32, "i32"},
              {DYN_I64, "i64"},
              {DYN_U8, "u8"},
              {DYN_U16, "u16"},
              {DYN_U32, "u32"},
              {DYN_U64, "u64"},
              {DYN_F16, "f16"},
              {DYN_BF16, "bf16"},
              {DYN_F32, "f32"},
              {DYN_F64, "f64"},
              {DYN_F8E4M3FN, "f8e4m3fn"},
              {DYN_F8E4M3FNUZ, "f8e4m3fnuz"},
              {DYN_F8E5M2, "f8e5m2"},
              {DYN_F8E5M2FNUZ, "f8e5m2fnuz"},
              {DYN_F8E8M0, "f8e8m0"},
              {DYN_F4E2M1, "f4e2m1"},
              {DYN_I4, "i4"},
              {DYN_U4, "u4"},
              {DYN_I2, "i2"},
              {DYN_U2, "u2"},
              {DYN_C64, "c64"},
              {DYN_C128, "c128"},
              {DYN_STRING, "string"}};
  int32_t count = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row.value, count++) << row.text;
    EXPECT_STREQ(dyn_dtype_text(row.value), row.text);
  }
  EXPECT_EQ(count, DYN_DTYPE_COUNT);
}

}  // namespace
