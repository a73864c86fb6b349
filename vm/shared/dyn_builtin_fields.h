// The fields of the calls of hand-written kernels, generated from dyn_builtin_calls.def: for each row a
// structure with the places of its arguments, its numbers, its scalars, and walks over each of them. What
// walks there are, and how to use them: dyn_builtin_calls.h.
#ifndef DYN_BUILTIN_FIELDS_H
#define DYN_BUILTIN_FIELDS_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/shared/dyn_builtin_traits.h"

namespace dyn::calls {

// --- what the rows declare: <Name>Fields, places of arguments and types of fields
// clang-format off
#define NONE
#define ARGUMENT(name) name,
#define MAYBE(name) name,
#define SOME(name) name,
#define OTHERS(name) name,
#define EPILOGUE_ARGUMENTS epilogue,
#define NUMBER(name) int32_t name = 0;
#define REAL(name) float name = 0;
#define OPTIONAL(name, otherwise) int32_t name = otherwise;
#define BITS(fields) fields
#define OPTIONAL_BITS(otherwise, fields) fields
#define BIT(name, place) bool name = false;
#define PART(name, first, bits) int32_t name = 0;
#define NUMBER_IF(name, condition) int32_t name = 0;
#define LIST(name, count) List name;
#define SHARE(name, parts) List name;
#define REST(name) List name;
#define TEXT(name) List name;
#define TABLE(name) List name;
#define EPILOGUE int32_t epilogue = 0;
#define SCALAR(name) Value name{};
#define SCALAR_MAYBE(name) std::optional<Value> name;
#define SCALAR_LIST(name, count) Values name;
#define SCALAR_REST(name) Values name;
#define EPILOGUE_SCALARS Values epilogue;
#define DYN_CALL(Name, row, form, traits, arguments, numbers, scalars)                     \
  struct Name##Fields {                                                      \
    static constexpr std::string_view kRow = row;                            \
    static constexpr RowTraits kTraits = RowTraits(RowForm::form, traits);   \
    enum Argument : uint32_t { arguments kArgumentNames };                   \
    template <typename List> struct Numbers { numbers bool complete = true; }; \
    template <typename Value, typename Values> struct Scalars { scalars bool complete = true; }; \
  };
#include "vm/shared/dyn_builtin_calls.def"
#undef DYN_CALL
#undef ARGUMENT
#undef MAYBE
#undef SOME
#undef OTHERS
#undef EPILOGUE_ARGUMENTS
#undef NUMBER
#undef REAL
#undef OPTIONAL
#undef BITS
#undef OPTIONAL_BITS
#undef BIT
#undef PART
#undef NUMBER_IF
#undef LIST
#undef SHARE
#undef REST
#undef TEXT
#undef TABLE
#undef EPILOGUE
#undef SCALAR
#undef SCALAR_MAYBE
#undef SCALAR_LIST
#undef SCALAR_REST
#undef EPILOGUE_SCALARS

// --- the same fields as walks over them: <Name>
#define ARGUMENT(name) walk.argument(#name, false, false);
#define MAYBE(name) walk.argument(#name, true, false);
#define SOME(name) walk.argument(#name, false, true);
#define OTHERS(name) walk.argument(#name, true, true);
#define EPILOGUE_ARGUMENTS walk.argument("epilogue", true, true);
#define NUMBER(name) walk.number(#name, n.name);
#define REAL(name) walk.real(#name, n.name);
#define OPTIONAL(name, otherwise) walk.optional(#name, n.name, otherwise);
#define BITS(fields) walk.beginBits(); fields walk.endBits();
#define OPTIONAL_BITS(otherwise, fields) walk.beginOptionalBits(otherwise); fields walk.endBits();
#define BIT(name, place) walk.bit(#name, n.name, place);
#define PART(name, first, bits) walk.part(#name, n.name, first, bits);
#define NUMBER_IF(name, condition) if (walk.holds(#condition, condition)) walk.number(#name, n.name);
#define LIST(name, count) walk.list(#name, n.name, count, #count);
#define SHARE(name, parts) walk.share(#name, n.name, parts);
#define REST(name) walk.rest(#name, n.name);
#define TEXT(name) walk.text(#name, n.name);
#define TABLE(name) walk.table(#name, n.name);
#define EPILOGUE walk.last("epilogue", n.epilogue);
#define SCALAR(name) walk.scalar(#name, s.name);
#define SCALAR_MAYBE(name) walk.scalarMaybe(#name, s.name);
#define SCALAR_LIST(name, count) walk.scalarList(#name, s.name, count, #count);
#define SCALAR_REST(name) walk.scalarRest(#name, s.name);
#define EPILOGUE_SCALARS walk.scalarRest("epilogue", s.epilogue);
#define DYN_CALL(Name, row, form, traits, arguments, numbers, scalars)                               \
  struct Name : Name##Fields {                                                                       \
    template <typename Walk> static constexpr void walkArguments([[maybe_unused]] Walk& walk) { arguments } \
    template <typename Fields, typename Walk>                                                        \
    static constexpr void walkNumbers([[maybe_unused]] Fields& n, [[maybe_unused]] Walk& walk) { numbers }  \
    template <typename Fields, typename Of, typename Walk>                                           \
    static constexpr void walkScalars([[maybe_unused]] const Fields& n, [[maybe_unused]] Of& s,      \
                                      [[maybe_unused]] Walk& walk) { scalars }                       \
  };
#include "vm/shared/dyn_builtin_calls.def"
#undef DYN_CALL
#undef NONE
#undef ARGUMENT
#undef MAYBE
#undef SOME
#undef OTHERS
#undef EPILOGUE_ARGUMENTS
#undef NUMBER
#undef REAL
#undef OPTIONAL
#undef BITS
#undef OPTIONAL_BITS
#undef BIT
#undef PART
#undef NUMBER_IF
#undef LIST
#undef SHARE
#undef REST
#undef TEXT
#undef TABLE
#undef EPILOGUE
#undef SCALAR
#undef SCALAR_MAYBE
#undef SCALAR_LIST
#undef SCALAR_REST
#undef EPILOGUE_SCALARS
// clang-format on

}  // namespace dyn::calls

#endif
