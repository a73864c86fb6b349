// Every row of isa.def, by a program that shows what it does: a row without one fails.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/unit/vm/vm_harness.h"

namespace dyn::vm::test {
namespace {

// The body of @f, which is given %v0 = i64 [3] {5, 6, 7} and returns what it leaves in r0 and r1; or the text
// its fault holds.
struct ShownRow {
  const char* name;
  const char* body;
  int64_t r0, r1;
  const char* fault = nullptr;
};

constexpr ShownRow kRows[] = {
    {"const", "const r0 -9223372036854775808\nconst r1 9223372036854775807", INT64_MIN, INT64_MAX},
    {"move", "const r0 3\nconst r1 4\nmove r0 r1", 4, 4},
    {"add", "const r0 -3\nconst r1 5\nadd r0 r0 r1", 2, 5},
    {"sub", "const r0 -3\nconst r1 5\nsub r0 r0 r1", -8, 5},
    {"mul", "const r0 -3\nconst r1 5\nmul r0 r0 r1", -15, 5},
    {"floordiv", "const r0 -7\nconst r1 2\nfloordiv r0 r0 r1", -4, 2},
    {"ceildiv", "const r0 -7\nconst r1 2\nceildiv r0 r0 r1", -3, 2},
    {"mod", "const r0 -7\nconst r1 2\nmod r0 r0 r1", 1, 2},
    {"min", "const r0 -7\nconst r1 2\nmin r0 r0 r1", -7, 2},
    {"max", "const r0 -7\nconst r1 2\nmax r0 r0 r1", 2, 2},
    {"addi", "const r0 1\nconst r1 0\naddi r0 r0 4294967296", 4294967297, 0},
    {"muli", "const r0 3\nconst r1 0\nmuli r0 r0 4294967296", 12884901888, 0},
    {"eq", "const r0 3\nconst r1 3\neq r0 r0 r1", 1, 3},
    {"lt", "const r0 3\nconst r1 3\nlt r0 r0 r1", 0, 3},
    {"le", "const r0 3\nconst r1 3\nle r0 r0 r1", 1, 3},
    {"and", "const r0 3\nconst r1 4\nand r0 r0 r1", 1, 4},
    {"not", "const r0 3\nconst r1 0\nnot r0 r0\nnot r1 r1", 0, 1},
    {"dim", "dim r0 v0 0\ndim r1 v0 0", 3, 3},
    {"dim", "dim r0 v0 1", 0, 0, "dim"},
    {"item", "const r0 2\nitem r0 v0 r0\nconst r1 0", 7, 0},
    {"item", "const r0 3\nitem r0 v0 r0", 0, 0, "element 3 of i64[3]"},
    {"fromscalars", "const r0 8\nconst r1 9\nfromscalars v1 i32 [r0 r1]\nitem r0 v1 r2\ndim r1 v1 0", 8, 2},
    {"fromscalar", "const r0 8\nfromscalar v1 i64 r0\nconst r1 0\nitem r0 v1 r1", 8, 0},
    {"checktensor", "checktensor v0 i64 1 m0\nconst r0 1\nconst r1 1", 1, 1},
    {"checktensor", "checktensor v0 i64 2 m0", 0, 0, "the check"},
    {"checkeq", "const r0 1\nconst r1 1\ncheckeq r0 r1 m0", 1, 1},
    {"checkeq", "const r0 1\nconst r1 2\ncheckeq r0 r1 m0", 0, 0, "the check"},
    {"checkle", "const r0 1\nconst r1 2\ncheckle r0 r1 m0", 1, 2},
    {"checkle", "const r0 1\nconst r1 2\ncheckle r1 r0 m0", 0, 0, "the check"},
    {"check", "const r0 1\nconst r1 2\ncheck r0 m0", 1, 2},
    {"check", "const r0 0\ncheck r0 m0", 0, 0, "the check"},
    {"fatal", "fatal m0", 0, 0, "the check"},
    {"allocstorage", "const r0 64\nallocstorage v1 r0 0\nconst r1 0", 64, 0},
    {"alloctensor",
     "const r0 64\nallocstorage v1 r0 0\nconst r1 2\nalloctensor v2 v1 r1 u8 [r1]\ndim r0 v2 0\ndim r1 v2 0",
     2, 2},
    {"alloctensor", "const r0 64\nallocstorage v1 r0 0\nalloctensor v2 v1 r0 u8 [r0]", 0, 0,
     "does not fit a storage of 64 bytes"},
    {"newtensor", "const r0 4\nconst r1 5\nnewtensor v1 f32 0 [r0 r1]\ndim r0 v1 1\ndim r1 v1 0", 5, 4},
    {"reshape", "const r0 1\nconst r1 3\nreshape v1 v0 [r0 r1]\ndim r0 v1 1\nitem r1 v1 r2", 3, 5},
    {"reshape", "const r0 2\nreshape v1 v0 [r0]", 0, 0, "reshape"},
    {"devicecopy", "devicecopy v1 v0 0 0\nitem r0 v1 r2\ndim r1 v1 0", 5, 3},
    {"moveobject", "moveobject v1 v0\nitem r0 v1 r2\ndim r1 v0 0", 5, 3},
    {"kill", "moveobject v1 v0\nkill v1\ndim r0 v0 0\nconst r1 0", 3, 0},
    {"kill", "kill v0\ndim r0 v0 0", 0, 0, "it holds empty"},
    {"loadconst", "loadconst v1 c0\nitem r0 v1 r2\ndim r1 v1 0", 41, 2},
    {"loadglobal", "loadglobal v1 g0\nitem r0 v1 r2\ndim r1 v1 0", 41, 2},
    {"storeglobal", "loadglobal v1 g0\nconst r1 1\nitem r0 v1 r1", 42, 1},  // @init has stored it
    {"storeglobal", "storeglobal v0 g0", 0, 0, "storeglobal outside the init function"},
    {"tuple", "tuple v1 7 [v0 v0]\ntag r0 v1\nfield v2 v1 1\ndim r1 v2 0", 7, 3},
    {"field", "tuple v1 0 [v0]\nfield v2 v1 0\nitem r0 v2 r2\nconst r1 0", 5, 0},
    {"field", "tuple v1 0 [v0]\nfield v2 v1 1", 0, 0, "field"},
    {"tag", "tuple v1 3 []\ntag r0 v1\nconst r1 0", 3, 0},
    {"list", "list v1 [v0 v0]\nlistlength r0 v1\nconst r1 0", 2, 0},
    {"listlength", "list v1 []\nlistlength r0 v1\nconst r1 0", 0, 0},
    {"listat", "list v1 [v0]\nconst r0 -1\nlistat v2 v1 r0\ndim r1 v2 0", -1, 3},
    {"listat", "list v1 [v0]\nconst r0 1\nlistat v2 v1 r0", 0, 0, "item 1 of a list of 1"},
    {"listinsert",
     "const r0 9\nfromscalar v2 i64 r0\nlist v1 [v0]\nlistinsert v1 v1 v2 r2\nlistat v3 v1 r2\n"
     "item r0 v3 r2\nlistlength r1 v1",
     9, 2},
    {"listerase",
     "const r0 9\nfromscalar v2 i64 r0\nlist v1 [v0 v2]\nlisterase v1 v1 r2\nlistat v3 v1 r2\n"
     "item r0 v3 r2\nlistlength r1 v1",
     9, 1},
    {"closure", "closure v1 f1 [v0]\ninvokeclosure [v2] v1 [v0]\nitem r0 v2 r2\ndim r1 v2 0", 5, 3},
    {"jump", "const r0 1\nconst r1 1\njump after\nconst r0 2\nafter:", 1, 1},
    {"jumpif", "const r0 1\nconst r1 0\njumpif r1 after\njumpif r0 after\nconst r0 2\nafter:", 1, 0},
    {"jumpifnot", "const r0 1\nconst r1 0\njumpifnot r0 after\njumpifnot r1 after\nconst r0 2\nafter:", 1, 0},
    {"invoke", "const r0 9\nfromscalar v1 i64 r0\ninvoke [v2] f1 [v1 v0]\nitem r0 v2 r2\nconst r1 0", 9, 0},
    {"tailinvoke", "const r0 1\nconst r1 2\nfromscalars v1 i64 [r0 r1]\ntailinvoke f1 [v1 v0]", 1, 2},
    {"invokeclosure", "closure v1 f1 [v0 v0]\ninvokeclosure [v2] v1 []\nitem r0 v2 r2\ndim r1 v2 0", 5, 3},
    {"ret", "const r0 6\nconst r1 6\nfromscalars v1 i64 [r0 r1]\nret [v1]", 6, 6},
    {"launch", "const r0 2\nconst r1 8\nnewtensor v1 i64 0 [r0]\nlaunch k1 r0 r0 [v1] [r1]\nitem r0 v1 r2", 8,
     8},
    {"builtin", "builtin b0 [v1] [v0] [] []\ndim r0 v1 0\ndim r1 v1 1", 1, 3},
    {"builtininto",
     "const r0 3\nnewtensor v1 i64 0 [r0]\nconst r1 0\nbuiltininto b1 [v1] [v0] [r1] []\n"
     "const r0 2\nitem r0 v1 r0",
     18, 0},
    {"stridedview",
     "const r0 2\nconst r1 -1\nstridedview v1 v0 r0 [r0] [r1]\nbuiltin b2 [v2] [v1] [] []\nconst r0 1\n"
     "item r0 v2 r0\ndim r1 v2 0",
     6, 2},
    {"branch", "const r0 4\nconst r1 5\nbranch 2 1 r0 r1\njoin", 4, 5},
    {"branch", "branch 2 2 r0 r0", 0, 0, "branch 2 of 2"},
    {"join", "const r0 4\nconst r1 5\njoin", 4, 5},
    {"stridedview", "const r0 2\nconst r1 1\nstridedview v1 v0 r0 [r0] [r1]", 0, 0, "reaches beyond i64[3]"},
    {"reusetensor", "const r0 3\nreusetensor v1 v0 i64 0 [r0]\ndim r1 v1 0", 3, 3},
};

TEST(Checklist, C33_EveryInstructionDoesWhatItsRowSays) {
  const int64_t constant[] = {41, 42};
  std::set<std::string> shown;
  for (const ShownRow& row : kRows) {
    SCOPED_TRACE(row.body);
    shown.insert(row.name);
    Machine m(std::string(kKernelRows) +
                  "string \"the check\"\nconstant \"c\" i64 [2] offset 0\nglobals 1\nbuiltin "
                  "nonzero\nbuiltin cumsum\nbuiltin copy\n"
                  "function f parameters 1 results 1\nconst r2 0\n" +
                  row.body +
                  "\nfromscalars v9 i64 [r0 r1]\nret [v9]\n"
                  "function first parameters 2 results 1\nret [v0]\n"
                  "function init\nloadconst v0 c0\nstoreglobal v0 g0\nret []\ninit init\n",
              {}, {constant});
    if (m.loadStatus != DYN_OK) {
      EXPECT_THAT(m.loadMessage, testing::HasSubstr(row.fault ? row.fault : "no fault"));
      continue;
    }
    const Value x = m.integers({5, 6, 7});
    const dyn_status status = m.call("f", {x.get()});
    if (row.fault) {
      EXPECT_NE(status, DYN_OK);
      EXPECT_THAT(m.message, testing::HasSubstr(row.fault));
      continue;
    }
    ASSERT_EQ(status, DYN_OK) << m.message;
    EXPECT_THAT(dataOf<int64_t>(m.output()), testing::ElementsAre(row.r0, row.r1));
  }
#define DYN_INSTRUCTION(name, text, operands, meaning) EXPECT_EQ(shown.count(text), 1u) << text;
#include "vm/isa/isa.def"
#undef DYN_INSTRUCTION
}

}  // namespace
}  // namespace dyn::vm::test
