// libFuzzer: any bytes as a .npy file. An array that is read, written and read again is the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compiler/support/npy.h"
#include "tests/fuzz/replay/fuzz_target.h"

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  using namespace dyn;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const Result<NpyArray> array = parseNpy(MappedFile::fromBytes(std::move(bytes), "fuzz.npy"));
  if (!array.ok()) return false;
  Result<std::string> file = npyHeader(array->kind, array->elementBytes, array->shape);
  if (!file.ok()) std::abort();
  if (!array->data.empty())
    file->append(reinterpret_cast<const char*>(array->data.data()), array->data.size());
  const Result<NpyArray> again = parseNpy(MappedFile::fromBytes(*file, "again.npy"));
  if (!again.ok() || again->kind != array->kind || again->elementBytes != array->elementBytes ||
      again->shape != array->shape || again->data != array->data)
    std::abort();
  return true;
}
