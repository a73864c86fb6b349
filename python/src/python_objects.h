// nanobind, and the forms of what passes between C++ and the package's Python code.
#ifndef DYN_PYTHON_PYTHON_OBJECTS_H
#define DYN_PYTHON_PYTHON_OBJECTS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace dynpython {

namespace nb = nanobind;
struct Said;

// Of a text that may quote a damaged file: what is no UTF-8 becomes U+FFFD.
nb::object textOf(const std::string& text);

// [(severity, id, message, place, file, node, line, column, notes, op)]
nb::list listOf(const std::vector<Said>& said);

}  // namespace dynpython

#endif
