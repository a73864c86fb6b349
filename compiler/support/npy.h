// NumPy's .npy files: one array, to exchange inputs and outputs with Python.
//
//   DYN_TRY(NpyArray array, readNpy("x.npy"));        // versions 1, 2 and 3
//   DYN_CHECK(writeNpy("y.npy", array));              // whole or not at all
//
// Contract: bool, signed and unsigned integers of 1 to 8 bytes, floats of 2, 4, 8 bytes, complex of 8 and 16
// bytes, texts of any width as UTF-32 (<U5) or as bytes (|S5), behind whose end there are zeros;
// data in memory are row-major and little-endian (a file in Fortran or big-endian order is converted). Other
// element types are unsupportedDtype; a damaged file is fileFormat. Memory is never more than the file's size
// justifies. Reference: numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/mapped_file.h"
#include "compiler/support/result.h"

namespace dyn {

enum class NpyKind { boolean, integer, natural, real, complex, text, bytes };

struct NpyArray {
  NpyKind kind = NpyKind::real;
  unsigned elementBytes = 4;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;  // elementBytes * product of shape
};

Result<NpyArray> readNpy(const std::string& path);
Result<NpyArray> parseNpy(const MappedFile& file);

// As NumPy writes it: version 1.0, the data start at a multiple of 64.
Result<std::string> npyHeader(NpyKind kind, unsigned elementBytes, const std::vector<int64_t>& shape);
Status writeNpy(const std::string& path, const NpyArray& array);

}  // namespace dyn
