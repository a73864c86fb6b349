// nanobind, and the forms of what passes between C++ and the package's Python code.
#ifndef DYN_PYTHON_PYTHON_OBJECTS_H
#define DYN_PYTHON_PYTHON_OBJECTS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

namespace dynpython {

namespace nb = nanobind;
struct Said;

// [(severity, id, message, place, file, node, line, column, notes, op)]
nb::list listOf(const std::vector<Said>& said);

}  // namespace dynpython

#endif
